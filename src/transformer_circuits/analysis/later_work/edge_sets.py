"""Sets of edges patched at once, with any replacement; interactions of two; and the noise floor of effects.

`path_patching` cuts one edge and puts zero there. Other choices, the head's mean or its output on
another text, leave the later head among inputs that it knows.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import path_patching
from transformer_circuits.analysis.heads import HeadName, named
from transformer_circuits.analysis.path_patching import EdgeName
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer

INSTEAD = ("zero", "mean", "resampled")


def replacement(trace: Trace, earlier: HeadName, what: str) -> Float[Tensor, "batch pos d"]:
    """Replacement for the output of a head of the first layer: one of `INSTEAD`.

    "zero"; its "mean" over the batch and all positions; or, "resampled", its output at the same
    position of the next text of the batch.
    """
    written = trace.head_outputs[0][:, named(earlier).head]
    if what not in INSTEAD:
        raise ValueError(f'patched in is one of {INSTEAD} but "{what}" was asked for')
    if what == "zero":
        return torch.zeros_like(written)
    if what == "mean":
        return written.mean(dim=(0, 1)).expand_as(written)
    if len(written) < 2:
        raise ValueError("resampling takes at least two texts but the batch has one")
    return written.roll(1, dims=0)


def rise(
    model: Transformer,
    trace: Trace,
    targets: Int[Tensor, "batch pos"],
    edges: Iterable[EdgeName],
    what: str = "zero",
) -> Float[Tensor, " batch"]:
    """Rise of the loss of each text with these edges patched, together. [nats per token]

    Targets of -100 are not counted.
    """
    instead = {edge: replacement(trace, edge[2], what) for edge in edges}
    counted = (targets != -100).sum(dim=1)
    after = path_patching.losses_patched(model, trace, instead, targets).sum(dim=1)
    return (after - cross_entropy.per_token(trace.logits, targets).sum(dim=1)) / counted


def interaction(
    model: Transformer,
    trace: Trace,
    targets: Int[Tensor, "batch pos"],
    first: EdgeName,
    second: EdgeName,
) -> Float[Tensor, " batch"]:
    """Cost of two edges together, less the sum of their single costs. [nats per token]

    Above 0, one stands in for the other, and each looks dispensable while the other is there. Below
    0 they work as one, so that cutting the second adds little. At 0 they matter apart.
    """
    both = rise(model, trace, targets, (first, second))
    alone = [rise(model, trace, targets, (edge,)) for edge in (first, second)]
    return both - alone[0] - alone[1]


def noise_floor(
    values: Float[Tensor, "unit *edge"], n: int = 200, *, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Threshold of a sign-flip test over all edges: chance alone exceeds it once in twenty.

    The sign of every unit (a window, a passage) is drawn anew, for all edges alike, so that only
    the mean of noise is left; of each of the `n` draws the largest of all edges counts. Stop
    following edges whose mean is smaller: other text would give another order.
    """
    signs = torch.randint(2, (n, len(values)), generator=generator).to(values) * 2 - 1
    means = (signs @ values.flatten(1) / len(values)).abs()
    return means.max(dim=1).values.quantile(0.95)
