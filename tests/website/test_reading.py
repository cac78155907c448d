"""Story or code: one switch folds the code of all chapters, and is remembered."""

import pytest
from playwright.sync_api import expect
from test_built_book import HTML

pytestmark = pytest.mark.browser
ADDRESS = (HTML / "chapters" / "02-residual-stream.html").as_uri()


def test_code_is_folded_until_it_is_asked_for_and_the_choice_is_kept(watched):
    """On a busy machine a browser may lose what is kept on a page that is left at once."""
    watched.goto(ADDRESS)
    folds = watched.locator(".code-fold")
    code = folds.locator("pre").first
    story, all_code = (
        watched.get_by_role("button", name=name, exact=True) for name in ("Story", "Code")
    )
    assert folds.count() > 20
    expect(code).to_be_hidden()
    expect(story).to_have_attribute("aria-pressed", "true")
    folds.first.locator("summary").press("Enter")
    expect(code).to_be_visible()
    expect(folds.nth(1).locator("pre")).to_be_hidden()
    all_code.press("Enter")
    expect(folds.last.locator("pre")).to_be_visible()
    for _ in range(10):
        watched.wait_for_timeout(500)
        watched.goto(ADDRESS.replace("02-residual-stream", "03-attention-heads"))
        if all_code.get_attribute("aria-pressed") == "true":
            break
        watched.goto(ADDRESS)
        all_code.click()
    expect(all_code).to_have_attribute("aria-pressed", "true")
    expect(watched.locator(".code-fold pre").first).to_be_visible()
    story.click()
    expect(watched.locator(".code-fold pre").first).to_be_hidden()


def test_no_title_runs_into_the_switch(watched):
    """Nor does the switch, which a script adds, push the text down."""
    chapters = sorted((HTML / "chapters").glob("[0-9]*.html"))
    assert len(chapters) > 20
    boxes = """() => ["article h1", ".reading", "article h1 ~ :is(p, section)"].map((part) => {
        const { top, bottom } = document.querySelector(part).getBoundingClientRect();
        return [top, bottom];
    })"""
    for chapter in chapters:
        watched.goto(chapter.as_uri(), wait_until="domcontentloaded")
        watched.evaluate("document.fonts.ready.then(() => true)")  # else a title may wrap later
        for width in (390, 768, 1200, 1280, 1366, 1440):
            watched.set_viewport_size({"width": width, "height": 900})
            watched.wait_for_function("(width) => innerWidth === width", arg=width)
            title, switch, text = watched.evaluate(boxes)
            assert title[1] <= switch[0] and switch[1] <= text[0], (chapter.name, width)
        watched.evaluate("document.querySelector('.reading').style.display = 'none'")
        without = watched.evaluate(boxes)[2]
        assert abs(without[0] - text[0]) <= 8, chapter.name


def test_what_a_check_says_and_the_answers_of_exercises_are_never_folded(watched):
    watched.goto(ADDRESS)
    expect(watched.locator("p.claim").first).to_be_visible()
    exercise = watched.locator("section[id*=exercises] div.cell_input").first
    expect(exercise).to_be_visible()
    assert watched.locator(".code-fold p.claim").count() == 0


def test_without_scripts_all_code_is_there(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(ADDRESS)
    expect(page.locator("div.cell_input pre").nth(3)).to_be_visible()
    assert page.locator(".reading").count() == 0
    context.close()


def test_a_link_to_a_section_leads_there_though_code_was_folded(watched):
    watched.goto(f"{ADDRESS}#no-privileged-basis")
    watched.wait_for_function(
        """() => {
            const top = document.querySelector("#no-privileged-basis").getBoundingClientRect().top;
            return -5 <= top && top <= 150;
        }""",
        timeout=15_000,
    )
