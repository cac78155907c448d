"""Placement of names in plots: in a legend, at the ends of lines, above vertical lines, beside points."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from transformer_circuits.figures.theme import ROLES

GREY = ROLES["muted"].light
"""Colour of lines that lead to a name."""
LINE = 14.0
"""Distance from one line of text to the next. [points]"""
_LETTER = 6.0
"""Width of an average letter. [points]"""


def legend(axes: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Write a legend above the axes, in as many columns as its longest name leaves room for."""
    letters = int(axes.figure.get_figwidth() * 72 / _LETTER)
    names = [textwrap.fill(name, letters - 8) for name in names]
    longest = max(len(line) for name in names for line in name.split("\n")) + 8  # with its line
    columns = min(len(names), max(1, letters // longest))
    axes.figure.legend(handles, names, loc="outside upper left", ncols=columns)
    rows = sum(name.count("\n") + 1 for name in names) / columns
    grow(axes, (rows + 1) * LINE)


def name_verticals(axes: Any, places: Mapping[str, float]) -> None:
    """Draw vertical lines and name them above the axes, those further left higher up."""
    to_axes = axes.transData + axes.transAxes.inverted()
    for k, (name, place) in enumerate(sorted(places.items(), key=lambda item: -item[1])):
        axes.axvline(place, color=GREY, lw=1, ls=":")
        axes.annotate(
            name, (place, 1), xycoords=("data", "axes fraction"), textcoords="offset points",
            xytext=(0, 2 + k * LINE), ha="right" if to_axes.transform((place, 0))[0] > 0.5 else "left",
        )  # fmt: skip
    grow(axes, len(places) * LINE)


def name_line_ends(
    axes: Any, levels: Mapping[str, float], colours: Sequence[str | None] = ()
) -> None:
    """Write names right of the axes, each at its level or as near as others leave room.

    `colours`: of the names, None being ink. Call it last: scale and size must be the final ones.
    """
    wide = int(axes.figure.get_figwidth() * 72 / _LETTER / 4)  # a quarter of the figure
    names = [textwrap.fill(name, wide, break_long_words=False) for name in levels]
    axes.figure.draw_without_rendering()
    height = float(axes.bbox.height * 72 / axes.figure.dpi)
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((0, level))[1] * height) for level in levels.values()]
    sizes = [(name.count("\n") + 1) * LINE for name in names]
    leader = {"arrowstyle": "-", "color": GREY, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
    for i, (level, moved) in enumerate(
        zip(levels.values(), spread(heights, sizes, 0.0, height), strict=True)
    ):
        axes.annotate(
            names[i], (1, level), xycoords=("axes fraction", "data"), textcoords="offset points",
            xytext=(8, moved - heights[i]), va="center", color=colours[i] if colours else None,
            arrowprops=leader | {"relpos": (0, 0.5)},
        )  # fmt: skip


def spread(places: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Middles of boxes of these sizes, moved so that none lies on another, in their order.

    Between `low` and `high`, if there is room.
    """
    order, moved = sorted(range(len(places)), key=places.__getitem__), list(places)
    for i in order:
        moved[i] = max(moved[i], low + sizes[i] / 2)
        low = moved[i] + sizes[i] / 2
    for i in reversed(order):
        moved[i] = min(moved[i], high - sizes[i] / 2)
        high = moved[i] - sizes[i] / 2
    return moved


def beside(axes: Any, points: Sequence[tuple[str, float, float]], written: Collection[str]) -> None:
    """Write the names of some points (name, x, y) beside them.

    Each stands on the side and at the height nearest to its point where it covers no other name and
    no point. Call it last: scale and size must be the final ones.
    """
    if not written:
        return
    axes.figure.draw_without_rendering()
    points_per_pixel = 72 / axes.figure.dpi
    from_corner = axes.transData.transform([place for _, *place in points]) - axes.bbox.p0
    places = (from_corner * points_per_pixel).tolist()
    wide, high = (axes.bbox.size * points_per_pixel).tolist()
    shifts = sorted(range(-60, 61, 2), key=abs)
    taken: list[tuple[float, float, float]] = []  # beginning, end and middle line of a name
    for (name, *place), (x, y) in sorted(zip(points, places, strict=True), key=lambda p: -p[0][2]):
        if name not in written:
            continue
        long = _LETTER * len(name)
        starts = {"left": x + 6, "right": x - 6 - long}  # by the end of the text that is held there

        def lies_free(start: float, line: float, long=long) -> bool:
            end, half = start + long, LINE / 2
            inside = start >= 0 and end <= wide and half <= line <= high - half
            on_name = any(abs(line - at) < LINE and start < b and a < end for a, b, at in taken)
            on_point = any(start - 4 < a < end + 4 and abs(line - b) < 8 for a, b in places)
            return inside and not on_name and not on_point

        near = ((side, dy) for dy in shifts for side in starts if lies_free(starts[side], y + dy))
        side, dy = next(near, ("left" if x < wide / 2 else "right", 0))
        taken.append((starts[side], starts[side] + long, y + dy))
        axes.annotate(
            name, place, xytext=(6 if side == "left" else -6, dy), textcoords="offset points",
            ha=side, va="center",
        )  # fmt: skip


def grow(axes: Any, height: float) -> None:
    """Make a figure higher by so many points."""
    axes.figure.set_figheight(axes.figure.get_figheight() + height / 72)
