"""The two circuits of a head, by pointer and by keyboard."""

import pytest
import torch
from playwright.sync_api import expect

from transformer_circuits.figures import theme, views

pytestmark = pytest.mark.browser
WORDS = [*"abcdefgh", "␣keep", "␣in"]


@pytest.fixture
def page(saved):
    attention = torch.zeros(10, 10)
    attention[9, 8], attention[0, 8], attention[1, 2] = 0.75, 0.5, 0.25
    logits = torch.zeros(10, 10)
    logits[3, 8], logits[4, 8], logits[5, 8], logits[6, 2] = 4.0, 2.0, -3.0, 1.5
    by_head = {"0.0": (attention, logits), "0.1": (attention.flip(0), logits)}
    view = views.head_circuits(by_head, WORDS, [8, 2], label="Circuits")
    return saved(view)


def test_a_skip_trigram_is_read_off_and_others_are_clicked(page):
    say = page.locator(".cv-say")
    expect(say).to_have_text("␣keep … ␣in → d: 0.75 × 4.00 = 3.00 logits in head 0.0.")
    for name, role in (("a 0.50", theme.ROLES[theme.LAYERS[0]]), ("d 4.00", theme.MORE)):
        bar = page.get_by_role("button", name=name).locator(".cv-bar i")
        red, green, blue = bytes.fromhex(role.light[1:])
        expect(bar).to_have_css("background-color", f"rgb({red}, {green}, {blue})")
    page.get_by_role("button", name="a 0.50").click()
    page.get_by_role("button", name="f -3.00").press("Enter")
    expect(say).to_have_text("␣keep … a → f: 0.50 × -3.00 = -1.50 logits in head 0.0.")


def test_a_source_is_typed_and_nothing_of_the_last_stays_beside_a_word_that_is_none(page):
    say, box, pairs = (
        page.locator(".cv-say"),
        page.get_by_label("Source token"),
        page.locator(".cv-pair"),
    )
    box.fill("kee")
    expect(say).to_contain_text("␣keep … ␣in → d")
    box.fill("c")
    expect(say).to_have_text("c … b → g: 0.25 × 1.50 = 0.38 logits in head 0.0.")
    box.fill("zzz")
    expect(say).to_have_text("“zzz” is not among the 2 sources of this figure.")
    expect(pairs).to_have_count(0)
    expect(page.locator(".cv-column .cv-note").first).to_have_text("")
    page.get_by_label("Head").select_option("0.1")
    expect(say).to_contain_text("“zzz” is not among")
    box.fill("keep")
    expect(say).to_contain_text("␣keep … a → d: 0.75 × 4.00")


def test_capitals_and_runs_of_spaces_are_meant_as_they_are_typed_in_the_head_asked_for(saved):
    words = ["new", "␣New", "␣×7", "␣␣␣"]
    by_head = {name: (torch.eye(4), torch.eye(4)) for name in ("0.0", "0.1")}
    page = saved(views.head_circuits(by_head, words, [0, 1, 2, 3], head="0.1", label="Circuits"))
    expect(page.get_by_label("Head")).to_have_value("0.1")
    expect(page.get_by_label("Source token")).to_have_attribute("placeholder", "new")
    expect(page.locator(".cv-say")).to_contain_text("in head 0.1")
    for typed, source in (("New", "␣New"), ("new", "new"), (" " * 7, "␣×7"), (" " * 3, "␣␣␣")):
        page.get_by_label("Source token").fill(typed)
        expect(page.locator(".cv-column .cv-note").first).to_contain_text(f"“{source}”")
