"""Interactive charts with tooltips. As in `plots`: arrays and labels, never a model."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import altair
import numpy as np

from transformer_circuits.figures import theme, vega
from transformer_circuits.figures.placement import GREY, LINE
from transformer_circuits.figures.values import Number, Numbers, array, number

SCATTER = (300, 260)
"""Size of a scatter plot on a phone; in a wider column its script stretches it. [pixels]"""
KINDS: dict[theme.Name, tuple[str, str]] = {
    "ink": ("", "circle"),
    "first": ("first layer", "circle"),
    "second": ("second layer", "square"),
    "query": ("into Q", "circle"),
    "key": ("into K", "square"),
    "value": ("into V", "triangle-up"),
}
"""Name and shape of a point's role in a scatter plot."""
DECADES = 3
"""Powers of ten from the rim of a plane of eigenvalues to its centre."""
_SIGNS = altair.Scale(domain=["≥ 0", "< 0"], range=[theme.MORE.light, theme.LESS.light])


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
) -> vega.HoverChart:
    """Scatter plot of named points; a tooltip gives a point's name and values.

    Points named as heads ("1.4") have the colour of their layer, and as edges ("K 0.1 → 1.4") that
    of the input they lead into. `written`: names to print beside their points, for readers who
    cannot hover over them. `null`: named x and y values for comparison, drawn as grey crosses;
    `places`: named values of x, drawn as vertical lines. `one_scale`: both axes have one unit, and
    the same length of it; `equal`: then the name of the line on which both are equal.

    Raises:
        ValueError: if the values and labels differ in number, both axes have the same title, or a
            name to print is no label.
    """
    xs, ys = array(x_values), array(y_values)
    if x == y:  # a table has one column of a name
        raise ValueError(f'both axes are called "{x}"')
    if unknown := set(written) - set(labels):
        raise ValueError(f"{sorted(unknown)} are to be written but labels are {list(labels)}")
    points = list(zip(labels, xs.tolist(), ys.tolist(), strict=True))
    beside = [
        (name, float(a), float(b))
        for name, both in (null or {}).items()
        for a, b in zip(*map(array, both), strict=True)
    ]
    at = {name: number(value) for name, value in (places or {}).items()}
    every = [*points, *beside]
    ends = [[a for _, a, _ in every] + [*at.values()], [b for *_, b in every]]
    if one_scale:
        ends = [[*ends[0], *ends[1]]] * 2
    plane = Plane(*map(_domain, ends), (SCATTER[0], SCATTER[0]) if one_scale else SCATTER)
    numbers = {x: xs, y: ys} | at
    for name, both in (null or {}).items():
        numbers |= {
            f"{name}, mean and sd: {axis}": [array(values).mean(), array(values).std()]
            for axis, values in zip((x, y), both, strict=True)
        }
    return vega.finish(
        _scatter(plane, points, beside, at, written, x, y, equal),
        title,
        alt,
        numbers=numbers,
        words={"points": labels},
        rows=[{"name": name, x: a, y: b} for name, a, b in points],
        stretches=True,
        square=one_scale,
    )


def _look(kinds: Mapping[tuple[str, str], str]) -> tuple[altair.Color, altair.Shape]:
    """Colour and shape of points by their "kind"; `kinds`: the colour, by name and shape as in `KINDS`."""
    names, shapes = zip(*kinds, strict=True)
    legend = (
        altair.Legend(title=None, orient="top", symbolOpacity=1, symbolStrokeWidth=0)
        if len(kinds) > 1
        else None
    )
    colours = altair.Scale(domain=names, range=[*kinds.values()])
    forms = altair.Scale(domain=names, range=shapes)
    return (
        altair.Color("kind:N", scale=colours, legend=legend),
        altair.Shape("kind:N", scale=forms, legend=legend),
    )


class Plane(NamedTuple):
    """The ends of both axes, and the size on a phone [pixels]."""

    across: tuple[float, float]
    up: tuple[float, float]
    size: tuple[int, int]

    def pixels(self, x: float, y: float) -> tuple[float, float]:
        """Position of a point on a phone, in pixels."""
        (left, right), (low, high), (wide, tall) = self
        return (x - left) / (right - left) * wide, (high - y) / (high - low) * tall


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis: all values, and a margin for dots and names at the edges."""
    least, most = min(values), max(values)
    margin = 0.06 * (most - least or 1)
    return least - margin, most + margin


def _scatter(plane: Plane, points, beside, places, written, x: str, y: str, equal: str):
    """Layers of dots for points (name, x, y), their names if `written`, and crosses for those `beside`."""
    roles = [theme.role_of_head(name) or "ink" for name, *_ in points]
    kinds = {KINDS[role]: theme.ROLES[role].light for role in KINDS if role in roles}
    kinds |= {(name, "cross"): GREY for name, *_ in beside}
    across, up = vega.x_axis("x:Q", x, plane.across), vega.y_axis("y:Q", y, plane.up)
    across, up = (axis.axis(tickCount=6, labelFlush=False) for axis in (across, up))
    tips = [vega.tip("name:N"), vega.tip("x:Q", x), vega.tip("y:Q", y)]

    def marks(rows: Iterable[tuple], size: int, opacity: float) -> altair.Chart:
        rows = [
            {"name": name, "x": round(a, 5), "y": round(b, 5), "kind": kind}
            for (name, a, b), kind in rows
        ]
        dots = vega.chart(rows, *plane.size).mark_point(filled=True, size=size, opacity=opacity)
        return dots.encode(across, up, *_look(kinds), tooltip=tips)

    few = len(points) <= vega.MOST_ROWS
    dots = ((row, KINDS[role][0]) for row, role in zip(points, roles, strict=True))
    dots = marks(dots, *((70, 0.9) if few else (30, 0.6)))
    # An empty layer would be read aloud as a picture of nothing.
    crosses = [marks(((row, row[0]) for row in beside), 22, 0.5)] if beside else []
    layers = [dots, *crosses]
    if any(name in written for name, *_ in points):
        layers.append(_names(plane, points, written, 1.5 * LINE if places else 0.0, across, up))
    if places:
        upright = vega.chart([{"name": k, "x": v} for k, v in places.items()], *plane.size)
        upright = upright.encode(across)
        text = upright.mark_text(align="left", dx=4, dy=6).encode(y=altair.value(0), text="name:N")
        layers += [upright.mark_rule(strokeDash=[4, 3]), text]
    if equal:
        ends = [
            {"name": name, "x": v, "y": v}
            for name, v in zip(("", equal), plane.across, strict=True)
        ]
        aslant = vega.chart(ends, *plane.size).encode(across, up)
        text = aslant.mark_text(align="right", dx=-14, dy=10, color=GREY).encode(text="name:N")
        layers += [aslant.mark_line(strokeDash=[4, 3], strokeWidth=1, color=GREY, aria=False), text]
    return altair.layer(*layers)


def _names(plane: Plane, points, written, top: float, across: altair.X, up: altair.Y):
    """Text layer with the names of the points in `written`.

    Each stands on the side and at the height nearest to its point where it covers no other name and
    no dot, as a phone lays them out.
    """
    dots, rows, taken = [plane.pixels(x, y) for _, x, y in points], [], []
    shifts = sorted(range(-60, 61, 2), key=abs)
    for name, x, y in sorted(points, key=lambda point: -point[2]):
        if name not in written:
            continue
        (px, line), long = plane.pixels(x, y), 6.5 * len(name)
        sides = {"left": px + 9, "right": px - 9 - long}  # where its text is aligned, and begins

        def lies_free(start: float, at: float, long=long) -> bool:
            inside = start >= 0 and start + long <= plane.size[0] and top <= at <= plane.size[1]
            on_name = any(
                abs(at - y) < LINE and start < b and a < start + long for a, b, y in taken
            )
            on_dot = any(start - 5 < a < start + long + 5 and abs(at - b) < 11 for a, b in dots)
            return inside and not on_name and not on_dot

        near = (
            (side, shift)
            for shift in shifts
            for side in sides
            if lies_free(sides[side], line + shift)
        )
        side, shift = next(near, ("left" if px < plane.size[0] / 2 else "right", 0))
        taken.append((sides[side], sides[side] + long, line + shift))
        rows.append(
            {
                "name": name,
                "x": x,
                "y": y,
                "dx": 9 if side == "left" else -9,
                "dy": shift,
                "align": side,
            }
        )
    offset = {name: altair.expr(f"datum.{name}") for name in ("dx", "dy", "align")}
    return vega.chart(rows, *plane.size).mark_text(**offset).encode(across, up, text="name:N")


def eigenvalues(spectra: Mapping[str, Numbers], *, title: str, alt: str) -> vega.HoverChart:
    """Complex eigenvalues of named matrices, each matrix in a small complex plane of its own.

    The angle is the eigenvalue's: positive lies to the right, negative to the left. The radius is
    logarithmic and the same for all planes: the rim is the largest eigenvalue of all, the centre
    all that are `DECADES` powers of ten smaller, or more.
    """
    values = {name: array(v, complex) for name, v in spectra.items()}
    most = max(np.abs(v).max() for v in values.values())
    rows = []
    for name, spectrum in values.items():
        radius = np.log10(np.maximum(np.abs(spectrum) / most, 10**-DECADES)) / DECADES + 1
        for value, r in zip(spectrum, radius, strict=True):
            place = r * np.exp(1j * np.angle(value))
            rows.append({
                "matrix": name, "x": round(float(place.real), 4), "y": round(float(place.imag), 4),
                "λ": f"{value.real:.3g} {'−' if value.imag < 0 else '+'} {abs(value.imag):.3g}i",
                "size": f"{abs(value):.3g}", "sign": "≥ 0" if value.real >= 0 else "< 0",
            })  # fmt: skip
    numbers = {  # each sorted by itself: eigenvalues have no order, and noise swaps conjugate pairs
        f"{name}: {part}": np.sort(take(spectrum))
        for name, spectrum in values.items()
        for part, take in (("real part", np.real), ("imaginary part", np.imag), ("size", np.abs))
    }
    return vega.finish(_planes(rows, list(values)), title, alt, numbers=numbers, wraps=3)


def _planes(rows: Sequence[Mapping], names: Sequence[str]):
    """Planes with a circle per decade; `rows` as from `eigenvalues`, |x + iy| at most 1."""
    angle = np.linspace(0, 2 * np.pi, 17)[:-1]  # [16], enough corners for a smooth circle
    circles = [  # one row per matrix, decade and corner; `rows` have no "ring"
        {"matrix": name, "x": round(float(r * np.cos(a)), 3), "y": round(float(r * np.sin(a)), 3),
         "ring": float(r), "step": step}
        for name in names
        for r in np.arange(1, DECADES + 1) / DECADES
        for step, a in enumerate(angle)
    ]  # fmt: skip
    scale = altair.Scale(domain=[-1.08, 1.08])  # the rim has radius 1
    plane = (
        vega.chart([], 100, 100)
        .properties(view=vega.FRAME)
        .encode(altair.X("x:Q", scale=scale, axis=None), altair.Y("y:Q", scale=scale, axis=None))
    )
    plane.data = altair.Undefined  # one table for both layers: facets need it
    rings = (
        plane.transform_filter("isValid(datum.ring)")
        .mark_line(color=GREY, opacity=0.5, strokeWidth=0.7, interpolate="cardinal-closed")
        .encode(detail="ring:N", order="step:Q")
    )
    points = (
        plane.transform_filter("isValid(datum.sign)")
        .mark_point(filled=True, size=28, opacity=0.75)
        .encode(
            color=altair.Color(
                "sign:N",
                scale=_SIGNS,
                title=None,
                legend=altair.Legend(orient="top", labelExpr="'real part ' + datum.label"),
            ),
            tooltip=[vega.tip("matrix:N"), vega.tip("λ:N", "λ"), vega.tip("size:N", "|λ|")],
        )
    )
    order = altair.Facet("matrix:N", sort=list(names), title=None)
    data = altair.Data(values=[*circles, *rows])
    return altair.layer(rings, points, data=data).facet(order, columns=4, spacing=16)
