"""Estimates on one line: dots where they are, the claimed side shaded, intervals for the ear."""

import re

import pytest

from transformer_circuits.figures import forest_plot

ROWS = {"every seed": [(0.5, 0.4, 0.6), (1.0, 1.0, 1.0)], "a <control>": [(0.0, -0.1, 0.1)]}


def made(**changed):
    asked = {"rows": ROWS, "threshold": 0.2, "side": "above", "ours": "every seed"} | changed
    return forest_plot.forest_plot(
        asked.pop("rows"), asked.pop("threshold"), asked.pop("side"), **asked
    )


def test_dots_lie_on_one_scale_and_those_of_the_control_are_empty():
    shown = made()
    dots = [float(at) for at in re.findall(r'<circle cx="([\d.]+)"', shown)]
    # From -0.1 to 1 on what the margins leave of the width.
    assert dots == pytest.approx([97.6, 174.0, 21.3], abs=0.1)
    assert re.findall(r'r="3" fill="(\w+)"', shown) == ["currentColor", "currentColor", "none"]


@pytest.mark.parametrize(("side", "left", "width"), [("above", 51.8, 128.2), ("below", 0, 51.8)])
def test_the_claimed_side_is_shaded(side, left, width):
    found = re.search(r'<rect x="([\d.]+)" width="([\d.]+)"', made(side=side))
    assert [float(end) for end in found.groups()] == pytest.approx([left, width], abs=0.1)
    assert f"must be {side} 0.2" in made(side=side)


def test_intervals_are_read_aloud_and_text_is_text():
    shown = made()
    assert '0.5<span class="visually-hidden"> (0.4 to 0.6)</span>, 1<' in shown
    assert "a &lt;control&gt;" in shown


def test_values_that_are_all_alike_are_drawn():
    assert "nan" not in made(rows={"every seed": [(0.2, 0.2, 0.2)]})
