"""Hover charts: a static SVG picture and the Vega specification of the same chart.

Vega-Lite is compiled to Vega here, so that a page has to load Vega alone.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair
import vl_convert

from transformer_circuits import files
from transformer_circuits.figures import html, matplotlib_figure, tables, theme
from transformer_circuits.record import SVG, Record

FONT = "'Source Sans 3', system-ui, sans-serif"
"""Font of the page, else that of the machine."""
WORDS = 12
"""Size of words, which the script turns into the page's. [a chart's own pixels]"""
WIDE_FONT = "DejaVu Sans"
"""Font at least as wide as those of pages; see `_svg`."""
vl_convert.register_font_directory(str(matplotlib_figure.FONTS))
MOST_ROWS = 60
"""Most numbers of a chart that also shows them as a table, for keyboards and screen readers."""


@dataclass(frozen=True)
class HoverChart:
    """Chart that Jupyter shows as HTML: interactive where scripts run, else a picture."""

    spec: Mapping
    """Vega specification."""
    svg: str
    """Static picture."""
    record: Record
    table: tables.Table | None = None
    """Numbers as a table, below it and folded; None where that would be too long."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        title, alt = self.record.title, self.record.text
        grows = not self.spec.get("usermeta", {}).get("stretches", False)
        still = html.inline(self.svg, title, alt, grows=grows)
        body = f'<div class="hover-chart">{still}{html.data_script(self.spec)}</div>'
        if self.table:
            body += f"<details><summary>The numbers</summary>{self.table.as_html}</details>"
        shown = html.captioned(title, body) + html.scripts("charts.js")
        return html.bundle("chart", self.record, shown, self.svg)


def finish(
    chart: altair.TopLevelMixin,
    title: str,
    alt: str,
    *,
    numbers: Mapping,
    units: Mapping[str, str] | None = None,
    words: Mapping[str, Iterable[object]] | None = None,
    rows: Sequence[Mapping] = (),
    stretches: bool = False,
    square: bool = False,
    wraps: int = 0,
) -> HoverChart:
    """Chart from Altair with its title and alternative text, ready to be shown.

    `numbers`, `units`, `words`: those of its record. `rows`: the table below it.
    `stretches`: whether it may become wider, its letters as they are, to fill the column; `square`:
    and as high as it is wide. `wraps`: the number of columns on a phone for charts that stand side
    by side; 0: unchanged.
    """
    spec = _compiled(chart, alt)
    asked = {"stretches": stretches, "square": square, "wraps": wraps}
    if ways := {way: on for way, on in asked.items() if on}:
        spec["usermeta"] = spec.get("usermeta", {}) | ways
    return HoverChart(
        spec,
        _svg(spec),
        Record("figure", title, alt, numbers, units or {}, words or {}, picture=SVG),
        tables.table(rows, caption=title, digits=3) if 0 < len(rows) <= MOST_ROWS else None,
    )


def _svg(spec: Mapping) -> str:
    """Static picture: laid out with `WIDE_FONT` and shown in `FONT`, so that texts have room."""
    wide = json.loads(files.as_json(spec).replace(FONT, WIDE_FONT))
    return vl_convert.vega_to_svg(wide).replace(WIDE_FONT, FONT)


def _compiled(chart: altair.TopLevelMixin, alt: str) -> dict:
    """Vega specification of an Altair chart."""
    chart = chart.properties(description=alt)
    ink, muted = (theme.ROLES[name].light for name in ("ink", "muted"))
    words = {"labelColor": ink, "titleColor": ink, "labelFontSize": WORDS, "titleFontSize": WORDS}
    lines = {"domainColor": muted, "tickColor": muted, "grid": False}
    chart = chart.configure(
        background="transparent", font=FONT, axis=words | lines | {"titleFontWeight": "normal"}, legend=words, header=words,
        text={"color": ink, "fontSize": WORDS}, title={"color": ink}, view={"stroke": None}, mark={"color": muted},
        rule={"color": muted},
    )  # fmt: skip
    spec = vl_convert.vegalite_to_vega(chart.to_dict(), vl_version="6.4")
    return json.loads(theme.themed(files.as_json(spec), signs=True))


FRAME = altair.ViewBackground(stroke=theme.ROLES["muted"].light)
"""Frame around a matrix or a plane, whose edge is not an axis."""


def chart(rows: Sequence[Mapping], width: int, height: int) -> altair.Chart:
    """Chart from Altair that holds its data; size in pixels."""
    return altair.Chart(altair.Data(values=list(rows)), width=width, height=height)


def x_axis(field: str, title: str, domain: Sequence[float]) -> altair.X:
    """Horizontal axis from end to end of a domain."""
    axis = altair.Axis(labelFlush=False, tickCount=8)  # else labels at the edges overlap
    scale = altair.Scale(domain=list(domain), nice=False)
    return altair.X(field, title=title, scale=scale, axis=axis)


def y_axis(field: str, title: str, domain: Sequence[float]) -> altair.Y:
    """Vertical axis from end to end of a domain."""
    return altair.Y(field, title=title, scale=altair.Scale(domain=list(domain), nice=False))


def tip(field: str, title: str = "") -> altair.Tooltip:
    """Line of a mark's tooltip; numbers to three significant digits."""
    number = {"format": ".3~g"} if field.endswith(":Q") else {}
    return altair.Tooltip(field, title=title or field.split(":")[0], **number)
