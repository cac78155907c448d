"""What tells right answers from wrong ones in the exercises of *Two layers: how heads compose*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import expansion
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor


def terms_exercise(counted) -> Exercise:
    """One more layer."""
    return Exercise(
        lambda f: all(f(n, depth) == number for (n, depth), number in counted.items()),
        wrong=[
            lambda n, d: 1 + 2 * n + n * n,
            lambda n, d: n**d,
            lambda n, d: (1 + n) * d,
        ],
    )


def steps_of() -> Exercise:
    """Two steps."""
    # Three places, worked out by hand: the last looks at itself and at the one before.
    looks = torch.tensor([[1.0, 0, 0], [1, 0, 0], [0, 0.5, 0.5]])
    looks_on = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0.2, 0.8]])
    in_two = torch.tensor([[1.0, 0, 0], [1, 0, 0], [0.25, 0.35, 0.4]])
    return Exercise(
        lambda f: agrees(f(looks, looks_on), in_two),
        wrong=[
            lambda later, earlier: earlier @ later,
            lambda later, earlier: later * earlier,
            lambda later, earlier: (later + earlier) / 2,
        ],
    )


def families(exact, tokens, h, family, FAMILIES, n_heads) -> Exercise:
    """Four families."""
    drawn = [family(pair) for pair in expansion.score_terms(exact, tokens, (1, h))]
    right = [drawn.count(name) for name in FAMILIES.values()]
    return Exercise(
        lambda f: (
            agrees(f(n_heads), torch.tensor(right)) and agrees(f(1), torch.ones(4))
        ),
        wrong=[
            lambda n: [1, n, n, n],
            lambda n: [1, n, n, (1 + n) ** 2],
            lambda n: [n, n, n, n],
        ],
    )


def second_one(trace, ids, exact, OV_0) -> Exercise:
    """A second embedding."""
    at_itself = torch.zeros_like(trace.patterns[0])  # all heads but one look nowhere
    at_itself[0, 2] = torch.eye(len(ids))
    added = exact.layers[0].head_outputs(trace.residual[0], at_itself)
    held = (trace.residual[0] + added.sum(dim=1))[0]

    def holds(f):
        made = as_tensor(f(exact.W_E, OV_0[2]), exact.W_E.shape)
        return agrees(made[:, ids], held.T)

    return Exercise(
        holds,
        wrong=[
            lambda W_E, W_OV: W_OV @ W_E,
            lambda W_E, W_OV: W_E - W_OV @ W_E,
            lambda W_E, W_OV: W_E + W_OV.T @ W_E,
        ],
    )
