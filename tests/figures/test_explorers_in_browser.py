"""Charts that a reader asks, by pointer and by keyboard, on a wide page and on a phone."""

import pytest
from conftest import resized
from playwright.sync_api import expect
from test_charts import explorers_of

pytestmark = pytest.mark.browser
CHARTS = explorers_of(title="It rises", alt="A line that rises")
TEXTS = ".hc-live .role-mark text"


def spectrum(page):
    said, slider = page.locator(TEXTS).first, page.locator("input[type=range]")
    expect(said).to_contain_text("Copying score 1.00; ")
    expect(page.locator(TEXTS).nth(1)).to_have_text("1.00")
    slider.press("Home")
    expect(said).to_contain_text("Copying score −1.00; ")
    expect(page.locator(TEXTS).nth(1)).to_have_text("−1.00")
    for _ in range(25):
        slider.press("ArrowRight")
    expect(said).to_have_text("Copying score 0.50; 0 of 2 tokens raise themselves most")


def edges(page):
    said = page.locator(f"{TEXTS}[text-anchor=start]")  # all others are hatching
    expect(said).to_contain_text("0.1 → 1.0, into K")
    expect(said).to_contain_text("score 0.400, place 1 of 8(by chance 0.200 ± 0.010)")
    expect(said).to_contain_text("cut: 0.5 nats, place 1 of 8")
    expect(said).to_contain_text("“a” (2) loses most:0.90 becomes 0.10.")
    page.locator("select[name=edge_later]").press("ArrowDown")
    expect(said).to_contain_text("0.1 → 1.1, into K")
    page.locator("select[name=edge_later]").select_option("all")
    expect(said).to_contain_text("several edges at once")
    expect(said).to_contain_text("“b” (1) loses most:0.50 becomes 0.20.")
    page.locator(".hc-live .mark-rect path").first.click(force=True)
    expect(said).to_contain_text("0.0 → 1.0, into K")
    expect(page.locator("select[name=edge_earlier]")).to_have_value("0.0")


def training(page):
    values, slider = page.locator(f"{TEXTS}[fill^=var]"), page.locator("input[type=range]")
    shown = page.locator(".hc-live").get_by_label("source: 1; destination: 3; ")
    expect(values.filter(has_text="8.00")).to_have_count(1)
    said = page.locator(".vega-bind output")
    expect(said).to_have_text("1 million tokens")
    slider.press("End")
    expect(said).to_have_text("4 million tokens")
    for value in ("4.00", "1.00", "0.75"):
        expect(values.filter(has_text=value)).to_have_count(1)
    expect(shown).to_have_count(1)
    slider.press("ArrowLeft")
    expect(values.filter(has_text="6.00")).to_have_count(1)
    expect(shown).to_have_count(0)
    frames = page.locator(".hc-live .mark-group.role-scope .mark-group.role-scope path.background")
    frame = frames.first.bounding_box()
    page.mouse.click(frame["x"] + frame["width"] - 5, frame["y"] + 20)
    expect(slider).to_have_value("2")


@pytest.mark.parametrize("ask", [spectrum, edges, training], ids=lambda ask: ask.__name__)
def test_a_chart_answers(drawn, ask):
    page = drawn(CHARTS[ask.__name__]())
    ask(page)
    for width in (390, 1200):
        resized(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
