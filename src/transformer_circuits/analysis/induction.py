"""Induction: how well a model predicts tokens that are repeated, how much it gains from context,
and which heads match prefixes (paper: "Induction Heads"; scores as in Olsson et al. 2022)."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation
from transformer_circuits.model.attention import Pattern
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows
from transformer_circuits.text.tokenizer import BEGIN
from transformer_circuits.training import cross_entropy


def repeated(
    n_vocab: int, length: int, n_copies: int, n: int, *, generator: torch.Generator
) -> Int[Tensor, "n pos"]:
    """BEGIN, then `n_copies` times the same `length` uniformly random tokens.

    Use several lengths: at a single one, a head that always looks that far back would do.

    Raises:
        ValueError: if there is not at least one token and one copy.
    """
    if length < 1 or n_copies < 1:
        raise ValueError(f"{n_copies} copies of {length} tokens asked for; both must be at least 1")
    tokens = torch.randint(1, n_vocab, (n, length), generator=generator)
    begin = torch.full((n, 1), BEGIN)
    return torch.cat([begin, tokens.repeat(1, n_copies)], dim=1)


def every_length(
    model: Transformer, lengths: range, n_copies: int, n: int, *, generator: torch.Generator
) -> Iterator[tuple[int, Int[Tensor, "n pos"]]]:
    """For each length, that length and `n` sequences of `repeated` tokens.

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
    for length in lengths:
        yield length, repeated(model.config.n_vocab, length, n_copies, n, generator=generator)


def targets_of_copy(tokens: Int[Tensor, "n pos"], length: int, copy: int) -> Int[Tensor, "n pos"]:
    """The next tokens within one copy (from 0) of `repeated` tokens, and -100 elsewhere.

    The first token of the copy is left out: no context says that a copy begins there.
    """
    position = torch.arange(tokens.shape[1], device=tokens.device)
    counted = (position > copy * length) & (position < (copy + 1) * length)
    return tokens.roll(-1, dims=1).masked_fill(~counted, -100)


@torch.no_grad()
def copy_losses(
    model: Transformer,
    lengths: range,
    n_copies: int,
    n: int = 4,
    *,
    generator: torch.Generator,
) -> Float[Tensor, " copy"]:
    """Mean loss within each copy of random tokens, over sequences of every length. [nats]

    The first token of each copy is left out: no context says that a copy begins there.

    Raises:
        ValueError: if the copies of the longest length do not fit into n_ctx, or the shortest
            has a single token.
    """
    rows = []
    for length, tokens in every_length(model, lengths, n_copies, n, generator=generator):
        tokens = tokens.to(model.W_E.device)
        loss = cross_entropy.per_token(model(tokens)[:, :-1], tokens[:, 1:])
        rows.append(loss.unflatten(1, (n_copies, length))[:, :, 1:].mean(dim=(0, 2)))
    return torch.stack(rows).mean(dim=0).cpu()


@torch.no_grad()
def next_token_preference(
    model: Transformer,
    lengths: range,
    n_copies: int,
    n: int = 4,
    *,
    generator: torch.Generator,
) -> Float[Tensor, " copy"]:
    """How often the next token gets a higher logit than another token of the passage, by copy.

    The share of pairs (position, other token of the passage) in which it does: 0.5 by chance, 1
    with perfect induction. A model that raises all the tokens it has seen alike, without knowing
    which comes next, lowers its loss but stays at 0.5.

    Raises:
        ValueError: as `copy_losses`.
    """
    rows = []
    for length, tokens in every_length(model, lengths, n_copies, n, generator=generator):
        logits = model(tokens.to(model.W_E.device))[:, :-1].cpu()
        passage, correct = tokens[:, 1 : 1 + length], tokens[:, 1:]  # [n, token], [n, pos]
        of_correct = logits.gather(2, correct[:, :, None])  # [n, pos, 1]
        every_position = passage[:, None].expand(-1, correct.shape[1], -1)  # [n, pos, token]
        of_passage = logits.gather(2, every_position)  # [n, pos, token]
        others = every_position != correct[:, :, None]  # [n, pos, token]
        n_beaten = ((of_correct > of_passage) & others).sum(dim=2, dtype=logits.dtype)  # [n, pos]
        beaten = n_beaten / others.sum(dim=2).clamp(min=1)  # [n, pos]
        rows.append(beaten.unflatten(1, (n_copies, length))[:, :, 1:].mean(dim=(0, 2)))
    return torch.stack(rows).mean(dim=0)


def loss_increase_by_copy(
    model: Transformer,
    lengths: range,
    n: int = 8,
    frozen: bool = False,
    *,
    generator: torch.Generator,
) -> Float[Tensor, "copy layer head"]:
    """How much the loss rises without each head, in each of two copies of random tokens.

    [nats per token], the mean over `n` sequences of every length. The head writes nothing;
    `frozen` as in `ablation.with_output`. Losing a head can help on random tokens whether they
    repeat or not: what the head does for repeats is the second increase minus the first.

    Raises:
        ValueError: if there are no lengths, or as `copy_losses`.
    """
    if not len(lengths):
        raise ValueError("no lengths given, but at least one is needed")
    rows = []
    for length, tokens in every_length(model, lengths, 2, n, generator=generator):
        tokens = tokens.to(model.W_E.device)
        targets = (targets_of_copy(tokens, length, copy) for copy in (0, 1))
        each = [ablation.loss_increase(model, tokens, copy, frozen=frozen) for copy in targets]
        rows.append(torch.stack(each))
    return torch.stack(rows).mean(dim=0)


@torch.no_grad()
def in_context_learning_score(
    model: Transformer,
    stream: Int[Tensor, " n_tokens"],
    n_windows: int = 128,
    late: tuple[int, int] = (480, 500),
    early: tuple[int, int] = (40, 60),
) -> Float[Tensor, " n_windows"]:
    """In-context-learning score: loss at late positions minus loss at early ones. [nats]

    Negative where the model predicts better with more context. One number per window; take their
    mean. Olsson et al. compare positions 500 and 50 of the same text. Here the *same tokens* are
    predicted twice, with much context and with little, so that it does not matter which are hard.

    Raises:
        ValueError: if the ranges differ in length, late is not after early, or does not fit.
    """
    length, shift = late[1] - late[0], late[0] - early[0]
    if length != early[1] - early[0] or length < 1 or shift < 0:
        raise ValueError(
            f"late is {late} and early {early} but both must be equally long, in order"
        )
    longest = min(model.config.n_ctx, len(stream))
    if late[1] > longest:
        raise ValueError(f"late positions end at {late[1]} but there are {longest}")
    starts = windows.starts(stream, n_windows, model.config, n_ctx=late[1])

    def at_the_end(starts: Tensor, n_ctx: int) -> Float[Tensor, "n_windows length"]:
        pair = windows.at(stream, starts, model.config, n_ctx=n_ctx)
        parts = cross_entropy.batches(*(part.to(model.W_E.device) for part in pair))
        ends = ((model(batch)[:, -length:], after[:, -length:]) for batch, after in parts)
        return torch.cat([cross_entropy.per_token(*end) for end in ends]).cpu()

    return (at_the_end(starts, late[1]) - at_the_end(starts + shift, early[1])).mean(dim=1)


def followers(tokens: Int[Tensor, "batch pos"]) -> Bool[Tensor, "batch dst src"]:
    """For every destination, the sources right after an earlier occurrence of its token.

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
    """Attention to what followed earlier occurrences of the token (`followers`), per head.

    A probability, 0 to 1: the mean over the destinations that have followers. Compare it with
    `uniform_matching`, the score of a head that attends to everything alike. Olsson et al. measure
    it on repeated random tokens.

    >>> from transformer_circuits.model import hand_built
    >>> tokens = torch.tensor([[0, 1, 2, 3, 1, 2, 3]])
    >>> patterns = hand_built.induction(n_vocab=4, n_ctx=7).trace(tokens).patterns
    >>> [prefix_matching_score(A, tokens).round(decimals=3).tolist() for A in patterns]
    [[0.0], [1.0]]

    Raises:
        ValueError: if no token occurs twice.
    """
    where = followers(tokens)  # [batch, dst, src]
    have = where.any(dim=-1)  # [batch, dst]
    if not have.any():
        raise ValueError("no token occurs twice, so there is nothing to match")
    attention = (A * where[:, None]).sum(dim=-1)  # [batch, head, dst]
    return (attention * have[:, None]).sum(dim=(0, 2)) / have.sum()


def uniform_matching(tokens: Int[Tensor, "batch pos"]) -> float:
    """What `prefix_matching_score` gives for uniform attention: its null on these tokens.

    Raises:
        ValueError: if no token occurs twice.
    """
    allowed = torch.ones(tokens.shape[1], tokens.shape[1], device=tokens.device).tril()
    uniform = allowed / allowed.sum(dim=1, keepdim=True)
    return float(prefix_matching_score(uniform.expand(len(tokens), 1, -1, -1), tokens)[0])
