"""Effects of each edge between two layers, all edges at once, and the reliability of their measures.

The loss is a noisy measure of one edge: the edge's addition to the right token differs from place
to place by much more than it helps on average. The change of the *prediction* is not noisy, for it
needs no right token (`Effects`). For a well-calibrated model, the two are the same on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum, rearrange
from jaxtyping import Float, Float64, Int
from torch import Tensor

from transformer_circuits.analysis import heads, path_patching
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.model import general
from transformer_circuits.model.transformer import Attention, Transformer

MOST = 80.0
"""Largest logit that is counted as raised: e^80 is near the largest number there is."""


@dataclass(frozen=True)
class Effects:
    """Effects of all edges, for every window; kinds are in the order of `composition.KINDS`."""

    loss: Float[Tensor, "window kind later_head earlier_head"]
    """Rise of the loss without the edge; negative where it falls. [nats per token]"""
    change: Float[Tensor, "window kind later_head earlier_head"]
    """Change of the prediction without the edge: Kullback-Leibler, never negative. [nats]"""


@torch.no_grad()
def effects(
    model: Transformer,
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    places: Int[Tensor, " n"],
    instead: Float[Tensor, "window earlier_head pos d_head"] | None = None,
) -> Effects:
    """Effects of every edge on the predictions at the same `places` of each window.

    `instead`: the vector that a cut edge carries, as heads' results before W_O; zero by default.

    Means over these places. Exact, as `path_patching.without_edge` is; few places of many windows
    cost as little as many places of few, and tell more. Where a norm comes before W_U, the stream
    is unembedded anew for each edge.
    """
    heads.require_two_layers(model, *[general.NORM] * (instead is None))
    if general.NORM in model.forms:
        return _one_by_one(model, inputs, targets, places)
    first, second = model.layers
    rises, changes, places = [], [], places.to(inputs.device)
    unembeds = [model.W_U @ W_O for W_O in second.W_O]  # [n_vocab, d_head] each
    edges = [
        [W @ first.W_O for W in of_head]  # [earlier_head, d_head, d_head] for Q, K and V
        for of_head in zip(second.W_Q, second.W_K, second.W_V, strict=True)
    ]
    for k, (window, right) in enumerate(zip(inputs.split(1), targets, strict=True)):
        x, W_P = model.embed(window)
        r = first.results(x, W_P, None)
        full = x + einsum(first.W_O, r, "h d_model d_head, b h pos d_head -> b pos d_model")
        gone = r[0] if instead is None else r[0] - instead[k]
        brought, less = _results(second, edges, gone, full[0], W_P, places)
        written = einsum(second.W_O, brought, "h d_model d_head, h place d_head -> place d_model")
        p = model.unembed(full[0, places] + written).softmax(dim=-1)
        moved = [_moved(*of_head, p, right[places]) for of_head in zip(less, unembeds, strict=True)]
        rises.append(torch.stack([loss for loss, _ in moved], dim=1))
        changes.append(torch.stack([change for _, change in moved], dim=1))
    return Effects(torch.stack(rises), torch.stack(changes))


def _one_by_one(
    model: Transformer,
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    places: Int[Tensor, " n"],
) -> Effects:
    """`effects` by a forward pass for each edge, which also works with a norm."""
    heads_of, loss_and_change = range(model.config.n_heads), []
    for window, right in zip(inputs.split(1), targets, strict=True):
        trace = model.trace(window)
        before = trace.logits[0, places].log_softmax(dim=-1)
        for kind, later, earlier in product(KINDS, heads_of, heads_of):
            cut = path_patching.without_edge(model, trace, kind, (1, later), (0, earlier), places)
            after = cut[0].log_softmax(dim=-1)
            loss = (before - after).gather(1, right[places, None]).mean()
            change = F.kl_div(after, before, reduction="batchmean", log_target=True)
            loss_and_change.append(torch.stack([loss, change]))
    n = model.config.n_heads
    loss, change = torch.stack(loss_and_change, dim=1).view(2, len(inputs), len(KINDS), n, n)
    return Effects(loss, change)


def _moved(
    less: Float[Tensor, "kind earlier_head place d_head"],
    unembed: Float[Tensor, "n_vocab d_head"],
    p: Float[Tensor, "place n_vocab"],
    targets: Int[Tensor, " place"],
) -> tuple[Float[Tensor, "kind earlier_head"], Float[Tensor, "kind earlier_head"]]:
    """Both effects of the edges into one head of the second layer, in one window.

    `less`: the head's result at the places without each edge, less that with all. `p`: the
    prediction with all.
    """
    less = rearrange(less, "kind earlier place d_head -> place kind earlier d_head")
    mean = p @ unembed  # [place, d_head]; taken off, as softmax ignores a constant
    raised = less @ unembed.T  # [place, kind, earlier_head, n_vocab]
    raised -= einsum(less, mean, "place k e d, place d -> place k e")[..., None]
    # The mean of `raised` under p is 0, so KL(p ‖ p e^raised / Z) is ln Z; with expm1 and log1p small
    # effects do not drown in rounding.
    change = raised.clamp_(max=MOST).expm1_()
    change = einsum(change, p, "place k e vocab, place vocab -> place k e").log1p()
    of_right = einsum(less, unembed[targets] - mean, "place k e d, place d -> place k e")
    return (change - of_right).mean(dim=0), change.mean(dim=0)


def _results(
    layer: Attention,
    edges: Sequence[Sequence[Float[Tensor, "earlier_head d_head d_head"]]],
    r: Float[Tensor, "earlier_head pos d_head"],
    full: Float[Tensor, "pos d_model"],
    W_P: Float[Tensor, "pos d_model"],
    places: Int[Tensor, " place"],
) -> tuple[
    Float[Tensor, "head place d_head"], list[Float[Tensor, "kind earlier_head place d_head"]]
]:
    """Result of each head of the second layer; and the change of it without each edge, by head.

    An edge is taken away where the later head reads. `r`: the result of each earlier head, or the
    part of it that is cut; `full`: the stream between the layers. `edges`: for each later head, the
    maps from `r` to its queries, keys and values, which for keys is `W_K @ W_O`.
    """
    brought, less = [], []
    future = places[:, None] < torch.arange(len(full), device=places.device)

    def pattern(scores: Float[Tensor, "*both place src"]) -> Float[Tensor, "*both place src"]:
        return (scores / layer.d_head**0.5).masked_fill_(future, -torch.inf).softmax(dim=-1)

    readers = zip(layer.W_Q, layer.W_K, layer.W_V, edges, strict=True)
    for W_Q, W_K, W_V, (to_q, to_k, to_v) in readers:
        q, k, v = (full + W_P)[places] @ W_Q.T, (full + W_P) @ W_K.T, full @ W_V.T
        scores = q @ k.T
        A = pattern(scores)
        without = {
            "Q": pattern(scores - r[:, places] @ to_q.mT @ k.T) @ v,
            "K": pattern(scores - q @ to_k @ r.mT) @ v,
            "V": A @ v - A @ r @ to_v.mT,
        }
        brought.append(A @ v)
        less.append(torch.stack([without[kind] for kind in KINDS]) - brought[-1])
    return torch.stack(brought), less


def rank_correlation(first: Float[Tensor, "*some"], other: Float[Tensor, "*same"]) -> float:
    """Spearman's rank correlation of two tensors of equal size, flattened. -1 to 1.

    Equal values share a rank. NaN if a value is NaN, or all values of one tensor are equal. Memory
    grows with the square of the size.

    >>> rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 10.0, 100.0]))
    1.0
    """
    pair = torch.stack([ranks(values.flatten()) for values in (first, other)])
    return float(torch.corrcoef(pair)[0, 1])


def ranks(values: Float[Tensor, "*batch n"]) -> Float64[Tensor, "*batch n"]:
    """Number of values below each of the n values, plus half of those equal to it, itself among them.

    NaN for one that is NaN.

    >>> ranks(torch.tensor([10.0, 30.0, 10.0]))
    tensor([1.0000, 2.5000, 1.0000], dtype=torch.float64)
    """
    values = values.cpu()
    value, others = values[..., :, None], values[..., None, :]
    below = (value > others).sum(dim=-1) + (value == others).sum(dim=-1) / 2
    return below.double().masked_fill(values.isnan(), torch.nan)


def reliability(values: Float[Tensor, "window *edge"]) -> float:
    """Split-half reliability: `rank_correlation` of every second window with the others.

    From -1 to 1; near 0, noise decides the order of the edges, and nothing can agree with it.
    """
    return rank_correlation(values[::2].mean(dim=0), values[1::2].mean(dim=0))


def shuffled(
    scores: Float[Tensor, "later_head earlier_head"],
    effects: Float[Tensor, "later_head_too earlier_head_too"],
    n: int,
    *,
    generator: torch.Generator,
) -> Float[Tensor, " n"]:
    """Permutation null for `rank_correlation`: with the heads of both layers in another order.

    Complete heads change places, so that a head whose every score is high stays such a head.
    """
    later, earlier = scores.shape
    correlations = []
    for _ in range(n):
        rows = torch.randperm(later, generator=generator)
        columns = torch.randperm(earlier, generator=generator)
        correlations.append(rank_correlation(scores[rows][:, columns], effects))
    return torch.tensor(correlations)
