"""The answer at the top of a chapter has the marks of its verdicts."""

import ast

import pytest

from tools import manifest
from transformer_circuits import book, record
from transformer_circuits.book import notebooks
from transformer_circuits.claims import catalogue, rules, scorecard

CLAIMS = manifest.read(notebooks.root() / manifest.COMMITTED)["claims"]
SYMBOLS = rules.SYMBOLS | dict(zip(scorecard.HOLDS.values(), "=+", strict=True))
WITHOUT = ("00-how-to-read", "01-notation", notebooks.SCORECARD)
"""Pages that tell how one reads the others."""


def answer(chapter):
    """The text of a chapter's answer: its second cell with code."""
    cells = notebooks.read(notebooks.path(chapter))["cells"]
    _, second, *_ = ("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    (called,) = ast.parse(second).body
    assert ast.unparse(called.value.func) == "book.Answer"
    return ast.literal_eval(called.value.args[0])


@pytest.mark.parametrize("chapter", sorted({*notebooks.numbered()} - {*WITHOUT}))
def test_an_answer_says_in_sixty_words_what_its_chapter_decided(chapter):
    text = answer(chapter)
    assert len(book.MARK.sub("", text).split()) <= 60
    assert text.count("[") == len(book.MARK.findall(text)), "a mark and an id"
    for mark, name in book.MARK.findall(text):
        assert catalogue.testable(name).chapter == chapter, f"{name} is decided elsewhere"
        assert mark == SYMBOLS[CLAIMS[name]["verdict"]], f"{name}: write the answer anew"


def test_a_mark_is_a_link_and_in_plain_text_a_mark():
    said = book.Answer("Yes, by <so> much [✓ k-composition-use]. Of any weights [= gauge].")
    data, metadata = said._repr_mimebundle_()
    assert data["text/plain"] == "Yes, by <so> much ✓. Of any weights =."
    assert 'by &lt;so&gt; much\u00a0<a href="#claim-k-composition-use"' in data["text/html"]
    assert metadata[record.KEY]["text"] == str(said)
