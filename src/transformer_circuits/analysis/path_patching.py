"""Path patching: what is lost when one head no longer reads what another wrote (Goldowsky-Dill et
al. 2023).

What is patched is an edge between two heads, of kind Q, K or V: for its queries, keys or values
the later head reads zero in place of the earlier one's output, and all others read that output as
before. `composition` says how much the weights would let it read there; this says what it is
worth on some text.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Trace, Transformer


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
    """
    model.require_attention_only()
    layer, full = heads.layer_of(model, later), trace.residual[1]
    heads.layer_of(model, earlier)  # refuses a head that is not there
    if (n_layers := model.config.n_layers) != 2:
        raise ValueError(f"this cuts edges between two layers, but the model has {n_layers}")
    if (later[0], earlier[0]) != (1, 0):
        raise ValueError(
            f"an edge goes from layer 0 to layer 1, but this one from {earlier[0]} to {later[0]}"
        )
    if kind not in KINDS:
        raise ValueError(f'an edge is of kind Q, K or V, but this one is "{kind}"')
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
