"""The loss of every model of the book: the cross-entropy of the next token, in nats.

A token with the probability p costs −ln p. So a loss of L nats per token means that the right token
had e^−L, on (geometric) average; guessing among n tokens costs ln n.

*The loss of a model on held-out text* is one number, wherever the book gives it: the mean of
`evaluate`, over `N_WINDOWS` evenly spaced windows of the small profile's validation text, for every
model the same ones. Training writes it into the log, `checkpoint.held_out_nats` reads it, and
`python -m transformer_circuits eval NAME` computes it anew. Other windows would have given another
number, by about `uncertainty`. A loss on fewer windows, to save time, is called so in a chapter or
log ("on these 16 windows"), and is compared with losses on the same ones alone.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.model import general
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows

N_WINDOWS = 64
"""Windows of held-out text over which the loss of a model is taken."""
LOGITS = 2**21
"""Most logits at once: 8 MB of them in float32, as larger arrays take longer than several of these."""


def per_token(
    logits: Float[Tensor, "*batch pos n_vocab"], targets: Int[Tensor, "*batch pos"]
) -> Float[Tensor, "*batch pos"]:
    """Loss of each target: −ln softmax(logits)[target], and 0 for targets of -100. [nats]

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


def of_streams(
    model: Transformer, x: Float[Tensor, "n *pos d_model"], targets: Int[Tensor, "n *pos"]
) -> Float[Tensor, "n *pos"]:
    """`per_token` of the logits of residual streams, about `LOGITS` of them at once. [nats]"""
    size = max(1, LOGITS // (len(model.W_U) * max(1, targets[:1].numel())))
    parts = zip(x.split(size), targets.split(size), strict=True)
    return torch.cat([per_token(model.unembed(part), right) for part, right in parts])


def changed(
    logits: Float[Tensor, "target n_vocab"],
    change: Float[Tensor, "target d"],
    unembed: Float[Tensor, "n_vocab d"],
    targets: Int[Tensor, " target"],
) -> Float[Tensor, " target"]:
    """Loss of each target when `change @ unembed.T` is added to the logits. [nats]

    A head's result has d_head numbers at each place, so that with `unembed` = W_U W_O this takes a
    fraction of the time of new logits.
    """
    size = max(1, LOGITS // len(unembed))
    parts = zip(*(values.split(size) for values in (logits, change, targets)), strict=True)
    losses = [per_token(torch.addmm(part, less, unembed.T), right) for part, less, right in parts]
    return torch.cat(losses)


def loss_nats(
    model: Callable[..., Tensor],
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    *,
    weights: Float[Tensor, "batch pos"] | None = None,
    **options: Any,
) -> Float[Tensor, ""]:
    """Mean loss of a model, which training makes small. [nats per token]

    `weights`: the weight of each target in the mean; all the same by default. `options`: arguments
    of the model's forward pass beside the inputs.
    """
    logits = model(inputs, **options)
    if weights is None:
        return mean(logits, targets)
    return (weights * per_token(logits, targets)).sum() / weights.sum()


def batches(
    inputs: Int[Tensor, "n pos"], targets: Int[Tensor, "n pos"], *, size: int = 8, n_vocab: int = 1
) -> Iterator[tuple[Int[Tensor, "batch pos"], Int[Tensor, "batch pos"]]]:
    """Inputs and targets in parts of at most `size` windows, for logits take much memory.

    The parts are as equal as can be: nine windows come as five and four, not as eight and one. With
    `n_vocab` no part has more than `LOGITS` logits, unless one window has.
    """
    size = max(1, min(size, LOGITS // (n_vocab * inputs.shape[1])))
    n_parts = math.ceil(len(inputs) / size)
    yield from zip(inputs.tensor_split(n_parts), targets.tensor_split(n_parts), strict=True)


def device(model: object, like: Tensor) -> torch.device:
    """Device of a model's weights; that of `like`, for a model that does not tell."""
    if isinstance(model, nn.Module):
        like = next(model.parameters(), like)
    return getattr(model, "W_E", like).device


def n_vocab(model: Callable[[Tensor], Tensor], tokens: Int[Tensor, "n pos"]) -> int:
    """Number of tokens that a model has logits for; an error if it has none for some of these targets."""
    if isinstance(model, Transformer):
        model.require(*general.all_but(general.OUTPUTS))
        return model.config.n_vocab
    n = model(tokens[:1, :1]).shape[-1]
    if n <= (highest := int(tokens.max())):
        raise ValueError(f"the model has {n} logits, but token {highest} is to be predicted")
    return n


@torch.no_grad()
def evaluate(
    model: Transformer, stream: Int[Tensor, " n_tokens"], n_windows: int = N_WINDOWS
) -> Float[Tensor, "n_windows n_ctx"]:
    """Loss at every position of evenly spaced windows of a stream. [nats]

    Of held-out text, and with as many windows as by default, its mean is the loss of the model.
    """
    pair = windows.evenly(stream, n_windows, model.config)
    pair = (part.to(model.W_E.device) for part in pair)
    parts = batches(*pair, n_vocab=model.config.n_vocab)
    return torch.cat([per_token(model(inputs), targets) for inputs, targets in parts]).cpu()


def uncertainty(losses: Float[Tensor, "n_windows n_ctx"]) -> float:
    """Two standard errors of a mean loss, over windows: the effect of other windows. [nats]

    By windows, as the tokens of one window share their text and are not independent. The difference
    between two models is mostly surer than either loss, since a window that is hard for one is hard
    for both; give this function the differences to see.

    >>> round(uncertainty(torch.tensor([[3.0, 5.0], [1.0, 3.0], [5.0, 7.0], [3.0, 5.0]])), 3)
    1.633
    """
    if len(losses) < 2:
        raise ValueError(f"the spread over windows takes at least 2 of them but got {len(losses)}")
    return 2 * float(losses.mean(dim=1).std()) / math.sqrt(len(losses))
