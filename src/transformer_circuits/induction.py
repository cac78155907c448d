"""Repeated random tokens, and how much a model learns from its context (paper: "Induction
Heads"; the scores are those of Olsson et al. 2022)."""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model import Transformer
from transformer_circuits.tokenizer import BEGIN


def repeated(
    n_vocab: int, length: int, n_copies: int, n: int, generator: torch.Generator
) -> Int[Tensor, "n pos"]:
    """BEGIN, then `n_copies` times the same `length` uniformly random tokens.

    Use several lengths: at a single one, a head can learn to look that far back.

    Raises:
        ValueError: if there is not at least one token and one copy.
    """
    if length < 1 or n_copies < 1:
        raise ValueError(f"{n_copies} copies of {length} tokens asked for; both must be at least 1")
    tokens = torch.randint(1, n_vocab, (n, length), generator=generator)
    begin = torch.full((n, 1), BEGIN)
    return torch.cat([begin, tokens.repeat(1, n_copies)], dim=1)


@torch.no_grad()
def copy_losses(
    model: Transformer,
    lengths: range,
    n_copies: int,
    generator: torch.Generator,
    n: int = 4,
) -> Float[Tensor, " copy"]:
    """Mean loss within each copy of random tokens, over sequences of every length. [nats]

    The first token of a copy is left out: nothing before it says that a copy begins.

    Raises:
        ValueError: if the copies of the longest length do not fit into n_ctx, or the shortest
            has a single token.
    """
    longest = 1 + max(lengths) * n_copies
    if longest > model.config.n_ctx:
        raise ValueError(
            f"{n_copies} copies of {max(lengths)} tokens and BEGIN are {longest} tokens "
            f"but n_ctx is {model.config.n_ctx}"
        )
    if min(lengths) < 2:
        raise ValueError(f"the shortest length is {min(lengths)} but must be at least 2")
    rows = []
    for length in lengths:
        tokens = repeated(model.config.n_vocab, length, n_copies, n, generator)
        loss = F.cross_entropy(model(tokens)[:, :-1].mT, tokens[:, 1:], reduction="none")
        rows.append(loss.unflatten(1, (n_copies, length))[:, :, 1:].mean(dim=(0, 2)))
    return torch.stack(rows).mean(dim=0)


def late_minus_early(
    losses: Float[Tensor, "window pos"],
    late: tuple[int, int] = (450, 500),
    early: tuple[int, int] = (40, 60),
) -> float:
    """In-context-learning score: mean loss at late positions minus at early ones. [nats]

    Negative: the model predicts better with more context. Olsson et al. take positions 500 and
    50; means over a range around or before them are less noisy.

    Raises:
        ValueError: if there are not that many positions.
    """
    if losses.shape[1] < late[1]:
        raise ValueError(f"late positions end at {late[1]} but there are {losses.shape[1]}")
    return float(losses[:, slice(*late)].mean() - losses[:, slice(*early)].mean())
