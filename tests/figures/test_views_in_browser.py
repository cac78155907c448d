"""Views under the pointer, the keyboard and a finger, in a real browser.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import html
import re

import pytest
import torch
from conftest import barriers, painted, view_page
from playwright.sync_api import expect

from transformer_circuits.figures import views

pytestmark = pytest.mark.browser
TOKENS = ["<begin>", "␣one", "␣two", "␣three", "␣two"]


def one_back(n):
    """Heads 0.0 that looks here, 0.1 one back, 1.0 and 1.1 at the first token."""
    here, back, first = torch.eye(n), torch.eye(n).roll(1, 0), torch.zeros(n, n)
    back[0] = here[0]
    first[:, 0] = 1
    return torch.stack([here, back.tril(), first, first]).reshape(2, 2, n, n)


@pytest.fixture
def attention(saved):
    norms = torch.tensor([[0.0, 1, 1, 1, 1]] * 4)
    return saved(views.attention(TOKENS, one_back(5), norms, label="Four heads"))


def test_pointing_says_what_is_looked_at_and_moves_no_head(attention):
    """Else the pointer is beside it, it moves back, and so on without end."""
    attention.locator(".cv-token").nth(2).hover()
    say = attention.locator(".cv-say")
    expect(say).to_have_text(
        re.compile("“␣two” \\(2\\) looks most at .*“␣one” \\(1\\) 1.00 in head 0.1")
    )
    attention.mouse.move(0, 0)
    expect(say).to_have_text("")
    heads, picture = attention.locator(".cv-head"), attention.locator("canvas.cv-all")
    before = [head.bounding_box() for head in heads.all()]
    attention.mouse.move(before[1]["x"] + 20, before[1]["y"] + 20)
    expect(picture).to_have_attribute("aria-label", re.compile("head 0.1"))
    painted(attention)
    assert [head.bounding_box() for head in heads.all()] == before


def test_a_head_is_kept_by_a_click_and_asked_in_every_way_until_it_is_freed(attention):
    head, unlock = attention.locator(".cv-head").nth(2), attention.locator(".cv-unlock")
    say, token = attention.locator(".cv-say"), attention.locator(".cv-token")
    expect(unlock).to_be_hidden()
    head.click()
    attention.mouse.move(0, 0)
    expect(head).to_have_attribute("aria-pressed", "true")
    expect(attention.locator(".cv-head").nth(0)).to_have_class(re.compile("cv-dim"))
    picture = attention.locator("canvas.cv-all")
    expect(picture).to_have_attribute("aria-label", re.compile("head 1.0"))
    for weighing, value in (("attention", "at “<begin>” (0) 1.00"),
                            ("value-weighted", "from “<begin>” (0) 0.00")):  # fmt: skip
        attention.get_by_label(weighing, exact=True).check()
        token.nth(3).hover()
        expect(say).to_contain_text(f"most {value}")
        attention.mouse.move(0, 0)
    attention.get_by_label("attention", exact=True).check()
    attention.get_by_label("is looked at by").check()
    token.nth(0).hover()
    expect(say).to_contain_text("“<begin>” (0) is looked at most by “<begin>” (0) 1.00, “␣one”")
    unlock.click()
    expect(head).to_have_attribute("aria-pressed", "false")
    expect(unlock).to_be_hidden()


def test_everything_can_be_done_with_the_keyboard(attention):
    attention.keyboard.press("Tab")  # heads: one stop, arrows within it, in two rows
    expect(attention.locator(".cv-head").nth(0)).to_be_focused()
    attention.keyboard.press("ArrowDown")
    expect(attention.locator(".cv-head").nth(2)).to_be_focused()
    attention.keyboard.press("Enter")
    expect(attention.locator(".cv-head").nth(2)).to_have_attribute("aria-pressed", "true")
    attention.keyboard.press("Tab")
    attention.keyboard.press("End")
    expect(attention.locator(".cv-token").nth(4)).to_be_focused()
    expect(attention.locator(".cv-say")).to_have_text(
        "“␣two” (4) looks most at “<begin>” (0) 1.00, “␣one” (1) 0.00, “␣two” (2) 0.00"
    )
    attention.keyboard.press("Escape")
    expect(attention.locator(".cv-head").nth(2)).to_have_attribute("aria-pressed", "false")


def test_up_and_down_lead_to_the_token_above_and_below(attention):
    """In lines as the browser breaks them."""
    tokens = attention.locator(".cv-token")
    attention.evaluate("document.querySelector('.cv-tokens').style.width = '9em'")
    tops = tokens.evaluate_all("all => all.map((one) => one.offsetTop)")
    lines = sorted(set(tops))
    assert len(lines) >= 2
    tokens.nth(0).focus()
    attention.keyboard.press("ArrowDown")
    expect(tokens.nth(tops.index(lines[1]))).to_be_focused()
    attention.keyboard.press("ArrowUp")
    expect(tokens.nth(0)).to_be_focused()


@pytest.fixture
def phone(browser):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    yield page
    context.close()


def test_a_finger_keeps_and_lets_go_and_all_heads_fit_on_a_phone(phone, tmp_path, in_a_notebook):
    A = one_back(5)[0].repeat(12, 1, 1).reshape(2, 12, 5, 5)
    phone.goto(view_page(views.attention(TOKENS, A, label="Many heads"), tmp_path))
    expect(phone.locator(".cv-head")).to_have_count(24)
    last = phone.locator(".cv-head").nth(11).bounding_box()
    assert last["x"] + last["width"] <= 390
    assert phone.evaluate("document.documentElement.scrollWidth <= 390")
    token, say = phone.locator(".cv-token").nth(3), phone.locator(".cv-say")
    token.tap()
    expect(token).to_have_attribute("aria-pressed", "true")
    expect(say).to_contain_text("(3) looks most at")
    token.tap()
    expect(token).to_have_attribute("aria-pressed", "false")
    expect(say).to_have_text("")
    phone.locator("canvas.cv-all").tap()
    expect(say).to_contain_text("looks most at")
    phone.get_by_role("button", name="Unlock").tap()
    expect(say).to_have_text("")


def test_it_runs_in_the_sandboxed_frame_of_a_notebook(watched, tmp_path):
    view = views.attention(TOKENS, one_back(5), label="Four heads")
    inner = html.escape(view._repr_mimebundle_()[0]["text/html"])
    (tmp_path / "colab.html").write_text(
        f'<iframe sandbox="allow-scripts" srcdoc="{inner}"></iframe>'
    )
    watched.goto((tmp_path / "colab.html").as_uri())
    expect(watched.frame_locator("iframe").locator(".cv-token")).to_have_count(5)


def test_views_on_a_page_do_not_meddle_and_one_that_cannot_be_read_leaves_the_others(
    browser, tmp_path
):
    shown = [
        views.attention(TOKENS, one_back(5), label=f"view {k}")._repr_mimebundle_()[0]["text/html"]
        for k in (1, 2)
    ]
    bad = '<div class="circuit-view"><script type="application/json">{</script></div>'
    (tmp_path / "two.html").write_text(f"<!doctype html><meta charset=utf-8>{bad}{''.join(shown)}")
    page = browser.new_page()
    page.goto((tmp_path / "two.html").as_uri())
    expect(page.locator(".cv-head")).to_have_count(8)
    page.locator(".cv-head").nth(1).click()
    expect(page.locator(".cv-head[aria-pressed=true]")).to_have_count(1)
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_view_follows_its_page_and_has_no_barrier_that_axe_finds(attention, scheme):
    attention.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
    attention.wait_for_function(
        "(dark) => document.querySelector('.circuit-view').hasAttribute('data-dark') === dark",
        arg=scheme == "dark",
    )
    attention.locator(".cv-head").nth(1).click()
    attention.locator(".cv-token").nth(2).click()
    expect(attention.locator(".cv-unlock")).to_be_visible()
    assert barriers(attention) == []
