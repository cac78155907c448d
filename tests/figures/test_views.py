import base64
import io
import json
import re
import zlib

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from transformer_circuits import files
from transformer_circuits.figures import theme, views

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
    ]


def test_without_scripts_patterns_have_the_colours_of_their_layers():
    view = views.attention(["a"], np.ones((2, 1, 1, 1)), **WORDS)  # heads 0.0 and 1.0
    picture = imread(io.BytesIO(view.png))[..., :3]
    assert picture.shape == (6, 3, 3)
    for row, name in zip((0, 3), theme.LAYERS, strict=True):
        assert picture[row, 0] == pytest.approx(to_rgb(theme.ROLES[name].light), abs=1 / 255)
    assert picture[5, 2].tolist() == [1, 1, 1]


def test_a_view_is_html_a_picture_and_words_the_same_each_time(in_a_notebook, monkeypatch):
    for view, again in zip(every_view(), every_view(), strict=True):
        shown = view._repr_mimebundle_()[0]
        assert shown == again._repr_mimebundle_()[0]
        assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
        assert shown["text/plain"] == "[view: A small <view>]"
        assert shown["text/html"].count("<script") == 2  # the data, and what moves
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
    view = views.attention(["</script>", "<!--", "b"], pattern(2, 3), **WORDS)
    shown = view._repr_mimebundle_()[0]["text/html"]
    assert shown.count("</script>") == 2
    assert held(view)["tokens"][:2] == ["</script>", "<!--"]


def test_a_token_has_the_colour_of_its_value_and_a_tip_with_all_of_them():
    rows = {"one": [np.nan, 2, 3], "saved": [np.nan, -1, 2]}
    text = views.tokens(["<begin>", "␣a", "␣b"], rows, shown="saved", unit="nats", **WORDS)
    begin, a, b = text.parts
    assert "&lt;begin&gt;" in begin and " 0%," in begin
    assert 'title="one 2.00, saved −1.00 nats"' in a and f"{theme.LESS.light} 22%" in a
    assert f"{theme.MORE.light} {views.STRONGEST}%" in b
    assert text.record.numbers["one"] == [None, 2, 3]
    assert text.key == "saved: red above 0, teal below; the fullest colour is 2.00 nats."


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
    "other values": (views.tokens, TOKENS, {"l": [1, 2]}, {"unit": "nats", "shown": "l"}),
    "no such row": (views.tokens, TOKENS, {"l": [1, 2, 3]}, {"unit": "nats", "shown": "saved"}),
}
"""A view, its tokens, its numbers and its options."""


@pytest.mark.parametrize("case", WRONG)
def test_numbers_that_would_show_something_else_are_refused(case):
    view, tokens, numbers, options = WRONG[case]
    with pytest.raises(ValueError):
        view(tokens, numbers, **options, **WORDS)
