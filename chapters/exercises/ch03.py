"""What tells right answers from wrong ones in the exercises of *Attention heads are independent and additive*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import ablation
from transformer_circuits.book.exercises import (
    Exercise,
    agrees,
    as_tensor,
    whole_number,
)


def can_go(model, tokens, trace) -> Exercise:
    """Which head can go?"""
    n_heads = model.config.n_heads

    def moved_without(h):
        change = ablation.without(model, [(1, h)])(tokens) - trace.logits
        return (change - change.mean(dim=2, keepdim=True)).norm()

    def moves_least(h):
        least = moved_without(whole_number(h, n_heads))
        return all(least <= moved_without(other) for other in range(n_heads))

    most = max(range(n_heads), key=moved_without)
    return Exercise(moves_least, wrong=[most, n_heads])


def two_back() -> Exercise:
    """Two back."""

    def looks_two_back(A):
        A = as_tensor(A, (6, 6))
        proper = agrees(A.sum(1), torch.ones(6)) and (A >= 0).all()
        return proper and (A.diagonal(-2) == 1).all() and (A[:2, 0] == 1).all()

    return Exercise(
        looks_two_back,
        wrong=[torch.eye(6), torch.eye(6).roll(2, 1), torch.eye(6).roll(2, 0)],
    )


def rescale(layer, W_QK) -> Exercise:
    """What the weights cannot tell."""
    Q, K = layer.W_Q[4], layer.W_K[4]
    return Exercise(
        lambda f: ((3 * Q).T @ (float(f) * K) - W_QK).norm() < 0.015 * W_QK.norm(),
        wrong=[3, -1 / 3, 1 / 9],
    )


def whole_rank(kron, n, model, d_head) -> Exercise:
    """The rank of a head on a context."""
    of_all = int(torch.linalg.matrix_rank(kron))
    return Exercise(
        lambda n: n == of_all,
        wrong=[n * model.config.d_model, d_head, n + d_head],
    )
