"""Where heads rest and which looks back: yes for what was built so, no for the placebo."""

import dataclasses

import pytest

from transformer_circuits.claims import about_attention_heads, controls, rules
from transformer_circuits.model import hand_built
from transformer_circuits.text import tokenizer


@pytest.fixture
def induction(subject):
    """A subject whose head 1.0 composes by keys with a perfect previous-token head."""
    model = hand_built.induction(n_vocab=17, n_ctx=11)
    return dataclasses.replace(subject, name="built", model=model)


def test_random_heads_neither_rest_nor_look_back(subject):
    at_begin = about_attention_heads.attention_to_begin(subject)
    one_back = about_attention_heads.attention_one_back(subject)
    assert at_begin.shape == (12,)
    assert at_begin.isfinite().all() and 0 <= at_begin.mean() < 0.5
    assert one_back.isnan().all() or one_back.nanmean() < 0.5  # nobody need read random heads


def test_a_previous_token_head_is_found_by_what_reads_it(induction):
    assert about_attention_heads.attention_one_back(induction).min() > 0.99


def rests(subject):
    """Head 0.2 looks for the begin token, whatever stands at the destination."""
    model, layer = subject.model, subject.model.layers[0]
    model.W_E[0] = 1
    model.W_E[1], model.W_E[1, tokenizer.BEGIN] = 0, 1
    model.W_P[:] = 0
    layer.W_Q[2], layer.W_K[2] = 0, 0
    layer.W_Q[2, 0, 0], layer.W_K[2, 0, 1] = 10, 10
    return subject


def test_where_nobody_composes_no_head_is_composed_with(induction):
    nothing = controls.heads_without_effect(induction)
    assert about_attention_heads.attention_one_back.interval(nothing) == rules.NOTHING


def test_a_head_built_to_rest_does_so_only_on_the_begin_token(subject):
    assert about_attention_heads.attention_to_begin(rests(subject)).min() > 0.9
    placebo = controls.ordinary_begin(subject)
    assert about_attention_heads.attention_to_begin(placebo).mean() < 0.5
