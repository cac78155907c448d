import inspect
import math
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from transformer_circuits import book, record

CHAPTERS = Path(__file__).parents[2] / "chapters"


def test_a_claim_that_holds_is_shown_and_one_that_does_not_stops(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    book.check("two is even", 2 % 2 == 0)
    book.check("three is odd", True, ours=torch.tensor(1 / 3))
    assert capsys.readouterr().out == "✓ two is even\n✓ three is odd: 0.33\n"
    with pytest.raises(AssertionError, match=r"does not hold: three is even \(3 % 2 = 1\)"):
        book.check("three is even", torch.tensor(3) % 2 == 0, ours="3 % 2 = 1")
    for both in (torch.tensor([True, False]), np.array([True, False]), np.array([])):
        with pytest.raises(ValueError, match=r"one truth value but got \([20],\); use .all"):
            book.check("both", both)
    book.check("of every kind", np.True_), book.check("of every kind", torch.tensor(True))
    for value in ([False, False], "False", math.nan, torch.tensor(math.nan), 1, None, np.array(1)):
        with pytest.raises(ValueError, match="takes a truth value"):
            book.check("no truth value", value)


def test_close_does_not_broadcast():
    assert book.close(torch.ones(2), torch.ones(2) + 1e-12)
    assert not book.close(torch.ones(2), torch.ones(2) + 1e-6)
    with pytest.raises(ValueError, match=r"shapes differ: \(2,\) and \(2, 2\)"):
        book.close(torch.ones(2), torch.ones(2, 2))


@pytest.mark.parametrize(
    "ours, words",
    [("a third", "a third"), (-0.001, "0.00"), ([0.5, 0.25, 2], "0.50 (seeds: 0.25 to 2.00)")],
)
def test_a_figure_is_a_text_a_number_or_one_of_each_seed(ours, words):
    assert book.in_words(ours) == words


def test_a_check_shows_its_figure_and_leaves_a_record(monkeypatch):
    shown = []
    import IPython.display

    monkeypatch.setattr(IPython.display, "display", shown.append)
    book.check("a < b", True, ours=0.5)
    data, metadata = shown[0]._repr_mimebundle_()
    assert data["text/html"] == '<p class="claim">✓ a &lt; b: 0.50</p>'
    found = metadata["record"]
    assert (found["kind"], found["text"], found["numbers"]) == ("check", "0.50", {"ours": 0.5})


as_a_reader_calls_it = inspect.unwrap(book.check)
"""Without the types, which are checked in tests alone, between it and the cell."""


def said_before(check):
    ok = max(NUMBERS) > 3
    ok = min(NUMBERS) > 3
    check("s", ok)
    ok = True


NUMBERS, BY_HAND, HEADS = [0.25, 3.0], torch.zeros(3), ["0.1"]


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        (lambda check: check("s", min(NUMBERS) > 0.5), "0.25 > 0.5"),
        (lambda check: check("s", HEADS == ["0.2"]), "['0.1'] == ['0.2']"),
        (lambda check: check("s", max(NUMBERS) > 1 and 1 > min(NUMBERS) > 0.5), "3 > 1 and 1 > 0.25 > 0.5"),
        (lambda check: check("s", 1 > 2 or BY_HAND.tolist() == NUMBERS), "1 > 2 or [0, 0, 0] == [0.25, 3]"),
        (lambda check: check("s", book.close(BY_HAND, BY_HAND + 1)), "1 <= 1e-09"),
        (lambda check: check("s", book.close(BY_HAND, BY_HAND + 2, 0.1)), "2 <= 0.1"),
        (lambda check: check("s", not min(NUMBERS) <= 0.5), "not 0.25 <= 0.5"),
        (lambda check: check("s", bool(BY_HAND.any())), ""),
        (lambda check: check("s", all(n > 1 for n in NUMBERS)), ""),
        (lambda check: said_before(check), "0.25 > 3"),
        (eval("lambda check: check('s', 1 > 2)"), ""),
    ],
)  # fmt: skip
def test_under_a_readers_hands_a_cross_has_both_sides_and_the_page_goes_on(
    capsys, in_a_notebook, monkeypatch, call, needs
):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    call(as_a_reader_calls_it)
    said = "✗ does not hold: s" + (f"; it would need {needs}" if needs else "")
    assert capsys.readouterr().out == said + "\n"


def test_in_a_loop_a_cross_has_the_values_of_each_round(capsys, in_a_notebook, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    for n in (1, 2):
        as_a_reader_calls_it("s", n > 3 or n > 4)
    assert [said[-14:] for said in capsys.readouterr().out.split("\n")[:2]] == [
        "1 > 3 or 1 > 4",
        "2 > 3 or 2 > 4",
    ]


def test_a_cross_is_said_in_words_and_counts_nowhere(in_a_notebook, monkeypatch):
    shown = []
    import IPython.display

    monkeypatch.setattr(IPython.display, "display", shown.append)
    book.check("a < b", 2 % 2 == 1, ours=0.5, claim="frozen-linear")
    data, metadata = shown[0]._repr_mimebundle_()
    assert data["text/html"] == f'<p class="claim">{data["text/plain"].replace("<", "&lt;")}</p>'
    assert data["text/plain"].startswith("✗ does not hold: a < b (0.50)")
    assert record.of({"data": data, "metadata": metadata}) is None
    with pytest.raises(ValueError, match="one truth value"):
        book.check("both", torch.tensor([True, False]))


def _run(chapter, *cells, instead):
    """The names that some cells of a chapter bind, one text in them being another."""
    names = {}
    by_id = {cell.id: cell.source for cell in nbformat.read(CHAPTERS / chapter, 4).cells}
    for cell in cells:
        exec(by_id[cell].replace(*instead), names)
    return names


@pytest.mark.parametrize("name", ["Yolanda", "king"])
def test_page_1_takes_any_name_and_one_that_is_a_single_piece(in_a_notebook, name):
    """Its sentences then have a cross or a dash, and nothing stops."""
    cells = ("name-01", "name-line", "name-expected", "name-note", "name-search", "name-off")
    names = _run("a-name-comes-again.ipynb", *cells, instead=("Valdemar", name))
    assert names["LINE"].endswith(f"heard {name}")
