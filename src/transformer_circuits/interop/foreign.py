"""Checkpoints with TransformerLens's names as models of the book, where these can be exactly that.

The model of the paper gives positions to queries and keys alone and has no layer norm, no biases and
no MLPs. `transformer` says of any other setting whether it can be written so all the same, and
refuses it if not. `transformer_lens` goes the other way.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from transformer_circuits.analysis.layer_norm import EPSILON, NormedTransformer
from transformer_circuits.interop.their_weights import (
    Weights,
    attention_scale,
    require_sizes,
    settings,
)
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer

UNREAD = 1e-6
"""How much of the positions a matrix may read, over what it could read of the smaller of two vectors,
a position's and a token's, and still count as not reading positions."""


def _require_kind(given: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    norm, positions = found["normalization_type"], found["positional_embedding_type"]
    if norm is not None:
        said = {*given} & {"normalization_type", "normalization"}
        folds = norm in ("LN", "LNPre") and positions == "standard" and found["attn_only"]
        raise ValueError(
            f"normalization_type is {norm!r}"
            + ("" if said else " (what TransformerLens takes where the config does not say)")
            + " but a Transformer of the book has no layer norm. Gains, biases and the mean could "
            "be folded into the weights that read the stream; the division by each position's "
            "deviation could not, since it is not linear."
            + " interop.foreign.normed_transformer loads it with its layer norm, and "
            "analysis.layer_norm.fold folds what can be" * folds
        )
    if positions not in ("shortformer", "standard"):
        raise ValueError(
            f"positional_embedding_type is {positions!r} but a Transformer of the book adds vectors "
            "to what queries and keys read, 'shortformer'; no other kind can be written so"
        )
    if not found["attn_only"] and found["act_fn"] != "gelu":
        raise ValueError(
            f"act_fn is {found['act_fn']!r} but MLPs of the book have 'gelu', and attn_only is False"
        )


def transformer(weights: Mapping[str, Tensor], config: Mapping[str, Any]) -> Transformer:
    """The model of a checkpoint: the same logits, and the same patterns, up to rounding.

    Its W_P are the checkpoint's positions, learned or not; `position_base` says nothing there.

    - "Standard" positions are added to the stream. They can be taken for ours if nothing but queries
      and keys reads them, as in the models that `to_transformer_lens` makes for TransformerLens 4.
    - Biases that are not zero. Those of values and outputs only add a constant to the stream, for
      attention adds up to one; those of keys change no pattern, for all sources have them alike. So
      keys and values have none, and W_V W_O and V-scores are those without biases. What is left is
      for queries, MLPs and the unembedding: d_model is the next larger even number, the first of the
      new dimensions is always one, and those that read the stream have the constant as their column
      there. Nothing writes there.
    - MLPs must have gelu.
    """
    given, found = Weights(weights), settings(config)
    _require_kind(config, found)
    readers, writers, shape = _parts(given, found)
    W_P = given.take("pos_embed.W_pos", None, shape["d_model"])
    given.require_all_taken()
    if found["positional_embedding_type"] == "standard":
        _require_unread(W_P, writers["W_E"].T, {name: W for name, (W, _) in readers.items()})
    require_sizes(config, shape | {"n_ctx": len(W_P)})
    d_model, biased = shape["d_model"], any(bool(b.any()) for _, b in readers.values())
    shape["d_model"] = d_model + biased + (d_model + biased) % 2  # sinusoids come in pairs
    more = shape["d_model"] - d_model
    filled = {"W_P": F.pad(W_P, (0, more))}
    filled |= {name: F.pad(W, (0, 0, 0, more)) for name, W in writers.items()}
    filled |= {name: F.pad(W, (0, more)) for name, (W, _) in readers.items()}
    if biased:
        filled["W_E"][d_model] = 1
        for name, (_, b) in readers.items():
            filled[name][:, d_model] = b
    ours = ModelConfig(**shape, n_ctx=len(W_P), position_base=float(len(W_P)))
    model = Transformer(ours, generator=torch.Generator()).to(given.dtype)
    for name, values in filled.items():
        target = model.W_P if name == "W_P" else model.get_parameter(name).data
        target.copy_(values)
    return model.requires_grad_(False).eval()


def _parts(
    given: Weights, found: Mapping[str, Any]
) -> tuple[dict[str, tuple[Tensor, Tensor]], dict[str, Tensor], dict[str, Any]]:
    """What reads the stream, with what is added to it; what writes into it; and the shape.

    All by the names of our parameters, [what it writes, what it reads].
    """
    W_E = given.take("embed.W_E", None, None)
    n_vocab, d_model = W_E.shape
    writers, readers, d_mlp = {"W_E": W_E.T}, {}, 0
    n_heads, _, d_head = given.shape("blocks.0.attn.W_Q") if given.n_layers else (1, d_model, 1)
    constant = torch.zeros(d_model, dtype=given.dtype)  # what biases have added to every position
    for layer in range(given.n_layers):
        at, before = f"blocks.{layer}.attn.", constant
        W_O = given.take(at + "W_O", n_heads, d_head, d_model).flatten(0, 1).T
        writers[f"layers.{layer}.W_O_concat"] = W_O
        constant = constant + given.bias(at + "b_O", d_model)
        for name in ("W_Q", "W_K", "W_V"):
            W = given.take(at + name, n_heads, d_model, d_head).mT.flatten(0, 1)
            b = given.bias(at + f"b_{name[-1]}", n_heads, d_head) + W @ before
            if name == "W_V":  # attention adds up to one, so it takes this from wherever it looks
                constant = constant + W_O @ b
            if name != "W_Q":  # and softmax does not see what all keys have in common
                b = torch.zeros_like(b)
            factor = attention_scale(found, d_head) if name == "W_Q" else 1.0
            readers[f"layers.{layer}.{name}_concat"] = factor * W, factor * b
        if not found["attn_only"]:
            at = f"blocks.{layer}.mlp."
            W = given.take(at + "W_in", d_model, d_mlp or None).T
            d_mlp = len(W)
            readers[f"mlps.{layer}.W_I"] = W, given.bias(at + "b_in", d_mlp) + W @ constant
            writers[f"mlps.{layer}.W_O"] = given.take(at + "W_out", d_mlp, d_model).T
            constant = constant + given.bias(at + "b_out", d_model)
    W_U = given.take("unembed.W_U", d_model, n_vocab).T
    readers["W_U"] = W_U, given.bias("unembed.b_U", n_vocab) + W_U @ constant
    shape = {
        "n_layers": given.n_layers, "n_heads": n_heads, "d_model": d_model, "d_head": d_head,
        "n_vocab": n_vocab, "d_mlp": d_mlp,
    }  # fmt: skip
    return readers, writers, shape


def _require_unread(W_P: Tensor, W_E: Tensor, readers: Mapping[str, Tensor]) -> None:
    size = min(float(W.norm()) / len(W) ** 0.5 for W in (W_P, W_E))  # of a vector, on average
    for name, W in readers.items():
        if "W_Q" in name or "W_K" in name:
            continue
        read = float(LowRank(W_P, W.T).norm()) / len(W_P) ** 0.5
        if read > UNREAD * size * float(W.norm()):
            raise ValueError(
                f"positions are added to the stream ('standard'), and {name} reads them: ‖W_pos W‖ "
                f"is {read:.2g} for a position, and ‖W‖ times the length of a vector is "
                f"{size * float(W.norm()):.2g}. In a Transformer of the book only queries and keys "
                "read positions ('shortformer')"
            )


@torch.no_grad()
def normed_transformer(
    weights: Mapping[str, Tensor], config: Mapping[str, Any]
) -> NormedTransformer:
    """The attention-only model of a checkpoint with layer norm; `transformer` is for others."""
    given, found = Weights(weights), settings(config)
    names = ("normalization_type", "positional_embedding_type", "attn_only", "eps")
    norm, *others = (found[name] for name in names)
    if norm not in ("LN", "LNPre") or others != ["standard", True, EPSILON]:
        raise ValueError(
            f"{', '.join(names)} are {[norm, *others]} but a NormedTransformer has 'LN' or 'LNPre', "
            f"'standard', True, {EPSILON}"
        )
    (n_vocab, d), n_ctx = given.found("embed.W_E").shape, len(given.found("pos_embed.W_pos"))
    n_heads, _, d_head = given.shape("blocks.0.attn.W_Q") if given.n_layers else (1, d, 1)
    shape = ModelConfig(given.n_layers, n_heads, d, d_head, n_vocab, n_ctx, float(n_ctx))
    require_sizes(config, asdict(shape))
    model = NormedTransformer(shape, generator=torch.Generator()).to(given.dtype)
    for name, weight in model.named_parameters():
        if norm == "LN" or not name.endswith(("gain", "bias")):  # else they stay ones and zeros
            turned = (
                weight.mT if "W_" in name and name != "W_P" else weight.squeeze(1 - weight.ndim)
            )
            take = given.bias if "b_" in name else given.take
            turned.copy_(take(_theirs(name), *turned.shape).view(turned.shape))
    given.require_all_taken()
    for weight in (each for layer in model.layers for each in (layer.W_Q, layer.b_Q)):
        weight.mul_(attention_scale(found, d_head))
    return model.requires_grad_(False).eval()


def _theirs(name: str) -> str:
    """What TransformerLens calls a parameter of `NormedTransformer`."""
    layer, _, last = name.removeprefix("layers.").rpartition(".")
    if norm := {"gain": "w", "bias": "b"}.get(last):
        return f"blocks.{layer}.ln1.{norm}" if layer else f"ln_final.{norm}"
    outside = {"W_E": "embed.W_E", "W_P": "pos_embed.W_pos"}
    return f"blocks.{layer}.attn.{last}" if layer else outside.get(last, f"unembed.{last}")
