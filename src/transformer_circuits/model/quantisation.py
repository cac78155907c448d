"""A model in eight bits per weight: small enough for a page of the book, and for many of one run."""

import copy

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from transformer_circuits.model.transformer import Transformer


def quantise(
    weight: Float[Tensor, "out read"],
) -> tuple[Int8[Tensor, "out read"], Float[Tensor, " out"]]:
    """Symmetric int8 quantisation: weights from -127 to 127, and one scale for each row.

    `dequantise` gives the weight back, off by at most half a scale.
    """
    scale = weight.abs().amax(dim=1).clamp(min=torch.finfo(weight.dtype).tiny) / 127
    return (weight / scale[:, None]).round().to(torch.int8), scale


def dequantise(
    whole: Int8[Tensor, "out read"], scale: Float[Tensor, " out"]
) -> Float[Tensor, "out read"]:
    """The weight that `quantise` was given, rounded."""
    return whole * scale[:, None]


def matrices(model: Transformer) -> dict[str, Float[Tensor, "out read"]]:
    """Every weight, its rows being what shares a scale: tokens for W_E, outputs for the others.

    They are views of the weights.
    """
    return {
        name: weight.T if name == "W_E" else weight for name, weight in model.named_parameters()
    }


@torch.no_grad()
def rounded(model: Transformer) -> Transformer:
    """A copy of the model with every weight quantised and back."""
    twin = copy.deepcopy(model).requires_grad_(False)
    for weight in matrices(twin).values():
        weight.copy_(dequantise(*quantise(weight)))
    return twin
