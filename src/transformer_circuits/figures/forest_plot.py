"""Estimates as dots on one line, with their intervals and the threshold they are held to."""

import html
from collections.abc import Callable, Mapping, Sequence

from transformer_circuits.figures.values import written

Span = tuple[float, float, float]
"""An estimate, and the ends of its interval."""
WIDTH, HEIGHT, MARGIN = 220.0, 15.0, 6.0
"""Of one line's picture, and what stays free at its ends. [pixels]"""


def forest_plots(
    ours: Mapping[str, Sequence[Span]],
    beside: Mapping[str, Sequence[Span]],
    threshold: float,
    side: str,
    *,
    unit: str = "",
    scaled: Callable[[float], float] = lambda value: value,
) -> tuple[str, str]:
    """HTML of two tables, of ours and of what stands beside them, on one scale for both.

    A table has a line for each name: its dots, and its numbers. Ours are full, the others, controls,
    empty; the second table is "", if there are none.

    `ours`, `beside`: by name, what was estimated, all in what they share; nothing, if there was no case.
    `threshold`, `side`: what lies "above" or "below" this is shaded.
    `unit`, `scaled`: what numbers are written in, and how they come to it.

    They take the colour of the text around them. Intervals are drawn; in words they are for screen
    readers alone, for the book's page hides them from the eye.
    """
    spans = [span for rows in (ours, beside) for row in rows.values() for span in row]
    ends = [threshold, *(value for span in spans for value in span)]
    low, high = min(ends), max(ends)
    scale = (WIDTH - 2 * MARGIN) / ((high - low) or 1)

    def x(value: float) -> float:
        return MARGIN + (value - low) * scale

    def number(value: float) -> str:
        return written(scaled(value), ".3g")

    def line(name: str, row: Sequence[Span], full: bool) -> str:
        picture = _picture([tuple(map(x, span)) for span in row], x(threshold), side, full)
        numbers = ", ".join(_numbers(span, number) for span in row) or "no case"
        of = html.escape(name)
        return f'<tr><th scope="row">{of}</th><td>{picture}</td><td>{numbers}</td></tr>'

    must = ", ".join(filter(None, [unit, f"must be {side} {number(threshold)} (shaded)"]))
    head = f'<thead><tr><td></td><th scope="col">{must}</th><td></td></tr></thead>'
    tables = []
    for rows, above in ((ours, head), (beside, "")):
        lines = "".join(line(name, row, bool(above)) for name, row in rows.items())
        body = f'<table class="forest-plot">{above}<tbody>{lines}</tbody></table>'
        tables.append(body if rows else "")
    return tables[0], tables[1]


def _numbers(span: Span, number: Callable[[float], str]) -> str:
    mean, low, high = map(number, span)
    interval = "" if low == high else f'<span class="visually-hidden"> ({low} to {high})</span>'
    return mean + interval


def _picture(spans: Sequence[Span], threshold: float, side: str, full: bool) -> str:
    """One line in pixels: the shaded side, the threshold, and a whisker and a dot for each span."""
    left, right = (threshold, WIDTH) if side == "above" else (0.0, threshold)
    parts = [
        f'<rect x="{left:.1f}" width="{right - left:.1f}" height="{HEIGHT:g}" fill="currentColor" opacity="0.1"/>',
        f'<path d="M{threshold:.1f} 0V{HEIGHT:g}" stroke="currentColor" stroke-dasharray="3 2"/>',
    ]
    step = HEIGHT / (len(spans) + 1)
    for k, (mean, low, high) in enumerate(spans, start=1):
        y, fill = f"{k * step:.1f}", "currentColor" if full else "none"
        parts.append(f'<path d="M{low:.1f} {y}H{high:.1f}" stroke="currentColor"/>')
        parts.append(
            f'<circle cx="{mean:.1f}" cy="{y}" r="3" fill="{fill}" stroke="currentColor"/>'
        )
    return f'<svg aria-hidden="true" width="{WIDTH:g}" height="{HEIGHT:g}">{"".join(parts)}</svg>'
