"""Composition in few directions: the rest of an edge if both heads are limited to their strongest
singular directions.

The earlier head may write, and the later one read, along those alone. Singular vectors of heads as
units worth looking at: Merullo et al. 2024 ("Talking Heads"), Ahmad et al. 2025 ("Beyond
Components") and Franco et al. 2026 ("Singular Vectors of Attention Heads Align with Features").
"""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import composition, heads
from transformer_circuits.analysis.path_patching import EdgeName, patched
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer


def strengths(model: Transformer, kind: str) -> Float[Tensor, "later_head earlier_head"]:
    """Largest singular value of later @ earlier, over that of each, for every pair. From 0 to 1.

    1 if the strongest direction written is the strongest one read, whatever the other directions
    do; `composition.scores` asks for all directions together.
    """
    read = torch.stack(
        [_rows(composition.reader(model, kind, h)) for h in heads.of_layer(model, 1)]
    )
    written = torch.stack([_rows(heads.W_OV(model, h).T).mT for h in heads.of_layer(model, 0)])
    products = torch.einsum("lid,edj->leij", read, written)
    most = [torch.linalg.matrix_norm(matrices, 2) for matrices in (products, read, written)]
    return most[0] / (most[1][:, None] * most[2])


def _rows(circuit: LowRank) -> Float[Tensor, "inner cols"]:
    """Matrix of few rows with the same singular values and the same right singular vectors."""
    return torch.linalg.qr(circuit.left).R @ circuit.right


def meeting(later: LowRank, earlier: LowRank) -> Float[Tensor, "read written"]:
    """Strength with which each direction that is read meets each that is written, strongest first.

    Entry ij is s_i (v_i · u_j) t_j: the singular value of each side times the cosine between. The
    squares sum to the squared norm of later @ earlier.
    """
    _, s, Vh = later.svd()
    U, t, _ = earlier.svd()
    return s[:, None] * (Vh @ U) * t


def score_shares(meeting: Float[Tensor, "read written"]) -> Float[Tensor, " k"]:
    """Share of the squared score that the first k directions of each side hold, for k = 1, 2, …

    From 0 to 1, never falling, and 1 at the end.
    """
    squares = meeting.square()
    return squares.cumsum(dim=0).cumsum(dim=1).diagonal() / squares.sum()


def turned(
    later: LowRank, earlier: LowRank, n: int, *, generator: torch.Generator
) -> Float[Tensor, "n read written"]:
    """`meeting` with a random rotation of the stream between the two; all singular values stay.

    The null for `score_shares`: the strongest directions of a pair would hold much even so.
    """
    s, t = later.singular_values(), earlier.singular_values()
    normal = torch.randn(n, earlier.shape[0], len(t), generator=generator).to(t)
    return s[:, None] * torch.linalg.qr(normal).Q[:, : len(s)] * t


@torch.no_grad()
def channel(
    model: Transformer,
    edge: EdgeName,
    k: int,
    *,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "d_model d_model"]:
    """Matrix that lets through k directions of an edge: those written, then those read.

    It leaves of W_reader W_OV the product of both matrices cut to their k strongest singular
    directions; with k = d_head all. With a generator, the null: k random directions of the same two
    spaces instead.
    """
    kind, later, earlier = edge
    written = heads.W_OV(model, earlier).svd()[0]  # [d_model, rank]
    read = composition.reader(model, kind, later).svd()[2].mT
    kept = []
    for basis in (read, written):
        if generator is not None:
            normal = torch.randn(2 * basis.shape[1:], generator=generator).to(basis)
            basis = basis @ torch.linalg.qr(normal).Q
        kept.append(basis[:, :k] @ basis[:, :k].T)
    return kept[0] @ kept[1]


def narrowed(
    model: Transformer, trace: Trace, edge: EdgeName, through: Float[Tensor, "d d_too"]
) -> Float[Tensor, "batch pos n_vocab"]:
    """Logits when an edge carries only the part of the earlier head's output that a `channel` lets through.

    With no direction that is `path_patching.without_edge`, with d_head the full model.
    """
    written = trace.head_outputs[0][:, heads.named(edge[2]).head]
    return patched(model, trace, {edge: written @ through.T})
