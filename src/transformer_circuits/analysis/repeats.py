"""Passages that come twice: predictions of the second copy (paper: "Induction Heads").

The passages are text, or random tokens: uniformly random ones, which rule out every statistic of
the language, or tokens drawn as often as the text has them, for tokens that a model hardly ever saw
tell little about its behaviour with the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows
from transformer_circuits.text.tokenizer import BEGIN

EQUAL = 1e-4
"""Largest difference of logits that count as the same: their order then depends on the order in
which a processor adds. Two tokens that a hand-built model finds in two places are exactly as
likely.
"""


@dataclass(frozen=True)
class Predictions:
    """Predictions of every token of each copy but its first token, which nothing announces.

    The last axis is one shorter than the passage.
    """

    loss: Float[Tensor, "n copy pos"]
    """In nats."""
    rank: Int[Tensor, "n copy pos"]
    """Rank of the right token in the vocabulary by its logit; 1 is the first. Tokens with the same
    logit, to `EQUAL`, go before it: a model that gives all the same has found nothing.
    """
    preferred: Float[Tensor, "n copy pos"]
    """Share of the passage's other tokens with a lower logit, where equal logits, to `EQUAL`, count half:
    0.5 on average by chance, 1 with perfect induction. A model that raises all seen tokens alike, and so
    loses less on the second copy without knowing which token comes next, stays at 0.5.
    """

    def mean_loss(self) -> Float[Tensor, " copy"]:
        """Mean loss in nats per token. Guessing costs ln n_vocab."""
        return self.loss.mean(dim=(0, 2))

    def right_first(self) -> Float[Tensor, " copy"]:
        """Rate at which the right token gets the highest logit of all, from 0 to 1."""
        return (self.rank == 1).to(self.loss.dtype).mean(dim=(0, 2))

    def mean_preferred(self) -> Float[Tensor, " copy"]:
        """Mean of `preferred` for each copy, the first too. 0 to 1; a tie counts as half."""
        return self.preferred.mean(dim=(0, 2))

    def median_rank(self) -> Float[Tensor, " copy"]:
        """Median rank of the right token; about n_vocab / 2 by chance."""
        return self.rank.transpose(0, 1).flatten(1).to(self.loss.dtype).quantile(0.5, dim=1)


def drawn(
    weights: Float[Tensor, " n_vocab"], n: int, length: int, *, generator: torch.Generator
) -> Int[Tensor, "n length"]:
    """`n` passages of random tokens, each drawn in proportion to its weight, but never BEGIN.

    Weights of one draw uniformly, counts of a text (`counts`) as often as the text has each, and
    ones and zeros (`quartile`) among some tokens.
    """
    weights = weights.clone()
    weights[BEGIN] = 0
    return torch.multinomial(weights, n * length, True, generator=generator).view(n, length)


def counts(text: Int[Tensor, " n_tokens"], n_vocab: int) -> Float[Tensor, " n_vocab"]:
    """Counts of each token in a text."""
    return torch.bincount(text.long(), minlength=n_vocab).float()


def quartile(frequency: Float[Tensor, " n_vocab"], which: int) -> Float[Tensor, " n_vocab"]:
    """Mask, 1 for the tokens of one quarter of the vocabulary by frequency, else 0.

    `which`: 0 for the most frequent quarter to 3 for the rarest.
    """
    chosen = torch.zeros_like(frequency)
    chosen[frequency.argsort(descending=True, stable=True).tensor_split(4)[which]] = 1
    return chosen


def passages(text: Int[Tensor, " n_tokens"], n: int, length: int) -> Int[Tensor, "n length"]:
    """`n` evenly spaced passages of a text."""
    if len(text) < length:
        raise ValueError(f"a passage takes {length} tokens but the text has {len(text)}")
    first = windows.spaced(len(text) - length, n)
    return text[first[:, None] + torch.arange(length)].long()


def copies(
    passages: Int[Tensor, "n length"], n_copies: int = 2, *, begin: bool = True
) -> Int[Tensor, "n pos"]:
    """BEGIN, unless a model's contexts open without, then each passage `n_copies` times.

    >>> copies(torch.tensor([[7, 3]]))
    tensor([[0, 7, 3, 7, 3]])
    """
    if passages.ndim != 2:
        raise ValueError(f"passages must be [n, length] but are {[*passages.shape]}")
    opens = passages.new_full((len(passages), int(begin)), BEGIN)
    return torch.cat([opens, passages.repeat(1, n_copies)], dim=1)


@torch.no_grad()
def predictions(
    model: Callable[[Tensor], Tensor], passages: Int[Tensor, "n length"], n_copies: int = 2
) -> Predictions:
    """Loss and rank of the tokens of passages, each of which comes `n_copies` times.

    `model`: any function from tokens to logits [batch, pos, n_vocab], from any library; its contexts open
    with BEGIN, unless its `config.begin` says that they do not.
    """
    length, begin = passages.shape[1], getattr(getattr(model, "config", None), "begin", True)
    passages = passages.to(cross_entropy.device(model, passages))
    tokens = copies(passages, n_copies, begin=begin)
    losses, ranks, preferred = [], [], []
    n_vocab = cross_entropy.n_vocab(model, tokens)
    for inputs, targets in cross_entropy.batches(tokens[:, :-1], tokens[:, 1:], n_vocab=n_vocab):
        logits = model(inputs)  # [n, pos, n_vocab]
        losses.append(cross_entropy.per_token(logits, targets))
        right = logits.gather(2, targets[:, :, None])  # [n, pos, 1]
        ranks.append((logits >= right - EQUAL).sum(dim=2))  # it is one of them
        passage = targets[:, None, :length].expand(-1, targets.shape[1], -1)  # [n, pos, token]
        others = passage != targets[:, :, None]
        ahead = right - logits.gather(2, passage)
        beaten = (ahead > EQUAL).to(logits.dtype) + 0.5 * (ahead.abs() <= EQUAL)
        preferred.append((beaten * others).sum(dim=2) / others.sum(dim=2).clamp(min=1))

    def by_copy(rows: list[Tensor]) -> Tensor:
        every = F.pad(torch.cat(rows), (int(not begin), 0))  # what opens a context is not predicted
        return every.unflatten(1, (n_copies, length))[:, :, 1:].cpu()

    return Predictions(by_copy(losses), by_copy(ranks), by_copy(preferred))


def targets_of_copy(tokens: Int[Tensor, "n pos"], length: int, copy: int) -> Int[Tensor, "n pos"]:
    """Next tokens within one copy (from 0) of passages of this length, and -100 elsewhere.

    The first token of the copy is left out: no context says that a copy begins there.
    """
    position = torch.arange(tokens.shape[1], device=tokens.device)
    position += tokens[0, 0] != BEGIN  # no passage has it, so it opens the context or is not there
    counted = (position > copy * length) & (position < (copy + 1) * length)
    return tokens.roll(-1, dims=1).masked_fill(~counted, -100)


def loss_increase_by_copy(
    model: Transformer, passages: Sequence[Int[Tensor, "_ _"]], frozen: bool = False
) -> Float[Tensor, "copy layer head"]:
    """Rise of the loss when one head writes nothing, on each of two copies of passages. [nats per token]

    Mean over groups of passages [n, length] of several lengths: in one length alone, a head that
    looks a fixed distance back would pass for induction. `frozen` as in `ablation.with_output`.
    Losing a head can help on random tokens that do not repeat; a head's worth for repeats is its
    increase on the second copy minus that on the first.
    """
    rows = []
    for group in passages:
        tokens = copies(group.to(model.W_E.device))
        targets = (targets_of_copy(tokens, group.shape[1], copy) for copy in (0, 1))
        by_copy = [ablation.loss_increase(model, tokens, copy, frozen=frozen) for copy in targets]
        rows.append(torch.stack(by_copy))
    return torch.stack(rows).mean(dim=0)
