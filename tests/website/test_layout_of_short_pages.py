"""The short book as a reader meets it: light, at rest, each figure beside its words."""

import pytest
from conftest import HTML, painted, resized, watch
from playwright.sync_api import expect

from transformer_circuits.book.notebooks import SHORT

SHIFTED = """
    window.shifted = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((shift) => {
        if (!shift.hadRecentInput) window.shifted += shift.value;
    })).observe({ type: "layout-shift", buffered: true });
"""
"""Sums how far things move."""


def open_watched(browser, name, size):
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    watch(page)
    page.add_init_script(SHIFTED)
    page.goto((HTML / "chapters" / f"{name}.html").as_uri(), wait_until="load")
    return page


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_nothing_moves_under_the_reader(browser, size):
    """Neither when scripts and faces come, nor while the stage plays."""
    page = open_watched(browser, SHORT[0], size)
    page.wait_for_selector(".the-stage[data-ready]")
    page.locator(".step").nth(1).scroll_into_view_if_needed()
    painted(page)
    shifted = page.evaluate("window.shifted")
    page.close()
    assert shifted < 0.05


def main_thread(page):
    """A function that says how many seconds of the processor's the main thread of a page has taken.

    So it is the page's own work alone: a clock counts what runs beside it, too.
    """
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def taken():
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    return taken


YARDSTICK = "() => { let x = 0; for (let k = 0; k < 1e8; k++) x = (x * 31 + k) | 0; return x; }"
"""Two thirds of a second of the processor on which the page takes half of that."""


@pytest.mark.browser
def test_the_first_figure_is_at_work_soon_also_on_a_slow_machine(browser):
    """Within 2.5 s on a processor four times slower than that of the yardstick.

    By that, so that a slow machine may test it. What the page waits for is not counted.
    """
    page = browser.new_page(viewport={"width": 390, "height": 844})
    taken = main_thread(page)
    page.goto((HTML / "chapters" / f"{SHORT[0]}.html").as_uri(), wait_until="commit")
    page.wait_for_selector(".the-stage[data-ready]", state="attached")
    own = taken()
    page.close()
    page = browser.new_page()
    taken = main_thread(page)
    before = taken()
    page.evaluate(YARDSTICK)
    assert 0 < own < 0.9 * (taken() - before)
    page.close()


@pytest.mark.browser
def test_a_figure_stands_beside_its_words_or_below_them_and_there_are_no_bars(browser):
    page = open_watched(browser, SHORT[1], (1440, 900))
    boxes = """() => [...document.querySelectorAll(".beside")].map((row) => {
        const of = (part) => row.querySelector(part).getBoundingClientRect();
        const words = of(".words"), shown = of(":scope > .shown");
        return { beside: shown.left >= words.right, below: shown.top >= words.bottom };
    })"""
    assert all(row["beside"] for row in page.evaluate(boxes))
    for bar in ("#pst-primary-sidebar", "#pst-secondary-sidebar"):
        expect(page.locator(bar)).to_be_hidden()
    page.locator(".primary-toggle").click()
    expect(page.locator("#pst-primary-sidebar")).to_be_visible()
    resized(page, 390)
    assert all(row["below"] for row in page.evaluate(boxes))
    page.close()
