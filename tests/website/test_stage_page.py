"""The stage on a page of the story: scrolled, touched, typed into, linked, printed, and without scripts."""

import re

import pytest
from conftest import arrived, barriers, painted, resized
from playwright.sync_api import expect
from stage_pages import LINE, READY, site  # noqa: F401

from transformer_circuits.figures.values import percent
from transformer_circuits.stage import one_layer

pytestmark = pytest.mark.browser
WHOLE = f'two_layers.read("{LINE}")'


@pytest.fixture
def page(watched, site):  # noqa: F811
    watched.goto((site / "story.html").as_uri())
    watched.wait_for_selector(READY)
    return watched


def code(page):
    return page.get_by_label("The line of code")


def scrolled(page, k):
    """To the k-th step, right below the stage."""
    page.evaluate(
        """(k) => { const below = document.querySelector('.the-stage').offsetHeight + 80;
        scrollTo(0, document.querySelectorAll('.step')[k].getBoundingClientRect().top + scrollY - below); }""",
        k,
    )
    expect(page.locator(".step").nth(k)).to_have_class(re.compile(r"\bon\b"))
    page.wait_for_selector(READY)


def signs(page, k):
    return page.locator(".step").nth(k).locator(".sign").all_inner_texts()


def calm(page):
    """Nothing moves from now on, and what was on its way when the page opened has arrived."""
    page.emulate_media(reduced_motion="reduce")
    arrived(page)
    painted(page)


def head(page, name):
    return page.locator(f'.heads [data-name="{name}"]')


def test_every_step_sets_its_state_and_its_marks_hold_without_any_weights(watched, site):  # noqa: F811
    asked = []
    watched.route("**/live/*", lambda route: asked.append(route.request.url))  # never answered
    watched.goto((site / "story.html").as_uri())
    watched.wait_for_selector(".the-stage[data-ready]")
    expect(code(watched)).to_have_value(WHOLE)
    states = watched.evaluate(
        "[...document.querySelectorAll('.step')].map((step) => JSON.parse(step.dataset.state))"
    )
    for k, state in enumerate(states):
        watched.evaluate(f"document.querySelectorAll('.step')[{k}].scrollIntoView()")
        watched.evaluate("scrollBy(0, -400)")
        expect(watched.locator(".step").nth(k)).to_have_class(re.compile(r"\bon\b"))
        expect(code(watched)).to_have_value(re.compile("^" + state["model"]))
        assert {*signs(watched, k)} <= {"✓"}
        assert watched.locator(".heads [aria-checked=false]").count() == len(state["off"])
    expect(watched.locator(".board [data-share]")).to_have_count(12)
    assert len(asked) <= 1, (
        "one script is asked for when the page is idle, and nothing waits for it"
    )


def test_what_is_touched_is_the_readers_until_the_text_leads_again(page):
    head(page, "0.2").click()
    changed = f'two_layers.without("0.2").read("{LINE}")'
    expect(code(page)).to_have_value(changed)
    sign = page.locator(".step").first.locator(".sign")
    expect(sign).to_have_text(re.compile(r"✗\s<\s1\s%, should be above 50\s%"))
    expect(page.locator(".note").first).to_be_disabled()
    expect(page.locator(".said")).to_contain_text("Without 0.2.")
    head(page, "0.4").click()
    changed = f'two_layers.without("0.2", "0.4").read("{LINE}")'
    page.wait_for_function("decodeURIComponent(location.hash).includes('0.4')")
    scrolled(page, 2)
    expect(code(page)).to_have_value(changed)
    signs = page.locator(".step").nth(2).locator(".sign")
    expect(signs).to_have_text(["✓", re.compile(r"^–\s0\.4 off$")])
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(READY)
    expect(code(page)).to_have_value(changed)
    page.get_by_role("button", name="Follow the text").click()
    expect(code(page)).to_have_value(WHOLE)
    assert "#" not in page.url
    expect(page.get_by_role("button", name="Follow the text")).to_be_hidden()


def test_a_word_goes_where_the_caret_is_and_a_refused_line_is_not_taken_for_an_answer(page):
    code(page).click()
    code(page).evaluate("(line) => line.setSelectionRange(3, 3)")
    code(page).press("ArrowLeft")
    page.locator(".offered button", has_text="two_layers").click()
    expect(code(page)).to_have_value(WHOLE)
    code(page).fill('two_layers.cut("0.2", into="keys").read("A line")')
    expect(page.locator(".said")).to_contain_text("expected “, of=”")
    expect(page.locator(".the-stage")).to_have_attribute("data-refused", "")
    page.evaluate("() => Circuits.stages[0].refresh()")  # as when the model arrives meanwhile
    head(page, "0.2").hover()
    expect(page.locator(".said")).to_contain_text("expected “, of=”")
    page.get_by_role("button", name="Follow the text").click()
    expect(code(page)).to_have_value(WHOLE)
    expect(page.locator(".the-stage[data-refused]")).to_have_count(0)


def test_tokens_notes_and_arcs_can_be_pressed(page):
    page.get_by_role("button", name="em, look from here").last.click()
    expect(code(page)).to_have_value(f'two_layers.read("{LINE}", at="em")')
    page.get_by_role("button", name="the beginning of the line, look from here").click()
    expect(code(page)).to_have_value(f'two_layers.read("{LINE}", at=0)')
    page.get_by_role("button", name="V, look from here").first.click()
    expect(code(page)).to_have_value(f'two_layers.read("{LINE}", at=4)')
    page.get_by_role("button", name="V, look from here").last.click()
    page.locator(".note").nth(1).click()
    cuts = "".join(f'.cut("0.2", into="keys", of="{of}")' for of in ("1.0", "1.2"))
    expect(code(page)).to_have_value(f'two_layers{cuts}.read("{LINE}", at="V")')
    expect(page.locator(".note.struck")).to_have_count(4)
    expect(page.locator(".said")).to_contain_text(
        "Cut: what 0.2 wrote, out of the keys of 1.0 and 1.2"
    )
    page.locator(".note").first.click()
    page.wait_for_selector(READY)
    page.locator(".tag", has_text="1.0 looks").click()
    reads = page.get_by_role("group", name="What 1.0 reads of the first layer")
    reads.get_by_role("switch", name="1.0 reads 0.0 in its values").click()
    expect(code(page)).to_have_value(re.compile(r'\.cut\("0\.0", into="values", of="1\.0"\)'))
    page.keyboard.press("Escape")
    expect(reads).to_be_hidden()


def test_the_line_of_code_is_typed_and_says_what_it_expected(page):
    code(page).fill(WHOLE.replace("Valdemar", "Nemhetrcy"))
    expect(page.locator(".token").last).to_have_text("cy")
    code(page).fill("two_layers.withot")
    expect(page.locator(".said")).to_contain_text(
        re.compile(r"expected without, .*\(character 12\)")
    )
    expect(code(page)).to_have_attribute("aria-invalid", "true")
    code(page).fill("two_layers.")
    page.get_by_role("button", name="seed(", exact=True).click()
    expect(code(page)).to_have_value("two_layers.seed(")
    code(page).fill('two_layers.read("Zorblatina met us. Nobody knew Zorblatin")')
    page.wait_for_selector(READY)
    expect(page.locator(".said")).to_contain_text("")


def test_a_seed_of_one_layer_comes_when_it_is_asked_for(page):
    code(page).fill(f'one_layer.seed(1).read("{LINE}")')
    numbers = page.locator(".likely output")
    expected = [percent(float(p)) for p in one_layer.seed(1).read(LINE).likely]
    expect(numbers).to_have_text(expected)
    code(page).fill('zero_layers.seed(1).read("A name")')
    expect(page.locator(".said")).to_contain_text("zero_layers has seed 0 alone")


def test_a_name_whose_pieces_differ_the_second_time_is_said_so(page):
    code(page).fill('two_layers.read("Zorblatina met us. Zorblatina")')
    page.wait_for_selector(READY)
    tokens = page.locator(".token").all_inner_texts()
    cut = page.evaluate("Circuits.stages[0].result.cutDifferently")
    assert cut == ("cut into other pieces" in page.locator(".said").inner_text()), tokens
    code(page).fill('two_layers.read("X.Zorblatina met us. Nobody saw Zorblatina")')
    page.wait_for_selector(READY)
    if page.evaluate("Circuits.stages[0].result.cutDifferently"):
        expect(page.locator(".said")).to_contain_text("cut into other pieces now")


def test_a_name_of_one_piece_and_parts_of_a_character_are_said_to_be_so(page):
    code(page).fill('two_layers.read("The old king Peter spoke, and the people heard Peter")')
    expect(page.locator(".said")).to_contain_text(
        re.compile(
            r"^Peter is one piece here: there is nothing to finish\. After “Peter” it expects"
        )
    )
    code(page).fill('two_layers.read("The old king 王 spoke, and the people heard 王")')
    page.wait_for_selector(READY)
    parts = [f"王 {k}/3" for k in (1, 2, 3)]
    expect(page.locator(".token").filter(has_text="王")).to_have_text(parts + parts)
    expect(page.locator(".said")).to_contain_text("Expected, before they come: 王 1/3")


def test_it_is_played_by_keyboard_and_what_comes_is_said(page):
    page.locator(".token").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".token:focus")).to_have_text("king")
    expect(code(page)).to_have_value(re.compile('at="king"'))
    head(page, "0.0").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(code(page)).to_have_value(re.compile(r'without\("1\.0"\)'))
    said = page.locator(".said[aria-live=polite]")
    expect(said).to_contain_text(re.compile(r"^Without 1\.0\. Expected, before they come: al \d+"))


def test_moments_of_the_training_are_a_slide_away_in_the_unit_of_the_text(page):
    scrolled(page, 3)
    slider = page.get_by_label("Moment of the training")
    expect(slider).to_have_attribute("aria-valuetext", "after 1.6 million tokens")
    expect(page.locator(".scrubber span")).to_have_text("after 1.6 million tokens")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(code(page)).to_have_value(f'two_layers.after(325).read("{LINE}")')
    expect(page.locator(".scrubber span")).to_have_text("after 2.7 million tokens")
    page.keyboard.press("End")
    expect(code(page)).to_have_value(WHOLE)
    expect(page.locator(".scrubber span")).to_have_text("at the end of training")


def test_on_a_slide_keys_turn_it_after_a_press_and_play_for_who_came_by_keyboard(watched, site):  # noqa: F811
    watched.goto((site / "slide.html").as_uri())
    watched.wait_for_selector(READY)
    watched.evaluate(
        "() => { window.turned = []; document.addEventListener('keydown', ({ key }) => turned.push(key)); }"
    )
    head(watched, "0.2").click()
    watched.locator(".token").nth(3).click()
    for key in ("ArrowRight", " "):
        watched.keyboard.press(key)
    assert watched.evaluate("turned") == ["ArrowRight", " "]
    expect(code(watched)).to_have_value(re.compile(r'without\("0\.2"\).*at="king"'))
    head(watched, "0.0").focus()
    watched.keyboard.press("ArrowRight")
    watched.keyboard.press(" ")
    expect(code(watched)).to_have_value(re.compile(r'without\("0\.1", "0\.2"\)'))
    assert watched.evaluate("turned") == ["ArrowRight", " "]


@pytest.mark.parametrize("size", [(390, 844), (320, 640)])
def test_a_phone_shows_why_a_marked_sentence_broke(page, size):
    calm(page)
    resized(page, *size)
    scrolled(page, 0)
    expect(page.locator(".said")).to_have_css("clip-path", "inset(50%)")
    page.evaluate("document.querySelector('[data-name=\"0.2\"]').click()")
    page.wait_for_selector(READY)
    said = page.locator(".said")
    expect(said).to_have_css("clip-path", "none")
    expect(said).to_contain_text(
        re.compile(r"^Without 0\.2\. .* look at the beginning of the line")
    )
    assert page.locator(".said .seen").bounding_box()["height"] <= 1
    assert page.locator(".the-stage").bounding_box()["height"] <= 0.42 * size[1]
    sign = page.locator(".step").first.locator(".sign")
    expect(sign).to_have_text(re.compile("✗.* should be above"))
    expect(sign).to_be_in_viewport(ratio=1)
    assert sign.bounding_box()["y"] > page.locator(".the-stage").bounding_box()["height"]


@pytest.mark.parametrize("size", [(1440, 900), (768, 1024), (390, 844), (320, 640)])
def test_it_stays_below_the_bar_and_leaves_the_text_its_room(page, size):
    resized(page, *size)
    for k in range(5):
        scrolled(page, k)
        box = page.locator(".the-stage").bounding_box()
        assert box["height"] <= (240 if size[0] > 640 else 0.42 * size[1]), k
        assert abs(box["y"]) < 60 and box["width"] <= size[0]
        assert page.locator(".step").nth(k).bounding_box()["y"] >= box["y"] + box["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    small = page.eval_on_selector_all(
        ".the-stage :is(button, output, p, input)",
        "all => Math.min(...all.filter((one) => one.checkVisibility()).map((one) => parseFloat(getComputedStyle(one).fontSize)))",
    )
    assert small >= (14 if size[0] > 640 else 13)


def test_no_barrier_that_axe_finds_in_the_light_and_in_the_dark(page):
    calm(page)
    page.add_style_tag(content="* { transition: none !important }")
    page.locator(".note").first.click()
    head(page, "1.3").click()
    page.locator(".tag").first.click()
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        painted(page)
        assert barriers(page, ".the-stage") == [], theme


def test_nothing_moves_for_whom_it_should_not_and_paper_has_the_drawing(page):
    calm(page)
    head(page, "0.2").click()
    page.wait_for_selector(READY)
    assert page.evaluate("document.getAnimations().length") == 0
    expect(page.locator(".sign.sign", has_text="✗").first).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator(".sign", has_text="✗")).to_have_count(
        0
    )  # beside the drawing of what was written
    expect(page.locator(".moving")).to_be_hidden()
    assert page.locator(".still svg").first.bounding_box()["height"] > 50
    expect(page.locator(".the-stage figcaption")).to_be_visible()


def test_without_scripts_there_is_the_drawing_and_every_sentence_has_its_sign(browser, site):  # noqa: F811
    page = browser.new_page(java_script_enabled=False)
    page.goto((site / "story.html").as_uri())
    assert page.locator(".the-stage svg").first.bounding_box()["height"] > 50
    assert {*page.locator(".sign").all_inner_texts()} == {"✓"}
    page.close()


def test_a_change_is_shown_soon_also_on_a_slow_machine(page):
    """The page's own work leaves half of 200 ms to the engine, on a processor four times slower."""
    calm(page)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def taken():
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    worked = []
    for name in ("0.1", "0.3", "0.4", "1.1", "1.3", "1.4", "1.5"):
        before = taken()
        page.evaluate(f"document.querySelector('[data-name=\"{name}\"]').click()")
        page.wait_for_selector(READY)
        worked.append(taken() - before)
    assert 4 * sorted(worked)[len(worked) // 2] < 0.1, worked
