"""Circuit hunts in the browser: marked as in Python, and played by mouse and by keyboard.

The first tests run the page's scripts in Node; those marked `browser` open a page of its own, made of
what the book serves.
"""

import dataclasses
import json
import random
import re
import subprocess
from itertools import product

import pytest
import torch
from conftest import barriers, painted, resized
from playwright.sync_api import expect
from stage_pages import READY, site  # noqa: F401

from transformer_circuits.analysis import ablation, circuit_hunt, heads, path_patching
from transformer_circuits.analysis.circuit_hunt import Hunt, circuit, mark
from transformer_circuits.model import quantisation
from website import assets
from website.live import weights

N_HEADS = circuit_hunt.N_HEADS
SHIPPED = list(product(circuit_hunt.LEVELS, assets.HUNT_SEEDS))
FIRST_HINT = "1 of the first layer, 1 of the second, and 1 edge will do."
MARK = """
for await (const part of process.stdin) text += part;
const { packed, answers, spec, share } = JSON.parse(text);
const model = Model.unpack(packed);
if (!answers) {
  process.stdout.write(JSON.stringify({ solved: solve(model, packed.lines, share) }));
  process.exit();
}
const marks = answers.map((answer) => mark(model, packed.lines, answer, share));
const [ids] = packed.lines.tokens;
const { logits } = model.extend(model.start(spec), ids);
process.stdout.write(JSON.stringify({ marks, logits: Array.from(logits) }));
"""


def served(level, seed) -> Hunt:
    """The hunt as the page has it: every number in eight bits."""
    hunted = circuit_hunt.hunt(level, seed)
    model = quantisation.rounded(hunted.model)
    model.W_P.copy_(quantisation.dequantise(*quantisation.quantise(model.W_P)))
    return dataclasses.replace(hunted, model=model)


def worded(because):
    """A reason as the page gives it: it has words for the paper's letters."""
    into = {"Q": "queries", "K": "keys", "V": "values"}
    return re.sub(
        r"the edge (.) from (\S+) to (\S+)",
        lambda edge: f"{edge[2]} → {into[edge[1]]} of {edge[3]}",
        because,
    )


def number(head):
    return N_HEADS * head[0] + head[1]


def plain(edges):
    return [
        {"kind": kind, "later": number(later), "earlier": number(earlier)}
        for kind, later, earlier in edges
    ]


def asked(answer):
    """An answer as the page asks about it, in another order than Python's."""
    named = sorted(map(number, answer.heads), reverse=True)
    return {"heads": named, "edges": plain(sorted(answer.edges, reverse=True))}


def answers(hunted, draw):
    """The truth; without an edge, or a head; with one of either that it does not need; others."""
    truth = hunted.planted
    late, early = ([head for head in truth.heads if head.layer == layer] for layer in (1, 0))
    edge, head = draw.choice(sorted(truth.edges)), draw.choice(late)
    idle = draw.choice([one for one in heads.every(hunted.model) if one not in truth.heads])
    more = draw.choice(sorted({*product("QKV", late, early)} - truth.edges))
    yield truth
    yield truth._replace(edges=truth.edges - {edge})
    yield circuit(sorted(truth.heads - {head}), [one for one in truth.edges if head not in one])
    yield truth._replace(heads=truth.heads | {idle})
    yield truth._replace(edges=truth.edges | {more})
    yield circuit_hunt.by_scores(hunted)
    yield circuit([], [])


@pytest.mark.parametrize("level, seed", SHIPPED)
def test_an_answer_is_marked_as_in_python(level, seed):
    hunted = served(level, seed)
    given = list(answers(hunted, random.Random(seed)))
    marks = [mark(hunted, answer) for answer in given]
    assert [said.right for said in marks[:5]] == [True, False, False, False, False]
    idle = [head for head in heads.every(hunted.model) if head not in hunted.planted.heads]
    off, (_, later, _) = [idle[0], idle[-1]], max(hunted.planted.edges)
    cut = [*hunted.planted.edges, ("Q", later, idle[1]), ("K", idle[-2], idle[1])]
    found = in_node(
        packed=json.loads(weights.hunt(circuit_hunt.hunt(level, seed))),
        answers=[asked(answer) for answer in given],
        spec={"off": [number(head) for head in off], "cuts": plain(cut)},
        share=circuit_hunt.SHARE,
    )
    whole = float(circuit_hunt.cross_entropy.mean(hunted.model(hunted.tokens), hunted.targets))
    nobody = circuit_hunt.left(hunted, circuit([], []))
    for answer, expected, said in zip(given, marks, found["marks"], strict=True):
        assert (said["right"], said["because"]) == (expected.right, worded(expected.because))
        alone = circuit_hunt.left(hunted, answer)
        assert said["whole"] == pytest.approx(whole, abs=1e-4)
        assert said["nobody"] == pytest.approx(nobody, abs=1e-4)
        assert said["alone"] == pytest.approx(alone, abs=1e-4)
    model = ablation.without(hunted.model, off)
    trace = model.trace(hunted.tokens[:1])
    nothing = torch.zeros_like(trace.residual[1])
    expected = path_patching.patched(model, trace, dict.fromkeys(cut, nothing))[0]
    assert (expected - trace.logits[0]).abs().max() > 1
    logits = torch.tensor(found["logits"]).view_as(expected)
    assert (logits - expected).abs().max() < 1e-4


def in_node(**given):
    """What the page's scripts say, in Node."""
    modules = {"model.js": "Model", "marking.js": "mark, solve"}
    imports = [
        f"import {{ {what} }} from {json.dumps((assets.LIVE / name).as_uri())};"
        for name, what in modules.items()
    ]
    done = subprocess.run(
        [assets.NODE, "--input-type=module", "-e", "\n".join([*imports, 'let text = "";', MARK])],
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_an_edge_of_a_head_that_is_not_named_is_an_error():
    hunted = circuit_hunt.hunt(*SHIPPED[0])
    edge = plain(hunted.planted.edges)
    given = dict(packed=json.loads(weights.hunt(hunted)), spec={"off": [], "cuts": []})
    with pytest.raises(AssertionError, match="an edge is of a head that is not named"):
        in_node(**given, answers=[{"heads": [], "edges": edge}], share=circuit_hunt.SHARE)


def test_models_of_the_book_bring_no_positions_and_hunts_do(model):
    assert "W_P" not in weights.matrices(model)
    assert "W_P" in weights.matrices(circuit_hunt.hunt(1, 4).model)


def solved(level, seed):
    """What the page finds if it is asked for an answer."""
    return in_node(
        packed=json.loads(weights.hunt(circuit_hunt.hunt(level, seed))), share=circuit_hunt.SHARE
    )["solved"]


@pytest.mark.parametrize("level, seed", SHIPPED)
def test_an_answer_is_found_without_a_key(level, seed):
    found = solved(level, seed)
    edges = [
        (edge["kind"], divmod(edge["later"], N_HEADS), divmod(edge["earlier"], N_HEADS))
        for edge in found["edges"]
    ]
    heads_ = [divmod(head, N_HEADS) for head in found["heads"]]
    assert mark(served(level, seed), circuit(heads_, edges)).right


def opened(page, site):  # noqa: F811
    page.goto((site / "hunt.html").as_uri())
    page.wait_for_selector(READY)
    return page


@pytest.fixture
def hunting(watched, site):  # noqa: F811
    return opened(watched, site)


def verdict(page):
    return page.locator(".verdict-of-hunt")


def called(head):
    return f"{head.layer}.{head.head}"


def name_it(page, *heads_):
    for head in heads_:
        page.get_by_label(f"I name head {called(head)}", exact=True).click()


def mark_it(page):
    page.get_by_role("button", name="Mark my answer").click()


@pytest.mark.browser
def test_a_hunt_begins_with_nothing_chosen_and_no_answer_is_marked(hunting):
    """No head is drawn, no note is shown, and none is named."""
    for selector in (".arcs path", ".note", ".drawn", ".mine [aria-pressed=true]", ".past li"):
        expect(hunting.locator(selector)).to_have_count(0)
    mark_it(hunting)
    expect(verdict(hunting)).to_have_text("Name a head first.")
    ((_, finds, _),) = circuit_hunt.hunt(*SHIPPED[0]).planted.edges
    hunting.locator(f'.heads [data-name="{called(finds)}"]').hover()
    expect(hunting.locator(".arcs path")).not_to_have_count(0)


@pytest.mark.browser
def test_nothing_can_be_asked_of_a_hunt_before_it_is_there(watched, site):  # noqa: F811
    held = []
    watched.route("**/live/hunt-1-4.js", lambda route: held.append(route))
    watched.goto((site / "hunt.html").as_uri(), wait_until="commit")
    ways = [
        watched.get_by_role("button", name=name)
        for name in ("Mark my answer", "A hint", "Show an answer")
    ]
    for way in ways:
        expect(way).to_be_disabled()
    watched.wait_for_function("document.documentElement.dataset.awaits === '1'")
    held[0].continue_()
    for way in ways:
        expect(way).to_be_enabled()


@pytest.mark.browser
def test_until_another_hunt_is_there_all_is_about_the_one_before(watched, site):  # noqa: F811
    held = []
    watched.route(
        "**/live/hunt-3-4.js", lambda route: held.append(route)
    )  # heeded by pages to come
    hunting = opened(watched, site)
    level = hunting.get_by_role("group", name="Level")
    level.get_by_role("button", name="3").click()
    head = hunting.locator('.heads [data-name="0.1"]')
    head.click()
    costs = hunting.locator(".costs .row span")
    expect(hunting.locator(".heads [aria-checked=false]")).to_have_text("0.1")
    hunting.get_by_role("button", name="A hint").click()
    expect(verdict(hunting)).to_have_text(FIRST_HINT)
    assert hunting.evaluate("location.hash") == "#1-4"
    held[0].continue_()
    expect(level.get_by_role("button", name="3")).to_have_attribute("aria-pressed", "true")
    expect(hunting.locator(".heads [aria-checked=false]")).to_have_count(0)
    expect(costs).to_have_count(3)
    # A hint of level 3, which takes a while, is not one of level 1.
    hunting.evaluate(
        """() => { const [to] = document.querySelectorAll("[aria-label=Level] button");
        [...document.querySelectorAll(".ways-out button")][1].click(); to.click(); }"""
    )
    hunting.wait_for_function("location.hash === '#1-4'")
    hunting.wait_for_selector(READY)
    expect(verdict(hunting)).to_contain_text("Which heads make this circuit?")
    hunting.get_by_role("button", name="A hint").click()
    expect(verdict(hunting)).to_have_text(FIRST_HINT)


@pytest.mark.browser
def test_what_goes_wrong_is_said_of_the_hunt_that_is_shown_and_can_be_tried_again(watched, site):  # noqa: F811
    held = []
    watched.route("**/live/hunt-3-4.js", lambda route: held.append(route))
    hunting = opened(watched, site)
    level = hunting.get_by_role("group", name="Level")
    for wanted in ("3", "1"):  # the second is there at once
        level.get_by_role("button", name=wanted).click()
    hunting.wait_for_function("document.documentElement.dataset.awaits === '1'")
    held[0].abort()
    hunting.wait_for_selector(READY)
    expect(verdict(hunting)).to_contain_text("Which heads make this circuit?")
    level.get_by_role("button", name="3").click()
    hunting.wait_for_function("document.documentElement.dataset.awaits === '1'")
    held[1].abort()
    expect(verdict(hunting)).to_contain_text("The model could not be fetched")
    hunting.wrong.clear()
    name_it(hunting, heads.Head(0, 1))
    hunting.evaluate(
        """() => { const [hunt] = Circuits.hunted;
        window.asks = hunt.ask;
        hunt.ask = () => Promise.reject(new Error("No worker.")); }"""
    )
    for way in ("Mark my answer", "A hint", "Show an answer"):
        hunting.evaluate("Circuits.hunted[0].say('')")
        hunting.get_by_role("button", name=way).click()
        expect(verdict(hunting)).to_have_text("No worker.")
    hunting.evaluate("() => { Circuits.hunted[0].ask = window.asks; }")
    hunting.get_by_role("button", name="A hint").click()
    expect(verdict(hunting)).to_have_text(FIRST_HINT)


@pytest.mark.browser
def test_an_answer_that_changes_while_it_is_marked_is_to_be_marked_again(hunting):
    name_it(hunting, heads.Head(0, 1))
    hunting.evaluate(
        """() => { document.querySelector(".ways-out button").click();
        document.querySelector("[aria-label='I name head 0.2']").click(); }"""
    )
    expect(verdict(hunting)).to_have_text("The answer is another one now: mark it again.")
    expect(hunting.locator(".past li")).to_have_count(0)


@pytest.mark.browser
def test_a_finger_shows_looks_and_then_switches_heads_off(browser, site):  # noqa: F811
    page = browser.new_page(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 600})
    page.goto((site / "hunt.html").as_uri())
    page.wait_for_selector(READY)
    ((_, finds, _),) = circuit_hunt.hunt(*SHIPPED[0]).planted.edges
    head = page.locator(f'.heads [data-name="{called(finds)}"]')
    press = page.get_by_role("group", name="Pressing a head")
    head.tap()
    expect(page.locator(".tag", has_text=f"{called(finds)} looks")).to_be_visible()
    expect(page.locator(".said")).to_contain_text(f"{called(finds)} (")
    expect(head).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".heads [role=switch], .heads .off")).to_have_count(0)
    expect(head).to_have_attribute("title", f"Press to see where head {called(finds)} looks")
    head.tap()
    expect(head).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".tag")).to_have_count(0)
    press.get_by_role("button", name="switches it off").tap()
    expect(head).to_have_role("switch")
    head.tap()
    expect(head).to_have_attribute("aria-checked", "false")
    press.get_by_role("button", name="shows its looks").tap()
    expect(head).to_have_accessible_name(f"head {called(finds)}, off")
    expect(page.locator(".costs")).to_contain_text("What is off or cut costs")
    page.close()


@pytest.mark.browser
def test_level_one_is_played_to_a_wrong_answer_and_to_the_right_one(hunting):
    ((_, finds, notes),) = circuit_hunt.hunt(*SHIPPED[0]).planted.edges
    costs = hunting.locator(".costs .row span")
    expect(costs).to_have_text(["0.04", re.compile(r"2\.\d\d"), "0.04"])
    hunting.locator(f'.heads [data-name="{called(finds)}"]').click()
    expect(costs.nth(2)).to_have_text(re.compile(r"^[12]\."))
    hunting.locator(f'.heads [data-name="{called(finds)}"]').click()
    expect(costs.nth(2)).to_have_text("0.04")
    name_it(hunting, finds, notes)
    edge = hunting.get_by_role(
        "button", name=f"{called(finds)} reads {called(notes)} in its queries"
    )
    edge.click()
    mark_it(hunting)
    expect(verdict(hunting)).to_have_text(
        re.compile(r"^✗ Not yet: alone, .* does \d+% of the work")
    )
    expect(hunting.locator(".past li")).to_have_count(1)
    edge.click()
    keys = hunting.get_by_role("button", name=f"{called(finds)} reads {called(notes)} in its keys")
    keys.focus()
    hunting.keyboard.press("Space")
    mark_it(hunting)
    expect(verdict(hunting)).to_have_text(re.compile("^✓ Right: it does the work alone"))
    expect(hunting.locator(".past li")).to_have_count(2)
    # Who wins sees the circuit at work.
    expect(hunting.locator(".note:enabled").first).to_be_visible()
    expect(hunting.locator(".tag", has_text=f"{called(finds)} looks")).to_be_visible()
    hunting.get_by_role("button", name="Another such model").press("Enter")
    hunting.wait_for_function(f"location.hash === '#1-{assets.HUNT_SEEDS[1]}'")
    expect(hunting.locator(".past li")).to_have_count(0)
    expect(hunting.locator(".note")).to_have_count(0)


@pytest.mark.browser
def test_hints_come_one_by_one_and_an_answer_is_shown_on_demand(hunting):
    hunting.get_by_role("group", name="Level").get_by_role("button", name="3").click()
    hunting.wait_for_function("location.hash.startsWith('#3-')")
    for said in (
        "of the first layer",
        "One of the first layer is",
        "Of the second:",
        "The edges lead",
    ):
        hunting.get_by_role("button", name="A hint").click()
        expect(verdict(hunting)).to_contain_text(said)
    hunting.get_by_role("button", name="A hint").click()
    expect(verdict(hunting)).to_have_text("There is no other hint. An answer can be shown.")
    hunting.get_by_role("button", name="Show an answer").click()
    expect(verdict(hunting)).to_contain_text("This answer would do")
    mark_it(hunting)
    expect(verdict(hunting)).to_contain_text("✓ Right")


@pytest.mark.browser
def test_it_has_no_barrier_and_fits_a_phone(hunting):
    hunting.add_style_tag(content="* { transition: none !important }")
    name_it(hunting, heads.Head(0, 1), heads.Head(1, 2))
    mark_it(hunting)
    expect(hunting.locator(".past li")).to_have_count(1)
    for width in (320, 390, 1440):
        resized(hunting, width)
        assert hunting.evaluate("document.documentElement.scrollWidth") <= width
        for theme in ("light", "dark"):
            hunting.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            painted(hunting)
            assert barriers(hunting, "article") == [], (width, theme)


@pytest.mark.browser
def test_without_scripts_the_page_says_where_the_same_is_done(browser, site):  # noqa: F811
    page = browser.new_page(java_script_enabled=False)
    page.goto((site / "hunt.html").as_uri())
    expect(page.get_by_role("link", name="Circuit hunt")).to_be_visible()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("address", ["9-9", "1-", "2-7-1", "level"])
def test_of_an_address_that_is_no_hunt_the_page_says_so(watched, site, address):  # noqa: F811
    watched.goto(f"{(site / 'hunt.html').as_uri()}#{address}")
    watched.wait_for_selector(READY)
    expect(verdict(watched)).to_contain_text(f"There is no hunt “{address}”: this is 1-4.")
