"""Models of pairwise different prime sizes, so that no swapped axis can pass unnoticed."""

import pytest
import torch

from transformer_circuits.config import ModelConfig, TrainConfig
from transformer_circuits.model import Transformer

SHAPE = ModelConfig(
    n_layers=2, n_heads=5, d_model=14, d_head=3, n_vocab=17, n_ctx=11, position_base=100.0
)
PLAN = TrainConfig(
    seed=3,
    steps=6,
    batch=4,
    lr_embed=0.01,
    lr_attention=0.02,
    warmup_steps=2,
    decay_from=0.5,
    corpus="small",
)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


@pytest.fixture
def model(generator):
    """A two-layer model with random weights in float64."""
    model = Transformer(SHAPE).double().requires_grad_(False)
    model.randomise(generator)
    return model


@pytest.fixture
def tokens(generator):
    return torch.randint(SHAPE.n_vocab, (2, 7), generator=generator)
