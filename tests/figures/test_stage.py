"""The stage: what it holds before its script runs, and what the script does with it."""

import html
from dataclasses import replace

import numpy as np
import pytest
from conftest import resized
from playwright.sync_api import expect

from transformer_circuits import record
from transformer_circuits.figures import stage, theme
from transformer_circuits.figures.stage import Run, Step

TOKENS = ["<begin>", "␣A", "da", "␣and", "␣A", "da"]
SAYS = ("notes come", "heads look", "the end")
MINUTE = 60_000
"""By the clock of the page, which a test may wind on."""


def looks(**shares):
    found = np.zeros(len(TOKENS))
    for place, share in shares.items():
        found[int(place[1:])] = share
    return found


def made(in_time=False, **changed):
    with_head = Run("as it is", [Step(4, looks(p2=0.75, p0=0.25), 0.9)], [2], SAYS)
    without = Run("without", [Step(4, looks(p0=1.0), 0.004)], [], ("none", "nothing", "gone"))
    given = {"tokens": TOKENS, "runs": [with_head, without]} | changed
    return stage.stage(**given, switch="Head 0.0", title="A name comes again", in_time=in_time)


def test_its_record_and_its_words_are_those_of_the_runs():
    shown, metadata = made()._repr_mimebundle_()
    found = metadata[record.KEY]
    assert found["numbers"]["probability, as it is"] == [0.9]
    assert found["numbers"]["attention, without"] == [[1, 0, 0, 0, 0, 0]]
    assert "notes say da after ␣A" in found["text"]
    assert (
        "look at da (75\u00a0%), which stands after ␣A; then da is 90\u00a0% likely"
        in found["text"]
    )
    assert 'aria-label="Ada and Ada"' in shown["text/html"]
    assert html.escape(found["text"]) in shown[record.SVG]


def test_a_switch_beside_a_choice_needs_every_run_without_what_it_turns_off():
    one = Run("as it is", [Step(4, looks(p2=0.75, p0=0.25), 0.9)], [2], SAYS)
    with pytest.raises(ValueError, match=r"2 runs, but 1 without Head 0\.0"):
        stage.stage(TOKENS, [one, one], switch="Line:", title="A name", off=("Head 0.0", [one]))


@pytest.fixture
def page(watched, tmp_path):
    def opened(changed=(), **media):
        shown, _ = made(**dict(changed))._repr_mimebundle_()
        (tmp_path / "stage.html").write_text(f"<!doctype html>{shown['text/html']}")
        watched.emulate_media(**media)
        watched.goto((tmp_path / "stage.html").as_uri())
        return watched

    return opened


@pytest.mark.browser
def test_it_plays_by_itself_to_an_end_that_stays(watched, page):
    watched.clock.install()
    shown = page()
    expect(shown.locator(".says")).to_have_text("notes come")
    expect(shown.locator(".carried")).to_be_visible()
    expect(shown.locator(".carried")).to_have_text("da")
    expect(shown.locator(".says")).to_have_text("the end")
    expect(shown.locator(".bars output")).to_have_text("90\u00a0%")
    assert shown.locator(".arcs .looks").count() == 2
    assert shown.locator(".arcs .moves").count() == shown.locator(".arcs .head").count() == 2
    expect(shown.locator(".bars [aria-pressed=true]")).to_have_text("da90\u00a0%")
    assert shown.locator(".found").inner_text().startswith("da")
    assert shown.locator(".given").inner_text() == "da"
    shown.get_by_role("button", name="Play again").click()
    shown.get_by_role("button", name="To the end").click()
    shown.clock.run_for(MINUTE)
    expect(shown.locator(".says")).to_have_text("the end")
    expect(shown.locator(".carried")).to_be_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_reader_goes_through_it_step_by_step(watched, page, motion):
    twice = [Step(4, looks(p2=0.75, p0=0.25), 0.9), Step(3, looks(p0=1.0), 0.004)]
    run = Run("as it is", twice, [2], SAYS)
    watched.clock.install()
    shown = page({"runs": [run, run]}, reduced_motion=motion)
    if motion != "reduce":  # it plays by itself
        shown.get_by_role("button", name="To the end").click()
    step, bars = shown.get_by_role("button", name="Next step"), shown.locator(".bars output")
    for says, likely in [
        ("notes come", ["", ""]),
        ("heads look", ["90\u00a0%", ""]),
        ("At and the finders rest on ◦ (100\u00a0%).", ["90\u00a0%", "<\u00a01\u00a0%"]),
        ("the end", ["90\u00a0%", "<\u00a01\u00a0%"]),
        ("notes come", ["", ""]),
    ]:
        step.click()
        expect(shown.locator(".says")).to_have_text(says)
        expect(bars).to_have_text(likely)
    shown.clock.run_for(MINUTE)
    expect(shown.locator(".says")).to_have_text("notes come")  # it waits


@pytest.mark.browser
@pytest.mark.parametrize(
    "shares, p, says",
    [
        ({"p2": 0.75, "p0": 0.25}, 0.9, "At A the finders find what stands after it, da."),
        (
            {"p2": 0.75, "p0": 0.25},
            0.1,
            "what stands after it, da. Yet other tokens stay likelier.",
        ),
        (
            {"p2": 0.3, "p0": 0.6},
            0.9,
            "At A the finders look at ◦ (60\u00a0%) more than at da (30\u00a0%).",
        ),
        ({"p0": 0.9}, 0.1, "At A the finders rest on ◦ (90\u00a0%)."),
        (
            {"p1": 0.2, "p3": 0.15},
            0.1,
            "the finders look at no place in particular, most at the first A (20\u00a0%).",
        ),
        (
            {"p1": 0.2, "p4": 0.25},
            0.1,
            "the finders look at no place in particular, most at itself (25\u00a0%).",
        ),
    ],
)
def test_a_sentence_says_no_more_than_the_arcs(page, shares, p, says):
    first = Step(3, looks(p0=1.0), 0.5)
    run = Run("as it is", [first, Step(4, looks(**shares), p)], [2], SAYS)
    shown = page({"runs": [run, run]}, reduced_motion="reduce")
    shown.locator(".bars button").nth(1).click()
    expect(shown.locator(".says")).to_contain_text(says)
    assert shown.locator(".arcs .looks.rests").count() == ("p0" in shares)


@pytest.mark.browser
@pytest.mark.parametrize("share, found", [(0.3, "da"), (0.2, "<begin>")])
def test_what_gets_a_quarter_of_the_look_is_found_there_and_on_paper(page, share, found):
    split = Run("as it is", [Step(4, looks(p2=share, p0=1 - share), 0.9)], [2], SAYS)
    step, *_ = split.steps
    assert TOKENS[stage._found(step, TOKENS)] == found
    shown = page({"runs": [split, split]}, reduced_motion="reduce")
    expect(shown.locator(".found")).to_have_text(["daafter A"] if found == "da" else [])
    assert shown.locator(".arcs .head").count() == (2 if found == "da" else 0)


@pytest.mark.browser
@pytest.mark.parametrize("p, told", [(0.3, 1), (0.2, 0)])
def test_only_what_gets_a_quarter_of_the_probability_is_given(page, p, told):
    run = Run("as it is", [Step(4, looks(p2=0.75, p0=0.25), p)], [2], SAYS)
    shown = page({"runs": [run, run]}, reduced_motion="reduce")
    assert shown.locator(".given").count() == told
    assert shown.locator(".arcs .moves").count() == shown.locator(".arcs .head").count() == 1 + told


@pytest.mark.browser
def test_the_chosen_piece_stays_over_a_switch(page):
    run = Run("as it is", [Step(4, looks(p2=0.75), 0.9), Step(3, looks(p0=1.0), 0.1)], [2], SAYS)
    shown = page({"runs": [run, run]}, reduced_motion="reduce")
    bars = shown.locator(".bars button")
    for chosen in (1, 0):
        bars.nth(chosen).click()
        shown.get_by_role("switch", name="Head 0.0").press("Enter")
        expect(shown.locator(".says")).to_have_text("the end")
        expect(bars.nth(chosen)).to_have_attribute("aria-pressed", "true")
        expect(bars.nth(1 - chosen)).to_have_attribute("aria-pressed", "false")


@pytest.mark.browser
def test_the_switch_takes_notes_and_name_away_by_key(page):
    shown = page(reduced_motion="reduce")
    switch = shown.get_by_role("switch", name="Head 0.0")
    expect(shown.locator(".says")).to_have_text("the end")  # nothing moves
    switch.press("Enter")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(shown.locator(".says")).to_have_text("gone")
    expect(shown.locator(".arcs .moves, .arcs .head, .given")).to_have_count(0)
    expect(shown.locator(".bars output")).to_have_text("<\u00a01\u00a0%")
    expect(shown.locator(".note")).to_have_css("text-decoration-line", "line-through")
    expect(shown.locator(".was")).to_be_visible()
    bar = shown.locator(".bars i").first
    assert bar.evaluate("bar => bar.style.getPropertyValue('--was')") == "90%"
    switch.press("Enter")
    expect(shown.locator(".bars output")).to_have_text("90\u00a0%")
    expect(shown.locator(".note")).to_have_css("text-decoration-line", "none")
    expect(shown.locator(".was")).to_be_hidden()


@pytest.mark.browser
def test_one_of_several_runs_is_chosen_by_key(page):
    step = [Step(4, looks(p2=0.75, p0=0.25), 0.9)]
    runs = [
        Run(name, step, [] if name == "keys" else [2], (*SAYS[:2], f"end of {name}"))
        for name in ("all", "keys", "values")
    ]
    shown = page({"runs": runs}, reduced_motion="reduce")
    expect(shown.locator(".says")).to_have_text("end of all")
    shown.get_by_role("radio", name="all").press("ArrowRight")
    expect(shown.get_by_role("radio", name="keys")).to_be_checked()
    expect(shown.locator(".says")).to_have_text("end of keys")
    expect(shown.locator(".note.struck")).to_have_text("after A")
    shown.get_by_role("radio", name="values").check()
    expect(shown.locator(".says")).to_have_text("end of values")
    expect(shown.locator(".note.struck")).to_have_count(0)


@pytest.mark.browser
def test_a_run_may_have_a_line_of_its_own(page):
    other = ["<begin>", "␣Eve", "ra", "␣and", "␣Eve", "ra"]
    step = [Step(4, looks(p2=0.75, p0=0.25), 0.9)]
    runs = [Run("Ada", step, [2], SAYS), *(Run("Evera", step, [2], SAYS, tokens=other),) * 2]
    shown = page({"runs": runs}, reduced_motion="reduce")
    expect(shown.locator(".strip:visible")).to_have_attribute("aria-label", "Ada and Ada")
    expect(shown.locator(".strip")).to_have_count(2)  # one for each line, not for each run
    shown.get_by_role("radio", name="Evera").first.check()
    expect(shown.locator(".strip:visible")).to_have_attribute("aria-label", "Evera and Evera")
    expect(shown.locator(".bars b")).to_have_text("ra")
    expect(shown.locator(".strip:visible .given")).to_have_text("ra")
    expect(shown.locator(".was")).to_be_hidden()  # bars of another line are no measure


@pytest.mark.browser
def test_a_second_note_is_left_where_the_first_is_struck(page):
    step = [Step(4, looks(p3=0.75, p0=0.25), 0.9)]
    runs = [
        Run("all", step, [2, 3], SAYS, two_back=[3]),
        *(Run("keys", step, [], SAYS, two_back=[3]),) * 2,
    ]
    assert "␣and two after ␣A" in made(runs=runs).record.text
    shown = page({"runs": runs}, reduced_motion="reduce")
    shown.get_by_role("radio", name="keys").first.check()
    expect(shown.locator(".note.struck")).to_have_text(["after A", "after da"])
    expect(shown.locator(".further:not(.struck, .gone)")).to_have_text("2 back A")


def test_notes_that_are_not_read_say_in_which_reading():
    step = [Step(4, looks(p0=1.0), 0.1)]
    cut = Run("keys", step, [2, 3], SAYS, unread=[2, 3], reading="key")
    assert "not in keys are da after ␣A, ␣and after da" in made(runs=[cut, cut]).record.text
    for half in ({"unread": ()}, {"reading": None}):
        with pytest.raises(ValueError, match=r'"keys" has [02] notes that are not read, in the'):
            made(runs=[cut, replace(cut, **half)])


@pytest.mark.browser
def test_over_notes_that_are_not_read_stands_in_which_reading(page):
    step = [Step(4, looks(p2=0.75, p0=0.25), 0.9)]
    whole = Run("all", step, [2, 3], SAYS)
    cuts = [replace(whole, name=name, unread=[2, 3], reading=name) for name in ("key", "query")]
    shown = page({"runs": [whole, *cuts]}, reduced_motion="reduce")
    expect(shown.locator(".not-read")).to_have_count(0)
    for name, said in (("key", "not in keys"), ("query", "not in queries")):
        shown.get_by_role("radio", name=name).check()
        expect(shown.locator(".not-read")).to_have_text(said)
        colour = shown.locator(".not-read").evaluate("e => getComputedStyle(e).color")
        light = theme.ROLES[name].light
        assert colour == f"rgb{tuple(int(light[k : k + 2], 16) for k in (1, 3, 5))}"
    ends = shown.locator(".not-read").bounding_box(), shown.locator(".unread").last.bounding_box()
    assert ends[0]["x"] + ends[0]["width"] >= ends[1]["x"] + ends[1]["width"] / 2
    shown.get_by_role("radio", name="all").check()
    expect(shown.locator(".not-read")).to_have_count(0)


def test_every_run_has_a_step_for_each_bar():
    short = Run("without", [], [], SAYS)
    with pytest.raises(ValueError, match='"without" has 0 steps but the first run has 1'):
        made(runs=[Run("as it is", [Step(4, looks(p2=1), 0.9)], [2], SAYS), short])


@pytest.mark.browser
def test_moments_of_a_training_go_by_and_what_is_not_there_yet_is_not_lost(page):
    end = Run("8.2", [Step(4, looks(p2=0.75, p0=0.25), 0.9)], [2], (*SAYS[:2], "late"))
    start = Run("0.2", [Step(4, looks(p0=1.0), 0.004)], [], (*SAYS[:2], "early"))
    shown = page({"runs": [end, start], "in_time": True}, reduced_motion="reduce")
    expect(shown.get_by_role("radio")).to_have_count(2)
    expect(shown.get_by_role("radio").last).to_be_checked()
    expect(shown.locator(".says")).to_have_text("late")
    shown.get_by_role("radio", name="0.2").check()
    expect(shown.locator(".says")).to_have_text("early")
    expect(shown.locator(".note.gone")).to_have_count(1)
    expect(shown.locator(".note.struck")).to_have_count(0)
    shown.emulate_media(reduced_motion="no-preference")
    shown.get_by_role("button", name="Watch it grow").click()
    expect(shown.locator(".says")).to_have_text("early")
    expect(shown.locator(".says")).to_have_text("late")
    expect(shown.locator(".bars output")).to_have_text("90\u00a0%")
    expect(shown.get_by_role("button", name="Watch it grow")).to_be_visible()


@pytest.mark.browser
def test_without_scripts_it_is_a_drawing(browser, tmp_path):
    shown, _ = made()._repr_mimebundle_()
    (tmp_path / "stage.html").write_text(f"<!doctype html>{shown['text/html']}")
    still = browser.new_context(java_script_enabled=False).new_page()
    still.goto((tmp_path / "stage.html").as_uri())
    for width in (1440, 390):
        still.set_viewport_size({"width": width, "height": 900})
        expect(still.locator("figure svg[role=img]:visible")).to_have_count(1)
        expect(still.locator(".strip")).to_be_hidden()
    still.close()


@pytest.mark.browser
def test_on_paper_it_is_the_same_drawing(page):
    shown = page(reduced_motion="reduce")
    expect(shown.locator(".still svg:visible")).to_have_count(0)
    shown.emulate_media(media="print")
    expect(shown.locator(".still svg:visible")).to_have_count(1)
    expect(shown.locator(".moving")).to_be_hidden()


LAID = """() => {
  const boxes = [...document.querySelectorAll(".token, .note")].map((each) => {
    const all = document.createRange(); // of a token its own words, without the note
    all.selectNodeContents(each.classList.contains("note") ? each : each.firstChild);
    return all.getBoundingClientRect();
  });
  return [...document.querySelectorAll(".arcs path")].flatMap((path) => {
    const { left, top } = path.ownerSVGElement.getBoundingClientRect();
    const length = path.getTotalLength();
    return [...Array(101).keys()].map((k) => path.getPointAtLength((length * k) / 100))
      .filter(({ x, y }) => x < 0 || boxes.some((box) =>
        box.left < left + x && left + x < box.right && box.top + 2 < top + y && top + y < box.bottom - 2))
      .map(({ x, y }) => [x, y]);
  });
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 768, 390, 250])
def test_no_arc_lies_on_a_word(page, width):
    tokens = [*TOKENS[:4], *["␣Babylon"] * 12, *TOKENS[4:]]
    steps = [Step(16, np.pad(looks(p2=0.75, p0=0.25), (0, 12)), 0.9)]
    run = Run("as it is", steps, [2], SAYS)
    shown = page({"tokens": tokens, "runs": [run, run]}, reduced_motion="reduce")
    resized(shown, width)
    shown.get_by_role("switch").press("Enter")  # drawn anew, to the begin token
    shown.get_by_role("switch").press("Enter")
    assert shown.locator(".arcs :is(.looks, .moves)").count() == 4
    assert shown.evaluate(LAID) == []


@pytest.mark.browser
def test_a_choice_can_have_a_switch_beside_it(page):
    lines = [TOKENS, [*TOKENS[:1], "␣B", "ob", "␣and", "␣B", "ob"]]
    runs = [
        Run(name, [Step(4, looks(p2=0.9), p)], [2], ("", "", f"{name} ends"), line)
        for name, line, p in (("Ada", lines[0], 0.9), ("Bob", lines[1], 0.8))
    ]
    without = [
        Run(f"{run.name} blind", [Step(4, looks(p0=1.0), 0.1)], [], ("", "", "lost"), run.tokens)
        for run in runs
    ]
    shown = page({"runs": runs, "off": ("Head 0.0", without)}, reduced_motion="reduce")
    shown.get_by_role("radio", name="Bob").check()
    expect(shown.locator("output")).to_have_text("80\u00a0%")
    knob = shown.get_by_role("switch", name="Head 0.0")
    knob.press("Enter")
    expect(shown.locator(".says")).to_have_text("lost")
    expect(shown.locator("output")).to_have_text("10\u00a0%")
    expect(shown.locator(".was")).to_be_visible()
    expect(shown.locator(".strip:visible .struck")).to_have_count(1)
    knob.press("Enter")
    expect(shown.locator(".says")).to_have_text("Bob ends")
