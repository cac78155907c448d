"""Static plots. They take arrays and labels, never a model, and every axis has a title.

Two colour maps, transparent at zero: one from 0 for probabilities and norms, one symmetric about 0,
or about chance.

Every figure has a title that states the finding and an `alt` text for those who do not see it. Its
`axes` are matplotlib's, and any change to them by a reader is shown.
"""

import itertools
import math
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, PercentFormatter

from transformer_circuits.figures import placement, theme
from transformer_circuits.figures.matplotlib_figure import (
    COLOURS,
    LINES,
    MARKERS,
    WIDTHS,
    Plot,
    draw,
    scale,
)
from transformer_circuits.figures.values import Number, Numbers, array, number, percent, written
from transformer_circuits.record import Record

_CHANCE = {"fc": "none", "ec": theme.ROLES["muted"].light, "hatch": "/////", "lw": 0.8}
"""Style of a range of chance, wherever it is drawn."""
_PALE = 0.68
"""Share of a heat map's strongest colour up to which ink is more legible than the page's colour."""
_SEED = re.compile(r"\bseed (\d+)")


def matrix(
    values: Numbers | Mapping[str, Numbers],
    *,
    rows: str,
    cols: str,
    unit: str,
    title: str,
    alt: str,
    row_labels: Sequence[str] = (),
    col_labels: Sequence[str] = (),
    null: Number | None = None,
    layer: int | None = None,
    outlined: Sequence[tuple[int, int]] = (),
    framed: bool = False,
    numbers: bool = False,
) -> Plot:
    """Heat map of a matrix; rows are outputs or destinations, columns are sources.

    Several of one size, by name, stand side by side on one scale, on a phone one below the other.

    `rows`, `cols`: the titles of the axes; `row_labels`, `col_labels`: the names of single rows and
    columns. NaN stays blank. `null`: the value by chance; it is pale, more is red and less is teal.
    Without it, 0 is pale. `layer`: of the heads whose attention this is, for the layer's colour.
    `outlined`: row and column of cells that a theory names, the first of them in a thick frame.
    `framed`: the largest of each column has a frame. `numbers`: each cell has its value in it, to
    two decimals, for which few cells have room. Cells are squares in attention and in large
    matrices, if they are not much higher than wide; elsewhere the picture fills its column.

    Raises:
        ValueError: if there are labels, but not one per row or column, or an outlined cell is not there.
    """
    panels = values if isinstance(values, Mapping) else {"values": values}
    panels = {name: array(panel) for name, panel in panels.items()}
    stack = np.stack([*panels.values()])
    for name, names, n in (
        ("row", row_labels, stack.shape[1]),
        ("col", col_labels, stack.shape[2]),
    ):
        if len(names) not in (0, n):
            raise ValueError(f"{len(names)} {name}_labels given but there are {n} {name}s")
    for row, col in outlined:
        if not (0 <= row < stack.shape[1] and 0 <= col < stack.shape[2]):
            raise ValueError(f"cell {row, col} is outlined but the matrix is {[*stack.shape[1:]]}")
    signed = null is not None or bool(np.nanmin(stack) < 0)
    middle = float(null or 0)
    most = np.nanmax(np.abs(stack - middle))
    strongest = theme.MORE if layer is None else theme.ROLES[theme.LAYERS[layer]]
    n, high, wide = stack.shape
    square = high < 1.5 * wide and (layer is not None or high > 12)

    def paint(axes):
        figure, every, narrow = axes.figure, [axes], _narrow(axes)
        if n > 1:
            axes.remove()
            every = [*figure.subplots(*((n, 1) if narrow else (1, n)))]
        for part, (name, panel) in zip(every, panels.items(), strict=True):
            image = part.imshow(
                panel, cmap=scale(signed, strongest.light), vmin=middle - most if signed else 0, vmax=middle + most,
                aspect="equal" if square else "auto", interpolation="nearest",
            )  # fmt: skip
            for col, row in enumerate(np.argmax(panel, axis=0).tolist() if framed else ()):
                _frame(part, row, col, 1.0)
            for (row, col), value in np.ndenumerate(panel) if numbers else ():
                pale = abs(value - middle) < _PALE * most
                colour = COLOURS[0] if pale else theme.GROUND["light"]
                part.text(col, row, written(value, ".2f"), color=colour, ha="center", va="center")
            part.set(xlabel=cols, ylabel=rows if narrow or part is every[0] else "")
            part.set_title(name if n > 1 else "", fontsize="medium")
        for k, cell in enumerate(outlined):
            _frame(every[0], *cell, 1.2 if k else 2.5)
        side = "bottom" if narrow or n > 1 else "right"
        bar = figure.colorbar(image, ax=every, label=unit, shrink=0.8, location=side)
        if null is not None:
            ends = round(middle - most, 2) + 0.0, middle + most  # never "-0.00"
            bar.set_ticks([middle - most, middle, middle + most])
            bar.set_ticklabels([f"{ends[0]:.2f}", f"{middle:.2f}\nby chance", f"{ends[1]:.2f}"])
        for part in every:
            if len(row_labels) or len(col_labels):
                part.tick_params("y", labelleft=narrow or part is every[0])
                _names(part, row_labels, col_labels, across=1 if narrow else n)
            else:  # there is no row between two rows
                for axis in (part.xaxis, part.yaxis):
                    axis.get_major_locator().set_params(integer=True)
        for _ in range(2):  # square cells leave height over; room between parts shrinks with it
            figure.draw_without_rendering()
            figure.set_figheight(figure.get_tightbbox().height + 0.08)
        if n > 1:  # else the title of the bar of colours is cut where panels stand below each other
            figure.get_layout_engine().set(rect=(0, 0.005, 1, 0.99))

    record = _record(
        title,
        alt,
        panels | ({} if null is None else {"by chance": middle}),
        units=dict.fromkeys(panels, unit),
        words={"rows": row_labels, "cols": col_labels},
    )
    height = np.clip(1.6 + 0.28 * high, 2.4, 6.0)
    low = n * min(height, 4.4) if n > 1 else height  # on a phone
    return draw(paint, record, height, low + 0.8)  # the bar of colours stands below


def _names(axes, rows: Sequence[str], cols: Sequence[str], across: int) -> None:
    """Name rows and columns: upright where columns are narrow, and of many every second, third … one.

    `across`: the number of panels side by side.
    """
    wide, high = (0.6 * 72 * inches for inches in axes.figure.get_size_inches())
    wide /= across
    if axes.get_aspect() != "auto":  # cells are squares
        wide = high = min(wide, high)
    upright = 6 * max(map(len, cols), default=0) > wide / (len(cols) or 1)
    for names, room, setter in ((rows, high, axes.set_yticks), (cols, wide, axes.set_xticks)):
        step = math.ceil(12 * len(names) / room) or 1
        setter(range(0, len(names), step), names[::step])
    axes.tick_params("x", rotation=90 * upright)


def _frame(axes, row: int, col: int, wide: float) -> None:
    """Draw a frame around a cell of a heat map."""
    corner = (col - 0.5, row - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, ec=COLOURS[0], lw=wide, zorder=3))


def curves(
    lines: Mapping[str, tuple[Numbers, Numbers]],
    *,
    x: str,
    y: str,
    title: str,
    alt: str,
    baselines: Mapping[str, Number] | None = None,
    places: Mapping[str, Number | tuple[Number, Number]] | None = None,
    log_x: bool = False,
    layers: Mapping[str, int] | None = None,
    compared: Collection[str] = (),
    chance: Mapping[str, tuple[Numbers, Numbers, Numbers]] | None = None,
) -> Plot:
    """Plot of named curves (x values, y values) on one pair of axes.

    `baselines`: named levels, drawn as horizontal lines; `places`: named values of x, drawn as
    vertical ones, or named stretches from one to another, which are shaded. `log_x`: the horizontal
    axis is logarithmic, base 2. `layers`, `compared`, `chance` as in `bundles`.
    """
    single = {name: [line] for name, line in lines.items()}
    return bundles(
        single, x=x, y=y, title=title, alt=alt, baselines=baselines, places=places, log_x=log_x,
        layers=layers, compared=compared, chance=chance,
    )  # fmt: skip


def bundles(
    lines: Mapping[str, Sequence[tuple[Numbers, Numbers]]],
    *,
    x: str,
    y: str,
    title: str,
    alt: str,
    baselines: Mapping[str, Number] | None = None,
    places: Mapping[str, Number | tuple[Number, Number]] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    layers: Mapping[str, int] | None = None,
    compared: Collection[str] = (),
    shares: bool = False,
    chance: Mapping[str, tuple[Numbers, Numbers, Numbers]] | None = None,
) -> Plot:
    """Plot as `curves`, with several curves of one look under each name: one for every seed, say.

    `layers`: layer by the name of a curve about its heads; such curves have its colour, as have
    those named as a head. Names that differ in numbers alone and say "seed 0", "seed 1" have one
    colour and lines of their own; several kinds of curve in several seeds ("seed 0, notes") have
    the names of seeds above and those of kinds where their curves end. Curves under one name are
    alike: solid under the first, dashed under the second; so are single curves when colours come
    again. `compared`: names of curves for comparison; they are grey. `log_y`: the vertical axis is
    logarithmic, too. `shares`: the values of y are shares of one, and shown in per cent. `chance`:
    named ranges of chance, between two curves (x values, low, high); they are hatched.
    """
    kinds = [re.sub(r"\d", "", name) if _SEED.search(name) else name for name in lines]
    order = list(dict.fromkeys(kinds))
    seeds = list(dict.fromkeys(seed[0] for name in lines if (seed := _SEED.search(name))))
    curves_of: dict[str, list[str]] = {}  # by kind, the names of its seeds
    for name in lines:
        curves_of.setdefault(_SEED.sub("", name).strip(" ,"), []).append(name)
    in_seeds = [names for names in curves_of.values() if _SEED.search(names[0])]
    crossed = len(in_seeds) > 1 < len(seeds) == min(map(len, in_seeds))

    both = {
        name: place if isinstance(place, tuple) else (place, place)
        for name, place in (places or {}).items()
    }
    stretches = {name: (number(first), number(last)) for name, (first, last) in both.items()}
    starts = {name: first for name, (first, _) in stretches.items()}

    nulls = {name: [*map(array, edges)] for name, edges in (chance or {}).items()}
    told_apart = bool(layers) or any(len(bundle) > 1 for bundle in lines.values())

    def paint(axes):
        drawn = []
        for i, (name, bundle) in enumerate(lines.items()):
            layer, seed = (layers or {}).get(name), _SEED.search(name)
            role = theme.of_head(name) if layer is None else theme.ROLES[theme.LAYERS[layer]]
            if name in compared:
                role = theme.ROLES["muted"]
            again, nth = divmod(order.index(kinds[i]), len(COLOURS))
            colour = role.light if role else COLOURS[nth]
            for xs, ys in bundle:
                marker = MARKERS[i % len(MARKERS)] if len(array(xs)) < 30 else None
                if layer is not None or seed or len(bundle) > 1:
                    marker = None
                line = LINES[(int(seed[1]) if seed else i if told_apart else again) % 4]
                if crossed and not seed:  # no line of a seed
                    line, marker = LINES[-1], None
                made = axes.plot(array(xs), array(ys), line, color=colour, marker=marker, ms=4)
            drawn += made  # the last stands for all in the legend
        drawn += [axes.fill_between(*edges, **_CHANCE) for edges in nulls.values()]
        if log_x:
            _log(axes, 2)
        if log_y:
            base, steps = (10, [1.0, 2.0, 5.0]) if shares else (2, [1.0, 1.5])
            axes.set_yscale("log", base=base, subs=[])
            _plain(axes.yaxis, steps, base=base)
        axes.set(xlabel=x, ylabel=y)
        if shares:
            axes.yaxis.set_major_formatter(in_percent())
        if crossed:
            keys = [axes.plot([], [], LINES[k % 4], color=COLOURS[0])[0] for k in range(len(seeds))]
            placement.legend(axes, keys, seeds)
        elif len(drawn) > 1:
            placement.legend(axes, drawn, [*lines, *nulls])
        for first, last in stretches.values():
            axes.axvspan(first, last, color=COLOURS[0], alpha=0.1, lw=0)
        placement.name_verticals(axes, starts)
        levels, colours = {}, []
        if crossed:
            by_name = dict(zip(lines, drawn, strict=True))
            levels = {
                kind: float(np.mean([by_name[name].get_ydata()[-1] for name in names]))
                for kind, names in curves_of.items()
            }
            colours = [by_name[names[0]].get_color() for names in curves_of.values()]
        named = _floats(baselines or {})
        for level in named.values():
            axes.axhline(level, color=placement.GREY, lw=1, ls=":")
        colours = [*[None] * len(named), *colours]
        return partial(placement.name_line_ends, axes, named | levels, colours)

    numbers = {
        f"{name}{f' ({k})' if k > 1 else ''}: {axis}": array(values)
        for name, bundle in lines.items()
        for k, line in enumerate(bundle, 1)
        for axis, values in zip("xy", line, strict=True)
    }
    numbers |= {f"{name}, level: y": level for name, level in _floats(baselines or {}).items()}
    numbers |= {f"{name}, place: x": place for name, place in starts.items()}
    numbers |= {
        f"{name}: {what}": values
        for name, edges in nulls.items()
        for what, values in zip(("x", "low", "high"), edges, strict=True)
    }
    numbers |= {
        f"{name}, end: x": last for name, (first, last) in stretches.items() if last != first
    }
    return draw(paint, _record(title, alt, numbers, units={"x": x, "y": y}), 3.4)


def bars(
    values: Mapping[str, Number],
    *,
    unit: str,
    title: str,
    alt: str,
    baseline: tuple[str, Number] | None = None,
    shares: bool = False,
) -> Plot:
    """Plot of named horizontal bars, each with its value to two decimals, and maybe a named `baseline`.

    The baseline is vertical and crosses longer bars. Bars named as heads ("0.3", "head 1.2") or as
    the embedding have the colours of their layers; with the unit "probability", the colour of
    probabilities. `shares`: values are shares of one, and shown in per cent, on an axis from 0 to
    1.
    """

    rows = [textwrap.fill(name, 16, break_on_hyphens=False) for name in values]
    if not rows:
        raise ValueError("one bar is needed at least, but there is none")

    def paint(axes):
        names = rows if _narrow(axes) else list(values)
        lengths = list(_floats(values).values())
        likely = theme.LIKELY.light if unit == "probability" else None
        axes.barh(range(len(names)), lengths, color=[likely or _colour(name) for name in names])
        axes.set_yticks(range(len(names)), names, multialignment="right")
        for i, value in enumerate(lengths):  # right of the axes, where no line crosses it
            axes.annotate(
                percent(value) if shares else written(value, ".2f"), (1, i), xycoords=axes.get_yaxis_transform(), xytext=(4, 0),
                textcoords="offset points", va="center",
            )  # fmt: skip
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        if min(lengths) < 0:  # bars begin at zero, not at the edge
            axes.axvline(0, color=COLOURS[0], lw=0.8)
            axes.spines["left"].set_visible(False)
            axes.tick_params(axis="y", length=0)
        if shares:
            axes.set_xlim(0, 1)
            axes.xaxis.set_major_formatter(in_percent())
        if baseline:
            line = axes.axvline(number(baseline[1]), color=COLOURS[0], ls="--")
            placement.legend(axes, [line], [baseline[0]])

    numbers = {"values": [*_floats(values).values()]}
    if baseline:
        numbers[baseline[0]] = number(baseline[1])
    record = _record(
        title, alt, numbers, units=dict.fromkeys(numbers, unit), words={"bars": values}
    )
    lines = "\n".join(rows).count("\n") + 1
    return draw(paint, record, 1.2 + 0.26 * len(values), 1.2 + 0.26 * lines)


def stacked(values: Mapping[str, Mapping[str, Number]], *, unit: str, title: str, alt: str) -> Plot:
    """Plot of named horizontal bars, one below the other, each of the same named parts end to end.

    Under each part stands its share of its bar, in per cent.

    Raises:
        ValueError: if bars have different parts, or a part is below zero.
    """
    rows = {name: _floats(parts) for name, parts in values.items()}
    parts = list(next(iter(rows.values())))
    for name, row in rows.items():
        if list(row) != parts or min(row.values()) < 0:
            raise ValueError(f'"{name}" must have {parts}, none below zero, but has {row}')

    def paint(axes):
        others = itertools.cycle(COLOURS)
        colours = [_colour(p) if p == "direct path" else next(others) for p in parts]
        drawn, start = [], [0.0] * len(rows)
        for k, part in enumerate(parts):
            lengths = [row[part] for row in rows.values()]
            drawn.append(axes.barh(range(len(rows)), lengths, 0.5, start, color=colours[k]))
            for i, (row, length) in enumerate(zip(rows.values(), lengths, strict=True)):
                share = f"{length / sum(row.values()):.0%}"
                axes.text(start[i] + length / 2, i + 0.29, share, ha="center", va="top")
                start[i] += length
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set(xlabel=unit, ylim=(len(rows) - 0.4, -0.5))
        placement.legend(axes, drawn, parts)

    numbers = {name: [*row.values()] for name, row in rows.items()}
    units = dict.fromkeys(rows, unit)
    record = _record(title, alt, numbers, units=units, words={"parts": parts})
    return draw(paint, record, 1.2 + 0.75 * len(rows))


def dumbbells(
    rows: Mapping[str, Mapping[str, Number]],
    *,
    unit: str,
    title: str,
    alt: str,
    axis: Literal["to one", "linear", "log"] = "to one",
    level: tuple[str, Number] | None = None,
    layers: Mapping[str, int] | None = None,
) -> Plot:
    """Plot of named rows, one below the other, each with the same named values on one axis.

    A line joins the marks of a row; NaN has none. The marks of the first of several names are
    hollow, of the others full. Rows named as heads, and rows or values in `layers`, have the
    colours of their layers. `axis`: it ends at 1, or where the values do. `level`: a named vertical
    line.

    Raises:
        ValueError: if rows have different values, or one does not lie on the axis: from −1 to 1, or
            above 0 where it is logarithmic.
    """
    table = {name: _floats(values) for name, values in rows.items()}
    names = list(next(iter(table.values())))
    least, most, lies = {
        "to one": (-1, 1, "from -1 to 1"),
        "linear": (-np.inf, np.inf, "a number"),
        "log": (np.nextafter(0, 1), np.inf, "above 0"),
    }[axis]
    for name, row in table.items():
        known = [value for value in row.values() if not np.isnan(value)]
        if list(row) != names or not all(least <= value <= most for value in known):
            raise ValueError(f'"{name}" must have {names}, each {lies}, but has {row}')
    written = [textwrap.fill(name, 16, break_long_words=False) for name in table]

    def paint(axes):
        places = range(len(table))
        of_layers = {name: theme.ROLES[theme.LAYERS[at]] for name, at in (layers or {}).items()}
        roles = [theme.of_head(n) or of_layers.get(n, theme.ROLES["ink"]) for n in table]
        colours = [role.light for role in roles]
        ends = [(np.nanmin([*row.values()]), np.nanmax([*row.values()])) for row in table.values()]
        axes.hlines(places, *zip(*ends, strict=True), color=colours, lw=1)
        keys = []
        for k, name in enumerate(names):
            values = [row[name] for row in table.values()]
            hollow, marker = k == 0 and len(names) > 1, MARKERS[max(k - 1, 0)]
            its = [of_layers[name].light] * len(table) if name in of_layers else colours
            axes.scatter(values, places, 36, marker=marker, facecolors="none" if hollow else its,
                         edgecolors=its, zorder=3, clip_on=False)  # fmt: skip
            key = its[0] if name in of_layers else COLOURS[0]
            look = {"color": key, "mfc": "none" if hollow else None, "ls": ""}
            keys += axes.plot([], [], marker, **look)
        if level:
            keys.append(axes.axvline(number(level[1]), color=COLOURS[0], ls="--", zorder=0.5))
        if len(keys) > 1:
            placement.legend(axes, keys, [*names, level[0]] if level else names)
        axes.set_xlabel(unit)
        if axis == "linear" and _narrow(axes):
            axes.locator_params("x", nbins=4)
        if axis == "log":  # a narrow one has a tick for each doubling
            high, low = max(most for _, most in ends), min(least for least, _ in ends)
            _log(axes, 10 if high > 50 * low else 2)
        if axis == "to one":
            axes.set_xlim(min(0, *itertools.chain(*ends)), 1)
        axes.set_yticks(places, written if _narrow(axes) else list(table))
        axes.set_ylim(len(table) - 0.4, -0.6)

    numbers = {name: [row[name] for row in table.values()] for name in names}
    numbers |= {level[0]: number(level[1])} if level else {}
    units = dict.fromkeys(numbers, unit)
    record = _record(title, alt, numbers, units=units, words={"rows": list(table)})
    lines = "\n".join(written).count("\n") + 1
    return draw(paint, record, 1.4 + 0.28 * len(table), 1.6 + 0.28 * lines)


def dots_with_intervals(
    rows: Mapping[str, tuple[Numbers, Number, Number]],
    *,
    unit: str,
    title: str,
    alt: str,
    ratios: bool = False,
    null: bool = False,
    roles: Mapping[str, theme.Name] | None = None,
) -> Plot:
    """Plot of named rows, one below the other, each with marks for values and a bar for an interval.

    A row is (values, low, high). A line stands at 0; of `ratios` at 1, and their axis is
    logarithmic, with a tick at every quarter of a doubling. `null`: the intervals are those of
    chance, which is hatched. `roles`: roles of rows, for their colours; else ink.
    """
    table = {
        name: (array(values), number(low), number(high))
        for name, (values, low, high) in rows.items()
    }

    def paint(axes):
        axes.use_sticky_edges = False  # bars do not end at the edge
        axes.axvline(float(ratios), color=COLOURS[0], lw=0.8)
        for i, (name, (values, low, high)) in enumerate(table.items()):
            colour = theme.ROLES[(roles or {}).get(name, "ink")].light
            look = _CHANCE if null else {"fc": colour, "alpha": 0.3, "lw": 0}
            axes.barh(i, high - low, 0.32, low, zorder=0.9, **look)
            axes.plot(values, np.full(len(values), i), "o", color=colour, ms=4.5, alpha=0.7)
        narrow = _narrow(axes)
        axes.set_yticks(range(len(table)), [textwrap.fill(n, 16) if narrow else n for n in table])
        axes.set_ylim(len(table) - 0.4, -0.6)
        axes.set_xlabel(unit)
        if ratios:
            axes.set_xscale("log", base=2, subs=[])
            _plain(axes.xaxis, [2 ** (k / 4) for k in range(4)], "{x:.2f}")
        else:
            axes.locator_params("x", nbins=4 if narrow else 6)

    numbers = {name: values for name, (values, *_) in table.items()}
    numbers |= {f"{name}, interval": ends for name, (_, *ends) in table.items()}
    record = _record(title, alt, numbers, units=dict.fromkeys(numbers, unit))
    return draw(paint, record, 1.2 + 0.3 * len(table), 1.2 + 0.42 * len(table))


def _colour(name: str) -> str:
    """Colour of the layer of a head's name, of the stream for the embedding, or grey."""
    if name in ("embedding", "direct path"):
        return theme.ROLES["direct"].light
    return (theme.of_head(name) or theme.ROLES["muted"]).light


def painted(
    paint: Callable[[Axes], None],
    numbers: Mapping[str, Numbers],
    *,
    title: str,
    alt: str,
    height: float | tuple[float, float] = 3.2,
) -> Plot:
    """Plot drawn by `paint(axes)` with matplotlib, in the open: for figures that one chapter needs.

    `paint` is called for each of two widths. `numbers`: those shown, for the record. `height`: of
    both pictures, or of the wide and the narrow one. [inches]
    """

    def with_plain_ticks(axes):
        paint(axes)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":  # matplotlib's own ticks are formulas
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")

    held = {name: array(values) for name, values in numbers.items()}
    heights = height if isinstance(height, tuple) else (height,)
    return draw(with_plain_ticks, _record(title, alt, held), *heights)


def in_percent() -> PercentFormatter:
    """Formatter for an axis of shares of one; each axis has its own."""
    return PercentFormatter(1, symbol="\u00a0%")


def _narrow(axes) -> bool:
    return bool(axes.figure.get_figwidth() < WIDTHS[0])


def _record(title: str, alt: str, numbers: Mapping, **fields: Mapping) -> Record:
    return Record("figure", title, alt, numbers, **fields)


def _floats(values: Mapping[str, Number]) -> dict[str, float]:
    return {name: number(value) for name, value in values.items()}


def _plain(axis, steps: Sequence[float], form: str = "{x:g}", base: int = 2) -> None:
    """Set ticks of a logarithmic axis at these parts of every power of `base`, with plain numbers."""
    axis.set_major_locator(LogLocator(base=base, subs=steps))
    axis.set_major_formatter(form)
    axis.set_minor_formatter("")


def _log(axes, base: int) -> None:
    """Make the horizontal axis logarithmic, with plain numbers."""
    axes.set_xscale("log", base=base)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
