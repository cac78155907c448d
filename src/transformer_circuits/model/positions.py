"""Position vectors that are not learned."""

import math

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor


def sinusoids(n_ctx: int, d_model: int, base: float) -> Float[Tensor, "n_ctx d_model"]:
    """Position vectors whose every dimension has root mean square about 1.

    Pair i of dimensions is (sin ω_i t, cos ω_i t) times √2, ω_i = π · base^(-2i/d_model) per token.
    """
    exponent = -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # pair
    # From π, the highest frequency that integers can carry: from 1, as usual, neighbouring
    # positions are so alike that no head learns to tell them apart.
    frequency = math.pi * base**exponent  # pair
    angle = torch.arange(n_ctx, dtype=torch.float64)[:, None] * frequency  # pos pair
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # pos pair two
    return math.sqrt(2) * rearrange(pairs, "pos pair two -> pos (pair two)")
