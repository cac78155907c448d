"""Induction: gain from context, and heads that match prefixes (paper: "Induction Heads"; scores as
in Olsson et al. 2022). See `repeats` for predictions.
"""

from collections.abc import Callable
from types import SimpleNamespace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import patterns
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Pattern, Transformer
from transformer_circuits.text import windows
from transformer_circuits.text.tokenizer import BEGIN


@torch.no_grad()
def in_context_learning_score(
    model: Callable[[Tensor], Tensor],
    stream: Int[Tensor, " n_tokens"],
    n_windows: int = 128,
    late: tuple[int, int] = (480, 500),
    early: tuple[int, int] = (40, 60),
) -> Float[Tensor, " n_windows"]:
    """In-context-learning score: loss at late positions minus loss at early ones. [nats]

    Negative where the model predicts better with more context. One number per window; take their
    mean. Olsson et al. compare positions 500 and 50 of the same text. Here the *same tokens* are
    predicted twice, with much context and with little, so that their difficulty does not matter.
    `model`: any function from tokens to logits; unless its config says otherwise, contexts open
    with BEGIN.
    """
    length, shift = late[1] - late[0], late[0] - early[0]
    if length != early[1] - early[0] or length < 1 or shift < 0:
        raise ValueError(
            f"late is {late} and early {early} but both must be equally long, in order"
        )
    config = getattr(model, "config", None)
    if not isinstance(config, windows.Context):
        config = SimpleNamespace(n_ctx=late[1], begin=True)
    starts = windows.starts(stream, n_windows, config, n_ctx=late[1])

    def at_the_end(starts: Tensor, n_ctx: int) -> Float[Tensor, "n_windows length"]:
        pair = windows.at(stream, starts, config, n_ctx=n_ctx)
        inputs, targets = (part.to(cross_entropy.device(model, part)) for part in pair)
        n_vocab = cross_entropy.n_vocab(model, targets)
        at_once = 1 if isinstance(model, Transformer) else n_vocab
        parts = cross_entropy.batches(inputs, targets, n_vocab=at_once)
        return torch.cat([losses(batch, after[:, -length:]) for batch, after in parts]).cpu()

    def losses(batch: Int[Tensor, "batch pos"], last: Int[Tensor, "batch length"]) -> Tensor:
        if isinstance(model, Transformer):  # nothing is predicted at the other places
            places = torch.arange(batch.shape[1] - length, batch.shape[1], device=batch.device)
            return cross_entropy.of_streams(model, patterns.stream_at(model, batch, places), last)
        return cross_entropy.per_token(model(batch)[:, -length:], last)

    return (at_the_end(starts, late[1]) - at_the_end(starts + shift, early[1])).mean(dim=1)


def followers(tokens: Int[Tensor, "batch pos"]) -> Bool[Tensor, "batch dst src"]:
    """Sources right after an earlier occurrence of its token, for every destination.

    An induction head looks there: at (earlier occurrence) + 1, strictly before the destination.
    BEGIN has no followers and is none.

    >>> followers(torch.tensor([[0, 5, 6, 5]]))[0].int()[3]  # the second 5 looks at the 6
    tensor([0, 0, 1, 0], dtype=torch.int32)
    """
    same = (tokens[:, :, None] == tokens[:, None, :]) & (tokens != BEGIN)[:, :, None]
    after = torch.zeros_like(same)  # [batch, dst, src]: the source before this one is the same
    after[:, :, 1:] = same[:, :, :-1]
    return after & (tokens != BEGIN)[:, None, :] & torch.ones_like(same[0]).tril(-1)


def prefix_matching_score(A: Pattern, tokens: Int[Tensor, "batch dst"]) -> Float[Tensor, " head"]:
    """Attention to followers of earlier occurrences of the token (`followers`), per head.

    A probability, 0 to 1: the mean over the destinations that have followers. Compare it with
    `uniform_matching`, the score of a head that attends to everything alike. Olsson et al. measure
    it on repeated random tokens.

    >>> from transformer_circuits.model import hand_built
    >>> tokens = torch.tensor([[0, 1, 2, 3, 1, 2, 3]])
    >>> patterns = hand_built.induction(n_vocab=4, n_ctx=7).trace(tokens).patterns
    >>> [prefix_matching_score(A, tokens).round(decimals=3).tolist() for A in patterns]
    [[0.0], [1.0]]
    """
    where = followers(tokens)  # [batch, dst, src]
    have = where.any(dim=-1)  # [batch, dst]
    if not have.any():
        raise ValueError("no token occurs twice, so there is nothing to match")
    attention = (A * where[:, None]).sum(dim=-1)  # [batch, head, dst]
    return (attention * have[:, None]).sum(dim=(0, 2)) / have.sum()


def uniform_matching(tokens: Int[Tensor, "batch pos"]) -> float:
    """`prefix_matching_score` of uniform attention: its null on these tokens."""
    allowed = torch.ones(tokens.shape[1], tokens.shape[1], device=tokens.device).tril()
    uniform = allowed / allowed.sum(dim=1, keepdim=True)
    return float(prefix_matching_score(uniform.expand(len(tokens), 1, -1, -1), tokens)[0])
