"""What tells right answers from wrong ones in the exercises of *Who reads whom: composition scores and effects*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import composition, heads
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor


def v_order(moves, exact, scores) -> Exercise:
    """The order that is easily got wrong."""
    dense_1, dense_0 = moves, heads.W_OV(exact, (0, 2)).dense()
    return Exercise(
        lambda f: agrees(f(dense_1, dense_0), scores["V"][5, 2]),
        wrong=[
            lambda a, b: (b @ a).norm() / (a.norm() * b.norm()),
            lambda a, b: (a.T @ b).norm() / (a.norm() * b.norm()),
            lambda a, b: (a @ b).norm(),
        ],
    )


def turning() -> Exercise:
    """What turning round changes."""

    def turned_round(pair):
        X, Y = (as_tensor(matrix, (2, 2)) for matrix in pair)
        one, other = (X @ Y).norm(), (Y @ X).norm()
        return abs(one - other) > 0.1 * max(one, other)

    diagonal = torch.diag(torch.tensor([1.0, 2.0]))
    return Exercise(
        turned_round,
        wrong=[(torch.eye(2), torch.ones(2, 2)), (diagonal, diagonal.flip(0, 1))],
    )


def deaf() -> Exercise:
    """A reader who hears nothing."""

    def hears_nothing(pair):
        reads, writes = (as_tensor(matrix, (3, 3)) for matrix in pair)
        norms = reads.norm() * writes.norm()
        return norms > 0 and (reads @ writes).norm() / norms < 1e-6

    eye = torch.eye(3)
    return Exercise(
        hears_nothing,
        wrong=[(eye, eye), (0 * eye, eye), (eye, torch.ones(3, 3)), (eye[0], eye[1])],
    )


def hide(exact, d_model, tokens, trace, top, T) -> Exercise:
    """Hide the composition."""

    def hides(T):
        other = composition.change_basis(exact, as_tensor(T, (d_model, d_model)))
        same_model = (other(tokens) - trace.logits).abs().max() < 1e-6
        return (
            same_model
            and composition.scores(other, "K", basis="stored").max() < top["K"] / 3
        )

    return Exercise(hides, wrong=[torch.eye(d_model), torch.linalg.qr(T).Q])
