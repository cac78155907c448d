"""The short book as a reader meets it: light, at rest, each figure beside its words."""

import re
from pathlib import Path

import pytest
from conftest import watch
from docutils import nodes
from test_built_book import HTML

from transformer_circuits.website import serving
from transformer_circuits.website.short_pages import PAGES, rows

KEPT = """
    window.shifted = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((shift) => {
        if (!shift.hadRecentInput) window.shifted += shift.value;
    })).observe({ type: "layout-shift", buffered: true });
    const tried = setInterval(() => {
        const knob = document.querySelector(".circuit-stage [role=switch]");
        knob?.click();
        if (knob?.ariaChecked !== "false") return;
        window.answered = performance.now();
        clearInterval(tried);
        knob.click();
    }, 20);
"""
"""Sums how far things move, and notes when the switch of the stage first answers."""
THEME = re.compile(
    r"_static/(styles|scripts|vendor/(katex|popper|tippy|fontawesome)|tippy|togglebutton|copybutton|clipboard|mystnb"
    r"|pygments|sphinx|design-tabs|doctools|documentation_options|exercise|katex-math)"
)
"""What every page of the theme and of its extensions loads."""


def cell(html=""):
    return nodes.container("", nodes.raw("", html, format="html"), classes=["cell"])


def laid(*children):
    """What stands in each row: words, or the words before and after a figure."""
    shown = []
    for row in rows(list(children)):
        if "beside" in row.get("classes", []):
            before, _, *after = row.children
            shown.append((before.astext().strip(), "".join(part.astext() for part in after)))
        else:
            shown.append(row.astext())
    return shown


def test_a_figure_stands_beside_the_paragraph_before_it_and_what_follows():
    a, b, c = (nodes.paragraph("", name) for name in "abc")
    title, section = nodes.title("", "title"), nodes.section("", nodes.paragraph("", "below"))
    assert laid(title, a, b, cell("<figure>"), c, section) == ["title", "a", ("b", "c"), "below"]
    assert laid(a, cell(), cell("<table>")) == [("a", "")], "code without output comes between"
    assert laid(cell("<figure>"), a, cell("<figure>"), b) == [("", ""), ("a", "b")]
    stage = cell('<figure class="circuit-stage">')
    assert rows([a, stage, b]) == [a, stage, b], "it needs the whole width"


def open_watched(browser, name, size=(1440, 900), held=None):
    """A page of the short book, and the files that it asked for; `held`: where faces wait to come."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    watch(page)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(KEPT)
    if held is not None:
        page.route("**/*.woff2", lambda route: held.append(route))
    page.devtools = page.context.new_cdp_session(page)
    page.devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    until = "load" if held is None else "domcontentloaded"
    page.goto((HTML / "chapters" / f"{name}.html").as_uri(), wait_until=until)
    return page, [Path(url[7:].split("?")[0]) for url in asked if url.startswith("file://")]


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1440, 900), (768, 1024), (390, 844)])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_moves_under_the_reader(browser, name, size):
    """Neither when scripts and faces come, nor while the stage plays."""
    page, _ = open_watched(browser, name, size)
    page.wait_for_timeout(300)
    shifted = page.evaluate("window.shifted")
    page.close()
    assert shifted < 0.05


@pytest.mark.browser
def test_what_stands_there_until_the_faces_come_is_as_wide_and_as_high(browser):
    held = []
    page, _ = open_watched(browser, PAGES[0], held=held)
    page.wait_for_timeout(300)
    lengths = """() => [...document.querySelectorAll("article :is(p, h1, h2)")].map((words) => {
        const one = document.createElement("span"), { font } = getComputedStyle(words);
        Object.assign(one.style, { font, whiteSpace: "pre", position: "absolute", visibility: "hidden" });
        one.innerHTML = words.innerHTML;
        document.body.append(one);
        const { width, height } = one.getBoundingClientRect();
        one.remove();
        return [width, height];
    })"""
    assert held
    before = page.evaluate(lengths)
    while held:
        held.pop().continue_()
        page.wait_for_timeout(20)  # others may be asked for only now
    page.evaluate("document.fonts.ready.then(() => true)")
    after = page.evaluate(lengths)
    page.close()
    for (wide, high), (now_wide, now_high) in zip(before, after, strict=True):
        assert abs(high - now_high) <= 2
        assert abs(wide - now_wide) <= 0.06 * now_wide
    assert abs(sum(w for w, _ in before) / sum(w for w, _ in after) - 1) < 0.01


@pytest.mark.browser
def test_the_front_page_is_light_and_answers_at_once(browser):
    """On a processor four times slower, by the time that the page needs of this one until it answers."""
    page, asked = open_watched(browser, PAGES[0])
    page.wait_for_function("window.answered")
    measured = page.devtools.send("Performance.getMetrics")["metrics"]
    page.close()
    (worked,) = (each["value"] for each in measured if each["name"] == "TaskDuration")
    assert 4 * worked < 2.5
    own = {path: path.stat().st_size for path in asked if not THEME.search(path.as_posix())}
    faces = sum(size for path, size in own.items() if path.suffix == ".woff2")
    assert 0 < faces <= 120_000
    assert sum(own.values()) - faces <= 150_000


@pytest.mark.browser
def test_every_face_is_served_with_its_licence_and_used(browser):
    page, _ = open_watched(browser, PAGES[1])
    used = page.evaluate(
        "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family)"
    )
    page.close()
    assert {"Source Serif 4", "Source Sans 3", "JetBrains Mono"} <= {
        name.strip('"') for name in used
    }
    served = {path.name for path in (HTML / "_static/vendor/fonts").iterdir()}
    assert served == {path.name for path in serving._fonts()}
    licences = {path.name for path in (HTML / "_static/vendor/licences").iterdir()}
    assert sum(name.startswith("@fontsource--") for name in licences) == 3


@pytest.mark.browser
def test_a_figure_stays_beside_its_words_or_above_them_and_there_are_no_bars(browser):
    page, _ = open_watched(browser, PAGES[1], (1440, 900))
    boxes = """() => [...document.querySelectorAll(".beside")].map((row) => {
        const of = (part) => row.querySelector(part).getBoundingClientRect();
        const words = of(".words"), shown = of(":scope > .cell");
        return { beside: shown.left >= words.right, below: shown.top >= words.bottom, top: shown.top };
    })"""
    assert all(row["beside"] for row in page.evaluate(boxes))
    for bar in ("#pst-primary-sidebar", "#pst-secondary-sidebar"):
        assert page.locator(bar).is_hidden()
    page.set_viewport_size({"width": 1440, "height": 700})
    room = "row => row.offsetHeight - row.querySelector(':scope > .cell').offsetHeight"
    rooms = page.eval_on_selector_all(".beside", f"rows => rows.map({room})")
    k = max(range(len(rooms)), key=lambda k: rooms[k])
    page.locator(".beside").nth(k).evaluate(
        "(row) => scrollTo(0, row.getBoundingClientRect().top + scrollY - 30)"
    )
    page.wait_for_function("scrollY > 0")
    stayed = page.evaluate(boxes)[k]["top"]
    assert rooms[k] < 30 or stayed > 50, "below the bar, though its row begins higher"
    page.locator(".primary-toggle").click()
    assert page.locator("#pst-primary-sidebar").is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert all(row["below"] for row in page.evaluate(boxes))
    page.close()
