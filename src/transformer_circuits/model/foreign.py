"""Checkpoints with TransformerLens's names as models of the book, where these can be exactly that.

The model of the paper gives positions to queries and keys alone and has no layer norm, no biases and
no MLPs. `transformer` says of any other setting whether it can be written so all the same, and
refuses it if not. `transformer_lens` goes the other way.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer

DEFAULTS: dict[str, Any] = {
    "normalization_type": "LN", "positional_embedding_type": "standard", "attn_only": False,
    "act_fn": None, "use_attn_scale": True, "attn_scale": -1.0, "eps": 1e-5,
}  # fmt: skip
"""What TransformerLens takes for a setting that a config leaves out, of those that matter here."""
PLAIN: dict[str, tuple] = {
    "attention_dir": ("causal",), "use_local_attn": (False,), "parallel_attn_mlp": (False,),
    "scale_attn_by_inverse_layer_idx": (False,), "gated_mlp": (False,), "num_experts": (None,),
    "post_embedding_ln": (False,), "use_normalization_before_and_after": (False,),
    "attn_scores_soft_cap": (-1.0, None), "output_logits_soft_cap": (-1.0, None),
}  # fmt: skip
"""Settings that no model here can have, each with the values that switch it off."""
UNREAD = 1e-6
"""‖W W_pos‖ over the product of both norms, up to which a matrix counts as not reading positions."""


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config with what TransformerLens takes for what it leaves out, and under its present names.

    Raises:
        ValueError: if a setting makes a model of another kind than any here.
    """
    found = DEFAULTS | dict(config)
    if "normalization" in found:  # so the configs of Neel Nanda's models say it
        found["normalization_type"] = found["normalization"]
    if "shortformer_pos" in found:
        short = found["shortformer_pos"]
        found["positional_embedding_type"] = "shortformer" if short else "standard"
    for name, plain in PLAIN.items():
        if found.get(name, plain[0]) not in plain:
            raise ValueError(f"{name} is {found[name]!r} but all models here have {plain[0]!r}")
    return found


class Weights:
    """The weights of a checkpoint by TransformerLens's names; each must be taken, and only once.

    Half precision becomes float32, float64 stays.

    Raises:
        ValueError: if there are no embeddings.
    """

    def __init__(self, weights: Mapping[str, Tensor]):
        buffers = (".mask", ".IGNORE")  # no weights, but TransformerLens saves them, too
        self.left = {name: W for name, W in weights.items() if not name.endswith(buffers)}
        whole = self.found("embed.W_E").dtype
        self.dtype = whole if whole == torch.float64 else torch.float32
        self.n_layers = len({name.split(".")[1] for name in self.left if name[:7] == "blocks."})

    def take(self, name: str) -> Tensor:
        """One weight, transposed as TransformerLens has it.

        Raises:
            ValueError: if it is not there.
        """
        found = self.found(name).detach().to(self.dtype)
        del self.left[name]
        return found

    def bias(self, name: str, n: int) -> Tensor:
        """A bias, flat; `n` zeros if it is not there."""
        if name not in self.left:
            return torch.zeros(n, dtype=self.dtype)
        return self.take(name).flatten()

    def require_all_taken(self) -> None:
        """Raise a ValueError that names the weights that were not taken, if there are any."""
        if self.left:
            raise ValueError(
                f"the config has no use for the weights {sorted(self.left)[:6]}: it is not theirs"
            )

    def found(self, name: str) -> Tensor:
        """One weight as it is, which is not taken by this.

        Raises:
            ValueError: if it is not there.
        """
        if name not in self.left:
            there = sorted(self.left)[:6]
            raise ValueError(f"there is no {name} among the weights, whose first are {there}")
        return self.left[name]


def attention_scale(found: Mapping[str, Any], d_head: int) -> float:
    """What W_Q must be multiplied with, so that 1/√d_head does what the config's scale did."""
    scale = found["attn_scale"] if found["use_attn_scale"] else 1.0
    return math.sqrt(d_head) / scale if scale > 0 else 1.0


def _require_kind(found: Mapping[str, Any]) -> None:
    norm, positions = found["normalization_type"], found["positional_embedding_type"]
    if norm is not None:
        raise ValueError(
            f"normalization_type is {norm!r} but a Transformer of the book has no layer norm. Gains, "
            "biases and the mean could be folded into the weights that read the stream; the division "
            "by each position's deviation could not, since it is not linear. "
            "analysis.layer_norm.of_weights loads it with its layer norm, and `fold` folds what can be"
        )
    if positions not in ("shortformer", "standard"):
        raise ValueError(
            f"positional_embedding_type is {positions!r} but a Transformer of the book adds vectors "
            "to what queries and keys read: 'shortformer'"
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
    - Biases that are not zero add a constant to the stream, or to what is read from it. Then d_model
      is the next larger even number: the first of the new dimensions is always one, and every matrix
      that reads the stream has the constant as its column there. Nothing writes there.
    - MLPs must have gelu.

    Raises:
        ValueError: if there is layer norm, rotary positions, positions that values, MLPs or the
            unembedding read, or anything else that no model of the book has; or if weights are
            missing, left over, or do not fit each other.
    """
    found = settings(config)
    _require_kind(found)
    given = Weights(weights)
    W_P = given.take("pos_embed.W_pos")
    try:
        readers, writers, shape = _parts(given, found)
    except (RuntimeError, IndexError) as error:  # shapes that do not meet
        raise ValueError(f"the weights do not fit each other: {error}") from error
    given.require_all_taken()
    if found["positional_embedding_type"] == "standard":
        _require_unread(W_P, {name: W for name, (W, _) in readers.items()})
    require_sizes(config, shape | {"d_vocab": shape["n_vocab"], "n_ctx": len(W_P)})
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
        if target.shape != values.shape:
            wrong, right = tuple(values.shape), tuple(target.shape)
            raise ValueError(f"{name} is {wrong} but by the other weights it must be {right}")
        target.copy_(values)
    return model.requires_grad_(False).eval()


def require_sizes(config: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Compare the sizes that a config names with those of the weights.

    Raises:
        ValueError: if one of them differs.
    """
    for name in ("n_layers", "n_heads", "d_model", "d_head", "d_vocab", "n_ctx"):
        if config.get(name, sizes[name]) != sizes[name]:
            raise ValueError(
                f"the config has {name} {config[name]} but the weights have {sizes[name]}"
            )


def _parts(
    given: Weights, found: Mapping[str, Any]
) -> tuple[dict[str, tuple[Tensor, Tensor]], dict[str, Tensor], dict[str, Any]]:
    """What reads the stream, with what is added to it; what writes into it; and the shape.

    All by the names of our parameters, [what it writes, what it reads].
    """
    writers = {"W_E": given.take("embed.W_E").T}
    d_model, n_vocab = writers["W_E"].shape
    constant = torch.zeros(d_model, dtype=given.dtype)  # what biases have added to every position
    readers, n_heads, d_head, d_mlp = {}, 1, 1, 0
    for layer in range(given.n_layers):
        at = f"blocks.{layer}.attn."
        for name in ("W_Q", "W_K", "W_V"):
            W = given.take(at + name)  # [head, d_model, d_head]
            n_heads, _, d_head = W.shape
            W, b = W.mT.flatten(0, 1), given.bias(at + f"b_{name[-1]}", n_heads * d_head)
            factor = attention_scale(found, d_head) if name == "W_Q" else 1.0
            readers[f"layers.{layer}.{name}_concat"] = factor * W, factor * (b + W @ constant)
        writers[f"layers.{layer}.W_O_concat"] = given.take(at + "W_O").flatten(0, 1).T
        constant = constant + given.bias(at + "b_O", d_model)
        if not found["attn_only"]:
            at = f"blocks.{layer}.mlp."
            W = given.take(at + "W_in").T  # [d_mlp, d_model]
            d_mlp = len(W)
            readers[f"mlps.{layer}.W_I"] = W, given.bias(at + "b_in", d_mlp) + W @ constant
            writers[f"mlps.{layer}.W_O"] = given.take(at + "W_out").T
            constant = constant + given.bias(at + "b_out", d_model)
    W_U = given.take("unembed.W_U").T
    readers["W_U"] = W_U, given.bias("unembed.b_U", n_vocab) + W_U @ constant
    shape = {
        "n_layers": given.n_layers, "n_heads": n_heads, "d_model": d_model, "d_head": d_head,
        "n_vocab": n_vocab, "d_mlp": d_mlp,
    }  # fmt: skip
    return readers, writers, shape


def _require_unread(W_P: Tensor, readers: Mapping[str, Tensor]) -> None:
    for name, W in readers.items():
        if "W_Q" in name or "W_K" in name:
            continue
        read = float(LowRank(W_P, W.T).norm() / (W_P.norm() * W.norm()).clamp(min=1e-30))
        if read > UNREAD:
            raise ValueError(
                f"positions are added to the stream ('standard'), and {name} reads them: "
                f"‖W_pos W‖ is {read:.2g} of the product of both norms. In a Transformer of the book "
                "only queries and keys read positions ('shortformer')"
            )
