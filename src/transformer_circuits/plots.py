"""Static figures. They take arrays and labels, never a model, and always say what is on which axis.

Two colour maps: one from 0 for probabilities and norms, one symmetric about 0 for signed values.
Every figure has a title that states the finding and an `alt` text for those who do not see it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.drawing import (
    COLOURS,
    LINES,
    MARKERS,
    Figure,
    Numbers,
    array,
    draw,
)


def matrix(
    values: Numbers,
    *,
    rows: str,
    cols: str,
    unit: str,
    title: str,
    alt: str,
    row_labels: Sequence[str] = (),
    col_labels: Sequence[str] = (),
) -> Figure:
    """A matrix as a picture; rows are outputs or destinations, columns are sources.

    Signed values get the diverging map, symmetric about 0; others the sequential one from 0.

    Raises:
        ValueError: if there are labels but not one per row or column.
    """
    values = array(values)
    for name, labels, n in (
        ("row", row_labels, values.shape[0]),
        ("col", col_labels, values.shape[1]),
    ):
        if len(labels) not in (0, n):
            raise ValueError(f"{len(labels)} {name}_labels given but there are {n} {name}s")
    signed, most = values.min() < 0, np.abs(values).max()
    size = np.clip(270 / max(values.shape), 5, 10)  # of labels, so that they do not overlap

    def paint(axes):
        image = axes.imshow(
            values, cmap="RdBu_r" if signed else "viridis", vmin=-most if signed else 0, vmax=most,
            aspect="equal" if values.shape[0] < 1.5 * values.shape[1] else "auto", interpolation="nearest",
        )  # fmt: skip
        axes.figure.colorbar(image, ax=axes, label=unit, shrink=0.8)
        axes.set(xlabel=cols, ylabel=rows)
        if len(row_labels):
            axes.set_yticks(range(len(row_labels)), row_labels, fontsize=size)
        if len(col_labels):
            axes.set_xticks(range(len(col_labels)), col_labels, fontsize=size, rotation=90)

    height = np.clip(1.6 + 0.28 * values.shape[0], 2.4, 6.0)
    return draw(paint, title, alt, (6.5, height))


def curves(
    lines: Mapping[str, tuple[Numbers, Numbers]],
    *,
    x: str,
    y: str,
    title: str,
    alt: str,
    baselines: Mapping[str, float] | None = None,
    places: Mapping[str, float] | None = None,
    log_x: bool = False,
) -> Figure:
    """Named curves (x values, y values); named horizontal `baselines` and vertical `places`."""

    def paint(axes):
        for i, (name, (xs, ys)) in enumerate(lines.items()):
            marker = MARKERS[i] if len(array(xs)) < 30 else None
            axes.plot(
                array(xs),
                array(ys),
                LINES[i % 4],
                color=COLOURS[i % 7],
                marker=marker,
                ms=4,
                label=name,
            )
        for i, (name, level) in enumerate((baselines or {}).items()):
            axes.axhline(level, color="#555", lw=1, ls=LINES[(i + 1) % 4])
            axes.annotate(
                name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom"
            )
        for i, (name, place) in enumerate((places or {}).items()):
            axes.axvline(place, color="#555", lw=1, ls=":")
            axes.annotate(
                name, (place, 1), xycoords=("data", "axes fraction"), va="top", rotation=90,
                ha=("right", "left")[i % 2],  # so that neighbours do not overlap
            )  # fmt: skip
        if log_x:
            axes.set_xscale("log", base=2)
        axes.set(xlabel=x, ylabel=y)
        if len(lines) > 1:
            axes.legend()

    return draw(paint, title, alt, (6.5, 3.4))


def bars(
    values: Mapping[str, float],
    *,
    unit: str,
    title: str,
    alt: str,
    baseline: tuple[str, float] | None = None,
) -> Figure:
    """Named horizontal bars, each with its value written beside it."""

    def paint(axes):
        names, heights = list(values), list(values.values())
        drawn = axes.barh(names, heights, color=COLOURS[0])
        axes.bar_label(drawn, fmt="%.2f", padding=3)
        axes.margins(x=0.12)
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        if baseline:
            axes.axvline(baseline[1], color=COLOURS[1], ls="--", label=baseline[0])
            axes.figure.legend(loc="outside upper right")  # no bar can lie below it

    return draw(paint, title, alt, (6.5, 1.2 + 0.32 * len(values)))


def histogram(
    values: Numbers,
    *,
    x: str,
    y: str,
    title: str,
    alt: str,
    bins: int = 40,
    marks: Mapping[str, Numbers] | None = None,
) -> Figure:
    """How often values fall into each of `bins` equal intervals; `marks` are drawn as ticks below."""

    def paint(axes):
        axes.hist(array(values), bins=bins, color=COLOURS[0], edgecolor="white", linewidth=0.4)
        for i, (name, places) in enumerate((marks or {}).items()):
            places = array(places)
            axes.plot(
                places, 0 * places, "^", ms=8, color=COLOURS[i + 1], clip_on=False, label=name
            )
            axes.legend()
        axes.set(xlabel=x, ylabel=y)

    return draw(paint, title, alt, (6.5, 3.0))


def singular_values(
    spectra: Mapping[str, Numbers], *, title: str, alt: str, rank: int | None = None
) -> Figure:
    """Sorted singular values of named matrices; `rank` marks the largest rank they can have."""

    def paint(axes):
        for i, (name, values) in enumerate(spectra.items()):
            values = array(values)
            axes.plot(
                range(1, len(values) + 1), values, LINES[i % 4], color=COLOURS[i % 7], label=name
            )
        if rank is not None:
            axes.axvline(rank, color="#555", lw=1, ls=":")
            axes.annotate(f"rank {rank}", (rank, axes.get_ylim()[1]), ha="left", va="top")
        axes.set(xlabel="singular value, largest first", ylabel="size", xscale="log")
        axes.legend()

    return draw(paint, title, alt, (6.5, 3.2))
