"""Pages of a drawing: one layout, or two, of which the page's width chooses one."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from transformer_circuits.figures import theme
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.html import bundle, captioned
from transformer_circuits.figures.values import array
from transformer_circuits.files import data_dir
from transformer_circuits.record import SVG, Record

FOLDER = data_dir().parent / "chapters" / "drawings"
"""Folder of the drawings that are files."""
LAYOUTS = ("wide", "tall")


@dataclass(frozen=True)
class Drawing:
    """Drawing that Jupyter shows under its title."""

    svgs: tuple[str, ...]
    """Layout for columns of at least `theme.BREAK` pixels, if there is one, and the narrow one,
    each an SVG document.
    """
    record: Record

    @property
    def body(self) -> str:
        """HTML with its layouts; the width of the column, not of the screen, chooses between two."""
        choice = (
            "<style>.circuit-drawings{container-type:inline-size}"
            ".circuit-drawings>svg{display:block;width:100%;height:auto;overflow:visible}"
            f".circuit-drawings>.wide{{max-width:{theme.WIDE * 1.1:.0f}px}}"
            f".circuit-drawings>.tall{{max-width:{theme.TALL * 1.2:.0f}px}}"
            f"@container (min-width:{theme.BREAK}px){{.circuit-drawings:has(>.wide)>.tall{{display:none}}}}"
            f"@container (max-width:{theme.BREAK - 0.02}px){{.circuit-drawings>.wide{{display:none}}}}"
            "</style>"
        )
        return f'<div class="circuit-drawings">{choice}{"".join(self.svgs)}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = captioned(self.record.title, self.body)
        return bundle("drawing", self.record, shown, self.svgs[0])


def load(name: str, **data: object) -> Drawing:
    """Drawing of the file `chapters/drawings/NAME.svg`, which is narrow.

    Where a wide column deserves another, from `NAME-wide.svg` and `NAME-tall.svg`. Where a file
    says `{token}`, `{earlier[0]}` or `{attention[0]:.2f}`, the words and numbers of `data` are filled in.
    """
    words = {key: _Text(text) for key, text in data.items() if isinstance(text, str)}
    words |= {
        key: [*map(_Text, texts)]
        for key, texts in data.items()
        if isinstance(texts, list) and isinstance(texts[0], str)
    }
    numbers = {key: array(value) for key, value in data.items() if key not in words}
    svgs = []
    single = FOLDER / f"{name}.svg"
    for path in [single] if single.is_file() else [FOLDER / f"{name}-{way}.svg" for way in LAYOUTS]:
        text = path.read_text(encoding="utf-8").strip()
        head, style, body = re.split("(<style>.*</style>)", text)  # its braces are its own
        svgs.append(head.format(**numbers, **words) + style + body.format(**numbers, **words))
    root = ElementTree.fromstring(svgs[0])
    title, alt = (root.findtext(f"{{*}}{tag}") for tag in ("title", "desc"))
    return Drawing(tuple(svgs), Record("figure", title, alt, numbers, picture=SVG))


class _Text(str):
    """Words that are escaped when they are filled in, after they are cut to their place."""

    def __format__(self, spec: str) -> str:
        return html.escape(format(str(self), spec))


def drawing(wide: Canvas, tall: Canvas, title: str, alt: str, **data: Mapping) -> Drawing:
    """Drawing of two layouts with its record; `data`: its numbers, units and words, if any."""
    svgs = tuple(
        document(canvas, layout, title, alt)
        for canvas, layout in zip((wide, tall), LAYOUTS, strict=True)
    )
    return Drawing(svgs, Record("figure", title, alt, picture=SVG, **data))


def document(canvas: Canvas, layout: str, title: str, alt: str) -> str:
    """Canvas as an SVG document with its words; `layout`: one of `LAYOUTS`."""
    title, alt = html.escape(title), html.escape(alt)
    wide, high = round(canvas.width), round(canvas.height + 4)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="circuit-drawing {layout}" role="img" '
        f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" aria-label="{alt}">'
        f"<title>{title}</title><desc>{alt}</desc><style>{theme.style('circuit-drawing')}</style>"
        f"{''.join(canvas.parts)}</svg>"
    )
