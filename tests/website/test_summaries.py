"""What is shown of a page elsewhere."""

import re

import pytest
from docutils import core, nodes
from test_built_book import HTML

from transformer_circuits.website import summaries


def page(text):
    return core.publish_doctree(text)


def test_the_first_paragraph_is_the_summary_cut_after_a_word():
    assert summaries.summary(page("One\n===\n\nFirst\nwords.\n\nSecond.")) == "First words."
    long = summaries.summary(page("word, " * 60))
    assert long.endswith("word …") and len(long) <= summaries.LONGEST + 2
    assert summaries.summary(nodes.document(None, None)) == ""


def test_what_is_written_into_the_head_cannot_end_it():
    written = summaries.tags('a "title"', "<script>")
    assert '"' not in re.sub(r'<meta \w+="[\w:]+" content="[^"<>]*" />\n', "", written)
    assert written.count("<meta") == 5 and "<script>" not in written


@pytest.mark.browser
def test_pages_have_a_description_and_a_sign():
    text = (HTML / "chapters/11-induction-heads.html").read_text(encoding="utf-8")
    assert '<meta name="description" content="A text has named Nicaragua. Why does' in text
    assert '<meta property="og:title" content="Induction heads" />' in text
    assert "_static/favicon.svg" in text
