"""The attention-only transformer of the paper, which all models of the book are.

Every weight is stored as the paper writes it, [what it writes, what it reads], so that the
formula and the line of code are the same string: `W_U @ W_O @ W_V @ W_E`.

The live page runs this forward pass in the browser: `website/live/model.js` is the same model in
JavaScript. Whoever changes one changes the other; `tests/website/test_live_model.py` compares their
logits.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import torch
import torch.nn.functional as F  # noqa: N812
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.model.attention import Attention, Pattern
from transformer_circuits.model.config import ModelConfig


def sinusoids(n_ctx: int, d_model: int, base: float) -> Float[Tensor, "n_ctx d_model"]:
    """Position vectors whose every dimension has root mean square about 1.

    Pair i of dimensions is (sin ω_i t, cos ω_i t) times √2, with ω_i = π · base^(-2i/d_model)
    radians per token. They start at π, the highest frequency that integers can carry. Starting
    at 1 as usual leaves neighbouring positions so alike that no head learns to tell them apart.
    """
    exponent = -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # [pair]
    frequency = math.pi * base**exponent  # [pair], radians per token
    angle = torch.arange(n_ctx, dtype=torch.float64)[:, None] * frequency  # [pos, pair]
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # [pos, pair, two]
    return math.sqrt(2) * rearrange(pairs, "pos pair two -> pos (pair two)")


Member = TypeVar("Member", bound=nn.Module)


class Stack(nn.ModuleList, Generic[Member]):
    """A `ModuleList` that tells a static checker what is in it; at run time the same."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, idx: int) -> Member: ...

        @overload
        def __getitem__(self, idx: slice) -> "Stack[Member]": ...

        def __iter__(self) -> Iterator[Member]: ...


class MLP(nn.Module):
    """W_O^m gelu(W_I^m x): what an MLP layer adds to each position's residual stream.

    Only `two-layer-mlp` has such layers (paper: appendix "MLP Layers").
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.W_I = nn.Parameter(torch.empty(config.d_mlp, config.d_model))
        self.W_O = nn.Parameter(torch.empty(config.d_model, config.d_mlp))

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        return F.linear(F.gelu(F.linear(x, self.W_I)), self.W_O)


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
    model: "Transformer" = field(repr=False)
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


class Transformer(nn.Module):
    """Token embedding, attention layers, unembedding; no layer norm or biases.

    No MLPs either, unless the config has `d_mlp`: then one follows each attention layer.

    Positions are added only to what W_Q and W_K read (paper: "Model Details"), so the residual
    stream carries none and every decomposition in this book is exact.

    >>> shape = ModelConfig(
    ...     n_layers=2, n_heads=3, d_model=8, d_head=4, n_vocab=11, n_ctx=9, position_base=100.0
    ... )
    >>> model = Transformer(shape)
    >>> model.randomise(generator=torch.Generator().manual_seed(0))
    >>> tokens = torch.tensor([[0, 5, 2, 5]])
    >>> model(tokens).shape  # batch, pos, n_vocab
    torch.Size([1, 4, 11])
    >>> trace = model.trace(tokens)
    >>> trace.patterns[1].shape  # in the second layer: batch, head, dst, src
    torch.Size([1, 3, 4, 4])
    >>> torch.allclose(model(tokens, trace.patterns), trace.logits, atol=1e-5)
    True
    """

    W_P: Float[Tensor, "n_ctx d_model"]
    """Position vectors: sinusoids, not learned. The paper has no name for them; TransformerLens
    calls its own W_pos."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None = None):
        super().__init__()
        self.config = config
        self.W_E = nn.Parameter(torch.empty(config.d_model, config.n_vocab))
        self.W_U = nn.Parameter(torch.empty(config.n_vocab, config.d_model))
        self.layers: Stack[Attention] = Stack(Attention(config) for _ in range(config.n_layers))
        n_mlps = config.n_layers if config.d_mlp else 0
        self.mlps: Stack[MLP] = Stack(MLP(config) for _ in range(n_mlps))
        W_P = sinusoids(config.n_ctx, config.d_model, config.position_base)
        self.register_buffer("W_P", W_P.to(self.W_E.dtype), persistent=False)
        self.initialise(generator=generator)

    @torch.no_grad()
    def initialise(self, *, generator: torch.Generator | None = None) -> None:
        """Weights to begin a training with. W_O and W_U are 0: all tokens get the same logit.

        W_E is standard normal; W_Q, W_K and W_V have standard deviation 1/√d_model.
        """
        self.W_E.normal_(generator=generator)
        self.W_U.zero_()
        for layer in self.layers:
            for weight in (layer.W_Q_concat, layer.W_K_concat, layer.W_V_concat):
                weight.normal_(std=self.config.d_model**-0.5, generator=generator)
            layer.W_O_concat.zero_()
        for mlp in self.mlps:
            mlp.W_I.normal_(std=self.config.d_model**-0.5, generator=generator)
            mlp.W_O.zero_()

    @torch.no_grad()
    def randomise(self, *, generator: torch.Generator | None = None) -> None:
        """Random weights everywhere: a model that learned nothing, as a null for the analyses.

        Normal, with standard deviation 1/√(dimensions read); W_E is standard normal.
        """
        for weight in self.parameters():
            weight.normal_(std=weight.shape[1] ** -0.5, generator=generator)
        self.W_E.normal_(generator=generator)

    def embed(
        self, tokens: Int[Tensor, "batch pos"]
    ) -> tuple[Float[Tensor, "batch pos d_model"], Float[Tensor, "pos d_model"]]:
        """The first residual stream, and the position vectors that queries and keys add to it.

        `tokens` may be on any device: they are taken to the weights.
        """
        n_pos = tokens.shape[1]
        if n_pos > self.config.n_ctx:
            raise ValueError(f"tokens has length {n_pos} but n_ctx is {self.config.n_ctx}")
        return F.embedding(tokens.to(self.W_E.device), self.W_E.T), self.W_P[:n_pos]

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        patterns: Sequence[Pattern] | None = None,
        positions: Float[Tensor, " layer"] | None = None,
    ) -> Float[Tensor, "batch pos n_vocab"]:
        """Logits. With `patterns` (one per layer) attention is not computed but taken from there.

        `positions`: how strongly each layer's queries and keys see W_P, 1 for as they do; with 0
        the layer cannot tell places apart.
        """
        for name, given in (("patterns", patterns), ("positions", positions)):
            if given is not None and len(given) != len(self.layers):
                raise ValueError(
                    f"{len(given)} {name} given but the model has {len(self.layers)} layers"
                )
        return self.unembed(self.stream(tokens, patterns=patterns, positions=positions))

    def unembed(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch n_vocab"]:
        """Logits of a residual stream after the last layer."""
        return F.linear(x, self.W_U)

    def stream(
        self,
        tokens: Int[Tensor, "batch pos"],
        n_layers: int | None = None,
        patterns: Sequence[Pattern] | None = None,
        positions: Float[Tensor, " layer"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream after the first layers, or after all: what W_U makes logits of.

        `patterns` and `positions` as for `forward`.
        """
        x, W_P = self.embed(tokens)
        for index, layer in enumerate(self.layers[:n_layers]):
            seen = W_P if positions is None else positions[index] * W_P
            x = x + layer(x, seen, None if patterns is None else patterns[index])
            if self.mlps:
                x = x + self.mlps[index](x)
        return x

    @torch.no_grad()
    def trace(self, tokens: Int[Tensor, "batch pos"]) -> Trace:
        """The same pass with every intermediate value kept; logits are made when asked for."""
        x, W_P = self.embed(tokens)
        patterns, outputs, of_mlps, residual = [], [], [], [x]
        for index, layer in enumerate(self.layers):
            patterns.append(layer.pattern(x, x, W_P))
            outputs.append(layer.head_outputs(x, patterns[-1]))
            x = x + outputs[-1].sum(dim=1)
            if self.mlps:
                of_mlps.append(self.mlps[index](x))
                x = x + of_mlps[-1]
            residual.append(x)
        weights = self, self.W_U, self.W_U._version
        return Trace(tuple(patterns), tuple(outputs), tuple(residual), tuple(of_mlps), *weights)

    def require_attention_only(self, *takes: str) -> None:
        """Raise a ValueError if there are MLPs, or what `require` refuses."""
        if self.mlps:
            raise ValueError(f"this is exact without MLPs only, but d_mlp is {self.config.d_mlp}")
        self.require(*takes)

    @property
    def forms(self) -> frozenset[str]:
        """What it has that a model of the paper has not, see `general.FORMS`: nothing."""
        return frozenset()

    def require(self, *takes: str) -> None:
        """Refuse what an analysis does not take into account; a model of the paper has none of it.

        `takes`: which of `general.FORMS` the analysis does take into account.
        """
