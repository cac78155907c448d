"""Rules of causes on short trainings made for it: as claimed, not as claimed, and changed in nothing."""

import dataclasses
import math
from types import SimpleNamespace

import pytest

from transformer_circuits.claims import about_why_they_form, rules, subjects
from transformer_circuits.claims.measurement import Measurement
from transformer_circuits.experiments import trainings
from transformer_circuits.training import checkpoint

TOKENS = [100_000 * k for k in range(1, 41)]
CLAIMED_AT = {
    "base": 1.0, "previous token given": 0.6, 
    "one layer, shifted keys": 0.9, "one layer": None, "one layer, keys two back": None,
    "two back given": 1.02,
}  # fmt: skip
"""Millions of tokens at which heads come to match."""
LONG = {
    "shifted": "one layer, shifted keys",
    "two_back": "two back given",
    "keys_two_back": "one layer, keys two back",
}
"""Runs by shorter names."""
MORE = ", more seeds"


def log(at):
    """Matching that rises in a straight line to 0.2 at so many million tokens, and on to 0.8."""
    rise = [0.0 if at is None else min(0.8, 0.2 * t / (at * 1e6)) for t in TOKENS]
    return [
        {
            "step": t,
            "tokens": t,
            "matching_random": [[0.9, 0.01], [0.01, value]],
        }
        for t, value in zip(TOKENS, rise, strict=True)
    ]


@pytest.fixture
def trained(subject, monkeypatch):
    """Say when the heads of each run match; a seed more is three hundredths later. Nothing is read.

    Except which runs have more seeds: their effects differ by as little.
    """
    runs = {each.run for each in trainings.read()}

    def made(**changed):
        at = CLAIMED_AT | {
            LONG.get(name, name.replace("_", " ")): value for name, value in changed.items()
        }

        def records(run):
            more = run.endswith(MORE)
            name, seeds = run.removesuffix(MORE), range(3, 8) if more else trainings.SEEDS
            grows = 1.03 if name == "base" else 1.031
            return [log(at[name] and at[name] * grows**seed) for seed in seeds]

        def every(run):
            return records(run) + (records(run + MORE) if run + MORE in runs else [])

        monkeypatch.setattr(trainings, "logs", records)
        monkeypatch.setattr(trainings, "every_log", every)
        monkeypatch.setattr(
            checkpoint, "settings", lambda name: (None, SimpleNamespace(seed=int(name[-1])))
        )
        return dataclasses.replace(subject, name="two-0")

    return made


MEASUREMENTS = [
    each for each in vars(about_why_they_form).values() if isinstance(each, Measurement)
]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda measurement: measurement.claim.id)
def test_what_is_claimed_is_found_and_refused_on_each_control(trained, measurement):
    found = measurement.decision([trained()])
    assert found.verdict == rules.REPRODUCED, found


@pytest.mark.parametrize(
    ("measurement", "otherwise"),
    [
        (about_why_they_form.sooner_given, {"previous_token_given": 1.3}),
        (about_why_they_form.shifted_keys, {"shifted": None}),
    ],
)
def test_what_is_not_as_claimed_is_refused(trained, measurement, otherwise):
    assert rules.short_of(measurement.claim, measurement.interval(trained(**otherwise)))


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


def test_pairs_are_of_every_seed_that_the_plan_has(trained):
    """Whichever model is asked; of a control without more seeds, as many as there are."""
    subject = trained(previous_token_given=0.5)
    apart, faster = math.log2(1.03), math.log2(1.031 / 1.03)
    given = about_why_they_form.sooner_given(subject)
    assert given.n == 8 and given.mean == pytest.approx(1 - 3.5 * faster)
    half = rules.STUDENT[8] * faster * math.sqrt(6) / math.sqrt(8)  # the numbers 0 to 7 vary by 6
    assert given.high - given.mean == pytest.approx(half)
    assert given == about_why_they_form.sooner_given(dataclasses.replace(subject, name="two-2"))
    never = about_why_they_form.sooner_given(trained(previous_token_given=None))
    assert never.mean == pytest.approx(3.5 * apart - 2), "it counts at the last record"
    null = about_why_they_form.sooner_given(
        dataclasses.replace(subject, instead=subjects.ANOTHER_SEED)
    )
    assert null.n == 4 and null.mean == pytest.approx(-4 * apart)
    two_back = dataclasses.replace(subject, instead="two back given")
    assert about_why_they_form.sooner_given(two_back).n == 3


def test_a_decision_on_pairs_is_one_and_says_of_how_many(trained):
    subject = trained()
    found = about_why_they_form.sooner_given.decision([subject, subject])
    assert [*found.seeds] == ["mean of all pairs"] and found.why == "the mean of 8 pairs"
    assert found.seeds["mean of all pairs"].n == 8
    across = dataclasses.replace(trained(previous_token_given=0.838), name="two-1")
    why = about_why_they_form.sooner_given.decision([across]).why
    assert why.startswith("across the threshold in the mean of 8 pairs")
