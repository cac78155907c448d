"""The attention-only transformer of the paper; one model of the book has an MLP after each layer.
Every weight is stored as the paper writes it, [what it writes, what it reads], so that the formula
and the line of code are the same string: `W_U @ W_O @ W_V @ W_E`.

`website/live/model.js` is this forward pass for the browser: whoever changes one changes the other.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.model.base import MLP, Base, Stack
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.positions import sinusoids
from transformer_circuits.model.trace import Pattern

Stream = Float[Tensor, "batch pos d_model"]
Positions = Float[Tensor, "pos d_model"]
Vectors = Float[Tensor, "batch head pos d_head"]
Scores = Float[Tensor, "batch head dst src"]
"""Attention before the softmax: any number up to the present position, -inf beyond it."""


def causal_scores(
    q: Float[Tensor, "*asking dst d_head"],
    k: Float[Tensor, "*asked src d_head"],
    places: Int[Tensor, " dst"] | None = None,
) -> Float[Tensor, "*both dst src"]:
    """Attention scores q · k / √d_head (no W_QK contains the factor); -inf where the source comes
    after the destination. `places`: positions of the destinations, if not 0, 1, …."""
    scores = (q / math.sqrt(q.shape[-1])) @ k.mT  # dst src: no tensor is larger, so q is divided
    if places is None:
        places = torch.arange(q.shape[-2], device=scores.device)
    future = places[:, None] < torch.arange(k.shape[-2], device=scores.device)  # dst src
    # To add nothing or -inf takes a quarter of the time of a `masked_fill_`.
    return scores.add_(scores.new_zeros(future.shape).masked_fill_(future, -math.inf))


def causal_results(q: Vectors, k: Vectors, v: Vectors) -> Vectors:
    """Result vectors r = softmax(`causal_scores`) @ v, before W_O, up to rounding, by PyTorch's fused
    attention. Queries, keys and values have the same number of positions."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Attention(nn.Module):
    """The attention heads of one layer (paper: "Attention Heads are Independent and Additive").

    The parameters hold the heads side by side, as the paper's W_O^H does; `W_Q`, `W_K`, `W_V`, `W_O`
    are views of them: writing into a view, `layer.W_Q[3] = …`, changes the model.
    """

    attend = staticmethod(causal_results)
    """Function that makes results without keeping a pattern; a training may set a faster one."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.n_heads, self.d_head, d = config.n_heads, config.d_head, config.d_model
        width = self.n_heads * self.d_head
        # One matrix for all heads: one large product is faster than many small ones.
        self.W_Q_concat = nn.Parameter(torch.empty(width, d))
        self.W_K_concat = nn.Parameter(torch.empty(width, d))
        self.W_V_concat = nn.Parameter(torch.empty(width, d))
        self.W_O_concat = nn.Parameter(torch.empty(d, width))

    @property
    def W_Q(self) -> Float[Tensor, "head d_head d_model"]:
        return self.W_Q_concat.unflatten(0, (self.n_heads, self.d_head))

    @property
    def W_K(self) -> Float[Tensor, "head d_head d_model"]:
        return self.W_K_concat.unflatten(0, (self.n_heads, self.d_head))

    @property
    def W_V(self) -> Float[Tensor, "head d_head d_model"]:
        return self.W_V_concat.unflatten(0, (self.n_heads, self.d_head))

    @property
    def W_O(self) -> Float[Tensor, "head d_model d_head"]:
        return self.W_O_concat.unflatten(1, (self.n_heads, self.d_head)).transpose(0, 1)

    def _split(self, x: Stream, W: Tensor, head: int | None = None) -> Vectors:
        """Vectors of all heads, or of one, from x: the results then have one head."""
        if head is not None:
            W = W.unflatten(0, (self.n_heads, self.d_head))[head]
        return rearrange(F.linear(x, W), "b pos (h d) -> b h pos d", d=self.d_head)

    def queries(self, x: Stream, W_P: Positions, head: int | None = None) -> Vectors:
        """Queries W_Q (x + W_P) of each position; `head` as for `keys`. W_P is added here and to keys,
        never to the stream, so that the stream has no positions and every decomposition in this book
        is exact."""
        return self._split(x + W_P, self.W_Q_concat, head)  # batch head dst d_head

    def keys(self, x: Stream, W_P: Positions, head: int | None = None) -> Vectors:
        """Keys W_K (x + W_P) of each position. `head`: those of this head alone, on an axis of length 1."""
        return self._split(x + W_P, self.W_K_concat, head)  # batch head src d_head

    def values(self, x: Stream, head: int | None = None) -> Vectors:
        """Values of each position, which are moved to destinations that attend to it."""
        return self._split(x, self.W_V_concat, head)  # batch head src d_head

    def scores(
        self, q_in: Stream, k_in: Stream, W_P: Positions, *, head: int | None = None
    ) -> Scores:
        """Attention scores from the inputs of queries and keys: in a full pass one and the same stream."""
        return causal_scores(self.queries(q_in, W_P, head), self.keys(k_in, W_P, head))

    def pattern(
        self, q_in: Stream, k_in: Stream, W_P: Positions, *, head: int | None = None
    ) -> Pattern:
        """Attention pattern A = softmax(`scores`): probabilities over the sources."""
        return self.scores(q_in, k_in, W_P, head=head).softmax(dim=-1)  # batch head dst src

    def head_outputs(self, x: Stream, A: Pattern) -> Float[Tensor, "batch head dst d_model"]:
        """Addition of each head to the residual stream, given its pattern: (A ⊗ W_O W_V) x."""
        r = A @ self.values(x)  # batch head dst d_head
        return einsum(self.W_O, r, "h d_model d_head, b h dst d_head -> b h dst d_model")

    def results(
        self, x: Stream, W_P: Positions, A: Pattern | None
    ) -> Float[Tensor, "batch head dst d_head"]:
        """Result of each head at each position, before its W_O: the paper's result vectors r."""
        if A is not None:
            return A @ self.values(x)
        return self.attend(self.queries(x, W_P), self.keys(x, W_P), self.values(x))

    def forward(
        self, x: Stream, W_P: Positions, A: Pattern | None = None
    ) -> Float[Tensor, "batch dst d_model"]:
        """Addition of the layer to the residual stream; with `A`, under these frozen patterns."""
        r = self.results(x, W_P, A)  # batch head dst d_head
        return F.linear(rearrange(r, "b h pos d -> b pos (h d)"), self.W_O_concat)


class Transformer(Base):
    """Token embedding, attention layers, unembedding; no layer norm or biases.

    >>> sizes = {"n_layers": 2, "n_heads": 3, "d_model": 8, "d_head": 4, "n_vocab": 11, "n_ctx": 9}
    >>> model = Transformer(ModelConfig(**sizes, position_base=100.0))
    >>> model.randomise(generator=torch.Generator().manual_seed(0))
    >>> trace = model.trace(torch.tensor([[0, 5, 2, 5]]))
    >>> trace.patterns[1].shape, trace.logits.shape  # in the second layer: batch, head, dst, src
    (torch.Size([1, 3, 4, 4]), torch.Size([1, 4, 11]))
    """

    W_P: Float[Tensor, "n_ctx d_model"]
    """Position vectors; the paper has no name for them, TransformerLens calls its own W_pos."""

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

    def embed(self, tokens: Int[Tensor, "batch pos"]) -> tuple[Stream, Positions]:
        """First residual stream, and the position vectors that queries and keys add to it."""
        self.require_tokens(tokens)
        # Rows that lie apart are slow to fetch: for many tokens, slower than a copy of them all.
        rows = self.W_E.T if tokens.numel() < 1000 else self.W_E.T.contiguous()
        return F.embedding(tokens.to(self.W_E.device), rows), self.W_P[: tokens.shape[1]]

    def stream(
        self, tokens: Int[Tensor, "batch pos"], n_layers: int | None = None,
        patterns: Sequence[Pattern] | None = None, positions: Float[Tensor, " layer"] | None = None,
    ) -> Stream:  # fmt: skip
        """Residual stream after the first `n_layers`, or after all; the rest as for `forward`."""
        x, W_P = self.embed(tokens)
        for index, layer in enumerate(self.layers[:n_layers]):
            seen = W_P if positions is None else positions[index] * W_P
            x = x + layer(x, seen, None if patterns is None else patterns[index])
            if self.mlps:
                x = x + self.mlps[index](x)
        return x

    def unembed(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch n_vocab"]:
        """Logits of a residual stream after the last layer."""
        return F.linear(x, self.W_U)

    def forward(
        self, tokens: Int[Tensor, "batch pos"], patterns: Sequence[Pattern] | None = None,
        positions: Float[Tensor, " layer"] | None = None,
    ) -> Float[Tensor, "batch pos n_vocab"]:  # fmt: skip
        """Logits. With `patterns` (one per layer) attention is not computed but taken from there.

        `positions`: factor on W_P for each layer; 1 as ever, with 0 it cannot tell places apart.
        """
        for name, parts in (("patterns", patterns), ("positions", positions)):
            if parts is not None and len(parts) != (n := len(self.layers)):
                raise ValueError(f"{len(parts)} {name} given but the model has {n} layers")
        return self.unembed(self.stream(tokens, patterns=patterns, positions=positions))
