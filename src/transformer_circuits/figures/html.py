"""HTML around a figure: a caption, and its data for the script.

Imports no drawing library, so that the website can use it without one.
"""

import base64
import html
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.figures import theme
from transformer_circuits.record import SVG, Record, slug

LEGIBLE = 9.0
"""Least size of words in a figure. [pixels]"""
SCRIPTS = Path(__file__).parent / "scripts"
"""Folder of the scripts of views."""


def bundle(kind: str, record: Record, shown: str, svg: str) -> tuple[dict, dict]:
    """Output of a figure for Jupyter: HTML, the picture, words, and its record."""
    plain = f"[{kind}: {record.title}. {record.text}]"
    return {"text/html": shown, SVG: svg, "text/plain": plain}, record.metadata


@dataclass(frozen=True)
class Figure:
    """SVG picture that Jupyter shows under its title, in the colours of its page."""

    svg: str
    """SVG document."""
    record: Record
    narrow: str = ""
    """Picture for narrow columns; a page has both, and shows the one that fits."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        record = self.record
        shown = captioned(record.title, inline(self.svg, record.title, record.text, self.narrow))
        return bundle("figure", record, shown, self.svg)


def inline(svg: str, title: str, alt: str, narrow: str = "") -> str:
    """SVG document as a part of the page, so that its variables have the page's colours.

    Its names carry the title in front, and its style holds for itself alone: two pictures on one
    page do not disturb each other. Its smallest words are as high as text in figures, and shrink
    with the page until they are `LEGIBLE`; on a narrower page it scrolls in its own box.
    `narrow`: the same picture for columns less than `theme.BREAK` wide. Only one of the two is
    shown, and their words are read aloud once.
    """
    style = (
        ".circuit-plot{overflow-x:auto}.circuit-plot>svg{max-width:100%;height:auto}"
        ".circuit-plot>.narrow{display:none}"
        ".circuit-plot:has(>.narrow){container-type:inline-size}"
        f"@media screen{{@container (max-width:{theme.BREAK - 0.02}px){{.circuit-plot>.wide{{display:none}}"
        ".circuit-plot>.narrow{display:inline}}}"
        + f"{theme.on_dark('.circuit-plot image')}{{filter:var(--darkening)}}"
        + theme.style("circuit-plot", theme.ROLES | theme.SIGNS)
    )
    prefix = slug(title)
    pictures = (
        _part(svg, prefix, "wide") + _part(narrow, f"{prefix}-narrow", "narrow")
        if narrow
        else _part(svg, prefix)
    )
    return (
        f'<div class="circuit-plot" role="img" aria-label="{html.escape(alt)}">'
        f"<style>{style}</style>{pictures}</div>"
    )


def _part(svg: str, prefix: str, layout: str = "") -> str:
    """The `svg` element of a document, as wide as its words ask; `prefix`: begins its names."""
    body = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    body = re.sub(r'(?<= id=")|(?<=url\(#)|(?<=href="#)', f"{prefix}-", body)
    body = re.sub(r"(?<=<style type=\"text/css\">)(?=\*)", ".circuit-plot ", body)
    places = r' (?:d|x|y)="[^"]*"'  # to a hundredth of a pixel
    body = re.sub(places, lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), body)
    least, width = (f"{high * _width(body):.0f}px" for high in (LEGIBLE, theme.TEXT))
    wide = f"width:{width};min-width:{least};"
    kind, darkening = f' class="{layout}"' if layout else "", ""
    if "<image" in body:  # pixels have no variables: on a dark page they pass through a filter
        wide += f"--darkening:url(#{prefix}-darkening);"
        darkening = (
            f'<filter id="{prefix}-darkening" color-interpolation-filters="sRGB">'
            f'<feColorMatrix values="{theme.darkening()}"/></filter>'
        )
    return re.sub(r">", f'{kind} style="{wide}">{darkening}', body, count=1).strip()


def _width(svg: str) -> float:
    """Width of an SVG document, in heights of its smallest words."""
    sizes = [float(size) for size in re.findall(r'font-size(?:: ?|=")([\d.]+)', svg)]
    (box,) = re.findall(r'viewBox="0 0 ([\d.]+)', svg)
    return float(box) / min(sizes)


def image(data: bytes, mime: str, alt: str, style: str) -> str:
    """HTML of an `img` element that holds its data; `mime` is their type, `image/png` for instance."""
    source = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return f'<img alt="{html.escape(alt)}" style="{style}" src="{source}">'


def captioned(title: str, body: str) -> str:
    """HTML of a `figure` element with a caption above its body, which is HTML.

    The caption is text of the page: it can be searched, read aloud, wrapped and translated. The id
    is made of it, so that links and the index of figures find the figure.
    """
    caption = (
        f'<figcaption style="font-weight:bold;text-align:left">{html.escape(title)}</figcaption>'
    )
    return f'<figure id="figure-{slug(title)}" style="margin:0">{caption}{body}</figure>'


def data_script(data: Mapping) -> str:
    """HTML of a `script` element that holds data as JSON. No text among the data can end the element.

    Raises:
        ValueError: if a number is not finite: browsers could not read it.
    """
    text = files.as_json(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/json">{safe}</script>'


def script(name: str) -> str:
    """Script that an output brings with it, so that it works wherever it is shown.

    Empty while the book is built: there the page itself loads it once.
    """
    if os.environ.get(files.IN_BOOK):
        return ""
    return f"<script>{SCRIPTS.joinpath(name).read_text(encoding='utf-8')}</script>"
