"""Predict first: what a box asks about waits for a guess, and never for those who want none."""

import pytest
from playwright.sync_api import expect
from test_built_book import HTML

pytestmark = pytest.mark.browser
ADDRESS = (HTML / "chapters" / "02-residual-stream.html").as_uri()
COVERED = ".awaits"


@pytest.fixture
def asked(watched):
    """A chapter as it comes to a reader who was never here."""
    watched.add_init_script(
        "if (!sessionStorage.seen) { localStorage.clear(); sessionStorage.seen = 1 }"
    )
    watched.goto(ADDRESS)
    return watched


def test_a_figure_waits_for_a_guess_which_then_stands_above_it(asked):
    boxes, before = asked.locator(".predict"), asked.locator(COVERED).count()
    assert before >= boxes.count() >= 2
    first = asked.locator(COVERED).first
    expect(first).to_be_hidden()
    form = boxes.first.locator("form")
    form.get_by_label("Your guess").fill("the <b>embedding</b>")
    form.get_by_label("Your guess").press("Enter")
    expect(asked.locator(".guess-said").first).to_have_text("Your guess: the <b>embedding</b>")
    expect(asked.locator(".guess-said").first).to_be_focused()
    assert asked.locator(COVERED).count() < before
    expect(boxes.first.locator("form")).to_have_count(0)
    expect(boxes.nth(1).locator("form")).to_have_count(1)


def test_one_may_see_without_a_guess(asked):
    form = asked.locator(".predict").last.locator("form")
    form.get_by_role("button", name="Show what came out").click()
    expect(form).to_have_count(0)


def test_whoever_wants_to_see_everything_says_so_once_and_may_change_that(asked):
    asked.get_by_role("button", name="Always show everything").first.click()
    expect(asked.locator(COVERED)).to_have_count(0)
    asked.goto(ADDRESS.replace("02-residual-stream", "03-attention-heads"))
    expect(asked.locator(COVERED)).to_have_count(0)


def test_guessing_comes_back_on_request(browser):
    page = browser.new_context().new_page()
    page.goto(ADDRESS)
    page.get_by_role("button", name="Always show everything").first.click()
    page.reload()
    page.get_by_role("button", name="Let me guess first").first.click()
    expect(page.locator(".predict form").first).to_be_visible()
    assert page.locator(COVERED).count()
    page.context.close()


def test_a_link_into_an_answer_and_paper_show_it(browser):
    page = browser.new_context().new_page()
    page.goto(ADDRESS)
    anchor = page.locator(f"{COVERED} [id]").first.get_attribute("id")
    page.emulate_media(media="print")
    expect(page.locator(COVERED).first).to_be_visible()
    page.emulate_media(media="screen")
    expect(page.locator(f"[id='{anchor}']").first).to_be_hidden()
    page.evaluate("(anchor) => { location.hash = anchor }", anchor)
    expect(page.locator(f"[id='{anchor}']").first).to_be_visible()
    page.context.close()
