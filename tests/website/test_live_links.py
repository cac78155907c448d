"""Links to the live page: each restores the whole state, and none does harm.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import re
from itertools import product

import pytest
from conftest import barriers
from playwright.sync_api import expect
from test_live_page import PAGE, READY, keep, link, live, opened, status, text, words  # noqa: F401

pytestmark = pytest.mark.browser


def test_a_link_says_everything(live):  # noqa: F811
    text(live).fill("One two, one two, & <three>")
    live.wait_for_selector(READY)
    live.get_by_label("1.3 on", exact=True).uncheck()
    live.get_by_label("A head that is off adds").select_option("mean")
    live.get_by_label("Cut one edge:").check()
    keep(live, ",", 1)
    live.get_by_role("button", name="head 1.2, a finder", exact=True).click()
    live.locator(".lm-next tbody button").nth(2).click()
    live.get_by_label("compare").check()
    live.get_by_label("Colours").select_option("weighted")
    live.get_by_label("Which token is written").select_option("0.5")
    live.get_by_label("Source token:").fill(" work")
    live.get_by_role("button", name="Show", exact=True).click()
    live.mouse.move(0, 0)
    live.wait_for_function(
        "['three', '1.3', 'mean', 'cut=K', 'head=1.2', 'ask', 'both', 'weighted', '0.5', 'work']"
        ".every((said) => location.hash.includes(said))"
    )
    address = link(live)
    shown = (".lm-status", ".lm-say", ".lm-next", ".lm-parts", ".lm-circuits caption >> nth=0")
    said = [live.locator(part).inner_text() for part in shown]
    there = opened(live, address)
    for part, words_there in zip(shown, said, strict=True):
        expect(there.locator(part)).to_have_text(words_there, use_inner_text=True)
    expect(text(there)).to_have_value("One two, one two, & <three>")
    expect(there.get_by_label("1.3 on", exact=True)).not_to_be_checked()
    expect(there.get_by_label("Which token is written")).to_have_value("0.5")
    expect(there.get_by_role("button", name="head 1.2, a finder", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )


@pytest.mark.parametrize("name", ["gpt", "__proto__"])
def test_a_link_that_makes_no_sense_is_the_page_itself(watched, name):
    wrong = (
        "text=Some+text&off=9.9,foo&at=999&head=7.7&ask=x,-1&how=toString&show=__proto__"
        "&cut=K,1.1,0.0&temperature=NaN&seed=-1e9&example=constructor&guess=7&source=<b>"
    )
    opened(watched, f"{PAGE.as_uri()}#model={name}&{wrong}")
    expect(status(watched)).to_have_text(re.compile(r"^\d+ tokens; [\d.]+ nats per token$"))
    opened(watched, f"{PAGE.as_uri()}#text=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&at=1e9&head=1e9.")
    assert watched.locator("[data-live-model] img").count() == 0


def test_a_link_that_is_cut_off_is_no_error(watched):
    """On this page, and on one with code and boxes; `watched` fails if a script does."""
    opened(watched, f"{PAGE.as_uri()}#text=%E0%A4%A")
    chapter = PAGE.parents[1] / "11-induction-heads.html"
    watched.goto(f"{chapter.as_uri()}#%E0%A4%A")
    expect(watched.locator(".reading")).to_be_visible()


def test_a_link_to_a_long_text_holds_what_counts_and_no_more(live):  # noqa: F811
    """Tokens that no text has stay as they are."""
    text(live).fill("one two three " * 4000)
    expect(status(live)).to_contain_text(re.compile("the first 200 of [0-9]+ tokens"))
    live.wait_for_function("location.hash.includes('ids')")
    address, found = link(live), words(live)
    assert len(found) == 200 and len(address) < 3000
    assert words(opened(live, address)) == found


def test_no_barrier_with_everything_shown(watched):
    link = "#text=A+king,+a+king&both=1&off=0.2,1.3&cut=K,0.0,1.1&at=3&example=off&guess=0&temperature=1"
    opened(watched, PAGE.as_uri() + link)
    watched.add_style_tag(content="* { transition: none !important }")  # else colours are half-way
    expect(watched.locator(".lm-answer")).to_contain_text("%")
    expect(watched.locator(".lm-circuits tbody tr")).to_have_count(16)
    watched.wait_for_selector(READY)
    known = set()
    for scheme, show in product(("light", "dark"), ("attention", "loss")):
        watched.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
        watched.get_by_label("Colours").select_option(show)
        assert barriers(watched, "[data-live-model]", known) == [], (scheme, show)
