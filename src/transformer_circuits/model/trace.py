"""Trace of one forward pass: all its values, kept."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

Pattern = Float[Tensor, "batch head dst src"]
"""Attention after the softmax: from each destination, probabilities over the sources."""


@dataclass(frozen=True)
class Trace:
    """Values of one forward pass; those of layers have one entry per layer.

    TransformerLens: `ActivationCache`, with `pattern`, `result` and `resid_pre` for the first
    three.
    """

    patterns: tuple[Pattern, ...]
    head_outputs: tuple[Float[Tensor, "batch head pos d_model"], ...]
    residual: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Residual stream before the first layer, after it, …: one more entry than layers."""
    mlp_outputs: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Empty for the attention-only models."""
    model: Any = field(repr=False)
    """Model of the pass."""
    W_U: Tensor = field(repr=False)
    """Unembedding of the model at that time."""
    n_changes: int = field(repr=False)
    """Number of changes in place of W_U until then, as PyTorch counts."""

    @cached_property
    def logits(self) -> Float[Tensor, "batch pos n_vocab"]:
        """Logits, made when first asked for: they take the longest of all in a pass.

        Raises:
            ValueError: if W_U was changed before.
        """
        W_U = self.model.W_U
        if W_U is not self.W_U or W_U._version != self.n_changes:
            raise ValueError(
                "W_U was changed after this pass was made and before its logits were asked for: "
                "trace the tokens again"
            )
        with torch.no_grad():
            return self.model.unembed(self.residual[-1])
