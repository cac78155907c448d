"""Check on the tensors of any checkpoint: finite real numbers, in floating point and dense."""

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer_circuits import files

KINDS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
BUFFERS = (".mask", ".IGNORE", ".rotary_sin", ".rotary_cos")
"""Endings of names of tensors that are no weights, but which TransformerLens saves, too."""


def require_numbers(tensors: Mapping[str, Tensor], source: object = None) -> None:
    """Refuse tensors that a model would take in silence, or fail at: every way of loading calls this first.

    `source`: their file, for the message, if known here.
    """
    for name, W in tensors.items():
        if name.endswith(BUFFERS):
            continue
        if W.dtype not in KINDS:
            kinds = ", ".join(str(kind).removeprefix("torch.") for kind in KINDS)
            fault = f"is {W.dtype} but must be of real numbers in floating point ({kinds})"
        elif W.layout != torch.strided or W.is_meta or W.is_nested:
            fault = f"is {W.layout} on the device {W.device} but must be one dense array, with its numbers"
        elif wrong := int((~W.isfinite()).sum()):
            fault = f"has {wrong} of {W.numel()} numbers that are not finite, but all must be"
        else:
            continue
        raise files.UserError(f"{source}: {name} {fault}" if source else f"{name} {fault}")
