"""What tells right answers from wrong ones in the exercises of *The framework, five years on*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis.later_work import attributions, singular_directions
from transformer_circuits.book.exercises import Exercise, agrees
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def terms_exercise() -> Exercise:
    """How many terms has a score?"""
    counted = {}
    for n, at, to in ((2, 4, 1), (3, 3, 3), (1, 5, 0)):
        small = Transformer(ModelConfig(2, n, 8, 2, 11, 7, position_base=100.0))
        split = attributions.of_score(small, torch.arange(6), (1, 0), at, to)
        counted[n, at, to] = split.terms.numel()
    return Exercise(
        lambda f: all(f(*places) == number for places, number in counted.items()),
        wrong=[
            lambda n, dst, src: (2 + n) ** 2,
            lambda n, dst, src: (2 + n * dst) * (2 + n * src),
            lambda n, dst, src: (2 + n * (dst + 1)) ** 2,
        ],
    )


def share_exercise(meeting) -> Exercise:
    """How much do the first directions hold?"""
    shares = singular_directions.score_shares(meeting)
    return Exercise(
        lambda f: all(
            agrees(f(meeting, k), shares[k - 1]) for k in (1, 3, len(meeting))
        ),
        wrong=[
            lambda M, k: M[:k, :k].norm() / M.norm(),
            lambda M, k: M[:k].square().sum() / M.square().sum(),
            lambda M, k: M.diagonal()[:k].square().sum() / M.square().sum(),
        ],
    )


def derivative_exercise() -> Exercise:
    """Credit for a score."""
    generator = torch.Generator().manual_seed(0)
    raw = torch.randn(5, generator=generator).double().requires_grad_()
    adds = torch.randn(5, generator=generator).double()
    (right_slope,) = torch.autograd.grad(raw.softmax(dim=0) @ adds, raw)
    weights = raw.detach().softmax(dim=0)
    return Exercise(
        lambda f: agrees(f(weights, adds), right_slope),
        wrong=[
            lambda A, u: A * u,
            lambda A, u: A * (1 - A) * u,
            lambda A, u: A * (u - u.mean()),
        ],
    )


def backup_exercise() -> Exercise:
    """Two edges that stand in for each other."""

    def stands_in(losses):
        both, no_first, no_second, neither = (float(value) for value in losses)
        alone = no_first - both, no_second - both
        return alone == (0, 0) and min(losses) >= 0 and agrees(neither - both, 2.0)

    return Exercise(
        stands_in, wrong=[[1, 2, 2, 3], [1, 1, 1, 1], [3, 3, 3, 1], [1, 1, 2, 3]]
    )
