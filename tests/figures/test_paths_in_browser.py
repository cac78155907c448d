"""The sum over paths as the reader has it: every path, group and answer by pointer and by keyboard."""

import pytest
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser
PATHS = {
    (): [2.0, 1.0],
    ("0.0",): [-1.0, 0.0],
    ("0.1",): [3.0, 1.0],
    ("1.0",): [0.0, 4.0],
    ("0.1", "1.0"): [0.5, 0.25],
}


@pytest.fixture
def page(saved):
    view = views.paths(PATHS, answers=["␣a", "␣b"], unit="logits", label="A sum over paths")
    return saved(view)


def value(page, name):
    row = page.locator(".cv-path", has=page.get_by_text(name, exact=True)).first
    return row.locator("output")


def test_the_sums_are_of_what_is_on_and_the_first_answer_is_named(page):
    expect(value(page, "one head of layer 0")).to_have_text("2.00")
    expect(value(page, "␣a")).to_have_text("4.50")
    expect(value(page, "␣b")).to_have_text("6.25")
    expect(page.locator(".cv-say")).to_have_text(
        "With 5 of 5 paths on, “␣b” is first among these answers."
    )
    page.get_by_label("one head of layer 1").uncheck()
    expect(value(page, "␣b")).to_have_text("2.25")
    expect(page.locator(".cv-say")).to_have_text(
        "With 4 of 5 paths on, “␣a” is first among these answers."
    )
    for name in ("the direct path", "one head of layer 0", "two heads in a row"):
        page.get_by_label(name).uncheck()
    expect(page.locator(".cv-say")).to_have_text("With no path on, all answers are alike.")


def test_a_group_opens_into_its_paths_by_keyboard(page):
    page.locator("summary").press("Enter")
    box = page.get_by_label("0.1", exact=True)
    box.press(" ")
    expect(value(page, "␣a")).to_have_text("1.50")
    whole = page.get_by_label("one head of layer 0")
    assert whole.evaluate("(box) => box.indeterminate")
    whole.press(" ")
    expect(box).not_to_be_checked()
    expect(page.get_by_label("0.0", exact=True)).not_to_be_checked()


def test_another_answer_has_other_bars(page):
    bar = page.locator(".cv-path").first.locator(".cv-bar i")
    before = bar.bounding_box()["width"]
    page.get_by_label("␣b", exact=True).check()
    expect(value(page, "the direct path")).to_have_text("1.00")
    assert bar.bounding_box()["width"] == pytest.approx(before / 2, abs=1)


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
