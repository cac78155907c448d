"""The rows of data/claims.toml, and that no claim goes without a check, nor a check without its claim."""

import ast

import pytest

from transformer_circuits import files
from transformer_circuits.book import claims, notebooks


def named(chapter):
    """The claims that a chapter's checks and verdicts name; only literal names can be found."""
    found = set()
    code = notebooks.code(notebooks.read(notebooks.path(chapter)))
    for node in ast.walk(ast.parse("\n".join(code))):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called == "book.check":
            found |= {ast.literal_eval(word.value) for word in node.keywords if word.arg == "claim"}
        elif called == "evaluate.decide":
            found.add(ast.literal_eval(node.args[0]))
    return found


def test_every_testable_claim_is_checked_in_its_chapter_and_no_other():
    wanted = {name: set() for name in notebooks.names()}
    for claim in claims.read().values():
        if claim.chapter:
            wanted[claim.chapter].add(claim.id)
    assert {name: named(name) for name in wanted} == wanted


def test_the_claims_are_many_and_complete():
    found = claims.read()
    assert len(found) >= 45
    assert sum(claim.source == "paper" for claim in found.values()) >= 45
    for claim in found.values():
        for name in ("id", "source", "kind", "section", "statement", "reported", "rule"):
            assert getattr(claim, name), (claim.id, name)


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
