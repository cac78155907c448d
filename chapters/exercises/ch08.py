"""What tells right answers from wrong ones in the exercises of *Every head by name*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from einops import einsum
from transformer_circuits import book
from transformer_circuits.analysis import patterns
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor


def sign(passages, patterns_of, signs, sizes, exact, turned) -> Exercise:
    """What the sign changes."""
    few = passages[:1, :32]
    same_of = {
        "pattern": torch.equal(*patterns_of),
        "copying score": abs(signs[0] - signs[1]) < 1e-9,
        "size": abs(sizes[0] - sizes[1]) < 1e-9,
        "logits": torch.equal(exact(few), turned(few)),
    }
    changes = {name for name, same in same_of.items() if not same}
    return Exercise(
        lambda found: not isinstance(found, str) and set(found) == changes,
        wrong=[["pattern"], ["copying score"], ["logits"], [*same_of], "logits"],
    )


def to_previous(seen) -> Exercise:
    """One back."""
    return Exercise(
        lambda f: agrees(f(seen), patterns.by_distance(seen, 2)[:, 1]),
        wrong=[
            lambda A: A.diagonal(0, -2, -1).mean(dim=(0, 2)),
            lambda A: A.diagonal(-2, -2, -1).mean(dim=(0, 2)),
            lambda A: A.diagonal(-1, -2, -1).sum(dim=(0, 2)),
            lambda A: A.diagonal(-1, -2, -1).mean(dim=(0, 2)),
        ],
    )


def oneself() -> Exercise:
    """To find oneself by token."""

    def by_softmax(s, n, k):
        scores = torch.zeros(n)
        scores[n - k :] = s
        return scores.softmax(dim=0)[-1]

    passages_of = [(2.0, 10, 1), (4.0, 128, 1), (4.0, 128, 9), (9.0, 64, 5)]
    return Exercise(
        lambda f: all(
            agrees(f(torch.tensor(g[0]), *g[1:]), by_softmax(*g)) for g in passages_of
        ),
        wrong=[
            lambda s, n, k: s.exp() / (s.exp() + n - 1),
            lambda s, n, k: k * s.exp() / (k * s.exp() + n - k),
            lambda s, n, k: s / (k * s + n - k),
        ],
    )


def all_heads(costs_without, n_heads) -> Exercise:
    """All at once."""
    at_once = costs_without(range(n_heads))
    by_itself = [costs_without([number]) for number in range(n_heads)]
    return Exercise(
        lambda ratio: abs(ratio - at_once / sum(by_itself)) < 6e-3,
        wrong=[sum(by_itself) / at_once, at_once, at_once / max(by_itself)],
    )


def delete() -> Exercise:
    """A head that deletes."""

    def deletes(matrix):
        W_OV = as_tensor(matrix, (3, 3))
        x = torch.tensor([[1.0, 2, 3], [-2, 0.5, 1], [3, -1, 4]]).double()
        after = x + einsum(x, W_OV, "pos read, write read -> pos write")
        return book.close(after[:, 0], 0 * x[:, 0]) and book.close(
            after[:, 1:], x[:, 1:]
        )

    return Exercise(
        deletes,
        wrong=[torch.zeros(3, 3), -torch.eye(3), torch.diag(torch.tensor([1.0, 0, 0]))],
    )


def length(d_head, W_O, W_V, begin_length, values, identity, begin_value) -> Exercise:
    """The same head, another length."""

    def lengthens(M):
        M = as_tensor(M, (d_head, d_head))
        same_head = book.close(W_O @ M.inverse() @ (M @ W_V), W_O @ W_V)
        return same_head and begin_length(values @ M.T) > 1

    return Exercise(
        lengthens,
        wrong=[
            identity,
            9 * identity,
            identity.flip(0),
            torch.outer(begin_value, begin_value),
        ],
    )
