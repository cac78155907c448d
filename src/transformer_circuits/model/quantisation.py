"""Quantisation: a model in eight bits per weight, as on disk and on the book's pages."""

import copy
from collections.abc import Mapping

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from transformer_circuits.model.transformer import Transformer


def quantise(
    weight: Float[Tensor, "out read"],
) -> tuple[Int8[Tensor, "out read"], Float[Tensor, " out"]]:
    """Weights quantised to symmetric int8, from -127 to 127, and one scale for each row.

    `dequantise` returns the weight, off by at most half a scale.
    """
    scale = weight.abs().amax(dim=1).clamp(min=torch.finfo(weight.dtype).tiny) / 127
    return (weight / scale[:, None]).round().to(torch.int8), scale


def dequantise(
    integers: Int8[Tensor, "out read"], scale: Float[Tensor, " out"]
) -> Float[Tensor, "out read"]:
    """Weight that `quantise` turned into these integers and scales, up to rounding."""
    return integers * scale[:, None]


def matrices(model: Transformer) -> dict[str, Float[Tensor, "out read"]]:
    """Every weight as a view, with a row for each scale: tokens for W_E, outputs for the others."""
    return {
        name: weight.T if name == "W_E" else weight for name, weight in model.named_parameters()
    }


def packed(model: Transformer) -> dict[str, Tensor]:
    """Every weight in eight bits, and beside it, as NAME.scale, the scales of its rows: see `matrices`."""
    tensors = {}
    for name, weight in matrices(model).items():
        integers, scale = quantise(weight.detach().cpu())
        tensors |= {name: integers.contiguous(), f"{name}.scale": scale.float()}
    return tensors


def unpacked(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights by name from the tensors of `packed`, up to its rounding, without the scales.

    A tensor NAME is multiplied by its NAME.scale, row by row; one without a scale stays as it is. W_E
    is turned back to [d_model, n_vocab].
    """
    weights = {name: tensor for name, tensor in tensors.items() if not name.endswith(".scale")}
    for name in weights:
        if (scale := tensors.get(f"{name}.scale")) is not None:
            weight = dequantise(weights[name], scale)
            weights[name] = weight.T if name == "W_E" else weight
    return weights


@torch.no_grad()
def round_(model: Transformer) -> None:
    """Quantise every weight and back, in place."""
    for weight in matrices(model).values():
        weight.copy_(dequantise(*quantise(weight)))


def rounded(model: Transformer) -> Transformer:
    """Copy of the model with every weight quantised and back."""
    twin = copy.deepcopy(model).requires_grad_(False)
    round_(twin)
    return twin
