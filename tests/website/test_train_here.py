"""The model that learns in the reader's tab: its gradients against PyTorch's, and its page.

The first tests run its scripts in Node, which the book has from PyPI. Those marked `browser` open the
built page and are run by `make test` after the book is built: `pytest -m browser`.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import painted, resized
from einops import einsum
from playwright.sync_api import expect

from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer, causal_scores
from website import assets

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "_build" / "html" / "chapters" / "browser" / "train-here.html"

SIZES = dict(n_heads=3, d_model=10, d_head=2, n_vocab=11, n_ctx=7, position_base=50.0)
CASES = [
    (2, {"seen": [1, 0]}),
    (2, {"seen": [0, 0]}),
    (2, {"seen": [1, 1]}),
    (1, {"shifted": True}),
    (2, {"shifted": True}),
]
GRADIENTS = """
const { sizes, n_layers, what, weights, tokens } = given;
const model = new Model({ ...sizes, n_layers }, { Numbers: Float64Array, ...what });
for (const name in weights) model.weights[name].set(weights[name]);
const gradients = zeros(model.weights);
const found = [];
for (const context of tokens) {
  const run = model.extend(model.start(), context.slice(0, -1));
  found.push(...losses(model, run, context.slice(1)));
  backward(model, run, context.slice(1), gradients, 1 / (tokens.length * sizes.n_ctx));
}
for (const name in gradients) gradients[name] = Array.from(gradients[name]);
answer({ losses: found, gradients });
"""


def in_node(code, given):
    """What a script answers that has the learner's modules and `given`."""
    modules = {
        assets.LIVE / "model.js": "Model",
        assets.TRAIN / "backward.js": "backward, losses",
        assets.TRAIN / "training.js": "order, Training, zeros",
    }
    imports = (
        f"import {{ {what} }} from {json.dumps(path.as_uri())};" for path, what in modules.items()
    )
    begin = f"const given = {json.dumps(given)};"
    end = "function answer(what) { process.stdout.write(JSON.stringify(what)); }"
    done = subprocess.run(
        [assets.NODE, "--input-type=module", "-"],
        input="\n".join([*imports, begin, code, end]),
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def logits(model, tokens, seen=(1, 1), shifted=False):
    """As the library computes them; with shifted keys, which it does not have, by the formulas."""
    if not shifted:
        n_layers = model.config.n_layers
        return model(tokens, positions=torch.tensor(seen[:n_layers], dtype=torch.float64))
    x, W_P = model.embed(tokens)
    for layer in model.layers:
        q = einsum(layer.W_Q, x + W_P, "h d m, b dst m -> b h dst d")
        k = einsum(layer.W_K, x + W_P, "h d m, b src m -> b h src d")
        before = F.pad(k, (0, 0, 1, 0))[:, :, :-1]  # the key of the token before; 0 at the first
        x = x + layer.head_outputs(x, causal_scores(q, before).softmax(dim=-1)).sum(dim=1)
    return F.linear(x, model.W_U)


@pytest.mark.parametrize("n_layers, what", CASES, ids=str)
def test_gradients_are_those_of_pytorch(n_layers, what, generator):
    model = Transformer(ModelConfig(n_layers=n_layers, **SIZES)).double()
    model.randomise(generator=generator)
    tokens = torch.randint(SIZES["n_vocab"], (3, SIZES["n_ctx"] + 1), generator=generator)
    losses = F.cross_entropy(
        logits(model, tokens[:, :-1], **what).flatten(0, 1),
        tokens[:, 1:].flatten(),
        reduction="none",
    )
    losses.mean().backward()

    def rows(name, weight):
        return weight.T if name == "W_E" else weight  # there, one row per token

    weights = {n: rows(n, w).flatten().tolist() for n, w in model.named_parameters()}
    given = {"sizes": SIZES, "n_layers": n_layers, "what": what, "weights": weights}
    found = in_node(GRADIENTS, given | {"tokens": tokens.tolist()})
    assert torch.allclose(torch.tensor(found["losses"]).double(), losses.detach(), rtol=1e-4)
    assert found["gradients"].keys() == weights.keys()
    for name, weight in model.named_parameters():
        expected = rows(name, weight.grad).flatten()
        difference = torch.tensor(found["gradients"][name], dtype=torch.float64) - expected
        assert expected.norm() > 0 and difference.norm() <= 1e-4 * expected.norm(), name


LEARNED = """
const training = new Training({ seed: given.seed, ...given.what });
training.run(300);
const { patterns, ...found } = training.look();
answer(found);
"""
HALF = 0.5
"""Of the attention, where an induction head would look: that much is matching."""


def learned(what):
    """Best matching of the last layer, and best attention to the token before of the first."""
    found = in_node(LEARNED, {"seed": 0, "what": what})
    return max(found["matching"][-1]), max(found["previous"][0])


def test_two_layers_need_positions_and_one_layer_needs_shifted_keys():
    matching, one_back = learned({"n_layers": 2, "seen": [1, 0]})
    assert min(matching, one_back) > HALF
    blind, blind_back = learned({"n_layers": 2, "seen": [0, 0]})
    assert blind < matching / 2 and blind_back < one_back / 2
    matching, one_back = learned({"n_layers": 1, "shifted": True})
    assert matching > HALF > one_back
    assert max(learned({"n_layers": 1})) < HALF / 2


def records(back, match, split=(1, 0)):
    """A record each 20 steps; the first layer's heads share what is paid to the token before."""
    return [
        {"step": 20 * i, "previous": [[b * s for s in split], [0, 0]], "matching": [[0, 0], [m, 0]]}
        for i, (b, m) in enumerate(zip(back, match, strict=True))
    ]


EARLY, LATE, FLAT = [0.1, 0.5, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.5, 0.9], [0.1, 0.2, 0.3, 0.4, 0.4]


def test_the_order_of_the_layers():
    cases = [
        (EARLY, LATE, (1, 0), "first"),
        (LATE, EARLY, (1, 0), "second"),
        (EARLY, EARLY, (0.6, 0.4), "together"),
        ([0.1, 0.1, 0.5, 0.9, 0.9], EARLY, (1, 0), "together"),
        (EARLY, [0.1, 0.1, 0.5, 0.9, 0.9], (1, 0), "together"),
        (EARLY, FLAT, (1, 0), "never"),
        (FLAT, EARLY, (1, 0), "second"),
        ([0.1, 0.1, 0.9], [0.1, 0.1, 0.9], (1, 0), "together"),
    ]
    said = in_node("answer(given.map(order))", [records(*given) for *given, _ in cases])
    assert [one["found"] for one in said] == [found for *_, found in cases]


ORDERED = """
answer(given.map((seed) => {
  const training = new Training({ seed, n_layers: 2, seen: [1, 0] });
  const records = [training.look()];
  while (training.adam.step < 300) {
    training.run(20);
    records.push(training.look());
  }
  return order(records).found;
}));
"""


def test_in_the_toy_both_come_together_as_page_and_slides_say_who_send_there():
    assert in_node(ORDERED, [0, 1, 2, 3]) == ["together"] * 4
    (page, slides) = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("chapters/watch-it-grow.ipynb", "seminar/slides.md")
    )
    assert "From each of the first four seeds: together, as far as one can see." in page
    assert page.count("do they come together, or one before the other?") == 1
    assert slides.count("In the toy they come together: ") == 2, "live, and on the still"
    assert slides.count("In text notes come first: ") == 2


@pytest.fixture
def page(watched):
    watched.goto(PAGE.as_uri())
    watched.wait_for_selector("[data-train-here][data-ready]")
    return watched


def step(page):
    return int(page.locator("[data-train-here]").get_attribute("data-step"))


IN_VIEW = """(height) => ["button.train-go", ".train-curves", ".train-picture"].every((part) => {
    const { top, bottom } = [...document.querySelectorAll(part)].at(-1).getBoundingClientRect();
    return top >= 48 && bottom <= height;
})"""
"""The page may glide there."""


SIZES_OF_TYPE = """[...document.querySelectorAll("[data-train-here] *")].filter(({ childNodes }) =>
    [...childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim())
).map((part) => {
    const svg = part.ownerSVGElement;
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    return scale * parseFloat(getComputedStyle(part).fontSize);
})"""
"""Of all words of the bench, in pixels, those of pictures as they are shown."""


@pytest.mark.browser
def test_button_curves_and_pictures_are_in_one_view_and_say_what_they_show(page):
    resized(page, 1440, 900)
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function("document.querySelector('[data-train-here]').dataset.step >= 20")
    page.wait_for_function(IN_VIEW, arg=900)
    assert page.evaluate("scrollY") == 0, "where the reader is, without scrolling"
    sizes = page.evaluate(SIZES_OF_TYPE)
    assert min(sizes) >= 14, sizes
    pictures = page.locator("[data-train-here] canvas[role=img]")
    expect(pictures).to_have_count(6)
    for picture in pictures.all():
        assert re.search(r"one back [\d.]+, matching [\d.]+", picture.get_attribute("aria-label"))
    for curves in page.locator(".train-curves > svg[role=img]").all():
        assert re.search(r"At step \d", curves.get_attribute("aria-label"))


@pytest.mark.browser
def test_it_trains_pauses_and_starts_again_by_the_keyboard(page):
    expect(page.locator(".train-status")).to_contain_text("Ready. Step 0")
    page.evaluate("Circuits.train.state.end = 1e6")  # else it may end before it is paused
    page.get_by_role("button", name="Train", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('[data-train-here]').dataset.step >= 10")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Go on")).to_be_focused()
    page.wait_for_function("Circuits.train.state.waiting === 0")
    here = step(page)
    painted(page)  # the next steps are asked for in the frame after a picture
    assert step(page) == here and page.evaluate("Circuits.train.state.waiting") == 0
    page.get_by_role("button", name="Start again").press("Enter")
    page.wait_for_function("document.querySelector('[data-train-here]').dataset.step === '0'")


@pytest.mark.browser
def test_a_seed_that_is_none_is_refused_and_the_box_says_why(page):
    seed = page.get_by_label("Seed")
    runs = page.evaluate("Circuits.train.state.run")
    for wrong in ("-1", "1000", "2.5", ""):
        seed.fill(wrong)
        seed.blur()
        assert seed.evaluate("box => !box.checkValidity() && box.validationMessage"), wrong
        assert page.evaluate("Circuits.train.state.run") == runs, "nothing begins"
    seed.fill("7")
    seed.blur()
    assert page.evaluate("Circuits.train.state.run") == runs + 1


@pytest.mark.browser
def test_who_expects_the_second_layer_to_need_the_first_is_not_told_otherwise(page):
    page.get_by_label("Not until the first layer looks one back").check()
    page.get_by_role("button", name="Train", exact=True).click()
    done = "document.querySelector('[data-train-here]').dataset.step === '600'"
    page.wait_for_function(done)  # some five seconds on two quiet cores
    two, one = page.evaluate("Circuits.train.records.map((all) => all.at(-1))")
    assert max(two["matching"][1]) > HALF > max(one["matching"][0])
    assert two["known"] < one["known"] / 2
    expect(page.locator(".train-verdict")).to_contain_text("at the same time, as far as one can")
    expect(page.locator(".train-verdict")).to_contain_text("as you guessed, but it does not wait")


@pytest.mark.browser
def test_what_if_begins_anew_and_changes_the_model(page):
    before = page.evaluate("Circuits.train.records.map(([first]) => first.previous)")
    page.get_by_label("Two layers: positions are seen").select_option("in no layer")
    page.wait_for_function("Circuits.train.records.every((one) => one.length === 1)")
    after = page.evaluate("Circuits.train.records.map(([first]) => first.previous)")
    assert after[0] != before[0] and after[1] == before[1]
    page.get_by_label("One layer: shifted keys").check()
    page.wait_for_function("Circuits.train.records.every((one) => one.length === 1)")
    shifted = page.evaluate("Circuits.train.records.map(([first]) => first.previous)")
    assert shifted[0] == after[0] and shifted[1] != after[1]
