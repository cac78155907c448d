"""What one forward pass computed, kept."""

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
    """Everything one forward pass computed; what belongs to a layer has one entry per layer.

    TransformerLens: `ActivationCache`, with `pattern`, `result` and `resid_pre` for the first three.
    """

    patterns: tuple[Pattern, ...]
    head_outputs: tuple[Float[Tensor, "batch head pos d_model"], ...]
    residual: tuple[Float[Tensor, "batch pos d_model"], ...]
    """The residual stream before the first layer, after it, …: one more entry than layers."""
    mlp_outputs: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Empty for the attention-only models."""
    model: Any = field(repr=False)
    """Whose pass it was."""
    W_U: Tensor = field(repr=False)
    """That of the model, then."""
    n_changes: int = field(repr=False)
    """How often W_U had been changed in place by then, as PyTorch counts."""

    @cached_property
    def logits(self) -> Float[Tensor, "batch pos n_vocab"]:
        """Made when they are first asked for: of all in a pass they take the longest.

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
