"""The built book in a real browser, from file://, with no network.

Every page is opened for what its own words and figures can break: something too wide, cut off or covered, an
error. What all pages of a kind share is asked of one: every width, paper, the dark, weight, axe. Run by
`make test` after the book is built: `pytest -m browser`.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import HTML, ROOT, at_every_width, barriers, painted
from playwright.sync_api import expect
from texts_in_browser import collisions

from transformer_circuits import record
from transformer_circuits.book import notebooks
from transformer_circuits.claims import catalogue

pytestmark = pytest.mark.browser
LIVE = "chapters/browser/live-model"
KINDS = [
    "chapters/a-name-comes-again", "chapters/11-induction-heads", "chapters/21-scorecard", LIVE,
    "chapters/browser/train-here", "chapters/reference/glossary", "seminar/slides", "seminar/before-and-after",
    "search",
]  # fmt: skip
"""A page of each kind: of the story, with the stage; of the evidence, with patterns, formulas, boxes and
exercises; of verdicts; two with models; a list of words; slides with notes; a form; and the search."""
one_of_each_kind = pytest.mark.parametrize("opened", KINDS, indirect=True)
WIDTHS = (320, 390, 768, 1200, 1280, 1440)
PHONE, DESK = 390, 1440
"""Every page has these widths, and those of `KINDS` the others and paper, too."""
PRINTED = (718, 907)
"""A4 in pixels, with 10 mm of margin: at the browser's own scale, and at three quarters of it."""
FORMULAS = """() => [...document.querySelectorAll("div.math")]
    .filter((box) => box.getClientRects().length)
    .map((box) => {
        const parts = [...box.querySelectorAll(".base")];
        const { left, right } = box.getBoundingClientRect();
        const begins = () => Math.min(...parts.map((part) => part.getBoundingClientRect().left)) - left;
        const ends = () => Math.max(...parts.map((part) => part.getBoundingClientRect().right)) - right;
        const [before, beyond] = [begins(), ends()];
        const scrolled = box.querySelector(".katex-html");
        scrolled.scrollLeft = scrolled.scrollWidth;
        const pushed = ends();
        scrolled.scrollLeft = 0;
        return { before, beyond, pushed };
    })"""
"""Of each formula: its beginning after its column's, its end beyond it, and that when pushed."""


FITS = """() => [...document.querySelectorAll("div:has(> table.findings)")]
    .every((box) => box.scrollWidth <= box.clientWidth + 1)"""
"""Whether no table has to be pushed."""
UNFOLDED = (
    """() => document.querySelectorAll("details.folded").forEach((each) => each.open = true)"""
)
"""What is seen of a folded table only then, and laid out."""
REACHED = """() => [...document.querySelectorAll("pre")]
    .every((pre) => pre.scrollWidth <= pre.clientWidth || pre.tabIndex >= 0)"""
"""The theme lets the keyboard push code that is too wide, a moment after the window has another width."""
BOXES = "input:is(:not([type]), [type=text], [type=search]), textarea, select"
NEEDS = "document.documentElement.scrollWidth"
PANELS = """() => [...document.querySelectorAll(".text_html:not(:has(img, table.dataframe))")]
    .filter((each) => getComputedStyle(each).backgroundColor !== "rgba(0, 0, 0, 0)")
    .map((each) => each.textContent.trim().slice(0, 80))"""
STRAYED = """() => [...document.querySelectorAll("article section > .margin")]
    .filter((note) => note.getBoundingClientRect().top
        >= note.parentElement.getBoundingClientRect().bottom).map((note) => note.textContent)"""
"""Notes in the margin that stand beside the section after their own, where nothing follows them in it."""


def read(page, how):
    """As a story, without code, or as code, with all of it."""
    page.evaluate(f"document.documentElement.dataset.reading = '{how}'")


def test_what_a_cell_shows_leaves_a_record():
    """Else it would be neither in the index nor in the manifest, and nobody would notice."""
    for chapter, copy in notebooks.fresh().items():
        for output in notebooks.outputs(copy):
            assert record.of(output) or "text/html" not in output.get("data", {}), chapter


FIGURES = """() => [
    ...[...document.querySelectorAll("article img:not([hidden], [alt=''])")].map(
        (img) => [img.alt, img.complete && img.naturalWidth > 0]),
    ...[...document.querySelectorAll(
        "article .circuit-plot[role=img]:not([hidden])")].map(
        (plot) => [plot.ariaLabel, [...plot.querySelectorAll("svg")].some(
            (svg) => svg.getBoundingClientRect().height > 50)])]"""
"""What is read aloud of each figure, and whether it shows."""


@pytest.fixture(scope="session")
def widths(opened):
    """The page at its widths, and on paper: what the tests ask there, so that it is laid out once for all.

    It is the story; on a phone and where it is narrowest and widest, its code is shown for a moment.
    """
    found, of_its_kind = {}, opened.name in KINDS
    for width in at_every_width(opened, WIDTHS if of_its_kind else (PHONE, DESK)):
        at = found[width] = {
            "needs": opened.evaluate(NEEDS),
            "strayed": opened.evaluate(STRAYED),
            "boxes": opened.eval_on_selector_all(
                BOXES, "all => all.map((box) => parseFloat(getComputedStyle(box).fontSize))"
            ),
        }
        if width == PHONE:
            opened.evaluate(UNFOLDED)
            opened.wait_for_function(FITS)  # stacked, if it is too wide
        at["formulas"] = opened.evaluate(FORMULAS)
        if width in (PHONE, DESK):
            at["texts"] = collisions(opened)
        if width in (min(WIDTHS), PHONE, DESK):
            read(opened, "code")
            at["with code"] = opened.evaluate(NEEDS)
            read(opened, "story")
    if of_its_kind and at["formulas"]:
        for width in at_every_width(opened, PRINTED, media="print"):
            found[width] = {"formulas": opened.evaluate(FORMULAS)}
    return found


@pytest.fixture(scope="session")
def in_the_dark(opened):
    """What the tests ask there, with all code."""
    opened.add_style_tag(content="* { transition: none !important }")  # else colours are half-way
    read(opened, "code")
    opened.emulate_media(color_scheme="dark")
    opened.evaluate("document.documentElement.dataset.theme = 'dark'")
    painted(opened)
    found = {
        "panels": opened.evaluate(PANELS),
        "barriers": barriers(opened, only=["color-contrast", "link-in-text-block"]),
    }
    opened.evaluate("document.documentElement.dataset.theme = 'light'")
    opened.emulate_media(color_scheme="light")
    read(opened, "story")
    return found


def test_no_page_scrolls_sideways_and_no_formula_is_cut_off(widths):
    """On a narrow screen a formula may need to be pushed to be seen to its end; a table may not."""
    for width, at in widths.items():
        if width in WIDTHS:
            assert max(at["needs"], at.get("with code", 0)) <= width
            assert at["strayed"] == [], width
        end = "pushed" if width in WIDTHS and width < 1200 else "beyond"
        for formula in at["formulas"]:
            assert formula["before"] >= 0 and formula[end] <= 0, (width, formula)


def test_no_text_of_a_figure_covers_another_or_is_cut_off(opened, widths):
    shown = opened.locator("article figure:has(svg)").count()
    for width in (PHONE, DESK):
        count, wrong = widths[width]["texts"]
        assert wrong == [], width
        assert count >= shown  # else figures are held in a way that is not looked at


def went_wrong(page):
    """Errors of a page's scripts, files that are not there, and addresses outside of the book."""
    allowed = re.compile("asked for (file|data|blob):")
    return [message for message in page.wrong if not allowed.match(message)]


def test_nothing_goes_wrong_or_leaves_the_book(opened, widths):
    assert went_wrong(opened) == []


def test_every_formula_is_set_no_id_is_there_twice_and_figures_are_read_aloud(opened, widths):
    assert opened.locator(".math").count() == opened.locator(".math .katex").count()
    assert opened.locator(".katex-error").count() == 0
    ids = opened.eval_on_selector_all("[id]", "all => all.map((element) => element.id)")
    assert sorted({name for name in ids if ids.count(name) > 1}) == []
    assert min(widths[PHONE]["boxes"]) >= 16, "a phone would zoom into a box"
    for alt, shows in opened.evaluate(FIGURES):
        assert shows, alt
        assert len(alt.split()) >= 3 and not re.search(r"\.(png|svg)$", alt), alt


def weight(page, kind):
    """Bytes of the files of a kind that a page asked for; the scripts in the page itself count."""
    asked = {message[10:].split("?")[0] for message in page.wrong if message.startswith("asked")}
    files = [Path(unquote(url[7:])) for url in asked if url.startswith("file://") and kind in url]
    inline = page.evaluate(
        "() => [...document.scripts].filter((s) => !s.src && s.type !== 'application/json')"
        ".reduce((sum, s) => sum + s.textContent.length, 0)"
    )
    return sum(path.stat().st_size for path in files) + inline


@one_of_each_kind
def test_a_page_is_light(opened):
    """At most .9 MB of scripts, and 4.5 MB with all the rest.

    Where the stage is, weights come when the page is idle: six million in eight bits each, as text 8 MB,
    and the tokenizer.
    """
    models = sum(
        path.stat().st_size
        for path in (HTML / "_static/live").glob("*.js")
        if path.stem in ("two-layer", "vocabulary")
    )
    late = models if opened.locator(".the-stage").count() else 0
    assert weight(opened, "") <= 4_500_000 + late
    assert weight(opened, ".js") <= 900_000 + late


@one_of_each_kind
def test_no_barrier_that_axe_finds(opened, in_the_dark):
    read(opened, "code")
    opened.wait_for_function(REACHED)
    found = barriers(opened)
    read(opened, "story")
    assert found == [] and in_the_dark["barriers"] == []
    assert in_the_dark["panels"] == [], "a light one, behind words in the dark"
    assert went_wrong(opened) == []


def test_what_is_served_comes_with_its_licence():
    licences = {path.stem for path in (HTML / "_static/vendor/licences").iterdir()}
    assert {"katex", "@huggingface--tokenizers"} <= licences


def test_no_page_names_a_folder_of_the_machine_that_built_it():
    for path in HTML.rglob("*.html"):
        assert str(ROOT) not in path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize(
    "words, first",
    [
        ("induction head", "Induction heads"),
        ("glossary", "Glossary"),
        ("how induction heads form", "How induction heads form"),
    ],
)
def test_the_search_begins_with_the_page_that_is_searched_for(watched, words, first):
    """And asks for no other page."""
    watched.goto(f"{(HTML / 'search.html').as_uri()}?q={words}", wait_until="load")
    watched.locator("#search-results li").nth(2).wait_for()
    expect(watched.locator("#search-results li").first.locator("a").first).to_have_text(first)


def test_a_term_says_what_it_means_and_leads_to_the_glossary(watched):
    watched.goto((HTML / "chapters/11-induction-heads.html").as_uri(), wait_until="load")
    term = watched.locator("article a.term", has_text="induction head").first
    expect(term).to_have_attribute("title", re.compile("looks for the present token earlier"))
    term.press("Enter")
    watched.wait_for_url("**/glossary.html#term-induction-head")


def test_the_list_of_exercises_leads_to_every_one(browser):
    page, listed = browser.new_page(), {}
    page.goto((HTML / "seminar/exercises.html").as_uri())
    links = page.eval_on_selector_all(
        ".exercise-index li a[href*='#']", "all => all.map((a) => a.href)"
    )
    page.close()
    for link in links:
        target, anchor = link.split("/")[-1].split("#")
        listed.setdefault(target, []).append(anchor)
    for path in (HTML / "chapters").glob("*.html"):
        there = re.findall(
            r'<div class="exercise[^"]*" id="([^"]+)"', path.read_text(encoding="utf-8")
        )
        assert there == listed.get(path.name, []), path.name
    assert len(links) >= 40


@pytest.mark.parametrize("width", [1200, 375])
def test_every_claim_has_a_mark_that_the_keyboard_reaches_and_leads_to_its_check(browser, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((HTML / "chapters/21-scorecard.html").as_uri())
    marks = page.locator("table.marks a")
    assert marks.count() == len(catalogue.claims())
    marks.last.focus()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").count(": ")
    assert (
        page.evaluate("document.querySelector('table.marks').getBoundingClientRect().right")
        <= width
    )
    links = page.eval_on_selector_all(
        "article :is(table.marks, .findings-lines) a[href*='#claim-']",
        "all => all.map((a) => a.href)",
    )
    line = page.locator(".findings-lines details").first
    expect(line.locator("dl")).to_be_hidden()
    line.locator("summary").press("Enter")
    expect(line.locator("dl")).to_be_visible()
    page.close()
    testable = sum(bool(claim.chapter) for claim in catalogue.claims().values())
    assert len(links) == 2 * testable and len({*links}) == testable, "a mark and a row for each"
    for link in {*links}:
        target, anchor = link.split("/")[-1].split("#")
        assert f'id="{anchor}"' in (HTML / "chapters" / target).read_text(encoding="utf-8"), link
