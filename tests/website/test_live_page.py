"""The model in the browser against PyTorch, and the page it runs on.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import random
import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect

from transformer_circuits.model import quantisation
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from transformer_circuits.website import serving

pytestmark = pytest.mark.browser
PAGE = Path(__file__).parents[2] / "_build" / "html" / "chapters" / "browser" / "live-model.html"
TEXTS = ["", "A", "The king and the king's men.", "def f(x):\n    return x ** 2\n" * 8]
READY = "[data-live-model][data-ready]"
N_HEADS = checkpoint.settings("two-layer")[0].n_heads
"""Of a layer, in both models of the page."""


@pytest.fixture
def live(watched):
    watched.goto(PAGE.as_uri())
    watched.wait_for_selector(READY)
    return watched


def computed(live, name, ids, off=(), frozen=False):
    """Logits [pos, n_vocab] and patterns [head, pos, pos] as the browser has them."""
    live.get_by_label("Model", exact=True).select_option(name)
    live.wait_for_function(f"Circuits.live.models['{name}']")
    found = live.evaluate(
        """([name, ids, off, frozen]) => {
            const model = Circuits.live.models[name];
            const patterns = frozen ? model.forward(ids).patterns : null;
            const run = model.forward(ids, { off: new Set(off), patterns });
            const n = ids.length * model.config.n_vocab;
            const parts = model.attribution(run, ids.length - 1, 7);
            return {
                logits: Array.from(run.logits.subarray(0, n)),
                patterns: run.patterns.map((A) => Array.from(A)),
                direct: parts.direct,
                heads: parts.heads.map((sources) => Array.from(sources)),
            };
        }""",
        [name, ids, list(off), frozen],
    )
    n = len(ids)
    found["logits"] = torch.tensor(found["logits"]).reshape(n, -1)
    found["patterns"] = torch.tensor(found["patterns"]).reshape(-1, n, n)
    found["heads"] = torch.tensor(found["heads"])
    return found


def without(model, off):
    """The model with the outputs of some heads taken away."""
    d_head = model.config.d_head
    for index in off:
        layer, head = divmod(index, model.config.n_heads)
        model.layers[layer].W_O_concat[:, head * d_head : (head + 1) * d_head] = 0
    return model


@pytest.mark.parametrize("name", serving.LIVE_MODELS)
def test_the_browser_computes_what_pytorch_computes(live, name):
    model = quantisation.rounded(checkpoint.load(name))
    for text in TEXTS:
        tokens = tokenizer.context(text)
        found, trace = computed(live, name, tokens[0].tolist()), model.trace(tokens)
        assert (found["logits"] - trace.logits[0]).abs().max() < 1e-3
        expected = torch.cat([A[0] for A in trace.patterns])
        assert (found["patterns"] - expected).abs().max() < 1e-4


@pytest.mark.parametrize("frozen", [False, True])
def test_heads_are_switched_off_as_in_pytorch(live, frozen):
    off = (0, 5, 2 * N_HEADS - 1)
    tokens = tokenizer.context(TEXTS[2])
    whole = quantisation.rounded(checkpoint.load("two-layer"))
    patterns = whole.trace(tokens).patterns if frozen else None
    expected = without(quantisation.rounded(whole), off)(tokens, patterns)[0]
    found = computed(live, "two-layer", tokens[0].tolist(), off, frozen)
    assert (found["logits"] - expected).abs().max() < 1e-3


def test_the_parts_of_a_logit_add_up_and_are_the_heads(live):
    model = quantisation.rounded(checkpoint.load("two-layer"))
    tokens = tokenizer.context(TEXTS[2])
    found, trace = computed(live, "two-layer", tokens[0].tolist()), model.trace(tokens)
    direction = model.W_U[7] - model.W_U.mean(dim=0)
    by_head = torch.cat([outputs[0, :, -1] @ direction for outputs in trace.head_outputs])
    assert (found["heads"].sum(dim=1) - by_head).abs().max() < 1e-3
    together = found["direct"] + float(found["heads"].sum())
    assert abs(together - float(trace.residual[-1][0, -1] @ direction)) < 1e-3


def strings():
    """Text of every kind: held-out slices, code, emoji, scripts, blanks, specials, lone bytes."""
    generator = random.Random(0)
    documents = [document.text for document in corpus.read("small", "validation")][:40]
    slices = []
    for _ in range(180):
        text = generator.choice(documents)
        start = generator.randrange(len(text))
        slices.append(text[start : start + generator.randrange(1, 200)])
    return [
        *slices,
        "", " ", "  ", "\n", "\n\n\n", "\t\tx", "a\r\nb", "don't won't I'll we've it's O'Neil's",
        "naïve café Ångström ﬁ", "日本語のテキスト。漢字かな", "한국어", "русский текст", "עברית", "العربية",
        "🙂🙃👩‍👩‍👧‍👦🏳️‍🌈", "e\u0301 \u00a0nbsp\u200bzero", "<|begin|>", "x<|begin|>y", "1234567890 3.14159 1e-9",
        "def f(x):\n    return x**2  # comment", "for(let i=0;i<n;i++){a[i]+=b}", "snake_case CamelCase kebab-case",
        "a" * 300, "!?!?!...---", "\u2028\u2029", "𝒳∈ℝ", "${x} `code` </script>", "\ufeffbom", "Ⅷ ½ ²",
    ]  # fmt: skip


def test_the_tokenizer_is_the_same(live):
    tokens = {text: tokenizer.load().encode(text).ids for text in strings()}
    assert len(tokens) > 200
    found = live.evaluate(
        "all => all.map((s) => Circuits.live.tokenizer.encode(s).ids)", list(tokens)
    )
    wrong = [text for text, ids in zip(tokens, found, strict=True) if tokens[text] != ids]
    assert wrong == []


def probability(live, token):
    row = (
        live.locator(".lm-table").first.locator("tbody tr").filter(has_text=re.compile(f"^{token}"))
    )
    text = row.locator("td").first.inner_text()
    return 0.0 if text.startswith("below") else float(text.split()[0])


def keep(live, word, which):
    """Click the `which`-th token that is this word."""
    words = live.locator(".cv-tokens").first.locator(".cv-token")
    places = [i for i, text in enumerate(words.all_inner_texts()) if text == word]
    words.nth(places[which]).click()
    live.mouse.move(0, 0)


def test_the_circuit_can_be_taken_apart(live):
    """The example of the page: a head off, then the patterns frozen."""
    model = quantisation.rounded(checkpoint.load("two-layer"))
    tokens = tokenizer.context(live.get_by_label("Text for the model").input_value())
    piece, following = map(tokenizer.token, ("uch", "ad"))
    at, patterns = int((tokens[0] == piece).nonzero()[1]), model.trace(tokens).patterns
    broken = without(quantisation.rounded(model), [0])
    keep(live, "uch", 1)
    shown = [probability(live, r"ad \(came next\)")]
    live.get_by_label("0.0", exact=True).uncheck()
    shown.append(probability(live, r"ad \(came next\)"))
    live.get_by_label("Freeze patterns").check()
    shown.append(probability(live, r"ad \(came next\)"))
    for found, logits in zip(
        shown, (model(tokens), broken(tokens), broken(tokens, patterns)), strict=True
    ):
        assert abs(found - 100 * float(logits[0, at].softmax(dim=0)[following])) < 0.1
    expect(live.get_by_role("status").first).to_contain_text("off: 0.0")
    expect(live.locator(".cv-off")).to_have_count(1)


def test_a_bug_can_be_asked_about(live):
    """The last example: which head raises a token, as PyTorch has it."""
    model = quantisation.rounded(checkpoint.load("one-layer"))
    outputs = model.trace(tokenizer.context("the work,")).head_outputs[0][0, :, -1]
    raised = outputs @ (model.W_U[tokenizer.token("ob")] - model.W_U.mean(dim=0))
    live.get_by_label("Model", exact=True).select_option("one-layer")
    expect(live.locator(".cv-head")).to_have_count(N_HEADS)
    live.get_by_label("Text for the model").fill("the work,")
    ask = live.get_by_label("Another token:")
    ask.fill("ob and more")
    live.get_by_role("button", name="Ask", exact=True).click()
    expect(live.locator("form [role=status]")).to_contain_text("not one token but")
    ask.fill("ob")
    live.get_by_role("button", name="Ask", exact=True).click()
    expect(live.locator("caption").nth(1)).to_have_text("For “ob”")
    parts = live.locator(".lm-table").nth(1).locator("tbody tr").all_inner_texts()
    strongest = next(text for text in parts if text.startswith("head"))
    _, head, value, *_ = strongest.split()
    most = int(raised.abs().argmax())
    assert head == f"0.{most}"
    assert abs(float(value.replace("−", "-")) - float(raised[most])) < 0.06


def test_a_kept_head_does_not_outlive_its_model(live):
    live.locator(".cv-head").nth(2 * N_HEADS - 1).click()
    live.get_by_label("Model", exact=True).select_option("one-layer")
    expect(live.locator(".cv-head")).to_have_count(N_HEADS)
    expect(live.locator(".cv-unlock")).to_be_hidden()
    keep(live, "uch", 1)
    expect(live.locator(".cv-say").first).to_contain_text("looks most at")


def test_the_chosen_values_stay_chosen(live):
    live.get_by_role("radio", name=re.compile("^loss of each")).check()
    live.locator(".cv-token").nth(5).hover()
    live.get_by_role("button", name="Random tokens, three times").click()
    expect(live.get_by_role("radio", name=re.compile("^loss of each"))).to_be_checked()


def test_only_the_last_choice_of_a_model_counts(live):
    select = live.get_by_label("Model", exact=True)
    select.select_option("one-layer")
    select.select_option("two-layer")
    live.wait_for_function("Circuits.live.models['one-layer']")
    live.wait_for_timeout(200)
    expect(live.locator(".cv-head")).to_have_count(2 * N_HEADS)
    expect(select).to_have_value("two-layer")


def test_a_model_that_cannot_be_read_leaves_the_page_as_it_was(browser):
    page = browser.new_page()
    page.route("**/one-layer.js", lambda route: route.abort())
    page.goto(PAGE.as_uri())
    page.wait_for_selector(READY)
    page.get_by_label("Model", exact=True).select_option("one-layer")
    expect(page.get_by_role("status").first).to_contain_text("could not be fetched")
    expect(page.get_by_label("Model", exact=True)).to_have_value("two-layer")
    page.close()


def test_a_link_opened_on_the_open_page_is_followed(live):
    live.evaluate("location.hash = '#model=two-layer&text=Quite+another+text&off=1.5'")
    expect(live.get_by_label("Text for the model")).to_have_value("Quite another text")
    expect(live.get_by_label("1.5", exact=True)).not_to_be_checked()


def test_no_text_at_all(live):
    live.get_by_label("Text for the model").fill("")
    expect(live.get_by_role("status").first).to_have_text("1 token")
    live.get_by_role("radio", name=re.compile("^loss of each")).check()
    assert "Infinity" not in live.locator("[data-live-model]").inner_text()


def test_a_link_says_everything(live, watched):
    live.get_by_label("Text for the model").fill("One two, one two, & <three>")
    live.get_by_label("1.3", exact=True).uncheck()
    live.get_by_label("Freeze patterns").check()
    keep(live, ",", 1)
    live.locator(".cv-head").nth(N_HEADS + 1).click()
    live.locator(".lm-table").first.get_by_role("button").nth(2).click()
    live.mouse.move(0, 0)
    live.wait_for_function(
        "['three', '1.3', 'head=1.1', 'ask'].every((s) => location.hash.includes(s))"
    )
    said = [
        live.get_by_role("status").first.inner_text(),
        live.locator("caption").nth(1).inner_text(),
    ]
    link = live.url
    watched.goto("about:blank")
    watched.goto(link)
    watched.wait_for_selector(READY)
    expect(watched.get_by_role("status").first).to_have_text(said[0])
    expect(watched.locator("caption").nth(1)).to_have_text(said[1])
    expect(watched.get_by_label("Text for the model")).to_have_value("One two, one two, & <three>")
    expect(watched.get_by_label("1.3", exact=True)).not_to_be_checked()
    expect(watched.get_by_label("Freeze patterns")).to_be_checked()
    expect(watched.locator(".cv-head").nth(N_HEADS + 1)).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("name", ["gpt", "constructor", "__proto__"])
def test_a_link_that_makes_no_sense_is_the_page_itself(watched, name):
    nonsense = "ids=-1,x,999999&off=9.9,foo&at=999&head=7.7&ask=x,-1"
    watched.goto(f"{PAGE.as_uri()}#model={name}&{nonsense}")
    watched.wait_for_selector(READY)
    said = re.compile(r"^\d+ tokens; [\d.]+ nats")
    expect(watched.get_by_role("status").first).to_contain_text(said)


def test_random_tokens_come_three_times(live):
    live.get_by_role("button", name="Random tokens, three times").click()
    words = live.locator(".cv-tokens").first.locator(".cv-token").all_inner_texts()
    assert len(words) == 61 and words[1:21] == words[21:41] == words[41:61]
    passages = re.compile(r"nats per token, by passage [\d.]+, [\d.]+, [\d.]+$")
    expect(live.get_by_role("status").first).to_contain_text(passages)


def test_after_random_tokens_the_text_can_be_changed(live):
    live.get_by_role("button", name="Random tokens, three times").click()
    live.get_by_label("Text for the model").press_sequentially(" hello")
    live.wait_for_function("location.hash.includes('hello')")
    words = live.locator(".cv-tokens").first.locator(".cv-token").all_inner_texts()
    assert "".join(words).endswith("hello")


def test_a_long_text_is_cut_and_the_page_says_so(live):
    live.get_by_label("Text for the model").fill("one two three " * 200)
    expect(live.get_by_role("status").first).to_contain_text(
        re.compile("the first 200 of [0-9]+ tokens")
    )


def test_a_link_to_a_long_text_holds_what_counts_and_no_more(live, watched):
    live.get_by_label("Text for the model").fill("one two three " * 4000)
    live.wait_for_function("location.hash.includes('ids')")
    words = live.locator(".cv-tokens").first.locator(".cv-token").all_inner_texts()
    link = live.url
    assert len(words) == 200 and len(link) < 3000
    watched.goto("about:blank")
    watched.goto(link)
    watched.wait_for_selector(READY)
    assert watched.locator(".cv-tokens").first.locator(".cv-token").all_inner_texts() == words


def test_without_scripts_the_page_says_first_what_it_needs(browser):
    page = browser.new_page(java_script_enabled=False)
    page.goto(PAGE.as_uri())
    expect(page.locator("[data-live-model]")).to_have_text(
        re.compile("^The model needs JavaScript")
    )
    page.close()


def test_one_layer_comes_when_asked_for(live):
    assert not live.evaluate("'one-layer' in Circuits.models")
    live.get_by_label("Model", exact=True).select_option("one-layer")
    expect(live.locator(".cv-head")).to_have_count(N_HEADS)


def test_a_pass_is_quick_enough_to_type(live):
    """About 60 ms for 64 tokens on two slow cores; the limit leaves room for a busy machine."""
    best = live.evaluate(
        """() => {
            const ids = Array.from({ length: 64 }, (_, i) => 1 + ((i * 37) % 2000));
            const spent = () => {
                const start = performance.now();
                Circuits.live.models["two-layer"].forward(ids);
                return performance.now() - start;
            };
            return Math.min(...Array.from({ length: 20 }, spent));
        }"""
    )
    assert best < 180
