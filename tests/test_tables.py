from html.parser import HTMLParser

import pytest

from transformer_circuits import tables

ROWS = [{"token": "</b>", "logits": 1.23456}, {"token": "1", "logits": 2}]


def test_a_table_has_a_caption_and_escapes_its_text():
    shown = tables.table(ROWS, caption="Two <tokens>")._repr_mimebundle_()
    assert "<caption>Two &lt;tokens&gt;</caption>" in shown["text/html"]
    assert "&lt;/b&gt;" in shown["text/html"] and "</b>" not in shown["text/html"]
    assert shown["text/plain"].startswith("Two <tokens>\n")
    assert "1.23" in shown["text/plain"] and "1.2345" not in shown["text/plain"]


def test_a_link_leads_somewhere_and_reads_as_its_text():
    link = tables.Link("a < b", "there.html#x&y")
    shown = tables.table([{"see": link}], caption="c")._repr_mimebundle_()
    assert '<a href="there.html#x&amp;y">a &lt; b</a>' in shown["text/html"]
    assert "a < b" in shown["text/plain"] and "there" not in shown["text/plain"]


def test_every_tag_that_is_opened_is_closed():
    class Tags(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    parser = Tags()
    parser.feed(tables.table(ROWS, caption="c")._repr_mimebundle_()["text/html"])
    assert not parser.open


def test_rows_must_be_there_and_alike():
    with pytest.raises(ValueError, match='the table "empty" has no rows'):
        tables.table([], caption="empty")
    with pytest.raises(ValueError, match="a row has columns"):
        tables.table([{"a": 1}, {"b": 1}], caption="c")


def test_a_column_without_a_name_has_no_empty_head():
    shown = tables.table([{"": "a", "b": "c"}], caption="c")._repr_mimebundle_()["text/html"]
    assert '<tr><td></td><th scope="col">b' in shown and '<tr><th scope="row">a' in shown
