"""Rules of causes on short trainings made for it: as claimed, not as claimed, and changed in nothing."""

import dataclasses
import math
from types import SimpleNamespace

import pytest

from transformer_circuits.claims import about_why_they_form, rules, subjects
from transformer_circuits.claims.measurement import Measurement
from transformer_circuits.experiments import trainings
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
MORE = ", more seeds"


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
    """Say when the heads of each run match; a seed more is three hundredths later. Nothing is read.

    Except which runs have more seeds: their effects differ by as little.
    """
    runs = {each.run for each in trainings.read()}

    def made(worth=(0.4, 0.3, 0.1), **changed):
        at = CLAIMED_AT | {
            LONG.get(name, name.replace("_", " ")): value for name, value in changed.items()
        }
        worths = {"base": worth[0], "repeats count nothing": worth[1]}

        def records(run):
            name, seeds = (
                run.removesuffix(MORE),
                range(3, 8) if run.endswith(MORE) else trainings.SEEDS,
            )
            grows = 1.03 if name == "base" else 1.031
            return [
                log(at[name] and at[name] * grows**seed, worths.get(name, 0.4)) for seed in seeds
            ]

        monkeypatch.setattr(trainings, "logs", records)
        monkeypatch.setattr(
            trainings,
            "every_log",
            lambda run: records(run) + (records(run + MORE) if run + MORE in runs else []),
        )
        settings = checkpoint.settings

        def of_seed(name):
            seeded = name[-1].isdigit()
            return (
                (None, SimpleNamespace(seed=int(name[-1]), batch=BATCH))
                if seeded
                else settings(name)
            )

        monkeypatch.setattr(checkpoint, "settings", of_seed)
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
    subject = trained(code_alone=1.0, repeats_count_three_times=0.5)
    assert float(about_why_they_form.sooner_on_code(subject)) == pytest.approx(math.log2(1.9))
    thrice = about_why_they_form.sooner_with_repeats(subject)
    assert thrice.mean == pytest.approx(1, abs=0.01) and thrice.n == 8
    planted = about_why_they_form.sooner_with_repeats_planted(trained(planted=0.95))
    assert planted.mean == pytest.approx(1, abs=0.01) and planted.n == 8, "against prose, at 1.9"
    assert float(about_why_they_form.off_the_law(subject)) == pytest.approx(0, abs=1e-3)
    early = dataclasses.replace(subject, log=tuple(log(1.0)))
    law = 10**5.7 * math.sqrt(BATCH * subject.model.config.n_ctx)
    assert float(about_why_they_form.off_the_law(early)) == pytest.approx(math.log2(law / 1e6))


def test_pairs_are_of_every_seed_that_the_plan_has(trained):
    """Whichever model is asked; of a control without more seeds, as many as there are."""
    subject = trained(previous_token_given=0.5, race_between_layers=2.0, repeats_count_nothing=None)
    apart, faster = math.log2(1.03), math.log2(1.031 / 1.03)
    given = about_why_they_form.sooner_given(subject)
    assert given.n == 8 and given.mean == pytest.approx(1 - 3.5 * faster)
    half = rules.STUDENT[8] * faster * math.sqrt(6) / math.sqrt(8)  # the numbers 0 to 7 vary by 6
    assert given.high - given.mean == pytest.approx(half)
    assert given == about_why_they_form.sooner_given(dataclasses.replace(subject, name="two-2"))
    race = about_why_they_form.later_in_a_race(subject)
    assert race.mean == pytest.approx(1 + 3.5 * faster)
    never = about_why_they_form.later_without_repeats(subject)
    assert never.mean == pytest.approx(2 - 3.5 * apart)
    unchanged = dataclasses.replace(subject, instead=subjects.ANOTHER_SEED)
    null = about_why_they_form.later_in_a_race(unchanged)
    assert null.n == 4 and null.mean == pytest.approx(4 * apart)
    two_back = dataclasses.replace(subject, instead="two back given")
    assert about_why_they_form.sooner_given(two_back).n == 3


def test_a_decision_on_pairs_is_one_and_says_of_how_many(trained):
    subject = trained()
    found = about_why_they_form.later_in_a_race.decision([subject, subject])
    assert [*found.seeds] == ["mean of all pairs"] and found.why == "the mean of 8 pairs"
    assert found.row["estimate (95 % interval), by seed"].endswith("over 8 or more units")
    assert "over 8 pairs of trainings" in found.finding
    across = dataclasses.replace(trained(race_between_layers=1.185), name="two-1")
    why = about_why_they_form.later_in_a_race.decision([across]).why
    assert why.startswith("across the threshold in the mean of 8 pairs")


def test_runs_are_those_of_the_subject_s_seed(trained):
    subject = trained()
    other = dataclasses.replace(subject, name="two-2")
    measures = (about_why_they_form.sooner_on_code, about_why_they_form.sooner_without_begin)
    apart = math.log2(1.031 / 1.03)
    for measure, changed in zip(measures, (0, 2 * apart), strict=True):
        assert float(measure(subject) - measure(other)) == pytest.approx(changed)
    for one in (subject, other):  # the largest of all pairs, whichever seed is asked
        null = dataclasses.replace(one, instead=subjects.ANOTHER_SEED)
        for measure in measures:
            assert float(measure(null)) == pytest.approx(2 * math.log2(1.03))
