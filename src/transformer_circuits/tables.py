"""Tables that can be read on a page, by a screen reader, and as plain text."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabulate import tabulate


@dataclass(frozen=True)
class Link:
    """A cell that leads somewhere; plain text shows its text."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


def _html(cell: str | Link) -> str:
    if isinstance(cell, Link):
        return f'<a href="{html.escape(cell.href)}">{html.escape(cell.text)}</a>'
    return html.escape(cell)


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns, which Jupyter shows as an HTML table with a caption."""

    rows: tuple[Mapping[str, str | Link], ...]
    caption: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        options = {"headers": "keys", "disable_numparse": True}
        escaped = [{_html(k): _html(v) for k, v in row.items()} for row in self.rows]
        body = tabulate(escaped, tablefmt="unsafehtml", **options)
        body = body.replace("<th>", '<th scope="col">')
        body = re.sub(r"<tr><td([^>]*)>(.*?)</td>", r'<tr><th scope="row"\1>\2</th>', body)
        body = re.sub(r'<th scope="col">\s*</th>', "<td></td>", body)  # no name: no head
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        body = body.replace("<table>", f'<table class="findings">{caption}', 1)
        # A wide table scrolls by itself; tabindex lets the keyboard scroll it too.
        box = f'<div style="overflow-x:auto" tabindex="0" role="region" aria-label="{html.escape(self.caption)}">'
        plain = tabulate(self.rows, tablefmt="simple", **options)
        return {"text/html": f"{box}{body}</div>", "text/plain": f"{self.caption}\n{plain}"}


def table(rows: Sequence[Mapping[str, object]], *, caption: str, digits: int = 2) -> Table:
    """A table of one mapping per row, all with the same columns; `caption` says what it shows.

    Numbers with a fraction get `digits` decimals; `Link`s lead somewhere; everything else is shown
    as `str` has it.

    Raises:
        ValueError: if there are no rows, or rows have different columns.
    """
    if not rows:
        raise ValueError(f'the table "{caption}" has no rows')
    for row in rows:
        if list(row) != list(rows[0]):
            raise ValueError(f"a row has columns {list(row)} but the first has {list(rows[0])}")

    def text(value: object) -> str | Link:
        if isinstance(value, Link):
            return value
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    return Table(tuple({name: text(v) for name, v in row.items()} for row in rows), caption)
