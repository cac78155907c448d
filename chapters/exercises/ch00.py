"""What tells right answers from wrong ones in the exercises of *How to read this book*.

Read it after you have tried: some of it comes close to an answer.
"""

from torch.linalg import matrix_rank
from transformer_circuits.book.exercises import Exercise
from transformer_circuits.training import checkpoint


def entries(model) -> Exercise:
    """Two matrices."""
    n_in, n_out = model.W_E.numel(), model.W_U.numel()
    holds = {"W_E": n_in > n_out, "W_U": n_in < n_out, "equal": n_in == n_out}
    return Exercise(lambda name: holds.get(name), wrong=["W_E", "W_U"])


def own_check(model) -> Exercise:
    """A check of your own."""
    tied = checkpoint.load("zero-layer")
    tied.W_U.copy_(tied.W_E.T)
    same_shape = [lambda m: True, lambda m: m.W_U.shape == m.W_E.T.shape]
    return Exercise(lambda f: f(model) and not f(tied), wrong=same_shape)


def room(ours) -> Exercise:
    """Room for the heads."""
    together = ours.n_layers * ours.n_heads * ours.d_head
    return Exercise(lambda a: abs(a * ours.d_model - together) < 0.5, wrong=[1, 0.5])


def bottleneck(model) -> Exercise:
    """The narrowest place."""
    rank = int(matrix_rank(model.W_E))
    return Exercise(lambda n: n == rank, wrong=[2 * rank, model.W_E.shape[1]])
