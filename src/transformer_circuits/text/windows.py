"""Windows of a stream of tokens: the contexts that a model is trained and tested on.

A window fills one context. Its inputs are n_ctx tokens; its targets are the same text one token on,
so `targets[:, t]` is the token that follows `inputs[:, t]`.
"""

from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.text.tokenizer import BEGIN

NEAR = 4
"""Most contexts between a random place and the windows from which `batch` takes the most repetitive one."""


@runtime_checkable
class Context(Protocol):
    """Properties of a model that windows depend on; its `ModelConfig` has them."""

    @property
    def n_ctx(self) -> int:
        """Tokens of a context."""

    @property
    def begin(self) -> bool:
        """True if every context opens with BEGIN."""


def starts(
    stream: Int[Tensor, " n_tokens"], n: int, config: Context, *, n_ctx: int | None = None
) -> Int[Tensor, " n"]:
    """First places of `n` evenly spaced windows of a stream, from the first possible one to the last.

    `n_ctx`: the length of a window, where it is not the model's.
    """
    return spaced(_last_start(stream, config, n_ctx), n)


def spaced(last: int, n: int) -> Int[Tensor, " n"]:
    """`n` evenly spaced places of a text, from 0 to `last`.

    In float64: a long text has more places than float32 has whole numbers.
    """
    if n < 1:
        raise ValueError(f"{n} places asked for but there must be one at least")
    return torch.linspace(0, last, n, dtype=torch.float64).long()


def at(
    stream: Int[Tensor, " n_tokens"],
    starts: Int[Tensor, " batch"],
    config: Context,
    *,
    n_ctx: int | None = None,
) -> tuple[Int[Tensor, "batch n_ctx"], Int[Tensor, "batch n_ctx"]]:
    """Inputs and targets of the windows of a stream that begin at the given places.

    Where the model's contexts open with BEGIN, inputs are BEGIN and then the text from each start
    on; else they are the text alone.

    `n_ctx`: the length of a window, where it is not the model's.
    """
    text = _text(stream, starts, config, n_ctx)
    return text[:, :-1], text[:, 1:]


def evenly(
    stream: Int[Tensor, " n_tokens"], n: int, config: Context, *, n_ctx: int | None = None
) -> tuple[Int[Tensor, "n n_ctx"], Int[Tensor, "n n_ctx"]]:
    """Inputs and targets of `n` evenly spaced windows, from the first possible one to the last.

    `n_ctx`: the length of a window, where it is not the model's.

    >>> from types import SimpleNamespace
    >>> text = torch.arange(1, 9)
    >>> inputs, targets = evenly(text, 2, SimpleNamespace(n_ctx=3, begin=True))
    >>> inputs
    tensor([[0, 1, 2],
            [0, 6, 7]])
    >>> targets
    tensor([[1, 2, 3],
            [6, 7, 8]])
    """
    return at(stream, starts(stream, n, config, n_ctx=n_ctx), config, n_ctx=n_ctx)


def batch(
    stream: Int[Tensor, " n_tokens"],
    size: int,
    config: Context,
    *,
    best_of: int = 1,
    generator: torch.Generator,
) -> tuple[Int[Tensor, "size n_ctx"], Int[Tensor, "size n_ctx"]]:
    """Inputs and targets of windows at random places, for one training step.

    `best_of`: the number of windows drawn for each that is taken, all near each other (`NEAR`), so
    that every kind of text keeps its share; the one with the most `repetition` is taken.
    """
    last = _last_start(stream, config)
    places = torch.randint(last + 1, (size,), generator=generator)
    if best_of > 1:
        reach = NEAR * config.n_ctx
        apart = torch.randint(-reach, reach + 1, (size, best_of), generator=generator)
        near = (places[:, None] + apart).clamp(0, last)
        scores = repetition(_text(stream, near.flatten(), config)).view(size, best_of)
        places = near[torch.arange(size), scores.argmax(dim=1)]
    text = _text(stream, places, config)
    return text[:, :-1], text[:, 1:]


def repetition(tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, " batch"]:
    """Share of a text's trigrams that came before in it, 0 to 1.

    >>> repetition(torch.tensor([[1, 2, 3, 4, 1, 2, 3], [5, 5, 5, 5, 5, 5, 5]]))
    tensor([0.2000, 0.8000])
    """
    text = tokens.long()
    n = int(text.max()) + 1
    trigrams = (text[:, :-2] * n + text[:, 1:-1]) * n + text[:, 2:]
    in_order = trigrams.sort(dim=1).values
    return (in_order[:, 1:] == in_order[:, :-1]).sum(dim=1) / trigrams.shape[1]


def completes_repeat(
    inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Bool[Tensor, "batch pos"]:
    """Targets that complete a repeat: B after A, where an AB stood earlier in the window.

    An ideal induction head may get these right, as one of the places that it looks at has the right
    follower.

    >>> text = torch.tensor([[7, 8, 9, 7, 8, 7, 8]])
    >>> completes_repeat(text[:, :-1], text[:, 1:])
    tensor([[False, False, False,  True, False,  True]])
    """
    pairs = (
        inputs.long() * (int(targets.max()) + 1) + targets
    )  # [batch, pos], one number per bigram
    in_order, places = pairs.sort(dim=1, stable=True)
    seen = F.pad(in_order[:, 1:] == in_order[:, :-1], (1, 0))  # all but the first of equal ones
    return torch.zeros_like(seen).scatter(1, places, seen)


def _length(config: Context, n_ctx: int | None) -> int:
    """Tokens that a window takes from the stream: its targets, and its first input if not BEGIN."""
    return (config.n_ctx if n_ctx is None else n_ctx) + (not config.begin)


def _last_start(stream: Tensor, config: Context, n_ctx: int | None = None) -> int:
    length = _length(config, n_ctx)
    if len(stream) < length:
        raise files.UserError(f"the stream has {len(stream)} tokens but a window takes {length}")
    return len(stream) - length


def _text(
    stream: Tensor, starts: Tensor, config: Context, n_ctx: int | None = None
) -> Int[Tensor, "batch n_ctx_and_one"]:
    """Inputs of each window and, after them, the last target."""
    length = _length(config, n_ctx)
    first, last = int(starts.min()), int(starts.max())
    if first < 0 or last + length > len(stream):
        raise files.UserError(
            f"windows of {length} tokens start from {first} to {last}, "
            f"but the stream has {len(stream)} tokens"
        )
    text = stream[starts[:, None] + torch.arange(length)].long()  # [batch, length]
    return F.pad(text, (1, 0), value=BEGIN) if config.begin else text
