"""What is measured of composition says yes to what was built, and no to controls."""

import dataclasses
import itertools

import pytest
import torch

from transformer_circuits.analysis import composition as analysis
from transformer_circuits.analysis import edge_effects, heads
from transformer_circuits.claims import (
    about_composition,
    controls,
    planted,
    rules,
    samples,
    subjects,
)
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built


@pytest.fixture
def built(generator):
    """The induction circuit set by hand: composition by keys with a previous-token head."""
    text = torch.randint(1, 11, (400,), generator=generator)
    return Subject("built", hand_built.induction(11, 21), text)


def test_heads_that_read_elsewhere_score_below_random(subject):
    model = subject.model
    model.layers[0].W_O[:, 7:] = 0
    for weight in ("W_Q", "W_K", "W_V"):
        getattr(model.layers[1], weight)[..., :7] = 0
    assert float(about_composition.share_below_random(subject).mean()) == 1
    for control in (controls.untrained, controls.turned_heads):
        assert about_composition.share_below_random(control(subject)).mean() < 0.5


def test_keys_that_read_the_previous_token_head_lead(built, subject):
    assert built.previous_token_head == (0, 0)
    assert about_composition.lead_of_previous_token_keys(built) > 0
    previous = subject.previous_token_head.head
    first, second = subject.model.layers
    second.W_K[0] = first.W_O[previous].T
    second.W_Q[0] = torch.randn(second.W_Q[0].shape, generator=torch.Generator().manual_seed(0))
    found = about_composition.lead_of_previous_token_keys(dataclasses.replace(subject, name="keys"))
    assert found > 0
    second.W_Q[0] = second.W_K[0]
    second.W_K[0] = torch.randn(second.W_K[0].shape, generator=torch.Generator().manual_seed(0))
    found = about_composition.lead_of_previous_token_keys(
        dataclasses.replace(subject, name="queries")
    )
    assert found < 0


def test_built_q_composition_is_significant(subject):
    control = planted.built_q_composition(subject)
    built = about_composition.best_of_queries_and_values(control)
    assert built > about_composition.best_of_queries_and_values(subject)


@pytest.mark.parametrize("layers", [(1, 0), (0, 0)])
def test_the_published_formula_is_the_same_for_all_pairs_at_once(subject, layers):
    found = about_composition._published(subject.model, layers)
    for later, earlier in itertools.product(range(len(found)), repeat=2):
        pair = (
            heads.W_QK(subject.model, (layers[0], later)),
            heads.W_OV(subject.model, (layers[1], earlier)),
        )
        assert float(found[later, earlier]) == pytest.approx(analysis.published_k_score(*pair))


def test_the_wrong_formula_hides_what_was_built_to_be_hidden(subject):
    model = planted.hidden_k_composition(subject).model
    assert about_composition._published(model, (1, 0))[0, 0] < 1e-6
    assert about_composition.hidden(model)[0, 0]


def test_an_edge_leads_in_use_if_it_does_in_both_halves(subject, monkeypatch):
    change = torch.full((samples.OF_EDGES[0], 3, 5, 5), 0.1, dtype=torch.float64)
    earlier = subject.previous_token_head.head
    change[:, 1, 2, earlier] = 0.4
    measured = edge_effects.Effects(change, change)
    monkeypatch.setattr(about_composition, "effects", lambda _: measured)
    lead = about_composition.lead_of_previous_token_keys_in_use(subject)
    torch.testing.assert_close(lead, torch.full_like(lead, 0.3))
    change[:, 0, 3, earlier] = 0.6  # the same head, by queries
    lead = about_composition.lead_of_previous_token_keys_in_use(subject)
    torch.testing.assert_close(lead, torch.full_like(lead, -0.2))


def test_what_no_formula_hides_is_no_case(subject, monkeypatch):
    monkeypatch.setattr(
        about_composition, "hidden", lambda model: torch.zeros(5, 5, dtype=torch.bool)
    )
    assert about_composition.use_of_hidden_edges(subject).isnan().all()


def test_the_best_hidden_edge_counts(subject, monkeypatch):
    change = torch.full((samples.OF_EDGES[0], 3, 5, 5), 0.1, dtype=torch.float64)
    change[:, 1, 2, 3] = 2.6  # the average of all K edges is 0.2
    measured = edge_effects.Effects(change, change)
    monkeypatch.setattr(about_composition, "effects", lambda _: measured)
    where = torch.zeros(5, 5, dtype=torch.bool)
    where[2, 4] = True
    monkeypatch.setattr(about_composition, "hidden", lambda model: where)
    assert float(about_composition.use_of_hidden_edges(subject).mean()) == pytest.approx(0.5)
    where[2, 3] = True
    assert float(about_composition.use_of_hidden_edges(subject).mean()) == pytest.approx(13)


def test_scores_order_the_use_of_graded_edges(subject):
    found = rules.interval(
        about_composition.agreement_of_score_and_use(planted.graded_edges(subject))
    )
    assert found.low > 0.5


def test_a_basis_changes_agreement_and_no_effect(subject, generator):
    T = torch.randn(14, 14, generator=generator, dtype=torch.float64)
    other = dataclasses.replace(subject, model=analysis.change_basis(subject.model, T))
    before, after = about_composition.effects(subject), about_composition.effects(other)
    torch.testing.assert_close(before.change, after.change, rtol=1e-5, atol=1e-9)
    assert not torch.allclose(
        about_composition.scores(subject), about_composition.scores(other), atol=0.05
    )


def test_scores_of_heads_that_do_nothing_decide_nothing(subject):
    """A score has no size: it is the same, however little a head writes."""
    nothing = controls.heads_without_effect(subject)
    scores = about_composition.scores(nothing)
    torch.testing.assert_close(scores, about_composition.scores(subject), rtol=1e-4, atol=1e-6)
    for measurement in (
        about_composition.share_below_random,
        about_composition.lead_of_previous_token_keys,
        about_composition.best_of_queries_and_values,
        about_composition.use_of_hidden_edges,
    ):
        assert measurement.interval(nothing) == rules.NOTHING, measurement.claim_id


def test_effects_are_those_of_the_model_in_whatever_basis(subject):
    white = subjects.white(subject)
    assert about_composition.effects(white) is about_composition.effects(subject)
    assert not torch.allclose(
        about_composition.scores(white), about_composition.scores(subject), rtol=0.01
    )
