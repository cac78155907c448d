"""Path patching: what is lost when one head no longer reads what another wrote (Goldowsky-Dill et
al. 2023).

What is patched is an edge between two heads, of kind Q, K or V: for its queries, keys or values
the later head reads zero in place of the earlier one's output, and all others read that output as
before. `composition` says how much the weights would let it read there; this says what it is
worth on some text.

The loss is a noisy measure of one edge: what the edge adds to the right token differs from place to
place by much more than it helps on average. How far the *prediction* moves is not noisy, for it
needs no right token (`Effects`). Of a model that predicts as well as it believes to, the two are the
same on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.attention import Attention
from transformer_circuits.model.transformer import Trace, Transformer
from transformer_circuits.training import cross_entropy

MOST = 80.0
"""No logit counts as raised by more than this: e^80 is near the largest number there is."""


class Edge(NamedTuple):
    """An edge between two heads, and what it is worth on some text."""

    kind: str
    """One of `composition.KINDS`: what the later head reads the earlier one with."""
    later: Head
    earlier: Head
    loss_increase: float
    """How much the loss rises without it. [nats per counted token]"""


@torch.no_grad()
def without_edge(
    model: Transformer,
    trace: Trace,
    kind: str,
    later: tuple[int, int],
    earlier: tuple[int, int],
) -> Float[Tensor, "batch pos n_vocab"]:
    """Logits of a two-layer model when one head of the second layer does not read one of the first.

    The output of `earlier` is missing from what `later` makes its queries ("Q"), keys ("K") or
    values ("V") from; everyone else still reads it. Exact, since no head comes after `later`.
    `trace` is that of the whole model on the same tokens.

    Raises:
        ValueError: if the model has not two layers or has MLPs, there is no such head, `later` is
            not in the second layer or `earlier` not in the first, or the kind is none of Q, K, V.
    """
    model.require_attention_only()
    layer, full = heads.layer_of(model, later), trace.residual[1]
    heads.layer_of(model, earlier)  # refuses a head that is not there
    if model.config.n_layers != 2 or (later[0], earlier[0]) != (1, 0) or kind not in KINDS:
        raise ValueError(
            f"an edge goes from the first of two layers to the second and is of kind Q, K or V, "
            f"but there are {model.config.n_layers} layers, the edge goes from layer {earlier[0]} "
            f'to layer {later[0]} and its kind is "{kind}"'
        )
    less = full - trace.head_outputs[0][:, earlier[1]]
    read = {name: (less if name == kind else full) for name in "QKV"}
    A = trace.patterns[1][:, later[1]]
    if kind != "V":
        W_P = model.W_P[: full.shape[1]]
        A = layer.pattern(read["Q"], read["K"], W_P, head=later[1])[:, 0]
    written = A @ (read["V"] @ layer.W_V[later[1]].T) @ layer.W_O[later[1]].T
    return trace.logits + (written - trace.head_outputs[1][:, later[1]]) @ model.W_U.T


def loss_increase(
    model: Transformer, inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "kind later_head earlier_head"]:
    """How much the loss rises without each edge between two layers. [nats per counted token]

    Kinds come in the order of `composition.KINDS`; see `without_edge`. Targets of -100 are not
    counted, so that the effect can be measured at chosen positions only.

    Raises:
        ValueError: if the model has not two layers, or has MLPs.
    """
    trace, n_heads = model.trace(inputs), model.config.n_heads
    losses = [
        cross_entropy.mean(without_edge(model, trace, kind, (1, later), (0, earlier)), targets)
        for kind in KINDS
        for later in range(n_heads)
        for earlier in range(n_heads)
    ]
    rises = torch.stack(losses) - cross_entropy.mean(trace.logits, targets)
    return rises.reshape(len(KINDS), n_heads, n_heads)


def top_edges(increases: Float[Tensor, "kind later_head earlier_head"], n: int = 1) -> list[Edge]:
    """The n edges without which the loss rises most, by `loss_increase`; the costliest first."""
    order = increases.flatten().argsort(descending=True)[:n]
    places = torch.stack(torch.unravel_index(order, increases.shape), dim=1)  # [edge, 3]
    return [
        Edge(KINDS[kind], Head(1, later), Head(0, earlier), float(increases[kind, later, earlier]))
        for kind, later, earlier in places.tolist()
    ]


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

    Raises:
        ValueError: if the model has not two layers, or has MLPs.
    """
    model.require_attention_only()
    if model.config.n_layers != 2:
        raise ValueError(f"edges join two layers but there are {model.config.n_layers}")
    rises, changes, places = [], [], places.to(inputs.device)
    for window, right in zip(inputs.split(1), targets, strict=True):
        trace = model.trace(window)
        each = [_of_head(model, trace, j, places, right) for j in range(model.config.n_heads)]
        rises.append(torch.stack([loss for loss, _ in each], dim=1))
        changes.append(torch.stack([change for _, change in each], dim=1))
    return Effects(torch.stack(rises), torch.stack(changes))


def _of_head(
    model: Transformer, trace: Trace, head: int, places: Tensor, targets: Tensor
) -> tuple[Float[Tensor, "kind earlier_head"], Float[Tensor, "kind earlier_head"]]:
    """Both effects of the edges into one head of the second layer, in one window."""
    layer, logits = model.layers[1], trace.logits[0, places]
    p = logits.softmax(dim=-1)  # [place, n_vocab]
    unembed = model.W_U @ layer.W_O[head]  # [n_vocab, d_head]
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
    future = places[:, None] < torch.arange(len(full), device=full.device)

    def pattern(queries, keys):
        scores = queries @ keys.mT / layer.d_head**0.5
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1)

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
    """How well the effects are measured: `agreement` of every second window with the others.

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
    """The null for `agreement`: with the heads of both layers in another order in the scores.

    Whole heads change places, so that a head whose every score is high stays such a head.
    """
    later, earlier = scores.shape
    found = []
    for _ in range(n):
        rows = torch.randperm(later, generator=generator)
        columns = torch.randperm(earlier, generator=generator)
        found.append(agreement(scores[rows][:, columns], effects))
    return torch.tensor(found)


@torch.no_grad()
def scrubbed_losses(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    induction_heads: Sequence[tuple[int, int]],
    previous: tuple[int, int],
    as_token: Sequence[tuple[int, int]] = (),
    n_partners: int = 3,
) -> Float[Tensor, "three batch pos"]:
    """Causal scrubbing of the plain story of induction heads. [nats per token]

    The loss of the model as it is; with heads of the second layer that may use no more than the
    story says they do; and with what they write resampled. The story: queries and values read the
    embedding, keys read what the head `previous` wrote. All else that they read comes from the
    same position of another window of the batch. The last two are means over `n_partners`
    other windows. `as_token`: heads of the first layer that count with the embedding, since they look
    at the present token alone.

    Raises:
        ValueError: if the model has not two layers or has MLPs, a head is not where it must be, or
            there are not more windows than partners.
    """
    model.require_attention_only()
    layers = {head[0] for head in induction_heads}
    first = {previous[0], *(head[0] for head in as_token)}
    if model.config.n_layers != 2 or layers != {1} or first != {0}:
        raise ValueError(
            f"heads {[*induction_heads]} behind {previous} are not those of two layers"
        )
    if not 0 < n_partners < len(inputs):
        raise ValueError(f"{len(inputs)} windows are too few for {n_partners} partners")
    trace, layer = model.trace(inputs), model.layers[1]
    token, whole = trace.residual[:2]
    token = token + sum(trace.head_outputs[0][:, head] for _, head in as_token)
    before = trace.head_outputs[0][:, previous[1]]
    W_P = model.W_P[: inputs.shape[1]]
    rows = [cross_entropy.per_token(trace.logits, targets)]
    scrubbed, resampled = torch.zeros_like(rows[0]), torch.zeros_like(rows[0])
    for partner in range(1, n_partners + 1):
        other_whole, other_token, other_before = (
            part.roll(partner * len(inputs) // (n_partners + 1), dims=0)
            for part in (whole, token, before)
        )
        from_token = token + other_whole - other_token
        from_before = before + other_whole - other_before
        story = torch.zeros_like(token)
        none = torch.zeros_like(token)
        for _, head in induction_heads:
            A = layer.pattern(from_token, from_before, W_P, head=head)[:, 0]
            own = trace.head_outputs[1][:, head]
            story += A @ (from_token @ layer.W_V[head].T) @ layer.W_O[head].T - own
            none += own.roll(partner * len(inputs) // (n_partners + 1), dims=0) - own
        for sums, change in ((scrubbed, story), (resampled, none)):
            logits = trace.logits + change @ model.W_U.T
            sums += cross_entropy.per_token(logits, targets) / n_partners
    return torch.stack([rows[0], scrubbed, resampled])
