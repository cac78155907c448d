"""Metrics of newer claims are finite for any weights, and see what is there and nothing else."""

import torch

from transformer_circuits.claims import about_composition, about_five_years_on, samples


def test_an_edge_that_carries_nothing_has_no_direction_in_the_lead(subject):
    _, _, earlier = about_five_years_on.key_edge(subject)
    subject.model.layers[0].W_O[earlier[1]] *= 1e-12
    assert about_five_years_on.lead_of_strongest_directions(subject).abs().max() < 1e-9


def test_all_predictions_are_of_every_edge(subject):
    found = about_five_years_on.rankings(subject)
    assert len(found) == 4
    for scores in found.values():
        assert scores.shape == about_composition.scores(subject).shape
        assert scores.isfinite().all() and scores.min() >= 0


def test_the_lead_of_credit_is_the_difference_of_two_agreements(subject):
    found = about_five_years_on.lead_of_credit(subject)
    assert found.shape == (samples.WINDOWS_OF_EDGES,) and found.isfinite().all()
    theirs = about_composition.agreement_of_score_and_use(subject)
    ours = about_five_years_on.rankings(subject)["credit in proportion"]
    ours = about_composition.agreement_of(ours, about_composition.effects(subject).change)
    torch.testing.assert_close(found, ours - theirs)
