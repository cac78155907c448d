"""The models in the browser against PyTorch: the worker is asked, as the page asks it.

Run by `make test` after the book is built: `pytest -m browser`.
"""

import json
import random
from pathlib import Path

import pytest
import torch
from conftest import watch

from transformer_circuits.analysis import path_patching
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.model import quantisation
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from website import assets

pytestmark = pytest.mark.browser
PAGE = Path(__file__).parents[2] / "_build" / "html" / "chapters" / "browser" / "live-model.html"
TEXTS = ["", "A", "The king and the king's men.", "def f(x):\n    return x ** 2\n" * 8]
N_HEADS = checkpoint.settings("two-layer")[0].n_heads
"""Of a layer, in both models of the page."""


@pytest.fixture(scope="module")
def live(browser):
    """The page, opened once: an answer depends on the request alone."""
    page = browser.new_page()
    watch(page)
    page.goto(PAGE.as_uri())
    page.wait_for_selector("[data-live-model][data-ready]")
    yield page
    page.close()
    assert page.wrong == []


def asked(live, kind, name, **request):
    """The worker's answer; arrays as lists."""
    found = live.evaluate(
        """async (request) => JSON.stringify(await Circuits.live.ask(request),
            (_, value) => ArrayBuffer.isView(value) ? Array.from(value) : value)""",
        {"kind": kind, "name": name, **request},
    )
    return json.loads(found)


def logits(live, name, ids, off=(), how="zero", cut=None):
    """Logits [pos, n_vocab] as the browser has them."""
    spec = {"off": list(off), "how": how, "cuts": [cut] if cut else []}
    found = asked(live, "logits", name, ids=ids, spec=spec)["logits"]
    return torch.tensor(found).reshape(len(ids), -1)


def looked(live, name, ids, at=None, target=None, off=(), how="zero", cut=None):
    """What the page shows of a text at a position."""
    spec = {"off": list(off), "how": how, "cuts": [cut] if cut else []}
    at = len(ids) - 1 if at is None else at
    request = {"ids": ids, "spec": spec, "at": at, "asked": target, "listed": 8}
    return asked(live, "look", name, patterns=True, **request)


def rounded(name="two-layer"):
    """The model of the page."""
    return quantisation.rounded(checkpoint.load(name))


@pytest.mark.parametrize("name", assets.LIVE_MODELS)
def test_the_browser_computes_what_pytorch_computes(live, name):
    model = rounded(name)
    for text in TEXTS:
        tokens = tokenizer.context(text)
        ids, trace = tokens[0].tolist(), model.trace(tokens)
        assert (logits(live, name, ids) - trace.logits[0]).abs().max() < 1e-3
        patterns = torch.tensor(looked(live, name, ids)["patterns"]).view(-1, len(ids), len(ids))
        expected = torch.cat([A[0] for A in trace.patterns])
        assert (patterns - expected).abs().max() < 1e-4


KEPT = """async ([contexts, spec]) => {
    const { ask } = Circuits.live, found = [];
    for (const ids of contexts) {
        const asked = { kind: "logits", name: "two-layer", ids, spec };
        const kept = (await ask(asked)).logits.slice();
        await ask({ kind: "forget", name: "two-layer" });
        const anew = (await ask(asked)).logits;
        found.push([kept.length / ids.length, kept.reduce((most, x, k) => Math.max(most, Math.abs(x - anew[k])), 0)]);
    }
    return found;
}"""
"""Of each context in turn: how many logits a position has, and how far they are from those computed anew."""


def test_what_was_computed_for_a_common_beginning_is_right_for_the_rest(live, how="mean"):
    """Text that grows by one token, changes at its end, shrinks, and comes again; means are of all of it."""
    ids = tokenizer.context(TEXTS[3])[0].tolist()
    contexts = [ids[:40], ids[:41], [*ids[:30], 77, 5], ids[:29], ids[:41]]
    found = live.evaluate(KEPT, [contexts, {"off": [0, 11], "how": how, "cuts": []}])
    assert all(n == len(tokenizer.texts()) and apart < 1e-4 for n, apart in found)


@pytest.mark.parametrize("how", ["zero", "mean", "frozen"])
@pytest.mark.parametrize("off", [[0, 5, 2 * N_HEADS - 1]], ids=str)
def test_heads_are_switched_off_as_in_pytorch(live, how, off):
    """They add nothing or their mean over this text; with frozen patterns, the others look as before."""
    model, tokens = rounded(), tokenizer.context(TEXTS[2])
    trace = model.trace(tokens)
    x, W_P = model.embed(tokens)
    for index, layer in enumerate(model.layers):
        A = trace.patterns[index] if how == "frozen" else layer.pattern(x, x, W_P)
        outputs = layer.head_outputs(x, A)
        for head in range(N_HEADS):
            if index * N_HEADS + head in off:
                whole = trace.head_outputs[index][:, head]
                mean = whole.mean(dim=1, keepdim=True).expand_as(whole)
                outputs[:, head] = mean if how == "mean" else 0
        x = x + outputs.sum(dim=1)
    found = logits(live, "two-layer", tokens[0].tolist(), off, how)
    assert (found - x[0] @ model.W_U.T).abs().max() < 1e-3


@pytest.mark.parametrize("kind", ["Q", "K", "V"])
def test_an_edge_is_cut_as_in_pytorch(live, kind):
    model, tokens = rounded(), tokenizer.context(TEXTS[2])
    trace = model.trace(tokens)
    for earlier, later in ((0, 0), (4, N_HEADS - 1)):
        expected = path_patching.without_edge(model, trace, kind, (1, later), (0, earlier))[0]
        assert (expected - trace.logits[0]).abs().max() > 1e-3
        cut = {"kind": kind, "earlier": earlier, "later": N_HEADS + later}
        found = logits(live, "two-layer", tokens[0].tolist(), cut=cut)
        assert (found - expected).abs().max() < 1e-3


@pytest.mark.parametrize("done", [{}, {"off": [1, 12], "how": "mean"}], ids=["whole", "means"])
def test_the_terms_of_a_logit_are_those_of_the_run(live, done):
    model, tokens = rounded(), tokenizer.context(TEXTS[2])
    ids = tokens[0].tolist()
    parts = looked(live, "two-layer", ids, target=7, **done)["parts"]
    last = logits(live, "two-layer", ids, **done)[-1]
    assert abs(parts["direct"] + sum(parts["totals"]) - float(last[7] - last.mean())) < 1e-3
    for head, (total, sources) in enumerate(zip(parts["totals"], parts["sources"], strict=True)):
        assert abs(sum(sources) - (0 if head in done.get("off", []) else total)) < 1e-3
    if not done:
        direction = model.W_U[7] - model.W_U.mean(dim=0)
        outputs = model.trace(tokens).head_outputs
        by_head = torch.cat([each[0, :, -1] @ direction for each in outputs])
        assert (torch.tensor(parts["totals"]) - by_head).abs().max() < 1e-3


@pytest.mark.parametrize("name, head", [("two-layer", N_HEADS + 1)])
def test_full_circuits_are_those_of_the_weights(live, name, head):
    factors = skip_trigrams.factors(rounded(name), divmod(head, N_HEADS))
    for token in (tokenizer.BEGIN, tokenizer.token(" king"), 1234):
        request = {"head": head, "token": token, "begin": tokenizer.BEGIN}
        found = asked(live, "circuits", name, **request)
        for key, expected in (("logits", factors.logits), ("attention", factors.attention)):
            assert (torch.tensor(found[key]) - expected[:, token]).abs().max() < 1e-3


def test_what_is_written_is_the_likeliest_or_is_drawn_by_the_seed(live):
    ids = tokenizer.context(TEXTS[2])[0].tolist()
    last = logits(live, "two-layer", ids)[-1]

    def written(temperature, seed):
        how = {"temperature": temperature, "seed": seed}
        spec = {"off": [], "how": "zero", "cuts": []}
        return asked(live, "write", "two-layer", ids=ids, spec=spec, how=how)["id"]

    assert written(0, 1) == int(last.argmax())
    drawn = [written(1, seed) for seed in range(200)]
    assert drawn == [written(1, seed) for seed in range(200)] and len(set(drawn)) > 20
    p, n = last.softmax(dim=0), len(drawn)
    likeliest = float(p.max())
    share = drawn.count(int(p.argmax())) / n
    assert abs(share - likeliest) < 4 * (likeliest * (1 - likeliest) / n) ** 0.5


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
