"""Passages that come twice: how well a model predicts the second copy (paper: "Induction Heads").

The passages are text, or random tokens: uniformly random ones, which rule out every statistic of
the language, or tokens drawn as often as the text has them, for tokens that a model hardly ever
saw say little about what it does with the others.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN
from transformer_circuits.training import cross_entropy


@dataclass(frozen=True)
class Predictions:
    """What a model makes of each token of each copy but the first, which nothing announces."""

    loss: Float[Tensor, "n copy pos"]
    """In nats."""
    rank: Int[Tensor, "n copy pos"]
    """Place of the right token among all of the vocabulary by its logit; 1 is the first."""

    def mean_loss(self) -> Float[Tensor, " copy"]:
        """In nats per token. Guessing costs ln n_vocab."""
        return self.loss.mean(dim=(0, 2))

    def right_first(self) -> Float[Tensor, " copy"]:
        """How often the right token gets the highest logit of all, from 0 to 1."""
        return (self.rank == 1).to(self.loss.dtype).mean(dim=(0, 2))

    def median_rank(self) -> Float[Tensor, " copy"]:
        """The place that half of the right tokens reach; about n_vocab / 2 by chance."""
        return self.rank.transpose(0, 1).flatten(1).to(self.loss.dtype).quantile(0.5, dim=1)


def drawn(
    weights: Float[Tensor, " n_vocab"], n: int, length: int, *, generator: torch.Generator
) -> Int[Tensor, "n length"]:
    """`n` passages of random tokens, each drawn in proportion to its weight, but never BEGIN.

    Ones draw uniformly, counts of a text (`counts`) as often as the text has each, and ones and
    zeros (`quartile`) among some tokens.

    Raises:
        ValueError: if no token but BEGIN has a positive weight, or a weight is negative.
    """
    weights = weights.clone()
    weights[BEGIN] = 0
    if not weights.sum() > 0 or weights.min() < 0:
        raise ValueError("weights must be at least 0, and above it for a token other than BEGIN")
    return torch.multinomial(weights, n * length, True, generator=generator).view(n, length)


def counts(text: Int[Tensor, " n_tokens"], n_vocab: int) -> Float[Tensor, " n_vocab"]:
    """How often a text has each token."""
    return torch.bincount(text.long(), minlength=n_vocab).float()


def quartile(of: Float[Tensor, " n_vocab"], which: int) -> Float[Tensor, " n_vocab"]:
    """1 for the tokens of one quarter of the vocabulary by how frequent they are, else 0.

    `which`: 0 for the most frequent quarter to 3 for the rarest.

    Raises:
        ValueError: if `which` is not one of these.
    """
    if which not in range(4):
        raise ValueError(f"the quartile is {which} but must be one of 0, 1, 2, 3")
    chosen = torch.zeros_like(of)
    chosen[of.argsort(descending=True, stable=True).tensor_split(4)[which]] = 1
    return chosen


def passages(text: Int[Tensor, " n_tokens"], n: int, length: int) -> Int[Tensor, "n length"]:
    """`n` evenly spaced passages of a text.

    Raises:
        ValueError: if the text is shorter than one passage.
    """
    if len(text) < length:
        raise ValueError(f"a passage takes {length} tokens but the text has {len(text)}")
    first = torch.linspace(0, len(text) - length, n).long()
    return text[first[:, None] + torch.arange(length)].long()


def copies(passages: Int[Tensor, "n length"], n_copies: int = 2) -> Int[Tensor, "n pos"]:
    """BEGIN, then each passage `n_copies` times.

    >>> copies(torch.tensor([[7, 3]]))
    tensor([[0, 7, 3, 7, 3]])
    """
    begin = passages.new_full((len(passages), 1), BEGIN)
    return torch.cat([begin, passages.repeat(1, n_copies)], dim=1)


@torch.no_grad()
def predictions(
    model: Transformer, passages: Int[Tensor, "n length"], n_copies: int = 2
) -> Predictions:
    """Loss and rank of the tokens of passages, each of which comes `n_copies` times.

    Raises:
        ValueError: if a passage has fewer than two tokens, or the copies do not fit into n_ctx.
    """
    length = passages.shape[1]
    if length < 2:
        raise ValueError(f"passages have {length} token but must have at least 2")
    tokens = copies(passages.to(model.W_E.device), n_copies)
    losses, ranks = [], []
    for inputs, targets in cross_entropy.batches(tokens[:, :-1], tokens[:, 1:]):
        logits = model(inputs)  # [n, pos, n_vocab]
        losses.append(cross_entropy.per_token(logits, targets))
        right = logits.gather(2, targets[:, :, None])  # [n, pos, 1]
        ranks.append(1 + (logits > right).sum(dim=2))

    def by_copy(rows: list[Tensor]) -> Tensor:
        return torch.cat(rows).unflatten(1, (n_copies, length))[:, :, 1:].cpu()

    return Predictions(by_copy(losses), by_copy(ranks))
