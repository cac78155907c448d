"""The short book and the evidence are one story: two pages that face each other, and lines that run."""

import re
from urllib.parse import unquote

import pytest

from transformer_circuits import stage
from transformer_circuits.book import notebooks
from transformer_circuits.book.notebooks import SHORT


def prose(page):
    cells = notebooks.read(notebooks.path(page))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def faces():
    """The map on the page that says how to read, story first."""
    row = r"^\| \d\. \[.*?\]\(([\w-]+)\.ipynb\) \| \[.*?\]\(([\w-]+)\.ipynb\) \|$"
    return dict(re.findall(row, "\n\n".join(prose("00-how-to-read")), re.M))


def test_each_page_has_its_chapter_and_both_lead_to_each_other_at_their_top():
    assert list(faces()) == [*SHORT]
    for story, evidence in faces().items():
        assert f"]({evidence}.ipynb)" in prose(story)[0]
        assert f"]({story}.ipynb)" in prose(evidence)[0]


@pytest.mark.parametrize("page", SHORT)
def test_a_link_to_the_live_page_is_a_line_of_code_that_runs(page):
    names = {name: getattr(stage, name) for name in ("zero_layers", "one_layer", "two_layers")}
    for link in re.findall(r"browser/live-model\.html(#[^\"]+)\"", "\n".join(prose(page))):
        assert link.startswith("#stage="), link
        code = unquote(link.removeprefix("#stage="))
        assert eval(code, {"__builtins__": {}}, names).code == code
