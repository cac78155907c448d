"""Diagrams of connections. As in `charts`: arrays and labels, never a model."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence

import altair
import numpy as np

from transformer_circuits.figures.matplotlib_figure import COLOURS
from transformer_circuits.figures.theme import ROLES, SMALL, of_head
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.vega import HoverChart, chart, finish, tip

LEAVING = "pointerout[event.pointerType !== 'touch']"
"""Vega event that ends hovering; a touch by a finger stays until the next one."""
LINES = ["in another panel, too", "in this panel only"]
"""Names of lines whose colours show in how many panels they are."""
PALEST = 0.2
"""Darkness of the line of a value just above 0; less is not seen on a dark page."""
MOST_EDGES = 12
"""Edges of each panel that the table below the diagram lists, the strongest."""


def links(
    panels: Mapping[str, Numbers],
    *,
    earlier: Sequence[str],
    later: Sequence[str],
    title: str,
    alt: str,
) -> HoverChart:
    """Diagram of two columns of dots joined by lines; the larger a value, the darker its line.

    `panels`: named matrices [later, earlier]. One is shown at a time, at first the one with the
    largest value; the reader switches. The darkest line is the largest value of all panels; values
    of 0 or less have no line. Earlier dots are on the left. Hovering over a dot hides all lines but
    its own.
    """
    values = {name: array(panel) for name, panel in panels.items()}
    edges = _edges(values, earlier, later)
    which = altair.param(
        name="panel",
        value=max(values, key=lambda name: values[name].max()),
        bind=altair.binding_radio(options=list(values), name="Show "),
    )
    over = altair.selection_point("over", fields=["head"], on="pointerover", clear=LEAVING)
    live = _drawn(edges, earlier, later, 270, over, "datum.panel == panel").add_params(which)
    stills = (
        _drawn(lines, earlier, later, 100).properties(title=name)
        for name, lines in _by_panel(edges)
    )
    still = altair.concat(*stills, columns=2)
    words = {"earlier": earlier, "later": later}
    return finish(
        live, title, alt,
        numbers=values, words=words, rows=_strongest(edges), still=still, stretches=True,
    )  # fmt: skip


def compared(
    panels: Mapping[str, Numbers],
    *,
    earlier: Sequence[str],
    later: Sequence[str],
    title: str,
    alt: str,
) -> HoverChart:
    """Panels of `links` side by side; lines that only one of them has are of another colour.

    Hovering over a dot hides all lines but its own, in every panel.
    """
    values = {name: array(panel) for name, panel in panels.items()}
    edges = _edges(values, earlier, later)
    n_panels = Counter((edge["i"], edge["j"]) for edge in edges)
    for edge in edges:
        alone = n_panels[edge["i"], edge["j"]] == 1
        edge["line"] = LINES[alone]
    colour = altair.Color(
        "line:N",
        scale=altair.Scale(domain=LINES, range=COLOURS[:2]),
        legend=altair.Legend(
            title=None, orient="bottom", labelFontSize=SMALL, symbolOpacity=1, symbolStrokeWidth=3
        ),
    )

    def drawn(over: altair.Parameter | None) -> altair.HConcatChart:
        return altair.hconcat(
            *(
                _drawn(lines, earlier, later, 150, over, colour=colour).properties(title=name)
                for name, lines in _by_panel(edges)
            )
        )

    over = altair.selection_point("over", fields=["head"], on="pointerover", clear=LEAVING)
    with warnings.catch_warnings():  # all panels share one selection, and that is what we want
        warnings.filterwarnings("ignore", "Automatically deduplicated")
        return finish(
            drawn(over),
            title,
            alt,
            numbers=values,
            words={"earlier": earlier, "later": later},
            rows=_strongest(edges),
            still=drawn(None),
            wraps=1,
        )


def _edges(values: Mapping[str, np.ndarray], earlier: Sequence[str], later: Sequence[str]) -> list:
    """Line for every value above 0, panel by panel."""
    most = max(panel.max() for panel in values.values())
    return [
        {"panel": name, "from": earlier[i], "to": later[j], "i": i, "j": j,
         "value": round(float(panel[j, i]), 5), "share": round(float(panel[j, i] / most), 4)}
        for name, panel in values.items()
        for j, i in np.ndindex(panel.shape) if panel[j, i] > 0
    ]  # fmt: skip


def _by_panel(edges: Sequence[Mapping]) -> list[tuple[str, list]]:
    """Lines of each panel."""
    names = dict.fromkeys(edge["panel"] for edge in edges)
    return [(name, [edge for edge in edges if edge["panel"] == name]) for name in names]


def _strongest(edges: Sequence[Mapping]) -> list[dict]:
    """Rows of the table: of each panel the largest values, in order."""
    return [
        {key: edge[key] for key in ("panel", "from", "to", "value")}
        for _, lines in _by_panel(edges)
        for edge in sorted(lines, key=lambda edge: -edge["value"])[:MOST_EDGES]
    ]


def _drawn(
    edges: Sequence[Mapping], earlier: Sequence[str], later: Sequence[str], width: int,
    over: altair.Parameter | None = None, shown: str = "true", colour: altair.Color | None = None,
) -> altair.LayerChart:  # fmt: skip
    """Layers of dots, in the colours of their layers, their names, and the edges as lines.

    `width`: from one column of dots to the other, in pixels; the names stand outside. `over`: the
    selection of dots by hovering. `shown`: an expression that selects lines. `colour`: that of the
    lines, if they have more than one.
    """
    margin = 16 + 8 * max(len(name) for name in (*earlier, *later))
    size = width + 2 * margin, 26 * max(len(earlier), len(later))
    rows = altair.Scale(domain=[max(len(earlier), len(later)) - 0.5, -0.5])
    sides = altair.Scale(domain=[-margin / width, 1 + margin / width], nice=False)
    across = altair.X("x:Q", scale=sides, axis=None), altair.Y("i:Q", scale=rows, axis=None)
    lines = chart([{**edge, "x": 0, "x2": 1} for edge in edges], *size)
    lines = lines.transform_filter(shown).mark_rule(strokeWidth=3, color=COLOURS[0])
    lines = lines.transform_calculate(darkness=f"{PALEST} + {1 - PALEST} * datum.share")
    darkness = altair.Opacity("darkness:Q", scale=None)
    dots = [
        {"head": name, "x": side, "i": i}
        for side, names in enumerate((earlier, later))
        for i, name in enumerate(names)
    ]
    places = chart(dots, *size).encode(*across)
    marks = places.mark_point(filled=True, size=90, opacity=1)
    left, right = (
        altair.value((of_head(names[0]) or ROLES["ink"]).light) for names in (earlier, later)
    )
    colours = altair.condition("datum.x == 0", left, right)
    marks = marks.encode(color=colours, tooltip=[tip("head:N")])
    if over is not None:
        ends = (f"indexof(over.head, datum.{end}) >= 0" for end in ("from", "to"))
        touched = " || ".join(["!isValid(over.head)", "!isValid(over.head[0])", *ends])
        darkness = altair.condition(touched, darkness, altair.value(0.02))
        marks = marks.add_params(over)
    tips = [tip("from:N"), tip("to:N"), tip("value:Q")]
    lines = lines.encode(
        *across, altair.X2("x2:Q"), altair.Y2("j:Q"), opacity=darkness, tooltip=tips,
        color=colour or altair.Undefined,
    )  # fmt: skip
    names = [
        places.transform_filter(f"datum.x == {side}")
        .mark_text(dx=(-9, 9)[side], align=("right", "left")[side])
        .encode(text="head:N")
        for side in (0, 1)
    ]
    return altair.layer(lines, marks, *names)
