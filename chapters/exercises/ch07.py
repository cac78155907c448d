"""What tells right answers from wrong ones in the exercises of *Copying and eigenvalues*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import copying_scores, heads
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor, watched


def pair(better_together, h) -> Exercise:
    """One number for a pair."""
    return Exercise(better_together, wrong=[(h, h), (0, 0)])


def trace_exercise(exact, layer, h, model) -> Exercise:
    """The sum of all eigenvalues, cheaply."""
    factors_of_4 = exact.W_U, layer.W_O[h], layer.W_V[h], exact.W_E
    dense_trace = heads.full_ov(exact, (0, h)).trace()
    return Exercise(
        lambda f: agrees(
            watched(f, len(model.W_U) - 1)(*factors_of_4), dense_trace, 1e-3
        ),
        wrong=[
            lambda U, O, V, E: (U @ O @ V @ E).trace(),
            lambda U, O, V, E: (V @ O).trace(),
            lambda U, O, V, E: (V @ E @ U @ O).norm(),
            lambda U, O, V, E: (O @ V @ E[:, :1] @ U[:1]).trace(),
        ],
    )


def counter() -> Exercise:
    """A counter-example of your own."""

    def deceives(matrix):
        matrix = as_tensor(matrix, (3, 3))
        values = torch.linalg.eigvals(matrix)
        real = (values.imag.abs() < 0.05 * values.abs()).all()  # but for rounding
        positive = real and (values.real > 1e-6).all()
        return positive and matrix.diagonal().min() < 0

    return Exercise(
        deceives,
        wrong=[torch.eye(3), -torch.eye(3), torch.diag(torch.tensor([1.0, -1, 1]))],
    )


def score_by_hand(trained) -> Exercise:
    """The score by hand."""
    known = [
        (either, copying_scores.positivity(either))
        for values in trained.values()
        for either in (values, -values)
    ]
    return Exercise(
        lambda f: all(abs(f(values) - right) < 1e-5 for values, right in known),
        wrong=[
            lambda v: (v.real > 0).float().mean(),
            lambda v: v.real.sum() / v.real.abs().sum(),
            lambda v: v.sum().abs() / v.abs().sum(),
        ],
    )
