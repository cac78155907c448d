"""Tables that can be read on a page, by a screen reader, and as plain text."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tabulate import tabulate


@dataclass(frozen=True)
class Link:
    """A cell that leads somewhere; plain text shows its text.

    Raises:
        ValueError: if `href` is neither http(s) nor relative: no other scheme, no other host
            without one (`//host`), and nothing that browsers read in ways of their own (control
            characters, blanks, backslashes).
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
    """Rows of text under named columns, which Jupyter shows as an HTML table with a caption."""

    rows: tuple[Mapping[str, str | Link], ...]
    caption: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        named = (
            f'<th scope="col">{_html(name)}</th>' if name.strip() else "<td></td>"
            for name in self.rows[0]
        )
        head = "".join(named)
        lines = []
        for row in self.rows:
            first, *others = map(_html, row.values())
            cells = "".join(f"<td>{cell}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        # A wide table scrolls by itself; tabindex lets the keyboard scroll it too.
        box = f'<div style="overflow-x:auto" tabindex="0" role="region" aria-label="{html.escape(self.caption)}">'
        plain = tabulate(self.rows, headers="keys", disable_numparse=True, tablefmt="simple")
        text = f'{box}<table class="findings">{caption}{body}</table></div>'
        return {"text/html": text, "text/plain": f"{self.caption}\n{plain}"}


def table(rows: Sequence[Mapping[str, object]], *, caption: str, digits: int = 2) -> Table:
    """A table of one mapping per row, all with the same columns; `caption` says what it shows.

    Numbers with a fraction get `digits` decimals, also those of 0-dim tensors; `Link`s lead somewhere; everything else is shown
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
        if getattr(value, "ndim", None) == 0:  # a tensor or an array of one number
            value = value.item()
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    return Table(tuple({name: text(v) for name, v in row.items()} for row in rows), caption)
