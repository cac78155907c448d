"""What is claimed of the dimensions that trained embeddings use."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.verdicts.subjects import Subject

SHARE = 0.9


def dimensions_used(subject: Subject) -> Float[Tensor, ""]:
    """How many dimensions nine tenths of the tokens' variance need, over nine tenths of d_model.

    About 1 for vectors that are spread alike in all directions, near 0 for vectors in few. Of W_E
    and W_U, whichever needs more; all tokens count the same, and their mean is taken off. It depends
    on the basis of the stream, which a model without layer norm is free to choose. A fact of the
    weights. Paper: "Subspaces and Residual Stream Bandwidth".
    """
    model = subject.model
    needed = []
    for vectors in (model.W_E.T, model.W_U):  # [n_vocab, d_model]
        centred = (vectors - vectors.mean(dim=0)).double()
        variances = torch.linalg.eigvalsh(centred.T @ centred).flip(0).clamp(min=0)
        kept = variances.cumsum(0) / variances.sum()
        needed.append(1 + int((kept < SHARE).sum()))
    return torch.tensor(max(needed) / (SHARE * model.config.d_model), dtype=torch.float64)
