"""How every chart that answers to the pointer is made: a still picture, and Vega's drawing of the same.

The specification is compiled here, so that pages need no more than Vega itself.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair
import vl_convert

from transformer_circuits.figures import drawing, tables

FONT = "system-ui, sans-serif"
WIDE_FONT = "DejaVu Sans"
vl_convert.register_font_directory(str(drawing.FONTS))
MOST_ROWS = 60
"""A chart may have its numbers as a table, for keyboards and screen readers, if they are so few."""


@dataclass(frozen=True)
class HoverChart:
    """A chart that Jupyter shows as HTML: live where scripts run, else a picture."""

    spec: Mapping
    """A Vega specification."""
    svg: str
    title: str
    alt: str
    numbers: tables.Table | None = None

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        still = drawing.Figure(self.svg, self.title, self.alt).picture
        body = f'<div class="hover-chart">{still}{drawing.data_script(self.spec)}</div>'
        if self.numbers:
            table = self.numbers._repr_mimebundle_()["text/html"]
            body += f"<details><summary>The numbers</summary>{table}</details>"
        return {
            "text/html": drawing.captioned(self.title, body) + drawing.scripts("charts.js"),
            "image/svg+xml": self.svg,
            "text/plain": f"[chart: {self.title}. {self.alt}]",
        }


def finish(
    chart: altair.TopLevelMixin,
    title: str,
    alt: str,
    *,
    rows: Sequence[Mapping] = (),
    still: altair.TopLevelMixin | None = None,
) -> HoverChart:
    """The chart with its words; `rows`, if they are few, go below it as a table.

    `still`: another drawing for where nothing moves; the chart itself if there is none.
    """
    spec = _compiled(chart, alt)
    return HoverChart(
        spec,
        _svg(_compiled(still, alt) if still else spec),
        title,
        alt,
        tables.table(rows, caption=title, digits=3) if 0 < len(rows) <= MOST_ROWS else None,
    )


def _svg(spec: Mapping) -> str:
    """A picture whose texts have room in any font: measured in a wide one, shown in the page's."""
    wide = json.loads(json.dumps(spec).replace(FONT, WIDE_FONT))
    return vl_convert.vega_to_svg(wide).replace(WIDE_FONT, FONT)


def _compiled(chart: altair.TopLevelMixin, alt: str) -> dict:
    chart = chart.properties(description=alt)
    chart = chart.configure(background="white", font=FONT)
    return vl_convert.vegalite_to_vega(chart.to_dict(), vl_version="6.4")


def chart(rows: Sequence[Mapping], width: int, height: int) -> altair.Chart:
    """A chart that holds its rows; size in pixels."""
    return altair.Chart(altair.Data(values=list(rows)), width=width, height=height)


def x_axis(field: str, title: str, domain: Sequence[float]) -> altair.X:
    """A horizontal axis that shows a domain and no more."""
    axis = altair.Axis(labelFlush=False, tickCount=8)  # else labels at the edges overlap
    scale = altair.Scale(domain=list(domain), nice=False)
    return altair.X(field, title=title, scale=scale, axis=axis)


def y_axis(field: str, title: str, domain: Sequence[float]) -> altair.Y:
    """A vertical axis that shows a domain and no more."""
    return altair.Y(field, title=title, scale=altair.Scale(domain=list(domain), nice=False))


def tip(field: str, title: str = "") -> altair.Tooltip:
    """A line of what a mark says when pointed at; numbers to three digits."""
    number = {"format": ".3~g"} if field.endswith(":Q") else {}
    return altair.Tooltip(field, title=title or field.split(":")[0], **number)
