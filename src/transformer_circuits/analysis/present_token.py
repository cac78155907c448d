"""Heads that look at the present token: they move nothing, and belong to the embedding.

Such a head turns x into (1 + W_OV) x at the very place where it stands (paper: "Identity Attention
Heads?" has the stream itself as such a head). In the first layer x is the embedding, so the same
function has one head less and (1 + W_OV) W_E for W_E, as far as all later layers can tell. A count
of heads or layers must not tell these two ways of writing it apart.
"""

from collections.abc import Sequence

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation
from transformer_circuits.analysis.heads import Head, HeadName, one
from transformer_circuits.model import general
from transformer_circuits.model.base import Stack
from transformer_circuits.model.transformer import Attention, Transformer

MOVES_NOTHING = 0.95
"""Least mean attention to the present token of a head that counts as part of the embedding."""


@torch.no_grad()
def heads(model: Transformer, tokens: Int[Tensor, "batch pos"]) -> tuple[Head, ...]:
    """Heads of the first layer that pay `MOVES_NOTHING` of their attention to the present token."""
    model.require(*general.ALL)
    if not model.config.n_layers:
        return ()
    x, W_P = model.embed(tokens)
    A = model.layers[0].pattern(x, x, W_P)
    present = A.diagonal(dim1=-2, dim2=-1).mean(dim=(0, 2)).tolist()  # [head]
    return tuple(Head(0, k) for k, share in enumerate(present) if share >= MOVES_NOTHING)


@torch.no_grad()
def written_out(
    model: Transformer,
    embedded: Float[Tensor, "batch pos d_model"],
    heads: Sequence[HeadName],
) -> tuple[Float[Tensor, "batch pos d_model"], Stack[Attention]]:
    """Stream with these first-layer heads written into the embedding, and the layers without them.

    (1 + W_OV) x, where x is the embedding W_E t and W_OV that of all these heads together. The
    other heads of the first layer read x as before; all later layers read this stream.

    Raises:
        ValueError: if one of the heads is not of the first layer, or the model has a form of
        `general` that the paper's has not.
    """
    written = [one(model, head) for head in heads]
    if later := [str(head) for head in written if head.layer]:
        raise ValueError(f"only heads of the first layer read the embedding alone, not {later}")
    if not heads:
        return embedded, model.layers
    model.require()
    layer, index = model.layers[0], [head for _, head in written]
    W_OV = einsum(layer.W_O[index], layer.W_V[index], "h d k, h k m -> d m")
    direct = embedded + einsum(W_OV, embedded, "d m, b pos m -> b pos d")
    return direct, ablation.without(model, heads).layers
