"""Every page of the built book in a real browser, from file://, with no network.

Run by `make test` after the book is built: `pytest -m browser`. Where no Chromium is installed
the tests are skipped, unless `REQUIRE_BROWSER` is set, as it is in continuous integration.
"""

import os
import re
import shutil
from pathlib import Path

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

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
KNOWN = "Identifier 'THEBE_JS_URL' has already been declared"
"""The theme puts one inline script into every page twice."""
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("REQUIRE_BROWSER is set but there is no Chromium")
        pytest.skip("no Chromium here: install Debian's package chromium to run these tests")
    if not (HTML / "index.html").is_file():
        pytest.fail(f"{HTML} is not built: run make book")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=PAGES, scope="module")
def opened(browser, request):
    """A page, opened once for all tests of it, loaded and with its formulas set; and what went wrong on the way."""
    page = browser.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(error.message))
    page.on("requestfailed", lambda request: page.wrong.append(f"failed: {request.url}"))
    page.on("request", lambda request: page.wrong.append(f"asked for {request.url}"))
    page.goto((HTML / f"{request.param}.html").as_uri(), wait_until="load")
    page.evaluate("() => window.MathJax?.startup?.promise")
    yield page
    page.close()


def test_nothing_is_missing_and_nothing_leaves_the_book(opened):
    allowed = re.compile(rf"asked for (file|data|blob):|{re.escape(KNOWN)}")
    assert [message for message in opened.wrong if not allowed.match(message)] == []


def test_every_formula_is_set(opened):
    written = opened.locator(".math").count()
    assert opened.locator(".math mjx-container").count() >= written
    assert opened.locator("mjx-merror").count() == 0


def test_every_figure_shows_and_can_be_read_aloud(opened):
    figures = opened.evaluate(
        """() => [...document.querySelectorAll("article img")].map(
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
