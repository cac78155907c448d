"""A verdict follows from intervals, a threshold and controls, and from nothing else."""

import dataclasses
import math

import pytest
import torch

from transformer_circuits.claims import catalogue, rules
from transformer_circuits.claims.claim import Claim
from transformer_circuits.claims.rules import Interval

RULE = Claim(
    id="one", statement="it holds", source="paper", section="Model Details", reported="1",
    of="two-layer", side="above", threshold=1.0,
)  # fmt: skip
HIGH, LOW, ACROSS = (
    Interval(*map(float, x), n=9) for x in ((3, 2, 4), (0, -1, 0.5), (1.5, 0.5, 2.5))
)
ONE_HIGH, ONE_LOW = Interval(3.0, 3.0, 3.0, 1), Interval(0.0, 0.0, 0.0, 1)


NEEDED = "about 4.0 times as many units would decide it, if estimates stay"


def verdict(*seeds, control=LOW, power=None, windows=0, **changes):
    planted = {"built": changes.pop("planted")} if "planted" in changes else {}
    rule = dataclasses.replace(RULE, **changes)
    named = dict(zip("abc", seeds, strict=False))
    return rules.verdict(rule, named, {"untrained": control}, planted, power, windows)


@pytest.mark.parametrize(
    "seeds, expected",
    [
        ([HIGH, HIGH, HIGH], ("reproduced", "3 of 3 seeds")),
        ([LOW, LOW], ("not reproduced", "2 of 2 seeds on the other side")),
        ([HIGH, LOW, ACROSS], ("mixed", "1 of 3 seeds; 1 on the other side")),
        ([HIGH, ACROSS], ("undecided", f"across the threshold in 1 of 2 seeds; {NEEDED}")),
        ([ACROSS], ("undecided", f"across the threshold in this one model; {NEEDED}")),
        (
            [ONE_HIGH, ONE_LOW],
            ("undecided", "1 of 2 seeds, by one number each, without an interval"),
        ),
        ([HIGH, rules.NOTHING], ("no case", "1 of 2 seeds without what it speaks of")),
    ],
)
def test_seeds_decide(seeds, expected):
    assert verdict(*seeds) == expected


def test_a_rule_that_holds_for_a_control_decides_nothing_and_one_that_misses_a_plant_has_no_power():
    assert verdict(HIGH, control=HIGH) == ("undecided", "it holds for untrained, too")
    assert verdict(HIGH, control=ACROSS)[0] == "reproduced"
    assert verdict(LOW, control=HIGH)[0] == "not reproduced"
    why = "the rule misses what was planted (built: 0 (−1 to 0.5))"
    assert verdict(HIGH, planted=LOW) == ("unpowered", why)
    assert verdict(HIGH, planted=HIGH)[0] == "reproduced"


def test_below_is_above_turned_round_and_on_the_threshold_is_on_neither_side():
    assert verdict(LOW, side="below", threshold=1.5, control=HIGH)[0] == "reproduced"
    assert verdict(HIGH, side="below", control=HIGH)[0] == "not reproduced"
    on = Interval(1.0, 1.0, 1.0, 1)
    assert verdict(on)[0] == "undecided"
    assert verdict(on, side="below", control=HIGH)[0] == "undecided"
    assert verdict(Interval(0.0, -1.0, 1.0, 9))[0] == "undecided"


def test_a_rule_that_sees_only_more_than_counts_has_no_power():
    """A claim that fails is none that was tested, then; one that holds was seen all the same."""

    def power(**found):
        sizes = {float(size[1:]): of for size, of in found.items()}
        return rules.Power("a bump of {}", 2.0, sizes)

    blind, weak, good = power(_2=LOW, _4=LOW), power(_2=LOW, _4=HIGH), power(_2=HIGH, _4=HIGH)
    assert verdict(LOW, power=weak) == ("unpowered", "it sees a bump of 4, where 2 would count")
    why = "it sees none that was planted, where 2 would count"
    assert verdict(LOW, power=blind) == ("unpowered", why)
    assert verdict(LOW, power=good)[0] == "not reproduced"
    assert verdict(HIGH, power=weak)[0] == "reproduced"
    gap = power(_1=HIGH, _2=LOW, _4=HIGH)
    assert gap.smallest(RULE) == 4, "what it sees by chance and then no more does not count"


def test_the_verdict_depends_on_the_basis_only_where_one_says_yes_and_the_other_no():
    yes, no = ("reproduced", "3 of 3 seeds"), ("not reproduced", "3 of 3 seeds on the other side")
    bases = {"way": "white basis", "of_basis": True}
    assert rules.in_both(yes, yes, **bases) == (
        "reproduced",
        "3 of 3 seeds (white basis: the same)",
    )
    assert rules.in_both(yes, no, **bases) == (
        "depends on the basis",
        "as stored reproduced (3 of 3 seeds); white basis "
        "not reproduced (3 of 3 seeds on the other side)",
    )
    assert rules.in_both(no, yes, **bases)[0] == "depends on the basis"
    assert rules.in_both(no, yes, "short windows", of_basis=False)[0] == rules.UNDECIDED
    for other in (rules.UNDECIDED, rules.MIXED, rules.UNPOWERED, rules.NO_CASE):
        for one in (yes, no):
            found, why = rules.in_both(one, (other, "as it came about"), **bases)
            assert found == rules.UNDECIDED
            assert why == (f"as stored {one[0]} ({one[1]}); white basis {other} (as it came about)")


def test_the_interval_covers_the_mean_as_often_as_it_says_and_leaves_out_what_is_no_number():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(200, 60, generator=generator)
    covered = sum(found.low <= 0 <= found.high for found in map(rules.interval, values))
    assert 180 <= covered <= 198
    assert rules.interval(torch.tensor([1.0, float("nan")])) == rules.NOTHING
    found = rules.interval(torch.tensor([1.0, float("nan"), 3.0]))
    assert (found.mean, found.n) == (2.0, 2)
    for nothing in ([float("nan")], []):
        assert rules.interval(torch.tensor(nothing)) == rules.NOTHING
    assert str(rules.NOTHING) == "no case"
    with pytest.raises(ValueError, match="finite values"):
        rules.interval(torch.tensor([float("inf")]))


def test_units_that_are_alike_are_drawn_together():
    """Nine packages of twenty documents that differ from package to package alone."""
    generator = torch.Generator().manual_seed(0)
    package = torch.arange(9).repeat_interleave(20)
    values = torch.randn(9, generator=generator)[package]
    alone, together = rules.interval(values), rules.interval(values, package)
    assert together.mean == alone.mean and together.n == alone.n == 180
    assert together.high - together.low > 3 * (alone.high - alone.low)
    one_package = rules.interval(values, torch.zeros(180, dtype=torch.int64))
    assert one_package == alone, "one package alone says nothing about others"


def test_every_measurement_has_controls_and_every_claim_is_decided_in_one_place(monkeypatch):
    measurements = catalogue.measurements()
    assert all(measurement.controls for measurement in measurements.values())
    table = {name: c for name, c in catalogue.claims().items() if name not in measurements}
    assert all(c.kind != "trained" or not c.chapter for c in table.values())
    monkeypatch.setattr(catalogue.claim, "table", lambda: {"induction-head-exists": RULE})
    with pytest.raises(ValueError, match="and at a measurement: induction-head-exists"):
        catalogue.claims.__wrapped__()


def test_the_mean_of_few_has_students_interval_and_of_one_none():
    found = rules.of_few([0.1, 0.3, 0.5, 0.3])
    assert found.mean == pytest.approx(0.3) and found.n == 4
    assert found.high - found.mean == pytest.approx(3.182 * 0.16330 / 2, rel=1e-4)
    with pytest.raises(ValueError, match="there are 1 values but intervals for"):
        rules.of_few([0.1])


def test_an_interval_of_what_is_made_of_means_draws_clusters_together(generator):
    """A ratio whose two sides rise together hardly varies; a count of what is large lies in its range."""
    common = torch.rand(60, generator=generator).double() + 0.5
    values = torch.stack([common, 2 * common], dim=1)
    ratio = rules.interval_of(lambda mean: float(mean[0] / mean[1]), values)
    assert ratio.low == pytest.approx(0.5) and ratio.high == pytest.approx(0.5) and ratio.n == 60
    alone = rules.interval_of(lambda mean: float(mean[0]), values)
    few = rules.interval_of(lambda mean: float(mean[0]), values, torch.arange(60) // 20)
    assert alone.low < alone.mean < alone.high
    assert few.mean == alone.mean and few.low != alone.low
    assert rules.interval_of(lambda mean: math.nan, values) == rules.NOTHING
