"""Matplotlib in the book's theme, SVG out; and small PNG pictures for views."""

import dataclasses
import io
import textwrap
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure as MplFigure
from matplotlib.image import imsave

from transformer_circuits.figures import theme
from transformer_circuits.figures.html import Figure
from transformer_circuits.record import SVG, Record

COLOURS = tuple(theme.ROLES[name].light for name in theme.CURVES)
"""Colours of `theme.CURVES` on a light page."""
MARKERS = "os^Dv*P"
"""Shapes of points, as matplotlib names them."""
LINES = ("-", "--", "-.", ":")
"""Styles of lines: solid, dashed, dashes and dots, dotted."""
STYLE = "transformer_circuits.figures.book"
"""Name under which matplotlib finds the file `book.mplstyle` in any notebook."""


WIDTHS = 6.6, 3.6
"""Widths of every plot, in a wide column and on a phone, where words of 10 points are then 13
pixels high. [inches]
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Plot:
    """Figure of matplotlib that Jupyter shows under its title, in the colours of its page.

    It is drawn twice, for wide columns and for phones, and the column chooses. A caller may change
    its `axes` before it is shown: after `plot.axes.set_ylim(0, 1)` the axis goes from 0 to 1. From
    then on there is this one picture for every column, so that none lacks the change.
    """

    figures: list[MplFigure]
    """Figure for wide columns and, until the `axes` are asked for, the one for phones."""
    record: Record

    @property
    def axes(self) -> Axes:
        """Axes on which the data are drawn."""
        del self.figures[1:]
        return self.figures[0].axes[0]

    @property
    def svg(self) -> str:
        """Picture in its present state, an SVG document."""
        return _svg(self.figures[0])

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        svg, *narrow = map(_svg, self.figures)
        return Figure(svg, self.record, *narrow)._repr_mimebundle_()


def _svg(figure: MplFigure) -> str:
    buffer = io.StringIO()
    with style.context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue().replace("'DejaVu Sans'", theme.SANS)  # laid out in a wider font
    return theme.themed(svg).replace(theme.GROUND["light"], f"var(--on,{theme.GROUND['light']})")


def draw(paint: Callable, record: Record, *heights: float) -> Plot:
    """Plot with one pair of axes on which `paint(axes)` draws a record's data, for each of `WIDTHS`.

    `heights`: of the wide picture and, if different, of the narrow one. [inches] What `paint` returns,
    if anything, is called when the axes have their final size: it places names.
    """
    figures = []
    with style.context(STYLE):
        for width, height in zip(WIDTHS, (heights * 2)[:2], strict=True):
            figures.append(MplFigure(figsize=(width, height), layout="constrained"))
            place_names = paint(figures[-1].subplots())
            for axes in figures[-1].axes:  # 12 letters an inch; longer titles take several lines
                for title, inches in ((axes.xaxis.label, width), (axes.yaxis.label, height)):
                    title.set_text(textwrap.fill(title.get_text(), int(9 * inches)))
            if place_names:
                place_names()
    return Plot(figures, dataclasses.replace(record, picture=SVG))


def scale(middle: bool, more: str = theme.MORE.light) -> LinearSegmentedColormap:
    """Colour map of a heat map, transparent at zero.

    `middle`: whether zero is in the middle, from less to more; else it is at the lower end. `more`:
    the colour of the largest values.
    """
    if middle:
        less, ends = theme.LESS.light, (0.0, 0.5, 0.5, 1.0)
        stops = [to_rgba(less, 1), to_rgba(less, 0), to_rgba(more, 0), to_rgba(more, 1)]
        return LinearSegmentedColormap.from_list("signed", list(zip(ends, stops, strict=True)))
    return LinearSegmentedColormap.from_list("amount", [to_rgba(more, alpha) for alpha in (0, 1)])


def pixels(values: Float[np.ndarray, "y x 3"]) -> bytes:
    """PNG picture with one pixel for each red, green and blue, from 0 to 1."""
    buffer = io.BytesIO()
    imsave(buffer, values, format="png", metadata={"Software": None})
    return buffer.getvalue()
