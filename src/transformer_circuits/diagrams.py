"""Drawings of what is connected with what. As in `charts`: arrays and labels, never a model."""

from collections.abc import Mapping, Sequence

import altair
import numpy as np

from transformer_circuits.drawing import COLOURS, Numbers, array
from transformer_circuits.hover import HoverChart, chart, finish, tip


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
