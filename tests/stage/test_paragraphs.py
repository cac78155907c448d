"""Marked sentences, and the paragraphs that they stand in."""

import json
import re

import pytest

from transformer_circuits import files, stage
from transformer_circuits.stage import one_layer, paragraphs, two_layers, zero_layers

LINE = "The old king Valdemar spoke, and the people heard Valdemar"
WHOLE = two_layers.read(LINE)
BLIND = two_layers.without("0.2").read(LINE)

DECIDED = [
    (stage.likely("every piece", above=0.5), WHOLE, True),
    (stage.likely("every piece", above=0.5), BLIND, False),
    (stage.likely("every piece", rank=1), WHOLE, True),
    (stage.likely("no piece", below=0.5), WHOLE, False),
    (stage.likely("no piece", below=0.5), BLIND, True),
    (stage.likely("no piece", rank=1), BLIND, True),
    (stage.likely("no piece", rank=1), WHOLE, False),
    (stage.likely("d", above=0.5), WHOLE, True),
    (stage.likely("next", above=0.5), WHOLE, True),
    (stage.likely("next", above=0.5), two_layers.read(LINE, at=20), None),
    (stage.likely(" king", below=0.01), WHOLE, True),
    (stage.likely(")", rank=2), one_layer.read("the old king (his name"), True),
    (stage.likely("every piece", above=0.5), two_layers.read("no name"), None),
    (stage.likely("Valdemar", above=0.5), WHOLE, None),
    (stage.looks("1.0", to="al", above=0.5), WHOLE, True),
    (stage.looks("1.0", "1.2", to="al", above=0.5), WHOLE, False),
    (stage.looks("1.0", "1.2", to="◦", above=0.5), BLIND, True),
    (stage.looks("1.0", "1.2", to="d", at="al", above=0.5), WHOLE, True),
    (stage.looks("0.0", to="itself", above=0.5), WHOLE, True),
    (stage.looks("0.2", to="before", at=5, above=0.5), WHOLE, True),
    (stage.looks("0.2", to="before", above=0.5), BLIND, None),
    (stage.looks("0.2", to="before", at=0, above=0.5), WHOLE, None),
    (stage.looks("1.0", to="al", below=0.1), zero_layers.read(LINE), None),
    (stage.looks("1.0", to="Ron", below=0.1), WHOLE, None),
    (stage.looks("1.0", to="al", at="Ron", below=0.1), WHOLE, None),
    (stage.looks("1.0", to="spoke", at=4, below=0.1), WHOLE, None),
    (stage.looks("1.0", to="heard", at=4, below=0.1), WHOLE, True),
]


@pytest.mark.parametrize("condition, reading, ok", DECIDED, ids=str)
def test_a_condition_is_decided(condition, reading, ok):
    found = condition.decide(reading)
    assert found.ok is ok
    assert (found.value is None) == (ok is None) and found.says
    assert json.loads(json.dumps(condition.json)) == condition.json


def test_a_verdict_says_both_numbers():
    says = stage.likely("every piece", above=0.5).decide(BLIND).says
    assert says == "<\xa01\xa0%, should be above 50\xa0%"
    assert stage.likely("d", rank=1).decide(BLIND).says == "rank 45, should be first"


def test_a_condition_has_one_bound():
    with pytest.raises(ValueError, match="exactly one"):
        stage.likely("d", above=0.5, rank=1)
    with pytest.raises(ValueError, match="exactly one"):
        stage.looks("1.0", to="al")
    with pytest.raises(ValueError, match="one head at least"):
        stage.looks(to="al", above=0.5)


TEXT = "**A** *line* `x*y*`: [it <expects> *al*]{al}, see [page 5](other.ipynb#place)."


def said(reading=WHOLE, text=TEXT, opens=None, **marks):
    marks = marks or {"al": stage.likely("al", above=0.5)}
    shown, metadata = stage.step(reading, text, opens, **marks)._repr_mimebundle_()
    return shown, metadata["record"]


@pytest.fixture(autouse=True)
def of_a_page(monkeypatch):
    monkeypatch.setattr(paragraphs, "_brought", {})


def test_the_first_step_of_a_page_brings_the_stage():
    first, second = said(), said(BLIND, "[x]{x}", x=stage.likely("al", below=0.5))
    html, after = first[0]["text/html"], second[0]["text/html"]
    assert html.startswith('<figure class="the-stage"') and "<svg" in html
    assert after.startswith('<div class="step" data-state="') and "<svg" not in after
    state = re.search('data-state="([^"]*)"', after)[1].replace("&quot;", '"')
    assert json.loads(state) == BLIND.state
    assert html.count("<script") == 1
    assert brought(first, second) == [{"result": WHOLE.result()}, {"result": BLIND.result()}]


def test_a_paragraph_is_html_with_its_marks():
    html = said()[0]["text/html"]
    assert "<strong>A</strong> <em>line</em> <code>x*y*</code>" in html
    assert '<a href="other.html#place">page 5</a>' in html
    assert 'it &lt;expects&gt; <em>al</em><span class="sign">✓</span></span>' in html
    record = said()[1]
    assert record["kind"] == "step" and record["title"].startswith("A line x*y")
    assert record["details"]["marks"][0]["ok"] and record["details"]["code"] == WHOLE.code


def test_what_does_not_hold_stops_a_build():
    with pytest.raises(AssertionError, match=r"it <expects> al .11.%, should be above 50.%"):
        said(BLIND)
    with pytest.raises(AssertionError, match="“Ron” is not on this line"):
        said(two_layers.read(LINE), "[x]{x}", x=stage.looks("1.0", to="Ron", above=0.5))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: stage.likely("al", above=50.0),
        lambda: stage.likely("al", below=float("nan")),
        lambda: stage.likely("al", rank=0),
        lambda: stage.looks("1.0", to="al", below=5.0),
        lambda: stage.looks("9.9", to="al", above=0.5),
    ],
)
def test_a_bound_or_head_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must be|has no head"):
        wrong()


def test_under_a_reader_s_hands_it_has_a_cross_and_a_drawing(monkeypatch):
    monkeypatch.delenv(files.IN_BOOK)
    shown, record = said(BLIND)
    assert 'class="holds no"' in shown["text/html"] and "<svg" in shown["text/html"]
    said_of_it = "it <expects> al ✗ (11\xa0%, should be above 50\xa0%), see page 5."
    assert record["text"] == shown["text/plain"] == f"A line x*y*: {said_of_it}"
    assert '<a href="other.ipynb#place">' in shown["text/html"]


def test_sentences_and_conditions_belong_together():
    for text in ("no mark", "[a]{al} and [b]{b}", "[a]{al} [b]{al}"):
        with pytest.raises(ValueError, match="sentences are marked"):
            said(text=text)
    with pytest.raises(ValueError, match="opens is"):
        said(opens="door")


def brought(*shown):
    """What paragraphs bring, one after the other; None of those that bring nothing."""
    html = (each["text/html"] for each, _ in shown)
    scripts = (re.findall("<script type=.application/json.>(.*?)</script>", each) for each in html)
    return [json.loads(of[-1]) if of else None for of in scripts]


def test_what_unfolds_comes_with_its_numbers():
    stage.stage(WHOLE)
    board, column, training, again, unsure = brought(
        *(said(opens=opens) for opens in ("board", "column 1.2", "training", "training", "unsure"))
    )
    assert len(board["result"]["writers"]) == 13
    assert column["result"]["column"]["head"] == "1.2"
    assert [one["state"]["after"] for one in training["known"]][-2:] == [935, None]
    moments = [one["moment"] for one in training["known"]]
    assert moments[1] == "after 1.6 million tokens" and moments[-1] == "at the end of training"
    assert "result" not in training and again is None
    assert [one["state"]["seed"] for one in unsure["known"]] == [0, 1, 2]


def test_a_state_is_brought_once_with_all_that_is_asked_about_it():
    other = {"x": stage.likely("␣king", below=0.5)}
    first, second, third = brought(said(), said(text="[x]{x}", **other), said())
    labels = [{one["label"] for one in each["result"]["next"]} for each in (first, second)]
    assert "␣king" not in labels[0] and labels[1] == labels[0] | {"␣king"}
    assert third is None
