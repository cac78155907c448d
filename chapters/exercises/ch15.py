"""What tells right answers from wrong ones in the exercises of *Term importance*.

Read it after you have tried: some of it comes close to an answer.
"""

import math

import torch
from transformer_circuits.analysis import expansion
from transformer_circuits.book.exercises import Exercise, agrees


def place(kept, ours) -> Exercise:
    """Where in the window."""
    by_place = (kept["order 1"] - kept["order 2"]).mean(dim=0)
    return Exercise(
        lambda nats: abs(nats - by_place[-64:].mean()) < 6e-4,
        wrong=[
            ours["single"],
            float(by_place[:64].mean()),
            -float(by_place[-64:].mean()),
        ],
    )


def by_order(random_model, width) -> Exercise:
    """How many terms of each order."""
    lengths = {}
    for d in (2, 4):
        deep = expansion.paths(random_model(d), torch.arange(5)[None])
        lengths |= {(d, k): sum(len(path) == k for path in deep) for k in range(d + 1)}
    return Exercise(
        lambda f: all(agrees(f(d, width, k), n) for (d, k), n in lengths.items()),
        wrong=[
            lambda d, n, k: n**k,
            lambda d, n, k: d * n**k,
            lambda d, n, k: math.comb(d, k),
        ],
    )


def first_order_exercise(exact, A, direct, library) -> Exercise:
    """The first order by hand."""

    def writing(index):
        layer, pattern = exact.layers[index], A[index]
        return lambda x: layer.head_outputs(x, pattern).sum(dim=1)

    writes = writing(0), writing(1)
    return Exercise(
        lambda f: agrees(f(direct, *writes), library.orders[1]),
        wrong=[
            lambda x, a, b: x + a(x) + b(x + a(x)),
            lambda x, a, b: x + a(x),
            lambda x, a, b: x,
        ],
    )


def baseline(ours, total, known) -> Exercise:
    """Another baseline, another share."""
    single, whole = ours["single"], total - known
    return Exercise(
        lambda share: abs(share * whole - single) < 6e-4 * whole,
        wrong=[single / total, (single - known) / total, 0.0],
    )
