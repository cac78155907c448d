"""Verdicts follow from what the executed chapters found."""

import pytest

from transformer_circuits import book, files
from transformer_circuits.book import claims, notebooks, scorecard


def check(statement, **words):
    given = "".join(f", {name}={value!r}" for name, value in words.items())
    return f"from transformer_circuits import book\nbook.check({statement!r}, True{given})"


@pytest.fixture
def executed(checkout, monkeypatch):
    """Executes chapter x as a notebook; `book.check` knows the claims of our own file alone."""
    stand_in = "from transformer_circuits.book import claims\nclaims.testable = lambda name: None"

    def found(*cells):
        checkout("x", stand_in, *cells)
        notebooks.execute(["x"], notebooks.run_with_nbclient)
        return scorecard.evidence()

    return found


def test_verdicts_follow_from_evidence(executed):
    found = executed(
        check("a", claim="first", ours=0.123),
        check("c", claim="second", against=True, ours=[2.0, 1.0, 4.0]),
        check("of no claim", ours="much"),
    )
    rows = claims.read()
    verdicts = {name: scorecard.verdict(rows[name], found.get(name)) for name in rows}
    assert verdicts == {
        "first": "reproduced",
        "second": "not reproduced",
        "far": "not testable here",
    }
    assert found["first"].ours == ["0.12"]
    assert found["second"].ours == ["2.00 (seeds: 1.00 to 4.00)"]
    found = executed(check("a", claim="first"), check("b", claim="first", against=True))
    assert found["first"] == scorecard.Evidence(["a"], ["b"], [])
    assert scorecard.verdict(rows["first"], found["first"]) == "partly"
    with pytest.raises(ValueError, match="x was executed and has no evidence for second"):
        scorecard.verdict(rows["second"], found.get("second"))


def test_a_chapter_that_was_not_executed_with_this_code_has_decided_nothing(executed, checkout):
    executed(check("a", claim="first"))
    checkout("x", "1")
    with pytest.raises(files.UserError, match="not executed with this code: x; run `make book`"):
        scorecard.evidence()


def test_checks_in_a_loop_all_count(executed):
    loop = check("again", claim="first").replace("book.check", "for _ in 'abc': book.check")
    assert executed(loop)["first"].speaks_for == ["again"] * 3


def test_an_unknown_or_untestable_claim_is_refused(checkout):
    for name in ("none", "far"):
        with pytest.raises(ValueError, match=f'no testable claim "{name}"'):
            book.check("a", True, claim=name)
