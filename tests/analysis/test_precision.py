"""What comes in as float64 goes out as float64, and was not rounded on the way; float32 stays float32."""

import dataclasses

import pytest
import torch
from calls import CALLS, name, outcome, plain
from torch.utils import _pytree as pytree

from transformer_circuits.analysis import composition
from transformer_circuits.analysis.later_work import markov, over_text
from transformer_circuits.analysis.one_layer import skip_trigram_places

OWN = (
    composition.shares,
    composition.white_basis,
    markov.predicted,
    over_text.strongest,
    skip_trigram_places.read,
)
"""These compute in float64, or compare with a tolerance, whatever comes in."""


def numbers(found):
    """All tensors of numbers in what a function returns, dataclasses taken apart."""
    for leaf in pytree.tree_leaves(found):
        if dataclasses.is_dataclass(leaf):
            yield from numbers(vars(leaf))
        elif isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            yield leaf


@pytest.mark.parametrize("function", [f for f in CALLS if f not in OWN], ids=name)
def test_precision_is_kept(function):
    kept = {}
    for dtype in (torch.float64, torch.float32):
        kept[dtype] = list(numbers(outcome(function, *plain(function, dtype))))
    for dtype, found in kept.items():
        assert {tensor.dtype for tensor in found} <= {dtype}
    exact = kept[torch.float64]
    assert not exact or any((tensor != tensor.float()).any() for tensor in exact)
