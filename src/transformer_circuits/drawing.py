"""How every figure is made: one style, SVG, and words for those who do not see it."""

import base64
import html
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure as MplFigure

Numbers = Any
"""A list, a NumPy array or a torch tensor of numbers."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: told apart with any colour vision."""
MARKERS = "os^Dv*P"
LINES = ("-", "--", "-.", ":")
_STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "path",
    "svg.hashsalt": "book", "legend.frameon": False, "figure.facecolor": "white",
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A drawing that Jupyter shows as an SVG picture with its alternative text."""

    svg: str
    alt: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        data = base64.b64encode(self.svg.encode()).decode()
        style = "max-width:100%;height:auto;background:#fff"
        picture = f'<img alt="{html.escape(self.alt)}" style="{style}" src="data:image/svg+xml;base64,{data}">'
        return {"text/html": picture, "text/plain": f"[figure: {self.alt}]"}


def draw(paint: Callable, title: str, alt: str, size: tuple[float, float]) -> Figure:
    """One pair of axes, painted by `paint(axes)`; size in inches."""
    return draw_figure(lambda figure: paint(figure.subplots()), title, alt, size)


def draw_figure(paint: Callable, title: str, alt: str, size: tuple[float, float]) -> Figure:
    """A figure of any axes, painted by `paint(figure)`; size in inches."""
    with rc_context(_STYLE):
        figure = MplFigure(figsize=size, layout="constrained")
        paint(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return Figure(buffer.getvalue(), alt)


def array(values: Numbers) -> np.ndarray:
    """Real numbers from a list, an array or a tensor on any device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)
