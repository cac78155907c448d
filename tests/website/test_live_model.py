"""What the panels below the stage ask of the engine, against PyTorch; and its tokenizer against Python's."""

import json
import random
import subprocess

import pytest
import torch

from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.model import quantisation
from transformer_circuits.stage import forward, one_layer, two_layers
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from website import assets
from website.live import weights

ASKED = """
import { add, circuit, run, vocabulary, writers } from "%(stage)s/engine.js";
let text = "";
for await (const part of process.stdin) text += part;
const { packed, known, texts, asked } = JSON.parse(text);
vocabulary(known);
for (const [name, model] of Object.entries(packed)) add(name, model);
const state = { model: "zero_layers", seed: 0, after: null, off: [], cuts: [], at: 0 };
const ids = texts.map((text) => run({ ...state, text }).ids.slice(1));
const answers = asked.map(({ state, head, label }) =>
  head ? circuit(state, head, label) : writers(state, label));
process.stdout.write(JSON.stringify({ ids, answers }));
"""


def answered(texts=(), asked=(), models=("zero-layer",)):
    """What the page's scripts say, in Node."""
    given = {
        "packed": {name: json.loads(weights.dumps(checkpoint.load(name))) for name in models},
        "known": json.loads(weights.vocabulary()),
        "texts": list(texts),
        "asked": list(asked),
    }
    script = ASKED % {"stage": assets.STAGE.as_uri()}
    command = [assets.NODE, "--input-type=module", "--eval", script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


READINGS = [
    two_layers.without("0.1", "1.3").read("The king and the king's men", at=3),
    two_layers.cut("0.2", into="keys", of="1.0").read("A name, a name"),
    one_layer.read("f(x", at="("),
]


def test_who_wrote_a_token_is_said_as_in_pytorch():
    asked = [{"state": reading.state, "label": "␣king"} for reading in READINGS]
    found = answered(asked=asked, models=("two-layer", "one-layer"))["answers"]
    for reading, writers in zip(READINGS, found, strict=True):
        assert [one["name"] for one in writers] == ["token", *reading.line.heads]
        token = tokenizer.token(" king")
        expected = forward.writers(reading.trace, torch.tensor(reading.ids), reading.at, token)
        assert (torch.tensor([one["logit"] for one in writers]) - expected).abs().max() < 0.02


@pytest.mark.parametrize("name, head", [("two-layer", "1.1"), ("one-layer", "0.2")])
def test_what_a_circuit_says_of_a_token_is_that_of_the_weights(name, head):
    layer, index = map(int, head.split("."))
    model = quantisation.rounded(checkpoint.load(name))
    factors = skip_trigrams.factors(model, (layer, index))
    state = (two_layers if name == "two-layer" else one_layer).read("A").state
    labels = ["king", "␣king", "␣(", "no such token"]
    asked = [{"state": state, "head": head, "label": label} for label in labels]
    *found, nothing = answered(asked=asked, models=(name,))["answers"]
    assert nothing is None
    shown = tokenizer.labels(torch.arange(len(tokenizer.texts())))
    for one in found:
        token = shown.index(one["label"])
        for said, column in (("raises", factors.logits), ("lookers", factors.attention)):
            values, best = column[:, token].topk(6)
            assert [round(value, 3) for _, value in one[said]] == pytest.approx(
                values.tolist(), abs=2e-3
            )
            assert shown[int(best[0])] == one[said][0][0]
        assert one["lowers"][0][1] == pytest.approx(float(factors.logits[:, token].min()), abs=2e-3)


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


def test_the_tokenizer_is_the_same():
    tokens = {text: tokenizer.load().encode(text).ids for text in strings()}
    assert len(tokens) > 200
    found = answered(texts=list(tokens))["ids"]
    assert [text for text, ids in zip(tokens, found, strict=True) if tokens[text] != ids] == []
