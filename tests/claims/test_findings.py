"""The sentence of a claim for what came out, and the general ones for all else."""

import math
import re

import pytest

from transformer_circuits.claims import catalogue, findings, rules
from transformer_circuits.claims.measurement import Decision
from transformer_circuits.claims.rules import Interval

MEASUREMENTS = catalogue.measurements()


def near(mean, n=9):
    return Interval(mean, mean - 0.01, mean + 0.01, n)


def say(name, *given):
    return findings.say(catalogue.claims()[name], *given)


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_each_verdict_says_something_else_and_fills_every_place(name):
    measurement = MEASUREMENTS[name]
    controls = {control.name: near(0.03) for control in measurement.controls}
    seeds, other = {"a": near(0.4), "b": near(0.2)}, {"a": near(0.8)}
    said = {v: say(name, v, seeds, controls, other, findings.WHITE) for v in rules.VERDICTS}
    undecided = said.pop(rules.UNDECIDED)  # two ways to look stand side by side, as with two bases
    assert len({*said.values()}) == len(said) and undecided not in {*said.values()} - {
        said[rules.DEPENDS]
    }
    said[rules.UNDECIDED] = undecided
    for verdict, sentence in said.items():
        assert not re.search(r"[{}]|not to be had|  |\.\.", sentence), sentence
        assert sentence.endswith(".") and sentence[0].isupper()
        assert sentence.startswith(findings.ANSWERS.get(verdict, "")), sentence
    claim = measurement.claim
    assert not re.search(r"[:;.]", claim.whether or claim.statement), "not a part of a sentence"
    assert claim.verdict in ("", *rules.VERDICTS) and bool(claim.verdict) == bool(claim.found)
    assert not re.search(r"\d", re.sub(r"\{\w+\}", "", claim.found)), "a number of ours"


def test_numbers_are_those_of_the_seeds_with_their_unit():
    seeds = {"a": near(0.996), "b": near(0.998)}
    assert "99.6 to 99.8\u00a0%" in say("previous-token-head", rules.REPRODUCED, seeds, {})
    said = say("induction-head-exists", rules.MIXED, {"a": near(0.2), "b": near(0.9)}, {})
    assert said.startswith("In part: ") and "in one of two seeds" in said and "20 to 90" in said
    absent = Interval(math.nan, math.nan, math.nan, 0)
    said = say("memory-deletion", "no case", {"a": absent}, {"untrained": absent})
    assert "nan" not in said


def test_a_basis_that_decides_and_a_control_that_passes_are_told():
    seeds, white = {"a": near(0.15), "b": near(0.41)}, {"a": near(0.84), "b": near(0.66)}
    said = say("score-is-not-use", "depends on the basis", seeds, {}, white, findings.WHITE)
    assert said.startswith("Asked whether a composition score")
    assert "As stored: yes (0.15 to 0.41\xa0in rank correlation)." in said
    assert "With the stream white: no (" in said
    both = re.findall(r"<strong>(.*?)</strong>", findings.as_html(said))
    assert both == ["As stored: yes", "With the stream white: no"]
    passing = {"untrained, white basis": near(0.1), "one layer, white basis": None}
    said = say("score-is-not-use", rules.UNDECIDED, white, passing, seeds, findings.WHITE)
    assert "As stored: no (0.66 to 0.84" in said and "With the stream white: open (" in said
    across = {"a": Interval(0.52, 0.48, 0.56, 9)}
    said = say("score-is-not-use", rules.UNDECIDED, across, {}, across, findings.WHITE)
    assert "stays open" in said, "where both bases say the same, one of them is told"
    seeds = {"a": near(0.9), "b": near(0.8)}
    fails, passes = {"untrained": near(0.1)}, {"untrained": near(0.7), "one layer": None}
    across = say("induction-head-exists", rules.UNDECIDED, seeds, fails)
    passed = say("induction-head-exists", rules.UNDECIDED, seeds, passes)
    assert "stays open" in across and "above 40" in across and "(untrained)" in passed


def test_a_strip_names_each_seed_control_and_plant_and_shows_both_ways_to_look():
    measurement = MEASUREMENTS["erratum-edges"]
    of, way = measurement.claim.of, measurement.also.name
    seeds = {of: near(0.2), f"{of}-seed-2": rules.NOTHING}
    controls = {"untrained": near(0.1), f"untrained, {way}": near(0.3), "gone": None}
    other = {of: near(0.4), f"{of}-seed-2": near(0.5)}
    decision = Decision(measurement, rules.MIXED, "why", seeds, controls, {"p": near(25.0)}, other)
    page = decision._repr_mimebundle_()[0]["text/html"]
    assert re.findall(r'scope="(\w+)">(?:<span.*?</span>)?([^<]*)', page) == [
        ("col", ""), ("col", "● as stored"), ("col", f"■ {way}"), ("row", "seed 0"), ("row", "seed 2"),
        ("rowgroup", "Controls: the rule must fail"), ("row", "untrained"),
        ("rowgroup", "Planted: it must hold"), ("row", "p"),
    ]  # fmt: skip
    assert page.count("<circle") == 3 and page.count("<td>no case</td>") == 1
    assert page.count("<rect") == 3, "the second way, of two seeds and a control"
