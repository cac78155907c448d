"""Bars and the places behind them as the reader has them, by pointer, keyboard and finger."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from test_samples import made

pytestmark = pytest.mark.browser


@pytest.fixture
def page(watched, tmp_path):
    made().save(tmp_path / "view.html")
    watched.goto((tmp_path / "view.html").as_uri())
    watched.wait_for_selector(".circuit-view[role=group]")
    return watched


def test_the_last_group_is_open_at_first(page):
    expect(page.locator(".cv-say")).to_have_text(
        "The tenth 2: attention 0.5, exact 1. Here are 2 of its places."
    )
    texts = page.locator(".cv-passage p")
    expect(texts).to_have_text(["‹␣a›⟦␣c⟧ … «␣a»", "‹␣a›⟦<d>⟧ … «␣a»"])
    expect(page.locator(".cv-passage .cv-note").first).to_have_text(
        "probability 0.250 · comes next ␣c"
    )


def test_a_bar_is_chosen_by_pointer_and_by_keyboard(page):
    bars = page.locator(".cv-bars button")
    expect(bars.first).to_have_attribute("aria-label", "tenth 1: attention 0.25")
    bars.first.click()
    expect(page.locator(".cv-passage p")).to_have_text(["‹␣a›⟦␣b⟧ … «␣a»"])
    expect(bars.first).to_have_attribute("aria-pressed", "true")
    bars.first.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".cv-passage")).to_have_count(2)
    expect(page.locator(".cv-say")).to_have_text(re.compile("The tenth 2"))


def test_bars_are_as_high_as_their_values(page):
    heights = [page.locator(".cv-bars i").nth(k).bounding_box()["height"] for k in (0, 1)]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.5)


def test_every_sample_stays_there_in_a_table(page):
    page.get_by_text("All samples as a table").click()
    expect(page.locator("table tbody tr")).to_have_count(3)


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_accessible(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function(
        "(dark) => document.querySelector('.circuit-view').hasAttribute('data-dark') === dark",
        arg=scheme == "dark",
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rules = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}}
    assert Axe().run(page, options=rules).response["violations"] == []
