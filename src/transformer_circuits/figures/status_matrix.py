"""A status matrix: a mark for each of many things, by row and by status, and a way to each of them."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformer_circuits.figures.html import captioned
from transformer_circuits.figures.tables import Link
from transformer_circuits.record import Record

Rows = Mapping[str, Mapping[str, Sequence[str | Link]]]


@dataclass(frozen=True)
class StatusMatrix:
    """A table whose cells hold one mark for each thing; Jupyter shows it under its title.

    `rows` are named and have the same named columns, in which a `Link` leads where it says and plain
    text is a mark without a link. `symbols`: the character on the marks of each column, in order.
    A mark says in words what it stands for: to the keyboard and to screen readers as its name, to
    the mouse as its tip. Colour comes from the page's style and is never all that tells marks apart.
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
                f'<td role="cell">{"".join(self._linked(column, each) for each in cells[column])}</td>'
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

    def _linked(self, column: str, what: str | Link) -> str:
        said = html.escape(f"{what}: {column}")
        shown = _mark(self.symbols[column], column)
        if isinstance(what, Link):
            href = html.escape(what.href)
            return f'<a href="{href}" title="{said}" aria-label="{said}">{shown}</a> '
        return f'<span role="img" title="{said}" aria-label="{said}">{shown}</span> '

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
