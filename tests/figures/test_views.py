import base64
import json
import re
import zlib

import numpy as np
import pytest
import torch

from transformer_circuits import files
from transformer_circuits.figures import views

WORDS = {"label": "A small <view>"}
TOKENS = ["<begin>", "␣a", "␣b"]


def pattern(heads, n, generator=None):
    scores = torch.randn(heads, n, n, generator=generator).tril()
    return (scores.exp() * torch.ones(n, n).tril()).div(scores.exp().tril().sum(-1, True))


def held(view):
    """What the script in the output is given."""
    return json.loads(
        re.search(r'json">(.*?)</script>', view._repr_mimebundle_()[0]["text/html"])[1]
    )


def every_view():
    return [
        views.attention(TOKENS, pattern(2, 3, torch.Generator().manual_seed(1)), **WORDS),
        views.tokens(TOKENS, [0.5, float("nan"), -1.0], unit="nats", **WORDS),
        views.head_circuits({"0.0": (np.eye(9), -np.eye(9))}, "abcdefghi", [2], **WORDS),
    ]


def test_circuits_open_on_a_destination_and_an_output_that_are_listed(generator):
    """Even where others are larger; what is chosen is found by its name."""
    n = 40
    attention, logits = torch.rand(2, n, n, generator=generator)
    attention[5], logits[6] = 0.001, 0.001
    names = [f"t{k}" for k in range(n)]
    view = views.head_circuits({"0.0": (attention, logits)}, names, [3], opens=(5, 6), **WORDS)
    data = held(view)
    entries = np.frombuffer(zlib.decompress(base64.b64decode(data["entries"])), dtype="<i2")
    looks, raised = entries.reshape(-1, 2)[:6, 0], entries.reshape(-1, 2)[6:12, 0]
    assert [data["words"][k] for k in data["opens"]] == ["t5", "t6"]
    assert data["opens"][0] in looks and data["opens"][1] in raised


def test_circuits_carry_the_largest_entries_by_weight(generator):
    n, sources = 40, [3, 17]
    attention, logits = torch.rand(2, n, n, generator=generator)
    names, weight = [f"t{k}" for k in range(n)], torch.rand(n, generator=generator)
    view = views.head_circuits({"0.0": (attention, logits)}, names, sources, weight=weight, **WORDS)
    data = held(view)
    packed = zlib.decompress(base64.b64decode(data["entries"]))
    entries = np.frombuffer(packed, dtype="<i2").reshape(2, -1, 2)
    assert [data["words"][word] for word in data["sources"]] == ["t3", "t17"]
    for of_source, source in zip(entries, sources, strict=True):
        found = [data["words"][word] for word, _ in of_source]
        chosen = [(m, (m[:, source] * weight).topk(6).indices) for m in (attention, logits)]
        looks, raised = (best[m[best, source].argsort(descending=True)] for m, best in chosen)
        lowered = logits[:, source].topk(3, largest=False).indices
        assert found == [names[k] for k in torch.cat([looks, raised, lowered])]
        values = attention[looks, source] * 1000
        assert np.abs(of_source[:6, 1] - values.numpy()).max() <= 0.51


def test_a_view_is_html_a_picture_and_words_the_same_each_time(in_a_notebook, monkeypatch):
    for view, again in zip(every_view(), every_view(), strict=True):
        shown = view._repr_mimebundle_()[0]
        assert shown == again._repr_mimebundle_()[0]
        assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
        assert shown["text/plain"] == "[view: A small <view>]"
        assert shown["text/html"].count("<script") == 3  # the data, and two for what moves
        assert "http" not in shown["text/html"].replace("http://www.w3.org", "")
    monkeypatch.setenv(files.IN_BOOK, "1")  # there the page brings the scripts
    for view in every_view():
        assert view._repr_mimebundle_()[0]["text/html"].count("<script") == 1


def test_patterns_arrive_to_half_a_step(generator):
    A = pattern(6, 3, generator)
    data = held(views.attention(TOKENS, A.reshape(2, 3, 3, 3), **WORDS))
    levels = np.frombuffer(zlib.decompress(base64.b64decode(data["patterns"])), np.uint8)
    expected = A.numpy()[:, *np.tril_indices(3)].ravel()
    assert np.abs(levels / 255 - expected).max() <= 0.5 / 255 + 1e-6
    assert data["heads"] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    assert data["columns"] == 3


def test_no_token_can_end_the_script(in_a_notebook):
    view = views.tokens(["</script>", "<!--", "b"], [1, 2, 3], unit="nats", **WORDS)
    shown = view._repr_mimebundle_()[0]["text/html"]
    assert shown.count("</script>") == 3
    assert held(view)["tokens"][:2] == ["</script>", "<!--"]


def test_values_of_the_row_that_is_shown_first_stand_there_without_scripts():
    rows = {"one": [np.nan, 2, 3], "two": [4, 5, 6]}
    view = views.tokens(TOKENS, rows, unit="nats", first="two", **WORDS)
    assert held(view)["values"]["one"] == [None, 2.0, 3.0]
    assert "two [nats]" in view.without_scripts and "one [nats]" not in view.without_scripts


A = pattern(2, 3)
WRONG = {
    "other tokens": (views.attention, TOKENS[:2], A, {}),
    "attention forward": (views.attention, TOKENS, A.mT, {}),
    "no probabilities": (views.attention, TOKENS, 2 * A, {}),
    "no numbers": (views.attention, TOKENS, A * torch.nan, {}),
    "below zero": (views.attention, TOKENS, A + torch.eye(3) - torch.eye(3).roll(1, 0), {}),
    "other lengths": (views.attention, TOKENS, A, {"weighted": torch.ones(3, 3)}),
    "other names": (views.attention, TOKENS, A, {"heads": ["0.0"]}),
    "no such head": (views.attention, TOKENS, A, {"head": "9.9"}),
    "too large": (views.attention, ["a"] * 500, pattern(24, 500), {}),
    "infinite": (views.tokens, TOKENS, [1, np.inf, 2], {"unit": "nats"}),
    "other values": (views.tokens, TOKENS, {"loss": [1, 2]}, {"unit": "nats"}),
    "no such row": (views.tokens, TOKENS, {"l": [1, 2, 3]}, {"unit": "nats", "first": "saved"}),
}
"""A view, its tokens, its numbers and its options."""


@pytest.mark.parametrize("case", WRONG)
def test_numbers_that_would_show_something_else_are_refused(case):
    view, tokens, numbers, options = WRONG[case]
    with pytest.raises(ValueError):
        view(tokens, numbers, **options, **WORDS)
