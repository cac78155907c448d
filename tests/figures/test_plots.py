import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from transformer_circuits.figures import html, plots, theme

WORDS = {"title": "It falls", "alt": "A curve that falls <sharply>"}
FIGURES = [
    plots.matrix(torch.eye(3), rows="output", cols="source", unit="logits", **WORDS),
    plots.matrix(-np.eye(3), rows="o", cols="s", unit="u", row_labels="abc", **WORDS),
    plots.matrix(np.eye(3), rows="o", cols="s", unit="u", null=torch.tensor(0.5), **WORDS),
    plots.curves({"a": ([1, 2], [3, 1])}, x="d", y="nats", baselines={"floor": 0.5}, **WORDS),
    plots.curves({"a": ([1, 2], [3, 1])}, x="d", y="nats", places={"here": 1.5}, **WORDS),
    plots.bundles({"a": [([1, 2], [3, 1])] * 2, "b": [([1], [2])]}, x="d", y="nats", **WORDS),
    plots.bars({"uniform": 2.0, "ours": 1.0}, unit="nats", baseline=("floor", 0.7), **WORDS),
    plots.stacked({"ours": {"a": 1.0, "b": torch.tensor(3.0)}}, unit="share", **WORDS),
    plots.histogram([1, 2, 2], x="a", y="n", **WORDS),
    plots.singular_values({"W": [3.0, 1.0]}, rank=2, **WORDS),
    plots.histogram([1, 2, 2], x="a", y="n", marks={"here": [1.5]}, **WORDS),
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


def test_the_style_has_the_colours_of_the_voice():
    text = (html.SCRIPTS.parent / "book.mplstyle").read_text(encoding="utf-8")
    (cycle,) = re.findall(r"cycler\((.*)\)", text)
    found = re.findall(r"#[0-9a-f]{6}", cycle)
    assert found == [theme.ROLES[name].light for name in theme.CURVES]
    of = dict(re.findall(r"([\w.]+): \"(#[0-9a-f]{6})\"", text))
    assert {key: colour for key, colour in of.items() if colour == theme.ROLES["ink"].light}.keys() == {
        "text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor",
    }  # fmt: skip
    assert {*of.values()} == {theme.ROLES[name].light for name in ("ink", "muted")}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_an_svg_with_alternative_text(figure):
    assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
    shown = figure._repr_mimebundle_()[0]
    assert 'aria-label="A curve that falls &lt;sharply&gt;"' in shown["text/html"]
    assert "It falls. A curve that falls" in shown["text/plain"]


@pytest.mark.parametrize("figure", FIGURES)
def test_a_title_is_text_of_the_page_and_what_is_written_in_a_figure_is_text(figure):
    assert "It falls" not in figure.svg
    assert '<figure id="figure-it-falls"' in figure._repr_mimebundle_()[0]["text/html"]
    written = [t.text for t in ElementTree.fromstring(figure.svg).iter() if t.tag.endswith("}text")]
    assert len(written) >= 3


def test_figures_are_the_same_bytes_each_time():
    again = plots.histogram([1, 2, 2], x="a", y="n", **WORDS)
    assert again.svg in [figure.svg for figure in FIGURES]


def test_a_bundle_has_one_look_and_one_name():
    """Two curves of one name and one of another: two looks, two names."""
    drawn = plots.bundles(
        {"first": [([1, 2], [3, 1]), ([1, 2], [2, 1])], "second": [([1, 2], [1, 1])]},
        x="d", y="nats", **WORDS,
    ).svg  # fmt: skip
    written = [t.text for t in ElementTree.fromstring(drawn).iter() if t.tag.endswith("}text")]
    assert (written.count("first"), written.count("second")) == (1, 1)


def test_under_each_part_of_a_bar_stands_its_share():
    rows = {"ours": {"direct path": 1.0, "heads": 3.0}, "theirs": {"direct path": 2, "heads": 0}}
    drawn = plots.stacked(rows, unit="nats", **WORDS).svg
    written = [t.text for t in ElementTree.fromstring(drawn).iter() if t.tag.endswith("}text")]
    assert [text for text in written if text.endswith("%")] == ["25%", "100%", "75%", "0%"]


@pytest.mark.parametrize("second", [{"b": 1.0}, {"a": -1.0}])
def test_bars_of_other_parts_or_below_zero_are_refused(second):
    with pytest.raises(ValueError, match=r'"second" must have \[\'a\'\], none below zero'):
        plots.stacked({"first": {"a": 1.0}, "second": second}, unit="nats", **WORDS)


def test_a_number_may_be_a_tensor_wherever_a_figure_takes_one():
    def lines(number):
        words = {"x": "d", "y": "nats", **WORDS}
        return plots.curves(
            {"a": ([number(1.0), number(2.0)], [3, number(1.0)])},
            baselines={"floor": number(0.5)}, places={"here": number(1.5)}, **words,
        )  # fmt: skip

    def bars(number):
        heights = {"uniform": number(2.0), "ours": number(1.25)}
        return plots.bars(heights, unit="nats", baseline=("floor", number(0.75)), **WORDS)

    def ranked(number):
        spectra = {"W": [number(3.0), number(1.0)]}
        return plots.singular_values(spectra, rank=number(2.0), **WORDS)

    def counted(number):
        return plots.histogram([number(1.0), 2], x="a", y="n", marks={"m": [number(1.5)]}, **WORDS)

    for figure in (lines, bars, ranked, counted):
        kinds = (float, torch.tensor, np.float64, lambda n: torch.tensor(n, requires_grad=True))
        assert len({figure(kind).svg for kind in kinds}) == 1


def test_labels_must_fit():
    with pytest.raises(ValueError, match="2 col_labels given but there are 3 cols"):
        plots.matrix(
            np.eye(3), rows="o", cols="s", unit="u", title="t", alt="a", col_labels=["x", "y"]
        )


def test_two_figures_on_one_page_share_no_name_and_no_style():
    words = {"x": "d", "y": "nats", "alt": "Two falling lines"}
    line = {"a": ([1, 2], [3, 1])}
    pictures = [page(plots.curves(line, title=title, **words)) for title in ("One", "Another")]
    names = [set(re.findall(r' id="([^"]+)"', picture)) for picture in pictures]
    used = [set(re.findall(r'(?:url\(|href=")#([\w-]+)', picture)) for picture in pictures]
    assert names[0] and not names[0] & names[1]
    for own, asked in zip(names, used, strict=True):
        assert asked and asked <= own
    assert all('css">.circuit-plot *{' in picture for picture in pictures)


def test_a_figure_has_the_colours_of_its_page_and_no_ground_of_its_own():
    for figure in FIGURES:
        painted = re.findall(r"(?:fill|stroke): ?(#[0-9a-f]{6})", figure.svg)
        assert not {*painted} & {"#ffffff", "#000000"}, figure.record.title
        assert "var(--ink,#1c2430)" in figure.svg


def test_a_figure_is_no_narrower_than_its_smallest_words_allow():
    for figure in FIGURES:
        (width,) = re.findall(r'style="min-width:(\d+)px"', page(figure))
        (box,) = re.findall(r'viewBox="0 0 ([\d.]+)', figure.svg)
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", figure.svg)]
        assert min(sizes) * int(width) / float(box) == pytest.approx(9, abs=0.05)


def test_a_null_is_the_middle_of_the_colours_and_nan_stays_blank():
    values = np.array([[0.25, np.nan], [0.5, 0.0]])
    shown = plots.matrix(values, rows="o", cols="s", unit="u", null=0.25, **WORDS).svg
    words = re.findall(r">([^<>]+)</text>", shown)
    assert {"0.00", "0.25 by chance", "0.50"} <= {word.strip() for word in words}
