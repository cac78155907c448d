"""What tells right answers from wrong ones in the exercises of *The residual stream*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import superposition
from transformer_circuits.book.exercises import (
    Exercise,
    agrees,
    as_tensor,
    watched,
    whole_number,
)


def basis(config, model) -> Exercise:
    """More than rotations."""
    generator = torch.Generator().manual_seed(2)
    T = torch.randn(2 * (config.d_model,), generator=generator).double()
    direct = model.W_U @ model.W_E

    def same_path(f):
        new_W_E, new_W_U = f(T, model.W_E, model.W_U)
        written = agrees(new_W_E, T @ model.W_E)
        reads = as_tensor(new_W_U, model.W_U.shape)
        return written and agrees(reads @ T @ model.W_E, direct, 1e-3)

    return Exercise(
        same_path,
        wrong=[lambda T, E, U: (T @ E, U @ T.T), lambda T, E, U: (E, U)],
    )


def full(config, d_head) -> Exercise:
    """How many heads fill the stream?"""
    return Exercise(
        lambda n: 0 <= config.d_model - whole_number(n) * d_head < d_head,
        wrong=[config.n_heads - 1, 2 * config.n_heads, config.d_model / d_head + 0.1],
    )


def thin(model, W_OV, d_head) -> Exercise:
    """A norm without the matrix."""
    last, first = model.layers[1], model.layers[0]
    factors = last.W_O[3], last.W_V[3], first.W_O[2], first.W_V[2]
    dense = (W_OV[1][3] @ W_OV[0][2]).norm()
    return Exercise(
        lambda f: agrees(watched(f, d_head)(*factors), dense),
        wrong=[
            lambda O, V, o, v: (O @ V @ o @ v).norm(),
            lambda O, V, o, v: O.norm() * (V @ o).norm() * v.norm(),
        ],
    )


def outsized_on_purpose(config, R) -> Exercise:
    """Build a privileged basis."""

    def privileged(stream):
        stream = as_tensor(stream, (100, config.d_model))
        plain, turned = (
            superposition.kurtosis(stream),
            superposition.kurtosis(stream @ R.T),
        )
        return plain.mean() > 10 and turned.mean() < 4

    generator = torch.Generator().manual_seed(3)
    normal = torch.randn(100, config.d_model, generator=generator).double()
    return Exercise(privileged, wrong=[normal, normal @ R, 30 * normal])
