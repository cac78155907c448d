"""Story or code: one switch hides the code of all chapters, and is remembered."""

import pytest
from playwright.sync_api import expect
from test_built_book import HTML

from transformer_circuits.website.short_pages import PAGES

pytestmark = pytest.mark.browser
SHORT = HTML / "chapters"
ADDRESS = (HTML / "chapters" / "02-residual-stream.html").as_uri()


def test_code_is_out_of_sight_until_it_is_asked_for_and_the_choice_is_kept(watched):
    """On a busy machine a browser may lose what is kept on a page that is left at once."""
    watched.goto(ADDRESS)
    code = watched.locator("article div.cell:not(.always-code) div.cell_input")
    marks = watched.locator(".code-mark")
    story, all_code = (
        watched.get_by_role("button", name=name, exact=True) for name in ("Story", "Code")
    )
    assert code.count() > 20
    sections = "cells => new Set(cells.map((cell) => cell.closest('section'))).size"
    assert marks.count() == code.evaluate_all(sections)
    assert code.evaluate_all("cells => cells.every((cell) => !cell.getClientRects().length)")
    expect(story).to_have_attribute("aria-pressed", "true")
    marks.first.press("Enter")
    expect(code.first).to_be_visible()
    expect(code.last).to_be_hidden()
    marks.first.press("Enter")
    expect(code.first).to_be_hidden()
    all_code.press("Enter")
    expect(code.last).to_be_visible()
    expect(marks.first).to_be_hidden()
    for _ in range(10):
        watched.wait_for_timeout(500)
        watched.goto(ADDRESS.replace("02-residual-stream", "03-attention-heads"))
        if all_code.get_attribute("aria-pressed") == "true":
            break
        watched.goto(ADDRESS)
        all_code.click()
    expect(all_code).to_have_attribute("aria-pressed", "true")
    expect(code.nth(3)).to_be_visible()
    story.click()
    expect(code.nth(3)).to_be_hidden()


def test_titles_and_the_bar_above_them_have_room(watched):
    """Nothing in the bar lies on something else or beyond the page, and no mark on a title's words."""
    pages = [
        *sorted((HTML / "chapters").glob("[0-9]*.html")),
        *(SHORT / f"{n}.html" for n in PAGES),
    ]
    assert len(pages) > 25
    crowded = """() => {
        const bar = [...document.querySelectorAll(
            ".bd-header-article :is(.way > *, .reading, button, .dropdown)")];
        const shown = bar.filter((part) => part.getClientRects().length && !part.closest(".dropdown *"));
        const boxes = shown.filter((part) => !part.closest(".reading *"))
            .map((part) => part.getBoundingClientRect()).sort((a, b) => a.left - b.left);
        const lie = boxes.filter((box, k) => box.right > innerWidth || (k && box.left < boxes[k - 1].right - 1));
        const under = document.querySelector(".bd-header-article").getBoundingClientRect().bottom
            > document.querySelector("article h1").getBoundingClientRect().top;
        const onTitle = [...document.querySelectorAll(".code-mark")].filter((mark) => {
            const words = document.createRange(), { left } = mark.getBoundingClientRect();
            words.selectNode(mark.parentElement.firstChild);
            return [...words.getClientRects()].some((box) => box.right > left + 1);
        });
        return lie.length + onTitle.length + under;
    }"""
    for page in pages:
        watched.goto(page.as_uri(), wait_until="domcontentloaded")
        watched.evaluate("document.fonts.ready.then(() => true)")  # else a title may wrap later
        for width in (390, 768, 1200, 1280, 1366, 1440):
            watched.set_viewport_size({"width": width, "height": 900})
            watched.wait_for_function("(width) => innerWidth === width", arg=width)
            assert watched.evaluate(crowded) == 0, (page.name, width)


def test_what_a_check_says_and_the_answers_of_exercises_are_never_folded(watched):
    watched.goto(ADDRESS)
    expect(watched.locator("p.claim").first).to_be_visible()
    exercise = watched.locator("section[id*=exercises] div.cell_input").first
    expect(exercise).to_be_visible()


def test_without_scripts_all_code_is_there(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(ADDRESS)
    expect(page.locator("div.cell_input pre").nth(3)).to_be_visible()
    expect(page.locator(".reading")).to_be_hidden()
    context.close()


def test_a_link_to_a_section_leads_there_though_code_is_out_of_sight(watched):
    watched.goto(f"{ADDRESS}#no-privileged-basis")
    watched.wait_for_function(
        """() => {
            const top = document.querySelector("#no-privileged-basis").getBoundingClientRect().top;
            return -5 <= top && top <= 150;
        }""",
        timeout=15_000,
    )
