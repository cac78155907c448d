"""From copying to anti-copying, by keyboard."""

import pytest
import torch
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser


@pytest.fixture
def drawn(saved):
    def opened(above):
        rest = torch.tensor([[0.0, above], [0.5, 0.0]])
        view = views.spectrum(torch.eye(2), rest, tokens="ab", label="A matrix")
        return saved(view)

    return opened


@pytest.fixture
def page(drawn):
    return drawn(0.5)


def test_the_slider_takes_copying_away(page):
    say, slider = page.locator(".cv-say"), page.get_by_label("From anti-copying to copying")
    expect(say).to_have_text(
        "1.00 of the copying part: score Σλ/Σ|λ| 1.00, with 0 negative and 0 complex eigenvalues. "
        "2 of 2 tokens raise themselves; 2 of 2 raise themselves most."
    )
    expect(page.locator("circle.cv-above")).to_have_count(2)
    slider.press("Home")
    expect(say).to_contain_text("-1.00 of the copying part: score Σλ/Σ|λ| -1.00, with 2 neg")
    expect(slider).to_have_attribute("aria-valuetext", "-1.00 of the copying part")
    expect(page.locator("circle.cv-below")).to_have_count(2)
    expect(page.locator(".cv-first").first).to_have_text("0.5")
    for _ in range(25):
        slider.press("ArrowRight")
    expect(say).to_contain_text("0.25 of the copying part: score Σλ/Σ|λ| 0.50, with 1 neg")
    expect(say).to_contain_text("0 of 2 raise themselves most")


def test_complex_eigenvalues_are_told_apart(drawn):
    page = drawn(-0.5)
    expect(page.locator(".cv-say")).to_contain_text("0 negative and 2 complex eigenvalues")
    expect(page.locator("circle.cv-open")).to_have_count(2)


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
