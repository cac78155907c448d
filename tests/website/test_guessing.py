"""Predict first: what a box asks about waits for a guess, and never for those who want none."""

import pytest
from conftest import HTML, ready, serve
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
COVERED = ".awaits"


@pytest.fixture
def asked(browser):
    """A chapter as it comes to a reader who was never here."""
    page, wrong = browser.new_context().new_page(), []
    page.on("pageerror", lambda error: wrong.append(error.message))
    page.goto(f"{serve(page, HTML)}/chapters/02-residual-stream.html")
    ready(page)
    yield page
    page.context.close()
    assert wrong == []


def places(page):
    """How far down the page everything stands that a reader may be reading."""
    return page.evaluate(
        "[...document.querySelectorAll('article :is(h2, figure, table, p)')]"
        ".filter(each => each.getClientRects().length)"
        ".map(each => Math.round(each.getBoundingClientRect().top + scrollY))"
    )


def test_a_figure_waits_for_a_guess_which_is_then_compared_and_nothing_above_moves(asked):
    (box,) = asked.locator(".predict").all()
    came = asked.locator("article p", has_text="What came out: “A head of the second layer”. It is")
    expect(asked.locator(f"{COVERED} figure").first).to_be_hidden()
    expect(came).to_be_hidden()
    field = asked.locator(COVERED).first.bounding_box()
    assert field["height"] < 200, "no large empty field"
    before = [place for place in places(asked) if place < field["y"]]
    assert len(before) > 5
    box.get_by_role("button", name="The embedding.").click()
    expect(box.locator(".guess-said")).to_have_text(
        "You guessed “The embedding”. What came out: “A head of the second layer”."
    )
    expect(box.locator(".guess-said")).to_be_focused()
    expect(came).to_be_visible()
    expect(asked.locator(COVERED)).to_have_count(0)
    assert places(asked)[: len(before)] == before
    asked.reload()
    box.get_by_role("button", name="A head of the second layer.").click()
    expect(box.locator(".guess-said")).to_have_text("You guessed right.")


def test_one_may_see_without_a_guess_now_or_always_and_change_that(asked):
    asked.get_by_role("button", name="Show what came out").click()
    expect(asked.locator(COVERED)).to_have_count(0)
    asked.reload()
    asked.get_by_role("button", name="Always show everything").first.click()
    asked.reload()
    expect(asked.locator(COVERED)).to_have_count(0)
    asked.get_by_role("button", name="Let me guess first").first.click()
    expect(asked.locator(".predict button.guess").first).to_be_visible()
    expect(asked.locator(COVERED)).not_to_have_count(0)


def test_on_paper_guesses_are_a_list_and_no_buttons(asked):
    """They had been printed as boxes that nobody can press."""
    asked.emulate_media(media="print")
    looks = asked.locator(".predict :is(li button, .guess-others button)").evaluate_all(
        "all => all.filter((one) => one.getClientRects().length).map((one) => {"
        "const { backgroundColor, borderTopWidth, boxShadow } = getComputedStyle(one);"
        "return [one.textContent, backgroundColor, borderTopWidth, boxShadow]; })"
    )
    assert len(looks) == asked.locator(".predict li").count() == 3
    for text, *plain in looks:
        assert len(text) > 3 and plain == ["rgba(0, 0, 0, 0)", "0px", "none"], text


def test_a_link_into_an_answer_and_paper_show_it(asked):
    anchor = asked.locator(f"{COVERED} [id]").first.get_attribute("id")
    target = asked.locator(f"[id='{anchor}']").first
    asked.emulate_media(media="print")
    expect(target).to_be_visible()
    asked.emulate_media(media="screen")
    expect(target).to_be_hidden()
    asked.evaluate("(anchor) => { location.hash = anchor }", anchor)
    expect(target).to_be_visible()
