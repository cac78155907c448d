"""Models rewritten, with the same logits on any tokens, see `rewritings`."""

import dataclasses

import torch

from transformer_circuits.analysis import composition
from transformer_circuits.claims.rewritings import BASIS, INSIDE, SPLIT
from transformer_circuits.model.transformer import Transformer


def another_basis(model: Transformer) -> Transformer:
    """Model with its stream in a random basis, see `composition.change_basis`."""
    d = model.config.d_model
    basis = torch.randn(d, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return composition.change_basis(model, basis.to(model.W_E.dtype))


def another_inside(model: Transformer) -> Transformer:
    """Model with queries, keys and values of each head in random bases: both circuits stay."""
    other, d = _copy(model), model.config.d_head
    generator = torch.Generator().manual_seed(0)
    for layer in other.layers:
        for head in range(model.config.n_heads):
            of_qk, of_ov = torch.randn(2, d, d, generator=generator, dtype=torch.float64)
            layer.W_Q[head] = (of_qk @ layer.W_Q[head].double()).to(layer.W_Q.dtype)
            layer.W_K[head] = (of_qk.inverse().T @ layer.W_K[head].double()).to(layer.W_K.dtype)
            layer.W_V[head] = (of_ov @ layer.W_V[head].double()).to(layer.W_V.dtype)
            layer.W_O[head] = (layer.W_O[head].double() @ of_ov.inverse()).to(layer.W_O.dtype)
    return other


def split_heads(model: Transformer) -> Transformer:
    """Model with two heads in place of each: both look where it looked, each moves half of its dimensions."""
    n, d = model.config.n_heads, model.config.d_head
    other = _copy(model, n_heads=2 * n)
    halves = torch.zeros(2, d, 1)
    halves[0, : d // 2], halves[1, d // 2 :] = 1, 1
    for layer, unsplit in zip(other.layers, model.layers, strict=True):
        for k, half in enumerate(halves.to(model.W_E)):
            layer.W_Q[k::2], layer.W_K[k::2] = unsplit.W_Q, unsplit.W_K
            layer.W_V[k::2], layer.W_O[k::2] = half * unsplit.W_V, unsplit.W_O * half.T
    return other


def written_into_embedding(model: Transformer, head: int) -> Transformer:
    """Model with a first-layer head that looks only at the present token written into W_E.

    The stream is twice as wide: one half holds (1 + W_OV) W_E, and is the one that all heads write
    to and later layers read; the other holds W_E for the other heads of the first layer. The head
    itself still looks where it looked, and moves nothing.
    """
    d = model.config.d_model
    other, first = _copy(model, d_model=2 * d), model.layers[0]
    W_OV = first.W_O[head] @ first.W_V[head]
    other.W_E[:] = torch.cat([model.W_E + W_OV @ model.W_E, model.W_E])
    other.W_U.zero_()[:, :d] = model.W_U
    other.W_P[:] = torch.cat([model.W_P, model.W_P], dim=1)
    for index, (layer, was) in enumerate(zip(other.layers, model.layers, strict=True)):
        read = slice(0, d) if index else slice(d, 2 * d)
        for name in ("W_Q", "W_K", "W_V"):
            getattr(layer, name).zero_()[:, :, read] = getattr(was, name)
        layer.W_O.zero_()[:, :d] = was.W_O
    other.layers[0].W_O[head] = 0
    return other


def _copy(model: Transformer, **changes: int) -> Transformer:
    """Model of this shape, or with changes to it; with the same weights, where their shape is the same."""
    config = dataclasses.replace(model.config, **changes)
    other = Transformer(config).to(model.W_E.dtype).requires_grad_(False).eval()
    other.W_P[:] = model.W_P if other.W_P.shape == model.W_P.shape else other.W_P
    for name, weight in other.named_parameters():
        was = model.get_parameter(name)
        if weight.shape == was.shape:
            weight.copy_(was)
    return other


WAYS = {BASIS: another_basis, INSIDE: another_inside, SPLIT: split_heads}
"""Rewritings that any model can be put through."""
