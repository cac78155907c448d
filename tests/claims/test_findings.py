"""The sentence of a claim for what came out, and the general ones for all else."""

import html
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


def test_a_basis_that_decides_and_a_control_that_passes_are_told():
    seeds, white = {"a": near(0.15), "b": near(0.41)}, {"a": near(0.84), "b": near(0.66)}
    said = say("score-is-not-use", "depends on the basis", seeds, {}, white, findings.WHITE)
    assert said.startswith("Asked whether a composition score")
    assert "As stored: yes (0.15 to 0.41\xa0in rank correlation)." in said
    assert "With the stream white: no (" in said
    both = re.findall(r"<strong>(.*?)</strong>", findings.as_html(said))
    assert both == ["As stored: yes", "With the stream white: no"]


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


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_decision_in_plain_text_has_the_numbers_of_its_page(name):
    """Of one rule the page said 1.27 times, above 1.19, and the text 0.35, above 0.25, with no unit."""
    decision = Decision(
        MEASUREMENTS[name], rules.NOT_REPRODUCED, "why", {"a": near(0.35)}, {"one": near(0.05)}, {}
    )
    data, _ = decision._repr_mimebundle_()
    plot = data["text/html"].partition('<table class="strip')[2].partition("</table>")[0]
    must = re.search(r"must be \w+ [^ <]+", plot)[0]
    numbers = re.findall(r"(?<=<td>)[^<]+<span[^<]*(?=</span>)", plot)
    said = data["text/plain"].splitlines()[-1]
    unit = findings.called(MEASUREMENTS[name].claim.unit)
    assert f"{unit}, {must}: ".removeprefix(", ") in said
    measured = html.escape(MEASUREMENTS[name].measures) + (f" [{unit}]" if unit else "")
    assert measured[0].isupper() and f"<caption>{measured}</caption>" in plot
    assert len(numbers) == 2
    for number in numbers:
        assert re.sub(r"<.*?>", "", number) in said
