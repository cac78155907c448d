import inspect
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from transformer_circuits import diagrams, plots

WORDS = {"title": "It falls", "alt": "A curve that falls <sharply>"}
FIGURES = [
    plots.matrix(torch.eye(3), rows="output", cols="source", unit="logits", **WORDS),
    plots.matrix(-np.eye(3), rows="o", cols="s", unit="u", row_labels="abc", **WORDS),
    plots.curves({"a": ([1, 2], [3, 1])}, x="d", y="nats", baselines={"floor": 0.5}, **WORDS),
    plots.curves({"a": ([1, 2], [3, 1])}, x="d", y="nats", places={"here": 1.5}, **WORDS),
    plots.bars({"uniform": 2.0, "ours": 1.0}, unit="nats", baseline=("floor", 0.7), **WORDS),
    plots.scatter([1, 2], [2, 1], x="a", y="b", diagonal=True, **WORDS),
    plots.histogram([1, 2, 2], x="a", y="n", **WORDS),
    plots.singular_values({"W": [3.0, 1.0]}, rank=2, **WORDS),
    plots.scatter([1, 2], [2, 1], x="a", y="b", labels="pq", **WORDS),
    plots.histogram([1, 2, 2], x="a", y="n", marks={"here": [1.5]}, **WORDS),
    plots.eigenvalues({"W": [1 + 1j, 1 - 1j, -2], "V": torch.eye(2)[0].cfloat()}, **WORDS),
    diagrams.links({"Q": np.eye(2, 3), "K": -np.eye(2, 3)}, earlier="abc", later="de", **WORDS),
]


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_an_svg_with_alternative_text(figure):
    assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
    shown = figure._repr_mimebundle_()
    assert 'alt="A curve that falls &lt;sharply&gt;"' in shown["text/html"]
    assert "A curve that falls" in shown["text/plain"]


def test_figures_are_the_same_bytes_each_time():
    again = plots.scatter([1, 2], [2, 1], x="a", y="b", diagonal=True, **WORDS)
    assert again.svg == FIGURES[5].svg


def test_every_figure_must_be_told_its_title_and_alternative_text():
    for name in (
        "matrix",
        "curves",
        "bars",
        "scatter",
        "histogram",
        "singular_values",
        "eigenvalues",
    ):
        parameters = inspect.signature(getattr(plots, name)).parameters
        for needed in ("title", "alt"):
            assert parameters[needed].default is inspect.Parameter.empty


def test_only_what_is_positive_is_linked():
    shown = {"later": "de", "earlier": "ab"} | WORDS
    counts = [
        diagrams.links({"Q": panel}, **shown).svg.count("stroke-linecap: square")
        for panel in (np.eye(2), np.eye(2) * [1, -1], np.ones((2, 2)))
    ]
    assert counts[0] - counts[1] == 1
    assert counts[2] - counts[0] == 2
    with pytest.raises(ValueError, match=r'panel "Q" is \(3, 3\) but there are 2 later and 2'):
        diagrams.links({"Q": np.eye(3)}, **shown)


def test_labels_must_fit():
    with pytest.raises(ValueError, match="2 col_labels given but there are 3 cols"):
        plots.matrix(
            np.eye(3), rows="o", cols="s", unit="u", title="t", alt="a", col_labels=["x", "y"]
        )
