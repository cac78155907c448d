"""Both circuits of a head as the reader asks for them: by pointer, by keyboard and by a finger."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser
WORDS = ["<begin>", "land", "␣land", "␣king", "↵", "␣the", "␣long" * 12]
SOURCES = [2, 4, 6]  # ␣land, a new line and the long one
SHOWN = {
    # Destinations, nats, outputs, logits: one row for each source.
    "0.0": ([[5, 3]] * 3, [[0.0, -1.0]] * 3, [[3, 1]] * 3, [[2.0, -4.0]] * 3),
    "0.1": ([[3, 6], [5, 4], [4, 3]], [[0.0, 0.0]] * 3, [[2, 6]] * 3, [[1.0, -1.0]] * 3),
}
EXAMPLES = {"a place": ("0.0", 2), "a new line": ("0.1", 4), "a long one": ("0.1", 6)}


def opened(page, tmp_path):
    made = views.two_circuits(WORDS, SOURCES, SHOWN, examples=EXAMPLES, label="Two circuits")
    made.save(tmp_path / "view.html")
    page.goto((tmp_path / "view.html").as_uri())
    page.wait_for_selector(".tc-line b")
    return page


@pytest.fixture
def page(watched, tmp_path):
    return opened(watched, tmp_path)


def rows(page, side):
    """Of destinations (0) or outputs (1)."""
    return page.locator(".tc-columns > div").nth(side).locator("button")


def read_off(page):
    return page.locator(".tc-line b").all_text_contents()


def source(page):
    return page.get_by_label("Source that begins with")


def test_a_destination_scales_what_is_raised(page):
    assert read_off(page) == ["␣land", "␣the", "␣king"]
    expect(rows(page, 0).nth(0)).to_have_text("␣the0.50+0.00")
    expect(rows(page, 1).nth(1)).to_have_text("land−4.00−2.00")
    expect(page.locator(".cv-say")).to_have_text(
        "Head 0.0, in a context of the begin token, “␣land” and “␣the”: “␣the” pays 0.50 of its "
        "attention to “␣land”. At full attention this raises “␣king” by 2.00 logits, so here by "
        "1.00."
    )
    bar = rows(page, 1).nth(0).locator("i").nth(1)
    before = bar.bounding_box()["width"]
    rows(page, 0).nth(1).click()
    rows(page, 1).nth(1).click()
    expect(page.locator(".cv-say")).to_contain_text("lowers “land” by 4.00 logits, so here by 1.08")
    assert bar.bounding_box()["width"] == pytest.approx(before * 0.2689 / 0.5, abs=1)
    assert read_off(page) == ["␣land", "␣king", "land"]


def test_a_source_is_found_by_how_it_begins(page):
    source(page).fill("la")
    found = page.get_by_role("group", name="Tokens that begin so").get_by_role("button")
    expect(found).to_have_text(["␣land", "land"])  # what is carried comes first
    found.nth(1).click()
    expect(page.locator(".cv-say")).to_have_text(
        "“land” is a token, but this figure has no numbers for it, only for 3 others."
    )
    expect(page.locator(".tc-columns")).to_be_hidden()
    source(page).fill("xyz")
    expect(page.locator(".cv-say")).to_contain_text("No token begins with “xyz”")
    source(page).fill("")
    source(page).fill("\\n")
    source(page).press("Enter")
    expect(page.locator(".tc-columns")).to_be_visible()
    assert read_off(page)[0] == "↵"
    expect(source(page)).to_be_focused()


def test_another_head_keeps_the_source(page):
    page.get_by_label("0.1", exact=True).check()
    expect(page.locator(".cv-say")).to_contain_text("Head 0.1")
    assert read_off(page) == ["␣land", "␣king", "␣land"]


def test_everything_can_be_done_with_the_keyboard(page):
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("0.1", exact=True)).to_be_checked()
    for _ in range(2):
        page.keyboard.press("Tab")  # the source, then the examples: one stop
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".cv-say")).to_contain_text("“↵”")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    expect(rows(page, 0).nth(1)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    expect(rows(page, 1).nth(0)).to_be_focused()


def test_a_finger_does_the_same(browser, tmp_path):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = opened(context.new_page(), tmp_path)
    page.get_by_role("button", name="a new line").tap()
    expect(page.locator(".cv-say")).to_contain_text("Head 0.1")
    rows(page, 0).nth(1).tap()
    expect(rows(page, 0).nth(1)).to_have_attribute("aria-pressed", "true")
    context.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("button", name="a long one").click()
    expect(page.locator(".cv-say")).to_contain_text("␣long")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sides = [rows(page, side).nth(0).bounding_box() for side in (0, 1)]
    assert (sides[0]["x"] == sides[1]["x"]) == (width == 390)  # stacked on a phone


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_barrier_that_axe_finds(page, theme):
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    page.wait_for_selector(".circuit-view[data-dark]" if theme == "dark" else ".circuit-view")
    source(page).fill("l")
    expect(page.get_by_role("button", name="land", exact=True)).to_be_visible()
    found = Axe().run(page).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
