import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from transformer_circuits.figures import tables, theme
from transformer_circuits.figures.status_matrix import StatusMatrix
from transformer_circuits.figures.values import array

ROWS = [{"token": "</b>", "logits": 1.23456}, {"token": "1", "logits": 2}]
NESTED = [[1.0, 2.0], [3.0, 4.5]]


def page(rows, **options):
    return tables.table(rows, caption="Two <tokens>", **options)._repr_mimebundle_()[0]


class Tags(HTMLParser):
    """Fails where a tag is closed that is not open."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("look", ["table", "folded", "lines"])
def test_a_table_has_its_caption_and_escapes_its_text(look):
    shown = page(ROWS, look=look)
    assert "Two &lt;tokens&gt;" in shown["text/html"]
    assert "&lt;/b&gt;" in shown["text/html"] and "</b>&lt;" not in shown["text/html"]
    assert shown["text/plain"].startswith("Two <tokens>\n")
    assert "1.23" in shown["text/plain"] and "1.2345" not in shown["text/plain"]
    Tags(shown["text/html"])


def test_what_was_not_to_be_measured_is_a_dash():
    assert (
        '<td class="number">–</td>'
        in page([{"a": "x", "b": None}, {"a": "y", "b": 0.5}])["text/html"]
    )


def test_a_link_leads_somewhere_and_reads_as_its_text():
    shown = page([{"see": tables.Link("a < b", "there.html#x&y")}])
    assert '<a href="there.html#x&amp;y">a &lt; b</a>' in shown["text/html"]
    assert "a < b" in shown["text/plain"] and "there" not in shown["text/plain"]


@pytest.mark.parametrize("number", [torch.tensor(1.236), np.float32(1.236), np.array(1.236), 1.236])
def test_one_number_reads_as_a_number_wherever_it_comes_from(number):
    shown = page([{"a": number, "n": torch.tensor(3)}])
    assert "1.24" in shown["text/plain"] and "tensor" not in shown["text/plain"]
    assert '<td class="number">3</td>' in shown["text/html"]


@pytest.mark.parametrize(
    "values",
    [
        NESTED,
        (range(1, 3), [3, 4.5]),
        np.array(NESTED, dtype=np.float32),
        torch.tensor(NESTED, requires_grad=True),
        [torch.tensor([1, 2]), [torch.tensor(3), torch.tensor(4.5, requires_grad=True)]],
    ],
)
def test_a_figure_takes_numbers_from_wherever_they_are(values):
    made = array(values)
    assert made.dtype == float and made.tolist() == NESTED
    with pytest.raises(TypeError):
        array([1 + 2j])


@pytest.mark.parametrize("href", ["there.html#x&y", "../up/", "?q=a:b", "https://a.org/b?c#d"])
def test_links_lead_to_pages(href):
    assert tables.Link("text", href).href == href


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
        "data:text/html,x", "file:///etc/passwd", "//host/page", "/\\host", "https:page", "a\u00a0b",
    ],
)  # fmt: skip
def test_links_lead_to_nothing_else(href):
    with pytest.raises(ValueError, match=r"leads to http\(s\) or a relative address, not to"):
        tables.Link("text", href)


@pytest.mark.parametrize(
    "rows, options",
    [
        ([], {}),
        ([{"a": 1}, {"b": 1}], {}),
        ([[1, 2], [1, 2, 3]], {"columns": ["a", "b"]}),
        ([{"name": "x", "some": 3.0}, {"name": "y", "some": float("nan")}], {"bars": ["some"]}),
        ([{"a": 1.0}], {"bars": ["b"]}),
        ([["x", 0.5], ["y", 1.5]], {"columns": ["a", "b"], "bars": "b", "bars_of": "probability"}),
        ([["x", 0.5], ["y", 1.5]], {"columns": ["a", "b"], "bars": "b", "bars_of": "share"}),
        ([["x", 3], ["y", 5]], {"columns": ["a", "b"], "bars": "b", "bars_of": 4}),
    ],
)
def test_rows_that_are_not_alike_and_bars_of_no_numbers_are_refused(rows, options):
    with pytest.raises(ValueError, match=r"rows|row has|columns of numbers|from 0 to [14]"):
        page(rows, **options)


def test_first_cells_are_headers_and_a_column_without_a_name_has_no_empty_head():
    shown = page([{"": "a", "all": 2.0, "some": 3.0}, {"": "b", "all": 4, "some": "none"}])
    assert '<tr><td></td><th scope="col" class="number">all' in shown["text/html"]
    row = '<tr><th scope="row">a</th><td class="number">2.00</td><td>3.00</td>'
    assert row in shown["text/html"]


def test_bars_are_parts_of_the_largest_and_hollow_below_zero():
    rows = [["a", 0.5], ["b", -2.0], ["c", torch.tensor(1.0)]]
    shown = page(rows, columns=["name", "worth"], bars=["worth"])["text/html"]
    assert re.findall(r"width:(\d+)%", shown) == ["25", "100", "50"]
    assert shown.count("border:1px solid") == 1
    assert "0.50" in shown and "\u22122.00" in shown, "a minus, not a hyphen"
    likely = page(
        [["a", 0.5], ["b", 0.25]], columns=["name", "p"], bars=["p"], bars_of="probability"
    )
    assert re.findall(r"width:(\d+)%", likely["text/html"]) == ["50", "25"]
    assert likely["text/html"].count(theme.LIKELY.light) == 2
    share = page([["a", 0.5], ["b", 0.25]], columns=["name", "p"], bars=["p"], bars_of="share")
    assert re.findall(r"width:(\d+)%", share["text/html"]) == ["50", "25"]
    assert theme.LIKELY.light not in share["text/html"] and "50\xa0%" in share["text/plain"]
    score = page([["a", 0.5], ["b", -0.25]], columns=["name", "p"], bars=["p"], bars_of="score")
    assert re.findall(r"width:(\d+)%", score["text/html"]) == ["50", "25"]
    assert "0.50" in score["text/plain"]
    counts = page([["a", 3], ["b", 6]], columns=["name", "n"], bars=["n"], bars_of=12)
    assert re.findall(r"width:(\d+)%", counts["text/html"]) == ["25", "50"]
    assert "%" not in counts["text/plain"]


def test_tokens_have_their_chances_beside_them_and_as_bars():
    cell = tables.Tokens(("<b>", "ton"), (0.95, 0.001))
    shown = page([["after", cell]], columns=["", "next"])
    assert "<b> 95\xa0% ton <\xa01\xa0%" in shown["text/plain"]
    assert "<code>&lt;b&gt;</code> 95\xa0%" in shown["text/html"]
    bars = re.findall(r"width:(\d+)%;background:(#\w+)", shown["text/html"])
    assert bars == [("95", theme.LIKELY.light), ("0", theme.LIKELY.light)]
    with pytest.raises(ValueError):
        page([["after", tables.Tokens(("a", "b"), (0.5,))]], columns=["", "next"])


def test_every_mark_of_a_status_has_a_symbol_a_name_and_leads_somewhere():
    rows = {
        "first <part>": {"does not": [], "holds": [tables.Link("a < b", "x.html#claim-a"), "c"]},
        "second": {"does not": [tables.Link("d", "#d")], "holds": []},
    }
    symbols = {"holds": "✓", "does not": "✗"}
    shown = StatusMatrix(rows, symbols=symbols, title="All")._repr_mimebundle_()[0]
    text = shown["text/html"]
    links = re.findall(r'<a href="(.*?)" title="(.*?)" aria-label="(.*?)"><b .*?>(.)</b></a>', text)
    assert links == [
        ("x.html#claim-a", "a &lt; b: holds", "a &lt; b: holds", "✓"),
        ("#d", "d: does not", "d: does not", "✗"),
    ]
    assert '<span role="img" title="c: holds" aria-label="c: holds">' in text
    assert 'class="mark does-not"' in text and "first &lt;part&gt;</th>" in text
    assert shown["text/plain"] == "All\nfirst <part>: holds 2\nsecond: does not 1"
    cells = re.findall(r'<td role="cell">(.*?)</td>', text)  # in the order of the symbols
    assert [bool(cell) for cell in cells] == [True, False, False, True]
