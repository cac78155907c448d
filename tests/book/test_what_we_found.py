"""The page What we found: each sentence as its verdict."""

import pytest

from transformer_circuits.book import notebooks
from transformer_circuits.book.notebooks import FOUND
from transformer_circuits.claims import catalogue, findings, rules, scorecard
from transformer_circuits.claims.rules import Interval

CELLS = notebooks.read(notebooks.path(FOUND))["cells"]
CONTROLS = {
    name: dict.fromkeys((control.name for control in each.controls), Interval(0.0, 0.0, 0.0, 9))
    for name, each in catalogue.measurements().items()
}
LATER = ("no case", "depends on the basis")


def decided(verdicts):
    """A scorecard on which rules came to these verdicts, by the claim's id."""
    found = {name: scorecard.Evidence(["holds"]) for name in catalogue.claims()}
    for name, verdict in verdicts.items():
        said = findings.say(
            catalogue.claims()[name], verdict, {"a": Interval(0.2, 0.1, 0.3, 9)}, CONTROLS[name]
        )
        details = {"verdict": verdict, "finding": said}
        found[name] = scorecard.Evidence([said], [], details)
    return scorecard.Scorecard(found)


def shown(verdicts, monkeypatch):
    """The sentences that the cells show, in their order, after the picture of all claims."""
    card, names = decided(verdicts), {}
    monkeypatch.setattr(notebooks, "run_missing", lambda: None)
    monkeypatch.setattr(scorecard, "read", lambda: card)
    paragraphs = []
    for source in notebooks.code({"cells": CELLS})[1:]:
        lines = source.splitlines()
        if lines[-1].startswith("card.overview("):
            names["picture"] = eval(source, names)
        elif lines[-1].startswith("card."):
            paragraphs.append(eval(source, names))
        else:
            exec(source, names)
    every_mark(names["picture"], card)
    return paragraphs, names["every"]


def every_mark(picture, card):
    """Each claim of the paper about trained models stands in the picture once, by its verdict."""
    of = {c.statement.lower(): card.verdicts[c.id] for c in card.trained if c.source == "paper"}
    marks = [
        (link.text.lower(), verdict)
        for row in picture.rows.values()
        for verdict, links in row.items()
        for link in links
    ]
    assert len(marks) == len(of) and dict(marks) == of
    assert picture.title.startswith("Every claim of the paper about trained models")


def all_with(verdict):
    """Every rule with this verdict; but what is one number over pairs of trainings is never mixed."""
    of = dict.fromkeys(catalogue.measurements(), verdict)
    if verdict == rules.MIXED:
        pairs = [name for name, each in catalogue.measurements().items() if each.mean_of]
        of |= dict.fromkeys(pairs, rules.UNDECIDED)
    return of


@pytest.mark.parametrize("verdict", [*rules.VERDICTS, *LATER])
def test_every_claim_of_the_page_is_told_once_by_its_verdict(verdict, monkeypatch):
    if verdict not in scorecard.VERDICTS:
        monkeypatch.setattr(scorecard, "_SYMBOLS", scorecard._SYMBOLS | {verdict: "?"})
    told, every = shown(all_with(verdict), monkeypatch)
    assert told[0]._repr_mimebundle_()[1]["record"]["text"] == str(told[0])
    each = [one for paragraph in told for one in paragraph.sentences]
    behind = {to.href.rpartition("#claim-")[2]: to.text for _, to in each if to}
    assert all(f"({catalogue.claims()[name].by}; " in behind[name] for name in every), "whose it is"
    sentences = [said for said, link in each if link and "#claim-" in link.href]
    card = decided(all_with(verdict))
    expected = [findings.bare(card.evidence[name].decision["finding"]) for name in every]
    assert sorted(sentences) == sorted(expected) and len({*every}) == len(every)
    assert sum(str(paragraph) == findings.NOTHING for paragraph in told) >= 2
