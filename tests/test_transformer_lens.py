"""Composition scores against TransformerLens, where it is installed (the `bench` extra)."""

import dataclasses
import warnings

import pytest
import torch
from conftest import SHAPE

from transformer_circuits import bench, composition
from transformer_circuits.model import Transformer


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", composition.KINDS)
def test_scores_are_those_of_transformer_lens(kind, generator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("transformer_lens")
    model = Transformer(dataclasses.replace(SHAPE, n_ctx=32)).requires_grad_(False)
    model.randomise(generator)
    theirs = bench.exported(model).all_composition_scores(kind)[0, :, 1]
    torch.testing.assert_close(composition.scores(model, kind), theirs.T, atol=1e-6, rtol=0)
