"""No text of a figure covers another or is cut off at the edge."""

import itertools
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from transformer_circuits.figures import matplotlib_figure, placement, plots

WORDS = {"title": "It falls", "alt": "A curve that falls"}
SLACK = 1.0
"""Pixels by which boxes of text may meet: a box is a little larger than its letters."""


def collisions(figure):
    """What is wrong with the texts of a figure, as they are drawn."""
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        draw = Text.draw
        patch.setattr(
            Text, "draw", lambda t, r: (drawn.append((t, Text.get_window_extent(t, r))), draw(t, r))
        )
        FigureCanvasAgg(figure).draw()
    boxes = [
        (t.get_text(), box.padded(-SLACK)) for t, box in drawn if t.get_visible() and t.get_text()
    ]
    for (one, box), (other, its) in itertools.combinations(boxes, 2):
        if box.overlaps(its):
            yield f"{one!r} and {other!r} overlap"
    for text, box in boxes:
        if not (figure.bbox.contains(*box.min) and figure.bbox.contains(*box.max)):
            yield f"{text!r} is cut off at the edge"


def rising(n):
    return range(n), np.linspace(0, 1, n) ** 0.3


def test_the_check_itself_sees_what_overlaps_or_is_cut():
    figure = Figure()
    axes = figure.subplots()
    axes.text(0.5, 0.5, "one")
    axes.text(0.51, 0.51, "two")
    axes.text(0.9, 0.2, "far beyond the edge")
    assert list(collisions(figure)) == [
        "'one' and 'two' overlap",
        "'far beyond the edge' is cut off at the edge",
    ]


AXES = {"x": "x", "y": "y"}
LONG = "mean attention to the token before the earlier copy of the present token, on held-out text"
SQUARE = {"rows": "o", "cols": "s", "unit": "u"}


def with_places(places):
    return plots.curves, {"a": rising(30)}, AXES | {"places": places}


def with_levels(*levels):
    named = {f"level number {i}": float(level) for i, level in enumerate(levels)}
    return plots.curves, {"a": rising(30)}, AXES | {"baselines": named}


def with_names(n, name):
    named = {"row_labels": [name] * n, "col_labels": [name] * n}
    return plots.matrix, np.eye(n), SQUARE | named


CASES = {
    "places": with_places({"slower": 14.3, "copies": 14.7}),
    "many places": with_places({f"place {i}": 10 + i / 5 for i in range(3)}),
    "levels": with_levels(0.5, 0.52, 0.5),
    "levels at the ends": with_levels(0, 0, 1, 1),
    "many curves": (
        plots.curves,
        {f"seed {i}, heads that look one back": (range(9), [i] * 9) for i in range(12)},
        AXES | {"places": {"here": 3.0, "there": 3.1}, "baselines": {"chance": 5.0, "floor": 5.1}},
    ),
    "a reference at a value": (
        plots.bars,
        {"a": 0.47, "b": 0.0, "c": 0.81, "d": -0.2},
        {"unit": "nats", "baseline": ("chance", 0.48)},
    ),
    "many names": with_names(130, "␣destination"),
    "long titles": (plots.curves, {"a": rising(9), "b": rising(9)}, {"x": LONG + LONG, "y": LONG}),
}
"""A plot, what it shows, and its options."""


@pytest.mark.parametrize("case", CASES)
def test_texts_keep_apart(case):
    plot, shown, options = CASES[case]
    wide, narrow = plot(shown, **options, **WORDS).figures
    for figure in (wide, narrow):
        assert list(collisions(figure)) == []


def test_names_of_columns_lie_where_there_is_room():
    wide = plots.matrix(np.eye(3), **SQUARE, col_labels=["p", "q", "r"], **WORDS)
    assert not re.search(r"rotate\(-90[^>]*>[pqr]</text>", wide.svg)


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


def test_places_move_no_further_than_they_must():
    assert placement.apart([5.0, 1.0], [1.0] * 2, 0.0, 9.0) == [5.0, 1.0]
    assert placement.apart([5.0, 5.5, 5.0], [1.0] * 3, 0.0, 9.0) == [5.0, 7.0, 6.0]
    assert placement.apart([9.0, 9.0, 0.0], [1.0] * 3, 0.0, 9.0) == [7.5, 8.5, 0.5]
    assert placement.apart([4.0, 4.0], [1.0, 3.0], 0.0, 9.0) == [4.0, 6.0]


def test_a_long_name_beside_the_axes_is_broken_where_the_figure_is_narrow():
    for wide, lines in ((6.6, 1), (3.6, 2)):
        axes = Figure(figsize=(wide, 3), layout="constrained").subplots()
        placement.ends(axes, {"two back given": 0.5, "near it": 0.5})
        long, near = axes.texts
        axes.figure.draw_without_rendering()
        assert long.get_text().count("\n") + 1 == lines
        below, above = (Text.get_window_extent(name) for name in (long, near))  # without its leader
        assert below.y1 <= above.y0
