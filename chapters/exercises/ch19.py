"""What tells right answers from wrong ones in the exercises of *Five years on: heads over all of the text*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.book.exercises import Exercise, agrees


def exact_exercise(inputs, looks) -> Exercise:
    """Is it an exact match?"""
    text, there = inputs[0].tolist(), range(int((looks.window == 0).sum()))
    asked = [(text, int(looks.dst[k]), int(looks.src[k])) for k in there]
    truth = [bool(looks.kind[k] == 0) for k in there]
    return Exercise(
        lambda f: (
            [bool(f(*one)) for one in asked] == truth
            and f([0, 7, 3, 7], 3, 2)
            and not f([0, 7, 3, 7], 3, 1)
        ),
        wrong=[
            lambda tokens, dst, src: tokens[src] == tokens[dst],
            lambda tokens, dst, src: tokens[src] == tokens[dst - 1],
            lambda tokens, dst, src: False,
        ],
    )


def prior_exercise() -> Exercise:
    """The better prior."""
    seen = torch.tensor([5.0, 0.0, 2.0, 1.0])
    return Exercise(
        lambda f: (
            agrees(f(seen, 1.0), torch.tensor([6.0, 1, 3, 2]) / 12)
            and agrees(f(seen, 1e9), torch.full((4,), 0.25))
            and agrees(f(torch.tensor([3.0, 1.0]), 0.5), torch.tensor([0.7, 0.3]))
        ),
        wrong=[
            lambda counts, a: counts / counts.sum(),
            lambda counts, a: (counts + 1) / (counts + 1).sum(),
            lambda counts, a: (counts + a) / (counts.sum() + a),
        ],
    )


def cost_exercise(n_states, chains) -> Exercise:
    """What nobody can beat."""

    def walked(P, share):
        for _ in range(2000):
            share = P @ share
        return -(share * (P * P.clamp(min=1e-300).log()).sum(dim=0)).sum()

    flat = torch.full((n_states,), 1 / n_states, dtype=torch.float64)
    return Exercise(
        lambda f: all(agrees(f(P), walked(P, flat), 1e-3) for P in chains[:5]),
        wrong=[
            lambda P: -(P * P.log()).sum(),
            lambda P: -(P * P.log()).sum(dim=0).mean(),
            lambda P: torch.tensor(float(len(P))).log(),
        ],
    )


def gain_exercise() -> Exercise:
    """What disorder gains."""
    generator = torch.Generator().manual_seed(6)
    mixed = torch.stack(
        [torch.randperm(6, generator=generator) // 2 for _ in range(20000)]
    )
    source, following = mixed[:, 2], mixed[:, 4]
    tried = (source == following).double().mean()
    tried -= (mixed == source[:, None]).double().mean()
    return Exercise(
        lambda number: abs(number - tried) < 0.02,
        wrong=[0.0, 0.2, 1 / 3, -1 / 3],
    )
