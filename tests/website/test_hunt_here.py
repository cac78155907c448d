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
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from conftest import barriers
from playwright.sync_api import expect

from transformer_circuits.analysis import ablation, circuit_hunt, heads, path_patching
from transformer_circuits.analysis.circuit_hunt import Hunt, circuit, mark
from transformer_circuits.model import quantisation
from website import assets
from website.live import weights

N_HEADS = circuit_hunt.N_HEADS
READY = "html[data-awaits='0'] [data-hunt][data-ready]"
"""Whatever was asked is answered and shown."""
SHIPPED = list(product(circuit_hunt.LEVELS, assets.HUNT_SEEDS))
MARK = """
for await (const part of process.stdin) text += part;
const { packed, answers, spec, share } = JSON.parse(text);
const model = Model.unpack(packed);
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
        spec={"off": [number(head) for head in off], "how": "zero", "cuts": plain(cut)},
        share=circuit_hunt.SHARE,
    )
    whole = float(circuit_hunt.cross_entropy.mean(hunted.model(hunted.tokens), hunted.targets))
    nobody = circuit_hunt.left(hunted, circuit([], []))
    for answer, expected, said in zip(given, marks, found["marks"], strict=True):
        assert (said["right"], said["because"]) == (expected.right, expected.because)
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
    modules = {"model.js": "Model", "marking.js": "mark"}
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
    given = dict(
        packed=json.loads(weights.hunt(hunted)), spec={"off": [], "how": "zero", "cuts": []}
    )
    with pytest.raises(AssertionError, match="an edge is of a head that is not named"):
        in_node(**given, answers=[{"heads": [], "edges": edge}], share=circuit_hunt.SHARE)


def test_models_of_the_book_bring_no_positions_and_hunts_do(model):
    assert "W_P" not in weights.matrices(model)
    assert "W_P" in weights.matrices(circuit_hunt.hunt(1, 4).model)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A page of hunts alone, beside all that the book serves."""
    folder = tmp_path_factory.mktemp("hunt")
    assets._serve(SimpleNamespace(outdir=folder, builder=SimpleNamespace(format="html", name="")))
    text = (Path(__file__).parents[2] / "chapters" / "browser" / "hunt-here.md").read_text("utf-8")
    (body,) = re.findall(r"<div data-hunt.*</div>", text)
    needed = [f"_static/{name}" for name in assets.NEEDED_BY["<div data-hunt"]]
    styles = [f'<link rel="stylesheet" href="{name}">' for name in needed if name.endswith("css")]
    scripts = [f'<script defer src="{name}"></script>' for name in needed if name.endswith("js")]
    head = f'<html lang="en"><meta charset="utf-8"><title>Hunt</title>{"".join(styles + scripts)}'
    page = folder / "page.html"
    page.write_text(f"<!doctype html>{head}<main><h1>Hunt</h1>{body}</main>", encoding="utf-8")
    return page


@pytest.fixture
def hunting(watched, site):
    watched.goto(site.as_uri())
    watched.wait_for_selector(READY)
    return watched


def verdict(page):
    return page.locator(".lm-verdict")


def called(head):
    return f"{head.layer}.{head.head}"


@pytest.mark.browser
def test_a_hunt_begins_with_nothing_chosen_and_no_answer_is_marked(hunting):
    """The head that it showed first, and the edge that it offered, were of the circuit."""
    expect(hunting.locator(".lm-head[aria-pressed=true]")).to_have_count(0)
    expect(hunting.locator(".lm-pattern .lm-title")).to_have_text("No head is chosen yet")
    expect(hunting.locator(".lm-say")).to_contain_text("Point at a head")
    for level, seed in SHIPPED:
        hunting.get_by_label("Level").select_option(str(level))
        hunting.get_by_label("Seed", exact=True).select_option(str(seed))
        expect(hunting.locator("[data-hunt]")).to_have_attribute("aria-busy", "false")
        for end, head in (("reads", "1.0"), ("is read", "0.0")):
            chosen = hunting.get_by_label(f"The head that {end}", exact=True)
            expect(chosen.locator("option:checked")).to_have_text(head)
    hunting.get_by_role("button", name="Mark my answer").click()
    expect(verdict(hunting)).to_have_text(re.compile("^Choose first"))
    expect(hunting.locator(".lm-parts tbody tr")).to_have_count(3)
    hunting.locator(".lm-head").first.click()
    expect(hunting.locator(".lm-pattern .lm-title")).to_contain_text("Head 0.0")


@pytest.mark.browser
def test_level_one_is_played_by_mouse_to_wrong_answers_and_by_keyboard_to_the_right_one(hunting):
    ((_, finds, notes),) = circuit_hunt.hunt(*SHIPPED[0]).planted.edges
    losses = hunting.locator(".lm-parts td:nth-child(2)")
    cut = "document.querySelectorAll('.lm-parts td:nth-child(2)')[2].textContent > 1"
    expect(losses).to_have_text(["0.04", re.compile(r"2\.\d\d"), "0.04"])
    hunting.get_by_label(f"{called(finds)} on", exact=True).uncheck()
    hunting.wait_for_function(cut)
    hunting.get_by_role("button", name="All on").click()
    expect(losses.nth(2)).to_have_text("0.04")
    hunting.get_by_label("The head that reads", exact=True).select_option(called(finds))
    hunting.get_by_label("The head that is read").select_option(called(notes))
    hunting.get_by_label("Cut one edge:").check()
    hunting.wait_for_function(cut)
    for head in (finds, notes):
        hunting.locator(".lm-named").get_by_label(called(head)).check()
    edge = f"{called(notes)} into the {{}} of {called(finds)}"
    hunting.get_by_label(edge.format("queries")).check()
    hunting.get_by_role("button", name="Mark my answer").click()
    expect(verdict(hunting)).to_have_text(re.compile(r"^✗ not yet: alone, .* does \d% of the work"))
    expect(hunting.locator(".lm-parts tbody tr")).to_have_count(4)
    hunting.get_by_label(edge.format("keys")).check()
    expect(verdict(hunting)).to_have_text("")
    hunting.get_by_role("button", name="Mark my answer").click()
    expect(verdict(hunting)).to_have_text(re.compile(f"edge Q from {called(notes)} to .* is cut$"))
    hunting.get_by_label(edge.format("queries")).focus()
    for key in ("Space", "Tab", "Tab", "Tab", "Enter"):
        hunting.keyboard.press(key)
    expect(verdict(hunting)).to_have_text(re.compile("^✓ right: it does the work alone"))
    hunting.get_by_role("button", name="Another one").press("Enter")
    expect(hunting.get_by_label("Seed", exact=True)).to_have_value(str(assets.HUNT_SEEDS[1]))
    expect(verdict(hunting)).to_have_text("")
    expect(hunting.locator(".lm-mine input:checked")).to_have_count(0)
    hunting.reload()
    expect(hunting.get_by_label("Seed", exact=True)).to_have_value(str(assets.HUNT_SEEDS[1]))


@pytest.mark.browser
def test_it_has_no_barrier_and_fits_a_phone(hunting):
    hunting.set_viewport_size({"width": 390, "height": 844})
    hunting.add_style_tag(content="* { transition: none !important }")
    hunting.get_by_label("Level").select_option("3")
    hunting.wait_for_selector(READY)
    for box in hunting.locator(".lm-named input").all():
        box.check()
    hunting.get_by_role("button", name="Mark my answer").click()
    expect(verdict(hunting)).to_contain_text("of the work")
    assert hunting.evaluate("document.documentElement.scrollWidth") <= 390
    for scheme in ("light", "dark"):
        hunting.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
        assert barriers(hunting) == [], scheme


@pytest.mark.browser
def test_without_scripts_the_page_says_where_the_same_is_done(browser, site):
    page = browser.new_page(java_script_enabled=False)
    page.goto(site.as_uri())
    expect(page.get_by_role("link", name="Circuit hunt")).to_have_count(1)
    assert page.locator("[data-hunt]").bounding_box()["height"] < 200, (
        "no room for what never comes"
    )
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("address", ["9-9", "1-", "2-7-1", "level"])
def test_of_an_address_that_is_no_hunt_the_page_says_so(watched, site, address):
    watched.goto(f"{site.as_uri()}#{address}")
    watched.wait_for_selector(READY)
    expect(verdict(watched)).to_contain_text(f"“{address}”, which is no hunt: there are levels 1, ")
    watched.get_by_role("button", name="Another one").click()
    expect(verdict(watched)).to_have_text("")
