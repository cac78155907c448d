"""A verdict follows from intervals, a threshold and controls, and from nothing else."""

import dataclasses

import pytest
import torch

from transformer_circuits import files
from transformer_circuits.book import claims
from transformer_circuits.book.claims import Rule
from transformer_circuits.verdicts import controls, evaluate, rules
from transformer_circuits.verdicts.rules import Interval

RULE = Rule("m.f", "two-layer", "above", 1.0, "the paper", "untrained", "", "2026-11-22")
HIGH, LOW, ACROSS = (Interval(*map(float, x), n=9) for x in ((3, 2, 4), (0, -1, 1), (1, 0, 2)))


def verdict(*seeds, control=LOW, **changes):
    planted = changes.pop("found", None)
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
    assert verdict(HIGH, planted="built", found=LOW)[0] == "unpowered"
    assert verdict(HIGH, planted="built", found=HIGH)[0] == "reproduced"


def test_below_is_above_turned_round():
    assert verdict(LOW, side="below", threshold=1.5, control=HIGH)[0] == "reproduced"
    assert verdict(HIGH, side="below", control=HIGH)[0] == "not reproduced"


def test_on_the_threshold_is_not_beyond_it():
    on = Interval(1.0, 1.0, 1.0, 1)
    assert verdict(on)[0] == "not reproduced"
    assert verdict(on, side="below", control=HIGH)[0] == "not reproduced"


def test_what_was_measured_is_what_the_rule_names():
    with pytest.raises(ValueError, match="the rule has controls"):
        rules.verdict(RULE, {"a": HIGH}, {})
    with pytest.raises(ValueError, match="the rule has controls"):
        rules.verdict(RULE, {"a": HIGH}, {"untrained": LOW}, HIGH)
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


def test_every_rule_names_a_metric_a_model_and_controls_that_there_are():
    of_claims = claims.read()
    for name, rule in claims.rules().items():
        claim = of_claims[name]
        assert claim.kind == "trained" and (claim.chapter or claim.untested == "not done"), name
        assert callable(evaluate.metric(rule.metric)), name
        assert rule.control_names, name
        assert {*rule.control_names, rule.planted or "untrained"} <= {*controls.CONTROLS}, name


def test_every_testable_claim_about_trained_models_has_a_rule():
    trained = {c.id for c in claims.read().values() if c.kind == "trained" and c.chapter}
    waiting = {c.id for c in claims.read().values() if not c.chapter}  # for their trainings
    assert trained == {*claims.rules()} - waiting


@pytest.mark.parametrize(
    "change, message", [('side = "beside"', "above or below"), ("extra = 1", "extra")]
)
def test_a_rule_that_is_not_right_is_refused(tmp_path, monkeypatch, change, message):
    rule = {name: repr(value) for name, value in dataclasses.asdict(RULE).items()}
    name, _, value = change.partition(" = ")
    lines = "\n".join(f"{key} = {each}" for key, each in (rule | {name: value}).items())
    (tmp_path / "claims.toml").write_text(f'[[claim]]\nid = "a"\n[claim.decided]\n{lines}\n')
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path)
    with pytest.raises(files.UserError, match=f"claims.toml .*in a: .*{message}"):
        claims.rules.__wrapped__()
