"""Marks are links with names; no mark is told apart by its colour alone."""

import re

from transformer_circuits.figures.status_matrix import status_matrix
from transformer_circuits.figures.tables import Link

SYMBOLS = {"holds": "✓", "does not": "✗"}
ROWS = {
    "first <part>": {"does not": [], "holds": [Link("a < b", "x.html#claim-a"), "c"]},
    "second": {"does not": [Link("d", "#d")], "holds": []},
}


def test_every_mark_has_a_symbol_a_name_and_leads_somewhere():
    shown = status_matrix(ROWS, symbols=SYMBOLS, title="All")._repr_mimebundle_()[0]
    page = shown["text/html"]
    links = re.findall(r'<a href="(.*?)" title="(.*?)" aria-label="(.*?)"><b .*?>(.)</b></a>', page)
    assert links == [
        ("x.html#claim-a", "a &lt; b: holds", "a &lt; b: holds", "✓"),
        ("#d", "d: does not", "d: does not", "✗"),
    ]
    assert '<span role="img" title="c: holds" aria-label="c: holds">' in page
    assert 'class="mark does-not"' in page and "first &lt;part&gt;</th>" in page
    assert shown["text/plain"] == "All\nfirst <part>: holds 2\nsecond: does not 1"


def test_columns_come_in_the_order_of_the_symbols():
    page = status_matrix(ROWS, symbols=SYMBOLS, title="All")._repr_mimebundle_()[0]["text/html"]
    head = page[: page.index("</thead>")]
    assert head.index("<span>holds") < head.index("<span>does not")
    cells = re.findall(r'<td role="cell">(.*?)</td>', page)
    assert [bool(cell) for cell in cells] == [True, False, False, True]
