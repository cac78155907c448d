"""Roles of heads in induction, by one definition for measurements and chapters.

The previous-token head is found on text. The strongest induction head is found on random tokens
that come twice, as its behaviour there owes nothing to the statistics of a language.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.analysis import heads, induction, patterns, repeats
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows

LENGTH = 60
"""Tokens of a passage that comes twice, or fewer where a model's context is shorter."""
LENGTHS = (40, LENGTH, 80)
"""Lengths of the passages on which heads are tested for matching: with a single one, a head that
always looks so many tokens back would do.
"""
N_WINDOWS, N_CTX = 8, 256
"""Windows of text on which a previous-token head is found, and their tokens, or fewer."""


MATCHES = 0.5
"""Prefix matching above which a head of the second layer is a finder: half of its attention."""


SHORTEST = 6
"""Least tokens of a context: no passages of different lengths come twice in fewer."""
ONE_BACK = 0.9
"""Attention to the token before from which heads do one job together, and count as one."""
FEWEST = 4
"""Least tokens of a vocabulary, with the one that opens contexts: with fewer, uniform attention
pays as much as `LOOKS` to followers.
"""
LOOKS = 0.4
"""Attention from which `census` names a head by its target: ARENA's bound for an induction head."""


class Row(NamedTuple):
    """Attention of one head on random tokens that come twice. Shares, 0 to 1."""

    head: Head
    here: float
    """Attention to the present token."""
    one_back: float
    """Attention to the token before."""
    begin: float
    """Attention to the token that opens the context, where a head with nothing to do rests."""
    matches: float
    """Attention to followers of earlier occurrences of the present token: prefix matching."""

    @property
    def role(self) -> str:
        """Name of the place with most attention, if that is more than `LOOKS`; else ""."""
        roles = {"induction": self.matches, "previous token": self.one_back,
                 "present token": self.here, "rests": self.begin}  # fmt: skip
        name = max(roles, key=roles.__getitem__)
        return name if roles[name] > LOOKS else ""


def lengths(config: ModelConfig) -> list[int]:
    """`LENGTHS`, all shorter by one factor in a shorter context: they must stay different."""
    longest = min(LENGTHS[-1], (config.n_ctx - config.begin) // 2)
    found = [length * longest // LENGTHS[-1] for length in LENGTHS]
    return found if longest > 3 else [2, 3, 4]


def twice(config: ModelConfig, n: int = 6, seed: int = 1) -> list[Int[Tensor, "n pos"]]:
    """Tokens for `census` and `matching`: passages of each of `lengths`, two copies of each.

    Contexts of less than nine tokens have the second copy in part.
    """
    made = []
    for length in lengths(config):
        generator = torch.Generator().manual_seed(seed)
        passages = repeats.drawn(torch.ones(config.n_vocab), n, length, generator=generator)
        made.append(repeats.copies(passages, begin=config.begin)[:, : config.n_ctx])
    return made


def require_sizes(config: ModelConfig) -> None:
    """Raise a UserError if contexts have less than `SHORTEST` tokens, or the vocabulary less than `FEWEST`."""
    for what, n, least in (
        ("contexts have", config.n_ctx, SHORTEST),
        ("the vocabulary has", config.n_vocab, FEWEST),
    ):
        if n < least:
            raise files.UserError(f"{what} {n} tokens, but nothing is found in less than {least}")


def census(model: Transformer) -> list[Row]:
    """Mean attention of every head on `twice`: to itself, one back, to BEGIN, and prefix matching.

    Raises:
        UserError: if contexts or the vocabulary are too small.
    """
    config = model.config
    require_sizes(config)
    shares = torch.zeros(len(LENGTHS), config.n_layers, config.n_heads, 4, dtype=torch.float64)
    for k, tokens in enumerate(twice(config)):
        for layer, A in enumerate(patterns.of_all_layers(model, tokens.to(model.W_E.device))):
            matches = induction.prefix_matching_score(A, tokens.to(A.device))
            near = patterns.by_distance(A, 2)
            looks = torch.cat([near, torch.stack([patterns.to_begin(A), matches], dim=1)], dim=1)
            shares[k, layer] = looks.cpu()
    means = shares.mean(dim=0).flatten(0, 1).tolist()
    return [Row(head, *mean) for head, mean in zip(heads.every(model), means, strict=True)]


class Cast(NamedTuple):
    """Cast of the short book: heads of a two-layer model by their roles."""

    note_taker: Head
    """Previous-token head."""
    recoder: Head
    """First-layer head that looks most at its own token, and so writes it anew."""
    finders: list[Head]
    """Second-layer heads that look at the follower of the present token's first occurrence."""


def random_passages(
    config: ModelConfig, n: int, seed: int, length: int = LENGTH
) -> Int[Tensor, "n length"]:
    """Uniformly random tokens; shorter than asked where they would not come twice in a context."""
    length = min(length, (config.n_ctx - config.begin) // 2)
    generator = torch.Generator().manual_seed(seed)
    return repeats.drawn(torch.ones(config.n_vocab), n, length, generator=generator)


def matching(model: Transformer) -> Float[Tensor, " head"]:
    """Prefix matching of the heads of the last layer, on random passages that come twice. 0 to 1.

    Mean over `lengths`, with six passages of each.
    """
    scores = []
    for tokens in twice(model.config):
        tokens = tokens.to(model.W_E.device)
        A = patterns.of_all_layers(model, tokens)[-1]
        scores.append(induction.prefix_matching_score(A, tokens))
    return torch.stack(scores).mean(dim=0)


def induction_head(model: Transformer) -> Head:
    """Head of the last layer that matches prefixes best."""
    return Head(len(model.layers) - 1, int(matching(model).argmax()))


def cast(model: Transformer, text: Int[Tensor, " n_tokens"]) -> Cast:
    """Heads by role: previous-token head, first-layer head on its own token, induction heads.

    `finders` may be empty: they are the second-layer heads whose prefix matching is above `MATCHES`.

    Raises:
        ValueError: if the model has not two layers.
    """
    if model.config.n_layers != 2:
        raise ValueError(f"the cast is of two layers, but this model has {model.config.n_layers}")
    finders = (matching(model) > MATCHES).nonzero()[:, 0].tolist()
    recoder, note_taker = _looks_back(model, text).argmax(dim=0).tolist()
    return Cast(Head(0, note_taker), Head(0, recoder), [Head(1, head) for head in finders])


def previous_token_head(model: Transformer, text: Int[Tensor, " n_tokens"]) -> Head:
    """First-layer head with most attention, on average, to the token before.

    On `N_WINDOWS` evenly spaced windows of text, of `N_CTX` tokens at most.
    """
    return Head(0, int(_looks_back(model, text)[:, 1].argmax()))


def previous_token_heads(model: Transformer, text: Int[Tensor, " n_tokens"]) -> list[Head]:
    """First-layer heads that look one back with more than `ONE_BACK`, or the best one alone.

    Where there are two, each can do without the other: so they are cut together.
    """
    looks = _looks_back(model, text)[:, 1]
    shared = (looks > ONE_BACK).nonzero()[:, 0].tolist() or [int(looks.argmax())]
    return [Head(0, head) for head in shared]


def _looks_back(model: Transformer, text: Int[Tensor, " n_tokens"]) -> Float[Tensor, "head 2"]:
    """Mean attention of the first layer's heads to the present token and to the one before."""
    n_ctx = min(N_CTX, model.config.n_ctx)
    inputs, _ = windows.evenly(text, N_WINDOWS, model.config, n_ctx=n_ctx)
    x, W_P = model.embed(inputs.to(model.W_E.device))
    return patterns.by_distance(model.layers[0].pattern(x, x, W_P), 2)
