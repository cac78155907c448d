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
    rules,
    samples,
    subjects,
)
from transformer_circuits.model.transformer import Transformer


def test_heads_that_read_elsewhere_score_below_random(subject):
    model = subject.model
    model.layers[0].W_O[:, 7:] = 0
    for weight in ("W_Q", "W_K", "W_V"):
        getattr(model.layers[1], weight)[..., :7] = 0
    assert float(about_composition.share_below_random(subject).mean()) == 1
    for control in (controls.untrained, controls.turned_heads):
        assert about_composition.share_below_random(control(subject)).mean() < 0.5


def test_in_the_white_basis_random_heads_lie_below_random_as_rarely_as_stored(subject):
    """They score lower there, so that against the null of the stored basis most of them would."""
    shape = dataclasses.replace(subject.model.config, d_model=32, n_heads=8, d_head=4)
    random = controls.untrained(subject.with_model("wide", Transformer(shape)))
    white, measured = subjects.white(random), about_composition.share_below_random
    mean, spread = about_composition.chance(32, 4)
    against_stored = (about_composition.scores(white) < mean - 2 * spread).double().mean()
    assert against_stored > 0.5 and measured(white).mean() < 0.1
    assert about_composition.null_of(random) == (mean, spread)


@pytest.mark.parametrize("stored", [True, False])
def test_turned_heads_are_as_many_draws_each_white_again_and_the_largest_counts(subject, stored):
    one, leads = subject if stored else subjects.white(subject), []
    for seed in range(1, 21):
        turned = controls.turned_heads.draw(one, seed)
        scores = about_composition.scores(turned if stored else subjects.white(turned)).clone()
        theirs = scores[1, :, one.previous_token_head.head].max()
        scores[1, :, one.previous_token_head.head] = 0
        leads.append(float(theirs - scores.max()) / about_composition.chance(14, 3)[0])
    beside = about_composition.lead_of_previous_token_keys.beside(subject)
    found = beside["turned heads, 20 draws" + (", white basis" if not stored else "")]
    assert (found.low, found.high) == pytest.approx((min(leads), max(leads)), rel=1e-4)
    assert found.n == 20 and isinstance(found, rules.Draws)


@pytest.mark.parametrize("reads", ["W_K", "W_Q"])
def test_keys_that_read_the_previous_token_head_lead_and_queries_do_not(subject, reads):
    previous = subject.previous_token_head.head
    first, second = subject.model.layers
    for name in ("W_K", "W_Q"):
        random = torch.randn(second.W_Q[0].shape, generator=torch.Generator().manual_seed(0))
        getattr(second, name)[0] = first.W_O[previous].T if name == reads else random
    assert (about_composition.lead_of_previous_token_keys(subject) > 0) == (reads == "W_K")


@pytest.mark.parametrize("layers", [(1, 0), (0, 0)])
def test_the_published_formula_is_the_same_for_all_pairs_at_once(subject, layers):
    found = about_composition._published(subject.model, layers)
    for later, earlier in itertools.product(range(len(found)), repeat=2):
        pair = (
            heads.W_QK(subject.model, (layers[0], later)),
            heads.W_OV(subject.model, (layers[1], earlier)),
        )
        assert float(found[later, earlier]) == pytest.approx(analysis.published_k_score(*pair))


@pytest.fixture
def change(monkeypatch):
    """What each edge changes of predictions; to be set by a test."""
    values = torch.full((samples.OF_EDGES[0], 3, 5, 5), 0.1, dtype=torch.float64)
    monkeypatch.setattr(
        about_composition, "effects", lambda _: edge_effects.Effects(values, values)
    )
    return values


def test_an_edge_leads_in_use_if_it_does_in_both_halves(subject, change):
    earlier = subject.previous_token_head.head
    change[:, 1, 2, earlier] = 0.4
    lead = about_composition.lead_of_previous_token_keys_in_use(subject)
    torch.testing.assert_close(lead, torch.full_like(lead, 0.3))
    change[:, 0, 3, earlier] = 0.6  # the same head, by queries
    lead = about_composition.lead_of_previous_token_keys_in_use(subject)
    torch.testing.assert_close(lead, torch.full_like(lead, -0.2))


def test_the_best_hidden_edge_counts_and_where_none_is_hidden_that_is_no_case(
    subject, change, monkeypatch
):
    change[:, 1, 2, 3] = 2.6  # the average of all K edges is 0.2
    where = torch.zeros(5, 5, dtype=torch.bool)
    monkeypatch.setattr(about_composition, "hidden", lambda model: where)
    assert about_composition.use_of_hidden_edges(subject).isnan().all()
    where[2, 4] = True
    assert float(about_composition.use_of_hidden_edges(subject).mean()) == pytest.approx(0.5)
    where[2, 3] = True
    assert float(about_composition.use_of_hidden_edges(subject).mean()) == pytest.approx(13)


def test_agreement_is_the_rank_correlation_of_mean_effects(subject):
    """Not the mean of anything over windows, which correlations of ranks are not."""
    scores, change = about_composition.scores(subject), about_composition.effects(subject).change
    pairs = zip(scores, change.double().mean(dim=0), strict=True)
    rho = [edge_effects.rank_correlation(*of_kind) for of_kind in pairs]
    found = about_composition.agreement_of(subject, scores)
    assert found.mean == pytest.approx(sum(rho) / len(rho))
    assert found.low <= found.high and found.n == len(change)
    against_itself = about_composition.agreement_of(subject, scores, less=scores)
    assert (against_itself.mean, against_itself.low, against_itself.high) == (0, 0, 0)
