"""Checkpoints of others as models of the book: the same logits, and the same patterns, up to rounding.

A model that can be written in the paper's form becomes a `Transformer`, any other attention-only and
causal one a `GeneralTransformer`. `reading` says what the tensors are.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from transformer_circuits.interop import reading, their_settings
from transformer_circuits.interop.reading import FoundWeights, Unclear
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.general import GeneralTransformer
from transformer_circuits.model.transformer import Transformer

GRANTED = (
    "heads look back alone; scores are divided by √d_head, if no setting says otherwise; tokens enter as they "
    "are stored, and the first place has the first row of a table; norms stand before what reads, their gains "
    "multiply, and torch.nn's LayerNorm adds 1e-5; heads lie side by side, and those that share keys are "
    "neighbours; a square .weight is [out, in]. Logits of the author's own code, check=, confirm it"
)
"""Conventions that are assumed, as no weight shows them; for the report."""
LONG = 1024
"""Tokens of a context that neither a weight nor a setting limits."""


def _ask(said: str, name: str, *values: Any) -> Unclear:
    return Unclear(f"{said}: say {name} in the config, one of {list(values)}")


def _norm(found: FoundWeights, cfg: Mapping[str, Any]) -> tuple[str | None, str]:
    """The norm, and "layers" or "last" where heads alone or W_U alone read through it."""
    gains = {at: at in found.weights for at in ("blocks.0.ln1.w", "ln_final.w")}
    named = [name for name, part in found.parts.items() if part.endswith(("ln1.w", "ln_final.w"))]
    ways: list[str | None] = ["RMS", "LN"] if named else [None, "LNPre", "RMSPre"]
    if "normalization_type" in cfg:
        norm = cfg["normalization_type"]
    elif any(name.endswith(("ln1.b", "ln_final.b")) for name in found.weights):
        norm = "LN"
    elif any("rms" in name.lower() for name in named):
        norm = "RMS"
    else:
        said = "norms have gains without biases, so they could be of either kind"
        said = said if named else "no weight tells whether there is a norm without gains"
        raise _ask(said, "normalization_type", *ways)
    if norm not in ways and (found.n_layers or norm):
        has = "gains" if named else "no gains"
        raise ValueError(f"normalization_type is {norm!r} but the weights have {has} of norms")
    torchs = norm == "LN" and all(name.endswith(".weight") for name in named)
    if norm and "eps" not in cfg and not torchs:
        raise _ask("no weight tells what is added before the root", "eps", 1e-5, 1e-6, 1e-8)
    if not named or all(gains.values()) or not found.n_layers:
        return norm, ""
    if not gains["ln_final.w"] and cfg.get("norm_first") is not True:
        said = (
            "layers have norms and the end has none, so they could stand behind attention as well"
        )
        raise _ask(said, "norm_first", True)
    return norm, "last" if gains["ln_final.w"] else "layers"


def _positions(found: FoundWeights, cfg: Mapping[str, Any], norm: str | None) -> str:
    table = "pos_embed.W_pos" in found.weights
    ways = ("standard", "shortformer") if table else ("none", "rotary")
    said = cfg.get("positional_embedding_type", "standard" if table and norm else None)
    if said is None:
        why = (
            "they are added to the stream, or to queries and keys alone"
            if table
            else "they are rotary"
        )
        raise _ask(
            f"no weight of positions tells whether {why}", "positional_embedding_type", *ways
        )
    if said not in ways or (found.rotary_tables and said != "rotary"):
        has = found.rotary_tables[:2] or f"{'a' if table else 'no'} table of positions"
        raise ValueError(f"positional_embedding_type is {said!r} but the weights have {has}")
    if norm is not None and said == "shortformer":
        what = "which are added behind the norm there is, 'LN' or 'RMS'"
        raise ValueError(f"positions are 'shortformer', {what}")
    return said


class _Parts:
    """A checkpoint on its way: all by the names of our parameters, [what it writes, what it reads]."""

    def __init__(
        self, found: FoundWeights, cfg: Mapping[str, Any], norm: str | None, only: str, turned: bool
    ):
        whole = found.weights["embed.W_E"].dtype
        self.dtype = whole if whole == torch.float64 else torch.float32
        self.given, self.cfg, self.only = found.weights, cfg, only
        self.taken: set[str] = set()
        self.norm, self.centred, self.turned = norm, norm in ("LN", "LNPre"), turned
        self.readers: dict[str, tuple[Tensor, Tensor]] = {}
        """Each with what is added to it: its bias, and what biases before have put into the stream."""
        self.writers: dict[str, Tensor] = {}
        self.offsets: dict[str, Tensor] = {}
        """What is added to the stream before each norm, at every position alike."""
        W_E, W_U = self.take("embed.W_E"), self.take("unembed.W_U")
        self.n_vocab, self.d = W_E.shape
        if len(W_U) != self.n_vocab and cfg.get("d_vocab_out") != len(W_U):
            raise ValueError(
                f"W_U has {len(W_U)} outputs and W_E {self.n_vocab} tokens: if it has a vocabulary of its "
                "own, the config must say so, d_vocab_out"
            )
        self.constant = torch.zeros(self.d, dtype=self.dtype)
        self.n_heads = self.n_kv = self.d_head = 1
        self.write("W_E", W_E.T)
        for layer in range(found.n_layers):
            self.attention(layer)
        bias = self.take("unembed.b_U", len(W_U))
        self.read("norm", "ln_final", {"W_U": (W_U, bias)}, only != "layers")
        self.W_P = self.take("pos_embed.W_pos") if "pos_embed.W_pos" in self.given else None
        if unread := [name for name in self.given if name not in self.taken]:
            raise ValueError(f"nothing reads {unread}, as which tensors were read: {found.parts}")

    def take(self, name: str, *zeros: int) -> Tensor:
        """A weight; one that is not there is zero."""
        self.taken.add(name)
        if name not in self.given:
            return torch.zeros(zeros, dtype=self.dtype)
        W = self.given[name].to(self.dtype)
        if zeros and W.shape != zeros:
            raise ValueError(f"{name} is {tuple(W.shape)} but must be {zeros}")
        return W

    def centre(self, W: Tensor) -> Tensor:
        """Of what is written nothing but its difference from its mean is read through layer norm."""
        return W - W.mean(dim=0) if self.centred and not self.only else W

    def write(self, name: str, W: Tensor) -> None:
        self.writers[name] = self.centre(W)

    def read(
        self, at: str, ln: str, matrices: Mapping[str, tuple[Tensor, Tensor]], normed: bool
    ) -> None:
        """What reads the stream, through a norm whose gain and bias are folded in, or as it is."""
        gain, bias = torch.ones_like(self.constant), torch.zeros_like(self.constant)
        if normed and self.norm in ("LN", "RMS"):
            gain, bias = self.take(ln + ".w", self.d), self.take(ln + ".b", self.d)
        for name, (W, b) in matrices.items():
            b, W = b + W @ bias, W * gain
            if self.norm is None or not normed:
                b = b + W @ self.constant
            elif self.centred:
                W = W - W.mean(dim=1, keepdim=True)
            self.readers[name] = W, b
        self.offsets[at] = self.constant

    def attention(self, layer: int) -> None:
        at, d = f"blocks.{layer}.attn.", self.d
        W = {x: self.take(f"{at}W_{x}") for x in "QKVO"}  # [head, d_head, d_model]
        self.n_heads, d_head, _ = W["Q"].shape
        self.n_kv, self.d_head = len(W["V"]), d_head
        if self.n_heads % self.n_kv:
            raise ValueError(f"{self.n_heads} heads cannot share {self.n_kv} keys and values")
        order = torch.arange(d_head)
        if self.turned:
            order = their_settings.rotary(self.cfg, 1, d_head)[1]
        matrices = {}
        for x in "QKV":
            b = self.take(f"{at}b_{x}", len(W[x]), d_head)
            both = torch.cat([W[x], b[..., None]], dim=2)
            both = both.repeat_interleave(self.n_heads // len(both), dim=0)
            if x != "V":
                both = both[:, order]
            if x == "Q":
                both = both * their_settings.attention_scale(self.cfg, d_head)
            both = both.flatten(0, 1)
            matrices[f"layers.{layer}.W_{x}_concat"] = both[:, :d], both[:, d]
        self.read(f"layers.{layer}.norm", f"blocks.{layer}.ln1", matrices, self.only != "last")
        self.write(f"layers.{layer}.W_O_concat", W["O"].flatten(0, 1).T)
        self.constant = self.constant + self.centre(self.take(at + "b_O", d))
        if not self.turned:  # softmax does not see what all keys have in common
            name = f"layers.{layer}.W_K_concat"
            self.readers[name] = self.readers[name][0], torch.zeros_like(self.readers[name][1])


def transformer(
    weights: Mapping[str, Tensor], config: Mapping[str, Any], report: dict[str, Any] | None = None
) -> Transformer:
    """Model of a checkpoint: a `Transformer`, of `GeneralTransformer` only what needs to be.

    Positions may be learned or not; `position_base` says nothing here.

    - Biases of keys change no pattern, for all sources have them alike (rotary keys keep theirs). For
      the others the stream gets a dimension that is always one, those that read it have a column
      there, and nothing writes there. What those of outputs add is read by all that comes after.
      d_model is even.
    - Gains and biases of a norm are folded into what reads through it. Layer norm subtracts a mean;
      here nothing that is written has one.
    - Keys and values of a group of heads stand here once for each head.

    `report`: gets what tensors were read as, and which settings were used and which not.
    """
    cfg, unused = their_settings.settings(config)
    found = reading.read(weights, cfg, config.get("names") or {})
    norm, only = _norm(found, cfg)
    positions = _positions(found, cfg, norm)
    parts = _Parts(found, cfg, norm, only, positions == "rotary")
    model = _built(parts, found.n_layers, positions)
    if report is not None:
        report |= {"tensors": found.parts, "settings used": cfg, "settings not used": unused, "taken for granted": GRANTED,
                 "norm": norm, "positions": positions}  # fmt: skip
    return model


def _built(parts: _Parts, n_layers: int, positions: str) -> Transformer:
    cfg, d, norm, only, W_P = parts.cfg, parts.d, parts.norm, parts.only, parts.W_P
    n_ctx = int(cfg.get("n_ctx", LONG) if W_P is None else len(W_P))
    U = parts.readers["W_U"][0]
    sizes = {"n_layers": n_layers, "n_heads": parts.n_heads, "n_vocab": parts.n_vocab}
    their_settings.require_sizes(
        cfg,
        {**sizes, "n_key_value_heads": parts.n_kv, "d_model": d, "d_head": parts.d_head, "d_mlp": 0,
         "n_ctx": n_ctx, "d_vocab": parts.n_vocab, "d_vocab_out": len(U)},
    )  # fmt: skip
    turned = positions == "rotary"
    read = positions == "standard"
    biased = any(bool(b.any()) for _, b in parts.readers.values())
    biased |= norm is not None and any(bool(c.any()) for c in parts.offsets.values())
    d_model = d + biased + (d + biased) % 2  # sinusoids come in pairs
    shape = ModelConfig(
        **sizes, d_model=d_model, d_head=parts.d_head, n_ctx=n_ctx, position_base=float(n_ctx)
    )
    if norm or turned or read or biased or len(U) != parts.n_vocab:
        model: Transformer = GeneralTransformer(
            shape, width=d, n_out=len(U), eps=float(cfg.get("eps", 1e-5)) if norm else None, only=only,
            centred=bool(only) and parts.centred, angles=their_settings.rotary(cfg, n_ctx, parts.d_head)[0] if turned else None,
        )  # fmt: skip
    else:
        model = Transformer(shape, generator=torch.Generator())
    model = model.to(parts.dtype).requires_grad_(False).eval()
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
        target = model.W_S if isinstance(model, GeneralTransformer) and read else model.W_P
        target[:, :d] = parts.centre(W_P.T).T
    if norm:
        for name, offset in parts.offsets.items():
            model.get_buffer(name + ".offset").copy_(offset)
    return model
