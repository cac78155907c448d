import pytest

from transformer_circuits.figures import plots, tables, views
from transformer_circuits.figures.drawings import superposition
from transformer_circuits.website import gallery

WORDS = {"title": "Up and up", "alt": "It rises with time"}


def html_of(figure):
    return figure._repr_mimebundle_()["text/html"]


def test_a_chart_is_small_as_a_drawing_and_a_view_as_pixels():
    chart, ending = gallery.small(html_of(plots.bars({"a": 1.0}, unit="nats", **WORDS)))
    assert ending == ".svg" and chart.startswith(b"<svg") and chart.endswith(b"</svg>")
    assert b"#1c2430" in chart  # of a light page, where there is no page
    pixels, ending = gallery.small(html_of(views.attention(["a"], [[[1.0]]], label="All heads")))
    assert ending == ".png" and pixels.startswith(b"\x89PNG")
    assert gallery.small(html_of(tables.table([{"a": 1}], caption="No figure"))) is None


def test_a_drawing_is_small_in_its_wide_layout():
    drawn = superposition.superposition({"two": [[1.0, 0.0], [0.0, 1.0]]})
    assert gallery.small(html_of(drawn))[0].decode() == drawn.svgs[0]


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_a_picture_lies_beside_the_pages(tmp_path, ending):
    address = gallery.write(tmp_path, "04-zero-figure-up", (b"data", ending))
    assert address == f"_static/figures/04-zero-figure-up{ending}"
    assert (tmp_path / address).read_bytes() == b"data"
