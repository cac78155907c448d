"""What tells right answers from wrong ones in the exercises of *What this leaves out*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
import torch.nn.functional as F
from transformer_circuits.analysis import superposition
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def fold_exercise(stream, d, normed) -> Exercise:
    """Fold a gain."""
    with_gain = F.layer_norm(stream, (d,), normed.gain) @ normed.W_U.T
    return Exercise(
        lambda f: agrees(
            F.layer_norm(stream, (d,))
            @ as_tensor(f(normed.W_U, normed.gain), normed.W_U.shape).T,
            with_gain,
        ),
        wrong=[lambda W, g: W, lambda W, g: W / g, lambda W, g: W * g.mean()],
    )


def mean_exercise(stream, d) -> Exercise:
    """Subtracting a mean is a matrix."""
    flat = stream.reshape(-1, d).abs()
    return Exercise(
        lambda C: agrees(
            flat @ as_tensor(C, (d, d)).T, flat - flat.mean(dim=1, keepdim=True)
        ),
        wrong=[torch.eye(d), torch.eye(d) - 1, torch.full((d, d), 1 / d)],
    )


def share_exercise(twin) -> Exercise:
    """Two thirds, exactly when?"""
    shapes = twin.config, ModelConfig(1, 2, 8, 4, 11, 7, 100.0, d_mlp=40)
    counted = {}
    for shape in shapes:
        m = Transformer(shape)
        of_mlp = sum(w.numel() for w in m.mlps.parameters())
        in_all = of_mlp + sum(w.numel() for w in m.layers.parameters())
        counted[shape.d_model, shape.n_heads * shape.d_head, shape.d_mlp] = (
            of_mlp / in_all
        )
    return Exercise(
        lambda f: all(agrees(f(*widths), share) for widths, share in counted.items()),
        wrong=[
            lambda d, h, m: 2 / 3,
            lambda d, h, m: m / (m + h),
            lambda d, h, m: m / (d + m),
        ],
    )


def kurtosis_exercise() -> Exercise:
    """The kurtosis of a single neuron."""
    return Exercise(
        lambda f: all(
            agrees(f(d), float(superposition.kurtosis(torch.eye(d).double()[:1])))
            for d in (4, 48, 320)
        ),
        wrong=[lambda d: d, lambda d: 3.0, lambda d: d - 2],
    )
