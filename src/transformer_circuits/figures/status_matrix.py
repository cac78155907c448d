"""Status matrix: a mark for each of many things, by row and by status, with a link to each."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformer_circuits.figures.html import captioned
from transformer_circuits.figures.tables import Link
from transformer_circuits.record import Record

Rows = Mapping[str, Mapping[str, Sequence[str | Link]]]


@dataclass(frozen=True)
class StatusMatrix:
    """Table whose cells hold one mark for each thing; Jupyter shows it under its title.

    `rows` are named and have the same named columns, in which a `Link` leads to its address and
    plain text is a mark without a link. `symbols`: the character on the marks of each column, in
    order. A mark names its thing: to the keyboard and to screen readers as its name, to the mouse
    as its tip. Colour comes from the page's style and is never the only difference of marks.
    """

    rows: Rows
    symbols: Mapping[str, str]
    title: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        head = "".join(
            f'<th scope="col" role="columnheader">{_mark(self.symbols[name], name)}'
            f"<span>{html.escape(name)}</span></th>"
            for name in self.symbols
        )
        lines = []
        for name, cells in self.rows.items():
            marks = "".join(
                f'<td role="cell">{"".join(self._linked(column, thing) for thing in cells[column])}</td>'
                for column in self.symbols
            )
            title = f'<th scope="row" role="rowheader">{html.escape(name)}</th>'
            lines.append(f'<tr role="row">{title}{marks}</tr>')
        # The roles keep it a table where a narrow page lays rows out as lines.
        body = (
            f'<table class="marks" role="table"><thead role="rowgroup"><tr role="row"><td></td>{head}'
            f'</tr></thead><tbody role="rowgroup">{"".join(lines)}</tbody></table>'
        )
        shown = {"text/html": captioned(self.title, body), "text/plain": self._plain()}
        counts = {
            column: [len(cells[column]) for cells in self.rows.values()] for column in self.symbols
        }
        record = Record("figure", self.title, numbers=counts, words={"rows": [*self.rows]})
        return shown, record.metadata

    def _linked(self, column: str, thing: str | Link) -> str:
        name = html.escape(f"{thing}: {column}")
        shown = _mark(self.symbols[column], column)
        if isinstance(thing, Link):
            href = html.escape(thing.href)
            return f'<a href="{href}" title="{name}" aria-label="{name}">{shown}</a> '
        return f'<span role="img" title="{name}" aria-label="{name}">{shown}</span> '

    def _plain(self) -> str:
        lines = (
            f"{name}: "
            + ", ".join(f"{column} {len(cells[column])}" for column in cells if cells[column])
            for name, cells in self.rows.items()
        )
        return "\n".join([self.title, *lines])


def _mark(symbol: str, column: str) -> str:
    kind = html.escape(column.replace(" ", "-"))
    return f'<b class="mark {kind}" aria-hidden="true">{html.escape(symbol)}</b>'
