"""Which head plays which part in induction, by one definition for measurements and chapters.

The previous-token head is found on text. The strongest induction head is found on random tokens that
come twice, as what it does there owes nothing to the statistics of a language.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import induction, patterns, repeats
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows

LENGTH = 60
"""Tokens of a passage that comes twice, or fewer where a model's context is shorter."""
LENGTHS = (40, LENGTH, 80)
"""Of the passages on which heads are told to match: with one alone, a head would do that looks so
many tokens back, whatever stands there."""
N_WINDOWS, N_CTX = 8, 256
"""The windows of text on which a previous-token head is found, and their tokens, or fewer."""


def random_passages(
    config: ModelConfig, n: int, seed: int, length: int = LENGTH
) -> Int[Tensor, "n length"]:
    """Uniformly random tokens; shorter than asked where they would not come twice in a context."""
    length = min(length, (config.n_ctx - 1) // 2)
    generator = torch.Generator().manual_seed(seed)
    return repeats.drawn(torch.ones(config.n_vocab), n, length, generator=generator)


def matching(model: Transformer) -> Float[Tensor, " head"]:
    """Prefix matching of the heads of the last layer, on random passages that come twice. 0 to 1.

    The mean over `LENGTHS`, with six passages of each.
    """
    found = []
    for length in LENGTHS:
        tokens = repeats.copies(random_passages(model.config, 6, 1, length))
        A = model.trace(tokens).patterns[-1]
        found.append(induction.prefix_matching_score(A, tokens))
    return torch.stack(found).mean(dim=0)


def induction_head(model: Transformer) -> Head:
    """The strongest one: the head of the last layer that matches prefixes best."""
    return Head(len(model.layers) - 1, int(matching(model).argmax()))


def previous_token_head(model: Transformer, text: Int[Tensor, " n_tokens"]) -> Head:
    """The first-layer head that looks most at the token before, on evenly spaced windows of text."""
    n_ctx = min(N_CTX, model.config.n_ctx)
    inputs, _ = windows.evenly(text, N_WINDOWS, model.config, n_ctx=n_ctx)
    x, W_P = model.embed(inputs)
    back = patterns.by_distance(model.layers[0].pattern(x, x, W_P), 2)
    return Head(0, int(back[:, 1].argmax()))
