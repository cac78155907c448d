"""What is measured on a model of the study: by the book's own rules, in both bases, edge by edge."""

import dataclasses
import json
from types import SimpleNamespace

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files
from transformer_circuits.analysis import composition, edge_effects
from transformer_circuits.claims import about_composition as edges_of
from transformer_circuits.claims import catalogue, sizes, subjects
from transformer_circuits.experiments import plan
from transformer_circuits.interop import own_model
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training.trainer import Trainer

IDS = ("below-random", "induction-head-exists", "icl-score", "form-given", "copying-heads")
"""Of two layers, but the last; the last but one is of the short trainings."""


@pytest.fixture
def few(monkeypatch, subject):
    found = {name: catalogue.measurements()[name] for name in IDS}
    monkeypatch.setattr(catalogue, "measurements", lambda: found)
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: subject.text)


def test_every_rule_of_the_two_layer_model_is_measured_or_says_why_not(few, subject):
    found = sizes.measured(dataclasses.replace(subject, name="width 14", own=True))
    json.dumps(found)
    assert [*found["estimates"]] == ["below-random", "induction-head-exists", "icl-score"]
    expected = edges_of.share_below_random(subject).mean()
    assert found["estimates"]["below-random"]["mean"] == pytest.approx(float(expected), rel=1e-3)
    assert found["estimates"]["induction-head-exists"]["n"] > 1
    reason = "NotToBeHad: width 14 has no sibling one-layer"
    assert found["estimates"]["icl-score"] == {"not applicable": reason}
    white = subjects.white(subject)
    assert {*found["estimates_white"]} == {"below-random"}
    expected = float(edges_of.share_below_random(white).mean())
    assert found["estimates_white"]["below-random"]["mean"] == pytest.approx(expected, rel=1e-3)


def test_edges_have_scores_both_ways_effects_and_how_far_they_agree(few, subject):
    white = subjects.white(subject)
    found = sizes.edges(subject, white)
    n = subject.model.config.n_heads
    assert all(torch.tensor(found[name]).shape == (3, n, n) for name in ("change", "loss"))
    stored = composition.scores(subject.model, "K", basis="stored")[2, 4]
    assert found["stored"][found["kinds"].index("K")][2][4] == pytest.approx(float(stored))
    change = torch.tensor(found["change"], dtype=torch.float64)
    for name in ("stored", "white"):
        pairs = zip(torch.tensor(found[name]), change, strict=True)
        assert found["agreement"][name] == [edge_effects.agreement(*pair) for pair in pairs]
    assert len(found["reliability"]) == 3 and len(found["places"]) > 0


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


def test_a_model_is_saved_in_the_cache_and_measured_as_it_was_saved(tmp_path, monkeypatch, subject):
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path)
    (tmp_path / "text").write_text("x")
    monkeypatch.setattr(corpus, "build", lambda profile: {"train": tmp_path / "text"})
    monkeypatch.setattr(subjects, "held_out", lambda: subject.text)
    n_vocab = SimpleNamespace(get_vocab_size=lambda: subject.model.config.n_vocab)
    monkeypatch.setattr(tokenizer, "load", lambda: n_vocab)
    monkeypatch.setattr(sizes, "measured", lambda subject: {"subject": subject})
    [one] = [
        p for p in plan.read(plan.study()) if p.title == "width 128, 8.2 million tokens, seed 1"
    ]
    planned = dataclasses.replace(one, training=PLAN)
    run = Trainer(Transformer(SHAPE), PLAN, subject.text, compile=False)
    run.log = [{"step": 3, "tokens": 99}]
    found = sizes.keep(planned, run)["subject"]
    assert found.name == planned.title and found.log == ({"step": 3, "tokens": 99},)
    assert torch.equal(found.model.W_E, run.model.W_E.half().float())
    folder = tmp_path / "study" / planned.title_of_state
    assert torch.equal(own_model.load(folder).W_U, found.model.W_U)


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
        reasons = [each.get("not applicable") for each in row["estimates"].values()]
        assert [reason for reason in reasons if reason] == [
            f"NotToBeHad: {title} has no sibling one-layer"
        ]
