"""How matplotlib draws: one style, one palette, SVG out; and small PNG pictures for views."""

import io
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib import get_data_path, rc_context
from matplotlib.figure import Figure as MplFigure
from matplotlib.image import imsave

from transformer_circuits.figures import labels
from transformer_circuits.figures.html import Figure

FONTS = Path(get_data_path(), "fonts", "ttf")
"""The fonts that come with matplotlib, DejaVu Sans among them."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: told apart with any colour vision."""
MARKERS = "os^Dv*P"
"""Shapes of points, as matplotlib names them."""
LINES = ("-", "--", "-.", ":")
"""Solid, dashed, dashes and dots, dotted."""
_STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
    "svg.hashsalt": "book", "legend.frameon": False, "figure.facecolor": "white",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}  # fmt: skip


def draw(paint: Callable, title: str, alt: str, size: tuple[float, float]) -> Figure:
    """One pair of axes on which `paint(axes)` draws; width and height in inches."""
    with rc_context(_STYLE):
        figure = MplFigure(figsize=size, layout="constrained")
        axes = figure.subplots()
        paint(axes)
        labels.wrap(axes)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return Figure(buffer.getvalue(), title, alt)


def pixels(values: Float[np.ndarray, "y x"]) -> bytes:
    """A PNG picture with one pixel per value, from 0 (white) to 1 (black)."""
    buffer = io.BytesIO()
    imsave(buffer, values, cmap="Greys", vmin=0, vmax=1, format="png", metadata={"Software": None})
    return buffer.getvalue()


def text_picture(pieces: Sequence[str], *, across: bool = True, width: int = 80) -> bytes:
    """A PNG picture of pieces of text.

    With `across` they fill lines of at most `width` characters; else each has a line of its own.
    """
    text = textwrap.fill("  ".join(pieces), width) if across else "\n".join(pieces)
    with rc_context(_STYLE):
        figure = MplFigure(figsize=(0.1, 0.1))
        figure.text(0, 0, text, family="monospace", fontsize=8)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()
