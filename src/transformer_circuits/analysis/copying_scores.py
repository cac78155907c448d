"""Copying scores: by the eigenvalues of a head's circuits, and more direct measures (paper:
"Detecting Copying Behavior").
"""

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

from transformer_circuits.model.lowrank import LowRank


def positivity(eigenvalues: Complex[Tensor, " n"]) -> float:
    """Eigenvalue score Σλ / Σ|λ|, in [-1, 1]: 1 if all are positive, 0 if they cancel, -1 if none is.

    Of W_U W_OV W_E it is the paper's copying score, of a QK circuit its matching score. A working
    definition, as the paper says: positive eigenvalues do not force a token to raise its own logit.
    Read it beside `own_ranks` and the mean of the diagonal.

    >>> positivity(torch.tensor([2 + 0j, 1 + 0j])), positivity(torch.tensor([2 + 0j, -2 + 0j]))
    (1.0, 0.0)
    """
    total = eigenvalues.abs().sum()
    if total == 0:
        raise ValueError("all eigenvalues are 0, so their sum says nothing")
    return float(eigenvalues.sum().real / total)


def null(
    left: Float[Tensor, "n_vocab d_model"],
    right: Float[Tensor, "d_model n_vocab"],
    d_head: int,
    n: int,
    *,
    generator: torch.Generator,
) -> Float[Tensor, " n"]:
    """Null for `positivity`: that of `left @ W @ right` for n random W of rank d_head.

    `left` and `right` stand where they do in the circuit: for OV circuits they are W_U and W_E.
    """
    d_model = left.shape[1]
    middle = right @ left  # [d_model, d_model]: left W right and middle W have the same eigenvalues
    scores = []
    for _ in range(n):
        writes = torch.randn(d_model, d_head, generator=generator).to(middle)
        reads = torch.randn(d_head, d_model, generator=generator).to(middle)
        scores.append(positivity(LowRank(middle @ writes, reads).eigenvalues()))
    return torch.tensor(scores, dtype=left.dtype)


def own_ranks(
    circuit: LowRank, chunk: int | None = None, sources: Int[Tensor, " src"] | None = None
) -> Int[Tensor, " src"]:
    """Number of outputs that each source token raises more than itself; 0 is best.

    `sources`: the tokens; all by default.
    `chunk`: the number of sources at once; by default so many that their logits take 16 MB, for
    larger arrays cost more time than they save.
    """
    n_vocab, ranks = circuit.shape[0], []
    if sources is None:
        sources = torch.arange(n_vocab, device=circuit.left.device)
    for part in sources.split(chunk or max(1, 2**22 // n_vocab)):
        outputs = circuit.right[:, part].T @ circuit.left.T  # [sources of this chunk, out]
        # Not circuit.diagonal(): summed in another order, the same entry comes out different in
        # the last bit, and the token would be counted against itself.
        itself = outputs.gather(1, part[:, None])
        ranks.append((outputs > itself).sum(dim=1))
    return torch.cat(ranks)


def copying(
    circuit: LowRank, length: int = 25, n: int = 100, *, generator: torch.Generator
) -> float:
    """Share of a token in all that attending to it raises, among random tokens.

    From 0 to 1; 1/length by chance. Mean over the tokens of `n` random samples: a token's own logit
    over the sum of the sample's logits, which are measured from their mean over the vocabulary and
    count as 0 where they are negative. It is the copying score of Olsson et al. 2022 for a head
    that attends fully to one token, and so depends on the OV circuit alone.
    """
    n_vocab = circuit.shape[0]
    left = circuit.left - circuit.left.mean(dim=0)  # so that the logits have mean 0 over outputs
    shares = []
    for _ in range(n):
        sample = torch.randperm(n_vocab, generator=generator)[:length]
        raised = (left[sample] @ circuit.right[:, sample]).relu()  # [out, src], of the sample
        shares.append(raised.diagonal() / raised.sum(dim=0).clamp(min=1e-12))
    return float(torch.cat(shares).mean())


def deletion(
    reads: Float[Tensor, "read d_model"],
    x: Float[Tensor, "batch pos d_model"],
    w: Float[Tensor, "batch pos d_model"],
) -> Float[Tensor, " batch"]:
    """Part of the stream `x` that adding `w` deletes, for a reader of the stream.

    1 − Σ ‖reads (x + w)‖² / Σ ‖reads x‖², over positions. 1: nothing is left to read. A head that
    writes the negative of d_head dimensions which are read like any others deletes d_head/d_model.
    0: as much is read as before. Negative: more is.

    >>> x = torch.tensor([[[3.0, 4.0]]])
    >>> deletion(torch.eye(2), x, torch.tensor([[[-3.0, 0.0]]]))  # 9 of 25
    tensor([0.3600])
    """
    before, after = (stream @ reads.T for stream in (x, x + w))
    return 1 - after.square().sum(dim=(1, 2)) / before.square().sum(dim=(1, 2))
