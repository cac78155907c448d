"""The slider over a training as the reader has it: by pointer, keyboard and finger, on any screen."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from test_moments import made

pytestmark = pytest.mark.browser


@pytest.fixture
def page(watched, tmp_path):
    made().save(tmp_path / "view.html")
    watched.goto((tmp_path / "view.html").as_uri())
    watched.wait_for_selector(".cv-charts circle")
    return watched


def cursor(page):
    return page.locator(".cv-charts line[stroke='var(--mark)']").bounding_box()["x"]


def said(page, words):
    expect(page.locator(".cv-say")).to_have_text(re.compile(words))


def test_the_slider_moves_everything_together(page):
    said(
        page, "At 2 million tokens: loss 4.00, head 0.1 0.50, head 1.2 0. From “␣two” \\(2\\), head"
    )
    said(page, "looks most at “␣one” \\(1\\): 1.00. What really comes next, “␣one”, has .* 0.40.$")
    before = cursor(page)
    slider = page.get_by_role("slider")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "8 million tokens")
    said(page, "At 8 million tokens: loss 3.00, .* looks most at “␣two” \\(2\\): 1.00.")
    expect(page.locator(".cv-charts text", has_text="head 1.2 0.12")).to_be_visible()
    assert cursor(page) > before + 50
    slider.press("Home")
    said(page, "At 0.5 million tokens: .*looks most at “<begin>” \\(0\\)")


def test_a_press_on_the_curves_goes_to_the_nearest_moment(page):
    box = page.locator(".cv-charts svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 60)
    expect(page.locator(".cv-slide output")).to_have_text("8 million tokens")
    page.mouse.move(box["x"] + 40, box["y"] + 60)
    page.mouse.down()
    expect(page.locator(".cv-slide output")).to_have_text("0.5 million tokens")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=3)
    page.mouse.up()
    expect(page.locator(".cv-slide output")).to_have_text("2 million tokens")


def test_a_token_is_chosen_in_the_text_and_in_the_picture(page):
    first = page.locator(".cv-token").first
    first.click()
    said(page, "From “<begin>” \\(0\\), .* What really comes next, “␣one”, has probability 0\\.")
    expect(first).to_have_attribute("aria-pressed", "true")
    first.press("ArrowRight")
    page.keyboard.press("Enter")
    said(page, "From “␣one” \\(1\\)")
    box = page.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] - 5)
    said(page, "From “␣one” \\(3\\), head 1.2 looks most at “␣two” \\(2\\): 1.00.$")


def test_it_plays_to_the_end_and_stops(page):
    button = page.get_by_role("button", name="Play")
    button.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".cv-say")).to_have_attribute("aria-live", "off")
    expect(page.locator(".cv-slide output")).to_have_text("8 million tokens")
    expect(button).to_be_visible()
    expect(page.locator(".cv-say")).to_have_attribute("aria-live", "polite")


def test_who_wants_less_motion_is_offered_none(page):
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    page.wait_for_selector(".cv-charts circle")
    expect(page.get_by_role("button", name="Play")).to_have_count(0)


def test_the_numbers_stay_there_as_a_table(page):
    page.get_by_text("All numbers as a table").click()
    expect(page.locator("table tbody tr")).to_have_count(3)


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_is_legible_and_accessible(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("document.querySelector('.cv-charts svg').clientWidth < innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = "[...document.querySelectorAll('.cv-charts text')].map((text) => getComputedStyle(text).fontSize)"
    assert set(page.evaluate(sizes)) <= {"11px", "12px"}
    rules = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}}
    assert Axe().run(page, options=rules).response["violations"] == []
