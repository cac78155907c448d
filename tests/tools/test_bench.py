"""The first questions to a model of the field's size: answered rightly, in minutes and in memory."""

import re

import pytest
import torch

from tools import bench

FOUND = {
    "induction tests": r"right first (9\d|100)%, matching 1.11, one back 0.11",
    "eigenvalues": r"(copying|matching) 1.11, (copying|matching) 1.11",
    "own ranks, one head": r"own token first (9\d|100)%",
    "pairs of a token": r"1.11 raises its source most",
    "composition scores": r"Q .*, K 1.11 ← 0.11, V .*",
}


@pytest.fixture(scope="module")
def small():
    return bench.planted(2048)


@pytest.mark.parametrize("task", bench.TASKS)
def test_what_was_planted_is_found(small, task):
    assert re.fullmatch(FOUND[task], bench.TASKS[task](small))


def test_with_the_largest_vocabulary_it_takes_little_time_and_memory():
    """A square of 50,278 tokens alone would take ten gigabytes."""
    most_of_all = "induction tests"
    (row,) = bench.rows((most_of_all,), (50278,))
    seconds, megabytes, found = re.search(r"([\d.]+) s, +([\d,]+) MB; (.*)", row).groups()
    assert re.fullmatch(FOUND[most_of_all], found)
    assert float(seconds) < 100 and int(megabytes.replace(",", "")) < 4000


def test_a_process_alone_does_not_take_over_what_others_held():
    before = bench.peak()
    held = torch.ones(round((before + 200) * 2**18))  # 200 MB beyond the peak
    assert bench.peak() > before + 190 and len(held)
    assert bench.alone(bench.peak) < before + 100
