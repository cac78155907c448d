"""Checkpoints of others as models of the book: the same logits, and the same patterns, up to rounding.

A model that can be written in the paper's form becomes a `Transformer`, any other attention-only and
causal one a `GeneralTransformer`. `names` says what others call things; `transformer_lens` goes the
other way.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from transformer_circuits.interop import names
from transformer_circuits.interop.their_weights import (
    Weights,
    attention_scale,
    require_sizes,
    settings,
)
from transformer_circuits.model import general
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.general import GeneralTransformer
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer

UNREAD = 1e-6
"""How much of the positions a matrix may read, over what it could read of the smaller of two vectors,
a position's and a token's, and still count as not reading positions."""


class _Parts:
    """A checkpoint on its way: all by the names of our parameters, [what it writes, what it reads]."""

    def __init__(self, given: Weights, cfg: Mapping[str, Any], theirs: bool):
        self.given, self.cfg, self.theirs = given, cfg, theirs
        self.readers: dict[str, tuple[Tensor, Tensor]] = {}
        """Each with what is added to it: its bias, and what biases before have put into the stream."""
        self.writers: dict[str, Tensor] = {}
        self.offsets: dict[str, Tensor] = {}
        """What is added to the stream before each norm, at every position alike."""
        self.norm = cfg["normalization_type"]
        W_E = given.take("embed.W_E", None, None)
        self.n_vocab, self.d = W_E.shape
        self.constant = torch.zeros(self.d, dtype=given.dtype)
        self.write("W_E", W_E.T)
        self.n_heads = self.d_head = self.d_qk = 1
        self.d_mlp = 0
        for layer in range(given.n_layers):
            self.attention(layer)
            if not cfg["attn_only"]:
                self.mlp(layer)
        U = given.take("unembed.W_U", self.d, None).T
        if len(U) != self.n_vocab and cfg.get("d_vocab_out") != len(U):
            raise ValueError(
                f"unembed.W_U has {len(U)} outputs and embed.W_E {self.n_vocab} tokens: if it has a "
                "vocabulary of its own, the config must say so, d_vocab_out"
            )
        bias = given.bias("unembed.b_U", len(U))
        self.read("norm", "ln_final", {"W_U": (U, bias)})

    def write(self, name: str, W: Tensor) -> None:
        """Of what is written nothing but its difference from its mean is read through layer norm."""
        self.writers[name] = W - W.mean(dim=0) if self.norm in ("LN", "LNPre") else W

    def add(self, constant: Tensor) -> None:
        """A bias that is written into the stream at every position."""
        more = constant - constant.mean() if self.norm in ("LN", "LNPre") else constant
        self.constant = self.constant + more

    def read(self, at: str, ln: str, matrices: Mapping[str, tuple[Tensor, Tensor]]) -> None:
        """What reads the stream through one norm, whose gain and bias are folded in."""
        gain, bias = torch.ones_like(self.constant), torch.zeros_like(self.constant)
        if self.norm in ("LN", "RMS"):
            gain, bias = self.given.take(ln + ".w", self.d), self.given.bias(ln + ".b", self.d)
        for name, (W, b) in matrices.items():
            b, W = b + W @ bias, W * gain
            if self.norm is None:
                b = b + W @ self.constant
            elif self.norm in ("LN", "LNPre"):
                W = W - W.mean(dim=1, keepdim=True)
            self.readers[name] = W, b
        self.offsets[at] = self.constant

    def attention(self, layer: int) -> None:
        given, d, at = self.given, self.d, f"blocks.{layer}.attn."
        shapes = {x: given.shape(f"{at}W_{x}") for x in "QKV"}
        self.n_heads, _, d_qk = shapes["Q"]
        self.d_qk = d_qk
        grouped, _, d_v = shapes["V"]
        if self.n_heads % grouped:
            raise ValueError(f"{self.n_heads} heads cannot share {grouped} keys and values")
        d_head = self.d_head = max(d_qk, d_v)
        turned = self.cfg["positional_embedding_type"] == "rotary"
        if turned and d_qk != d_head:
            raise ValueError(f"values are {d_v} wide but rotary queries and keys {d_qk}")
        order = names.rotary(self.cfg, 1, d_head)[1] if turned else torch.arange(d_head)
        matrices = {}
        for x, (n, width) in {
            "Q": (self.n_heads, d_qk), "K": (grouped, d_qk), "V": (grouped, d_v)
        }.items():  # fmt: skip
            W = given.take(f"{at}W_{x}", n, d, width).mT  # [head, d_head, d_model]
            b = given.bias(f"{at}b_{x}", n, width).view(n, width, 1)
            both = F.pad(torch.cat([W, b], dim=2), (0, 0, 0, d_head - width))
            both = both.repeat_interleave(self.n_heads // n, dim=0)
            if x != "V":
                both = both[:, order]
            if x == "Q":
                both = both * attention_scale(self.cfg, d_qk) * math.sqrt(d_head / d_qk)
            both = both.flatten(0, 1)
            matrices[f"layers.{layer}.W_{x}_concat"] = both[:, :d], both[:, d]
        self.read(f"layers.{layer}.norm", f"blocks.{layer}.ln1", matrices)
        W_O = given.take(at + "W_O", self.n_heads, d_v, d)
        W_O = F.pad(W_O, (0, 0, 0, d_head - d_v)).flatten(0, 1).T
        self.write(f"layers.{layer}.W_O_concat", W_O)
        self.add(given.bias(at + "b_O", d))
        if not turned:  # softmax does not see what all keys have in common
            name = f"layers.{layer}.W_K_concat"
            self.readers[name] = self.readers[name][0], torch.zeros_like(self.readers[name][1])

    def mlp(self, layer: int) -> None:
        given, d, at = self.given, self.d, f"blocks.{layer}.mlp."
        ours, matrices = f"mlps.{layer}.", {}
        gated = {"in": "I", "gate": "G"} if at + "W_gate" in given.left else {"in": "I"}
        for name, letter in gated.items():
            W = given.take(f"{at}W_{name}", d, self.d_mlp or None).T
            self.d_mlp = len(W)
            matrices[f"{ours}W_{letter}"] = W, given.bias(f"{at}b_{name}", self.d_mlp)
        W_O = given.take(at + "W_out", self.d_mlp, d).T
        if len(gated) > 1 and self.theirs:  # TransformerLens adds it behind the gate
            W, b = matrices[ours + "W_I"]
            matrices[ours + "W_I"], behind = (W, torch.zeros_like(b)), W_O @ b
        else:
            behind = torch.zeros_like(self.constant)
        self.read(ours + "norm", f"blocks.{layer}.ln2", matrices)
        self.write(ours + "W_O", W_O)
        self.add(behind)
        self.add(given.bias(at + "b_out", d))


def transformer(weights: Mapping[str, Tensor], config: Mapping[str, Any]) -> Transformer:
    """The model of a checkpoint: a `Transformer`, of `GeneralTransformer` only what needs to be.

    Positions may be learned or not; `position_base` says nothing here.

    - Positions in the stream stay there, unless nothing but queries and keys reads them, as in the
      models that `to_transformer_lens` makes for TransformerLens 4.
    - Biases of keys change no pattern, for all sources have them alike (rotary keys keep theirs). For
      the others the stream gets a dimension that is always one, those that read it have a column
      there, and nothing writes there. What those of outputs add is read by all that comes after.
      d_model is even.
    - Gains and biases of a norm are folded into what reads through it. Layer norm subtracts a mean;
      here nothing that is written has one.
    - Keys and values of a group of heads stand here once for each head.
    - MLPs that write nothing are left out.
    """
    theirs = names.is_theirs(weights)
    cfg = settings(config, theirs=theirs)
    given = Weights(names.weights(weights, cfg))
    _without_idle_mlps(given, cfg)
    norm, positions = cfg["normalization_type"], cfg["positional_embedding_type"]
    if norm is not None and positions == "shortformer":
        raise ValueError(
            "positions are 'shortformer', which are added behind the norm there is, 'LN' or 'RMS'"
        )
    parts = _Parts(given, cfg, theirs)
    W_P = None
    if positions in ("shortformer", "standard"):
        W_P = given.take("pos_embed.W_pos", None, parts.d)
    given.require_all_taken()
    n_ctx = cfg.get("n_ctx") if W_P is None else len(W_P)
    if n_ctx is None:
        raise ValueError(f"positions are {positions!r}, so no weight says how many: give n_ctx")
    return _built(parts, W_P, int(n_ctx), config)


def _without_idle_mlps(given: Weights, cfg: dict[str, Any]) -> None:
    """Take away MLPs that write nothing; refuse others that no model here can have."""
    of_mlps = [name for name in given.left if ".mlp." in name]
    if not of_mlps and "act_fn" not in cfg:
        cfg["attn_only"] = True
    if cfg["attn_only"]:
        return
    out = [W for name, W in given.left.items() if name.endswith(("mlp.W_out", "mlp.b_out"))]
    if out and not any(bool(W.any()) for W in out):
        for name in list(given.left):
            if ".mlp." in name or ".ln2." in name:
                del given.left[name]
        cfg["attn_only"] = True
        return
    act = cfg["act_fn"] = general.ALSO.get(cfg["act_fn"], cfg["act_fn"])
    if act not in general.ACTIVATIONS:
        raise ValueError(
            f"act_fn is {act!r} but MLPs here have one of {[*general.ACTIVATIONS]}, and attn_only is False"
        )
    if cfg.get("parallel_attn_mlp", False):
        raise ValueError("MLPs here read what attention wrote, but parallel_attn_mlp is True")


def _built(parts: _Parts, W_P: Tensor | None, n_ctx: int, config: Mapping[str, Any]) -> Transformer:
    cfg, d, norm = parts.cfg, parts.d, parts.norm
    U = parts.readers["W_U"][0]
    sizes = {"n_layers": parts.given.n_layers, "n_heads": parts.n_heads, "n_vocab": parts.n_vocab}
    require_sizes(
        config, {**sizes, "d_model": d, "d_head": parts.d_qk, "n_ctx": n_ctx, "d_vocab_out": len(U)}
    )
    turned = cfg["positional_embedding_type"] == "rotary"
    added = cfg["positional_embedding_type"] == "standard"
    read = added and W_P is not None and _reads(parts, W_P)
    if W_P is not None and not read:
        W_P = _of_half(parts, W_P)
        d = parts.d
    gated, act = any(name.endswith("W_G") for name in parts.readers), cfg["act_fn"]
    biased = any(bool(b.any()) for _, b in parts.readers.values())
    biased |= norm is not None and any(bool(c.any()) for c in parts.offsets.values())
    d_model = d + biased + (d + biased) % 2  # sinusoids come in pairs
    shape = ModelConfig(
        **sizes, d_model=d_model, d_head=parts.d_head, n_ctx=n_ctx, position_base=float(n_ctx),
        d_mlp=parts.d_mlp,
    )  # fmt: skip
    if (
        norm
        or turned
        or read
        or biased
        or gated
        or len(U) != parts.n_vocab
        or (parts.d_mlp and act != "gelu")
    ):
        model: Transformer = GeneralTransformer(
            shape, width=d, n_out=len(U), eps=float(cfg["eps"]) if norm else None,
            angles=names.rotary(cfg, n_ctx, parts.d_head)[0] if turned else None,
            act=act or "gelu", gated=gated,
        )  # fmt: skip
    else:
        model = Transformer(shape, generator=torch.Generator())
    model = model.to(parts.given.dtype).requires_grad_(False).eval()
    for name, W in parts.writers.items():
        model.get_parameter(name).zero_()[:d] = W
    for name, (W, b) in parts.readers.items():
        target = model.get_parameter(name).zero_()
        target[:, :d] = W
        if biased:
            target[:, d] = b
    if biased:
        model.W_E[d] = 1
    model.W_P.zero_()
    if W_P is not None:
        centred = W_P - W_P.mean(dim=1, keepdim=True) if norm in ("LN", "LNPre") else W_P
        (model.W_S if read and isinstance(model, GeneralTransformer) else model.W_P)[:, :d] = (
            centred
        )
    if norm:
        for name, offset in parts.offsets.items():
            model.get_buffer(name + ".offset").copy_(offset)
    return model


def _of_half(parts: _Parts, W_P: Tensor) -> Tensor:
    """Positions, and parts, without the second half of the stream, if `transformer_lens` put it there.

    Nothing but positions is in it then, which are nowhere else, and what reads it reads both alike.
    """
    half = parts.d // 2
    doubled = not parts.d % 2 and not W_P[:, :half].any()
    doubled &= not any(bool(W[half:].any()) for W in (*parts.writers.values(), parts.constant))
    for name, (W, _) in parts.readers.items():
        alike = W[:, :half] if "W_Q" in name or "W_K" in name else torch.zeros_like(W[:, :half])
        doubled = doubled and torch.equal(W[:, half:], alike)
    if not doubled:
        return W_P
    parts.d = half
    parts.writers = {name: W[:half] for name, W in parts.writers.items()}
    parts.readers = {name: (W[:, :half], b) for name, (W, b) in parts.readers.items()}
    return W_P[:, half:]


def _reads(parts: _Parts, W_P: Tensor) -> bool:
    """Whether anything but queries and keys reads the positions, or a norm counts them."""
    if parts.norm is not None:
        return True
    W_E = parts.writers["W_E"].T
    size = min(float(W.norm()) / len(W) ** 0.5 for W in (W_P, W_E))  # of a vector, on average
    return any(
        float(LowRank(W_P, W.T).norm()) / len(W_P) ** 0.5 > UNREAD * size * float(W.norm())
        for name, (W, _) in parts.readers.items()
        if "W_Q" not in name and "W_K" not in name
    )
