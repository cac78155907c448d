import base64
import json
import re
import zlib

import numpy as np
import pytest
import torch

from transformer_circuits import files
from transformer_circuits.analysis import patterns
from transformer_circuits.figures import views
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint

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
        views.attention(TOKENS, pattern(2, 3), **WORDS),
        views.tokens(TOKENS, [0.5, float("nan"), -1.0], unit="nats", **WORDS),
        views.filtered([{"head": "0.1", "source": "␣a", "strength": 1.5}], by="head", **WORDS),
        views.head_circuits({"0.0": (np.eye(9), -np.eye(9))}, "abcdefghi", [2], **WORDS),
    ]


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
        looks, raised = ((m[:, source] * weight).topk(6).indices for m in (attention, logits))
        lowered = logits[:, source].topk(3, largest=False).indices
        assert found == [names[k] for k in torch.cat([looks, raised, lowered])]
        values = attention[looks, source] * 1000
        assert np.abs(of_source[:6, 1] - values.numpy()).max() <= 0.51


def test_circuits_that_do_not_fit_are_refused():
    square = np.eye(3)
    for by_head, sources, message in (
        ({}, [0], "0 heads"),
        ({"0.0": (square, square)}, [], "sources"),
        ({"0.0": (square, square)}, [3], r"sources \[3\] given for 3 tokens"),
        ({"0.0": (square, square[:2])}, [0], r"0.0 has \(3, 3\) and \(2, 3\) but there are 3"),
    ):
        with pytest.raises(ValueError, match=message):
            views.head_circuits(by_head, "abc", sources, **WORDS)
    with pytest.raises(ValueError, match=r"head 0.1 is asked for but the heads are \['0.0'\]"):
        views.head_circuits({"0.0": (square, square)}, "abc", [0], head="0.1", **WORDS)


def test_a_view_is_html_a_picture_and_words():
    for view in every_view():
        shown = view._repr_mimebundle_()[0]
        assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
        assert shown["text/plain"] == "[view: A small <view>]"
        assert shown["text/html"].count("<script") == 3  # the data, and two for what moves


def test_in_the_book_the_page_brings_the_script(monkeypatch):
    monkeypatch.setenv(files.IN_BOOK, "1")
    for view in every_view():
        assert view._repr_mimebundle_()[0]["text/html"].count("<script") == 1


def test_the_same_data_give_the_same_bytes(generator):
    A = pattern(2, 3, generator)
    once, again = (views.attention(TOKENS, A, **WORDS)._repr_mimebundle_()[0] for _ in range(2))
    assert once == again


def test_patterns_arrive_to_half_a_step(generator):
    A = pattern(6, 3, generator)
    data = held(views.attention(TOKENS, A.reshape(2, 3, 3, 3), **WORDS))
    levels = np.frombuffer(zlib.decompress(base64.b64decode(data["patterns"])), np.uint8)
    expected = A.numpy()[:, *np.tril_indices(3)].ravel()
    assert np.abs(levels / 255 - expected).max() <= 0.5 / 255 + 1e-6
    assert data["heads"] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    assert data["columns"] == 3


def test_a_page_of_the_papers_size_stays_small():
    """24 heads on 290 tokens in at most 250 KB, with the lengths of the values."""
    model = checkpoint.load("two-layer")
    text, _ = windows.evenly(corpus.tokens("small", "validation"), 1, model.config, n_ctx=290)
    trace = model.trace(text)
    A = torch.stack([pattern[0] for pattern in trace.patterns])
    norms = torch.stack([patterns.value_norms(model, trace, layer)[0] for layer in (0, 1)])
    view = views.attention(tokenizer.labels(text[0]), A, norms, **WORDS)
    assert len(view._body().encode()) <= 250_000


def test_a_view_too_large_is_refused(generator):
    n = 500
    with pytest.raises(ValueError, match=r"the view takes \d+ bytes but the most is 1000000"):
        views.attention(["a"] * n, pattern(24, n, generator), **WORDS)


def test_numbers_may_be_tensors():
    one, other = (
        views.tokens(TOKENS, [n(0.5), n(float("nan")), -1.0], unit="nats", **WORDS)
        for n in (float, torch.tensor)
    )
    assert one == other


def test_no_token_can_end_the_script():
    view = views.tokens(["</script>", "<!--", "b"], [1, 2, 3], unit="nats", **WORDS)
    shown = view._repr_mimebundle_()[0]["text/html"]
    assert shown.count("</script>") == 3
    assert held(view)["tokens"][:2] == ["</script>", "<!--"]


def test_what_has_no_value_is_blank():
    data = held(views.tokens(TOKENS, {"loss": [np.nan, 1, 2]}, unit="nats", **WORDS))
    assert data["values"]["loss"] == [None, 1.0, 2.0]


def test_without_scripts_the_values_shown_first_stand_there():
    rows = {"one": [1, 2, 3], "two": [4, 5, 6]}
    view = views.tokens(TOKENS, rows, unit="nats", first="two", **WORDS)
    assert "two [nats]" in view.without_scripts and "one [nats]" not in view.without_scripts


def test_a_saved_view_is_a_page(tmp_path):
    every_view()[0].save(tmp_path / "view.html")
    page = (tmp_path / "view.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "Circuits.views" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_bad_input_is_named():
    A = pattern(2, 3)
    with pytest.raises(ValueError, match=r"patterns is \(2, 3, 3\) but must be .* for 2 tokens"):
        views.attention(["a", "b"], A, **WORDS)
    with pytest.raises(ValueError, match="without attention forward"):
        views.attention(TOKENS, A.mT, **WORDS)
    for wrong in (2 * A, 0.1 * A, A * torch.nan, A + torch.eye(3) - torch.eye(3).roll(1, 0)):
        with pytest.raises(ValueError, match="must be probabilities"):
            views.attention(TOKENS, wrong, **WORDS)
    with pytest.raises(ValueError, match=r"patterns is \(0, 3, 3\)"):
        views.attention(TOKENS, A[:0], **WORDS)
    with pytest.raises(ValueError, match="not JSON compliant"):
        views.attention(TOKENS, A, torch.full((2, 3), torch.nan), **WORDS)
    with pytest.raises(ValueError, match="3 tokens and 0 rows of values given"):
        views.tokens(TOKENS, {}, unit="nats", **WORDS)
    with pytest.raises(ValueError, match="not JSON compliant"):
        views.tokens(TOKENS, [1, np.inf, 2], unit="nats", **WORDS)
    with pytest.raises(ValueError, match=r"weighted is \(3, 3\) but patterns are \(2, 3, 3\)"):
        views.attention(TOKENS, A, torch.ones(3, 3), **WORDS)
    with pytest.raises(ValueError, match="1 names given for 2 heads"):
        views.attention(TOKENS, A, heads=["0.0"], **WORDS)
    with pytest.raises(ValueError, match=r"head 9\.9 and token None of .* are asked for"):
        views.attention(TOKENS, A, head="9.9", **WORDS)
    with pytest.raises(ValueError, match=r"token 3 of .* and 3 tokens are asked for"):
        views.attention(TOKENS, A, token=3, **WORDS)
    with pytest.raises(ValueError, match=r"loss has shape \(2,\) but there are 3 tokens"):
        views.tokens(TOKENS, {"loss": [1, 2]}, unit="nats", **WORDS)
    for wrong in ({"first": "saved"}, {"differences": ["saved"]}):
        with pytest.raises(
            ValueError, match=r"\['saved'\] are asked for but the values are \['l'\]"
        ):
            views.tokens(TOKENS, {"l": [1, 2, 3]}, unit="nats", **wrong, **WORDS)
