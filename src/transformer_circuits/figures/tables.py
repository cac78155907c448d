"""Tables, as HTML that a screen reader can read and as plain text."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tabulate import tabulate


@dataclass(frozen=True)
class Link:
    """A cell that is a link; in plain text, only its text.

    Raises:
        ValueError: if `href` is neither http(s) nor relative. Refused are other schemes
            (`javascript:`), hosts without one (`//host`), and characters that browsers drop or
            change (control characters, blanks, backslashes).
    """

    text: str
    href: str

    def __post_init__(self):
        odd = re.search(r"[\x00-\x20\x7f-\xa0\\]", self.href)
        scheme, host, *_ = ("", "") if odd else urlsplit(self.href)
        if odd or (scheme, bool(host)) not in (("http", True), ("https", True), ("", False)):
            raise ValueError(f"a link leads to http(s) or a relative address, not to {self.href!r}")

    def __str__(self) -> str:
        return self.text


def _html(cell: str | Link) -> str:
    if isinstance(cell, Link):
        return f'<a href="{html.escape(cell.href)}">{html.escape(cell.text)}</a>'
    return html.escape(cell)


@dataclass(frozen=True)
class Table:
    """Rows of text under a header each, which Jupyter shows as an HTML table with a caption."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Link, ...], ...]
    caption: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        head = "".join(
            f'<th scope="col">{_html(name)}</th>' if name.strip() else "<td></td>"
            for name in self.columns
        )
        lines = []
        for row in self.rows:
            first, *others = map(_html, row)
            cells = "".join(f"<td>{cell}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        # A wide table scrolls by itself; tabindex lets the keyboard scroll it too.
        box = f'<div style="overflow-x:auto" tabindex="0" role="region" aria-label="{html.escape(self.caption)}">'
        plain = tabulate(self.rows, self.columns, disable_numparse=True, tablefmt="simple")
        text = f'{box}<table class="findings">{caption}{body}</table></div>'
        return {"text/html": text, "text/plain": f"{self.caption}\n{plain}"}


def table(
    rows: Sequence[Mapping[str, object]] | Sequence[Sequence[object]],
    *,
    caption: str,
    columns: Sequence[str] = (),
    digits: int = 2,
) -> Table:
    """A table; `caption` says what it shows.

    A row is a mapping from header to cell. Or `columns` gives the headers, and a row is its cells
    alone; then two columns may have the same header.

    Numbers with a fraction get `digits` decimals, wherever they come from (Python, NumPy, a 0-dim
    tensor). A `Link` leads somewhere. Everything else is shown as `str` has it.

    Raises:
        ValueError: if there are no rows, rows have different columns, or a row does not have one
            cell per column.
    """
    if not rows:
        raise ValueError(f'the table "{caption}" has no rows')
    headers = columns or list(rows[0])
    for row in rows:
        if isinstance(row, Mapping) != (not columns):
            raise ValueError("a row is a mapping, or, with `columns`, its cells alone")
        if not columns and list(row) != headers:
            raise ValueError(f"a row has columns {list(row)} but the first has {headers}")
        if len(row) != len(headers):
            raise ValueError(f"a row has {len(row)} cells but the columns are {headers}")
    cells = [row if columns else row.values() for row in rows]
    shown = tuple(tuple(_cell(value, digits) for value in row) for row in cells)
    return Table(tuple(headers), shown, caption)


def _cell(value: object, digits: int) -> str | Link:
    if isinstance(value, Link):
        return value
    if getattr(value, "ndim", None) == 0:  # an array or a tensor of one number
        value = value.item()
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)
