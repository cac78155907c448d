"""A verdict follows from intervals, a threshold and controls, and from nothing else."""

import dataclasses
from types import ModuleType

import pytest
import torch

from transformer_circuits.claims import catalogue, registry, rules
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.registry import Rule
from transformer_circuits.claims.rules import Interval

RULE = Rule("two-layer", "above", 1.0, "the paper", "2026-11-22")
HIGH, LOW, ACROSS = (Interval(*map(float, x), n=9) for x in ((3, 2, 4), (0, -1, 1), (1, 0, 2)))


def verdict(*seeds, control=LOW, **changes):
    planted = {"built": changes.pop("planted")} if "planted" in changes else {}
    rule = dataclasses.replace(RULE, **changes)
    named = dict(zip("abc", seeds, strict=False))
    return rules.verdict(rule, named, {"untrained": control}, planted)


@pytest.mark.parametrize(
    "seeds, expected",
    [
        ([HIGH, HIGH, HIGH], ("reproduced", "3 of 3 seeds")),
        ([LOW, LOW], ("not reproduced", "2 of 2 seeds on the other side")),
        ([HIGH, LOW, ACROSS], ("mixed", "1 of 3 seeds")),
        ([ACROSS, LOW], ("undecided", "across the threshold in 1 of 2 seeds")),
        ([ACROSS], ("undecided", "across the threshold in 1 of 1 seeds")),
    ],
)
def test_seeds_decide(seeds, expected):
    assert verdict(*seeds) == expected


def test_a_rule_that_holds_for_a_control_too_decides_nothing():
    assert verdict(HIGH, control=HIGH) == ("undecided", "it holds for untrained, too")
    assert verdict(HIGH, control=ACROSS)[0] == "reproduced"
    assert verdict(LOW, control=HIGH)[0] == "not reproduced"


def test_a_rule_that_misses_what_was_planted_has_no_power():
    why = "the rule misses what was planted (built: 0 (-1 to 1))"
    assert verdict(HIGH, planted=LOW) == ("unpowered", why)
    assert verdict(HIGH, planted=HIGH)[0] == "reproduced"


def test_below_is_above_turned_round():
    assert verdict(LOW, side="below", threshold=1.5, control=HIGH)[0] == "reproduced"
    assert verdict(HIGH, side="below", control=HIGH)[0] == "not reproduced"


def test_on_the_threshold_is_not_beyond_it():
    on = Interval(1.0, 1.0, 1.0, 1)
    assert verdict(on)[0] == "not reproduced"
    assert verdict(on, side="below", control=HIGH)[0] == "not reproduced"


def test_no_seed_is_no_verdict():
    with pytest.raises(ValueError, match="at least one seed"):
        rules.verdict(RULE, {}, {"untrained": LOW})


def test_the_interval_covers_the_mean_as_often_as_it_says():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(200, 60, generator=generator)
    covered = sum(found.low <= 0 <= found.high for found in map(rules.interval, values))
    assert 180 <= covered <= 198


def test_the_interval_leaves_out_what_is_no_number_and_refuses_nothing():
    found = rules.interval(torch.tensor([1.0, float("nan"), 3.0]))
    assert (found.mean, found.n) == (2.0, 2)
    for bad in ([float("nan")], [], [float("inf")]):
        with pytest.raises(ValueError, match="finite values"):
            rules.interval(torch.tensor(bad))


def test_every_testable_claim_about_trained_models_has_a_rule_a_measurement_and_controls():
    """A rule may be written down before its models are trained; its measurement as well."""
    of_claims = registry.read().values()
    trained = {c.id for c in of_claims if c.kind == "trained" and c.chapter}
    waiting = {c.id for c in of_claims if c.kind == "trained" and c.untested == "not done"}
    assert trained <= registry.rules().keys() <= trained | waiting
    for name, measurement in catalogue.measurements().items():
        assert measurement.controls, name


def test_a_rule_without_a_measurement_and_the_reverse_are_errors(monkeypatch):
    rules_there_are = registry.rules()
    monkeypatch.setattr(registry, "rules", lambda: rules_there_are | {"another": RULE})
    with pytest.raises(ValueError, match="not measured, though there is a rule: another"):
        catalogue.measurements()
    one, *others = rules_there_are
    monkeypatch.setattr(registry, "rules", lambda: dict.fromkeys(others))
    with pytest.raises(ValueError, match=f"measured without a rule, or twice: {one}"):
        catalogue.measurements()
    monkeypatch.setattr(registry, "rules", lambda: rules_there_are)
    module = ModuleType("about_more")
    module.again = decides(one, controls=[])(lambda subject: subject.text)
    monkeypatch.setattr(catalogue, "MODULES", (*catalogue.MODULES, module))
    with pytest.raises(ValueError, match=f"or twice: {one}"):
        catalogue.measurements()
