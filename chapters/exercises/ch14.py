"""What tells right answers from wrong ones in the exercises of *A circuit built by hand*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.book.exercises import (
    Exercise,
    agrees,
    as_tensor,
    whole_number,
)


def sharp(share_right) -> Exercise:
    """How sharp is sharp enough?"""
    return Exercise(
        lambda n: share_right(float(whole_number(n))) == 1 > share_right(float(n - 1)),
        wrong=[1, 10, 100],
    )


def rotate(places, other_way) -> Exercise:
    """A rotation that means one step back."""

    def one_back(R):
        scores = places @ as_tensor(R, (2, 2)) @ places.T
        return torch.equal(scores[1:].argmax(dim=1), torch.arange(19))

    return Exercise(one_back, wrong=[torch.eye(2), other_way, -torch.eye(2)])


def two_copies() -> Exercise:
    """A head that adds two tokens."""
    generator = torch.Generator().manual_seed(1)
    step = torch.diag(torch.ones(5), -1).double()
    x, W_1, W_2 = (
        torch.randn(s, generator=generator).double() for s in ((6, 4), (4, 4), (4, 4))
    )
    second = step @ (x + step @ x @ W_1.T) @ W_2.T

    def both_right(f):
        two, one = (as_tensor(matrix, (4, 4)) for matrix in f(W_1, W_2))
        by_parts = step @ step @ x @ two.T + step @ x @ one.T
        return agrees(by_parts, second)

    return Exercise(
        both_right,
        wrong=[
            lambda a, b: (a @ b, b),
            lambda a, b: (b @ a, a + b),
            lambda a, b: (b @ a, a),
        ],
    )


def score_one(first_only) -> Exercise:
    """What would a perfect score be?"""

    def perfect(pair):
        X, Y = (as_tensor(matrix, (4, 4)) for matrix in pair)
        ranks = torch.linalg.matrix_rank(torch.stack([X, Y]), rtol=1e-5)
        score = (X @ Y).norm() / (X.norm() * Y.norm())
        return (ranks == 1).all() and abs(score - 1) < 1e-5

    return Exercise(
        perfect, wrong=[(torch.eye(4), torch.eye(4)), (first_only, first_only)]
    )


def busy(single, out) -> Exercise:
    """A head has only so much room."""
    W_first = single(range(8, 12), range(4), (16, 16))

    def split(pair):
        shapes = (4, 16), (16, 4)
        W_V, W_O = (as_tensor(*of).float() for of in zip(pair, shapes, strict=True))
        maps = torch.eye(16), W_O @ W_V + W_first, W_O @ W_V @ W_first
        own, back, two = (matrix[:, :8] for matrix in maps)
        parts = back, two, torch.cat([own, back, two], dim=1)
        ranks = [int(torch.linalg.matrix_rank(part)) for part in parts]
        return ranks == [7, 1, 16]

    all_new, none_new = (single(range(4), range(a, a + 4), (4, 16)) for a in (4, 8))
    onto = single(range(4), range(4), (16, 4))
    return Exercise(split, wrong=[(all_new, out), (none_new, out), (all_new, onto)])


def alike(stream, sentence) -> Exercise:
    """The same, but not myself."""

    def not_myself(pair):
        W_Q, W_K = (as_tensor(matrix, (8, 8)).float() for matrix in pair)
        scores = stream @ W_Q.T @ W_K @ stream.T
        wanted = (sentence[:, None] == sentence).tril(-1)
        others = (~wanted).tril()
        best = [scores.where(at, -torch.inf).amax(dim=1)[4:] for at in (wanted, others)]
        return (best[0] > best[1] + 1e-3).all()

    tokens_only = torch.diag(torch.tensor([1.0] * 4 + [0] * 4))
    return Exercise(
        not_myself,
        wrong=[(tokens_only,) * 2, (torch.eye(8),) * 2, (-torch.eye(8), torch.eye(8))],
    )


def after(found, places, theirs, other_way, one_after) -> Exercise:
    """Ask for a place after it."""

    def next_place(W_Q):
        scores = (found @ as_tensor(W_Q, (2, 2)).T) @ places.T
        return torch.equal(scores.argmax(dim=1), theirs + 2)

    return Exercise(next_place, wrong=[torch.eye(2), other_way, one_after])
