"""The attention heads of one layer: scores, pattern, and what the heads write.

Every weight is stored as the paper writes it, [what it writes, what it reads].
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.model.config import ModelConfig

Scores = Float[Tensor, "batch head dst src"]
"""Attention before the softmax: any number up to the present position, -inf beyond it."""
Pattern = Float[Tensor, "batch head dst src"]
"""Attention after the softmax: from each destination, probabilities over the sources."""


def causal_scores(
    q: Float[Tensor, "*asking dst d_head"],
    k: Float[Tensor, "*asked src d_head"],
    places: Int[Tensor, " dst"] | None = None,
) -> Float[Tensor, "*both dst src"]:
    """Attention scores q · k / √d_head; -inf where the source comes after the destination.

    Dimensionless. Every whole forward pass has its mask and its 1/√d_head from here, but for the fast
    `causal_results`. No W_QK contains the factor.

    `places`: where the destinations stand, if they are not 0, 1, ….
    """
    scores = (q @ k.mT).div_(math.sqrt(q.shape[-1]))  # in place: of all in a pass these are largest
    if places is None:
        places = torch.arange(q.shape[-2], device=scores.device)
    future = places[:, None] < torch.arange(k.shape[-2], device=scores.device)
    # To add nothing or -inf takes a quarter of the time of a `masked_fill_`.
    return scores.add_(scores.new_zeros(future.shape).masked_fill_(future, -math.inf))


BLOCK = 128
"""Destinations that the compiled fast path treats at once."""


def causal_results(
    q: Float[Tensor, "batch head pos d_head"],
    k: Float[Tensor, "batch head pos d_head"],
    v: Float[Tensor, "batch head pos d_head"],
) -> Float[Tensor, "batch head pos d_head"]:
    """softmax(`causal_scores`) @ v as fast as the device allows, up to rounding.

    That is PyTorch's fused attention, which never builds the pattern. Only under `torch.compile`
    on a CPU, as in training, blocks of destinations with the sources up to them are twice as fast:
    nothing is computed above the diagonal except inside the last block of each.
    """
    if q.device.type != "cpu" or not torch.compiler.is_compiling():
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    n_pos, blocks = q.shape[2], []
    for first in range(0, n_pos, BLOCK):
        last = min(first + BLOCK, n_pos)
        scores = q[:, :, first:last] @ k[:, :, :last].mT
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        scores = scores / math.sqrt(q.shape[-1])
        destination, source = torch.arange(first, last)[:, None], torch.arange(last)
        pattern = scores.masked_fill(source > destination, -math.inf).softmax(dim=-1)
        blocks.append(pattern.to(v.dtype) @ v[:, :, :last])
    return torch.cat(blocks, dim=2)


class Attention(nn.Module):
    """The attention heads of one layer (paper: "Attention Heads are Independent and Additive").

    The four parameters hold the heads side by side, as the paper's W_O^H does; the properties
    `W_Q`, `W_K`, `W_V` [head, d_head, d_model] and `W_O` [head, d_model, d_head] are views of them:
    writing into a view, `layer.W_Q[3] = …`, changes the model.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        width = config.n_heads * config.d_head
        self.n_heads, self.d_head = config.n_heads, config.d_head
        self.W_Q_concat = nn.Parameter(torch.empty(width, config.d_model))
        self.W_K_concat = nn.Parameter(torch.empty(width, config.d_model))
        self.W_V_concat = nn.Parameter(torch.empty(width, config.d_model))
        self.W_O_concat = nn.Parameter(torch.empty(config.d_model, width))

    def _rows(self, weight: Tensor) -> Float[Tensor, "head d_head d_model"]:
        return rearrange(weight, "(head d_head) d_model -> head d_head d_model", head=self.n_heads)

    @property
    def W_Q(self) -> Float[Tensor, "head d_head d_model"]:
        return self._rows(self.W_Q_concat)

    @property
    def W_K(self) -> Float[Tensor, "head d_head d_model"]:
        return self._rows(self.W_K_concat)

    @property
    def W_V(self) -> Float[Tensor, "head d_head d_model"]:
        return self._rows(self.W_V_concat)

    @property
    def W_O(self) -> Float[Tensor, "head d_model d_head"]:
        return rearrange(
            self.W_O_concat, "d_model (head d_head) -> head d_model d_head", head=self.n_heads
        )

    def read(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        """The stream as W_Q, W_K and W_V see it: as it is; in models of others through a norm."""
        return x

    def _split(self, x: Tensor, weight: Tensor) -> Float[Tensor, "batch head pos d_head"]:
        return rearrange(F.linear(x, weight), "b pos (h d) -> b h pos d", d=self.d_head)

    def scores(
        self,
        q_in: Float[Tensor, "batch pos d_model"],
        k_in: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        *,
        head: int | None = None,
    ) -> Scores:
        """Attention scores: how much each destination looks for each source. Dimensionless.

        `q_in` and `k_in` are what queries and keys read, one and the same stream in the whole
        model; W_P is added to both. With `head`, the scores of that head alone.
        """
        rows = slice(None)  # all heads, side by side
        if head is not None:
            first = range(self.n_heads)[head] * self.d_head
            rows = slice(first, first + self.d_head)
        return causal_scores(self._queries(q_in, W_P, rows), self._keys(k_in, W_P, rows))

    def _queries(
        self,
        q_in: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        rows: slice = slice(None),
    ) -> Float[Tensor, "batch head dst d_head"]:
        """What each position looks for, in the heads that have these rows."""
        return self._turned(self._split(self.read(q_in) + W_P, self.W_Q_concat[rows]))

    def _keys(
        self,
        k_in: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        rows: slice = slice(None),
    ) -> Float[Tensor, "batch head src d_head"]:
        """What each position offers to be looked for by, in the heads that have these rows."""
        return self._turned(self._split(self.read(k_in) + W_P, self.W_K_concat[rows]))

    def _turned(self, x: Float[Tensor, "batch head pos d_head"]) -> Tensor:
        """Queries or keys, turned by their positions where these are rotary: not in the paper's models."""
        return x

    def pattern(
        self,
        q_in: Float[Tensor, "batch pos d_model"],
        k_in: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        *,
        head: int | None = None,
    ) -> Pattern:
        """The attention pattern A = softmax(`scores`): probabilities over the sources."""
        return self.scores(q_in, k_in, W_P, head=head).softmax(dim=-1)

    def head_outputs(
        self, x: Float[Tensor, "batch src d_model"], A: Pattern
    ) -> Float[Tensor, "batch head dst d_model"]:
        """What each head adds to the residual stream, given its pattern: (A ⊗ W_O W_V) x."""
        v = self._split(self.read(x), self.W_V_concat)  # [batch, head, src, d_head]
        r = einsum(A, v, "b h dst src, b h src d_head -> b h dst d_head")
        return einsum(self.W_O, r, "h d_model d_head, b h dst d_head -> b h dst d_model")

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        A: Pattern | None = None,
    ) -> Float[Tensor, "batch dst d_model"]:
        """What the layer adds to the residual stream; with `A`, under these frozen patterns, to the
        destinations that they have.

        Without them it takes `causal_results`, which never keep a pattern.
        """
        r = self.results(x, W_P, A)
        return F.linear(rearrange(r, "b h pos d -> b pos (h d)"), self.W_O_concat)

    def results(
        self,
        x: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        A: Pattern | None,
    ) -> Float[Tensor, "batch head dst d_head"]:
        """What each head brings to each position, before its W_O: the paper's result vectors r."""
        v = self._split(self.read(x), self.W_V_concat)  # [batch, head, src, d_head]
        if A is not None:
            return A @ v
        return causal_results(self._queries(x, W_P), self._keys(x, W_P), v)

    def written(
        self, x: Float[Tensor, "batch src d_model"], A: Float[Tensor, "batch dst src"], head: int
    ) -> Float[Tensor, "batch dst d_model"]:
        """What one head adds to the residual stream, given its pattern and what its values read."""
        return self.result(x, A, head) @ self.W_O[head].T

    def result(
        self, x: Float[Tensor, "batch src d_model"], A: Float[Tensor, "batch dst src"], head: int
    ) -> Float[Tensor, "batch dst d_head"]:
        """What one head brings to each position, before its W_O: the paper's result vector r."""
        rows = slice(head * self.d_head, (head + 1) * self.d_head)
        return A @ self._split(self.read(x), self.W_V_concat[rows])[:, 0]
