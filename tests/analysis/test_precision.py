"""What comes in as float64 goes out as float64, and was not rounded on the way; float32 stays float32."""

import dataclasses

import pytest
import torch
from calls import CALLS, beside, n_layers, name, outcome, random
from conftest import SHAPE
from torch.utils import _pytree as pytree

from transformer_circuits.analysis import (
    composition,
    copying_scores,
    induction,
    layer_norm,
    patterns,
    superposition,
)
from transformer_circuits.analysis.one_layer import skip_trigram_places
from transformer_circuits.analysis.since_2021 import markov, over_text
from transformer_circuits.model.transformer import Transformer

OWN = (composition.white_basis, markov.predicted, over_text.strongest, skip_trigram_places.read)
"""These compute in float64, or compare with a tolerance, whatever comes in."""
MORE = {
    "prefix_matching_score": lambda m, x: induction.prefix_matching_score(
        m.trace(x.IN).patterns[0], x.IN
    ),
    "copying_scores.null": lambda m, x: copying_scores.null(m.W_U, m.W_E, 3, 4, generator=random()),
    "deletion": lambda m, x: copying_scores.deletion(m.W_U, *m.trace(x.IN).residual[:2]),
    "by_distance": lambda m, x: patterns.by_distance(m.trace(x.IN).patterns[0], 2),
    "to_begin": lambda m, x: patterns.to_begin(m.trace(x.IN).patterns[0]),
    "kurtosis": lambda m, x: superposition.kurtosis(m.W_U),
    "rotated_kurtosis": lambda m, x: superposition.rotated_kurtosis(m.W_U, 2, generator=random()),
    "fold": lambda m, x: folded(m.W_E.dtype, x.IN),
}


def folded(dtype, tokens):
    normed = layer_norm.NormedTransformer(SHAPE, generator=random()).to(dtype)
    of = layer_norm.fold(normed.requires_grad_(False))
    return of.paths(tokens, of.run(tokens))


def numbers(found):
    """All tensors of numbers in what a function returns, dataclasses taken apart."""
    for leaf in pytree.tree_leaves(found):
        if dataclasses.is_dataclass(leaf):
            yield from numbers(vars(leaf))
        elif isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            yield leaf


@pytest.mark.parametrize(
    "case",
    [*(f for f in CALLS if f not in OWN), *MORE],
    ids=lambda case: case if isinstance(case, str) else name(case),
)
def test_precision_is_kept(case):
    kept = {}
    for dtype in (torch.float64, torch.float32):
        layers = 2 if isinstance(case, str) else n_layers(case)
        model = Transformer(dataclasses.replace(SHAPE, n_layers=layers)).requires_grad_(False)
        model = model.to(dtype)
        model.randomise(generator=random())
        if isinstance(case, str):
            found = MORE[case](model, beside(model))
        else:
            found = outcome(case, model, model.trace(beside(model).IN))
        kept[dtype] = list(numbers(found))
    for dtype, found in kept.items():
        assert {tensor.dtype for tensor in found} <= {dtype}
    exact = kept[torch.float64]
    assert not exact or any((tensor != tensor.float()).any() for tensor in exact)
