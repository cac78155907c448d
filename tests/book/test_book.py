import sys

import pytest
import torch

from transformer_circuits import book


def test_a_claim_that_holds_is_shown_and_one_that_does_not_stops(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    book.check("two is even", 2 % 2 == 0)
    book.check("three is odd", True, ours=torch.tensor(1 / 3))
    assert capsys.readouterr().out == "✓ two is even\n✓ three is odd: 0.33\n"
    with pytest.raises(AssertionError, match=r"does not hold: three is even \(3 % 2 = 1\)"):
        book.check("three is even", torch.tensor(3) % 2 == 0, ours="3 % 2 = 1")
    with pytest.raises(ValueError, match=r"one truth value but got \(2,\)"):
        book.check("both", torch.tensor([True, False]))


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
    record = metadata["record"]
    assert (record["kind"], record["text"], record["numbers"]) == ("check", "0.50", {"ours": 0.5})
