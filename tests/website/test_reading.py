"""Story or code: one switch hides the code of all chapters, and is remembered."""

import pytest
from conftest import HTML, serve
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
PAGE = "chapters/02-residual-stream.html"


def test_code_is_out_of_sight_until_it_is_asked_for_and_the_choice_is_kept(watched):
    page = f"{serve(watched, HTML)}/{PAGE}"
    watched.goto(page)
    code = watched.locator("article div.cell:not(.always-code) div.cell_input")
    marks = watched.locator(".code-mark")
    story, all_code = (
        watched.get_by_role("button", name=name, exact=True) for name in ("Story", "Code")
    )
    assert code.count() > 20
    sections = "cells => new Set(cells.map((cell) => cell.closest('section'))).size"
    assert marks.count() == code.evaluate_all(sections)
    assert code.evaluate_all("cells => cells.every((cell) => !cell.getClientRects().length)")
    expect(watched.locator("p.claim").first).to_be_visible()
    expect(watched.locator("section[id*=exercises] div.cell_input").first).to_be_visible()
    expect(story).to_have_attribute("aria-pressed", "true")
    marks.first.press("Enter")
    expect(code.first).to_be_visible()
    expect(code.last).to_be_hidden()
    marks.first.press("Enter")
    expect(code.first).to_be_hidden()
    all_code.press("Enter")
    expect(code.last).to_be_visible()
    expect(code.first).to_be_visible()  # it was folded once more
    expect(marks.first).to_be_hidden()
    watched.goto(page.replace("02-residual-stream", "03-attention-heads"))
    expect(all_code).to_have_attribute("aria-pressed", "true")
    expect(code.nth(3)).to_be_visible()
    folds = watched.locator("article details.above-input")
    expect(folds.and_(watched.locator(":not([open])"))).to_have_count(0)
    story.click()
    expect(folds.and_(watched.locator("[open]"))).to_have_count(0)
    expect(code.nth(3)).to_be_hidden()


def test_one_button_opens_all_solutions_and_folds_them_again(watched):
    watched.goto((HTML / "chapters/03-attention-heads.html").as_uri())
    folded = watched.locator(".solution.toggle-hidden")
    n_solutions = watched.locator(".solution").count()
    expect(folded).to_have_count(n_solutions)
    watched.locator(".solution .toggle-button").first.click()
    watched.get_by_role("button", name="Open all solutions").press("Enter")
    expect(folded).to_have_count(0)
    expect(watched.locator(".solution div.cell_input").last).to_be_visible()
    watched.get_by_role("button", name="Fold all solutions").press("Enter")
    expect(folded).to_have_count(n_solutions)


def test_the_model_as_text_is_in_the_story(watched):
    watched.goto((HTML / "chapters/01-notation.html").as_uri())
    expect(watched.locator(".tag_in-story div.cell_input")).to_be_visible()


def test_without_scripts_a_page_is_a_story_and_exercises_keep_their_code(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((HTML / PAGE).as_uri())
    exercises = "section[id$='-exercises'], section#exercises, .admonition"
    for cell in page.locator("div.cell > :is(div.cell_input, details.above-input)").all():
        kept = cell.evaluate("(cell, kept) => cell.parentElement.closest(kept) !== null", exercises)
        drawn = cell.evaluate("cell => getComputedStyle(cell).display !== 'none'")
        assert drawn == kept
    expect(page.locator("section#exercises div.cell_input pre").first).to_be_visible()
    expect(page.locator(".reading")).to_be_hidden()
    context.close()


def test_a_long_list_of_lines_is_cut_on_a_phone_until_one_asks_for_it(watched):
    watched.goto((HTML / "chapters/21-scorecard.html").as_uri())
    lines = watched.get_by_role("group", name="Reproduced", exact=True).locator("details")
    expect(lines.last).to_be_visible()
    watched.set_viewport_size({"width": 390, "height": 844})
    expect(lines.nth(5)).to_be_visible()
    expect(lines.last).to_be_hidden()
    rest = watched.locator(".findings-lines[aria-label=Reproduced] + button.rest")
    rest.click()
    expect(lines.last).to_be_visible()
    expect(rest).to_have_count(0)


def test_a_table_that_does_not_fit_a_phone_is_stacked_and_each_cell_says_its_column(watched):
    watched.goto((HTML / "chapters/12-how-they-work.html").as_uri())
    stacked = watched.locator("table.stacked")
    expect(stacked).to_have_count(0)
    watched.set_viewport_size({"width": 390, "height": 844})
    long = stacked.first  # the eight costliest edges
    expect(long).to_be_visible()
    header, cell = long.locator("thead th").nth(1), long.locator("td").first
    assert cell.get_attribute("data-of") == header.text_content()
    rows, cells = (long.get_by_role(role) for role in ("row", "cell"))
    expect(rows.and_(watched.locator("tbody tr"))).to_have_count(6)
    watched.get_by_role("button", name="Show all rows").first.click()
    expect(cells).to_have_count(long.locator("td").count())
    watched.set_viewport_size({"width": 1200, "height": 900})
    expect(stacked).to_have_count(0)
