"""No text of a figure covers another, is crossed by a line, or is cut off at the edge."""

import itertools
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from transformer_circuits.figures import drawing, labels, plots

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
        for note in figure.findobj(Annotation):
            if note.arrow_patch and note.arrow_patch.get_window_extent().overlaps(box):
                yield f"{text!r} is crossed by the line to {note.get_text()!r}"
        for line in figure.axes[0].lines:
            path = line.get_transform().transform_path(line.get_path())
            inside = box.intersection(box, line.axes.bbox) if line.get_clip_on() else box
            if inside is not None and path.intersects_bbox(inside, filled=False):
                yield f"{text!r} is crossed by a line"


def found(plot, *args, **options):
    """Draws a figure and says what is wrong with its texts."""
    drawn = plot(*args, **options, **WORDS)
    labels.wrap(drawn.axes)
    return list(collisions(drawn.figure))


def rising(n):
    return range(n), np.linspace(0, 1, n) ** 0.3


def test_the_check_itself_sees_what_overlaps_is_crossed_or_cut():
    figure = Figure()
    axes = figure.subplots()
    axes.text(0.5, 0.5, "one")
    axes.text(0.51, 0.51, "two")
    axes.text(0.9, 0.2, "far beyond the edge")
    axes.axhline(0.82)
    axes.text(0.2, 0.8, "three")
    assert list(collisions(figure)) == [
        "'one' and 'two' overlap",
        "'far beyond the edge' is cut off at the edge",
        "'three' is crossed by a line",
    ]


@pytest.mark.parametrize(
    "places",
    [
        {"slower": 14.3, "copies": 14.7},
        {"one": 5, "the same": 5, "again": 5, "far": 29},
        {"first": 0, "last": 29, "the very last of them": 28.9},
        {f"place {i}": 10 + i / 5 for i in range(8)},
    ],
)
def test_names_of_vertical_lines_keep_apart_wherever_they_are(places):
    assert (
        found(
            plots.curves,
            {"a": rising(30)},
            x="x",
            y="y",
            places={name: float(at) for name, at in places.items()},
        )
        == []
    )


@pytest.mark.parametrize("levels", [(0.5, 0.52, 0.5), (0, 0, 1, 1), (-3, 40)])
def test_names_of_horizontal_lines_keep_apart_wherever_they_are(levels):
    named = {f"level number {i}": float(level) for i, level in enumerate(levels)}
    assert found(plots.curves, {"a": rising(30)}, x="x", y="y", baselines=named) == []


def test_no_curve_lies_below_the_legend_however_many_there_are():
    lines = {f"seed {i}, heads that look one back": (range(9), [i] * 9) for i in range(12)}
    places, levels = {"here": 3.0, "there": 3.1}, {"chance": 5.0, "floor": 5.1}
    assert found(plots.curves, lines, x="x", y="y", places=places, baselines=levels) == []


def test_no_value_of_a_bar_is_crossed_by_the_reference():
    shares = {"a": 0.47, "b": 0.0, "c": 0.81, "d": -0.2}
    for level in (0.48, 0.02, 0.0, -0.22):
        assert found(plots.bars, shares, unit="nats", baseline=("chance", level)) == []
    assert found(plots.bars, {f"head {i}": i / 9 for i in range(40)}, unit="nats") == []


@pytest.mark.parametrize(("n", "name"), [(6, "␣destination"), (50, "7"), (130, "␣destination")])
def test_names_of_rows_and_columns_keep_apart(n, name):
    options = {"rows": "o", "cols": "s", "unit": "u", "row_labels": [name] * n}
    assert found(plots.matrix, np.eye(n), col_labels=[name] * n, **options) == []
    assert (
        found(plots.matrix, np.ones((12, n)), col_labels=[name] * n, **options | {"row_labels": ()})
        == []
    )


def test_names_of_columns_lie_where_there_is_room():
    wide = plots.matrix(
        np.eye(3), rows="o", cols="s", unit="u", col_labels=["p", "q", "r"], **WORDS
    )
    assert not re.search(r"rotate\(-90[^>]*>[pqr]</text>", wide.svg)


@pytest.mark.parametrize("rank", [1, 64])
def test_the_rank_is_named_beside_its_line(rank):
    spectra = {name: np.geomspace(1, 1e-9, 64) for name in ("W_OV", "W_QK")}
    assert found(plots.singular_values, spectra, rank=rank) == []


def test_long_titles_of_axes_are_broken_into_lines():
    long = (
        "mean attention to the token before the earlier copy of the present token, on held-out text"
    )
    two = {"a": rising(9), "b": rising(9)}
    assert found(plots.curves, two, x=long + long, y=long, baselines={"c": 0.5, "d": 0.5}) == []
    assert found(plots.bars, {"a": 1.0}, unit=long + long) == []
    assert found(plots.matrix, np.eye(3), rows=long, cols=long, unit=long) == []
    assert found(plots.histogram, [1, 2], x=long, y=long) == []


@pytest.mark.parametrize("name", [r"$\foo_1$", "_hidden & <"])
def test_every_name_is_shown_as_it_is_written(name):
    ends = {"title": name, "alt": name}
    one, axis = {name: ([1, 2, 30], [1, 2, 3]), "b": ([1], [1])}, {"x": name, "y": name}
    figures = [
        plots.curves(one, baselines={name: 1.0}, places={name: 1.0}, log_x=True, **axis, **ends),
        plots.bars({name: 1.0}, unit=name, baseline=(name, 0.5), **ends),
        plots.histogram([1, 2], marks={name: [1]}, **axis, **ends),
        plots.singular_values({name: [3.0, 1.0]}, **ends),
        plots.matrix(
            np.eye(1), rows=name, cols=name, unit=name, row_labels=[name], col_labels=[name], **ends
        ),
    ]
    for figure, times in zip(figures, (5, 3, 3, 1, 5), strict=True):
        written = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)
        assert written.count(name.replace("&", "&amp;").replace("<", "&lt;")) == times
        assert not any("mathdefault" in text for text in written)


def test_a_picture_of_text_takes_dollar_signs_as_they_are():
    png = drawing.text_picture(["$\\foo$"])
    assert png.startswith(b"\x89PNG") and png != drawing.text_picture([r"\$\foo\$"])


def test_names_of_points_need_room():
    with pytest.raises(ValueError, match="there is no room for 2 names"):
        labels.near([(5.0, 5.0)] * 2, [30.0, 30.0], (0.0, 0.0, 50.0, 30.0))


def test_places_move_no_further_than_they_must():
    assert labels.apart([5.0, 1.0], 1.0, 0.0, 9.0) == [5.0, 1.0]
    assert labels.apart([5.0, 5.5, 5.0], 1.0, 0.0, 9.0) == [5.0, 7.0, 6.0]
    assert labels.apart([9.0, 9.0, 0.0], 1.0, 0.0, 9.0) == [8.0, 9.0, 0.0]
