"""Estimates as dots on one line, with their intervals and the threshold they are held to."""

import html
from collections.abc import Mapping, Sequence

from transformer_circuits.figures.values import written

Span = tuple[float, float, float]
"""An estimate, and the ends of its interval."""
WIDTH, HEIGHT, MARGIN = 220.0, 15.0, 6.0
"""Of one line's picture, and what stays free at its ends. [pixels]"""


def forest_plot(
    rows: Mapping[str, Sequence[Span]], threshold: float, side: str, *, ours: str
) -> str:
    """HTML of a table with a line for each name: its dots on one scale for all, and its numbers.

    `rows`: by name, what was estimated, in any unit that they share.
    `threshold`, `side`: what lies "above" or "below" this is shaded.
    `ours`: the name whose dots are full; those of the others, controls, are empty.

    It takes the colour of the text around it. Intervals are drawn; in words they are for screen
    readers alone, for the book's page hides them from the eye.
    """
    ends = [threshold, *(value for spans in rows.values() for span in spans for value in span)]
    low, high = min(ends), max(ends)
    scale = (WIDTH - 2 * MARGIN) / ((high - low) or 1)

    def x(value: float) -> float:
        return MARGIN + (value - low) * scale

    lines = []
    for name, spans in rows.items():
        picture = _picture(
            [tuple(map(x, span)) for span in spans], x(threshold), side, name == ours
        )
        numbers = ", ".join(map(_number, spans))
        lines.append(
            f'<tr><th scope="row">{html.escape(name)}</th><td>{picture}</td><td>{numbers}</td></tr>'
        )
    said = f"must be {side} {written(threshold, 'g')}"
    head = f'<tr><td></td><th scope="col">{said}, the shaded side</th><td></td></tr>'
    return (
        f'<table class="forest-plot"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table>'
    )


def _number(span: Span) -> str:
    mean, low, high = (written(value, ".3g") for value in span)
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
