"""Path patching: the loss when one head no longer reads another's output (Goldowsky-Dill et al. 2023).

A patched edge between two heads has a kind, Q, K or V: for its queries, keys or values the later
head reads zero in place of the earlier one's output, and all others read that output as before.
`composition` measures how much the weights would let it read there; this module measures the worth
of the edge on some text.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer


class Edge(NamedTuple):
    """An edge between two heads, and its worth on some text."""

    kind: str
    """Input of the later head that reads the earlier one: one of `composition.KINDS`."""
    later: Head
    earlier: Head
    loss_increase: float
    """Rise of the loss without the edge. [nats per counted token]"""


EdgeName = tuple[str, heads.HeadName, heads.HeadName]
"""Kind of an edge, one of `composition.KINDS`, its later head, its earlier head."""


def edge(
    model: Transformer, kind: str, later: heads.HeadName, earlier: heads.HeadName
) -> tuple[str, Head, Head]:
    """Edge of a name, which the model must have.

    Raises:
        ValueError: if there is no such head, the edge does not go from layer 0 to layer 1, or it has
            another kind.
    """
    later, earlier = heads.one(model, later), heads.one(model, earlier)
    if (later.layer, earlier.layer) != (1, 0) or kind not in KINDS:
        raise ValueError(
            f'an edge is (kind, later head, earlier head), such as ("K", "1.0", "0.2"): it goes from '
            f"layer 0 to layer 1 and is of kind Q, K or V, but this one goes "
            f'from {earlier} to {later} and is of kind "{kind}"'
        )
    return kind, later, earlier


@torch.no_grad()
def patched(
    model: Transformer,
    trace: Trace,
    instead: Mapping[EdgeName, Float[Tensor, "batch pos d_model"]],
    places: slice | Int[Tensor, " n"] = slice(None),
) -> Float[Tensor, "batch _ n_vocab"]:
    """Logits of a two-layer model where each of some edges carries another vector.

    All other readers of the earlier heads read them as before. Exact, since nothing comes after the
    second layer; so the stream changes by the sum of the changes for each later head alone. `trace`
    is that of the unchanged model on the same tokens, `places` are the positions of the logits:
    with a large vocabulary they take most of the time.
    """
    changes, last = _changes(model, trace, instead), trace.residual[2][:, places]
    for head, less in changes.items():
        last = last + less[:, places] @ model.layers[1].W_O[head].T
    return model.unembed(last)


def losses_patched(
    model: Transformer,
    trace: Trace,
    instead: Mapping[EdgeName, Float[Tensor, "batch pos d_model"]],
    targets: Int[Tensor, "batch pos"],
) -> Float[Tensor, "batch pos"]:
    """Loss of each target where edges are `patched`, and 0 for targets of -100. [nats]

    The same as the loss of `patched`, in a fraction of its time: an edge changes d_head numbers at
    each place, which reach the logits through W_U W_O. Where a norm comes before W_U, it is no
    faster.
    """
    changes, W_O = _changes(model, trace, instead), model.layers[1].W_O
    if general.NORM in model.forms or not changes:
        return cross_entropy.per_token(patched(model, trace, instead), targets)
    counted = targets != -100
    unembed = torch.cat([model.W_U @ W_O[head] for head in changes], dim=1)
    change = torch.cat([*changes.values()], dim=2)[counted]
    losses = trace.logits.new_zeros(targets.shape)
    losses[counted] = cross_entropy.changed(
        trace.logits[counted], change, unembed, targets[counted]
    )
    return losses


@torch.no_grad()
def losses_without_edges(
    model: Transformer, trace: Trace, later: heads.HeadName, targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "kind earlier_head batch pos"]:
    """`losses_patched` without each edge into one head. Kinds come in the order of `KINDS`."""
    zero = torch.zeros_like(trace.residual[1])
    losses = [
        losses_patched(model, trace, {(kind, later, earlier): zero}, targets)
        for kind in KINDS
        for earlier in heads.of_layer(model, 0)
    ]
    return torch.stack(losses).unflatten(0, (len(KINDS), -1))


def _changes(
    model: Transformer,
    trace: Trace,
    instead: Mapping[EdgeName, Float[Tensor, "batch pos d_model"]],
) -> dict[int, Float[Tensor, "batch pos d_head"]]:
    """Change of the result of each head of the second layer that has patched edges, before W_O."""
    heads.require_two_layers(model, *general.all_but(general.HELD))
    cut = {edge(model, *name): other for name, other in instead.items()}
    full, changes = trace.residual[1], {}
    for head in sorted({later.head for _, later, _ in cut}):
        read = dict.fromkeys(KINDS, full)
        intact = _result(model, trace, head, read)
        for (kind, later, earlier), other in cut.items():
            if later.head == head:
                read[kind] = read[kind] + other - trace.head_outputs[0][:, earlier.head]
        changes[head] = _result(model, trace, head, read) - intact
    return changes


def _result(
    model: Transformer, trace: Trace, head: int, read: Mapping[str, Tensor]
) -> Float[Tensor, "batch pos d_head"]:
    """Result of a head of the second layer at each place, before W_O, from its inputs by `KINDS`."""
    layer, A, full = model.layers[1], trace.patterns[1][:, head], trace.residual[1]
    if read["Q"] is not full or read["K"] is not full:
        A = layer.pattern(read["Q"], read["K"], model.W_P[: full.shape[1]], head=head)[:, 0]
    return A @ layer.values(read["V"], head)[:, 0]


def without_edge(
    model: Transformer,
    trace: Trace,
    kind: str,
    later: heads.HeadName,
    earlier: heads.HeadName,
    places: slice | Int[Tensor, " n"] = slice(None),
) -> Float[Tensor, "batch _ n_vocab"]:
    """Logits of a two-layer model when one head of the second layer does not read one of the first.

    The output of `earlier` is missing from the input of the queries ("Q"), keys ("K") or values
    ("V") of `later`; all other heads still read it. `trace` and `places` as for `patched`.
    """
    zero = torch.zeros_like(trace.residual[1])
    return patched(model, trace, {(kind, later, earlier): zero}, places)


def loss_increase(
    model: Transformer, inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "kind later_head earlier_head"]:
    """Rise of the loss without each edge between two layers. [nats per counted token]

    Kinds come in the order of `composition.KINDS`; see `without_edge`. Targets of -100 are not
    counted, so that the effect can be measured at chosen positions only.
    """
    trace, counted = model.trace(inputs), (targets != -100).sum()
    losses = [
        losses_without_edges(model, trace, later, targets).sum(dim=(2, 3)) / counted
        for later in heads.of_layer(model, 1)
    ]
    return torch.stack(losses, dim=1) - cross_entropy.mean(trace.logits, targets)


def top_edges(increases: Float[Tensor, "kind later_head earlier_head"], n: int = 1) -> list[Edge]:
    """Edges without which the loss rises most, by `loss_increase`; n of them, the costliest first."""
    order = increases.flatten().argsort(descending=True)[:n]
    places = torch.stack(torch.unravel_index(order, increases.shape), dim=1)  # [edge, 3]
    return [
        Edge(KINDS[kind], Head(1, later), Head(0, earlier), float(increases[kind, later, earlier]))
        for kind, later, earlier in places.tolist()
    ]
