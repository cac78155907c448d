"""The numbers in what an executed chapter shows."""

import struct
import zlib

import numpy as np
import pytest

from transformer_circuits.figures import charts, plots, tables
from transformer_circuits.figures.views import attention
from transformer_circuits.release import numbers, pixels


def shown(figure):
    """As the executed copy of a chapter has it."""
    bundle = figure._repr_mimebundle_()
    return numbers.shown({"data": bundle[0] if isinstance(bundle, tuple) else bundle})


def test_a_table_gives_its_columns_and_the_rest_as_words():
    rows = [{"head": "0.3", "loss": 1.5, "n": 12, "of": "3 of 4"}, {"head": "1.1", "loss": -2.25, "n": 7, "of": "none"}]  # fmt: skip
    found = shown(tables.table(rows, caption="Nats, on 16 windows"))
    assert found.title == "Nats, on 16 windows"
    assert found.printed["loss"] == ["1.50", "-2.25"] and found.printed["n"] == ["12", "7"]
    assert found.printed[""] == ["16", "3", "4"]
    words = found.kept["words"]
    assert "0.3" in words and "# of #" in words and "1.50" not in words


def test_measured_time_is_left_out():
    """Neither as numbers nor as words: no two runs take as long."""
    quick, slow = (
        shown(tables.table([{"layers": 2, "runs": 3, "runs [s]": time}], caption="By the clock"))
        for time in (0.25, 0.5)
    )
    assert quick.kept == slow.kept and quick.printed["runs"] == ["3"]
    assert "runs [s]" in quick.kept["words"], "the column itself is there"


def test_heads_are_names_and_ends_of_intervals_are_not():
    said = numbers.Shown()
    said.say("head 1.4 saves 0.52 (0.5 to 0.7) nats, −3.1 % of x_2, GPT-2 and 1e-05")
    assert said.words == ["head 1.4 saves # (# to #) nats, # % of x_2, GPT-# and #"]
    assert said.printed[""] == ["0.52", "0.5", "0.7", "-3.1", "2", "1e-05"]


def test_a_hover_chart_gives_its_data_and_no_pixels():
    found = shown(
        charts.scatter(
            [0.125, 2], [3, 4], labels=["a", "b"], x="score", y="use", title="T", alt="2"
        )
    )
    assert found.title == "T" and [0.125, 2.0] in found.data.values()
    assert "places in the picture" not in found.data
    assert found.printed["score"] == ["0.125", "2.000"], "its table counts, too"


def test_the_rows_of_a_chart_have_no_order():
    """The same eigenvalues come in another order on another machine."""
    values = np.array([3 + 1j, 3 - 1j, -2.0])
    charts_of = (
        shown(charts.eigenvalues({"a": each}, title="T", alt="three"))
        for each in (values, values[::-1])
    )
    first, second = (chart.kept for chart in charts_of)
    assert first == second and "λ, printed" in first["data"]


def test_a_plot_gives_where_its_curves_are():
    curve = {"x": "step", "y": "nats", "title": "Loss", "alt": "falls from 3.0 to 1.0"}
    a, b = (
        shown(plots.curves({"a": ([0, 1, 2], [3.0, between, 1.0])}, **curve))
        for between in (2.0, 2.5)
    )
    assert a.title == "Loss" and {"3.0", "1.0"} <= {*a.printed[""]}
    places = "places in the picture"
    assert len(a.data[places]) == len(b.data[places]) and a.data[places] != b.data[places]


def test_a_heat_map_gives_its_shades():
    values = np.arange(64.0).reshape(8, 8) - 20
    words = {"rows": "y", "cols": "x", "unit": "u", "title": "T", "alt": "grows"}
    a, b = (shown(plots.matrix(each, **words)).data for each in (values, values.T))
    shades = np.array(a["shades (whole steps)"][: pixels.GRID**2]).reshape(pixels.GRID, -1)
    assert (np.diff(shades) >= 0).all() and shades.min() < 0 < shades.max()
    assert a["shades (whole steps)"] != b["shades (whole steps)"]


@pytest.mark.parametrize("kind", range(5))
def test_a_picture_is_decoded_however_its_rows_are_kept(kind):
    """PNG has five ways to keep a row; here each is written by its definition."""
    wanted = np.random.default_rng(0).integers(0, 256, (4, 3, 4))
    rows = b""
    for y, row in enumerate(wanted):
        rows += bytes([kind])
        for x, pixel in enumerate(row):
            left = row[x - 1] if x else np.zeros(4, int)
            up = wanted[y - 1, x] if y else np.zeros(4, int)
            corner = wanted[y - 1, x - 1] if x and y else np.zeros(4, int)
            paeth = [min((a, b, c), key=lambda v: abs(a + b - c - v))
                     for a, b, c in zip(left, up, corner, strict=True)]  # fmt: skip
            by = (0, left, up, (left + up) // 2, np.array(paeth))[kind]
            rows += ((pixel - by) % 256).astype(np.uint8).tobytes()
    data = zlib.compress(rows)
    head = struct.pack(">I4sII5s4x", 13, b"IHDR", 3, 4, bytes([8, 6, 0, 0, 0]))
    png = b"\x89PNG\r\n\x1a\n" + head + struct.pack(">I4s", len(data), b"IDAT") + data + b"    "
    assert (pixels.decoded(png) == wanted).all()
    with pytest.raises(ValueError, match="eight-bit RGBA is wanted"):
        pixels.decoded(png[:25] + b"\x02" + png[26:])


def test_a_view_gives_what_its_script_is_given_unpacked():
    patterns = np.array([[[1, 0], [0.2, 0.8]]])
    found = shown(attention(["x", "y"], patterns, label="Who looks where"))
    assert found.title == "Who looks where"
    assert [255, 51, 204] in found.data.values()


def test_what_a_cell_prints_is_left_out():
    assert numbers.shown({"output_type": "stream", "text": "took 3 s"}) is None
    assert numbers.shown({"data": {"text/plain": "3"}}) is None


@pytest.mark.parametrize("n", [numbers.MOST, numbers.MOST + 1])
def test_a_long_series_is_kept_as_a_summary(n):
    series = np.linspace(0, 1, n).tolist()
    kept = numbers.summary(series)
    if n == numbers.MOST:
        assert kept == numbers.rounded(series)
    else:
        assert kept["n"] == n and kept["range and mean"] == [0, 1, 0.5]
        assert len(kept["some"]) == numbers.SOME and kept["some"][-1] == 1
        assert kept["digest"] != numbers.summary([*series[:-1], 1.0000001])["digest"]
