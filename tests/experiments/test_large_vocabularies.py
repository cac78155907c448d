"""The first questions to a model of the field's size: answered rightly, in minutes and in memory."""

import re

import pytest

from transformer_circuits.experiments import large_vocabularies

FOUND = {
    "induction tests": r"right first (9\d|100)%, matching 1.11, one back 0.11",
    "eigenvalues": r"(copying|matching) 1.11, (copying|matching) 1.11",
    "own ranks, one head": r"own token first (9\d|100)%",
    "pairs of a token": r"1.11 raises its source most",
    "composition scores": r"Q .*, K 1.11 ← 0.11, V .*",
}


@pytest.fixture(scope="module")
def small():
    return large_vocabularies.planted(2048)


@pytest.mark.parametrize("task", large_vocabularies.TASKS)
def test_what_was_planted_is_found(small, task):
    assert re.fullmatch(FOUND[task], large_vocabularies.TASKS[task](small))


def test_with_the_largest_vocabulary_it_takes_little_time_and_memory(monkeypatch):
    """A square of 50,278 tokens alone would take ten gigabytes."""
    some = ("induction tests",)  # which takes most memory
    chosen = {task: large_vocabularies.TASKS[task] for task in some}
    monkeypatch.setattr(large_vocabularies, "TASKS", chosen)
    for task, row in zip(some, large_vocabularies.rows((50278,)), strict=True):
        seconds, megabytes, found = re.search(r"([\d.]+) s, +([\d,]+) MB; (.*)", row).groups()
        assert re.fullmatch(FOUND[task], found)
        assert float(seconds) < 100 and int(megabytes.replace(",", "")) < 4000
