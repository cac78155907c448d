"""How every figure is made: one style, SVG, and words for those who do not see it."""

import base64
import html
import io
import json
import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import get_data_path, rc_context
from matplotlib.figure import Figure as MplFigure
from matplotlib.image import imsave

from transformer_circuits import files
from transformer_circuits.figures import labels

SCRIPTS = Path(__file__).parent
"""The scripts of what moves: views, charts, the live model."""

FONTS = Path(get_data_path(), "fonts", "ttf")
"""The fonts that come with matplotlib, DejaVu Sans among them."""

Numbers = Any
"""A list, a NumPy array or a torch tensor of numbers."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: told apart with any colour vision."""
MARKERS = "os^Dv*P"
LINES = ("-", "--", "-.", ":")
_STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
    "svg.hashsalt": "book", "legend.frameon": False, "figure.facecolor": "white",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A drawing that Jupyter shows under its title, as an SVG picture with its alternative text."""

    svg: str
    title: str
    alt: str

    @property
    def picture(self) -> str:
        """HTML of the drawing alone."""
        data = base64.b64encode(self.svg.encode()).decode()
        style = "max-width:100%;height:auto;background:#fff"
        return f'<img alt="{html.escape(self.alt)}" style="{style}" src="data:image/svg+xml;base64,{data}">'

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        plain = f"[figure: {self.title}. {self.alt}]"
        return {"text/html": captioned(self.title, self.picture), "text/plain": plain}


def captioned(title: str, body: str) -> str:
    """HTML of anything that is shown under a title.

    The title is text of the page: it can be searched, read aloud, wrapped and translated. The
    figure's id is made of it, so that links and the index of figures find it.
    """
    name = re.sub(r"[\W_]+", "-", title.lower()).strip("-")
    caption = (
        f'<figcaption style="font-weight:bold;text-align:left">{html.escape(title)}</figcaption>'
    )
    return f'<figure id="figure-{name}" style="margin:0">{caption}{body}</figure>'


def draw(paint: Callable, title: str, alt: str, size: tuple[float, float]) -> Figure:
    """One pair of axes, painted by `paint(axes)`; size in inches."""
    with rc_context(_STYLE):
        figure = MplFigure(figsize=size, layout="constrained")
        axes = figure.subplots()
        paint(axes)
        labels.wrap(axes)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return Figure(buffer.getvalue(), title, alt)


def pixels(values: np.ndarray) -> bytes:
    """A PNG with one pixel per value: 0 is white, 1 black."""
    buffer = io.BytesIO()
    imsave(buffer, values, cmap="Greys", vmin=0, vmax=1, format="png", metadata={"Software": None})
    return buffer.getvalue()


def text_picture(pieces: Sequence[str], *, across: bool = True, width: int = 80) -> bytes:
    """A PNG of pieces of text, `across` lines of at most `width` characters or one on each line."""
    text = textwrap.fill("  ".join(pieces), width) if across else "\n".join(pieces)
    with rc_context(_STYLE):
        figure = MplFigure(figsize=(0.1, 0.1))
        figure.text(0, 0, text, family="monospace", fontsize=8)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()


def picture(png: bytes, alt: str) -> str:
    """HTML of a PNG."""
    data = base64.b64encode(png).decode()
    style = "width:100%;image-rendering:pixelated"
    return f'<img alt="{html.escape(alt)}" style="{style}" src="data:image/png;base64,{data}">'


def array(values: Numbers) -> np.ndarray:
    """Real numbers from a list, an array or a tensor on any device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)


def data_script(data: Mapping) -> str:
    """A script element that holds data. Nothing in them can end it.

    Raises:
        ValueError: if a number is not finite: browsers could not read it.
    """
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, allow_nan=False)
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/json">{safe}</script>'


def scripts(*names: str) -> str:
    """Scripts of this folder to put into an output, so that it works wherever it is shown.

    Nothing while the book is built: there the page itself loads each script once.
    """
    return "" if os.environ.get(files.IN_BOOK) else _inline(*names)


def _inline(*names: str) -> str:
    texts = (SCRIPTS.joinpath(name).read_text(encoding="utf-8") for name in names)
    return "".join(f"<script>{text}</script>" for text in texts)


def save_page(path: Path, title: str, body: str, *names: str) -> None:
    """Write a page that needs nothing else: a body and the scripts it uses."""
    head = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
    )
    with files.atomic(path) as temporary:
        temporary.write_text(f"{head}<body>{body}{_inline(*names)}</body></html>", encoding="utf-8")
