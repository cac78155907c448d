import dataclasses
from types import SimpleNamespace

import pytest
import torch

from transformer_circuits.analysis import head_roles, induction, repeats
from transformer_circuits.claims import about_induction, rules
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built
from transformer_circuits.model.transformer import Transformer


class TwoInARow(Transformer):
    """One head that looks ten times as much where one token matches, and again where two do."""

    def trace(self, tokens):
        before, farther = (tokens.roll(back, dims=1) for back in (1, 2))
        one = tokens[:, :, None] == before[:, None]
        two = one & (before[:, :, None] == farther[:, None])
        A = (1 + 9.0 * one + 90.0 * two).tril()
        return SimpleNamespace(patterns=[(A / A.sum(dim=2, keepdim=True))[:, None]])


def test_two_tokens_in_a_row_are_told_from_one(built):
    assert rules.interval(about_induction.matches_two(built)).high < 1 / 3
    both = dataclasses.replace(built, model=TwoInARow(built.model.config))
    assert rules.interval(about_induction.matches_two(both)).low > 0.6


def test_a_head_that_looks_as_far_back_whatever_stands_there_does_not_match(built):
    """On passages of one length it would, as far as their tokens are different."""
    model = hand_built.induction(n_vocab=101, n_ctx=2 * max(head_roles.LENGTHS) + 1)
    n_ctx, layer = model.config.n_ctx, model.layers[1]
    place, channels = torch.arange(n_ctx), slice(0, n_ctx)
    first = int(model.W_P[0].nonzero()[0])
    at = slice(first, first + n_ctx)  # where positions stand in the stream
    layer.W_Q[0], layer.W_K[0] = 0, 0
    layer.W_Q[0, channels, at] = torch.eye(n_ctx, dtype=torch.float64)
    back = (place[:, None] - place == head_roles.LENGTH - 1).double()
    layer.W_K[0, channels, at] = 40 * back * model.config.d_head**0.5
    fixed = dataclasses.replace(built, name="fixed", model=model)
    tokens = head_roles.random_passages(model.config, 4, seed=1)
    copies = repeats.copies(tokens)
    A = model.trace(copies).patterns[1]
    assert float(induction.prefix_matching_score(A, copies)) > 0.6
    assert rules.interval(about_induction.best_matching(fixed)).low < 0.4


class OneSource(Transformer):
    """Every last head looks only so many tokens back, or at the first; or at the latest BEGIN."""

    back = 0
    forms = frozenset({"places of its own"})  # so its own stream is made

    def stream(self, tokens, n_layers=None):
        dst = torch.arange(tokens.shape[1])
        source = (dst - self.back).clamp(min=0).expand_as(tokens)
        if self.back < 0:
            source = torch.where(tokens == 0, dst, 0).cummax(dim=1).values
        A = torch.nn.functional.one_hot(source, len(dst))[:, None].float()
        self.layers[-1].pattern = lambda *_: A.expand(-1, self.config.n_heads, -1, -1)
        return super().stream(tokens, n_layers)


@pytest.mark.parametrize(("back", "near"), [(0, 1.0), (3, 1.0), (4, 0.0)])
def test_the_last_four_tokens_are_the_present_one_and_three_before_it(built, back, near):
    model = OneSource(built.model.config).requires_grad_(False)
    model.back = back
    found = about_induction.looks_near(dataclasses.replace(built, model=model))
    assert float((found - near).abs().max()) < 0.05  # a BEGIN here and there has nothing before it


def test_a_begin_inside_a_window_is_one_to_rest_on(built):
    parted = built.text.clone()
    parted[::50] = 0
    model = OneSource(built.model.config).requires_grad_(False)
    model.back = -1
    subject = dataclasses.replace(built, model=model, text=parted)
    assert rules.interval(about_induction.rests(subject)).low > 0.99
    assert float(about_induction.looks_near(subject).max()) == 0


def test_gain_over_one_layer_is_none_over_itself(subject, monkeypatch):
    monkeypatch.setattr(Subject, "sibling", lambda self, name: self)
    gain = rules.interval(about_induction.context_gain_over_one_layer(subject))
    assert gain.n > 1 and gain.mean <= 0


def test_says_what_followed_counts_only_places_inside_words(monkeypatch, built):
    n_vocab, texts = built.model.config.n_vocab, ["a"]
    monkeypatch.setattr(about_induction.tokenizer, "texts", lambda: texts * n_vocab)
    inside = dataclasses.replace(built, name="all are one word")
    assert rules.interval(about_induction.says_what_followed(inside)).mean > 0.5
    texts[:] = [" a"]
    again = dataclasses.replace(built, name="no words of several pieces")
    assert about_induction.says_what_followed(again).isnan().all()
