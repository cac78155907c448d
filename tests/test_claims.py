"""Claims, their evidence, and that no claim goes without a check, nor a check without its claim."""

import dataclasses
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from transformer_circuits import book, claims, files

CHAPTERS = sorted((Path(__file__).parents[1] / "chapters").glob("*.ipynb"))


def test_every_testable_claim_is_checked_in_its_chapter_and_no_other():
    named = {path.stem: set(claims.named(path.stem)) for path in CHAPTERS}
    wanted = {path.stem: set() for path in CHAPTERS}
    for claim in claims.read().values():
        if claim.chapter:
            wanted[claim.chapter].add(claim.id)
    assert named == wanted


def test_the_claims_are_many_and_complete():
    found = claims.read()
    assert len(found) >= 45
    assert sum(claim.source == "paper" for claim in found.values()) >= 45
    for claim in found.values():
        for name in ("id", "source", "kind", "section", "statement", "reported", "rule"):
            assert getattr(claim, name), (claim.id, name)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty place for results, and two claims of our own."""
    chapter = CHAPTERS[0].stem
    two = {
        name: claims.Claim(
            name, "paper", "trained", "somewhere", "it holds", "1", "must hold", where
        )
        for name, where in (("one", chapter), ("other", chapter), ("far", ""))
    }
    monkeypatch.setattr(claims.files, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(claims, "read", lambda: two)
    monkeypatch.setattr(claims, "_found", {})
    monkeypatch.setattr(claims, "named", lambda chapter: Counter())
    return two


def test_verdicts_follow_from_evidence(results):
    with pytest.raises(
        ValueError, match=f"nothing is known of one: run chapters/{CHAPTERS[0].stem}"
    ):
        claims.verdict(results["one"])
    assert claims.missing() == [CHAPTERS[0].stem]
    book.check("a", True, claim="one", ours=0.123)
    assert claims.verdict(results["one"]) == "reproduced"
    book.check("b", True, claim="one", against=True)
    assert claims.verdict(results["one"]) == "partly"
    book.check("c", True, claim="other", against=True, ours=[2.0, 1.0, 4.0])
    assert claims.verdict(results["other"]) == "not reproduced"
    assert claims.verdict(results["far"]) == "not testable here"
    assert claims.missing() == []
    assert claims.evidence(results["one"]).ours == ["0.12"]
    assert claims.evidence(results["other"]).ours == ["2.00 (seeds: 1.00 to 4.00)"]


def test_what_does_not_hold_is_no_evidence(results):
    with pytest.raises(AssertionError):
        book.check("a", False, claim="one")
    assert claims.evidence(results["one"]) is None


def test_a_cell_run_twice_counts_once_and_a_new_process_starts_afresh(results, monkeypatch):
    book.check("a", True, claim="one", ours="x")
    book.check("a", True, claim="one", ours="x")
    assert claims.evidence(results["one"]).speaks_for == ["a"]
    assert claims.evidence(results["one"]).ours == ["x"]
    monkeypatch.setattr(claims, "_found", {})
    book.check("b", True, claim="one")
    assert claims.evidence(results["one"]).speaks_for == ["b"]


def test_evidence_of_other_code_does_not_count(results, monkeypatch):
    book.check("a", True, claim="one")
    monkeypatch.setattr(claims, "stamp", lambda claim: "another")
    assert claims.evidence(results["one"]) is None
    assert claims.missing() == [CHAPTERS[0].stem]


def test_part_of_the_evidence_is_none(results, monkeypatch):
    """A chapter that stopped between two checks of a claim has not decided it."""
    monkeypatch.setattr(claims, "named", lambda chapter: Counter(one=2))
    book.check("a", True, claim="one")
    assert claims.evidence(results["one"]) is None
    book.check("b", True, claim="one", against=True)
    assert claims.verdict(results["one"]) == "partly"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder like ours with one chapter; writes it, and gives the stamp of a claim."""
    for name in ("chapters", "data", "src"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(claims.files, "data_dir", lambda: tmp_path / "data")

    def written(*cells):
        notebook = nbformat.v4.new_notebook(cells=list(cells))
        nbformat.write(notebook, tmp_path / "chapters" / "x.ipynb")
        return tmp_path

    return written


def test_the_stamp_is_of_code_data_and_claim_and_not_of_prose(checkout):
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    claim = claims.Claim("i", "paper", "trained", "s", "s", "r", "rule", "x")
    root = checkout(text("text"), code("1"))
    before = claims.stamp(claim)
    checkout(text("other text"), code("1"))
    assert claims.stamp(claim) == before
    stamps = [before, claims.stamp(dataclasses.replace(claim, rule="another"))]
    checkout(text("text"), code("2"))
    stamps.append(claims.stamp(claim))
    for name in ("src/a.py", "data/corpus.toml", "data/tokenizer.json"):
        (root / name).write_text("new")
        stamps.append(claims.stamp(claim))
    assert len(set(stamps)) == len(stamps)


def test_checks_name_their_claims_literally(checkout):
    code = nbformat.v4.new_code_cell
    checkout(
        code('book.check("a", True, claim="one")\nprint()'),
        code('book.check(\n"b", 1, claim="one")'),
    )
    assert claims.named("x") == Counter(one=2)
    checkout(code('book.check("a", True, claim=name)'))
    with pytest.raises(ValueError, match="x: claim=name is not a literal"):
        claims.named("x")


def test_an_unknown_or_untestable_claim_is_refused(results):
    for name in ("none", "far"):
        with pytest.raises(ValueError, match=f'no testable claim "{name}"'):
            book.check("a", True, claim=name)


def test_the_first_check_of_a_claim_carries_its_anchor(results, monkeypatch):
    shown = []
    import IPython.display

    monkeypatch.setattr(IPython.display, "display", shown.append)
    book.check("a", True, claim="one")
    book.check("b", True, claim="one")
    book.check("c", True)
    html = [passed._repr_mimebundle_()["text/html"] for passed in shown]
    assert html[0] == '<p class="claim" id="claim-one">✓ a</p>'
    assert 'id="' not in html[1] + html[2]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r"has no \[\[claim\]\]"),
        ("claim = 1", r"has no \[\[claim\]\]"),
        ("claim = [1]", "is not right"),
        ('ROW[[claim]]\nid = "b', "is not TOML"),
        ("ROWchapter = 3", "chapter is 3 but must be text"),
        ('[[claim]]\nid = "a"\n', "source"),
        ('ROW colour = "red"\n', "colour"),
        ("ROW ROW", "2 claims but 1 ids"),
        ("BAD", 'source "rumour"'),
    ],
)
def test_a_file_that_is_not_right_is_refused(tmp_path, monkeypatch, text, message):
    row = """[[claim]]
id = "a"
source = "paper"
kind = "trained"
section = "s"
statement = "s"
reported = "r"
rule = "r"
"""
    text = text.replace("ROW", row).replace("BAD", row.replace('"paper"', '"rumour"'))
    (tmp_path / "claims.toml").write_text(text)
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path)
    with pytest.raises(ValueError, match=f"claims.toml .*{message}.* git restore .*claims.toml"):
        claims.read.__wrapped__()
