"""Names in plots are shown as they are written; `test_built_book` asks of every figure whether they are apart."""

import re

import numpy as np
import pytest

from transformer_circuits.figures import matplotlib_figure, plots

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
    png = matplotlib_figure.text_picture(["$\\foo$"])
    assert png.startswith(b"\x89PNG") and png != matplotlib_figure.text_picture([r"\$\foo\$"])
