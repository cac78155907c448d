"""The weights and settings of a checkpoint under the names of `names`, those of TransformerLens 3."""

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_circuits.interop import names
from transformer_circuits.model import weights as tensors

DEFAULTS: dict[str, Any] = {
    "normalization_type": "LN", "positional_embedding_type": "standard", "attn_only": False,
    "act_fn": None, "use_attn_scale": True, "attn_scale": -1.0, "eps": 1e-5,
}  # fmt: skip
"""What TransformerLens takes for a setting that a config leaves out, of those that matter here."""
PLAIN: dict[str, tuple] = {
    "attention_dir": ("causal",), "use_local_attn": (False,), "sliding_window": (None,),
    "scale_attn_by_inverse_layer_idx": (False,), "use_qk_norm": (False,), "num_experts": (None,),
    "final_rms": (False,), "use_yarn_rope": (False,), "use_NTK_by_parts_rope": (False,),
    "use_attention_sinks": (False,), "use_logn_attn": (False,), "clip_qkv": (None,),
    "rmsnorm_uses_offset": (False,), "scale_embedding": (None, False),
    "post_embedding_ln": (False,), "use_normalization_before_and_after": (False,),
    "attn_scores_soft_cap": (-1.0, None), "output_logits_soft_cap": (-1.0, None),
}  # fmt: skip
"""Settings that no model here can have, each with the values that switch it off."""
NORMS = (None, "LN", "LNPre", "RMS", "RMSPre")
POSITIONS = ("shortformer", "standard", "rotary", "none")
SIZES = ("n_layers", "n_heads", "d_model", "d_head", "n_ctx", "d_vocab", "d_vocab_out")
SWITCHES = ("attn_only", "use_attn_scale", "shortformer_pos")


def settings(config: Mapping[str, Any], *, theirs: bool = True) -> dict[str, Any]:
    """A config with what TransformerLens takes for what it leaves out, and under its present names.

    `theirs`: whether the weights have its names; else the config must say what these do not tell.
    """
    named = names.settings(config)
    cfg = DEFAULTS | named
    if not theirs:
        cfg["attn_only"] = named.get("attn_only", False)
        needed = {"normalization_type", "positional_embedding_type"}
        if named.get("positional_embedding_type") == "rotary":
            needed.add("rotary_adjacent_pairs")
        unsaid = needed - {*named}
        if unsaid:
            raise ValueError(
                f"the names of the weights do not tell {sorted(unsaid)}: say them, "
                f"config={{'normalization_type': one of {NORMS}, 'positional_embedding_type': one of "
                f"{POSITIONS}, 'n_heads': …}}; a norm is one before every read from the stream"
            )
    _require(cfg, SWITCHES, lambda v: isinstance(v, bool), "true or false")

    def is_number(value: Any) -> bool:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return real and bool(math.isfinite(value))

    def is_scale(value: Any) -> bool:
        return value is None or (is_number(value) and bool(value > 0 or value == -1))

    def is_whole(value: Any) -> bool:
        return value is None or (is_number(value) and bool(value == int(value)))

    _require(cfg, ("attn_scale",), is_scale, "a number above 0; -1 stands for √d_head")
    _require(cfg, SIZES, is_whole, "a whole number")
    if "normalization" in cfg:  # so the configs of Neel Nanda's models say it
        cfg["normalization_type"] = cfg["normalization"]
    if "shortformer_pos" in cfg:
        short = cfg["shortformer_pos"]
        cfg["positional_embedding_type"] = "shortformer" if short else "standard"
    if cfg["positional_embedding_type"] is None:
        cfg["positional_embedding_type"] = "none"
    window, n_ctx = (cfg.get(name, -1) for name in ("sliding_window", "n_ctx"))
    if is_number(window) and is_number(n_ctx) and window >= n_ctx:
        cfg["sliding_window"] = None  # every place is within it
    for name, plain in PLAIN.items():
        if cfg.get(name, plain[0]) not in plain:
            raise ValueError(f"{name} is {cfg[name]!r} but all models here have {plain[0]!r}")
    for name, known in (("normalization_type", NORMS), ("positional_embedding_type", POSITIONS)):
        if cfg[name] not in known:
            raise ValueError(f"{name} is {cfg[name]!r} but must be one of {known}")
    return cfg


def _require(
    cfg: Mapping[str, Any], which: Sequence[str], holds: Callable[[Any], bool], must: str
) -> None:
    for name in which:
        if name in cfg and not holds(cfg[name]):
            raise ValueError(f"{name} is {cfg[name]!r} in the config but must be {must}")


class Weights:
    """The weights of a checkpoint by TransformerLens's names; each must be taken, and only once.

    Half precision becomes float32, float64 stays.
    """

    def __init__(self, weights: Mapping[str, Tensor]):
        self.left = {
            n.replace("attn._", "attn."): W  # so it calls grouped keys and values
            for n, W in weights.items() if not n.endswith(tensors.BUFFERS)
        }  # fmt: skip
        whole = self.peek("embed.W_E").dtype  # first of all: whose names are they?
        tensors.require_numbers(self.left)
        self.dtype = whole if whole == torch.float64 else torch.float32
        self.n_layers = len({name.split(".")[1] for name in self.left if name[:7] == "blocks."})

    def take(self, name: str, *sizes: int | None) -> Tensor:
        """One weight, transposed as TransformerLens has it.

        `sizes`: how large it must be along each axis; None where any size will do.
        """
        W = self.peek(name).detach().to(self.dtype)
        fits = len(sizes) == W.ndim and all(
            size in (None, own) for size, own in zip(sizes, W.shape, strict=True)
        )
        if not fits:
            must = ", ".join("any" if size is None else str(size) for size in sizes)
            raise ValueError(f"{name} is {tuple(W.shape)} but must be ({must})")
        del self.left[name]
        return W

    def shape(self, name: str) -> tuple[int, int, int]:
        """The shape of a weight of heads."""
        if (W := self.peek(name)).ndim != 3:
            raise ValueError(f"{name} is {tuple(W.shape)} but must be (head, d_model, d_head)")
        return W.shape[0], W.shape[1], W.shape[2]

    def bias(self, name: str, *sizes: int) -> Tensor:
        """A bias, flat; zeros if it is not there."""
        if name not in self.left:
            return torch.zeros(math.prod(sizes), dtype=self.dtype)
        return self.take(name, *sizes).flatten()

    def require_all_taken(self) -> None:
        """Raise a ValueError that names the weights that were not taken, if there are any."""
        if self.left:
            raise ValueError(
                f"the config has no use for the weights {sorted(self.left)[:6]}: it is not theirs"
            )

    def peek(self, name: str) -> Tensor:
        """One weight as it is, which is not taken by this."""
        if name not in self.left:
            there = sorted(self.left)[:6]
            raise ValueError(f"there is no {name} among the weights, whose first are {there}")
        return self.left[name]


def attention_scale(cfg: Mapping[str, Any], d_head: int) -> float:
    """What W_Q must be multiplied with, so that 1/√d_head does what the config's scale did."""
    scale = cfg["attn_scale"] if cfg["use_attn_scale"] else 1.0
    return 1.0 if scale in (None, -1) else math.sqrt(d_head) / scale


def require_sizes(config: Mapping[str, Any], sizes: Mapping[str, int | float]) -> None:
    """Compare the sizes that a config names with those of the weights, by our names."""
    known = {"d_vocab": sizes["n_vocab"], "d_vocab_out": sizes["n_vocab"]} | dict(sizes)
    of_heads = () if known["n_layers"] else ("n_heads", "d_head")  # no weight is of these then
    for name in (name for name in SIZES if name not in of_heads):
        size = known[name]
        if config.get(name) not in (None, -1, size):  # these say nothing
            raise ValueError(f"the config has {name} {config[name]} but the weights have {size}")
