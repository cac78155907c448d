"""The chart that a reader asks, by keyboard, on a wide page and on a phone."""

import pytest
from conftest import resized
from playwright.sync_api import expect
from test_charts import spectrum_of

pytestmark = pytest.mark.browser
TEXTS = ".hc-live .role-mark text"


def test_a_slider_moves_the_matrix_and_what_is_said_of_it(drawn):
    page = drawn(spectrum_of(title="It rises", alt="A line that rises")())
    said, slider = page.locator(TEXTS).first, page.locator("input[type=range]")
    expect(said).to_contain_text("Copying score 1.00; ")
    expect(page.locator(TEXTS).nth(1)).to_have_text("1.00")
    slider.press("Home")
    expect(said).to_contain_text("Copying score −1.00; ")
    expect(page.locator(TEXTS).nth(1)).to_have_text("−1.00")
    for _ in range(25):
        slider.press("ArrowRight")
    expect(said).to_have_text("Copying score 0.50; 0 of 2 tokens raise themselves most")
    for width in (390, 1200):
        resized(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
