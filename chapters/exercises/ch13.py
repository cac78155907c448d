"""What tells right answers from wrong ones in the exercises of *How induction heads form*.

Read it after you have tried: some of it comes close to an answer.
"""

import itertools

import numpy as np
from transformer_circuits.book.exercises import Exercise, agrees
from transformer_circuits.experiments import development


def early(tokens, first_run, named) -> Exercise:
    """How early can you tell?"""

    def from_then_on(million):
        off = [abs(t - million) for t in tokens[first_run]]
        k = off.index(min(off))
        same = [pair == named[-1] for pair in named]
        return off[k] < 0.06 and all(same[k:]) and not (k and same[k - 1])

    places = tokens[first_run]
    between = [(a + b) / 2 for a, b in itertools.pairwise(places)]
    return Exercise(from_then_on, wrong=[0.0, 2 * places[-1], *between])


def seen(per_step, plan, shape) -> Exercise:
    """Tokens seen."""
    return Exercise(
        lambda million: abs(million - 1000 * per_step) < 0.01,
        wrong=[plan.batch / 1000, shape.n_ctx / 1000, 1000 * shape.n_ctx],
    )


def crossing(runs, tokens, matches) -> Exercise:
    """Where a curve reaches a level."""
    curves = [([*range(7)], [0, 0, 0, 0.1, 0.4, 0.1, 0.5], 0.2)]
    curves += [(tokens[name], matches[name], max(matches[name]) / 2) for name in runs]
    curves = [(t, v, level) for t, v, level in curves if v[0] < level]
    right = [development.crossing(*curve) for curve in curves]
    return Exercise(
        lambda f: all(agrees(f(*c), r) for c, r in zip(curves, right, strict=True)),
        wrong=[
            lambda t, v, level: np.interp(level, v, t),
            lambda t, v, level: next(
                a for a, b in zip(t, v, strict=True) if b >= level
            ),
            lambda t, v, level: t[max(k for k, b in enumerate(v) if b < level)],
        ],
    )


def how_many(runs, plan) -> Exercise:
    """How many heads match?"""
    at_the_end = runs[f"seed {plan.seed}"][-1]["matching_text"][1]
    n_matching = len([value for value in at_the_end if value > 0.25])
    return Exercise(
        lambda n: n == n_matching,
        wrong=[n_matching + 1, n_matching - 1, len(at_the_end) + 1],
    )
