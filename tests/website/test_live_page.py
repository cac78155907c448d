"""The page on which the models run: what its controls do, and what its links hold.

What the models compute is in `test_live_model.py`. Run by `make test` after the book is built:
`pytest -m browser`.
"""

import re

import pytest
from conftest import HTML, painted, serve
from playwright.sync_api import expect

from transformer_circuits.analysis import path_patching
from transformer_circuits.model import quantisation
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint

pytestmark = pytest.mark.browser
PAGE = HTML / "chapters" / "browser" / "live-model.html"
READY = "html[data-awaits='0'] [data-live-model][data-ready]"
"""Whatever was asked is answered and shown."""
N_HEADS = checkpoint.settings("two-layer")[0].n_heads
"""Of a layer, in both models of the page."""
NAME = (
    "The captain asked Nebuchadnezzar to wait. Soon Nebuchadnezzar came, and Nebuchadnezzar sat "
    "down."
)


@pytest.fixture
def live(watched):
    watched.goto(PAGE.as_uri())
    watched.wait_for_selector(READY)
    return watched


def opened(page, address):
    """The page as a link restores it, not as it was before."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(READY)
    return page


def link(live):
    """The address that says all that is shown."""
    live.wait_for_selector(READY)
    return live.evaluate("location.href")


def status(live):
    return live.locator(".lm-status")


def text(live):
    return live.get_by_label("Text for the model")


def words(live):
    return live.locator(".lm-token").all_inner_texts()


def keep(live, word, which):
    """Click the `which`-th token that is this word, unless it is kept already; gives its place."""
    live.wait_for_selector(READY)  # what was typed just now is tokens only after a while
    places = [i for i, one in enumerate(words(live)) if one == word]
    token = live.locator(".lm-token").nth(places[which])
    if token.get_attribute("aria-pressed") != "true":
        token.click()
    live.mouse.move(0, 0)
    expect(live.locator(".lm-next h2")).to_contain_text(f"“{word}” ({places[which]})")
    return places[which]


def row(live, token, listed=0):
    table = live.locator(".lm-next table").nth(listed)
    return table.locator("tbody tr").filter(has_text=re.compile(rf"^{token}\b"))


def percent(cell):
    expect(cell).not_to_have_text("")
    said = cell.inner_text()
    return 0.0 if said.startswith("<") else float(said.split()[0])


def uncover(live):
    live.get_by_role("button", name="Show without a guess").click()


def test_the_circuit_can_be_taken_apart(live):
    """The first examples: a head off, then the patterns frozen, then all on and one edge cut."""
    model = quantisation.rounded(checkpoint.load("two-layer"))
    tokens = tokenizer.context(text(live).input_value())
    trace = model.trace(tokens)
    at, following = keep(live, "ad", 1), tokenizer.token("ne")
    uncover(live)
    broken = quantisation.rounded(model)
    broken.layers[0].W_O_concat[:, : model.config.d_head] = 0
    cut = path_patching.without_edge(model, trace, "K", (1, N_HEADS - 1), (0, 0))

    def shown_is(logits, off, column=0):
        expect(status(live)).to_contain_text(off)
        live.wait_for_selector(READY)
        found = percent(row(live, "ne").locator("td").nth(column))
        assert abs(found - 100 * float(logits[0, at].softmax(dim=0)[following])) < 0.1

    shown_is(trace.logits, "nats")
    live.get_by_label("0.0 on", exact=True).uncheck()
    shown_is(broken(tokens), "off: 0.0")
    shown_is(trace.logits, "off: 0.0", column=2)  # the column of what was before
    live.get_by_label("A head that is off adds").select_option("frozen")
    shown_is(broken(tokens, trace.patterns), "off: 0.0 (frozen)")
    expect(live.locator(".lm-off")).to_have_count(1)
    live.get_by_role("button", name="All on").click()
    live.get_by_label("The head that reads", exact=True).select_option(str(2 * N_HEADS - 1))
    live.get_by_label("The head that is read", exact=True).select_option("0")
    live.get_by_label("Cut one edge:").check()
    shown_is(cut, f"cut: 0.0 to the keys of 1.{N_HEADS - 1}")


def test_the_question_follows_what_is_typed(live):
    """To the last token, or to the one at the caret; not to the place that was kept before."""
    uncover(live)
    keep(live, "ad", 1)
    title = live.locator(".lm-next h2")
    text(live).fill("The king and the queen")
    last = tokenizer.context("The king and the queen").shape[-1] - 1
    expect(title).to_contain_text(f"({last})")
    text(live).evaluate("(box) => box.setSelectionRange(8, 8)")
    text(live).press_sequentially("s")
    expect(text(live)).to_have_value("The kings and the queen")
    expect(title).to_contain_text(f"({tokenizer.context('The kings').shape[-1] - 1})")


def test_a_page_of_the_story_leads_to_where_the_name_is_finished(watched):
    """Not to the last token, after which the line goes on; and it is said there what to do."""
    line = "The old king Valdemar spoke, and the people heard Valdemar"
    links = []
    for name in ("a-name-comes-again", "what-a-second-layer-reads"):
        watched.goto((HTML / "chapters" / f"{name}.html").as_uri())
        links += watched.eval_on_selector_all(
            "article a[href*='live-model.html#']", "all => all.map((a) => a.href)"
        )
    assert len(links) == 3, "Play with it, and what to try on both pages"
    for link in links:
        opened(watched, link)
        expect(text(watched)).to_have_value(line)
        expect(watched.locator(".lm-next h2")).to_contain_text("V” (16)")
        expect(watched.locator(".lm-next tbody button").first).to_have_text("al (came)")
        expect(watched.locator(".lm-question")).to_contain_text("a name of your own, twice")


def test_a_name_that_is_cut_in_another_way_the_second_time_is_said_to_be(live):
    said = live.locator(".lm-cut")
    expect(said).to_have_text("")
    name = "Yesterday Zorblatina met the king. Nobody believed "
    text(live).fill(name + "Zorblatin")
    expect(said).to_contain_text("“Zorblatin” is now cut into Z|or|b|l|at|in, “Zorblatina” before")
    expect(said).to_contain_text("Stop at “Zorblat”")
    alike = (f"{name}Zorblat", f"{name}Zorblatina", "There it is, and the", "The king, the king")
    for one in alike:
        text(live).fill(one)
        expect(said).to_have_text("")
    text(live).fill("Valdemar came, and they heard Valdemar.")  # a space before it is no other cut
    expect(said).to_have_text("")
    text(live).fill(name + "Zorblatin and slept.")
    expect(said).to_have_text("")  # another word, which nobody is writing any more


def test_what_was_chosen_is_there_again_until_it_is_to_be_forgotten(watched):
    page = f"{serve(watched, HTML)}/{PAGE.relative_to(HTML).as_posix()}"
    live = opened(watched, page)
    text(live).fill("The king and the queen")
    expect(live).to_have_url(re.compile("king"))
    opened(live, page)
    expect(text(live)).to_have_value("The king and the queen")
    live.get_by_role("button", name="Forget").click()
    expect(text(live)).to_have_value(NAME)


def test_the_other_model_comes_when_asked_for_and_may_fail_to_come(browser):
    page = browser.new_page()
    model, said = page.get_by_label("Model", exact=True), status(page)

    def breaks_off(route):
        expect(said).to_have_text("Loading the model of one layer …")
        route.abort()

    page.route("**/one-layer.js", breaks_off, times=1)
    page.goto(PAGE.as_uri())
    page.wait_for_selector(READY)
    model.select_option("one-layer")
    expect(said).to_contain_text("could not be fetched")
    expect(model).to_have_value("two-layer")
    model.select_option("one-layer")
    expect(said).to_contain_text("nats per token")
    expect(page.locator(".lm-tile")).to_have_count(N_HEADS)
    expect(page.locator(".lm-edge")).to_be_hidden()
    page.close()


def test_any_token_can_be_asked_about(live):
    ask = live.get_by_label("Another token:")
    ask.fill("ob and more")
    ask.press("Enter")
    expect(live.locator(".lm-next [role=status]")).to_contain_text("not one token but")
    ask.fill("ob")
    ask.press("Enter")
    expect(live.locator(".lm-parts caption")).to_contain_text("“ob”")


def test_the_model_writes_and_what_it_wrote_can_be_undone(live):
    text(live).fill("The king and the")
    expect(status(live)).to_have_text(re.compile("^5 tokens"))
    likeliest = live.locator(".lm-next tbody button").first.inner_text()
    write = live.get_by_role("button", name="Write the next token")
    undo = live.get_by_role("button", name="Undo")
    write.click()
    expect(status(live)).to_contain_text("6 tokens")
    assert words(live)[-1] == likeliest
    live.get_by_label("Which token is written").select_option("1")
    drawn = []
    for _ in range(2):
        write.click()
        expect(status(live)).to_contain_text("7 tokens")
        drawn.append(words(live)[-1])
        undo.click()
        expect(status(live)).to_contain_text("6 tokens")
    assert drawn[0] == drawn[1]
    undo.click()
    expect(text(live)).to_have_value("The king and the")
    expect(undo).to_be_disabled()


def test_the_chosen_head_says_what_it_does_with_one_token(live):
    live.get_by_role("button", name="head 1.3", exact=True).click()
    box = live.locator(".lm-circuits")
    expect(box.locator("h2")).to_contain_text("Head 1.3")
    keep(live, "ad", 1)
    live.get_by_role("button", name="head 1.0", exact=False).click()
    expect(box.locator("caption").first).to_contain_text("“ne”")  # the token that it brings here
    box.get_by_label("Source token:").fill("no token")
    box.get_by_role("button", name="Show").click()
    expect(box.locator("[role=status]")).to_contain_text("not one token")
    expect(box.locator("table").first).to_be_hidden()  # it was about another
    box.get_by_label("Source token:").fill(" work")
    box.get_by_role("button", name="Show").click()
    expect(box.locator("caption").first).to_contain_text("␣work")
    expect(box.locator("tbody tr")).to_have_count(16)


def test_an_answer_is_hidden_until_there_is_a_guess(live):
    """The whole tour: a question, a guess, an answer with numbers, and a link to all of it."""
    names = live.evaluate("Object.keys(Circuits.live.EXAMPLES)")
    assert len(names) == 10
    expect(live.locator(".lm-next table").first).not_to_be_visible()
    for step, name in enumerate(names):
        if step:
            live.get_by_role("button", name="Next step").click()
        live.wait_for_function("(name) => location.hash.includes(`example=${name}`)", arg=name)
        guesses = live.locator(".lm-guesses button")
        guesses.first.wait_for()
        expect(live.locator(".lm-answer")).to_have_text("")
        guesses.last.click()
        expect(live.locator(".lm-answer")).to_have_text(re.compile(r"(You guessed it|It is “).*\d"))
        if name == "control":  # as chapter 12 has it: text costs something, repeats much more
            expect(live.locator(".lm-answer")).to_contain_text("It is “Less, but it rises”")
        expect(guesses.last).to_have_attribute("aria-pressed", "true")
        expect(live.locator(".lm-next table").first).to_be_visible()
    said = live.locator(".lm-answer").inner_text()
    expect(opened(live, link(live)).locator(".lm-answer")).to_have_text(said)


SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifts += value;
}).observe({ type: "layout-shift", buffered: true });
"""
HELD = """
const start = Worker.prototype.postMessage;
const begun = new Promise((begin) => { window.begin = begin; });
Worker.prototype.postMessage = async function (...all) {
  await begun;
  setTimeout(() => start.apply(this, all), 150);
};
"""
"""The worker is asked nothing before `begin()`, and then everything so late that the page says it waits."""


@pytest.mark.parametrize("width, height", [(1280, 720), (390, 844)])
def test_nothing_jumps_and_nothing_empty_is_shown(watched, width, height):
    """Nor on a processor ten times slower, which draws the page when it has read only a part of it."""
    devtools = watched.context.new_cdp_session(watched)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": 10})
    watched.set_viewport_size({"width": width, "height": height})
    watched.add_init_script(SHIFTS + HELD)
    watched.goto(PAGE.as_uri())
    host = watched.locator("[data-live-model]")
    expect(host).to_have_text(re.compile("^The model is starting"))
    assert host.inner_text().strip() == "The model is starting …"  # no heads of empty tables
    watched.evaluate("begin()")
    watched.wait_for_selector(READY)
    expect(watched.locator(".lm-guesses button").last).to_be_visible()
    for cover in watched.locator(".lm-cover").all():  # what is awaited has a frame that says so
        box, table = (one.bounding_box() for one in (cover, cover.locator("xpath=..")))
        assert "here" in cover.inner_text() and box == table
    if width >= 1200:
        in_view = ".lm-controls:visible, .lm-tile, .lm-pattern canvas, .lm-veiled"
        for part in watched.locator(f".lm-bench :is({in_view})").all():
            box = part.bounding_box()
            assert box["y"] + box["height"] <= height, part
    painted(watched)
    assert watched.evaluate("shifts") < 0.05
    before = watched.locator(".lm-tiles").bounding_box()["y"]
    watched.locator(".lm-guesses button").last.click()
    expect(watched.locator(".lm-answer")).to_contain_text("%")
    if width >= 1200:
        assert watched.locator(".lm-tiles").bounding_box()["y"] == before
    text(watched).press_sequentially(" and")  # the question goes: no jump, as the reader goes on
    watched.wait_for_selector(READY)
    painted(watched)
    so_far = watched.evaluate("shifts")
    text(watched).press_sequentially(" then")
    expect(watched.locator(".lm-tokens")).to_have_text(re.compile("then$"))
    watched.wait_for_selector(READY)
    painted(watched)
    if width >= 1200:
        assert watched.locator(".lm-tiles").bounding_box()["y"] == before
    assert watched.evaluate("shifts") - so_far < 0.05


def test_heads_and_switches_are_one_stop_of_the_tab_key_each(live):
    assert live.locator(".lm-tiles [tabindex='0']").count() == 2
    live.get_by_role("button", name="head 0.1", exact=True).focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        live.keyboard.press(key)
    expect(live.get_by_role("button", name="head 1.2, a finder", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    live.keyboard.press("Tab")
    live.keyboard.press("ArrowRight")
    live.keyboard.press("Space")
    expect(status(live)).to_contain_text("off: 1.3")


def test_no_text_at_all_and_random_tokens_three_times_over(live):
    text(live).fill("")
    expect(status(live)).to_have_text("1 token")
    live.get_by_label("Colours").select_option("loss")
    expect(live.locator(".lm-say")).to_contain_text("nothing predicted it")
    assert "Infinity" not in live.locator("[data-live-model]").inner_text()
    live.get_by_role("button", name="Random tokens").click()
    passages = re.compile(r"nats per token, by passage [\d.]+, [\d.]+, [\d.]+$")
    expect(status(live)).to_contain_text(passages)
    found = words(live)
    assert len(found) == 61 and found[1:21] == found[21:41] == found[41:61]


def test_without_scripts_the_page_says_first_what_it_needs(browser):
    page = browser.new_page(java_script_enabled=False)
    page.goto(PAGE.as_uri())
    expect(page.locator("[data-live-model]")).to_have_text(
        re.compile("^The model needs JavaScript")
    )
    page.close()
