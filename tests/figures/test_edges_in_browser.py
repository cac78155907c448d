"""Edges between two layers, by pointer and by keyboard."""

import pytest
import torch
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser


@pytest.fixture
def page(saved):
    scores, effects = torch.full((2, 2, 2), 0.1), torch.zeros(2, 2, 2)
    effects[1, 0, 1], scores[1, 0, 1], effects[1, 1, 1] = 0.5, 0.4, 0.25
    whole = torch.tensor([torch.nan, 0.5, 0.9])
    without = whole.expand(2, 2, 2, 3).clone()
    without[1, 0, 1, 2] = 0.1
    together = whole.expand(2, 2, 3).clone()
    together[1, 1, 1] = 0.2
    view = views.edges(
        scores, effects, kinds="QK", later=["1.0", "1.1"], earlier=["0.0", "0.1"],
        chance=(0.2, 0.01), unit="nats", tokens="aba", whole=whole, without=without,
        together=together, label="Edges",
    )  # fmt: skip
    return saved(view)


def test_it_opens_with_the_edge_of_the_greatest_effect(page):
    facts = page.locator(".cv-facts")
    expect(facts).to_contain_text("0.1 → 1.0 (K)")
    expect(facts).to_contain_text("score 0.400, place 1 of 8; by chance 0.200 ± 0.010")
    expect(facts).to_contain_text("cut: 0.50 nats, place 1 of 8")
    expect(page.locator(".cv-say")).to_have_text(
        "Without 0.1 → 1.0 (K), “a” (2) loses most: 0.90 becomes 0.10."
    )
    heights = (
        page.locator(".cv-place")
        .nth(2)
        .locator("i")
        .evaluate_all("all => all.map((bar) => bar.style.height)")
    )
    assert heights == ["90%", "10%"]


def test_other_edges_are_reached_by_click_arrow_and_kind(page):
    facts = page.locator(".cv-facts")
    page.get_by_role("button", name="0.1 → 1.1 (K): effect 0.25").click()
    expect(facts).to_contain_text("place 2 of 8")
    page.locator(":focus").press("ArrowLeft")
    expect(facts).to_contain_text("0.0 → 1.1 (K)")
    page.get_by_label("Q", exact=True).check()
    expect(facts).to_contain_text("0.0 → 1.1 (Q)")
    page.get_by_label("score", exact=True).check()
    expect(page.get_by_role("button", name="0.0 → 1.1 (Q): score 0.10")).to_be_visible()


def test_the_last_row_cuts_the_edges_to_all_later_heads(page):
    page.get_by_role("button", name="0.1 → all (K)", exact=True).click()
    expect(page.locator(".cv-facts")).to_contain_text("several edges at once")
    expect(page.locator(".cv-say")).to_have_text(
        "Without 0.1 → all (K), “b” (1) loses most: 0.50 becomes 0.20."
    )
    page.get_by_label("score", exact=True).check()
    page.locator(".cv-edge[aria-pressed=true]").press("ArrowUp")
    expect(page.locator(".cv-facts")).to_contain_text("0.1 → 1.1 (K)")


def test_the_numbers_are_those_of_the_bars(page):
    page.locator("summary").press("Enter")
    lines = page.locator("details tr").all_inner_texts()
    assert [line.split("\t") for line in lines] == [
        ["token", "as it is", "with the edge cut"],
        ["a", "—", "—"],
        ["b", "0.50", "0.50"],
        ["a", "0.90", "0.10"],
    ]


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
