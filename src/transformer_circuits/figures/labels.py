"""Label placement: texts of a figure overlap neither each other nor a curve, and stay inside it.

Names of lines stand outside the axes, where nothing else is drawn, so that they only have to be
kept apart in one direction. Lengths are in points (1/72 inch) where nothing else is said.
"""

import itertools
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_circuits.figures.theme import ROLES

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
GREY = ROLES["muted"].light
"""The colour of lines that lead to a name."""
GAP = 4.0
"""The least space between two names in one row."""
LINE = 14.0
"""From one line of text to the next."""
SIDE = 1 / 4
"""Of a figure's width, the most that a name beside the axes has in one line."""
_LEADER = {"arrowstyle": "-", "color": GREY, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
DOT = 6
"""Half the side of the square around a dot that names keep clear of, in pixels."""
CHOICE = 40
"""Of how many places for a name the nearest with a clear line is taken."""
TICK = 12.5
"""From one name of a row or a column to the next; nearer than that, some are left out."""


def wrap(axes: Any) -> None:
    """Break long axis titles into lines: vertical ones longer than their axis, and horizontal ones
    that leave the figure."""
    figure = axes.figure
    figure.draw_without_rendering()
    for each in figure.axes:
        upright = each.yaxis.label
        length = upright.get_window_extent().height
        if length > each.bbox.height:
            _fill(upright, each.bbox.height / length)
            figure.draw_without_rendering()  # its lines took from the width
    for each in figure.axes:
        across = each.xaxis.label
        box = across.get_window_extent()
        if box.x0 < 0 or box.x1 > figure.bbox.x1:
            lines = _fill(across, each.bbox.width / box.width)
            _grow(axes, (lines - 1) * LINE)


def _fill(text: Any, share: float) -> int:
    """Wrap a text to a share of its length; returns the number of its lines."""
    words = text.get_text()
    lines = textwrap.wrap(words, max(1, int(0.9 * share * len(words))))
    text.set_text("\n".join(lines))
    return len(lines)


def legend(axes: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Name curves and marks above the axes, in as many columns as fit, line by line; makes the figure
    higher."""
    figure, n = axes.figure, len(names)
    for columns in range(n, 0, -1):
        order = [i for first in range(columns) for i in range(first, n, columns)]
        both = [handles[i] for i in order], [names[i] for i in order]
        made = figure.legend(*both, loc="outside upper left", ncols=columns)
        box = made.get_window_extent()
        if columns == 1 and box.width > figure.bbox.width:
            for text in made.get_texts():
                _fill(text, figure.bbox.width / box.width)
            box = made.get_window_extent()
        if columns == 1 or box.width <= figure.bbox.width:
            return _grow(axes, box.height / _scale(axes))
        made.remove()


def flags(axes: Any, places: Mapping[str, float]) -> None:
    """Draw vertical lines and name them above the axes, each name to the right of its line, or to the
    left if it would leave the axes.

    Of lines near each other, those further left have their names higher up, so that no line
    crosses a name. Makes the figure higher by what the names need.
    """
    above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    from_right = sorted(places.items(), key=lambda item: -item[1])
    names = []
    for name, place in from_right:
        axes.axvline(place, color=GREY, lw=1, ls=":")
        names.append(axes.annotate(name, (place, 1), xytext=(3, 2), **above))
    axes.figure.draw_without_rendering()
    rows = []  # of each row of names, from the bottom, where it begins (pixels)
    for (_, place), name in zip(from_right, names, strict=True):
        box, offset = name.get_window_extent(), 3
        if box.x1 > axes.get_window_extent().x1:
            offset = -3
            name.set_horizontalalignment("right")
            name.set_position((offset, 2))
            box = name.get_window_extent()
        taken = [left < box.x1 + GAP * _scale(axes) for left in rows]
        row = max((i + 1 for i, hit in enumerate(taken) if hit), default=0)
        rows[row : row + 1] = [box.x0]
        name.set_position((offset, 2 + row * LINE))
        pole = {**_LEADER, "ls": ":"}
        axes.annotate("", (place, 1), xytext=(0, (row + 1) * LINE), arrowprops=pole, **above)
    _grow(axes, len(rows) * LINE)


def beside(
    axes: Any,
    levels: Mapping[str, float],
    others: Mapping[str, float] | None = None,
    colours: Sequence[str] = (),
) -> None:
    """Draw horizontal lines and name them to the right of the axes, in the order of their levels.

    `others`: what else is named there, and at which level; `colours`: of these names. Call it last:
    names are placed for the present height of the axes.
    """
    for level in levels.values():
        axes.axhline(level, color=GREY, lw=1, ls=":")
    ends(axes, {**levels, **(others or {})}, [*[None] * len(levels), *colours])


def ends(axes: Any, levels: Mapping[str, float], colours: Sequence[str | None] = ()) -> None:
    """Write names to the right of the axes, each at its level or near it, where others are as near.

    Names longer than `SIDE` are broken into lines. `colours`: of the names; None
    is ink. Call it last, as `beside`.
    """
    names, lines = [], []
    for i, (name, level) in enumerate(levels.items()):
        names.append(
            axes.annotate(
                name, (1, level), xycoords=("axes fraction", "data"), xytext=(8, 0), va="center",
                textcoords="offset points", arrowprops={**_LEADER, "relpos": (0, 0.5)},
                color=colours[i] if colours else None,
            )
        )  # fmt: skip
        wide = names[-1].get_window_extent().width / axes.figure.bbox.width
        if wide > SIDE:  # all lines about as long
            long = math.ceil(len(name) / math.ceil(wide / SIDE)) + 3
            names[-1].set_text(textwrap.fill(name, long, break_long_words=False))
        lines.append(names[-1].get_text().count("\n") + 1)
    axes.figure.draw_without_rendering()
    heights = [axes.transData.transform((0, level))[1] for level in levels.values()]
    sizes = [n * LINE * _scale(axes) for n in lines]
    moved = apart(heights, sizes, axes.bbox.y0, axes.bbox.y1)
    for name, height, to in zip(names, heights, moved, strict=True):
        name.set_position((8, (to - height) / _scale(axes)))


def apart(places: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Places of the middles of things of these sizes, moved so that none lies on another, in the same
    order, between `low` and `high` if there is room."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for i in order:
        moved[i] = max(moved[i], low + sizes[i] / 2)
        low = moved[i] + sizes[i] / 2
    for i in reversed(order):
        moved[i] = min(moved[i], high - sizes[i] / 2)
        high = moved[i] - sizes[i] / 2
    return moved


def shared(names: Sequence[str | None], points: Sequence[Point]) -> list[str | None]:
    """The names of points, in pixels; those of points that lie on each other in one, at the first.

    >>> shared(["a", "b", None, "c"], [(0.0, 0.0), (50.0, 0.0), (51.0, 0.0), (1.0, 1.0)])
    ['a, c', 'b', None, None]
    """
    found = list(names)
    for i, name in enumerate(names):
        for k, other in enumerate(found[:i]):
            if name and other and math.dist(points[i], points[k]) < DOT:
                found[k], found[i] = f"{other}, {name}", None
                break
    return found


def near(
    points: Sequence[Point], widths: Sequence[float | None], size: tuple[int, int]
) -> list[tuple[Point, Point] | None]:
    """For each point the centre of its name, and where the line from the point meets the name.

    All in pixels, in a chart of the given size. `widths`: of the names; None for a point without a
    name, which gets None. A name stands as near as it can without covering a dot, another name or
    its line, and its own line crosses no name; of the `CHOICE` nearest the first whose line crosses no
    dot is taken, if there is one. Of places as near, the one to the right comes first.

    Raises:
        ValueError: if there is no room for a name.
    """
    dots = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in points]
    taken, names = [*dots], []
    found: list[tuple[Point, Point] | None] = []
    for (x, y), width in zip(points, widths, strict=True):
        if width is None:
            found.append(None)
            continue
        others = [dot for dot in dots if not _hit((x, y, x, y), [dot])]
        near_to_far = ((box, _line(x, y, box)) for box in _around(x, y, width, size))
        free = (
            (box, line)
            for box, line in near_to_far
            if not _hit(box, taken) and not any(_hit(spot, names) for spot in line)
        )
        nearest = list(itertools.islice(free, CHOICE))
        if not nearest:
            raise ValueError(f"there is no room for {len(widths) - widths.count(None)} names")
        clear = (each for each in nearest if not any(_hit(spot, others) for spot in each[1]))
        box, line = next(clear, nearest[0])
        names.append(box)
        taken += [box, *line]
        left, top, right, bottom = box
        found.append((((left + right) / 2, (top + bottom) / 2), line[-1][:2]))
    return found


def _line(x: float, y: float, box: Box) -> list[Box]:
    """Spots on the line from a point to the nearest place of a box, which is the last."""
    left, top, right, bottom = box
    to = min(max(x, left), right), min(max(y, top), bottom)
    return [(x + (to[0] - x) * k / 12, y + (to[1] - y) * k / 12) * 2 for k in range(1, 13)]


def _around(x: float, y: float, width: float, size: tuple[int, int]) -> Iterator[Box]:
    """Boxes for a name around a point: nearest first, and of these the one to the right first."""
    for distance in range(DOT + 1, size[0], 4):
        for turn in range(16):
            angle = math.pi * (turn - 1) / 8
            left = x + math.cos(angle) * (distance + width / 2) - width / 2
            top = y - math.sin(angle) * (distance + LINE / 2) - LINE / 2
            box = left, top, left + width, top + LINE
            if min(left, top, size[0] - box[2], size[1] - box[3]) >= 0:
                yield box


def _hit(box: Box, others: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    return any(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in others)


def ticks(axes: Any, rows: Sequence[str], cols: Sequence[str]) -> None:
    """Name the rows and columns of a matrix.

    Wide names of columns are turned upright. Where names would touch even then, only every second,
    third ... row or column is named.
    """
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(cols)), cols)
    axes.figure.draw_without_rendering()
    widths = [label.get_window_extent().width for label in axes.get_xticklabels()]
    upright = max(widths, default=0) + GAP * _scale(axes) > axes.bbox.width / len(cols or " ")
    if upright:
        axes.tick_params("x", rotation=90)
        axes.figure.draw_without_rendering()
    for names, side, setter, turned in (
        (rows, axes.bbox.height, axes.set_yticks, 0),
        (cols, axes.bbox.width, axes.set_xticks, 90 * upright),
    ):
        step = math.ceil(TICK * _scale(axes) * len(names) / side) or 1
        setter(range(0, len(names), step), names[::step], rotation=turned)


def tighten(axes: Any) -> None:
    """Take from the figure the height that square cells leave over."""
    for _ in range(2):  # for room between parts shrinks with what is around them
        axes.figure.draw_without_rendering()
        axes.figure.set_figheight(axes.figure.get_tightbbox().height + 0.08)


def _scale(axes: Any) -> float:
    """Pixels per point."""
    return axes.figure.dpi / 72


def _grow(axes: Any, height: float) -> None:
    axes.figure.set_figheight(axes.figure.get_figheight() + height / 72)
