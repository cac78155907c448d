"""What is claimed of the dimensions that trained embeddings and streams use."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import superposition
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import rotated_basis, untrained
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.planted import outsized_coordinate
from transformer_circuits.claims.rewritings import BASIS
from transformer_circuits.claims.subjects import Subject

SHARE = 0.9


@decides("embedding-pca", controls=[untrained], reads_basis=True)
def dimensions_used(subject: Subject) -> Float[Tensor, ""]:
    """How many dimensions nine tenths of the tokens' variance need, over nine tenths of d_model.

    About 1 for vectors that are spread alike in all directions, near 0 for vectors in few. Of W_E
    and W_U, whichever needs more; all tokens count the same, and their mean is taken off. It depends
    on the basis of the stream, which a model without layer norm is free to choose. One number of the
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


@decides(
    "trained-basis",
    controls=[rotated_basis, untrained],
    planted=outsized_coordinate,
    sample=samples.SHORT,
    moved_by=[BASIS],
)
def kurtosis_against_rotations(subject: Subject) -> Float[Tensor, " document"]:
    """How many times the kurtosis of random bases the stream before the unembedding has.

    Kurtosis is that of the coordinates at one position; its mean over a document is divided by the
    mean, over the same positions, in five random bases. From about 0.3 (all coordinates of one size)
    to about d_model / 3 (a single coordinate): 1 for a basis like any other, far above where a few
    coordinates are much larger than the rest. Of the basis that training left, and of no other. Elhage et al. 2023, "Privileged Bases in the
    Transformer Residual Stream".
    """
    inputs, _ = subject.windows(*samples.SHORT)
    stream = subject.model.stream(inputs)  # [window, pos, d_model]
    generator = torch.Generator().manual_seed(0)
    null = superposition.rotated_kurtosis(stream, 5, generator=generator).mean()
    return subject.by_document(superposition.kurtosis(stream)) / null
