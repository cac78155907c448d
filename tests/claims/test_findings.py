"""The sentences of data/findings.toml, and that the verdict chooses among them."""

import math
import re

import pytest

from transformer_circuits.claims import catalogue, findings, registry, rules
from transformer_circuits.claims.measurement import Decision
from transformer_circuits.claims.rules import Interval

MEASUREMENTS = catalogue.measurements()
VERDICTS = (*findings.ANSWERS, rules.UNDECIDED, rules.UNPOWERED, "no case", "depends on the basis")


def near(mean, n=9):
    return Interval(mean, mean - 0.01, mean + 0.01, n)


def of(name):
    """Sentences and controls of a claim."""
    controls = {control.name: near(0.03) for control in MEASUREMENTS[name].controls}
    return findings.read()[name], controls


@pytest.mark.parametrize("name", registry.rules())
def test_each_verdict_says_something_else_and_fills_every_place(name):
    sentences, controls = of(name)
    assert sentences.keys() <= {*VERDICTS, *findings.GENERAL, "unit", "whether"}
    seeds, white = {"a": near(0.4), "b": near(0.2)}, {"a": near(0.8)}
    # A mean over all pairs cannot be beyond in one seed and short in another.
    could_be = {*VERDICTS} - ({rules.MIXED} if MEASUREMENTS[name].mean_of else set())
    said = {v: findings.say(name, v, seeds, controls, white, white) for v in could_be}
    assert len({*said.values()}) == len(could_be)
    for verdict, sentence in said.items():
        assert not re.search(r"[{}]|not to be had|  |\.\.", sentence), sentence
        assert sentence.endswith(".") and sentence[0].isupper()
        assert sentence.startswith(findings.ANSWERS.get(verdict, "")), sentence
    whether = sentences.get("whether") or registry.read()[name].statement
    assert not re.search(r"[:;.]", whether), f"not a part of a sentence: {whether}"


def test_sentences_are_plain_and_have_no_numbers_of_ours():
    assert findings.read().keys() == {"general", *registry.rules()}
    assert all(" {whether}: " in wording for wording in findings.read()["general"].values())
    for name, sentences in findings.read().items():
        for verdict, wording in sentences.items():
            assert not re.search(r"\d", re.sub(r"\{\w+\}", "", wording)), (name, verdict)
            assert len(wording.split()) <= 50, (name, verdict)
            assert not re.search(r"(not )?reproduced", wording), "by what is the case"


def test_numbers_are_those_of_the_seeds_with_their_unit():
    seeds = {"a": near(0.347), "b": near(0.438), "c": near(0.278)}
    said = findings.say("resting-place", rules.NOT_REPRODUCED, seeds, {"untrained": near(0.03)})
    assert "28 to 44\u00a0% of its attention" in said and "untrained model 3\u00a0%" in said
    absent = Interval(math.nan, math.nan, math.nan, 0)
    said = findings.say("copy-suppression", "no case", {"a": absent}, {"untrained": absent})
    assert said.startswith("No head of our models")
    said = findings.say("induction-head-exists", rules.MIXED, {"a": near(0.2), "b": near(0.9)}, {})
    assert said.startswith("In part: in one of two seeds")
    said = findings.say("previous-token-head", rules.REPRODUCED, {"a": near(0.996)}, {})
    assert "99.6\u00a0%" in said
    said = findings.say("importance-second-layer", rules.NOT_REPRODUCED, {"a": near(-0.581)}, {})
    assert "0.58\u00a0nats per token less than half" in said


def test_a_basis_that_decides_and_a_control_that_passes_are_told():
    seeds, white = {"a": near(0.15), "b": near(0.41)}, {"a": near(0.84), "b": near(0.66)}
    said = findings.say("score-is-not-use", "depends on the basis", seeds, {}, white)
    assert (
        "yes as stored (0.15 to 0.41\xa0in rank correlation), no where the stream is white" in said
    )
    passing = {"untrained, white basis": near(0.1), "one layer, white basis": None}
    said = findings.say("score-is-not-use", rules.UNDECIDED, white, passing, seeds)
    assert said.startswith("We cannot tell whether") and (
        "no as stored (0.66 to 0.84\xa0in rank correlation), undecided where the stream" in said
    )
    across = {"a": Interval(0.52, 0.48, 0.56, 9)}
    said = findings.say("score-is-not-use", rules.UNDECIDED, across, {}, across)
    assert "is not clear of" in said, "where both bases say the same, one of them is told"
    seeds = {"a": near(0.9), "b": near(0.8)}
    fails, passes = {"untrained": near(0.1)}, {"untrained": near(0.7), "one layer": None}
    across = findings.say("induction-head-exists", rules.UNDECIDED, seeds, fails)
    passed = findings.say("induction-head-exists", rules.UNDECIDED, seeds, passes)
    assert "is not clear of 40" in across and "(untrained)" in passed


def test_a_decision_shows_the_sentence_before_claim_plot_and_code():
    """In this order for eyes, for screen readers, in a terminal, and in the record."""
    measurement = MEASUREMENTS["resting-place"]
    seeds = {"a": near(0.347), "b": near(0.438)}
    decision = Decision(measurement, rules.NOT_REPRODUCED, "2 of 2 <", seeds, {}, {})
    data, metadata = decision._repr_mimebundle_()
    page = data["text/html"]
    parts = ('<p class="finding"><span>We find</span> <strong>No:</strong> heads look at the begin',
             '<p class="claim not-reproduced">✗ not reproduced: 2 of 2 &lt;. The paper: the begin',
             '<table class="forest-plot">', "<details><summary>Controls, and how it is measured")  # fmt: skip
    assert sorted(map(page.index, parts)) == [page.index(part) for part in parts]
    assert data["text/plain"].startswith("No: heads look at the begin token")
    assert metadata["record"]["details"]["finding"] == decision.finding


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_decision_in_plain_text_has_the_numbers_of_its_page(name):
    """Of one rule the page said 1.27 times, above 1.19, and the text 0.35, above 0.25, with no unit."""
    decision = Decision(
        MEASUREMENTS[name], rules.NOT_REPRODUCED, "why", {"a": near(0.35)}, {"one": near(0.05)}, {}
    )
    data, _ = decision._repr_mimebundle_()
    plot = data["text/html"].split('<table class="forest-plot">')[-1].partition("</table>")[0]
    must, *numbers = re.findall(r"must be [^(]+(?= \()|(?<=<td>)[^<]+<span[^<]*(?=</span>)", plot)
    said = data["text/plain"].splitlines()[-1]
    assert f"{findings.called(findings.shown_unit(name))} {must}: ".lstrip() in said.replace(
        ",", ""
    )
    assert len(numbers) == 2
    for number in numbers:
        assert re.sub(r"<.*?>", "", number) in said
