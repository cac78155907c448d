"""Figures whose points say what they are when pointed at. As in `plots`: arrays and labels, never a model."""

from collections.abc import Mapping, Sequence

import altair
import numpy as np

from transformer_circuits.drawing import COLOURS, Numbers, array
from transformer_circuits.hover import MOST_ROWS, HoverChart, chart, finish, tip, x_axis, y_axis

SIGNS = altair.Scale(domain=["≥ 0", "< 0"], range=[*COLOURS[:2]])


def scatter(
    x_values: Numbers,
    y_values: Numbers,
    *,
    labels: Sequence[str],
    x: str,
    y: str,
    title: str,
    alt: str,
) -> HoverChart:
    """Named points: point at one to see its name and its values.

    Raises:
        ValueError: if there is not one label and one y per x.
    """
    xs, ys = array(x_values), array(y_values)
    if not len(xs) == len(ys) == len(labels):
        raise ValueError(f"{len(xs)} x, {len(ys)} y and {len(labels)} labels given")
    points = list(zip(labels, xs.tolist(), ys.tolist(), strict=True))
    rows = [{"name": name, "x": a, "y": b} for name, a, b in points]
    tips = [tip("name:N"), tip("x:Q", x), tip("y:Q", y)]
    few = len(rows) <= MOST_ROWS
    dots = (
        chart(rows, 480, 280)
        .mark_point(filled=True, size=70 if few else 25, opacity=0.9 if few else 0.5)
        .encode(x_axis("x:Q", x), y_axis("y:Q", y), color=altair.value(COLOURS[0]), tooltip=tips)
    )
    return finish(dots, title, alt, [{"name": name, x: a, y: b} for name, a, b in points])


def eigenvalues(
    spectra: Mapping[str, Numbers], *, title: str, alt: str, decades: float = 3.0
) -> HoverChart:
    """Complex eigenvalues of named matrices, one small plane each, on one logarithmic radius.

    To the right is positive, to the left negative. The rim is the largest of all; what lies more
    than `decades` powers of ten below it is drawn in the centre.
    """
    values = {name: np.asarray(v).astype(complex) for name, v in spectra.items()}
    most = max(np.abs(v).max() for v in values.values())
    rows = []
    for name, each in values.items():
        radius = np.log10(np.maximum(np.abs(each) / most, 10**-decades)) / decades + 1
        for value, r in zip(each, radius, strict=True):
            place = r * np.exp(1j * np.angle(value))
            rows.append({
                "matrix": name, "x": round(float(place.real), 4), "y": round(float(place.imag), 4),
                "λ": f"{value.real:.3g} {'−' if value.imag < 0 else '+'} {abs(value.imag):.3g}i",
                "size": f"{abs(value):.3g}", "sign": "≥ 0" if value.real >= 0 else "< 0",
            })  # fmt: skip
    return finish(_planes(rows, list(values), decades), title, alt)


def _planes(rows: Sequence[Mapping], names: Sequence[str], decades: float):
    angle = np.linspace(0, 2 * np.pi, 17)[:-1]
    circles = [
        {"matrix": name, "x": round(float(r * np.cos(a)), 3), "y": round(float(r * np.sin(a)), 3),
         "ring": float(r), "step": step}
        for name in names
        for r in np.arange(1, decades + 1) / decades
        for step, a in enumerate(angle)
    ]  # fmt: skip
    scale = altair.Scale(domain=[-1.08, 1.08])
    plane = chart([], 125, 125).encode(
        altair.X("x:Q", scale=scale, axis=None), altair.Y("y:Q", scale=scale, axis=None)
    )
    plane.data = altair.Undefined
    rings = (
        plane.transform_filter("isValid(datum.ring)")
        .mark_line(color="#bbb", strokeWidth=0.7, interpolate="cardinal-closed")
        .encode(detail="ring:N", order="step:Q")
    )
    points = (
        plane.transform_filter("isValid(datum.sign)")
        .mark_point(filled=True, size=22, opacity=0.75)
        .encode(
            color=altair.Color(
                "sign:N",
                scale=SIGNS,
                title="real part",
                legend=altair.Legend(orient="top"),
            ),
            tooltip=[tip("matrix:N"), tip("λ:N", "λ"), tip("size:N", "|λ|")],
        )
    )
    order = altair.Facet("matrix:N", sort=list(names), title=None)
    data = altair.Data(values=[*circles, *rows])
    return altair.layer(rings, points, data=data).facet(order, columns=4)


def links(
    panels: Mapping[str, Numbers],
    *,
    earlier: Sequence[str],
    later: Sequence[str],
    title: str,
    alt: str,
) -> HoverChart:
    """Two columns of dots joined by lines that are the darker the larger the value.

    `panels`: named matrices [later, earlier], one shown at a time, at first that with the largest
    value; the reader switches. The darkest line is the largest value of all; values of 0 or less
    draw none. Earlier dots stand to the left. Pointing at a dot leaves only its lines.

    Raises:
        ValueError: if a panel has not one row per later and one column per earlier name.
    """
    values = {name: array(panel) for name, panel in panels.items()}
    for name, panel in values.items():
        if panel.shape != (len(later), len(earlier)):
            raise ValueError(
                f'panel "{name}" is {panel.shape} but there are {len(later)} later '
                f"and {len(earlier)} earlier names"
            )
    most = max(panel.max() for panel in values.values())
    edges = [
        {"panel": name, "from": earlier[i], "to": later[j], "i": i, "j": j,
         "value": round(float(panel[j, i]), 5), "share": round(float(panel[j, i] / most), 4)}
        for name, panel in values.items()
        for j, i in np.ndindex(panel.shape) if panel[j, i] > 0
    ]  # fmt: skip
    which = altair.param(
        name="panel",
        value=max(values, key=lambda name: values[name].max()),
        bind=altair.binding_radio(options=list(values), name="Show "),
    )
    return finish(_link_chart(edges, earlier, later).add_params(which), title, alt)


def _link_chart(edges, earlier: Sequence[str], later: Sequence[str]):
    size = 420, 26 * max(len(earlier), len(later))
    over = altair.selection_point(
        "over", fields=["head"], on="pointerover", clear="pointerout", empty=True
    )
    rows = altair.Scale(domain=[max(len(earlier), len(later)) - 0.5, -0.5])
    sides = altair.Scale(domain=[-0.15, 1.15])
    across = altair.X("x:Q", scale=sides, axis=None), altair.Y("i:Q", scale=rows, axis=None)
    only = "!isValid(over.head) || indexof(over.head, datum.from) >= 0 || indexof(over.head, datum.to) >= 0"
    lines = (
        chart([{**edge, "x": 0, "x2": 1} for edge in edges], *size)
        .transform_filter("datum.panel == panel")
        .mark_rule(strokeWidth=3, color=COLOURS[0])
        .encode(
            *across,
            altair.X2("x2:Q"),
            altair.Y2("j:Q"),
            opacity=altair.condition(
                only, altair.Opacity("share:Q", scale=None), altair.value(0.02)
            ),
            tooltip=[tip("from:N"), tip("to:N"), tip("value:Q")],
        )
    )
    dots = [
        {"head": name, "x": side, "i": i}
        for side, names in enumerate((earlier, later))
        for i, name in enumerate(names)
    ]
    places = chart(dots, *size).encode(*across)
    marks = places.mark_point(filled=True, size=90, opacity=1).encode(
        color=altair.value("#333"), tooltip=[tip("head:N")]
    )
    names = [
        places.transform_filter(f"datum.x == {side}")
        .mark_text(dx=18 * (2 * side - 1))
        .encode(text="head:N")
        for side in (0, 1)
    ]
    return altair.layer(lines, marks.add_params(over), *names)


def over_time(
    series: Mapping[str, Numbers],
    times: Numbers,
    *,
    items: Mapping[str, Sequence[str]],
    x: str,
    y: str,
    title: str,
    alt: str,
) -> HoverChart:
    """Values of many items while a model learns; a slider picks the time whose values are shown.

    `series`: named arrays [time, item]; `items`: the names of each array's items. Above, every
    item at the chosen time; below, all curves, with a line at that time.

    Raises:
        ValueError: if an array has not one row per time and one column per item.
    """
    moments = [round(float(t), 3) for t in array(times)]
    rows = []
    for name, values in series.items():
        values = array(values)
        if values.shape != (len(moments), len(items[name])):
            raise ValueError(
                f'"{name}" is {values.shape} but there are {len(moments)} times '
                f"and {len(items[name])} items"
            )
        rows += [
            {"series": name, "item": item, "t": t, "k": k, "value": round(float(values[k, i]), 4)}
            for k, t in enumerate(moments) for i, item in enumerate(items[name])
        ]  # fmt: skip
    return finish(_slider_chart(rows, moments, list(series), x, y), title, alt)


def _slider_chart(rows, moments: list[float], names: list[str], x: str, y: str):
    last = len(moments) - 1
    slider = altair.binding_range(min=0, max=last, step=1, name=f"Moment 0 to {last} ")
    when = altair.param("moment", value=last, bind=slider)
    colour = altair.Color(
        "series:N",
        sort=names,
        scale=altair.Scale(range=list(COLOURS)),
        title=None,
        legend=altair.Legend(orient="top"),
    )
    tips = [tip("item:N"), tip("series:N"), tip("t:Q", x), tip("value:Q", y)]
    all_rows = chart(rows, 480, 190)
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
    rule = (
        all_rows.transform_filter("datum.k == moment")
        .transform_aggregate(t="max(t)")
        .mark_rule(strokeDash=[4, 3])
        .encode(x="t:Q")
    )
    return altair.vconcat(bars, altair.layer(curves, rule)).add_params(when)
