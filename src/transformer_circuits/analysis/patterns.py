"""What an attention pattern looks at, by distance, and weighted by what it moves."""

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model import general
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import (
    Attention,
    Pattern,
    Transformer,
    causal_scores,
)


def of_all_layers(model: Transformer, tokens: Int[Tensor, "batch pos"]) -> tuple[Pattern, ...]:
    """The patterns of every layer: those of a trace, without its logits, which cost the most."""
    model.require(*general.ALL)
    x, W_P = model.embed(tokens)
    patterns = []
    for index, layer in enumerate(model.layers):
        patterns.append(layer.pattern(x, x, W_P))
        if index + 1 == len(model.layers):
            break  # no pattern reads what the last layer writes
        x = x + layer(x, W_P, patterns[-1])
        if model.mlps:
            x = x + model.mlps[index](x)
    return tuple(patterns)


def at(
    layer: Attention,
    x: Float[Tensor, "batch pos d_model"],
    W_P: Float[Tensor, "pos d_model"],
    places: Int[Tensor, " dst"] | None,
) -> Pattern:
    """The pattern of a layer at some destinations alone, or at all: batch, head, dst, src."""
    if places is None:
        return layer.pattern(x, x, W_P)
    q = layer.queries(x, W_P)[:, :, places]
    return causal_scores(q, layer.keys(x, W_P), places).softmax(dim=-1)


def by_distance(A: Pattern, n: int) -> Float[Tensor, "head n"]:
    """Mean attention to the token 0, 1, … n-1 places back: probability, over positions ≥ n.

    Attention to BEGIN, at position 0, is left out: a head with nothing to do rests there, which
    `to_begin` measures.
    """
    if A.shape[-1] <= n:
        raise ValueError(f"the pattern has {A.shape[-1]} positions but must have more than {n}")
    back = [A.diagonal(-k, dim1=-2, dim2=-1)[..., n - k :].mean(dim=(0, -1)) for k in range(n)]
    return torch.stack(back, dim=-1)


def to_begin(A: Pattern) -> Float[Tensor, " head"]:
    """Mean attention to position 0, over all later positions: how much a head rests. 0 to 1."""
    return A[..., 1:, 0].mean(dim=(0, -1))


def value_norms(model: Transformer, trace: Trace, layer: int) -> Float[Tensor, "batch head src"]:
    """‖v_j‖, the length of the value that each head moves from each source."""
    heads.require_plain(model)
    v = einsum(
        model.layers[layer].W_V,
        trace.residual[layer],
        "head d_head d_model, batch src d_model -> batch head src d_head",
    )
    return v.norm(dim=-1)


def value_weighted(model: Transformer, trace: Trace, layer: int) -> Pattern:
    """A_ij ‖v_j‖: attention times the length of the value moved (paper: "Induction Heads").

    Not a probability, and not quite a property of the model: an invertible matrix put between W_O
    and W_V, with its inverse, changes the lengths and leaves the head the same. So compare within
    a head, roughly.
    """
    return trace.patterns[layer] * value_norms(model, trace, layer)[:, :, None, :]
