"""Rules of causes on short trainings made for it: as claimed, not as claimed, and changed in nothing."""

import dataclasses
import math
from types import SimpleNamespace

import pytest

from transformer_circuits.claims import about_why_they_form, rules, subjects
from transformer_circuits.claims.measurement import Measurement
from transformer_circuits.experiments import formation, plan
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import checkpoint

TOKENS = [100_000 * k for k in range(1, 41)]
BATCH, CONTEXT = 16, 13
CLAIMED_AT = {
    "base": 1.0, "previous token given": 0.6, "race between layers": 1.4,
    "repeats count nothing": 2.2, "repeats count three times": 0.7, "no begin token": 0.7,
    "code alone": 0.8, "prose alone": 1.9, "batch 4": 0.5, "batch 8": 0.71, "batch 32": 1.41,
    "one layer, shifted keys": 0.9, "one layer": None, "one layer, keys two back": None,
    "two back given": 1.02, "prose, repeats planted": 1.0, "batch 4, rate by the root": 0.45,
    "batch 8, rate by the root": 0.7, "batch 32, rate by the root": 1.5,
}  # fmt: skip
"""Millions of tokens at which heads come to match."""
LONG = {
    "shifted": "one layer, shifted keys",
    "planted": "prose, repeats planted",
    "slow_4": "batch 4, rate by the root",
    "two_back": "two back given",
    "keys_two_back": "one layer, keys two back",
}
"""Runs by shorter names."""


def log(at, worth=0.4):
    """Matching that rises in a straight line to 0.2 at so many million tokens, and on to 0.8."""
    rise = [0.0 if at is None else min(0.8, 0.2 * t / (at * 1e6)) for t in TOKENS]
    return [
        {
            "step": t,
            "tokens": t,
            "in_context_learning_score": -worth * t / TOKENS[-1],
            "matching_random": [[0.9, 0.01], [0.01, value]],
        }
        for t, value in zip(TOKENS, rise, strict=True)
    ]


@pytest.fixture
def trained(subject, monkeypatch):
    """Say when the heads of each run match; a seed more is three hundredths later. Nothing is read."""

    def made(worth=(0.4, 0.3, 0.1), **changed):
        at = CLAIMED_AT | {
            LONG.get(name, name.replace("_", " ")): value for name, value in changed.items()
        }
        worths = {"base": worth[0], "repeats count nothing": worth[1]}

        def records(name):
            return [
                log(at[name] and at[name] * 1.03**seed, worths.get(name, 0.4))
                for seed in plan.SEEDS
            ]

        monkeypatch.setattr(formation, "records", records)
        monkeypatch.setattr(
            checkpoint,
            "settings",
            lambda name: (None, SimpleNamespace(seed=int(name[-1]), batch=BATCH)),
        )
        law = 10**5.7 * math.sqrt(BATCH * subject.model.config.n_ctx)
        own = [dict(r, tokens=round(r["tokens"] / 1e6 * law)) for r in log(1.0)]
        config = dataclasses.replace(subject.model.config, n_layers=1)
        single = Transformer(config)
        flat = log(None, worth[2])
        for r in flat:
            r["matching_random"] = r["matching_random"][:1]
            r["matching_random"][0] = [0.01, 0.02]
        one = dataclasses.replace(subject, name="one-0", model=single, log=tuple(flat))
        monkeypatch.setattr(type(subject), "sibling", lambda self, name: one)
        return dataclasses.replace(subject, name="two-0", log=tuple(own))

    return made


MEASUREMENTS = [
    each for each in vars(about_why_they_form).values() if isinstance(each, Measurement)
]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda measurement: measurement.claim_id)
def test_what_is_claimed_is_found_and_refused_on_each_control(trained, measurement):
    found = measurement.decision([trained()])
    assert found.verdict == rules.REPRODUCED, found


@pytest.mark.parametrize(
    ("measurement", "otherwise"),
    [
        (about_why_they_form.sooner_given, {"previous_token_given": 1.3}),
        (about_why_they_form.later_in_a_race, {"race_between_layers": 0.9}),
        (about_why_they_form.later_without_repeats, {"repeats_count_nothing": 0.9}),
        (about_why_they_form.sooner_with_repeats, {"repeats_count_three_times": 1.1}),
        (about_why_they_form.sooner_on_code, {"code_alone": 2.0}),
        (about_why_they_form.sooner_with_repeats_planted, {"planted": 1.8}),
        (about_why_they_form.shifted_keys, {"shifted": None}),
        (about_why_they_form.sooner_without_begin, {"no_begin_token": 1.2}),
        (about_why_they_form.context_kept, {"worth": (0.4, 0.1, 0.1)}),
        (about_why_they_form.off_the_root, {"batch_32": 2.0, "batch_8": 0.5, "batch_4": 0.25}),
        (about_why_they_form.off_the_root, {"batch_32": 1.0, "batch_8": 1.0, "batch_4": 1.0}),
        (about_why_they_form.off_the_root_with_the_rate, {"slow_4": 1.9}),
    ],
)
def test_what_is_not_as_claimed_is_refused(trained, measurement, otherwise):
    assert rules.short_of(measurement.rule, measurement.interval(trained(**otherwise)))


@pytest.mark.parametrize(
    ("measurement", "helps"),
    [
        (about_why_they_form.sooner_given, {"two_back": 0.6}),
        (about_why_they_form.shifted_keys, {"keys_two_back": 0.9}),
    ],
)
def test_what_any_shift_would_do_is_not_laid_to_the_previous_token(trained, measurement, helps):
    found = measurement.decision([trained(**helps)])
    assert found.verdict == rules.UNDECIDED
    assert "two back" in found.why


def test_effects_are_doublings_of_tokens(trained):
    """A head that never comes counts at the last record."""
    subject = trained(previous_token_given=0.5, race_between_layers=2.0, repeats_count_nothing=None)
    assert float(about_why_they_form.sooner_given(subject)) == pytest.approx(1)
    assert float(about_why_they_form.later_in_a_race(subject)) == pytest.approx(1)
    assert float(about_why_they_form.later_without_repeats(subject)) == pytest.approx(2)
    assert float(about_why_they_form.off_the_law(subject)) == pytest.approx(0, abs=1e-3)
    early = dataclasses.replace(subject, log=tuple(log(1.0)))
    law = 10**5.7 * math.sqrt(BATCH * subject.model.config.n_ctx)
    assert float(about_why_they_form.off_the_law(early)) == pytest.approx(math.log2(law / 1e6))


def test_runs_are_those_of_the_subject_s_seed(trained):
    subject = trained()
    other = dataclasses.replace(subject, name="two-2")
    assert float(about_why_they_form.sooner_given(subject)) == pytest.approx(
        float(about_why_they_form.sooner_given(other))
    )
    for one in (subject, other):  # the largest of all pairs, whichever seed is asked
        null = dataclasses.replace(one, instead=subjects.ANOTHER_SEED)
        for measure in (about_why_they_form.sooner_given, about_why_they_form.later_in_a_race):
            assert float(measure(null)) == pytest.approx(2 * math.log2(1.03))
