"""Recall questions become cards: one line each, without Markdown."""

import pytest

from transformer_circuits.book import notebooks
from transformer_circuits.website import recall

BOX = """# Title

::::{dropdown} Before you start: two questions on the last chapter
:::{dropdown} What is $W_E$?
The *embedding*; see [notation](01-notation.ipynb).
It reads
tokens.
:::
:::{dropdown} And then?
Nothing.
:::
::::

:::{dropdown} Hint
No card.
:::
"""
CARDS = [
    (r"What is \(W_E\)?", "The embedding; see notation. It reads tokens."),
    ("And then?", "Nothing."),
]


def test_a_card_is_a_question_and_its_answer_in_plain_words_a_line_each(checkout):
    root = checkout("a", "1", prose=BOX)
    lines = recall.write(root / "html").read_text(encoding="utf-8").splitlines()
    assert [tuple(line.split("\t")) for line in lines] == [(*card, "a") for card in CARDS]


@pytest.mark.parametrize("chapter", notebooks.names())
def test_every_chapter_that_asks_gives_as_many_cards(chapter):
    notebook = notebooks.read(notebooks.path(chapter))
    asks = "Before you start" in "".join("".join(c["source"]) for c in notebook["cells"])
    found = list(recall.cards(notebook))
    assert len(found) in ((2, 3) if asks else (0,))
    assert all(part and "\t" not in part for card in found for part in card)
