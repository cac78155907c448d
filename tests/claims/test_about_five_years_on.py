"""Metrics of newer claims are finite for any weights, and see what is there and nothing else."""

import torch

from transformer_circuits.claims import (
    about_five_years_on,
    rules,
)


def test_an_edge_that_carries_nothing_is_no_case(subject):
    _, _, earlier = about_five_years_on.key_edge(subject)
    subject.model.layers[0].W_O[earlier[1]] *= 1e-12
    found = about_five_years_on.kept_by_strongest_directions(subject)
    assert rules.interval(found) == rules.NOTHING


def test_strongest_directions_keep_what_passes_through_them(monkeypatch, built):
    """The built circuit's key edge: all of its directions, and then hardly any."""
    monkeypatch.setattr(about_five_years_on, "FRACTION", 1)
    found = about_five_years_on.kept_by_strongest_directions(built)
    torch.testing.assert_close(found.mean(), torch.ones_like(found.mean()))
    monkeypatch.setattr(about_five_years_on, "FRACTION", 1000)
    assert about_five_years_on.kept_by_strongest_directions(built).mean() < 0.5
