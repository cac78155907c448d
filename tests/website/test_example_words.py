"""The words that pages give as examples work in the figure where they are to be tried.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import re
from pathlib import Path

import nbformat
import pytest
from conftest import watch
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


def prose(chapter):
    cells = nbformat.read(ROOT / "chapters" / f"{chapter}.ipynb", 4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def examples():
    """What chapter 5 gives as code before its figure of the two circuits, what pairs are given on a
    slide, and the sources of every skip-trigram, *source … destination*, in the two chapters on
    them, on the slides, in the plan."""
    to_try = next(text for text in prose("05-one-layer") if "The figure opens" in text)
    lesson = [(ROOT / "seminar" / f"{name}.md").read_text() for name in ("slides", "plan-90")]
    everywhere = "\n".join([*prose("05-one-layer"), *prose("06-skip-trigrams"), *lesson])
    to_try += "".join(re.findall(r"^`[^`|\n].*$", lesson[0], re.M))
    sources = re.findall(r"(\w+) ?… ?\w+", everywhere)
    return sorted({*re.findall(r"`([^`]+)`", to_try), *(source.lower() for source in sources)})


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    watch(page)
    page.goto((ROOT / "_build" / "html" / "chapters" / "05-one-layer.html").as_uri())
    page.wait_for_selector(".circuit-view[data-kind=circuits][role=group]")
    yield page
    page.close()


def test_the_figure_of_the_two_circuits_opens_on_what_its_text_speaks_of(page):
    view = page.locator(".circuit-view[data-kind=circuits]")
    expect(view.locator(".cv-note").first).to_have_text("Who looks at “␣keep”: attention")
    expect(view).to_contain_text("␣keep … ␣in → ␣mind")


@pytest.mark.parametrize("word", examples())
def test_an_example_can_be_tried_in_the_figure_of_the_two_circuits(page, word):
    view = page.locator(".circuit-view[data-kind=circuits]")
    view.get_by_label("Source token").fill(word)
    shown = view.locator(".cv-note").first
    expect(shown).to_have_text(
        re.compile(rf"^Who looks at “␣?{re.escape(word)}”: attention$", re.I)
    )


def test_there_are_examples():
    assert {"(", "keep", "back", "United", "king"} <= {*examples()}
