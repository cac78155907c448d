import re
import xml.etree.ElementTree as ElementTree
from functools import partial

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from transformer_circuits.figures import plots, theme
from transformer_circuits.figures.matplotlib_figure import COLOURS

WORDS = {"title": "It falls", "alt": "A curve that falls <sharply>"}
FIGURES = [
    partial(plots.matrix, torch.eye(3), rows="output", cols="source", unit="logits", **WORDS),
    partial(plots.matrix, -np.eye(3), rows="o", cols="s", unit="u", row_labels="abc", **WORDS),
    partial(plots.matrix, np.eye(3), rows="o", cols="s", unit="u", null=torch.tensor(0.5), **WORDS),
    partial(
        plots.curves, {"a": ([1, 2], [3, 1])}, x="d", y="nats", baselines={"floor": 0.5}, **WORDS
    ),
    partial(plots.curves, {"a": ([1, 2], [3, 1])}, x="d", y="nats", places={"here": 1.5}, **WORDS),
    partial(
        plots.curves,
        {"a": ([1, 2], [3, 1])},
        x="d",
        y="n",
        chance={"null": ([1, 2], [0, 0], [1, 2])},
        **WORDS,
    ),
    partial(
        plots.bundles, {"a": [([1, 2], [3, 1])] * 2, "b": [([1], [2])]}, x="d", y="nats", **WORDS
    ),
    partial(
        plots.bars, {"uniform": 2.0, "ours": 1.0}, unit="nats", baseline=("floor", 0.7), **WORDS
    ),
    partial(plots.stacked, {"ours": {"a": 1.0, "b": torch.tensor(3.0)}}, unit="share", **WORDS),
    partial(
        plots.matrix, {"a": np.eye(3), "b": np.eye(3) / 2}, rows="r", cols="c", unit="u", **WORDS
    ),
    partial(plots.dumbbells, {"1.0": {"a": 0.1, "b": torch.tensor(0.3)}}, unit="share", **WORDS),
    partial(plots.dumbbells, {"1.0": {"a": 5}, "b": {"a": 3}}, unit="place", axis="log", **WORDS),
    partial(plots.painted, lambda axes: axes.hist([1, 2, 2]), {"a": [1, 2, 2]}, **WORDS),
    partial(
        plots.dots_with_intervals, {"a": ([1, 1.5], 1, 1.4)}, unit="times", ratios=True, **WORDS
    ),
]


def page(figure):
    return figure._repr_mimebundle_()[0]["text/html"]


def test_what_a_reader_changes_on_the_axes_is_shown():
    plot = plots.curves({"a": ([1, 2], [3, 1])}, x="d", y="nats", **WORDS)
    before = plot.svg
    plot.axes.set_ylim(0, 10)
    plot.axes.plot([1, 2], [5, 5])
    plot.axes.set_xlabel("steps")
    assert ">10<" in page(plot) and ">10<" not in before and ">steps<" in page(plot)
    assert plot.record.numbers["a: y"] == [3, 1]
    assert page(plot).count("<svg") == 1, "no picture for phones shows the old axis"


@pytest.mark.parametrize("make", FIGURES)
def test_a_figure_is_an_svg_with_words_that_are_text_and_no_ground_of_its_own(make):
    figure = make()
    shown, picture = figure._repr_mimebundle_()[0], figure.svg
    assert '<figure id="figure-it-falls"' in shown["text/html"] and "It falls" not in picture
    assert 'aria-label="A curve that falls &lt;sharply&gt;"' in shown["text/html"]
    assert "It falls. A curve that falls" in shown["text/plain"]
    assert len(words(picture)) >= 3
    painted = re.findall(r"(?:fill|stroke): ?(#[0-9a-f]{6})", picture)
    assert not {*painted} & {"#ffffff", "#000000"} and "var(--ink,#1c2430)" in picture
    layouts = r'class="(\w+)" style="width:(\d+)px;min-width:(\d+)px;'
    wide, narrow = re.findall(layouts, shown["text/html"])
    assert (wide[0], narrow[0]) == ("wide", "narrow")
    (box,) = re.findall(r'viewBox="0 0 ([\d.]+)', picture)
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", picture)]
    assert min(sizes) * int(wide[2]) / float(box) == pytest.approx(9, abs=0.05), "words can be read"
    assert theme.BREAK / int(wide[1]) * 14 >= 12.8, (
        "nor are they small before the narrow one is shown"
    )
    assert 342 / int(narrow[1]) * 14 >= 13, "and on a phone they are as large"


def words(svg):
    """The texts of a picture."""
    return [t.text for t in ElementTree.fromstring(svg).iter() if t.tag.endswith("}text")]


def test_figures_are_the_same_bytes_each_time():
    one, again = (plots.curves({"a": ([1, 2], [3, 1])}, x="a", y="n", **WORDS) for _ in range(2))
    assert one.svg == again.svg


def test_attention_has_the_colour_of_the_layer_of_its_head():
    first, second = (theme.ROLES[name].light for name in theme.LAYERS)
    for layer, colour in enumerate((first, second)):
        plot = plots.matrix(np.eye(3), rows="o", cols="s", unit="u", layer=layer, **WORDS)
        assert to_hex(plot.axes.images[0].to_rgba(1.0)) == colour
    lines = {"seed 0, back": ([1, 2], [3, 1]), "head 1.4": ([1, 2], [2, 1]), "loss": ([1], [1])}
    drawn = plots.curves(lines, x="d", y="nats", layers={"seed 0, back": 0}, **WORDS).axes.lines
    assert [line.get_color() for line in drawn] == [first, second, COLOURS[2]]


def test_under_each_part_of_a_bar_stands_its_share():
    rows = {"ours": {"direct path": 1.0, "heads": 3.0}, "theirs": {"direct path": 2, "heads": 0}}
    written = words(plots.stacked(rows, unit="nats", **WORDS).svg)
    assert [text for text in written if text.endswith("%")] == ["25%", "100%", "75%", "0%"]
    with pytest.raises(ValueError, match="none below zero"):
        plots.stacked({"ours": {"a": 1.0}, "theirs": {"a": -1.0}}, unit="nats", **WORDS)


def test_the_marks_of_dumbbells_are_the_same_in_every_row_and_lie_on_the_axis():
    rows = {"0.1": {"a": 0.2, "b": 1.0}, "other": {"a": 0.0, "b": 0.5}}
    plot = plots.dumbbells(rows, unit="share", **WORDS)
    assert plot.record.numbers == {"a": [0.2, 0.0], "b": [1.0, 0.5]}
    assert {"0.1", "other", "a", "b"} <= {*words(plot.svg)}
    for wrong in ({"a": 0.2}, {"a": 0.2, "b": 1.1}):
        with pytest.raises(ValueError, match='"other" must have'):
            plots.dumbbells({"0.1": rows["0.1"], "other": wrong}, unit="share", **WORDS)
    with pytest.raises(ValueError, match=r'"one" must have .* above 0'):
        plots.dumbbells({"one": {"a": 0.0}}, unit="place", axis="log", **WORDS)


def test_labels_must_fit():
    with pytest.raises(ValueError, match="2 col_labels given but there are 3 cols"):
        plots.matrix(np.eye(3), rows="o", cols="s", unit="u", col_labels="xy", **WORDS)
    for cell in ((9, 9), (0, -1)):
        with pytest.raises(ValueError, match="is outlined but the matrix is"):
            plots.matrix(np.eye(3), rows="o", cols="s", unit="u", outlined=[cell], **WORDS)
    with pytest.raises(ValueError, match="one bar is needed"):
        plots.bars({}, unit="u", **WORDS)


def test_two_figures_on_one_page_share_no_name_and_no_style():
    axes, line = {"x": "d", "y": "nats", "alt": "Two falling lines"}, {"a": ([1, 2], [3, 1])}
    pictures = [page(plots.curves(line, title=title, **axes)) for title in ("One", "Another")]
    names = [set(re.findall(r' id="([^"]+)"', picture)) for picture in pictures]
    used = [set(re.findall(r'(?:url\(|href=")#([\w-]+)', picture)) for picture in pictures]
    assert names[0] and not names[0] & names[1]
    for own, asked in zip(names, used, strict=True):
        assert asked and asked <= own
    assert all('css">.circuit-plot *{' in picture for picture in pictures)


def test_a_null_is_the_middle_of_the_colours_and_nan_stays_blank():
    values = np.array([[0.25, np.nan], [0.5, 0.0]])
    shown = plots.matrix(values, rows="o", cols="s", unit="u", null=0.25, **WORDS).svg
    assert {"0.00", "0.25", "by chance", "0.50"} <= {word.strip() for word in words(shown)}
