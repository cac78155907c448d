"""Path patching: what is lost when one head no longer reads what another wrote (Goldowsky-Dill et
al. 2023).

What is patched is an edge between two heads, of kind Q, K or V: for its queries, keys or values
the later head reads zero in place of the earlier one's output, and all others read that output as
before. `composition` says how much the weights would let it read there; this says what it is
worth on some text.
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
from transformer_circuits.model.transformer import Trace, Transformer


class Edge(NamedTuple):
    """An edge between two heads, and what it is worth on some text."""

    kind: str
    """One of `composition.KINDS`: what the later head reads the earlier one with."""
    later: Head
    earlier: Head
    loss_increase: float
    """How much the loss rises without it. [nats per counted token]"""


EdgeName = tuple[str, tuple[int, int], tuple[int, int]]
"""One of `composition.KINDS`, the later head, the earlier head."""


@torch.no_grad()
def patched(
    model: Transformer,
    trace: Trace,
    instead: Mapping[EdgeName, Float[Tensor, "batch pos d_model"]],
    places: slice = slice(None),
) -> Float[Tensor, "batch _ n_vocab"]:
    """Logits of a two-layer model where each edge given carries something else than it did.

    All other readers of the earlier heads read them as before. Exact, since nothing comes after the
    second layer; so the stream changes by the sum of what it changes for each later head alone.
    `trace` is that of the whole model on the same tokens, `places` are the positions whose logits are
    wanted: with a large vocabulary they are what takes time.
    """
    heads.require_two_layers(model, *general.all_but(general.HELD))
    for kind, later, earlier in instead:
        heads.layer_of(model, later), heads.layer_of(model, earlier)
        if (later[0], earlier[0]) != (1, 0) or kind not in KINDS:
            raise ValueError(
                f"an edge goes from layer 0 to layer 1 and is of kind Q, K or V, but this one goes "
                f'from {earlier} to {later} and is of kind "{kind}"'
            )
    layer, full, last = model.layers[1], trace.residual[1], trace.residual[2]
    for head in {later[1] for _, later, _ in instead}:
        read = dict.fromkeys(KINDS, full)
        for (kind, later, earlier), other in instead.items():
            if later[1] == head:
                read[kind] = read[kind] + other - trace.head_outputs[0][:, earlier[1]]
        A = trace.patterns[1][:, head]
        if read["Q"] is not full or read["K"] is not full:
            W_P = model.W_P[: full.shape[1]]
            A = layer.pattern(read["Q"], read["K"], W_P, head=head)[:, 0]
        last = last + layer.written(read["V"], A, head) - trace.head_outputs[1][:, head]
    return model.unembed(last[:, places])


def without_edge(
    model: Transformer,
    trace: Trace,
    kind: str,
    later: tuple[int, int],
    earlier: tuple[int, int],
    places: slice = slice(None),
) -> Float[Tensor, "batch _ n_vocab"]:
    """Logits of a two-layer model when one head of the second layer does not read one of the first.

    The output of `earlier` is missing from what `later` makes its queries ("Q"), keys ("K") or
    values ("V") from; everyone else still reads it. `trace` and `places` as for `patched`.
    """
    zero = torch.zeros_like(trace.residual[1])
    return patched(model, trace, {(kind, later, earlier): zero}, places)


def loss_increase(
    model: Transformer, inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "kind later_head earlier_head"]:
    """How much the loss rises without each edge between two layers. [nats per counted token]

    Kinds come in the order of `composition.KINDS`; see `without_edge`. Targets of -100 are not
    counted, so that the effect can be measured at chosen positions only.
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
