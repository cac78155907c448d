"""How every chart that answers to the pointer is made: a still picture, and Vega's drawing of the same.

The specification is compiled here, so that pages need no more than Vega itself.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair
import vl_convert

from transformer_circuits import drawing, tables

MOST_ROWS = 60
"""A chart of at most so many points also has them as a table, for keyboards and screen readers."""


@dataclass(frozen=True)
class HoverChart:
    """A chart that Jupyter shows as HTML: live where scripts run, else a picture."""

    spec: Mapping
    """A Vega specification."""
    svg: str
    alt: str
    numbers: tables.Table | None = None

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        text = json.dumps(self.spec, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
        name = f"chart-{uuid.uuid5(uuid.NAMESPACE_OID, text).hex[:12]}"
        still = drawing.Figure(self.svg, self.alt)._repr_mimebundle_()["text/html"]
        table = self.numbers._repr_mimebundle_()["text/html"] if self.numbers else ""
        details = f"<details><summary>The numbers</summary>{table}</details>" if table else ""
        body = (
            f'<div class="hover-chart" id="{name}">{still}'
            f'<script type="application/json">{text}</script></div>{details}'
        )
        return {
            "text/html": body + drawing.scripts("charts.js"),
            "text/plain": f"[chart: {self.alt}]",
        }


def finish(chart, title: str, alt_text: str, rows: Sequence[Mapping] = ()) -> HoverChart:
    """The chart with its words; `rows`, if they are few, go below it as a table."""
    heading = altair.TitleParams(title, anchor="start", fontSize=14)
    chart = chart.properties(title=heading, description=alt_text)
    chart = chart.configure(background="white", font="system-ui, sans-serif")
    spec = vl_convert.vegalite_to_vega(chart.to_dict(), vl_version="6.4")
    small = 0 < len(rows) <= MOST_ROWS
    return HoverChart(
        spec,
        vl_convert.vega_to_svg(spec),
        alt_text,
        tables.table(rows, caption=title, digits=3) if small else None,
    )


def chart(rows: Sequence[Mapping], width: int, height: int) -> altair.Chart:
    """A chart that holds its rows; size in pixels."""
    return altair.Chart(altair.Data(values=list(rows)), width=width, height=height)


def x_axis(field: str, title: str) -> altair.X:
    """A horizontal axis that need not begin at 0."""
    return altair.X(field, title=title, scale=altair.Scale(zero=False, padding=12))


def y_axis(field: str, title: str) -> altair.Y:
    """A vertical axis that need not begin at 0."""
    return altair.Y(field, title=title, scale=altair.Scale(zero=False, padding=12))


def tip(field: str, title: str = "") -> altair.Tooltip:
    """A line of what a mark says when pointed at; numbers to three digits."""
    number = {"format": ".3~g"} if field.endswith(":Q") else {}
    return altair.Tooltip(field, title=title or field.split(":")[0], **number)
