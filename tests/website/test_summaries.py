"""What is shown of a page elsewhere."""

import re

import pytest
from conftest import HTML
from docutils import core

from website import summaries


def test_the_first_paragraph_is_the_summary_cut_after_a_word():
    def summary(text):
        return summaries.summary(core.publish_doctree(text))

    assert summary("One\n===\n\nFirst\nwords.\n\nSecond.") == "First words."
    assert summary("word, " * 60).endswith("word …")
    written = summaries.tags('a "title"', "<script>")  # and what is written cannot end the head
    assert '"' not in re.sub(r'<meta \w+="[\w:]+" content="[^"<>]*" />\n', "", written)


@pytest.mark.browser
def test_pages_have_a_description_and_a_sign():
    text = (HTML / "chapters/11-induction-heads.html").read_text(encoding="utf-8")
    assert '<meta name="description" content="A line has named Valdemar. Why does' in text
    assert '<meta property="og:title" content="Induction heads" />' in text
    assert "_static/favicon.svg" in text
