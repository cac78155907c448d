"""The sentence of a claim for what came out, and the general ones for all else."""

import math
import re

import pytest

from transformer_circuits.claims import catalogue, findings, rules
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
