"""Interactive charts with tooltips. As in `plots`: arrays and labels, never a model."""

from collections.abc import Collection, Mapping, Sequence

import altair
import numpy as np

from transformer_circuits.figures import theme, vega
from transformer_circuits.figures.drawing import COLOURS
from transformer_circuits.figures.labels import GREY, near, shared
from transformer_circuits.figures.values import Numbers, array

SCATTER = (300, 260)
"""Size of a scatter plot on a phone; in a wider column its script stretches it. [pixels]"""
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
) -> vega.HoverChart:
    """A scatter plot of named points; a tooltip gives a point's name and values.

    `written`: names to print beside their points, for readers who cannot hover over them.

    Raises:
        ValueError: if the values and labels differ in number, both axes have the same title, or a
            name to print is no label or finds no room.
    """
    xs, ys = array(x_values), array(y_values)
    if x == y:  # a table has one column of a name
        raise ValueError(f'both axes are called "{x}"')
    if unknown := set(written) - set(labels):
        raise ValueError(f"{sorted(unknown)} are to be written but labels are {list(labels)}")
    points = list(zip(labels, xs.tolist(), ys.tolist(), strict=True))
    shown = [{"name": name, x: a, y: b} for name, a, b in points]
    return vega.finish(
        _points(points, written, x, y),
        title,
        alt,
        numbers={x: xs, y: ys},
        words={"points": labels},
        rows=shown,
        stretches=True,
    )


def _points(points: Sequence[tuple], written: Collection[str], x: str, y: str):
    """A dot for each point (name, x, y), and a line from it to its name if that is `written`."""
    _, xs, ys = zip(*points, strict=True)
    x_domain, y_domain = _domain(xs), _domain(ys)
    rows = [{"name": name, "x": a, "y": b} for name, a, b in points]
    tips = [vega.tip("name:N"), vega.tip("x:Q", x), vega.tip("y:Q", y)]
    few = len(rows) <= vega.MOST_ROWS
    across, up = vega.x_axis("x:Q", x, x_domain), vega.y_axis("y:Q", y, y_domain)
    dots = vega.chart(rows, *SCATTER).mark_point(
        filled=True, size=70 if few else 25, opacity=0.9 if few else 0.5
    )
    dots = dots.encode(across, up, color=altair.value(COLOURS[0]), tooltip=tips)
    names = vega.chart(_named(points, written, x_domain, y_domain), *SCATTER)
    lines = names.mark_rule(color=GREY, strokeWidth=0.8, aria=False)
    lines = lines.encode(across, up, altair.X2("x2:Q"), altair.Y2("y2:Q"))
    texts = names.mark_text().encode(
        vega.x_axis("at:Q", x, x_domain), vega.y_axis("up:Q", y, y_domain), text="name:N"
    )
    return altair.layer(lines, dots, texts)


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis: all values, and a margin for dots and names at the edges."""
    least, most = min(values), max(values)
    margin = 0.06 * (most - least or 1)
    return least - margin, most + margin


def _named(points, written, x_domain, y_domain) -> list[dict]:
    """One row per printed name; those of dots that lie on each other are printed as one.

    x, y: its point; at, up: the centre of the name; x2, y2: where the line from the point ends.
    """
    (left, right), (low, high) = x_domain, y_domain
    wide, tall = SCATTER
    pixels = [
        ((x - left) / (right - left) * wide, (high - y) / (high - low) * tall) for _, x, y in points
    ]
    names = shared([name if name in written else None for name, _, _ in points], pixels)
    widths = [name and 8.0 * len(name) for name in names]
    rows = []
    for (_, x, y), name, place in zip(points, names, near(pixels, widths, SCATTER), strict=True):
        if place:
            (at, x2), (up, y2) = (
                [left + px / wide * (right - left) for px, _ in place],
                [high - py / tall * (high - low) for _, py in place],
            )
            rows.append({"name": name, "x": x, "y": y, "at": at, "up": up, "x2": x2, "y2": y2})
    return rows


def eigenvalues(spectra: Mapping[str, Numbers], *, title: str, alt: str) -> vega.HoverChart:
    """Complex eigenvalues of named matrices, each matrix in a small complex plane of its own.

    The angle is the eigenvalue's: positive lies to the right, negative to the left. The radius is
    logarithmic and the same for all planes: the rim is the largest eigenvalue of all, the centre
    whatever is `DECADES` powers of ten smaller, or more.
    """
    values = {name: array(v, complex) for name, v in spectra.items()}
    most = max(np.abs(v).max() for v in values.values())
    rows = []
    for name, each in values.items():
        radius = np.log10(np.maximum(np.abs(each) / most, 10**-DECADES)) / DECADES + 1
        for value, r in zip(each, radius, strict=True):
            place = r * np.exp(1j * np.angle(value))
            rows.append({
                "matrix": name, "x": round(float(place.real), 4), "y": round(float(place.imag), 4),
                "λ": f"{value.real:.3g} {'−' if value.imag < 0 else '+'} {abs(value.imag):.3g}i",
                "size": f"{abs(value):.3g}", "sign": "≥ 0" if value.real >= 0 else "< 0",
            })  # fmt: skip
    numbers = {  # each sorted by itself: eigenvalues have no order, and noise swaps conjugate pairs
        f"{name}: {part}": np.sort(of(each))
        for name, each in values.items()
        for part, of in (("real part", np.real), ("imaginary part", np.imag), ("size", np.abs))
    }
    return vega.finish(_planes(rows, list(values)), title, alt, numbers=numbers)


def _planes(rows: Sequence[Mapping], names: Sequence[str]):
    """The planes with a circle per decade; `rows` as `eigenvalues` makes them, |x + iy| at most 1."""
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
        vega.chart([], 74, 74)
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
        .mark_point(filled=True, size=22, opacity=0.75)
        .encode(
            color=altair.Color(
                "sign:N", scale=_SIGNS, title="real part", legend=altair.Legend(orient="top")
            ),
            tooltip=[vega.tip("matrix:N"), vega.tip("λ:N", "λ"), vega.tip("size:N", "|λ|")],
        )
    )
    order = altair.Facet("matrix:N", sort=list(names), title=None)
    data = altair.Data(values=[*circles, *rows])
    return altair.layer(rings, points, data=data).facet(order, columns=4, spacing=16)


def over_time(
    series: Mapping[str, Numbers],
    times: Numbers,
    *,
    items: Mapping[str, Sequence[str]],
    x: str,
    y: str,
    title: str,
    alt: str,
) -> vega.HoverChart:
    """Values of many items over the course of training; a slider picks the time that is shown.

    `series`: named arrays [time, item]; `items`: the names of each array's items. Above, a
    bar for every item at the chosen time; below, all curves, with a line at that time. Heads have
    the colour of their layer.
    """
    moments = [round(float(t), 3) for t in array(times)]
    colours = [
        role.light if (role := theme.of_head(items[name][0])) else COLOURS[i % len(COLOURS)]
        for i, name in enumerate(series)
    ]
    rows = []
    for name, values in series.items():
        values = array(values)
        rows += [
            {"series": name, "item": item, "t": t, "k": k, "value": round(float(values[k, i]), 4)}
            for k, t in enumerate(moments) for i, item in enumerate(items[name])
        ]  # fmt: skip
    end = [
        {"item": r["item"], "": r["series"], f"{y}, at the end": r["value"]}
        for r in rows
        if r["k"] == len(moments) - 1
    ]
    return vega.finish(
        _slider_chart(rows, moments, list(series), colours, x, y),
        title,
        alt,
        numbers={name: array(values) for name, values in series.items()} | {x: array(times)},
        units=dict.fromkeys(series, y),
        words=items,
        rows=end,
        stretches=True,
    )


def _slider_chart(rows, moments: list[float], names: list[str], colours: list[str], x: str, y: str):
    last = len(moments) - 1
    slider = altair.binding_range(min=0, max=last, step=1, name=f"Record 0 to {last} ")
    when = altair.param("moment", value=last, bind=slider)
    colour = altair.Color(
        "series:N",
        sort=names,
        scale=altair.Scale(range=colours),
        title=None,
        legend=altair.Legend(orient="top"),
    )
    tips = [vega.tip("item:N"), vega.tip("series:N"), vega.tip("t:Q", x), vega.tip("value:Q", y)]
    all_rows = vega.chart(rows, 300, 190)
    bars = all_rows.transform_filter("datum.k == moment").mark_bar().encode(
        altair.X("item:N", title=None, sort=None),
        altair.Y("value:Q", title=y, scale=altair.Scale(domainMax=max(r["value"] for r in rows))),
        color=colour, tooltip=tips,
    )  # fmt: skip
    curves = all_rows.mark_line(opacity=0.6, strokeWidth=1.2).encode(
        altair.X("t:Q", title=x),
        altair.Y("value:Q", title=y),
        detail="item:N",
        color=colour,
        tooltip=tips,
    )
    # A line is hard to hit: invisible dots around its records show the tooltip, too.
    near = all_rows.mark_point(size=90, opacity=0, filled=True).encode(
        altair.X("t:Q"), altair.Y("value:Q"), tooltip=tips
    )
    here = all_rows.transform_filter("datum.k == moment").transform_aggregate(t="max(t)")
    rule = here.mark_rule(strokeDash=[4, 3]).encode(x="t:Q")
    early = (
        f"datum.t < {(moments[0] + moments[-1]) / 2}"  # there the text has room to the right only
    )
    side = altair.expr(f"{early} ? 'left' : 'right'"), altair.expr(f"{early} ? 4 : -4")
    said = here.mark_text(align=side[0], dx=side[1], baseline="top", y=2).encode(
        x="t:Q", text=altair.Text("t:Q", format=".1f")
    )
    return altair.vconcat(bars, altair.layer(curves, near, rule, said)).add_params(when)
