"""Forest plot: estimates as dots on one scale, with their intervals and the threshold they are held to."""

import html
from collections.abc import Callable, Mapping, Sequence

from transformer_circuits.figures.values import written

Span = tuple[float, float, float]
"""Estimate, and the ends of its interval."""
EDGE = 2.5
"""Margin at both ends of a strip. [% of its width]"""


def strip(
    groups: Mapping[str, Mapping[str, Sequence[Span | None]]],
    threshold: float,
    side: str,
    *,
    measured: str,
    unit: str = "",
    scaled: Callable[[float], float] = lambda value: value,
    ways: Sequence[str] = (),
) -> str:
    """HTML of a table with a row for each model: its name, its dots on one scale for all, its numbers.

    `groups`: by heading, the estimates by name: one for each of the `ways` to look at a model, or one
    alone; None, if that has no case. The first group is what the claim is about, and its dots are full.
    `threshold`, `side`: the range "above" or "below" the threshold is shaded.
    `measured`: the words on the axis. `unit`, `scaled`: the unit of the shown numbers, and the
    function that converts to it.

    Its width is that of the page, so places are in percent. Intervals are drawn; in words they are
    for screen readers alone, for the book's page hides them from the eye.
    """
    every = [spans for rows in groups.values() for spans in rows.values()]
    ends = [threshold, *(value for spans in every for span in spans if span for value in span)]
    low, high = min(ends), max(ends)

    def x(value: float) -> float:
        return EDGE + (100 - 2 * EDGE) * (value - low) / ((high - low) or 1)

    def number(value: float) -> str:
        return written(scaled(value), ".3g")

    body = ""
    for heading, rows in groups.items():
        lines = (
            f'<tr class="of"><th scope="rowgroup">{heading}</th><td></td></tr>' if heading else ""
        )
        for name, spans in rows.items():
            marks = "".join(_mark(k, *map(x, span)) for k, span in enumerate(spans) if span)
            numbers = [
                f"<td>{_numbers(span, number) if span else 'no case'}</td>" for span in spans
            ]
            numbers += ["<td></td>"] * (len(ways) - len(spans))
            lines += (
                f'<tr><th scope="row">{html.escape(name)}</th><td><svg aria-hidden="true">{marks}'
                f"</svg></td>{''.join(numbers)}</tr>"
            )
        body += f"<tbody>{lines}</tbody>"
    at, must = x(threshold), f"must be {side} {number(threshold)}"
    must = f"{must} <i>▸</i>" if side == "above" else f"<i>◂</i> {must}"
    # The words begin at the threshold, or end there if there is more room before it.
    beside = (
        f"margin-left:{at:.1f}%" if at < 50 else f"margin-right:{100 - at:.1f}%;text-align:right"
    )
    heads = "".join(
        f'<th scope="col">{mark} {way}</th>' for mark, way in zip("●■", ways, strict=False)
    )
    axis = html.escape(measured) + (f" [{unit}]" if unit else "")
    return (
        f'<table class="strip {side}" style="--at:{at:.1f}%"><caption>{axis}</caption><thead><tr><td></td>'
        f'<th scope="col"><span style="{beside}">{must}</span></th>{heads or "<td></td>"}</tr></thead>{body}</table>'
    )


def _mark(way: int, mean: float, low: float, high: float) -> str:
    """SVG of an estimate: its interval, and a dot; a square in the second way to look."""
    shape = (
        f'<rect x="{mean:.1f}%" y="50%" width="8" height="8" transform="translate(-4 -4)"/>'
        if way
        else f'<circle cx="{mean:.1f}%" cy="50%" r="4.5"/>'
    )
    return f'<line x1="{low:.1f}%" x2="{high:.1f}%" y1="50%" y2="50%"/>{shape}'


def _numbers(span: Span, number: Callable[[float], str]) -> str:
    mean, low, high = map(number, span)
    interval = "" if low == high else f'<span class="visually-hidden"> ({low} to {high})</span>'
    return mean + interval
