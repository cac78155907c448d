"""Where heads rest and which looks back: yes for what was built so, no for the placebo."""

import dataclasses

import few_dimensions
import torch

from transformer_circuits.analysis import composition
from transformer_circuits.claims import about_attention_heads, controls, rules, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.text import tokenizer


def test_random_heads_neither_rest_nor_look_back(subject):
    at_begin = about_attention_heads.attention_to_begin(subject)
    one_back = about_attention_heads.attention_one_back(subject)
    assert at_begin.isnan().sum() * 4 == len(at_begin), "those that the head was chosen on"
    assert 0 <= at_begin.nanmean() < 0.5
    assert one_back.isnan().all() or one_back.nanmean() < 0.5  # nobody need read random heads


def test_a_previous_token_head_is_found_by_what_reads_it(subject):
    model = hand_built.induction(n_vocab=17, n_ctx=11)
    built = dataclasses.replace(subject, name="built", model=model)
    assert about_attention_heads.attention_one_back(built).min() > 0.99
    nothing = controls.heads_without_effect(built)
    assert about_attention_heads.attention_one_back.interval(nothing) == rules.NOTHING


def test_a_previous_token_head_is_found_though_another_has_the_higher_stored_score(generator):
    """The other writes next to nothing, all of it along one direction that the key reads, and the
    basis is one in which the key reads little else: so its score is near 1. No logit changes."""
    shape = ModelConfig(
        n_layers=2, n_heads=3, d_model=64, d_head=16, n_vocab=101, n_ctx=30, position_base=1000.0
    )
    model = few_dimensions.induction(shape, generator=generator)
    text = torch.randint(1, 101, (15, 20), generator=generator)
    text = torch.cat([torch.zeros(15, 1, dtype=torch.long), text, text[:, :9]], dim=1)
    as_built = Subject("as built", model, text.flatten())
    first, second = model.layers
    later, earlier = as_built.induction_head.head, as_built.previous_token_head.head
    other = (earlier + 1) % 3
    along = second.W_K[later, 0] / second.W_K[later, 0].norm()
    first.W_O[other], first.W_V[other] = 0, first.W_V[earlier]
    first.W_O[other, :, 0] = 1e-4 * along
    shrunk = torch.eye(64) - 0.95 * torch.outer(along, along)
    subject = subjects.in_basis(as_built, "shrunk", shrunk)
    tokens, _ = subject.windows(4)
    torch.testing.assert_close(subject.model(tokens), model(tokens), atol=1e-4, rtol=1e-4)
    scores = composition.scores(subject.model, "K", basis="stored")
    assert scores[later, other] > 1.5 * scores[later, earlier]
    found = about_attention_heads.attention_one_back.decision([subject])
    assert found.seeds["shrunk"].low > 0.9


def test_a_head_built_to_rest_does_so_only_on_the_begin_token(subject):
    """Head 0.2 looks for the begin token, whatever stands at the destination."""
    model, layer = subject.model, subject.model.layers[0]
    model.W_E[0] = 1
    model.W_E[1], model.W_E[1, tokenizer.BEGIN] = 0, 1
    model.W_P[:] = 0
    layer.W_Q[2], layer.W_K[2] = 0, 0
    layer.W_Q[2, 0, 0], layer.W_K[2, 0, 1] = 10, 10
    assert about_attention_heads.attention_to_begin.interval(subject).low > 0.9
    placebo = about_attention_heads.ordinary_begin(subject)
    assert about_attention_heads.attention_to_begin.interval(placebo).mean < 0.5
