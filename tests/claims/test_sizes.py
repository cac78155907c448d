"""What is measured on a model of the study: by the book's own rules, in both bases, edge by edge."""

import dataclasses
import json
from types import SimpleNamespace

import pytest
import torch

from transformer_circuits import files
from transformer_circuits.analysis import composition, edge_effects
from transformer_circuits.claims import about_composition as edges_of
from transformer_circuits.claims import catalogue, sizes, subjects
from transformer_circuits.experiments import plan
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.text import corpus, tokenizer


def test_every_rule_of_the_two_layer_model_is_measured_or_says_why_not(subject, monkeypatch):
    """But those of the short trainings and of one layer; in both bases, and edge by edge."""
    names = ("below-random", "induction-head-exists", "icl-score", "form-given", "copying-heads")
    found = {name: catalogue.measurements()[name] for name in names}
    monkeypatch.setattr(catalogue, "measurements", lambda: found)
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: subject.text)
    own = dataclasses.replace(subject, name="width 14", own=True)
    found = json.loads(json.dumps(sizes.measured(own)))
    assert [*found["estimates"]] == ["below-random", "induction-head-exists", "icl-score"]
    assert found["estimates"]["induction-head-exists"]["n"] > 1
    reason = "NotToBeHad: width 14 has no sibling one-layer"
    assert found["estimates"]["icl-score"] == {"not applicable": reason}
    assert {*found["estimates_white"]} == {"below-random"}
    bases = {"estimates": subject, "estimates_white": subjects.white(subject)}
    for name, one in bases.items():
        expected = float(edges_of.share_below_random(one).mean())
        assert found[name]["below-random"]["mean"] == pytest.approx(expected, rel=1e-3)
    edges = found["edges"]
    stored = composition.scores(subject.model, "K", basis="stored")[2, 4]
    assert edges["stored"][edges["kinds"].index("K")][2][4] == pytest.approx(
        float(stored), rel=1e-3
    )
    change = edges_of.effects(subject).change.double().mean(dim=0)
    for name, one in (("stored", subject), ("white", subjects.white(subject))):
        pairs = zip(edges_of.scores(one), change, strict=True)
        agreement = [edge_effects.agreement(*pair) for pair in pairs]
        assert edges["agreement"][name] == pytest.approx(agreement, rel=1e-3)
    assert len(edges["reliability"]) == 3 and len(edges["places"]) > 0


def test_a_model_with_a_norm_has_the_rules_of_circuits_and_scores_as_stored_and_all_edges(
    subject, generator, monkeypatch
):
    model = general.with_norm(subject.model.config).requires_grad_(False).eval()
    model.randomise(generator=generator)
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: subject.text)
    normed = dataclasses.replace(subject, name="normed", model=model, own=True)
    found = sizes.measured(normed)
    assert {*found["estimates"]} == {*sizes.WITH_NORM} and found["estimates_white"] == {}
    of_rule = found["estimates"]["score-is-not-use"]
    assert of_rule["mean"] == pytest.approx(
        sum(found["edges"]["agreement"]["stored"]) / 3, abs=1e-3
    )
    assert {*found["edges"]["agreement"]} == {"stored", "white"}


def test_the_loss_is_given_by_character_too_and_numbers_have_four_significant_digits(
    subject, monkeypatch
):
    texts = SimpleNamespace(decode_batch=lambda rows: ["ab" * len(row) for row in rows])
    monkeypatch.setattr(tokenizer, "load", lambda: texts)
    found = sizes.held_out(subject)
    assert found["windows"] == 64
    losses = cross_entropy.evaluate(subject.model, subject.text)
    assert found["nats_per_token"] == pytest.approx(float(losses.mean()))
    assert found["nats_per_character"] == pytest.approx(found["nats_per_token"] / 2)
    value = {"a": [1.23456, {"b": 0.000123456}], "c": 24, "d": "text", "e": [123456.0]}
    rounded = {"a": [1.235, {"b": 0.0001235}], "c": 24, "d": "text", "e": [123500.0]}
    assert sizes._rounded(value) == rounded


def test_every_line_that_is_there_is_of_the_plan_as_it_is_and_says_what_was_measured():
    series = sizes.series()
    rows = files.read_json_lines(series.results)
    planned = {one.title: one for one in plan.read(series.plan)}
    titles = [f"{row['run']}, seed {row['seed']}" for row in rows]
    assert titles == [title for title in planned if title in titles]  # in its order, none twice
    for title, row in zip(titles, rows, strict=True):
        one = planned[title]
        assert one.row.items() <= row.items(), title
        assert row["training"][-1]["tokens"] == one.choices.tokens
        assert {"held_out", "estimates", "estimates_white", "edges"} <= row.keys()
        n = one.shape.n_heads
        for name in ("stored", "white", "change", "loss"):
            assert torch.tensor(row["edges"][name]).shape == (3, n, n)
