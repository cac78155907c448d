import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from transformer_circuits.figures import tables, views

ROWS = [{"token": "</b>", "logits": 1.23456}, {"token": "1", "logits": 2}]


def test_a_table_has_a_caption_and_escapes_its_text():
    shown = tables.table(ROWS, caption="Two <tokens>")._repr_mimebundle_()[0]
    assert "<caption>Two &lt;tokens&gt;</caption>" in shown["text/html"]
    assert "&lt;/b&gt;" in shown["text/html"] and "</b>" not in shown["text/html"]
    assert shown["text/plain"].startswith("Two <tokens>\n")
    assert "1.23" in shown["text/plain"] and "1.2345" not in shown["text/plain"]


def test_what_was_not_to_be_measured_is_a_dash():
    shown = tables.table([{"a": "x", "b": None}, {"a": "y", "b": 0.5}], caption="c")
    assert "<td>–</td>" in shown.as_html
    tokens = views.tokens(["<begin>", "a"], [float("nan"), 0.5], unit="nats", label="l")
    assert ">–<" in tokens.without_scripts and "None" not in tokens.without_scripts


def test_a_link_leads_somewhere_and_reads_as_its_text():
    link = tables.Link("a < b", "there.html#x&y")
    shown = tables.table([{"see": link}], caption="c")._repr_mimebundle_()[0]
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
    parser.feed(tables.table(ROWS, caption="c")._repr_mimebundle_()[0]["text/html"])
    assert not parser.open


@pytest.mark.parametrize("first", ["one\ntwo", tables.Link("one\ntwo", "there.html"), "", "</td>"])
def test_the_first_cell_of_every_row_is_its_header(first):
    html = tables.table([{"a": first, "b": "c\nd"}] * 2, caption="c")._repr_mimebundle_()[0][
        "text/html"
    ]
    assert html.count('<tr><th scope="row">') == 2
    assert html.count("<td>") == 2 and html.count('<th scope="col">') == 2


@pytest.mark.parametrize("number", [torch.tensor(1.236), np.float32(1.236), np.array(1.236), 1.236])
def test_one_number_reads_as_a_number_wherever_it_comes_from(number):
    shown = tables.table([{"a": number, "n": torch.tensor(3)}], caption="c")._repr_mimebundle_()[0]
    assert "1.24" in shown["text/plain"] and "tensor" not in shown["text/plain"]
    assert '<td class="number">3</td>' in shown["text/html"]


@pytest.mark.parametrize(
    "href", ["there.html#x&y", "../up/", "#here", "?q=a:b", "https://a.org/b?c#d", "HTTP://a.org"]
)
def test_links_lead_to_pages(href):
    assert tables.Link("text", href).href == href


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
        "\x01javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd",
        "mailto:a@b.org", "//host/page", "/\\host", "\\\\host", "https:\\\\host", "https:page", "a\u00a0b",
    ],
)  # fmt: skip
def test_links_lead_to_nothing_else(href):
    with pytest.raises(ValueError, match=r"leads to http\(s\) or a relative address, not to"):
        tables.Link("text", href)


def test_rows_must_be_there_and_alike():
    with pytest.raises(ValueError, match='the table "empty" has no rows'):
        tables.table([], caption="empty")
    with pytest.raises(ValueError, match="a row has columns"):
        tables.table([{"a": 1}, {"b": 1}], caption="c")
    with pytest.raises(ValueError, match=r"a row has 3 cells but the columns are \['a', 'b'\]"):
        tables.table([[1, 2], [1, 2, 3]], columns=["a", "b"], caption="c")
    for rows, columns in (([{"a": 1}], ["a"]), ([[1]], [])):
        with pytest.raises(ValueError, match="a row is a mapping, or, with `columns`, its cells"):
            tables.table(rows, columns=columns, caption="c")


def test_two_columns_may_have_the_same_header():
    rows = [["K", 0.5, 1.25], ["Q", torch.tensor(0.25), 2]]
    shown = tables.table(rows, columns=["kind", "largest", "largest"], caption="c")
    page = shown._repr_mimebundle_()[0]
    assert page["text/html"].count('<th scope="col" class="number">largest</th>') == 2
    assert '<td class="number">0.25</td><td class="number">2</td></tr>' in page["text/html"]
    assert page["text/plain"].splitlines()[1].split() == ["kind", "largest", "largest"]


def test_headers_and_cells_alone_look_the_same_as_mappings():
    cells = [list(row.values()) for row in ROWS]
    assert tables.table(cells, columns=list(ROWS[0]), caption="c") == tables.table(
        ROWS, caption="c"
    )


def test_a_column_without_a_name_has_no_empty_head():
    shown = tables.table([{"": "a", "b": "c"}], caption="c")._repr_mimebundle_()[0]["text/html"]
    assert '<tr><td></td><th scope="col">b' in shown and '<tr><th scope="row">a' in shown


def test_a_column_of_numbers_alone_is_aligned():
    rows = [{"name": 1, "all": 2.0, "some": 3.0}, {"name": 2, "all": 4, "some": "none"}]
    page = tables.table(rows, caption="c")._repr_mimebundle_()[0]["text/html"]
    assert '<th scope="row">1</th><td class="number">2.00</td><td>3.00</td>' in page
    assert page.count('class="number"') == 3


def test_bars_are_parts_of_the_largest_and_hollow_below_zero():
    rows = [["a", 0.5], ["b", -2.0], ["c", torch.tensor(1.0)]]
    shown = tables.table(rows, columns=["name", "worth"], bars=["worth"], caption="c")
    page = shown._repr_mimebundle_()[0]["text/html"]
    widths = [int(width) for width in re.findall(r"width:(\d+)%", page)]
    assert widths == [25, 100, 50]
    assert page.count("border:1px solid") == 1
    assert "0.50" in page and "-2.00" in page


@pytest.mark.parametrize("bars", [["name"], ["other"], ["some"]])
def test_bars_of_what_is_no_column_of_numbers_are_refused(bars):
    rows = [{"name": 1, "some": 3.0}, {"name": 2, "some": float("nan")}]
    with pytest.raises(ValueError, match="not all of them columns of numbers"):
        tables.table(rows, caption="c", bars=bars)
