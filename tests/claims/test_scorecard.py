"""Verdicts follow from what the executed chapters found."""

from dataclasses import replace

import pytest

from transformer_circuits import files
from transformer_circuits.book import notebooks
from transformer_circuits.claims import catalogue, scorecard
from transformer_circuits.claims.claim import Claim

STAND_IN = """
from IPython.display import display
from transformer_circuits.record import Record

class Decided:
    def __init__(self, claim, verdict):
        details = {"verdict": verdict}
        self.record = Record("verdict", "it holds", "2", claim=claim, details=details)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "it holds"}, self.record.metadata
"""


def check(statement, **words):
    given = "".join(f", {name}={value!r}" for name, value in words.items())
    return f"from transformer_circuits import book\nbook.check({statement!r}, True{given})"


def decide(claim, verdict):
    """As `decide()` shows it."""
    return f"display(Decided({claim!r}, {verdict!r}))"


@pytest.fixture
def executed(checkout):
    """Executes chapter x as a notebook; `book.check` knows the claims of our own file alone."""

    def found(*cells):
        checkout("x", STAND_IN, *cells)
        notebooks.execute(["x"], notebooks.run_with_nbclient)
        return scorecard.evidence()

    return found


def test_verdicts_follow_from_evidence(executed):
    found = executed(
        check("a", claim="first", ours=0.123),
        decide("second", "mixed"),
        check("of no claim", ours="much"),
    )
    card = scorecard.Scorecard(found)
    assert card.verdicts == {"first": "any weights", "second": "mixed", "far": "not testable here"}
    assert found["first"] == scorecard.Evidence(["a"], ["0.12"])
    assert found["second"].decision["verdict"] == "mixed"
    with pytest.raises(ValueError, match="x was executed and has no evidence for second"):
        scorecard.verdict(catalogue.claims()["second"], None)
    columns = ["any weights", "mixed", "not testable here"]
    assert {name: [*row] for name, row in card.parts().items()} == {"Appendix": columns}
    linked = card.overview().rows["Appendix"]
    assert [link.href for column in columns for link in linked[column]] == [
        "x.html#claim-first", "x.html#claim-second", "#scorecard-untested",
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"are of \['paper'\], not \"papers\""):
        card.overview("papers")


@pytest.fixture
def few(monkeypatch):
    """Four claims about trained models, of two sources, one of them untested; and an identity."""
    about = {"one": "paper", "two": "paper", "three": "follow-up", "left": "paper"}
    rows = {
        name: Claim(
            id=name, source=source, section="Model Details", statement=f"{name} holds",
            reported="1", rule="why", chapter="" if name == "left" else "x",
        )
        for name, source in about.items()
    }  # fmt: skip
    monkeypatch.setattr(catalogue, "claims", lambda: rows)
    found = {}
    for name, verdict in {"one": "reproduced", "two": "not reproduced", "three": "mixed"}.items():
        details = {
            "verdict": verdict,
            "why": "so",
            "strip": "<svg/>",
            "finding": f"This of {name}.",
        }
        found[name] = scorecard.Evidence([], [], details)
    return scorecard.Scorecard(found)


def test_facts_are_counted_by_who_claims_them(few, monkeypatch):
    def counts():
        rows = few.counts()
        return {row.pop("claims of"): {v: n for v, n in row.items() if n} for row in rows}

    expected = {
        "paper": {"reproduced": 1, "not reproduced": 1}, "paper, corrected": {},
        "follow-up": {"mixed": 1},
        "all": {"reproduced": 1, "mixed": 1, "not reproduced": 1},
    }  # fmt: skip
    assert counts() == expected
    rows = catalogue.claims()
    rows["two"] = replace(rows["two"], corrected="its Correction")
    monkeypatch.setattr(catalogue, "claims", lambda: rows)
    expected |= {"paper": {"reproduced": 1}, "paper, corrected": {"not reproduced": 1}}
    assert counts() == expected


def test_tables_have_every_claim_once_and_say_when_there_is_none(few):
    shown = few.decided("mixed", "not reproduced")
    assert [str(row["claim"]) for row in shown] == ["Three holds", "Two holds"]
    made = [row["made in, reported"] for row in shown]
    assert made == ["Model Details: 1", "the paper, Model Details: 1"], "whose it is"
    assert (shown[0]["verdict"], shown[0]["what was found"]) == ("mixed: so", "± This of three.")
    assert few.decided("unpowered") == [{"claim": "none"}]
    assert few.untested("not testable here")[0]["because"] == "why"
    assert few.untested("not done") == [{"claim": "none", "because": "nothing is left"}]
    assert few.held("identity") == []


def test_a_verdict_by_hand_is_refused(executed):
    with pytest.raises(ValueError, match="x decides second by hand"):
        executed(check("a", claim="second"))
    with pytest.raises(ValueError, match="x decides first by a rule"):
        executed(decide("first", "reproduced"))


def test_a_chapter_that_was_not_executed_with_this_code_has_decided_nothing(executed, checkout):
    loop = check("again", claim="first").replace("book.check", "for _ in 'abc': book.check")
    assert executed(loop)["first"].statements == ["again"] * 3
    checkout("x", "1")
    with pytest.raises(files.UserError, match="not executed with this code: x; run `make book`"):
        scorecard.evidence()
