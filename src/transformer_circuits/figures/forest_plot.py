"""Forest plot: estimates as dots on one line, with their intervals and the threshold they are held to."""

import html
from collections.abc import Callable, Collection, Mapping, Sequence

from transformer_circuits.figures.values import written

Span = tuple[float, float, float]
"""Estimate, and the ends of its interval."""
WIDTH, HEIGHT, MARGIN = 220.0, 15.0, 6.0
"""Size of one line's picture, and its margin at both ends. [pixels]"""


def forest_plot(
    rows: Mapping[str, Sequence[Span]],
    threshold: float,
    side: str,
    *,
    ours: Collection[str],
    unit: str = "",
    scaled: Callable[[float], float] = lambda value: value,
) -> str:
    """HTML of a table with a line for each name: its dots on one scale for all, and its numbers.

    `rows`: estimates by name, all in one unit; empty, if there was no case.
    `threshold`, `side`: the range "above" or "below" the threshold is shaded.
    `ours`: the names whose dots are full; those of the others, controls, are empty.
    `unit`, `scaled`: the unit of the shown numbers, and the function that converts to it.

    The plot takes the colour of the text around it, but the shade is one in all rows. Intervals are
    drawn; in words they are for screen readers alone, for the book's page hides them from the eye.
    """
    ends = [threshold, *(value for spans in rows.values() for span in spans for value in span)]
    low, high = min(ends), max(ends)
    scale = (WIDTH - 2 * MARGIN) / ((high - low) or 1)

    def x(value: float) -> float:
        return MARGIN + (value - low) * scale

    def number(value: float) -> str:
        return written(scaled(value), ".3g")

    lines = []
    for name, spans in rows.items():
        at = [tuple(map(x, span)) for span in spans]
        picture = _picture(at, x(threshold), side, name in ours)
        numbers = ", ".join(_numbers(span, number) for span in spans) or "no case"
        kind = ' class="ours"' if name in ours else ""
        lines.append(
            f'<tr{kind}><th scope="row">{html.escape(name)}</th><td>{picture}</td><td>{numbers}</td></tr>'
        )
    must = ", ".join(filter(None, [unit, f"must be {side} {number(threshold)} (shaded)"]))
    head = f'<thead><tr><td></td><th scope="col">{must}</th><td></td></tr></thead>'
    return f'<table class="forest-plot">{head}<tbody>{"".join(lines)}</tbody></table>'


def _numbers(span: Span, number: Callable[[float], str]) -> str:
    mean, low, high = map(number, span)
    interval = "" if low == high else f'<span class="visually-hidden"> ({low} to {high})</span>'
    return mean + interval


def _picture(spans: Sequence[Span], threshold: float, side: str, full: bool) -> str:
    """SVG of one line: the shaded side, the threshold, and a whisker and a dot for each span."""
    left, right = (threshold, WIDTH) if side == "above" else (0.0, threshold)
    parts = [
        f'<rect x="{left:.1f}" width="{right - left:.1f}" height="{HEIGHT:g}" style="fill:var(--muted,currentColor)" opacity="0.2"/>',
        f'<path d="M0 {HEIGHT:g}H{WIDTH:g}" stroke="currentColor" opacity="0.4"/>',
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
