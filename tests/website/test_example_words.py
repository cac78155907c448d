"""The words that pages give as examples work in the figure where they are to be tried.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import re
from pathlib import Path

import nbformat
import pytest
from conftest import watch
from playwright.sync_api import expect
from test_live_page import READY

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


LINE = "The old king Valdemar spoke, and the people heard"


@pytest.mark.parametrize(
    "chapter, text, shown",
    [
        ("a-name-comes-again", f"{LINE} Valdemar", "two layers"),
        ("one-channel", f"{LINE} V", "Why “al”"),
        ("what-one-layer-can-say", "f(x", "one layer"),
        ("what-a-second-layer-reads", f"{LINE} Valdemar", "two layers"),
    ],
)
def test_what_is_to_be_tried_on_the_live_page_is_there(watched, chapter, text, shown):
    watched.goto((ROOT / "_build" / "html" / "chapters" / f"{chapter}.html").as_uri())
    watched.get_by_role("link", name="live page", exact=True).click()
    watched.locator(".lm-parts tbody tr").first.wait_for()
    expect(watched.get_by_label("Text for the model")).to_have_value(text)
    expect(watched.locator("[data-live-model]")).to_contain_text(shown)


def test_a_finder_that_is_off_leaves_the_other_shares_as_they_were(watched):
    """As page 2 says of the link that it gives."""
    watched.goto((ROOT / "_build" / "html" / "chapters" / "one-channel.html").as_uri())
    watched.get_by_role("link", name="live page", exact=True).click()
    shares = watched.locator(".lm-parts tbody tr")
    watched.wait_for_selector(READY)
    before = {row for row in shares.all_inner_texts() if "head" in row}
    watched.get_by_label("1.0 on", exact=True).uncheck()
    watched.wait_for_selector(READY)
    gone = before - {*shares.all_inner_texts()}
    assert len(gone) == 1 and "head 1.0" in gone.pop()
