"""Points in a plane: scatter plots, and eigenvalues. As in `plots`: arrays and labels, never a model."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from transformer_circuits.figures import placement, theme
from transformer_circuits.figures.matplotlib_figure import WIDTHS, Plot, draw
from transformer_circuits.figures.values import Number, Numbers, array, number
from transformer_circuits.record import Record

KINDS: dict[theme.Name, tuple[str, str]] = {
    "ink": ("", "o"),
    "first": ("first layer", "o"),
    "second": ("second layer", "s"),
    "query": ("into Q", "o"),
    "key": ("into K", "s"),
    "value": ("into V", "^"),
}
"""Name and marker of a point's role in a scatter plot."""
FEW = 60
"""Most points that are drawn large."""
DECADES = 3
"""Powers of ten from the rim of a plane of eigenvalues to its centre."""


def scatter(
    x_values: Numbers,
    y_values: Numbers,
    *,
    labels: Sequence[str],
    x: str,
    y: str,
    title: str,
    alt: str,
    written: Collection[str] = (),
    null: Mapping[str, tuple[Numbers, Numbers]] | None = None,
    places: Mapping[str, Number] | None = None,
    one_scale: bool = False,
    equal: str = "",
) -> Plot:
    """Scatter plot of named points.

    Points named as heads ("1.4") have the colour of their layer, and as edges ("K 0.1 → 1.4") that
    of the input they lead into. `written`: names to print beside their points. `null`: named x and
    y values for comparison, drawn as grey crosses; `places`: named values of x, drawn as vertical
    lines. `one_scale`: both axes have one unit, and the same length of it; `equal`: then the name
    of the line on which both are equal.

    Raises:
        ValueError: if the values and labels differ in number, both axes have the same title, or a
            name to print is no label.
    """
    xs, ys = array(x_values), array(y_values)
    if x == y:  # the record has one list of numbers of a name
        raise ValueError(f'both axes are called "{x}"')
    if unknown := set(written) - set(labels):
        raise ValueError(f"{sorted(unknown)} are to be written but labels are {list(labels)}")
    points = list(zip(labels, xs.tolist(), ys.tolist(), strict=True))
    crosses = {name: (array(a), array(b)) for name, (a, b) in (null or {}).items()}
    at = {name: number(value) for name, value in (places or {}).items()}
    across = np.concatenate([xs, [*at.values()], *(a for a, _ in crosses.values())])
    up = np.concatenate([ys, *(b for _, b in crosses.values())])
    if one_scale:
        across = up = np.concatenate([across, up])
    roles = np.array([theme.role_of_head(name) or "ink" for name in labels])
    size, opacity = (40, 0.9) if len(points) <= FEW else (16, 0.6)

    def paint(axes: Axes) -> Callable:
        drawn = {}
        for role, (name, marker) in KINDS.items():
            if (of_role := roles == role).any():
                look = {"color": theme.ROLES[role].light, "marker": marker, "alpha": opacity}
                drawn[name] = axes.scatter(xs[of_role], ys[of_role], size, lw=0, **look)
        for name, (a, b) in crosses.items():
            look = {"color": placement.GREY, "marker": "x", "lw": 1}
            drawn[name] = axes.scatter(a, b, 14, alpha=0.5, zorder=0.9, **look)
        axes.set(xlabel=x, ylabel=y, xlim=_ends(across), ylim=_ends(up))
        axes.set_box_aspect(1 if one_scale else None)
        if equal:
            look = {"color": placement.GREY, "lw": 1, "ls": "--", "zorder": 0.8}
            drawn[equal] = axes.axline((0, 0), slope=1, **look)
        if len(drawn) > 1:
            named = {name: handle for name, handle in drawn.items() if name}
            placement.legend(axes, [*named.values()], [*named])
        placement.name_verticals(axes, at)
        return partial(placement.beside, axes, points, written)

    numbers = {x: xs, y: ys} | at
    for name, both in crosses.items():
        numbers |= {
            f"{name}, mean and sd: {axis}": [values.mean(), values.std()]
            for axis, values in zip((x, y), both, strict=True)
        }
    record = Record("figure", title, alt, numbers, words={"points": labels})
    return draw(paint, record, *((4.6, 4.0) if one_scale else (3.8, 3.4)))


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Ends of an axis: all values, and a margin for dots and names at the edges."""
    margin = 0.06 * (np.ptp(values) or 1)
    return values.min() - margin, values.max() + margin


def eigenvalues(spectra: Mapping[str, Numbers], *, title: str, alt: str) -> Plot:
    """Complex eigenvalues of named matrices, each matrix in a small complex plane of its own.

    The angle is the eigenvalue's: positive lies to the right, negative to the left. The radius is
    logarithmic and the same for all planes: the rim is the largest eigenvalue of all, the centre
    all that are `DECADES` powers of ten smaller, or more.
    """
    values = {name: array(spectrum, complex) for name, spectrum in spectra.items()}
    most = max(np.abs(spectrum).max() for spectrum in values.values())
    signs = {"real part ≥ 0": theme.MORE.light, "real part < 0": theme.LESS.light}

    def paint(axes: Axes) -> None:
        figure, columns = axes.figure, _columns(axes.figure.get_figwidth())
        axes.remove()
        planes = figure.subplots(-(-len(values) // columns), columns, squeeze=False).flat
        for plane, (name, spectrum) in zip(planes, values.items(), strict=False):
            for ring in range(1, DECADES + 1):
                look = {"ec": placement.GREY, "alpha": 0.5, "lw": 0.7}
                plane.add_patch(Circle((0, 0), ring / DECADES, fill=False, **look))
            place = _at_radius(spectrum, most)
            drawn = [
                plane.scatter(part.real, part.imag, 12, color=colour, alpha=0.75, lw=0)
                for part, colour in zip(
                    (place[spectrum.real >= 0], place[spectrum.real < 0]),
                    signs.values(),
                    strict=True,
                )
            ]
            plane.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
            plane.set_title(name, fontsize="medium")
        for plane in figure.axes:
            plane.set_axis_off()
        placement.legend(figure.axes[0], drawn, [*signs])

    numbers = {  # each sorted by itself: eigenvalues have no order, and noise swaps conjugate pairs
        f"{name}: {part}": np.sort(take(spectrum))
        for name, spectrum in values.items()
        for part, take in (("real part", np.real), ("imaginary part", np.imag), ("size", np.abs))
    }
    heights = (
        -(-len(values) // _columns(width)) * (width / _columns(width) + 0.2) for width in WIDTHS
    )
    return draw(paint, Record("figure", title, alt, numbers), *heights)


def _columns(width: float) -> int:
    """Number of planes side by side in a figure of this width. [inches]"""
    return 4 if width == WIDTHS[0] else 3


def _at_radius(spectrum: np.ndarray, most: float) -> np.ndarray:
    """Places of eigenvalues in the unit circle, at a logarithmic radius, which is 1 for the size `most`."""
    radius = np.log10(np.maximum(np.abs(spectrum) / most, 10**-DECADES)) / DECADES + 1
    return radius * np.exp(1j * np.angle(spectrum))
