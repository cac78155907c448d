"""Drawing of a verdict as the book shows it, larger, with a number and a note at each of its parts."""

from collections.abc import Collection, Mapping, Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.text_width import width
from transformer_circuits.figures.forest_plot import Span
from transformer_circuits.figures.theme import SMALL, TEXT, WIDE, Px

BADGE, STEP, NAMES, NUMBERS = 20.0, 24.0, 130.0, 130.0
"""Side of a number's frame, distance from one estimate to the next, and room for names and for
numbers beside the strip. [pixels]
"""


def annotated(
    rows: Mapping[str, Sequence[Span]],
    threshold: float,
    side: str,
    *,
    ours: Collection[str],
    said: str,
    unit: str,
    notes: Sequence[str],
    title: str,
    alt: str,
) -> page.Drawing:
    """Drawing of a verdict's mark and strip: rows of estimates with intervals, as in `forest_plot`.

    `said`: the verdict in words, behind its symbol. `notes`: on the verdict, the threshold, the
    shaded side, an estimate of the first row, and one of the last, in this order.
    """
    numbers = {name: [mean for mean, *_ in spans] for name, spans in rows.items()}

    def paint(room: Px) -> Canvas:
        return _paint(room, rows, threshold, side, ours, said, unit, notes)

    return page.twice(
        paint,
        title,
        alt,
        numbers=numbers | {"threshold": threshold},
        units=dict.fromkeys([*rows, "threshold"], unit),
        words={"notes": [*notes]},
    )


def _paint(
    room: Px, rows, threshold: float, side: str, ours, line: str, unit: str, notes
) -> Canvas:
    canvas, wide = Canvas(room), room == WIDE
    symbol, _, words = line.partition(" ")
    _mark(canvas, symbol)
    canvas.text(34, 13, words)
    _badge(canvas, 44 + width(words), 3, 1)
    left, right = (NAMES, room - NUMBERS) if wide else (0.0, room)
    canvas.text(
        left, 46, f"{unit}, must be {side} {threshold:g} (shaded)", role="muted", size=SMALL
    )
    ends = [threshold, *(v for spans in rows.values() for span in spans for v in span)]
    low, high = min(ends), max(ends)
    free = 2 * BADGE  # at both ends, for numbers

    def x(value: float) -> float:
        return left + free + (value - low) / ((high - low) or 1) * (right - left - 2 * free)

    at, top = x(threshold), 62.0
    _badge(canvas, at - BADGE / 2, top, 2)
    from_, to = (at, right) if side == "above" else (left, at)
    _badge(canvas, (from_ + to - BADGE) / 2, top, 3)
    top += BADGE + 4
    shade, y = len(canvas.parts), top  # it lies below what stands on it
    for k, (name, spans) in enumerate(rows.items()):
        role = "ink" if name in ours else "muted"
        shown = ", ".join(f"{mean:.0f}" for mean, *_ in spans)
        if wide:
            middle = y + STEP * len(spans) / 2
            canvas.text(left - 12, middle, name, role=role, anchor="end")
            canvas.text(right + 12, middle, shown, role=role)
        else:
            canvas.text(at + 8, y + 11, f"{name}: {shown}", role=role)
            y += 22
        for i, (mean, start, end) in enumerate(spans):
            middle = y + STEP / 2
            canvas.line([(x(start), middle), (x(end), middle)], role, arrow=False)
            full = f"var(--{role})" if name in ours else "var(--on)"
            canvas.parts.append(
                f'<circle cx="{x(mean):.1f}" cy="{middle:.1f}" r="5" stroke-width="2" '
                f'style="fill:{full};stroke:var(--{role})"/>'
            )
            if i == 0 and k in (0, len(rows) - 1):
                _badge(canvas, x(start) - BADGE - 10, middle - BADGE / 2, 4 if k == 0 else 5)
            y += STEP
        y += 4
    high = y - top
    canvas.parts.insert(
        shade,
        f'<rect x="{from_:.1f}" y="{top:.1f}" width="{to - from_:.1f}" height="{high:.1f}" '
        'style="fill:var(--muted);fill-opacity:0.18"/>',
    )
    canvas.line([(at, top), (at, y)], "ink", thick=1.25, arrow=False, dash="4 3")
    y += 22
    for k, note in enumerate(notes, start=1):
        _badge(canvas, 0, y - BADGE / 2, k)
        y = canvas.note(BADGE + 10, y, note, room - BADGE - 10) + 10
    return canvas


def _mark(canvas: Canvas, symbol: str) -> None:
    """Draw the mark of a verdict, as the pages have it."""
    corner = 3 if symbol == "✗" else 12
    fill, ink = "none", "var(--ink)"
    if symbol == "✓":
        fill, ink = ink, "var(--on)"
    canvas.parts.append(
        f'<rect x="1" y="1" width="24" height="24" rx="{corner}" stroke-width="2" '
        f'style="fill:{fill};stroke:var(--ink)"/><text x="13" y="18" font-size="{TEXT:g}" '
        f'text-anchor="middle" style="fill:{ink}">{symbol}</text>'
    )


def _badge(canvas: Canvas, x: Px, y: Px, number: int) -> None:
    canvas.token(x, y, BADGE, BADGE, str(number), role="muted")
