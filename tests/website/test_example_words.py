"""The words that pages give as examples can be asked about in the live page's panel of a circuit."""

import re
from pathlib import Path

import nbformat
import pytest

from transformer_circuits.text import tokenizer

ROOT = Path(__file__).parents[2]


def prose(chapter):
    cells = nbformat.read(ROOT / "chapters" / f"{chapter}.ipynb", 4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def examples():
    """What chapter 5 gives as code beside its link to the panel, what pairs are given on a slide, and
    the sources of every skip-trigram, *source … destination*, in the two chapters on them, on the
    slides, in the plan."""
    to_try = next(text for text in prose("05-one-layer") if "What a circuit says" in text)
    lesson = [(ROOT / "seminar" / f"{name}.md").read_text() for name in ("slides", "plan-90")]
    everywhere = "\n".join([*prose("05-one-layer"), *prose("06-skip-trigrams"), *lesson])
    to_try += "".join(re.findall(r"^`[^`|\n].*$", lesson[0], re.M))
    sources = re.findall(r"(\w+) ?… ?\w+", everywhere)
    words = (word.strip("␣ ") for word in re.findall(r"`([^`]+)`", to_try))
    return sorted({*(word for word in words if " " not in word), *map(str.lower, sources)})


@pytest.mark.parametrize("word", examples())
def test_an_example_is_one_token_with_or_without_a_space_before_it(word):
    assert {word, f" {word}"} & {*tokenizer.texts()}


def test_there_are_examples():
    assert {"keep", "back", "eat", "king"} <= {*examples()}
