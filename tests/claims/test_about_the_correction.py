"""What is measured of composition since the Correction says yes to what was built, and no to controls."""

import copy
import dataclasses

import few_dimensions
import pytest
import torch

from transformer_circuits.analysis import head_roles
from transformer_circuits.analysis.edge_effects import Effects
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import (
    about_composition,
    about_how_they_work,
    about_remarks,
    about_the_correction,
    rules,
)
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

WIDE = ModelConfig(
    n_layers=2, n_heads=4, d_model=64, d_head=32, n_vocab=101, n_ctx=30, position_base=1000.0
)


@pytest.fixture
def wide(generator):
    """Random weights, wide enough for what is built into them."""
    model = Transformer(WIDE).requires_grad_(False).eval()
    model.randomise(generator=generator)
    text = torch.randint(1, WIDE.n_vocab, (900,), generator=generator)
    text[::30] = 0
    return Subject("wide", model, text)


def test_the_keys_of_the_hand_built_circuit_come_from_one_back(wide, generator):
    shape = dataclasses.replace(WIDE, d_head=16)
    model = few_dimensions.induction(shape, generator=generator)
    subject = Subject("built", model, wide.text)
    assert about_the_correction.keys_further_back(subject).mean == pytest.approx(0, abs=0.01)


def test_a_previous_token_head_split_in_two_is_cut_as_one(wide, generator):
    """Two heads that look where one did, each moving half: no logit changes, and no verdict may."""
    model = few_dimensions.induction(dataclasses.replace(WIDE, d_head=16), generator=generator)
    whole = Subject("whole", model, wide.text)
    [head] = whole.previous_token_heads
    other = (head.head + 1) % WIDE.n_heads
    model.layers[0].W_O.data[other] = 0
    split = copy.deepcopy(model)
    layer = split.layers[0]
    for weight in (layer.W_Q, layer.W_K, layer.W_V, layer.W_O):
        weight.data[other] = weight[head.head]
    layer.W_O.data[[head.head, other]] /= 2
    tokens, _ = whole.windows(4)
    torch.testing.assert_close(split(tokens), model(tokens), atol=1e-4, rtol=1e-4)
    as_two = dataclasses.replace(whole, name="split", model=split)
    assert {one.head for one in as_two.previous_token_heads} == {head.head, other}
    for measured in (about_how_they_work.lead_of_key_edge,
                     about_the_correction.seen_by_the_derivative):  # fmt: skip
        torch.testing.assert_close(measured(as_two), measured(whole), atol=1e-3, rtol=1e-3)
    assert about_how_they_work.lead_of_key_edge(whole).mean() > 1
    assert about_the_correction.further_back(as_two)[0].head not in (head.head, other)


@pytest.fixture
def made_up(wide, monkeypatch):
    """Say what K edges do in either half of the windows, who matches, and how the head looks."""

    def made(halves, matching=(0.9, 0.1, 0.8, 0.0), looks=0.9):
        change = torch.full((128, 3, 4, 4), 1e-4, dtype=torch.float64)
        for half, edges in enumerate(halves):
            for (later, earlier), value in edges.items():
                change[half::2, 1, later, earlier] = value
        found = Effects(change, change)
        further = Head(0, (wide.previous_token_head.head + 1) % 4)
        monkeypatch.setattr(about_composition, "effects", lambda _: found)
        monkeypatch.setattr(about_the_correction, "further_back", lambda _: (further, looks))
        monkeypatch.setattr(Subject, "matching", torch.tensor(matching))
        return about_the_correction.keys_further_back(wide)

    return made


def test_the_second_induction_head_must_read_the_head_that_looks_further_back(wide, made_up):
    """As a share of what the best edge from the previous-token head does; of one head alone, nothing."""
    previous = wide.previous_token_head.head
    further = (previous + 1) % 4
    recoder = head_roles.cast(wide.model, wide.text).recoder.head
    other = next(h for h in range(4) if h not in (previous, further, recoder))
    edges = {(0, previous): 0.8, (0, further): 0.6, (1, further): 0.5, (2, further): 0.2}
    assert made_up([edges] * 2).mean == pytest.approx(0.25), (
        "the one that does not match is left out"
    )
    assert made_up([edges] * 2, matching=(0.9, 0.1, 0.1, 0.0)).mean == 0
    assert made_up([edges] * 2, looks=0.4).mean == 0
    swapped = edges | {(0, further): 0.1}  # chosen in one half, measured in the other
    assert made_up([edges, swapped]).mean == pytest.approx((0.2 + 0.6) / 2 / 0.8)
    nothing = {(0, further): 0.6, (2, further): 0.2}
    assert made_up([nothing] * 2) == rules.NOTHING
    made_up([edges | {(0, other): 0.4, (2, other): 0.04}] * 2)
    instead = about_the_correction.keys_further_back(about_the_correction.another_head(wide))
    assert instead.mean == pytest.approx(0.04 / 0.8)


def test_the_derivative_sees_all_of_a_small_edge_and_nothing_of_a_saturated_one(subject, built):
    few = dataclasses.replace(subject, name="few")
    few.model.layers[1].W_K_concat.mul_(1e-3)
    assert about_the_correction.seen_by_the_derivative(few).mean() == pytest.approx(1, abs=0.01)
    assert about_the_correction.seen_by_the_derivative(built).mean() < 0.01


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
