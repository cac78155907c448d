"""The pass with heads off and edges cut is the one that chapters cut, which `test_which_forms_are_taken`
holds to NumPy."""

import copy

import pytest
import torch

from transformer_circuits.analysis import ablation, path_patching
from transformer_circuits.stage import forward
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint

LINE = "and Valdemar, Vald"
OFF = [(0, 1), (1, 3)]
CUTS = [
    ("K", (1, 0), (0, 2)), ("K", (1, 0), (0, 0)), ("Q", (1, 0), (0, 2)), ("V", (1, 0), (0, 2)),
    ("V", (1, 2), (0, 0)), ("Q", (1, 4), (0, 1)), ("K", (1, 3), (0, 5)),
]  # fmt: skip
"""Several into one reading, several readings of one head; from a head that is off, and into one."""


@pytest.fixture(scope="module")
def model():
    return copy.deepcopy(checkpoint.load("two-layer")).double()


def test_it_is_the_pass_that_chapters_cut(model):
    """What chapters measure by `path_patching`, on a model without heads by `ablation`."""
    tokens = tokenizer.context(LINE)
    smaller = ablation.without(model, OFF)
    trace = smaller.trace(tokens)
    zero = torch.zeros_like(trace.residual[1])
    expected = path_patching.patched(smaller, trace, dict.fromkeys(CUTS, zero))
    found = forward.trace(model, tokens, OFF, CUTS)
    assert (found.logits - expected).abs().max() < 1e-9
    torch.testing.assert_close(found.patterns[0], trace.patterns[0])
    assert (expected - trace.logits).abs().max() > 0.1


def test_what_all_writers_add_is_the_logit(model):
    tokens = tokenizer.context(LINE)
    found = forward.trace(model, tokens, OFF, CUTS)
    added = forward.writers(found, tokens[0], 3, 77)
    logits = found.logits[0, 3]
    assert abs(float(added.sum() - (logits[77] - logits.mean()))) < 1e-9
    assert added[1 + OFF[0][1]] == 0
