from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_hex

from transformer_circuits.figures import charts, placement, theme

WORDS = {"title": "It falls", "alt": "A line that <falls>"}
SPECTRA = {"W": [1 + 1j, 1 - 1j, -2], "V": [0.001]}
CHARTS = [
    partial(charts.scatter, [1, 2], [2, 1], labels="pq", x="a", y="b", **WORDS),
    partial(charts.eigenvalues, SPECTRA, **WORDS),
]


def test_chosen_names_stand_beside_their_points_and_none_on_another():
    points = [(0.0, 0.0), (0.5, 0.5), (0.99, 0.99), (0.99, 0.985), (0.95, 0.99)]
    xs, ys = zip(*points, strict=True)
    words = {"labels": "pqrst", "written": "prst", "x": "a", "y": "b", **WORDS}
    for figure in charts.scatter(xs, ys, **words).figures:
        figure.draw_without_rendering()
        named = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
        assert sorted(named) == ["p", "r", "s", "t"]
        points_at = figure.axes[0].transData.transform(points)
        for name, box in named.items():
            assert not any(box.contains(*place) for place in points_at), name
            assert not any(box.overlaps(other) for k, other in named.items() if k != name), name


def test_points_have_the_colours_of_their_names_and_both_axes_one_scale_with_what_they_beat():
    named = {"labels": ["0.1", "1.2", "K 0.1 → 1.2"], "x": "a", "y": "b", **WORDS}
    null = {"random": ([0.0, -1.0], [0.0, 0.5])}
    beside = {"null": null, "places": {"chance": 3.0}}
    chart = charts.scatter([1, 2, 2], [2, 5, 1], **named, **beside, one_scale=True)
    [legend] = chart.figures[0].legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["first layer", "second layer", "into K", "random"]
    colours = [to_hex(dots.get_facecolor()[0]) for dots in chart.axes.collections]
    roles = [theme.ROLES[role].light for role in ("first", "second", "key")]
    assert colours == [*roles, placement.GREY]
    assert chart.axes.get_xlim() == chart.axes.get_ylim() == pytest.approx((-1.36, 5.36))
    numbers = chart.record.numbers
    assert numbers["chance"] == 3 and list(numbers["random, mean and sd: a"]) == [-0.5, 0.5]
    apart = charts.scatter([1, 2, 2], [2, 5, 1], **named, **beside)
    assert apart.axes.get_xlim()[1] < 3.5 and apart.axes.get_ylim()[1] > 5


def test_eigenvalues_keep_their_angle_and_have_a_logarithmic_radius():
    for figure in CHARTS[1]().figures:
        plane = figure.axes[0]
        assert plane.get_title() == "W"
        positive, negative = (dots.get_offsets() @ [1, 1j] for dots in plane.collections)
        assert abs(negative[0] + 1) < 1e-3
        assert abs(np.angle(positive[0]) - np.pi / 4) < 1e-3
        assert abs(abs(positive[0]) - (1 + np.log10(2**0.5 / 2) / 3)) < 1e-3
        [small] = figure.axes[1].collections[0].get_offsets()
        assert abs(small).max() < 1e-3  # more than three decades below the largest


@pytest.mark.parametrize(
    "y, written, said", [("a", (), "both axes"), ("b", ("nobody",), "to be written")]
)
def test_a_scatter_that_would_lose_something_in_silence_is_refused(y, written, said):
    with pytest.raises(ValueError, match=said):
        charts.scatter([1.0], [2.0], labels=["p"], x="a", y=y, title="", alt="", written=written)
