import json
import re
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer_circuits.figures import charts, explorers, html
from transformer_circuits.figures.values import written

WORDS = {"title": "It falls", "alt": "A line that <falls>"}
ROOT = Path(__file__).parents[2]


def spectrum_of(**words):
    """The explorer of eigenvalues, small."""
    rest = np.array([[0.0, 0.5], [0.5, 0.0]])
    return partial(explorers.spectrum, torch.eye(2), rest, tokens="ab", **words)


CHARTS = [
    partial(charts.scatter, [1, 2], [2, 1], labels="pq", x="a", y="b", **WORDS),
    partial(charts.eigenvalues, {"W": [1 + 1j, 1 - 1j, -2], "V": [0.001]}, **WORDS),
    spectrum_of(**WORDS),
]


def values(chart):
    """The rows in a chart's specification."""
    return [row for data in chart.spec["data"] for row in data.get("values", ())]


@pytest.mark.parametrize("make", CHARTS)
def test_a_chart_is_a_still_picture_and_a_specification_the_same_each_time(make):
    chart, again = make(), make()
    assert ElementTree.fromstring(chart.svg).tag.endswith("svg")
    assert chart.spec["$schema"].endswith("vega/v6.json")
    shown = chart._repr_mimebundle_()[0]
    assert shown == again._repr_mimebundle_()[0]
    assert 'aria-label="A line that &lt;falls&gt;"' in shown["text/html"]
    assert json.loads(re.search(r'json">(.*?)</script>', shown["text/html"])[1]) == chart.spec
    assert shown["text/plain"] == "[chart: It falls. A line that <falls>]"
    assert shown["image/svg+xml"] == chart.svg
    assert "<figcaption" in shown["text/html"] and "It falls" not in chart.svg


def test_eigenvalues_keep_their_angle_and_have_a_logarithmic_radius():
    points = [row for row in values(CHARTS[1]()) if "λ" in row]
    place = {p["λ"]: complex(p["x"], p["y"]) for p in points}
    assert abs(place["-2 + 0i"] + 1) < 1e-3
    assert abs(np.angle(place["1 + 1i"]) - np.pi / 4) < 1e-3
    assert abs(abs(place["1 + 1i"]) - (1 + np.log10(2**0.5 / 2) / 3)) < 1e-3
    assert abs(place["0.001 + 0i"]) < 1e-3  # more than three decades below the largest


def test_eigenvalues_are_those_of_the_mixture():
    generator = torch.Generator().manual_seed(7)
    copying, rest = torch.eye(4) * 3, torch.randn(4, 4, generator=generator)
    rows = values(explorers.spectrum(copying, rest, tokens="abcd", **WORDS))
    for s in (-1.0, 0.0, 0.5):
        shown = [complex(r["real"], r["imaginary"]) for r in rows if "real" in r and r["s"] == s]
        expected = np.linalg.eigvals((s * copying + rest).numpy())
        assert np.abs(np.sort_complex(expected) - np.sort_complex(shown)).max() < 0.01
        (said,) = (row["text"] for row in rows if "text" in row and row["s"] == s)
        score = written(expected.sum().real / np.abs(expected).sum(), ".2f")
        assert said.startswith(f"Copying score {score}; ")


def test_notebooks_ask_for_the_vega_that_the_book_holds():
    pinned = json.loads((ROOT / "package.json").read_text())["dependencies"]["vega"]
    assert f"vega@{pinned}/" in (html.SCRIPTS / "charts.js").read_text()
    hashed = json.loads((ROOT / "package-lock.json").read_text())["packages"]["node_modules/vega"]
    assert hashed["version"] == pinned


@pytest.mark.parametrize(
    "y, written, said", [("a", (), "both axes"), ("b", ("nobody",), "to be written")]
)
def test_a_scatter_that_would_lose_something_in_silence_is_refused(y, written, said):
    with pytest.raises(ValueError, match=said):
        charts.scatter([1.0], [2.0], labels=["p"], x="a", y=y, title="", alt="", written=written)
