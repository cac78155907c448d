"""Ten columns and their samples, by pointer and by keyboard."""

import pytest
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser
SHARES = {"exact": [k / 10 for k in range(10)], "other": [1 - k / 10 for k in range(10)]}
ROWS = [{"tenth": tenth, "text": f"place {tenth}"} for tenth in range(10, 0, -1)]


@pytest.fixture
def page(saved):
    view = views.tenths(SHARES, ROWS, label="Looks, by tenth")
    return saved(view)


def test_it_opens_with_the_strongest_tenth_and_a_click_opens_another(page):
    expect(page.locator(".cv-say")).to_have_text("Tenth 10, the strongest: exact 0.90, other 0.10.")
    expect(page.get_by_text("place 10")).to_be_visible()
    expect(page.get_by_text("place 3")).to_be_hidden()
    page.get_by_role("button", name="tenth 3: exact 0.20, other 0.80").click()
    expect(page.get_by_text("place 3")).to_be_visible()
    expect(page.locator("tbody tr:visible")).to_have_count(1)


def test_arrow_keys_go_from_tenth_to_tenth(page):
    page.get_by_role("button", name="tenth 10").press("ArrowLeft")
    expect(page.locator(".cv-say")).to_contain_text("Tenth 9:")
    page.locator(":focus").press("Home")
    expect(page.locator(".cv-say")).to_contain_text("Tenth 1, the weakest")


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
