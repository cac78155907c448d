"""What each edge between two layers is worth, all edges at once, and how well that is measured.

The loss is a noisy measure of one edge: what the edge adds to the right token differs from place to
place by much more than it helps on average. How far the *prediction* moves is not noisy, for it
needs no right token (`Effects`). Of a model that predicts as well as it believes to, the two are the
same on average.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.model.attention import Attention, causal_scores
from transformer_circuits.model.transformer import Trace, Transformer

MOST = 80.0
"""No logit counts as raised by more than this: e^80 is near the largest number there is."""


@dataclass(frozen=True)
class Effects:
    """Effects of all edges, for every window; kinds are in the order of `composition.KINDS`."""

    loss: Float[Tensor, "window kind later_head earlier_head"]
    """How much the loss rises without the edge; negative where it falls. [nats per token]"""
    change: Float[Tensor, "window kind later_head earlier_head"]
    """How much the prediction changes without it: Kullback-Leibler, never negative. [nats]"""


@torch.no_grad()
def effects(
    model: Transformer,
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    places: Int[Tensor, " n"],
) -> Effects:
    """Effects of every edge on the predictions at the same `places` of each window.

    They are the means over these places. Exact, as `path_patching.without_edge` is; to take few
    places of many windows costs as little as many places of few, and tells more.
    """
    heads.require_two_layers(model)
    rises, changes, places = [], [], places.to(inputs.device)
    unembeds = [model.W_U @ W_O for W_O in model.layers[1].W_O]  # [n_vocab, d_head] each
    for window, right in zip(inputs.split(1), targets, strict=True):
        trace = model.trace(window)
        each = [_of_head(model, trace, j, W, places, right) for j, W in enumerate(unembeds)]
        rises.append(torch.stack([loss for loss, _ in each], dim=1))
        changes.append(torch.stack([change for _, change in each], dim=1))
    return Effects(torch.stack(rises), torch.stack(changes))


def _of_head(
    model: Transformer,
    trace: Trace,
    head: int,
    unembed: Float[Tensor, "n_vocab d_head"],
    places: Tensor,
    targets: Tensor,
) -> tuple[Float[Tensor, "kind earlier_head"], Float[Tensor, "kind earlier_head"]]:
    """Both effects of the edges into one head of the second layer, in one window."""
    layer, logits = model.layers[1], trace.logits[0, places]
    p = logits.softmax(dim=-1)  # [place, n_vocab]
    r = _results(model, layer, trace, head, places)  # [kind, earlier, place, d_head]
    r = r.flatten(0, 1).transpose(0, 1)  # [place, edge, d_head]
    raised = r @ unembed.T  # [place, edge, n_vocab]
    raised -= raised @ p[..., None]  # less their mean under the prediction, which softmax ignores
    of_right = raised.gather(2, targets[places, None, None].expand(*raised.shape[:2], 1))[..., 0]
    change = (raised.clamp_(max=MOST).expm1_() @ p[..., None])[..., 0].log1p()  # [place, edge]
    shape = len(KINDS), model.config.n_heads
    return (change - of_right).mean(dim=0).view(shape), change.mean(dim=0).view(shape)


def _results(
    model: Transformer, layer: Attention, trace: Trace, head: int, places: Tensor
) -> Float[Tensor, "kind earlier_head place d_head"]:
    """What the head brings to the places without each edge, less what it brings with all."""
    full, parts = trace.residual[1][0], trace.head_outputs[0][0]  # [pos, d], [earlier, pos, d]
    W_Q, W_K, W_V = layer.W_Q[head], layer.W_K[head], layer.W_V[head]
    at = full + model.W_P[: len(full)]
    q, k, v = at[places] @ W_Q.T, at @ W_K.T, full @ W_V.T

    def pattern(queries, keys):
        return causal_scores(queries, keys, places).softmax(dim=-1)

    A = pattern(q, k)
    less = {
        "Q": pattern(q - parts[:, places] @ W_Q.T, k) @ v,
        "K": pattern(q, k - parts @ W_K.T) @ v,
        "V": A @ (v - parts @ W_V.T),
    }
    return torch.stack([less[kind] for kind in KINDS]) - A @ v


def agreement(one: Float[Tensor, "*some"], other: Float[Tensor, "*same"]) -> float:
    """Spearman's rank correlation of two sets of values, from -1 to 1; equal values share a rank.

    >>> agreement(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 10.0, 100.0]))
    1.0
    """
    ranks = []
    for values in (one.flatten().cpu(), other.flatten().cpu()):
        below = (values[:, None] > values).sum(dim=1)
        ranks.append((below + (values[:, None] == values).sum(dim=1) / 2).double())
    return float(torch.corrcoef(torch.stack(ranks))[0, 1])


def reliability(values: Float[Tensor, "window *edge"]) -> float:
    """Split-half reliability: the `agreement` of every second window with the others.

    From -1 to 1; near 0, noise decides the order of the edges, and nothing can agree with it.
    """
    return agreement(values[::2].mean(dim=0), values[1::2].mean(dim=0))


def shuffled(
    scores: Float[Tensor, "later_head earlier_head"],
    effects: Float[Tensor, "later_head_too earlier_head_too"],
    n: int,
    *,
    generator: torch.Generator,
) -> Float[Tensor, " n"]:
    """The permutation null for `agreement`: with the heads of both layers in another order.

    Whole heads change places, so that a head whose every score is high stays such a head.
    """
    later, earlier = scores.shape
    found = []
    for _ in range(n):
        rows = torch.randperm(later, generator=generator)
        columns = torch.randperm(earlier, generator=generator)
        found.append(agreement(scores[rows][:, columns], effects))
    return torch.tensor(found)
