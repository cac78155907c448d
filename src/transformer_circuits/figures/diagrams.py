"""Diagrams of connections. As in `charts`: arrays and labels, never a model."""

from collections.abc import Mapping, Sequence

import altair
import numpy as np

from transformer_circuits.figures.drawing import COLOURS
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.vega import HoverChart, chart, finish, tip
from transformer_circuits.figures.voice import ROLES

LEAVING = "pointerout[event.pointerType !== 'touch']"
"""The Vega event that ends hovering; what a finger touched stays until it touches something else."""
MOST_EDGES = 12
"""How many of each panel's strongest edges the table below the diagram lists."""


def links(
    panels: Mapping[str, Numbers],
    *,
    earlier: Sequence[str],
    later: Sequence[str],
    title: str,
    alt: str,
) -> HoverChart:
    """Two columns of dots joined by lines; the larger a value, the darker its line.

    `panels`: named matrices [later, earlier]. One is shown at a time, at first the one with the
    largest value; the reader switches. The darkest line is the largest value of all panels;
    values of 0 or less have no line. Earlier dots are on the left. Hovering over a dot hides all
    lines but its own.

    Raises:
        ValueError: if a panel does not have one row per later and one column per earlier name.
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
    over = altair.selection_point("over", fields=["head"], on="pointerover", clear=LEAVING)
    live = _drawn(edges, earlier, later, 360, over).add_params(which)
    side_by_side, strongest = [], []
    for name in values:
        own = [edge for edge in edges if edge["panel"] == name]
        side_by_side.append(_drawn(own, earlier, later, 100).properties(title=name))
        for edge in sorted(own, key=lambda edge: -edge["value"])[:MOST_EDGES]:
            strongest.append({key: edge[key] for key in ("panel", "from", "to", "value")})
    still = altair.hconcat(*side_by_side)
    return finish(live, title, alt, rows=strongest, still=still)


def _drawn(edges, earlier: Sequence[str], later: Sequence[str], width: int, over=None):
    """The dots, their names, and the edges as lines.

    `width`: from one column of dots to the other, in pixels; the names stand outside. `over`: the
    selection of dots that hovering makes; with it only edges of the chosen panel are drawn.
    """
    margin = 16 + 8 * max(len(name) for name in (*earlier, *later))
    size = width + 2 * margin, 26 * max(len(earlier), len(later))
    rows = altair.Scale(domain=[max(len(earlier), len(later)) - 0.5, -0.5])
    sides = altair.Scale(domain=[-margin / width, 1 + margin / width], nice=False)
    across = altair.X("x:Q", scale=sides, axis=None), altair.Y("i:Q", scale=rows, axis=None)
    lines = chart([{**edge, "x": 0, "x2": 1} for edge in edges], *size)
    lines = lines.mark_rule(strokeWidth=3, color=COLOURS[0])
    darkness = altair.Opacity("share:Q", scale=None)
    dots = [
        {"head": name, "x": side, "i": i}
        for side, names in enumerate((earlier, later))
        for i, name in enumerate(names)
    ]
    places = chart(dots, *size).encode(*across)
    marks = places.mark_point(filled=True, size=90, opacity=1)
    marks = marks.encode(color=altair.value(ROLES["ink"].light), tooltip=[tip("head:N")])
    if over is not None:
        ends = (f"indexof(over.head, datum.{end}) >= 0" for end in ("from", "to"))
        touched = " || ".join(["!isValid(over.head)", "!isValid(over.head[0])", *ends])
        darkness = altair.condition(touched, darkness, altair.value(0.02))
        lines = lines.transform_filter("datum.panel == panel")
        marks = marks.add_params(over)
    tips = [tip("from:N"), tip("to:N"), tip("value:Q")]
    lines = lines.encode(
        *across, altair.X2("x2:Q"), altair.Y2("j:Q"), opacity=darkness, tooltip=tips
    )
    names = [
        places.transform_filter(f"datum.x == {side}")
        .mark_text(dx=(-9, 9)[side], align=("right", "left")[side])
        .encode(text="head:N")
        for side in (0, 1)
    ]
    return altair.layer(lines, marks, *names)
