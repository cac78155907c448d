"""The pass with heads off and edges cut, against sums over single places."""

import copy
import math

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


def slow(model, tokens, off, cuts):
    """Logits [pos, n_vocab] and patterns [layer, head, dst, src], one number after the other."""
    n, d_head = len(tokens), model.config.d_head
    x = [model.W_E[:, token] for token in tokens]
    W_P, patterns = model.W_P.double(), torch.zeros(2, model.config.n_heads, n, n).double()
    wrote = {}
    for index, layer in enumerate(model.layers):
        for h in range(model.config.n_heads):

            def read(kind, place, me=(index, h), x=x):
                cut = [earlier for k, later, earlier in cuts if (k, later) == (kind, me)]
                return x[place] - sum(wrote[earlier][place] for earlier in cut)

            for dst in range(n):
                q = layer.W_Q[h] @ (read("Q", dst) + W_P[dst])
                keys = [layer.W_K[h] @ (read("K", src) + W_P[src]) for src in range(dst + 1)]
                weights = [math.exp(float(q @ k) / math.sqrt(d_head)) for k in keys]
                for src, weight in enumerate(weights):
                    patterns[index, h, dst, src] = weight / sum(weights)
                values = [layer.W_V[h] @ read("V", src) for src in range(dst + 1)]
                r = sum(
                    a * v for a, v in zip(patterns[index, h, dst, : dst + 1], values, strict=True)
                )
                of_head = wrote.setdefault((index, h), [])
                of_head.append(0 * x[dst] if (index, h) in off else layer.W_O[h] @ r)
        x = [x[k] + sum(wrote[index, h][k] for h in range(model.config.n_heads)) for k in range(n)]
    return torch.stack([model.W_U @ at for at in x]), patterns


@pytest.mark.parametrize("off, cuts", [([], []), (OFF, []), ([], CUTS), (OFF, CUTS)])
def test_cuts_and_heads_off_together_are_the_slow_sums(model, off, cuts):
    tokens = tokenizer.context(LINE)
    logits, patterns = slow(model, tokens[0].tolist(), off, cuts)
    found = forward.trace(model, tokens, off, cuts)
    assert (found.logits[0] - logits).abs().max() < 1e-9
    assert (torch.cat(found.patterns) - patterns).abs().max() < 1e-9


def test_it_is_the_pass_that_chapters_cut(model):
    """What chapters measure by `path_patching`, on a model without heads by `ablation`."""
    tokens = tokenizer.context(LINE)
    smaller = ablation.without(model, OFF)
    trace = smaller.trace(tokens)
    zero = torch.zeros_like(trace.residual[1])
    expected = path_patching.patched(smaller, trace, dict.fromkeys(CUTS, zero))
    assert (forward.trace(model, tokens, OFF, CUTS).logits - expected).abs().max() < 1e-9
    assert (expected - trace.logits).abs().max() > 0.1


def test_what_all_writers_add_is_the_logit(model):
    tokens = tokenizer.context(LINE)
    found = forward.trace(model, tokens, OFF, CUTS)
    added = forward.writers(found, tokens[0], 3, 77)
    logits = found.logits[0, 3]
    assert abs(float(added.sum() - (logits[77] - logits.mean()))) < 1e-9
    assert added[1 + OFF[0][1]] == 0
