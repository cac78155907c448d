"""Attention patterns: at some places alone, by distance, and weighted by the values moved."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model import general
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import (
    Attention,
    Pattern,
    Transformer,
    Vectors,
    causal_scores,
)


def of_all_layers(model: Transformer, tokens: Int[Tensor, "batch pos"]) -> tuple[Pattern, ...]:
    """Patterns of every layer: those of a trace, without its logits, which cost the most."""
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
    """Pattern of a layer at some destinations alone, or at all: batch, head, dst, src."""
    if places is None:
        return layer.pattern(x, x, W_P)
    return causal_scores(_queries(layer, x, W_P, places), layer.keys(x, W_P), places).softmax(-1)


def _queries(layer: Attention, x: Tensor, W_P: Tensor, places: Tensor) -> Vectors:
    if isinstance(layer, general.GeneralAttention):  # what turns them counts places from 0
        return layer.queries(x, W_P)[:, :, places]
    return layer.queries(x[:, places], W_P[places])


def _written_at(
    layer: Attention,
    x: Float[Tensor, "batch pos d_model"],
    W_P: Float[Tensor, "pos d_model"],
    places: Int[Tensor, " place"],
) -> Float[Tensor, "batch place d_model"]:
    """Addition of a layer to the stream at some places alone.

    For few places W_K turns their queries, and W_V what they are brought, rather than every source.
    """
    d_model = x.shape[-1]
    if len(places) * layer.n_heads >= d_model or isinstance(layer, general.GeneralAttention):
        return layer(x, W_P, at(layer, x, W_P, places))
    q = _queries(layer, x, W_P, places) * math.sqrt(d_model / layer.d_head)  # scores are divided
    asks = (q @ layer.W_K).flatten(1, 2)  # batch, head * place, d_model
    A = causal_scores(asks, x + W_P, places.repeat(layer.n_heads)).softmax(dim=-1)
    r = (A @ x).unflatten(1, (layer.n_heads, -1)) @ layer.W_V.mT  # batch, head, place, d_head
    return F.linear(rearrange(r, "b h place d -> b place (h d)"), layer.W_O_concat)


def stream(
    model: Transformer, tokens: Int[Tensor, "batch pos"], n_layers: int | None = None
) -> Float[Tensor, "batch pos d_model"]:
    """Residual stream as from `Transformer.stream`, up to rounding, in less time on text.

    A token's part in queries, keys and values of the first layer does not depend on its place, as
    positions are added. So each distinct token is projected once, which is most of the layer's work.
    """
    model.require(*general.all_but(general.HELD))
    n_layers = len(model.layers) if n_layers is None else n_layers
    if model.forms or not n_layers:  # a norm, say, acts on token and position together
        return model.stream(tokens, n_layers)
    distinct, which = tokens.unique(return_inverse=True)
    layer, W_P, embedded = model.layers[0], model.W_P[: tokens.shape[1]], model.W_E.T[distinct]

    def of_text(W: Tensor, positions: bool) -> Vectors:
        read = F.linear(embedded, W)[which] + (F.linear(W_P, W) if positions else 0)
        return rearrange(read, "b pos (h d) -> b h pos d", h=layer.n_heads)

    r = layer.attend(
        of_text(layer.W_Q_concat, True),
        of_text(layer.W_K_concat, True),
        of_text(layer.W_V_concat, False),
    )
    x = embedded[which] + F.linear(rearrange(r, "b h pos d -> b pos (h d)"), layer.W_O_concat)
    for index in range(n_layers):
        if index:
            x = x + model.layers[index](x, W_P)
        if model.mlps:
            x = x + model.mlps[index](x)
    return x


def stream_at(
    model: Transformer, tokens: Int[Tensor, "batch pos"], places: Int[Tensor, " place"]
) -> Float[Tensor, "batch place d_model"]:
    """Residual stream after all layers at some places alone: the last layer is computed nowhere else."""
    model.require(*general.all_but(general.HELD))
    if not model.layers:
        return model.embed(tokens)[0][:, places]
    x, W_P = stream(model, tokens, len(model.layers) - 1), model.W_P[: tokens.shape[1]]
    x = x[:, places] + _written_at(model.layers[-1], x, W_P, places)
    return x + model.mlps[-1](x) if model.mlps else x


def by_distance(A: Pattern, n: int) -> Float[Tensor, "head n"]:
    """Mean attention to the token 0, 1, … n-1 places back: probability, over positions ≥ n.

    Attention to BEGIN, at position 0, is left out: a head with nothing to do rests there, which
    `to_begin` measures.
    """
    if not 0 < n < A.shape[-1]:
        raise ValueError(f"n is {n} but must be from 1 to {A.shape[-1] - 1}, below the positions")
    back = [A.diagonal(-k, dim1=-2, dim2=-1)[..., n - k :].mean(dim=(0, -1)) for k in range(n)]
    return torch.stack(back, dim=-1)


def to_begin(A: Pattern) -> Float[Tensor, " head"]:
    """Mean attention to position 0, over all later positions: rest. 0 to 1."""
    return A[..., 1:, 0].mean(dim=(0, -1))


def value_norms(model: Transformer, trace: Trace, layer: int) -> Float[Tensor, "batch head src"]:
    """Length ‖v_j‖ of the value that each head moves from each source."""
    heads.require_plain(model)
    heads.of_layer(model, layer)  # refuses a layer that is not there
    v = einsum(
        model.layers[layer].W_V,
        trace.residual[layer],
        "head d_head d_model, batch src d_model -> batch head src d_head",
    )
    return v.norm(dim=-1)


def value_weighted(model: Transformer, trace: Trace, layer: int) -> Pattern:
    """Attention times the length of the value moved, A_ij ‖v_j‖ (paper: "Induction Heads").

    Not a probability, and not quite a property of the model: an invertible matrix put between W_O
    and W_V, with its inverse, changes the lengths and leaves the head the same. So compare within a
    head, roughly.
    """
    return trace.patterns[layer] * value_norms(model, trace, layer)[:, :, None, :]
