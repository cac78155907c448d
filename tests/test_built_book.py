"""Every page of the built book in a real browser, from file://, with no network.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

from transformer_circuits import claims

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [
    TOC["root"],
    *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]),
    "search",
    "genindex",
]
LIVE = "chapters/live-model"
KNOWN = "Identifier 'THEBE_JS_URL' has already been declared"
"""The theme puts one inline script into every page twice."""


@pytest.fixture(params=PAGES, scope="module")
def opened(browser, request):
    """A page, opened once for all tests of it, with what moves drawn; and what went wrong."""
    if not (HTML / "index.html").is_file():
        pytest.fail(f"{HTML} is not built: run make book")
    page = browser.new_page()
    page.wrong, page.name = [], request.param
    page.on("pageerror", lambda error: page.wrong.append(error.message))
    page.on("requestfailed", lambda request: page.wrong.append(f"failed: {request.url}"))
    page.on("request", lambda request: page.wrong.append(f"asked for {request.url}"))
    page.goto((HTML / f"{request.param}.html").as_uri(), wait_until="load")
    for waiting in (".hover-chart:not([data-drawn])", "[data-live-model]:not([data-ready])"):
        page.wait_for_selector(waiting, state="detached")
    page.wait_for_function(
        "document.querySelectorAll('.circuit-view:not([role=group])').length === 0"
    )
    yield page
    page.close()


def test_nothing_is_missing_and_nothing_leaves_the_book(opened):
    allowed = re.compile(rf"asked for (file|data|blob):|{re.escape(KNOWN)}")
    assert [message for message in opened.wrong if not allowed.match(message)] == []


def test_every_formula_is_set(opened):
    assert opened.locator(".math").count() == opened.locator(".math .katex").count()
    assert opened.locator(".katex-error").count() == 0


def weight(page, kind):
    """Bytes of the files of a kind that a page asked for; the scripts in the page itself count."""
    asked = {message[10:].split("?")[0] for message in page.wrong if message.startswith("asked")}
    files = [Path(unquote(url[7:])) for url in asked if url.startswith("file://") and kind in url]
    inline = page.evaluate(
        "() => [...document.scripts].filter((s) => !s.src && s.type !== 'application/json')"
        ".reduce((sum, s) => sum + s.textContent.length, 0)"
    )
    return sum(path.stat().st_size for path in files) + inline


def test_a_page_is_light(opened):
    """At most 1 MB of scripts, and 4.5 MB with all the rest; the live page brings its weights."""
    assert weight(opened, "") <= 4_500_000
    assert opened.name == LIVE or weight(opened, ".js") <= 1_000_000


def test_every_figure_shows_and_can_be_read_aloud(opened):
    figures = opened.evaluate(
        """() => [...document.querySelectorAll("article img:not([hidden])")].map(
            (img) => [img.alt, img.complete && img.naturalWidth > 0])"""
    )
    for alt, shows in figures:
        assert shows, alt
        assert len(alt.split()) >= 3 and not re.search(r"\.(png|svg)$", alt), alt


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_that_axe_finds(opened, scheme):
    opened.add_style_tag(content="* { transition: none !important }")  # else colours are half-way
    opened.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
    found = Axe().run(opened).response["violations"]
    serious = [
        (violation["id"], node["html"][:120], node["failureSummary"].splitlines()[-1])
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
    assert serious == []


def test_what_is_served_comes_with_its_licence():
    licences = {path.stem for path in (HTML / "_static/vendor/licences").iterdir()}
    assert {"vega", "katex", "@huggingface--tokenizers", "d3-array"} <= licences


def test_a_term_says_what_it_means_when_pointed_at_or_focused(watched):
    watched.goto((HTML / "chapters/08-induction-heads.html").as_uri(), wait_until="load")
    term = watched.locator("article a.term", has_text="induction head").first
    assert term.get_attribute("href") == "glossary.html#term-induction-head"
    tip = watched.locator(".tippy-box")
    for show, hide in ((term.focus, term.blur), (term.hover, lambda: watched.mouse.move(0, 0))):
        show()
        tip.wait_for()
        assert "looks for the present token earlier" in tip.inner_text()
        assert term.get_attribute("aria-describedby") == tip.locator("xpath=..").get_attribute("id")
        hide()
        tip.wait_for(state="detached")


@pytest.mark.parametrize(
    "index, mark",
    [
        ("chapters/figures", r'<figure id="([^"]+)"'),
        ("seminar/exercises", r'<div class="exercise[^"]*" id="([^"]+)"'),
    ],
)
def test_an_index_leads_to_everything_of_its_kind(browser, index, mark):
    page = browser.new_page()
    page.goto((HTML / f"{index}.html").as_uri())
    links = page.eval_on_selector_all("article li a[href*='#']", "all => all.map((a) => a.href)")
    page.close()
    listed = {}
    for link in links:
        target, anchor = link.split("/")[-1].split("#")
        listed.setdefault(target, []).append(anchor)
    assert len(links) >= 40
    for path in (HTML / "chapters").glob("*.html"):
        assert re.findall(mark, path.read_text(encoding="utf-8")) == listed.get(path.name, [])


def test_every_verdict_leads_to_its_check(browser):
    page = browser.new_page()
    page.goto((HTML / "chapters/13-scorecard.html").as_uri())
    links = page.eval_on_selector_all("article a[href*='#claim-']", "all => all.map((a) => a.href)")
    page.close()
    testable = sum(bool(claim.chapter) for claim in claims.read().values())
    assert len(links) == testable
    for link in links:
        target, anchor = link.split("/")[-1].split("#")
        assert f'id="{anchor}"' in (HTML / "chapters" / target).read_text(encoding="utf-8"), link
