"""Tables, as HTML that a screen reader can read and as plain text."""

import html
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from tabulate import tabulate

from transformer_circuits.figures import theme
from transformer_circuits.figures.values import percent, written
from transformer_circuits.record import Record


@dataclass(frozen=True)
class Link:
    """Cell that is a link; in plain text, only its text.

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


@dataclass(frozen=True)
class Picture:
    """Cell that is HTML of the book's own making, such as a `forest_plot.strip`; in plain text, `text`."""

    html: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Tokens:
    """Cell of tokens, as they are printed, each in a frame of its own; in plain text, a space between.

    With `chances`, the probability of each stands beside it, and below it as a bar of the full
    width for 1.
    """

    labels: tuple[str, ...]
    chances: tuple[float, ...] = ()

    def __str__(self) -> str:
        return " ".join(self._each)

    @property
    def _each(self) -> list[str]:
        if not self.chances:
            return [*self.labels]
        both = zip(self.labels, self.chances, strict=True)
        return [f"{label} {percent(chance)}" for label, chance in both]


Cell = str | Link | Picture | Tokens
Look = Literal["table", "folded", "lines"]
BarsOf = Literal["any size", "score", "share", "probability"] | int
LEAST = {"score": -1, "share": 0, "probability": 0}
"""Least value of each kind of bar that goes up to 1."""


def _html(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f'<a href="{html.escape(cell.href)}">{html.escape(cell.text)}</a>'
    if isinstance(cell, Picture):
        return cell.html
    if isinstance(cell, Tokens):
        framed = [f"<code>{html.escape(label)}</code>" for label in cell.labels]
        if cell.chances:
            both = zip(framed, cell.chances, strict=True)
            framed = [
                _CHIP.format(token, percent(p), 100 * p, theme.LIKELY.light) for token, p in both
            ]
        return f'<span class="tokens">{" ".join(framed)}</span>'
    # An edge is not broken at its arrow, nor a number before % and ±.
    return html.escape(re.sub(r" (?=→)|(?<=→) |(?<=\d) (?=[%±])|(?<=±) ", "\u00a0", cell))


_CHIP = (
    '<span style="display:inline-block;width:6.6em;vertical-align:top;margin:0 0.5em 0.3em 0">{} {}'
    '<span aria-hidden="true" style="display:block;height:0.4em;margin-top:0.2em;background:#8882">'
    '<span style="display:block;height:100%;width:{:.0f}%;background:{}"></span></span></span>'
)
NUMBER = ' class="number"'
_BAR = (
    '{number}<span aria-hidden="true" style="display:block;width:min({room}em,{wide}vw);height:0.4em;'
    'margin:0.2em 0 0.3em auto;background:#8882"><span style="display:block;height:100%;{share}"></span></span>'
)


@dataclass(frozen=True)
class Table:
    """Rows of text under a header each, which Jupyter shows as an HTML table with a caption."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    record: Record
    shares: tuple[tuple[float | None, ...], ...] = ()
    """Part of the largest value of its column, from -1 to 1, for every cell, if all of the column
    are numbers; or, with a bar, its part as `bars` has it. None elsewhere.
    """
    bars: Mapping[str, BarsOf] = field(default_factory=dict)
    """Kind of bar of each column that shows these parts as bars."""
    look: Look = "table"
    """`folded`: a table below its caption, which opens it; `lines`: each row is a line, of its
    first cell and its last, that opens.
    """

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        return {"text/html": self.as_html, "text/plain": self.as_text}, self.record.metadata

    @property
    def as_text(self) -> str:
        """Table as plain text."""
        lines = tabulate(self.rows, self.columns, disable_numparse=True, tablefmt="simple")
        return f"{self.record.title}\n{lines}"

    @property
    def as_html(self) -> str:
        """Table as HTML."""
        if self.look == "lines":
            return self._as_lines
        shares = self.shares or ((None,) * len(self.columns),) * len(self.rows)
        _names, *columns = zip(*self.rows, strict=True)  # what a row is called is not aligned
        numbers = [False, *(all(map(_is_number, column)) for column in columns)]
        head = "".join(
            f'<th scope="col"{NUMBER if aligned else ""}>{_html(name)}</th>'
            if name.strip()
            else "<td></td>"
            for name, aligned in zip(self.columns, numbers, strict=True)
        )
        lines = []
        for row, parts in zip(self.rows, shares, strict=True):
            of_row = theme.role_of_head(str(row[0]))
            cells = "".join(
                self._cell(*cell, of_row)
                for cell in zip(self.columns[1:], row[1:], parts[1:], numbers[1:], strict=True)
            )
            lines.append(f'<tr><th scope="row">{_html(row[0])}</th>{cells}</tr>')
        title = html.escape(self.record.title)
        caption = f"<caption>{title}</caption>"
        body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        # A wide table scrolls by itself; tabindex lets the keyboard scroll it too.
        box = f'<div style="overflow-x:auto" tabindex="0" role="region" aria-label="{title}">'
        if self.look == "folded":
            inner = f'{box}<table class="findings">{body}</table></div>'
            return f'<details class="folded"><summary>{title}</summary>{inner}</details>'
        return f'{box}<table class="findings">{caption}{body}</table></div>'

    @property
    def _as_lines(self) -> str:
        """HTML of its rows as lines that open."""
        items = "".join(map(self._item, self.rows))
        title = html.escape(self.record.title)
        return (
            f'<div class="findings-lines" role="group" aria-label="{title}">'
            f'<div class="of-all">{title}</div>{items}</div>'
        )

    def _item(self, row: Sequence[Cell]) -> str:
        """HTML of a row: its title, which opens its cells and so is no link, and its last cell."""
        title, name = row[0], html.escape(str(row[0]))
        cells = "".join(
            f"<dt>{html.escape(column)}</dt><dd>{_html(cell)}</dd>"
            for column, cell in zip(self.columns[1:], row[1:], strict=True)
        )
        cells = cells and f"<dl>{cells}</dl>"
        if isinstance(title, Link):
            cells += f'<p><a href="{html.escape(title.href)}">How this was decided: {name}</a></p>'
        last = html.escape(str(row[-1])) if len(row) > 1 else ""
        return f"<details><summary><b>{name}</b> <i>{last}</i></summary>{cells}</details>"

    def _cell(
        self,
        column: str,
        cell: Cell,
        share: float | None,
        aligned: bool,
        of_row: theme.Name | None,
    ) -> str:
        if share is None or column not in self.bars:
            return f"<td{NUMBER if aligned else ''}>{_html(cell)}</td>"
        n = len(self.bars)
        room, wide = min(9.0, max(4.5, 18 / n)), min(24, 55 // n)
        role = of_row or theme.role_of_head(column)
        filled = _bar(share, role, probability=self.bars[column] == "probability")
        bar = _BAR.format(number=_html(cell), share=filled, room=room, wide=wide)
        return f"<td{NUMBER}>{bar}</td>"


def _bar(share: float, role: theme.Name | None, *, probability: bool) -> str:
    """Style of a bar as long as its share of the column's room; below zero it is hollow.

    In the row or column of a head it has the colour of the head's layer, as in a plot of bars.
    """
    colour = "color-mix(in srgb, currentColor 55%, transparent)"
    if probability:
        colour = theme.LIKELY.light
    elif role:
        colour = f"var(--{role},{theme.ROLES[role].light})"
    filled = f"border:1px solid {colour}" if share < 0 else f"background:{colour}"
    return f"width:{100 * abs(share):.0f}%;{filled}"


def table(
    rows: Sequence[Mapping[str, object]] | Sequence[Sequence[object]],
    *,
    caption: str,
    columns: Sequence[str] = (),
    digits: int = 2,
    bars: Collection[str] = (),
    bars_of: BarsOf | Mapping[str, BarsOf] = "any size",
    look: Look = "table",
) -> Table:
    """Table of rows under a `caption`.

    A row is a mapping from header to cell. Or `columns` gives the headers, and a row is its cells
    alone; then two columns may have the same header.

    Numbers with a fraction get `digits` decimals, wherever they come from (Python, NumPy, a 0-dim
    tensor). A `Link` leads somewhere, a `Picture` is drawn, `Tokens` are framed, and None, for a
    missing value, is a dash. All other cells are shown as by `str`.

    A column of numbers alone, or of shares in per cent, is aligned at its right. Columns in `bars`
    show each number's size as a bar below it, hollow below zero. `bars_of` is the full length of a
    bar: for "any size", the column's largest; for a "score", from -1 to 1, 1; for a "share", 1,
    with numbers in per cent; for a "probability", the same in the colour of probabilities; or a
    number, for counts among so many. It may be a mapping by column. Rows or columns named as heads
    ("0.2", "0.2 looks back") have bars in the colours of their layers. `look`: the layout of rows.

    Raises:
        ValueError: if there are no rows, rows have different columns, a row does not have one cell
            per column, `bars` names what is no column of finite numbers, or one of these does not
            lie where `bars_of` says.
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
    cells = [list(map(_plain, row if columns else row.values())) for row in rows]
    names, *columns_of_numbers = zip(*cells, strict=True)
    shares = [[None] * len(names), *map(_shares, columns_of_numbers)]
    barred = [i for i, name in enumerate(headers) if name in bars]
    if set(bars) - set(headers) or any(None in shares[i] for i in barred):
        raise ValueError(f"bars are asked for {list(bars)}, not all of them columns of numbers")
    of_each = {
        name: bars_of.get(name, "any size") if isinstance(bars_of, Mapping) else bars_of
        for name in bars
    }
    in_percent = []
    for i in barred:
        kind = of_each[headers[i]]
        counted = isinstance(kind, int)
        least, full = (0, kind) if counted else (LEAST.get(kind), 1)
        if least is None:
            continue
        values = [row[i] for row in cells]
        if not least <= min(values) <= max(values) <= full:
            kind_name = "count" if counted else kind
            raise ValueError(
                f'each {kind_name} is from {least} to {full}, but "{headers[i]}" has {values}'
            )
        shares[i] = [value / full for value in values]
        if least == 0 and not counted:
            in_percent.append(i)
    shown = tuple(
        tuple(
            percent(value) if i in in_percent else _shown(value, digits)
            for i, value in enumerate(row)
        )
        for row in cells
    )
    by_row = tuple(zip(*shares, strict=True))
    record = _record(headers, cells, shown, caption, digits)
    return Table(tuple(headers), shown, record, by_row, of_each, look)


def _record(headers, cells, shown, caption: str, digits: int) -> Record:
    """Record with columns of numbers in full, all others as shown; a second column of a name has a number."""
    numbers, words = {}, {}
    columns = zip(headers, zip(*cells, strict=True), zip(*shown, strict=True), strict=True)
    for place, (header, values, texts) in enumerate(columns):
        n = [*headers[: place + 1]].count(header)
        name = f"{header} ({n})" if n > 1 else header
        if None in _shares(values):
            words[name] = texts
        else:
            numbers[name] = values
    return Record("table", caption, numbers=numbers, words=words, digits=digits)


def _plain(value: object) -> object:
    """Value itself, or the number in an array or a tensor of one."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _is_number(cell: Cell) -> bool:
    """True if a cell shows a number, maybe in per cent, or the dash that stands for none."""
    return bool(re.fullmatch(r"–|(<\s)?[−+]?[\d.,]+(e[−+]?\d+)?(\s?%)?", str(cell)))


def _shown(value: object, digits: int) -> Cell:
    if isinstance(value, (Link, Picture, Tokens)):
        return value
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return written(value, f".{digits}f")


def _shares(column: Sequence[object]) -> list[float | None]:
    """Part of each value in the largest of its column; None for all, if some is no finite number."""
    numbers = [value for value in column if type(value) in (int, float) and math.isfinite(value)]
    if len(numbers) < len(column):
        return [None] * len(column)
    most = max(map(abs, numbers)) or 1
    return [value / most for value in numbers]
