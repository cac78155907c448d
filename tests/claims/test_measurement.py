"""How a decision follows where the seeds alone do not make it: of some models only, or in two ways."""

import dataclasses

import pytest

from transformer_circuits.claims import about_attention_heads, about_skip_trigrams, rules
from transformer_circuits.claims.measurement import Measurement
from transformer_circuits.claims.rules import Interval


def near(mean):
    return Interval(mean, mean - 0.01, mean + 0.01, 9)


@pytest.mark.parametrize(
    "means, control, expected",
    [
        ((0.1, 0.04, 0.1), 0.0, rules.NO_CASE),  # a few models do not refute "sometimes"
        ((0.1, 0.4, 0.1), 0.0, rules.REPRODUCED),
        ((0.1, 0.25, 0.1), 0.0, rules.UNDECIDED),
        ((0.1, 0.4, 0.1), 0.4, rules.UNDECIDED),
    ],
)
def test_what_is_claimed_of_some_models_is_seen_in_one_and_not_refuted_by_a_few(
    means, control, expected, monkeypatch, subject
):
    measurement = about_skip_trigrams.held_by_a_specialist
    assert measurement.claim.sometimes
    seeds = [dataclasses.replace(subject, name=f"seed {seed}") for seed in range(3)]
    of = {one.name: near(mean) for one, mean in zip(seeds, means, strict=True)}
    monkeypatch.setattr(Measurement, "interval", lambda _, one: of.get(one.name, near(control)))
    found = measurement.decision(seeds)
    assert found.verdict == expected, found
    if expected == rules.REPRODUCED:
        assert "in one of three seeds" in found.finding


@pytest.mark.parametrize(
    "short, whole, expected",
    [
        (0.8, 0.2, rules.UNDECIDED),
        (0.8, 0.7, rules.REPRODUCED),
        (0.3, 0.2, rules.NOT_REPRODUCED),
    ],
)
def test_what_short_windows_and_whole_contexts_answer_differently_depends_on_the_length(
    short, whole, expected, monkeypatch, subject
):
    measurement, made = about_attention_heads.attention_to_begin, []
    monkeypatch.setattr(
        Measurement,
        "interval",
        lambda _, one: near(0.0 if one.name in made else short if one.longest else whole),
    )
    made += [control(subject).name for control in measurement.controls]
    found = measurement.decision([subject])
    assert found.verdict == expected
    if expected == rules.UNDECIDED:
        assert "; windows of 64 tokens reproduced" in found.why
        assert found.finding.startswith(
            "Asked whether heads rest on the begin token. In short windows: yes"
        )
        assert "80\u00a0%" in found.finding and "20\u00a0%" in found.finding
    assert f"{subject.name}, windows of 64 tokens" in found.record.numbers
    assert "windows of 64 tokens" in found._repr_mimebundle_()[0]["text/html"]


def test_short_windows_are_short_whatever_is_asked_for(subject):
    shown = dataclasses.replace(subject, longest=5)
    assert [shown.windows(4, n)[0].shape[1] for n in (None, 3, 8)] == [5, 3, 5]
    assert subject.windows(4)[0].shape[1] == subject.model.config.n_ctx
