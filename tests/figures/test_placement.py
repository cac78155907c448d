"""Names in plots are shown as they are written; `test_built_book` asks of every figure whether they are apart."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from transformer_circuits.figures import placement, plots

SQUARE = {"rows": "o", "cols": "s", "unit": "u"}
WORDS = {"title": "It falls", "alt": "A curve that falls"}


@pytest.mark.parametrize("name", [r"$\foo_1$", "_hidden & <"])
def test_every_name_is_shown_as_it_is_written(name):
    ends = {"title": name, "alt": name}
    lines = {name: ([1, 2, 30], [1, 2, 3]), "b": ([1], [1])}
    figures = {
        plots.curves(
            lines, baselines={name: 1.0}, places={name: 1.0}, log_x=True, x=name, y=name, **ends
        ): 5,
        plots.bars({name: 1.0}, unit=name, baseline=(name, 0.5), **ends): 3,
        plots.matrix(np.eye(1), **dict.fromkeys(SQUARE, name), row_labels=[name], **ends): 4,
    }
    for figure, times in figures.items():
        written = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)
        assert written.count(name.replace("&", "&amp;").replace("<", "&lt;")) == times


def test_places_move_no_further_than_they_must():
    assert placement.spread([5.0, 1.0], [1.0] * 2, 0.0, 9.0) == [5.0, 1.0]
    assert placement.spread([5.0, 5.5, 5.0], [1.0] * 3, 0.0, 9.0) == [5.0, 7.0, 6.0]
    assert placement.spread([9.0, 9.0, 0.0], [1.0] * 3, 0.0, 9.0) == [7.5, 8.5, 0.5]
    assert placement.spread([4.0, 4.0], [1.0, 3.0], 0.0, 9.0) == [4.0, 6.0]


def test_a_long_name_beside_the_axes_is_broken_where_the_figure_is_narrow():
    for wide, lines in ((6.6, 1), (3.6, 2)):
        axes = Figure(figsize=(wide, 3), layout="constrained").subplots()
        placement.name_line_ends(axes, {"two back given": 0.5, "near it": 0.5})
        long, near = axes.texts
        axes.figure.draw_without_rendering()
        assert long.get_text().count("\n") + 1 == lines
        below, above = (Text.get_window_extent(name) for name in (long, near))  # without its leader
        assert below.y1 <= above.y0
