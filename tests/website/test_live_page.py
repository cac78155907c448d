"""The stage with a caret: any text, other models, and the panels below it."""

import re

import pytest
from conftest import barriers, painted, resized
from playwright.sync_api import expect
from stage_pages import LINE, READY, site  # noqa: F401

from transformer_circuits.figures.values import percent
from transformer_circuits.stage import one_layer, still, two_layers

pytestmark = pytest.mark.browser


@pytest.fixture
def live(watched, site):  # noqa: F811
    watched.goto((site / "live.html").as_uri())
    watched.wait_for_selector(READY)
    expect(watched.locator(".panel.circuit form")).to_be_visible()
    return watched


def typed(live):
    return live.get_by_label("Any text")


def code(live):
    return live.get_by_label("The line of code")


def test_any_text_is_read_and_what_comes_next_is_that_of_python(live):
    text = "In the spring Ottoline saw the sea, and in autumn Ottoline"
    typed(live).fill(text)
    expect(code(live)).to_have_value(f'two_layers.read("{text}")')
    live.wait_for_selector(READY)
    reading = two_layers.read(text)
    expect(live.locator(".token")).to_have_text([one.removeprefix("␣") for one in reading.tokens])
    numbers = live.locator(".likely output")
    expect(numbers.first).to_have_text(re.compile(r"%"))
    shown = [int(re.sub(r"\D", "", one)) for one in numbers.all_inner_texts()]
    assert all(abs(a - 100 * float(b)) < 1.5 for a, b in zip(shown, reading.likely, strict=True))
    first = live.locator(".panel.next .row").first
    expect(first).to_contain_text(reading.result()["next"][0]["label"])


def test_the_caret_is_the_place_looked_from(live):
    typed(live).click()
    typed(live).evaluate("(box) => box.setSelectionRange(8, 8)")
    live.keyboard.press("ArrowLeft")
    expect(code(live)).to_have_value(f'two_layers.read("{LINE}", at=2)')
    expect(live.locator(".panel.next p").first).to_contain_text("old")


def test_models_and_seeds_are_a_press_away(live):
    choice = live.get_by_role("button", name="one layer")
    choice.click()
    expect(choice).to_have_attribute("aria-pressed", "true")
    p = float(one_layer.read(LINE).likely[0])
    expect(live.locator(".likely output").first).to_have_text(
        percent(p).replace("<\u00a0", "<\u202f")
    )
    expect(live.locator(".heads button")).to_have_count(6)
    live.get_by_role("button", name="no layer").click()
    expect(live.locator(".heads button")).to_have_count(0)
    expect(live.locator(".panel.circuit")).to_contain_text("No head")
    live.get_by_role("button", name="two layers").click()
    live.get_by_role("button", name="1", exact=True).click()
    expect(code(live)).to_have_value(re.compile(r"^two_layers\.seed\(1\)"))
    live.wait_for_selector(READY)
    # Of every seed those heads are filled in that play a part on this line, as in Python's drawing.
    reading = two_layers.seed(1).read(LINE)
    play = [still.note_taker(reading), *still.finders(reading)]
    expect(live.locator(".heads .drawn")).to_have_text(play)
    live.mouse.move(0, 0)
    live.locator(f'.heads [data-name="{play[0]}"]').click()
    expect(live.locator(".note.gone")).to_have_count(4)


def test_a_token_a_head_and_a_word_can_be_asked_about(live):
    rows = live.locator(".panel.next .rows .row")
    rows.nth(2).click()
    label = rows.nth(2).locator("b").inner_text()
    expect(live.locator(".panel.next p").nth(1)).to_contain_text(f"Who wrote {label}")
    tile = live.get_by_role("group", name="Heads: press one to see").get_by_label("head 0.2")
    tile.click()
    expect(live.locator(".panel.where p")).to_contain_text("0.2 looks at “heard”")
    expect(live.locator(".panel.circuit form b")).to_have_text("0.2")
    expect(live.get_by_label("Another token")).to_have_value("␣heard")
    live.get_by_label("Another token").fill("␣the")  # there is one without a space, too
    live.get_by_role("button", name="Ask").click()
    expect(live.locator(".panel.circuit")).to_contain_text("␣the is looked at most by")
    live.get_by_label("Another token").fill("king")
    live.get_by_label("Another token").press("Enter")
    expect(live.locator(".panel.circuit")).to_contain_text("king is looked at most by")
    live.get_by_label("Another token").fill("no such token")
    live.get_by_role("button", name="Ask").click()
    expect(live.locator(".panel.circuit")).to_contain_text("“no such token” is not one token")


@pytest.mark.parametrize(
    "text", ["", "🙂", "日本 日本", 'a "b" \\ c', "word " * 120, "<b>x</b> <b>x</b>"]
)
def test_no_text_does_harm(live, text):
    typed(live).fill(text)
    live.wait_for_selector(READY)
    expect(live.locator(".token").first).to_have_text("◦")
    assert live.locator(".the-stage .line b b").count() == 0
    assert live.evaluate("document.documentElement.scrollWidth") <= 1000


def test_a_line_that_is_too_long_is_said_so(live):
    """It stays to be mended, until something is asked of the line that is shown."""
    long = "a b " * 400
    typed(live).fill(long)
    expect(live.locator(".said")).to_contain_text("tokens but two_layers reads 512")
    expect(typed(live)).to_have_attribute("aria-invalid", "true")
    live.locator('.heads [data-name="0.2"]').hover()
    expect(live.locator(".tag", has_text="0.2 looks")).to_be_visible()
    expect(typed(live)).to_have_value(long)
    expect(code(live)).to_have_value(f'two_layers.read("{LINE}")')
    typed(live).fill("a b")
    expect(live.locator(".token")).to_have_text(["◦", "a", "b"])
    typed(live).fill(long)
    expect(live.locator(".the-stage")).to_have_attribute("data-refused", "")
    live.locator('.heads [data-name="0.2"]').click()
    expect(typed(live)).to_have_value("a b")
    expect(live.locator(".the-stage[data-refused], [aria-invalid]")).to_have_count(0)


def test_no_barrier_and_it_fits_a_phone(live):
    live.add_style_tag(content="* { transition: none !important }")
    for width in (1440, 320):
        resized(live, width)
        assert live.evaluate("document.documentElement.scrollWidth") <= width
        for theme in ("light", "dark"):
            live.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            painted(live)
            assert barriers(live, "article") == [], (width, theme)
