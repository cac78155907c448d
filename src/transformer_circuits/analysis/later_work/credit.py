"""Credit passed back from a prediction, edge by edge, with labels Q, K and V: the worth of each
edge from one forward pass, without cutting.

Two ways. The derivative of a logit is split exactly: of all paths through queries, keys and values
together nothing is left over (Nanda 2023, "Attribution Patching"). The other is our own short
reading of Unpack (Chen et al. 2026, "Every Component is a Lookup"), after its abstract and its
public code: credit is divided in proportion, and no derivative is taken.
"""

import math
from collections.abc import Collection
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer

LEAST = 0.3
"""Least sum by which credit is divided, as a share of its terms' sizes: else terms that cancel
would get credit without bound. Unpack's default.
"""
Credit = Float[Tensor, "window kind later_head earlier_head"]


class Step(NamedTuple):
    """A head on a path, and the input by which the path enters it: its queries, keys or values."""

    kind: str
    head: Head

    def __str__(self) -> str:
        return f"{self.kind} of {self.head}"


@torch.no_grad()
def paths(
    model: Transformer,
    tokens: Int[Tensor, " pos"],
    dst: int,
    out: int,
    kinds: Collection[str] = KINDS,
) -> dict[tuple[Step, ...], Float[Tensor, "pos d_model"]]:
    """Derivative of a logit by the embedding at each position, split by path. [logits per unit]

    Paths are as in `expansion.paths`, earliest step first, but each head may be entered by its
    queries, keys or values: (1 + 3 n_heads)^n_layers terms, whose sum is the full derivative. Those
    through values alone, times the embeddings, sum to the logit: attention held fixed. `kinds`: the
    inputs by which heads may be entered.
    """
    model.require_attention_only()
    trace = model.trace(tokens[None])
    asks = torch.zeros_like(trace.residual[0][0])
    asks[dst] = model.W_U[out]
    by_path: dict[tuple[Step, ...], Tensor] = {(): asks}
    for index in reversed(range(len(model.layers))):
        for path, g in list(by_path.items()):
            for h in range(model.config.n_heads):
                back = _back(model, trace, Head(index, h), g)
                for kind in kinds:
                    by_path[Step(kind, Head(index, h)), *path] = back[kind]
    return by_path


def _back(
    model: Transformer, trace: Trace, head: Head, g: Float[Tensor, "pos d_model"]
) -> dict[str, Float[Tensor, "pos d_model"]]:
    """Credit that queries, keys and values of one head pass back from its output."""
    layer, x = model.layers[head.layer], trace.residual[head.layer][0]
    W_Q, W_K, W_V = (weight[head.head] for weight in (layer.W_Q, layer.W_K, layer.W_V))
    A, at = trace.patterns[head.layer][0, head.head], x + model.W_P[: len(x)]
    of_result = g @ layer.W_O[head.head]  # [dst, d_head]
    worth = of_result @ (x @ W_V.T).T  # [dst, src]: what looking there brings
    of_scores = A * (worth - (A * worth).sum(dim=-1, keepdim=True)) / math.sqrt(layer.d_head)
    q, k = at @ W_Q.T, at @ W_K.T
    by_score = {"Q": (of_scores @ k) @ W_Q, "K": (of_scores.T @ q) @ W_K}
    return by_score | {"V": (A.T @ of_result) @ W_V}


class _Reading(NamedTuple):
    """Attention and parts of one head of the second layer at some places of one window."""

    A: Float[Tensor, "place src"]
    score: dict[str, Float[Tensor, "maker place src"]]
    """Part of each maker in the scores, by the query and by the key."""
    worth: Float[Tensor, "maker place src"]
    """Addition to the logit of each maker's value at each source, with full attention there."""
    seen: Bool[Tensor, "place src"]
    """Sources that do not come after the destination: true or false."""


@torch.no_grad()
def of_edges(
    model: Transformer, inputs: Int[Tensor, "window pos"], places: Int[Tensor, " n"]
) -> tuple[Credit, Credit]:
    """Size of each edge's credit for the predicted token's logit, by derivative and in proportion. [logits]

    That logit is taken less the mean of all under the prediction. Sizes are means over `places`. By
    derivative, an edge has what it adds to first order. In proportion, a head's addition to the logit
    is credited to its sources by their part in it; there a third each goes to its query, key and value;
    and each third to the makers of that query, key or value, in proportion to their part in the score
    (less the mean over all sources) or in the value.
    """
    heads.require_two_layers(model)
    rows = []
    for window in inputs.split(1):
        trace = model.trace(window)
        logits = model.unembed(trace.residual[-1][0, places])
        asks = model.W_U[logits.argmax(dim=-1)] - logits.softmax(dim=-1) @ model.W_U
        x, W_P = trace.residual[0], model.W_P[: window.shape[1]]
        r = model.layers[0].results(x, W_P, trace.patterns[0])[0]  # earlier_head pos d_head
        by_head = []
        for h in range(model.config.n_heads):
            reading = _reading(model, trace, r, h, places, asks)
            sizes = [rule(reading)[:, 2:].abs().mean(dim=-1) for rule in (_derivative, _proportion)]
            by_head.append(torch.stack(sizes))
        rows.append(torch.stack(by_head, dim=2))
    by_derivative, in_proportion = torch.stack(rows, dim=1)
    return by_derivative, in_proportion


def _reading(
    model: Transformer, trace: Trace, r: Tensor, head: int, places: Tensor, asks: Tensor
) -> _Reading:
    """Reading of one head; makers are the token, its position and the first layer's heads, in this order.

    `r`: the results of the first layer's heads, before W_O.
    """
    (first, layer), x = model.layers, trace.residual[0][0]
    W_P = model.W_P[: len(x)]

    def read(W: Tensor, where: slice | Tensor = slice(None)) -> Float[Tensor, "maker pos d_head"]:
        of_input = torch.stack([x[where], W_P[where]]) @ W.T
        return torch.cat([of_input, r[:, where] @ (W @ first.W_O).mT])

    q, k, v = read(layer.W_Q[head], places), read(layer.W_K[head]), read(layer.W_V[head])
    v[1] = 0  # values do not read positions
    scale = math.sqrt(layer.d_head)
    score = {
        "Q": q @ k.sum(dim=0).T / scale,
        "K": torch.einsum("pd,msd->mps", q.sum(dim=0), k) / scale,
    }
    worth = torch.einsum("pd,msd->mps", asks @ layer.W_O[head], v)
    seen = places[:, None] >= torch.arange(len(x), device=places.device)
    return _Reading(trace.patterns[1][0, head, places], score, worth, seen)


def _derivative(reading: _Reading) -> Float[Tensor, "kind maker place"]:
    worth = reading.worth.sum(dim=0)
    of_scores = reading.A * (worth - (reading.A * worth).sum(dim=-1, keepdim=True))
    by_score = [(of_scores * reading.score[kind]).sum(dim=-1) for kind in "QK"]
    return torch.stack([*by_score, (reading.A * reading.worth).sum(dim=-1)])


def _proportion(reading: _Reading) -> Float[Tensor, "kind maker place"]:
    from_source = reading.A * reading.worth.sum(dim=0)  # [place, src]
    credit = from_source.sum(dim=-1, keepdim=True) * _divided(from_source, dim=-1) / len(KINDS)
    parts, n_seen = {"V": reading.worth}, reading.seen.sum(dim=-1, keepdim=True)
    for kind, score in reading.score.items():
        parts[kind] = score - (score * reading.seen).sum(dim=-1, keepdim=True) / n_seen
    return torch.stack([(credit * _divided(parts[kind], dim=0)).sum(dim=-1) for kind in KINDS])


def _divided(values: Tensor, dim: int) -> Tensor:
    """Values over their sum, which counts as no smaller than `LEAST` of the sum of their sizes."""
    total, sizes = values.sum(dim=dim, keepdim=True), values.abs().sum(dim=dim, keepdim=True)
    least = (LEAST * sizes).clamp(min=torch.finfo(values.dtype).tiny)
    return values / torch.where(total < 0, -1, 1) / total.abs().maximum(least)
