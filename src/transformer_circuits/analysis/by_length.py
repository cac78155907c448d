"""Prefix matching on passages of many lengths: true induction holds at every one, an imitation at few.

Induction finds what followed the present token wherever it stood before (paper: "Induction Heads"). A
head that always looks so many tokens back finds it, too, in passages of one length; so does a model
that was trained with a single period. At all other lengths both fail.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import head_roles, heads, induction, patterns, repeats
from transformer_circuits.analysis.head_roles import LOOKS
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model import general
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

SHORTEST_PASSAGE = 3
"""Length of the shortest passages: in one of two tokens, what followed is the token before."""
N_LENGTHS = 12
"""Number of lengths, besides those at which a head that looks a fixed distance back matches."""
MIN_PLACES = 120
"""Least number of places of second copies at each length."""


@dataclass(frozen=True)
class ByLength:
    """Behaviour of a model on passages of random tokens that come twice, by their length."""

    heads: list[Head]
    lengths: list[int]
    matches: Float[Tensor, "length head"]
    """Prefix matching: attention to what followed earlier occurrences of the present token. 0 to 1."""
    chance: list[float]
    """Prefix matching of uniform attention at each length. 0 to 1."""
    accuracy: list[float]
    """Top-1 accuracy in the second copy at each length, 0 to 1; empty if outputs are no tokens."""
    distance: list[int]
    """Distance of two or more tokens at which each head looks most where nothing comes twice."""
    attention_there: list[float]
    """Attention of each head at that distance: a match in passages one token longer. 0 to 1."""

    def holds(self, head: int) -> list[int]:
        """Lengths at which a head pays more than `LOOKS` to what followed."""
        matches = self.matches[:, head] > LOOKS
        return [n for n, there in zip(self.lengths, matches, strict=True) if there]


def lengths(config: ModelConfig, n: int = N_LENGTHS) -> list[int]:
    """Lengths of passages, by equal factors, up to the one that comes twice in a whole context.

    In contexts of less than nine tokens, the longest comes a second time in part.
    """
    longest = max(4, (config.n_ctx + 1 - config.begin) // 2)
    return sorted(
        {round(SHORTEST_PASSAGE * (longest / SHORTEST_PASSAGE) ** (k / (n - 1))) for k in range(n)}
    )


def twice(config: ModelConfig, length: int, seed: int = 0) -> Int[Tensor, "n pos"]:
    """Passages that come twice, as long as a context and the token that it predicts, at most."""
    generator = torch.Generator().manual_seed(seed)
    n = math.ceil(MIN_PLACES / min(length, config.n_ctx - config.begin - length))
    passages = _passages(config, n, length, generator)
    return repeats.copies(passages, begin=config.begin)[:, : config.n_ctx + 1]


def _passages(
    config: ModelConfig, n: int, length: int, generator: torch.Generator
) -> Int[Tensor, "n length"]:
    """Random tokens, none of them twice in a passage if the vocabulary has as many."""
    if length >= config.n_vocab:
        return repeats.drawn(torch.ones(config.n_vocab), n, length, generator=generator)
    order = torch.rand(n, config.n_vocab - 1, generator=generator).argsort(dim=1)
    return 1 + order[:, :length]


def _fixed(model: Transformer) -> tuple[list[int], list[float]]:
    """Distance at which each head looks most where nothing repeats, and its attention there."""
    config = model.config
    generator = torch.Generator().manual_seed(1)
    n_pos = config.n_ctx - config.begin
    n = max(1, min(8, 8 * MIN_PLACES // n_pos))
    passages = _passages(config, n, n_pos, generator)
    tokens = repeats.copies(passages, 1, begin=config.begin).to(model.W_E.device)
    farthest = tokens.shape[1] - SHORTEST_PASSAGE  # at least a few places look so far
    distance, attention_there = [], []
    for A in patterns.of_all_layers(model, tokens):
        # The first place is left out: a head with nothing to do rests there.
        by_distance = torch.stack(
            [
                A.diagonal(-k, dim1=-2, dim2=-1)[..., 1:].mean(dim=(0, -1))
                for k in range(2, farthest)
            ]
        )
        best = by_distance.max(dim=0)
        distance += (2 + best.indices).tolist()
        attention_there += best.values.tolist()
    return distance, attention_there


@torch.no_grad()
def measured(model: Transformer) -> ByLength:
    """Prefix matching and fixed distance back of every head, and top-1 accuracy, at many lengths.

    Asked as the model is used: with BEGIN, or, where `config.begin` says so, without.

    Raises:
        UserError: if contexts or the vocabulary are too small, as for `head_roles.census`.
    """
    config = model.config
    head_roles.require_sizes(config)
    distance, attention_there = _fixed(model)
    tried = {k + 1 for k, share in zip(distance, attention_there, strict=True) if share > LOOKS}
    asked = sorted({*lengths(config), *tried})
    matches, chance, accuracy = [], [], []
    for length in asked:
        tokens = twice(config, length).to(model.W_E.device)
        inputs = tokens[:, :-1]
        A = patterns.of_all_layers(model, inputs)
        matches.append(torch.cat([induction.prefix_matching_score(B, inputs) for B in A]).cpu())
        chance.append(induction.uniform_matching(inputs))
        if general.OUTPUTS not in model.forms:
            accuracy.append(_right_first(model, tokens, length + config.begin))
    every = heads.every(model)
    return ByLength(every, asked, torch.stack(matches), chance, accuracy, distance, attention_there)


def _right_first(model: Transformer, tokens: Int[Tensor, "n pos"], first: int) -> float:
    """Top-1 accuracy from the first place of the second copy on. 0 to 1."""
    x = model.stream(tokens[:, :-1])[:, first:].flatten(0, 1)
    targets = tokens[:, first + 1 :].flatten()
    n_right = 0
    for some, right in zip(x.split(64), targets.split(64), strict=True):
        logits = model.unembed(some)
        least = logits.gather(1, right[:, None]) - repeats.EQUAL
        n_right += int(((logits >= least).sum(dim=1) == 1).sum())
    return n_right / len(targets)


def ranges(some: Sequence[int], of: Sequence[int]) -> str:
    """Lengths in words, neighbours among those asked as a range.

    >>> ranges([3, 4, 5, 9], [3, 4, 5, 7, 9])
    '3 to 5 and 9'
    """
    parts: list[list[int]] = []
    for length in of:
        if length not in some:
            parts.append([])
        elif parts and parts[-1]:
            parts[-1][1:] = [length]
        else:
            parts.append([length])
    said = [" to ".join(map(str, part)) for part in parts if part]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
