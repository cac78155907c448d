"""What is claimed of trained residual streams."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import superposition
from transformer_circuits.verdicts.subjects import Subject


def kurtosis_against_rotations(subject: Subject) -> Float[Tensor, " document"]:
    """How many times the kurtosis of random bases the stream before the unembedding has.

    Kurtosis is that of the coordinates at one position; its mean over a document is divided by the
    mean, over the same positions, in five random bases. From about 0.3 (all coordinates of one size)
    to about d_model / 3 (a single coordinate): 1 for a basis like any other, far above where a few
    coordinates are much larger than the rest. Elhage et al. 2023, "Privileged Bases in the
    Transformer Residual Stream".
    """
    inputs, _ = subject.windows(8)
    streams = [subject.model.trace(some).residual[-1] for some in inputs.split(4)]
    stream = torch.cat(streams)  # [window, pos, d_model]
    generator = torch.Generator().manual_seed(0)
    null = superposition.rotated_kurtosis(stream, 5, generator=generator).mean()
    return subject.by_document(superposition.kurtosis(stream)) / null
