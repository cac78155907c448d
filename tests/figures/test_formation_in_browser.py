"""One training under one slider, by keyboard and by pointer."""

import pytest
import torch
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser
PANELS = {
    "Loss [nats]": {"text": [8.0, 6.0, 4.0]},
    "Attention": {"one back": [0.0, 0.5, 1.0], "matching": [0.0, 0.0, 0.75]},
}


@pytest.fixture
def page(saved):
    looks = torch.eye(4).expand(3, 2, 4, 4).clone()
    looks[2, 1, 3] = torch.tensor([0.0, 1.0, 0.0, 0.0])
    chances = torch.tensor([[torch.nan, 0.0, 0.0, p] for p in (0.0, 0.25, 1.0)])
    names = {"heads": ["head 0.0", "head 1.0"], "x": "million tokens"}
    view = views.formation([1, 2, 4], PANELS, "abab", looks, chances, label="A run", **names)
    return saved(view)


def pixel(page, canvas, x, y):
    """The grey of a pixel of the picture, from 0 to 1."""
    script = """(canvas, [x, y]) =>
        canvas.getContext("2d").getImageData(x * canvas.width, y * canvas.height, 1, 1).data[0] / 255"""
    return page.locator("canvas").nth(canvas).evaluate(script, [x, y])


def test_the_slider_moves_curves_pictures_and_tokens(page):
    say, slider = page.locator(".cv-say"), page.get_by_label("Moment of the training")
    expect(say).to_have_text("After 1 million tokens: text 8.00; one back 0.00, matching 0.00.")
    last = page.locator(".cv-token").last
    pale = last.evaluate("(token) => token.style.background")
    slider.press("End")
    expect(say).to_have_text("After 4 million tokens: text 4.00; one back 1.00, matching 0.75.")
    expect(slider).to_have_attribute("aria-valuetext", "4 million tokens")
    assert last.evaluate("(token) => token.style.background") != pale
    assert pixel(page, 1, 0.375, 0.875) == 0, "head 1.0 looks at the second token from the last"
    assert pixel(page, 0, 0.375, 0.875) == 1
    slider.press("ArrowLeft")
    expect(say).to_contain_text("After 2 million tokens")
    assert pixel(page, 1, 0.375, 0.875) == 1


def test_a_curve_is_pointed_at(page):
    box = page.locator(".cv-panels svg").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + 40)
    expect(page.locator(".cv-say")).to_contain_text("After 4 million tokens")
    expect(page.get_by_label("Moment of the training")).to_have_value("2")


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.eval_on_selector_all(
        ".cv-panels text", "all => all.map((t) => t.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 9
