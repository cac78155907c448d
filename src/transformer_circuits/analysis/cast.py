"""The cast of the short book: who does what in a two-layer model, found by behaviour alone.

All three parts are read off random tokens that come twice, which no text could have taught.
"""

from typing import NamedTuple

import torch

from transformer_circuits.analysis import induction, patterns, repeats
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.transformer import Transformer

MATCHES = 0.5
"""Prefix matching above which a head of the second layer is a finder: half of its attention."""


class Cast(NamedTuple):
    """Heads by what they do."""

    note_taker: Head
    """The first-layer head that looks most at the token before."""
    recoder: Head
    """The first-layer head that looks most at its own token, and so writes it anew."""
    finders: list[Head]
    """The second-layer heads that look at what followed the present token the first time."""


@torch.no_grad()
def of(model: Transformer, n: int = 8, length: int = 60) -> Cast:
    """The cast of a two-layer model, on `n` passages of `length` random tokens that come twice.

    Raises:
        ValueError: if the model has not two layers, or such a passage does not fit its context
            twice.
    """
    config = model.config
    if config.n_layers != 2 or 2 * length + 1 > config.n_ctx:
        raise ValueError(
            f"the cast is of two layers and contexts of {2 * length + 1} tokens, but this model has "
            f"{config.n_layers} and {config.n_ctx}"
        )
    generator = torch.Generator().manual_seed(1)
    tokens = repeats.copies(
        repeats.drawn(torch.ones(config.n_vocab), n, length, generator=generator)
    )
    A = model.trace(tokens).patterns
    back = patterns.by_distance(A[0], 2)  # [head, tokens back]
    matching = induction.prefix_matching_score(A[1], tokens)
    return Cast(
        Head(0, int(back[:, 1].argmax())),
        Head(0, int(back[:, 0].argmax())),
        [Head(1, head) for head in (matching > MATCHES).nonzero()[:, 0].tolist()],
    )
