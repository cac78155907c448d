"""Claims, their evidence, and that no claim goes without a check, nor a check without its claim."""

import ast
import dataclasses
import functools
import json
from pathlib import Path

import nbformat
import pytest

from transformer_circuits import book, files
from transformer_circuits.book import claims

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))


def named(chapter):
    """The claims that a chapter's checks name; only literal names can be found."""
    found = set()
    for node in ast.walk(ast.parse("\n".join(claims._code(chapter)))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "book.check":
            found |= {ast.literal_eval(word.value) for word in node.keywords if word.arg == "claim"}
    return found


def test_every_testable_claim_is_checked_in_its_chapter_and_no_other():
    wanted = {path.stem: set() for path in CHAPTERS}
    for claim in claims.read().values():
        if claim.chapter:
            wanted[claim.chapter].add(claim.id)
    assert {path.stem: named(path.stem) for path in CHAPTERS} == wanted


def test_the_claims_are_many_and_complete():
    found = claims.read()
    assert len(found) >= 45
    assert sum(claim.source == "paper" for claim in found.values()) >= 45
    for claim in found.values():
        for name in ("id", "source", "kind", "section", "statement", "reported", "rule"):
            assert getattr(claim, name), (claim.id, name)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder like ours with a chapter `x`, of claims `one` and `other`; writes its cells."""
    for name in ("chapters", "data", "src"):
        (tmp_path / name).mkdir()
    rows = {
        name: claims.Claim(
            name, "paper", "trained", "somewhere", "it holds", "1", "must hold", where
        )
        for name, where in (("one", "x"), ("other", "x"), ("far", ""))
    }
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path / "data")
    monkeypatch.setattr(claims, "read", lambda: rows)
    monkeypatch.setattr(claims, "_loaded_at_first", claims.loaded)

    def written(*cells, prose="prose"):
        code = [nbformat.v4.new_code_cell(cell) for cell in cells]
        cells = [nbformat.v4.new_markdown_cell(prose), *code]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "chapters" / "x.ipynb")
        return tmp_path

    return written


BEGIN = "claims.begin()"


def execute(*cells):
    """Run code cells and tell it to `claims`, as the kernel of a notebook does."""
    for cell in cells:
        try:
            exec(cell, {"book": book, "claims": claims})
            claims.executed(cell)
        except AssertionError:
            claims.executed(None)


def check(statement, holds=True, **words):
    given = "".join(f", {name}={value!r}" for name, value in words.items())
    return f"book.check({statement!r}, {holds}{given})"


def found(claim):
    return claims.evidence(claims.read()[claim])


def test_verdicts_follow_from_evidence(checkout):
    rows = claims.read()
    assert claims.missing() == ["x"]
    with pytest.raises(ValueError, match=r"nothing is known of one: run chapters/x\.ipynb"):
        claims.verdict(rows["one"])
    cells = [
        BEGIN,
        check("a", claim="one", ours=0.123),
        check("c", claim="other", against=True, ours=[2.0, 1.0, 4.0]),
    ]
    checkout(*cells)
    execute(*cells)
    assert claims.verdict(rows["one"]) == "reproduced"
    assert claims.verdict(rows["other"]) == "not reproduced"
    assert claims.verdict(rows["far"]) == "not testable here"
    assert claims.missing() == []
    assert found("one").ours == ["0.12"]
    assert found("other").ours == ["2.00 (seeds: 1.00 to 4.00)"]
    cells.append(check("b", claim="one", against=True))
    checkout(*cells)
    execute(*cells)
    assert claims.verdict(rows["one"]) == "partly"


LOOP = f"for seed in range(3):\n    {check('again', claim='one')}"


@pytest.mark.parametrize(
    "ran",
    [
        [BEGIN],
        [BEGIN, LOOP],
        [LOOP, "1"],
        [BEGIN, "1", LOOP],
        [BEGIN, LOOP, LOOP, "1"],
        [BEGIN, LOOP, "2"],
        [BEGIN, LOOP, "assert False", "1"],
    ],
    ids=["begun", "no end", "no start", "order", "twice", "changed", "failed"],
)
def test_a_chapter_that_was_not_executed_as_a_whole_has_decided_nothing(checkout, ran):
    checkout(BEGIN, LOOP, "1")
    claims.begin()
    execute(*ran)
    assert found("one") is None
    execute(BEGIN, LOOP, "1")
    assert found("one").speaks_for == ["again"] * 3


def test_what_does_not_hold_is_no_evidence(checkout):
    cells = BEGIN, check("a", claim="one"), check("b", False, claim="one")
    checkout(*cells)
    execute(*cells)
    assert found("one") is None


def test_two_checks_may_say_the_same(checkout):
    cells = BEGIN, check("a", claim="one", ours="x"), check("a", claim="one", ours="y")
    checkout(*cells)
    execute(*cells)
    assert found("one") == claims.Evidence(["a", "a"], [], ["x", "y"])


def test_a_cell_that_is_changed_and_run_again_replaces_its_figure(checkout):
    before, after = (check("a", claim="one", ours=figure) for figure in ("old", "new"))
    checkout(BEGIN, before)
    execute(BEGIN, before)
    assert found("one").ours == ["old"]
    execute(after)
    checkout(BEGIN, after)
    assert found("one") is None
    execute(BEGIN, after)
    assert found("one").ours == ["new"]


def test_evidence_of_other_code_does_not_count(checkout):
    cells = BEGIN, check("a", claim="one")
    root = checkout(*cells)
    execute(*cells)
    assert found("one") is not None
    (root / "src" / "new.py").write_text("")
    assert found("one") is None
    assert claims.missing() == ["x"]


def test_code_that_changed_while_a_chapter_ran_does_not_count(checkout, monkeypatch):
    cells = BEGIN, check("a", claim="one"), "1"
    root = checkout(*cells)
    monkeypatch.setattr(claims, "_loaded_at_first", functools.cache(claims.loaded))
    execute(*cells[:2])
    (root / "src" / "new.py").write_text("")
    execute(cells[2])
    assert found("one") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"found": {"one": {"new": 1}}}'])
def test_evidence_that_cannot_be_read_is_not_known(checkout, text):
    """Of a broken disk, or of another version of the book."""
    cells = BEGIN, check("a", claim="one") + "; " + check("b", claim="other")
    root = checkout(*cells)
    execute(*cells)
    assert claims.missing() == []
    path = root / "data" / "cache" / "results" / "x.json"
    if text.startswith('{"'):
        text = json.dumps(json.loads(path.read_text()) | json.loads(text))
    path.write_text(text)
    assert claims.missing() == ["x"]


def test_the_stamp_is_of_code_data_and_claims_and_not_of_prose(checkout, monkeypatch):
    root = checkout("1")
    before = claims.stamp("x", claims.loaded())
    checkout("1", prose="other")
    assert claims.stamp("x", claims.loaded()) == before
    rows = claims.read()
    other = rows | {"one": dataclasses.replace(rows["one"], rule="another")}
    monkeypatch.setattr(claims, "read", lambda: other)
    stamps = [before, claims.stamp("x", claims.loaded())]
    checkout("2")
    stamps.append(claims.stamp("x", claims.loaded()))
    for name in ("src/a.py", "data/corpus.toml", "data/tokenizer.json"):
        (root / name).write_text("new")
        stamps.append(claims.stamp("x", claims.loaded()))
    assert len(set(stamps)) == len(stamps)


def test_an_unknown_or_untestable_claim_is_refused(checkout):
    for name in ("none", "far"):
        with pytest.raises(ValueError, match=f'no testable claim "{name}"'):
            book.check("a", True, claim=name)


def test_the_first_check_of_a_claim_carries_its_anchor(checkout, monkeypatch):
    shown = []
    import IPython.display

    monkeypatch.setattr(IPython.display, "display", shown.append)
    claims.begin()
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
