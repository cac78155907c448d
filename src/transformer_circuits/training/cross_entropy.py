"""The loss of every model of the book: the cross-entropy of the next token, in nats.

A token that was given the probability p costs −ln p. So a loss of L nats per token means that the
right token was given e^−L, on (geometric) average; guessing among n tokens costs ln n.
"""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows


def per_token(
    logits: Float[Tensor, "*batch pos n_vocab"], targets: Int[Tensor, "*batch pos"]
) -> Float[Tensor, "*batch pos"]:
    """What each target costs: −ln softmax(logits)[target], and 0 for targets of -100. [nats]

    TransformerLens: `lm_cross_entropy_loss(..., per_token=True)`, which shifts the tokens itself;
    here the logits at a position belong to the target at the same position.

    >>> logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
    >>> per_token(logits, torch.tensor([0])) / math.log(2)
    tensor([1.])
    """
    losses = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view_as(targets)


def mean(
    logits: Float[Tensor, "*batch pos n_vocab"], targets: Int[Tensor, "*batch pos"]
) -> Float[Tensor, ""]:
    """Mean of `per_token` over all targets but those of -100. [nats per token]"""
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


def loss_nats(
    model: Callable[..., Tensor],
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
) -> Float[Tensor, ""]:
    """Mean loss of a model: what training makes small. [nats per token]"""
    return mean(model(inputs), targets)


def batches(
    inputs: Int[Tensor, "n pos"], targets: Int[Tensor, "n pos"], *, size: int = 8
) -> Iterator[tuple[Int[Tensor, "batch pos"], Int[Tensor, "batch pos"]]]:
    """Inputs and targets in parts of at most `size` windows, for logits take much memory.

    The parts are as equal as can be: nine windows come as five and four, not as eight and one.
    """
    n_parts = math.ceil(len(inputs) / size)
    yield from zip(inputs.tensor_split(n_parts), targets.tensor_split(n_parts), strict=True)


@torch.no_grad()
def evaluate(
    model: Transformer, stream: Int[Tensor, " n_tokens"], n_windows: int = 64
) -> Float[Tensor, "n_windows n_ctx"]:
    """Loss at every position of evenly spaced windows of a stream. [nats]

    Raises:
        UserError: if the stream is shorter than one window.
    """
    pair = windows.evenly(stream, n_windows, model.config)
    parts = batches(*(part.to(model.W_E.device) for part in pair))
    return torch.cat([per_token(model(inputs), targets) for inputs, targets in parts]).cpu()
