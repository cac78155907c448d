"""All claims, and that no claim goes without a check, nor a check without its claim."""

import ast
import dataclasses
import re

import pytest

from transformer_circuits import files
from transformer_circuits.book import notebooks
from transformer_circuits.book.notebooks import SCORECARD
from transformer_circuits.claims import catalogue
from transformer_circuits.claims.claim import UNTESTED, registered, table


def named(source):
    """The claims that a chapter's code checks, and those that it decides; as far as names are literal."""
    checked, decided = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "book.check":
            given = [word.value for word in node.keywords if word.arg == "claim"]
            checked |= {ast.literal_eval(each) for each in given}
    for module, function in re.findall(r"\b(about_\w+)\.(\w+)\.decide\(\)", source):
        decided.add(getattr(getattr(catalogue, module), function).claim.id)
    return checked, decided


def code(chapter):
    return "\n".join(notebooks.code(notebooks.read(notebooks.path(chapter))))


@pytest.mark.parametrize("chapter", notebooks.names())
def test_every_testable_claim_is_decided_in_its_chapter_and_no_verdict_is_written_by_hand(chapter):
    """Claims about trained models by their rule, the others by checks, which take no side."""
    here = [claim for claim in catalogue.claims().values() if claim.chapter == chapter]
    source = code(chapter)
    checked, decided = named(source)
    assert checked == {claim.id for claim in here if claim.kind != "trained"}
    assert decided == {claim.id for claim in here if claim.kind == "trained"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "book.check":
            words = {word.arg for word in node.keywords}
            assert words <= {"claim", "ours"}, ast.unparse(node)
    assert "Decision(" not in source
    of_study = ("22-which-basis", "23-what-changes-with-size")  # they mark what was recorded
    assert chapter in (SCORECARD, *of_study) or "rules.verdict(" not in source


def test_the_claims_are_many_and_complete():
    found = catalogue.claims()
    text = (files.data_dir() / "claims.toml").read_text(encoding="utf-8")
    assert text.count("\n[[claim]]") == len(table()), "no id comes twice"
    assert sum(claim.source == "paper" for claim in found.values()) >= 45
    for claim in found.values():
        assert claim.untested == UNTESTED[-1] or not claim.chapter, claim.id
        for name in ("id", "source", "kind", "section", "statement", "reported"):
            assert getattr(claim, name), (claim.id, name)
        assert bool(claim.rule) != bool(claim.threshold_from), claim.id
    [one, *_] = found.values()
    for name in ("source", "kind", "untested"):
        with pytest.raises(ValueError, match=f'has {name} "rumour" but it is one of'):
            dataclasses.replace(one, **{name: "rumour"})
    with pytest.raises(ValueError, match="must be above or below"):
        dataclasses.replace(
            next(iter([each.claim for each in catalogue.measurements().values()])), side="beside"
        )


def test_every_rule_names_the_commit_that_registers_it():
    """By this, a reader can ask git; what git cannot prove is called unproven."""
    history = registered()
    assert history.keys() == catalogue.measurements().keys()
    for name, words in history.items():
        assert re.match(r"[0-9a-f]{7}, 2026-11-\d\d", words), name
        assert (words[:7] in ("12d4168", "b1c2d4d")) == ("unproven" in words), name
