"""Where heads rest and which looks back: yes for what was built so, no for the placebo."""

import dataclasses

from transformer_circuits.claims import about_attention_heads, controls, rules
from transformer_circuits.model import hand_built
from transformer_circuits.text import tokenizer


def test_a_previous_token_head_is_found_by_what_reads_it(subject):
    model = hand_built.induction(n_vocab=17, n_ctx=11)
    built = dataclasses.replace(subject, name="built", model=model)
    assert about_attention_heads.attention_one_back(built).min() > 0.99
    nothing = controls.heads_without_effect(built)
    assert about_attention_heads.attention_one_back.interval(nothing) == rules.NOTHING


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
