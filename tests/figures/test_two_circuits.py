"""What the view of two circuits carries, and what it refuses."""

import numpy as np
import pytest
import torch

from transformer_circuits.figures import views
from transformer_circuits.figures.views.two_circuits import STEP, carried

WORDS = ["<begin>", "␣a", "␣b", "␣c", "␣d"]
SOURCES = torch.tensor([3, 1])


def columns(generator=None):
    """Two sources, three destinations and four outputs each."""

    def ids(n):
        return torch.stack([torch.randperm(5, generator=generator)[:n] for _ in SOURCES])

    def values(n):
        return 3 * torch.randn(2, n, generator=generator)

    return ids(3), values(3), ids(4), values(4)


def view(given, words=WORDS, sources=SOURCES, examples=None):
    shown = {"one": ("0.1", 1)} if examples is None else examples
    return views.two_circuits(words, sources, given, examples=shown, label="Two circuits")


def test_numbers_arrive_to_half_a_step_and_ids_whole(generator):
    given = {name: columns(generator) for name in ("0.0", "0.1")}
    arrived = carried(view(given))
    assert list(arrived) == ["0.0", "0.1"]
    for name, planes in given.items():
        for i, (sent, found) in enumerate(zip(planes, arrived[name], strict=True)):
            assert found.shape == sent.shape
            assert np.abs(found - sent.numpy()).max() <= (STEP / 2 + 1e-6 if i % 2 else 0)


def test_without_scripts_the_first_example_stands_there(generator):
    table = view({"0.1": columns(generator)}).without_scripts
    assert "The source ␣a in head 0.1" in table
    assert table.count("looks at it") == 3 and table.count(" logits") == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"given": {}}, "0 heads, 2 sources and 1 examples"),
        ({"examples": {}}, "1 heads, 2 sources and 0 examples"),
        ({"examples": {"x": ("0.1", 2)}}, "x is token 2 in head 0.1, which is not carried"),
        ({"examples": {"x": ("0.7", 1)}}, "x is token 1 in head 0.7, which is not carried"),
        ({"words": WORDS[:3]}, r"ids go from \d to \d but there are 3 words"),
        ({"sources": SOURCES[:1]}, r"head 0.1 has arrays of shapes .* but needs \[1, n_dst\]"),
        ({"given": {"0.1": columns()[:3]}}, "head 0.1 has arrays of shapes .* but needs"),
    ],
)
def test_bad_input_is_named(changes, message, generator):
    with pytest.raises(ValueError, match=message):
        view(**({"given": {"0.1": columns(generator)}} | changes))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 400.0])
def test_a_number_that_16_bits_cannot_hold_is_refused(wrong, generator):
    dst, scores, out, logits = columns(generator)
    with pytest.raises(ValueError, match=r"head 0.1 has values that are not finite or above 328"):
        view({"0.1": (dst, scores * 0 + wrong, out, logits)})
