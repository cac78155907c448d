"""What tells right answers from wrong ones in the exercises of *Why do induction heads form?*.

Read it after you have tried: some of it comes close to an answer.
"""

import math

import numpy as np
import torch
from transformer_circuits.book.exercises import Exercise, agrees
from transformer_circuits.text import windows


def doublings() -> Exercise:
    """Doublings."""
    return Exercise(
        lambda f: agrees(f(2e6, 1e6), -1.0) and agrees(f(1e6, 8e6), 3.0),
        wrong=[
            lambda before, after: after / before,
            lambda before, after: math.log2(before / after),
            lambda before, after: math.log(after / before),
        ],
    )


def repeat() -> Exercise:
    """Which targets complete a repeat?"""
    generator = torch.Generator().manual_seed(0)
    few = torch.randint(1, 5, (6, 30), generator=generator)
    marked = windows.completes_repeat(few[:, :-1], few[:, 1:])
    return Exercise(
        lambda f: all(
            [bool(value) for value in f(row.tolist())] == truth.tolist()
            for row, truth in zip(few, marked, strict=True)
        ),
        wrong=[
            lambda t: [t[k + 1] in t[: k + 1] for k in range(len(t) - 1)],
            lambda t: [t[k] in t[:k] for k in range(len(t) - 1)],
            lambda t: [True] * (len(t) - 1),
        ],
    )


def back(x, W_K) -> Exercise:
    """Keys one back."""
    return Exercise(
        lambda f: agrees(f(x, W_K), torch.cat([x[:1], x[:-1]]) @ W_K.T),
        wrong=[
            lambda x, W_K: x @ W_K.T,
            lambda x, W_K: torch.roll(x, 1, dims=0) @ W_K.T,
            lambda x, W_K: torch.cat([x[1:], x[-1:]]) @ W_K.T,
        ],
    )


def longer(starts, predicted, of_base, shape) -> Exercise:
    """The law, turned round."""
    fitted = 10 ** math.log10(starts[0] / predicted) * 10**5.7
    by_law = fitted * math.sqrt(of_base.batch * 4 * shape.n_ctx) / 1e6
    return Exercise(
        lambda million: abs(million - by_law) < 0.1,
        wrong=[starts[0], 4 * starts[0], predicted, 2 * predicted],
    )


def slope(batches, by_seed, doublings_of) -> Exercise:
    """How steep is the line?"""
    sizes = np.log2(list(batches))
    slopes = [np.polyfit(sizes, doublings_of(found), 1)[0] for found in by_seed]
    plain = [np.polyfit(list(batches), found, 1)[0] for found in by_seed]
    return Exercise(
        lambda value: abs(value - np.mean(slopes)) < 6e-3,
        wrong=[np.mean(plain), 1 / np.mean(slopes), 1.0, 0.0],
    )
