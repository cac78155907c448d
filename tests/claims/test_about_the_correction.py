"""What is measured of composition since the Correction says yes to what was built, and no to controls."""

import copy
import dataclasses

import pytest
import torch

from transformer_circuits.analysis.edge_effects import Effects
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import (
    about_composition,
    about_remarks,
    about_the_correction,
    controls,
    planted,
    rules,
)
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

WIDE = ModelConfig(
    n_layers=2, n_heads=3, d_model=64, d_head=32, n_vocab=101, n_ctx=30, position_base=1000.0
)


@pytest.fixture
def wide(generator):
    """Random weights, wide enough for what is built into them."""
    model = Transformer(WIDE).requires_grad_(False).eval()
    model.randomise(generator=generator)
    text = torch.randint(1, WIDE.n_vocab, (900,), generator=generator)
    text[::30] = 0
    return Subject("wide", model, text)


def test_a_head_that_looks_two_back_is_seen(wide):
    assert about_the_correction.two_back_over_one_back(wide).nanmean() < 2
    built = planted.two_back_head(wide)
    assert about_the_correction.two_back_over_one_back(built).nanmean() > 4
    head, looks = about_the_correction.further_back(built)
    assert head == (0, 0) and looks > 0.9


def test_the_keys_of_the_hand_built_circuit_come_from_one_back(wide, generator):
    shape = dataclasses.replace(WIDE, d_head=16)
    model = hand_built.induction_in_few_dimensions(shape, generator=generator)
    subject = Subject("built", model, wide.text)
    assert about_the_correction.keys_further_back(subject).mean() == pytest.approx(0, abs=0.01)


def test_the_second_induction_head_must_read_the_head_that_looks_further_back(wide, monkeypatch):
    """As a share of what the best edge from the previous-token head does; of one head alone, nothing."""
    change = torch.full((128, 3, 3, 3), 0.01, dtype=torch.float64)
    keys, previous = change[:, 1], wide.previous_token_head.head
    further = (previous + 1) % 3
    found = Effects(change, change)
    monkeypatch.setattr(about_composition, "effects", lambda _: found)
    monkeypatch.setattr(about_the_correction, "further_back", lambda _: (Head(0, further), 0.9))
    monkeypatch.setattr(Subject, "matching", torch.tensor([0.9, 0.1, 0.8]))
    keys[:, 0, previous], keys[:, 0, further], keys[:, 1, further] = 0.8, 0.6, 0.5
    keys[:, 2, further] = 0.2
    share = about_the_correction.keys_further_back(wide)
    torch.testing.assert_close(share, torch.full_like(share, 0.25))
    monkeypatch.setattr(Subject, "matching", torch.tensor([0.9, 0.1, 0.1]))
    assert not about_the_correction.keys_further_back(wide).any()


def test_where_heads_are_idle_fewer_compose(subject):
    measured, n_heads = about_the_correction.share_that_composes, subject.model.config.n_heads
    found = {size: measured(of(subject)).mean() for size, of in planted.idle_heads.of.items()}
    assert found[0.75] == pytest.approx(1 / n_heads)  # of five heads, one does something
    assert measured(controls.untrained(subject)).mean() > max(found.values())


def test_the_derivative_sees_all_of_a_small_edge_and_nothing_of_a_saturated_one(subject, built):
    few = dataclasses.replace(subject, name="few")
    few.model.layers[1].W_K_concat.mul_(1e-3)
    assert about_the_correction.seen_by_the_derivative(few).mean() == pytest.approx(1, abs=0.01)
    assert about_the_correction.seen_by_the_derivative(built).mean() < 0.01


def test_copying_puts_a_token_first_and_on_the_positive_side(wide):
    measured = about_remarks.own_token_among_the_first, about_remarks.raises_own_token
    whole, part = (planted.copying_in_part.of[size](wide) for size in (1.0, 0.25))
    assert min(float(each(whole).mean()) for each in measured) > 0.9
    assert measured[0](whole).mean() > measured[0](part).mean() > measured[0](wide).mean()
    assert measured[0](wide).mean() < 0.3 and abs(measured[1](wide).mean() - 0.5) < 0.2
    assert measured[1].interval(controls.heads_without_effect(whole)) == rules.NOTHING


def test_a_look_at_what_comes_next_is_plausible():
    """Each of seven tokens has one follower, which one head looks for; to another all are alike."""
    n = 8
    shape = ModelConfig(
        n_layers=1, n_heads=1, d_model=n, d_head=n, n_vocab=n, n_ctx=30, position_base=1000.0
    )
    text = torch.cat([torch.zeros(1, dtype=torch.long), torch.arange(1, n).repeat(1500)])
    model = Transformer(shape).requires_grad_(False).eval()
    for weight in (*model.parameters(), model.W_P):
        weight.zero_()
    layer, one = model.layers[0], torch.eye(n)
    model.W_E.data, model.W_U.data = one.clone(), one.clone()
    layer.W_V[0], layer.W_O[0] = one, one
    found = about_remarks.looks_at_plausible(Subject("alike", model, text))
    assert found.abs().max() < 0.5
    layer.W_Q[0] = 30 * one
    layer.W_K[0] = one[:, [0, n - 1, *range(1, n - 1)]]
    assert about_remarks.looks_at_plausible(Subject("next", model, text)).min() > 1


def test_a_model_is_surer_where_a_match_is_copied(built, monkeypatch):
    built = built.with_model("sharp", copy.deepcopy(built.model))
    built.model.W_U.mul_(20)  # its logits are 0 or 1, so it is as sure as one of them allows
    guess = dataclasses.replace(built.model.config, n_layers=1)
    flat = built.with_model("flat", Transformer(guess).double().requires_grad_(False))
    monkeypatch.setattr(Subject, "sibling", lambda self, name: flat)
    assert about_remarks.surer_where_matched(built).nanmean() > 0.693
    assert about_remarks.surer_where_matched(flat).nan_to_num().abs().max() == 0


def test_where_one_token_alone_matches():
    """The second 5 is followed by a 6 again: that counts; the 7 after "5 6" has a longer match."""
    tokens = torch.tensor([[0, 5, 6, 7, 5, 6, 7, 5]])
    found = about_remarks._one_token_matches(tokens[:, :-1], tokens[:, 1:])
    assert found[0].tolist() == [False, False, False, False, True, False, False]


def test_what_is_kept_on_another_kind_of_text_is_a_share_of_what_is_saved(built, monkeypatch):
    """What saves twice as much everywhere keeps as much of it; what saves half there keeps less."""
    elsewhere = dataclasses.replace(built, name="elsewhere")
    flat = dataclasses.replace(built, name="flat")
    monkeypatch.setattr(Subject, "sibling", lambda self, name: flat)
    monkeypatch.setattr(about_remarks, "_elsewhere", lambda one: elsewhere if one is built else one)
    for there, here, expected in ((2.0, 2.0, 0.0), (1.0, 2.0, -0.5), (2.0, 0.0, None)):
        saves = {elsewhere: there, built: here, flat: 1.0}
        monkeypatch.setattr(
            about_remarks, "_saved", lambda one, saves=saves: torch.full((3,), saves[one])
        )
        found = about_remarks.kept_beyond_one_layer(built)
        assert found.isnan().all() if expected is None else (found == expected).all()
