"""What tells right answers from wrong ones in the exercises of *Notation*.

Read it after you have tried: some of it comes close to an answer.
"""

import math

import torch
from einops import einsum
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor


def in_a_row(A_second, A_first, x0, W_first, W_second) -> Exercise:
    """Two heads in a row."""
    step = "dst src, src read, write read -> dst write"
    one_by_one = einsum(A_second, einsum(A_first, x0, W_first, step), W_second, step)

    def both_steps(both):
        A, W = as_tensor(both[0], A_first.shape), as_tensor(both[1], W_first.shape)
        return agrees(einsum(A, x0, W, step), one_by_one)

    turned_A = A_first @ A_second, W_second @ W_first
    turned_W = A_second @ A_first, W_first @ W_second
    return Exercise(both_steps, wrong=[turned_A, turned_W])


def shape_and_rank(model, W_OV, n_vocab, d_model, d_head) -> Exercise:
    """A shape and a rank."""
    circuit = model.W_U @ W_OV @ model.W_E
    measured = (*circuit.shape, int(torch.linalg.matrix_rank(W_OV)))
    return Exercise(
        lambda numbers: tuple(numbers) == measured,
        wrong=[(n_vocab, d_model, d_head), (n_vocab, n_vocab, d_model)],
    )


def one_matrix(trace, x0, P, W_QK, d_head) -> Exercise:
    """The pattern from one matrix."""
    own = trace.patterns[0][0, 0]
    return Exercise(
        lambda f: agrees(f(x0, P, W_QK), own),
        wrong=[
            lambda x, P, W: (x @ W @ x.T / math.sqrt(d_head)).softmax(dim=1),
            lambda x, P, W: ((x + P) @ W @ (x + P).T).tril().softmax(dim=1),
        ],
    )


def rosetta(tl_W_V, tl_W_O, W_OV) -> Exercise:
    """Read the other dialect."""
    return Exercise(
        lambda f: agrees(f(tl_W_V, tl_W_O), W_OV),
        wrong=[lambda V, O: V @ O, lambda V, O: O @ V, lambda V, O: V.T @ O.T],
    )
