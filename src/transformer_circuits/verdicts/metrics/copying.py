"""What chapter 6 claims of one layer's copying heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import copying_scores, heads
from transformer_circuits.verdicts.subjects import Subject


def share_of_copying_heads(subject: Subject) -> Float[Tensor, ""]:
    """Share of all heads whose OV score lies four standard deviations above random heads'.

    Random heads stand between the same trained embeddings. A fact of the weights.
    """
    model = subject.model
    generator = torch.Generator().manual_seed(0)
    null = copying_scores.null(model.W_U, model.W_E, model.config.d_head, 200, generator=generator)
    bound = null.mean() + 4 * null.std()
    scores = torch.tensor(
        [
            copying_scores.positivity(heads.full_ov(model, head).eigenvalues())
            for head in heads.every(model)
        ]
    )
    return (scores > bound).double().mean()
