"""Composition: how much of one head's output a later head could read (paper: "Three Kinds of Composition").

A composition score is the Frobenius norm of a product of two circuits over the norms of both.
Scores come as matrices [later head, earlier head]. In a model without norms they depend on the
basis of the stream, so the caller chooses it. They do not show what the later head does with its
input: `path_patching` measures that.
"""

import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads, patterns
from transformer_circuits.analysis.heads import Head, HeadName
from transformer_circuits.model import general
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer

KINDS = ("Q", "K", "V")
Basis = str | Float[Tensor, "d_model d_model_too"]
"""Basis of the stream: "stored", as the model is, or the T of `change_basis`."""


def reader(model: Transformer, kind: str, head: HeadName) -> LowRank:
    """Circuit that multiplies an earlier head's W_OV from the left: W_QKᵀ for Q, W_QK for K, W_OV for V.

    Without biases, which read no head's output.
    """
    if kind not in KINDS:
        raise ValueError(f'composition is one of {KINDS} but "{kind}" was asked for')
    circuit = (heads.W_OV if kind == "V" else heads.W_QK)(model, head)
    left, right = (general.unbiased(model, W) for W in (circuit.left.T, circuit.right))
    if kind == "V":
        return circuit
    return LowRank(right.T, left) if kind == "Q" else LowRank(left.T, right)


def score(later: LowRank, earlier: LowRank) -> float:
    """Composition score ‖later @ earlier‖ / (‖later‖ ‖earlier‖), from 0 to 1.

    About 1/√d_model by chance. NaN if one of the two is zero, as of a head that was switched off.
    """
    return float((later @ earlier).norm() / (later.norm() * earlier.norm()))


def scores(
    model: Transformer, kind: str, later_layer: int = 1, earlier_layer: int = 0, *, basis: Basis
) -> Float[Tensor, "later_head earlier_head"]:
    """`score` of every head of one layer with every head of another.

    `basis`: "stored", or T, in whose precision scores then are: those of `change_basis`, without a
    copy of the model. In models without MLPs, scores in the `white_basis` order edges more as their
    effects do. A model with a norm is no longer the same function in T, but it has scores there.

    The mean score of random heads, about 1/√d_model, is not subtracted. `later_layer` may also be
    the same layer as `earlier_layer`, or one before it: such heads cannot compose, which makes
    their scores a null.

    >>> from transformer_circuits.model import hand_built
    >>> model = hand_built.induction(n_vocab=4, n_ctx=7)  # composes by its keys alone
    >>> {kind: round(scores(model, kind, basis="stored").item(), 3) for kind in KINDS}
    {'Q': 0.0, 'K': 0.5, 'V': 0.0}
    """
    later, earlier = (heads.of_layer(model, layer) for layer in (later_layer, earlier_layer))
    read = [reader(model, kind, head) for head in later]
    written = [heads.W_OV(model, head) for head in earlier]
    if not isinstance(basis, str):
        heads.require_plain(model, general.NORM)
        T, back = basis, _inverse(basis, model)
        out = T if kind == "V" else back.T  # a query and a key are read, values are also written
        read = [LowRank(out @ matrix.left.to(T), matrix.right.to(T) @ back) for matrix in read]
        written = [LowRank(T @ matrix.left.to(T), matrix.right.to(T) @ back) for matrix in written]
    elif basis != "stored":
        raise ValueError(f'basis is "stored" or a matrix, as white_basis gives it, not "{basis}"')
    read, written = [_unit(matrix) for matrix in read], [_unit(matrix.T).T for matrix in written]
    norms = [torch.stack([(circuit @ ov).dense().norm() for ov in written]) for circuit in read]
    return torch.stack(norms).cpu()


@torch.no_grad()
def shares(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    later_layer: int = 1,
    earlier_layer: int = 0,
) -> Float[Tensor, "kind later_head earlier_head"]:
    """Share of each later head's input on a text that each earlier head wrote, by kind. [float64]

    E‖R r‖² / E‖R x‖² over all places, with R the `reader`, r the earlier head's output there and x
    the stream. A query or key is as large as its part in attention scores with the stream at
    another place, drawn independently; a value, as its addition to the logits less their mean.
    Positions, which no head writes, are left out. No change of basis alters shares, and unlike a
    score they grow with the earlier head's output. Kinds are in the order of `KINDS`. Shares of one
    later head need not sum to 1: outputs of two heads can add up, or cancel.

    >>> from transformer_circuits.model import hand_built
    >>> model, tokens = hand_built.induction(n_vocab=4, n_ctx=7), torch.tensor([[0, 1, 2, 3, 1, 2]])
    >>> [round(share.item(), 3) for share in shares(model, tokens)]  # all of its keys, and only they
    [0.0, 1.0, 0.0]
    """
    heads.require_plain(model)
    of_stream = _moment(patterns.stream(model, tokens, later_layer))
    earlier, x = model.layers[earlier_layer], patterns.stream(model, tokens, earlier_layer)
    results = earlier.results(x, model.W_P[: tokens.shape[1]], None)  # which W_O turns into outputs
    moments = torch.stack([_moment(r) for r in results.unbind(dim=1)])  # [head, d_head, d_head]
    W_O = earlier.W_O.double()
    wrote = W_O @ moments @ W_O.mT
    W_U = (model.W_U - model.W_U.mean(dim=0)).double()
    ratios = []
    for kind in KINDS:
        measure = W_U.T @ W_U if kind == "V" else of_stream
        for head in heads.of_layer(model, later_layer):
            R = reader(model, kind, head)
            left, right = R.left.double(), R.right.double()
            size = right.T @ (left.T @ measure @ left) @ right  # E xᵀ size x is E‖R x‖²
            ratios.append((size * wrote).sum(dim=(1, 2)) / (size * of_stream).sum())
    return torch.stack(ratios).view(len(KINDS), -1, len(wrote)).cpu()


def _moment(x: Float[Tensor, "*place d_model"]) -> Float[Tensor, "d_model d_model_too"]:
    """Second moment of a stream, not centred, over all places. [float64]"""
    places = x.flatten(0, -2).double()
    return places.T @ places / len(places)


def _inverse(T: Tensor, model: Transformer) -> Float[Tensor, "d_model d_model_too"]:
    """T⁻¹, for a T that is a basis of this model's stream."""
    d_model = model.config.d_model
    if T.shape != (d_model, d_model):
        raise ValueError(f"a basis is {tuple(T.shape)} but the stream has {d_model} dimensions")
    back, failed = torch.linalg.inv_ex(T)
    if failed or not (T @ back - torch.eye(d_model).to(T)).norm() < 0.01:  # rounding is far below
        raise ValueError("a basis needs a matrix with an inverse, but this one is singular")
    return back


def top_pairs(
    values: Float[Tensor, "later_head earlier_head"], n: int = 1
) -> list[tuple[Head, Head]]:
    """Pairs (later head, earlier head) of a two-layer model with the n largest values, largest first.

    `values` are `scores`, or any other matrix with a row for each head of the second layer and a
    column for each of the first.
    """
    flat = values.flatten().topk(n).indices.tolist()
    pairs = (divmod(index, values.shape[1]) for index in flat)
    return [(Head(1, later), Head(0, earlier)) for later, earlier in pairs]


def _unit(matrix: LowRank) -> LowRank:
    """Matrix over its norm, its left factor replaced by that factor's triangular QR factor.

    A rotation on the left changes no norm of a product, so it can be left out. Done once per head
    and not once per pair, this makes all scores many times faster.
    """
    inner = torch.linalg.qr(matrix.left).R
    return LowRank(inner / (inner @ matrix.right).norm(), matrix.right)


def matching(model: Transformer, later: HeadName, earlier: HeadName) -> LowRank:
    """W_Eᵀ W_QK W_OV W_E, [destination token, token that the earlier head brought to the source].

    The K-composition term of the later head's QK circuit. Where the earlier head looks at the
    previous token and the eigenvalues are positive (`copying_scores.positivity`), the later head
    looks for sources that follow its own token: the matching half of induction.
    """
    written = heads.W_OV(model, earlier) @ model.W_E.detach()
    return model.W_E.T.detach() @ (heads.W_QK(model, later) @ written)


def null(d_model: int, d_head: int, n: int, *, generator: torch.Generator) -> Float[Tensor, " n"]:
    """Scores of n pairs of random heads: around 1/√d_model, for any d_head."""

    def draw() -> LowRank:
        return LowRank(
            torch.randn(d_model, d_head, generator=generator),
            torch.randn(d_head, d_model, generator=generator),
        )

    return torch.tensor([score(draw(), draw()) for _ in range(n)])


IMPOSSIBLE = ((0, 0), (0, 1), (1, 1))
"""Layers (later, earlier) whose heads never compose: in the wrong order, or side by side."""


def impossible(
    model: Transformer, kind: str, *, basis: Basis
) -> dict[tuple[int, int], Float[Tensor, " pair"]]:
    """Scores of pairs of trained heads that cannot compose, by the layers of `IMPOSSIBLE`.

    For three kinds these are nine sets: nulls with the trained model's own matrices. A head with
    itself is left out.
    """
    return {
        layers: apart(scores(model, kind, *layers, basis=basis), layers) for layers in IMPOSSIBLE
    }


def apart(
    values: Float[Tensor, "later earlier"], layers: tuple[int, int]
) -> Float[Tensor, " pair"]:
    """Values of pairs of heads of two layers, without those of a head with itself."""
    same = torch.eye(*values.shape, dtype=torch.bool) & (layers[0] == layers[1])
    return values[~same]


def rotated(
    later: LowRank, earlier: LowRank, n: int, *, generator: torch.Generator
) -> Float[Tensor, " n"]:
    """Scores of a pair with a random rotation of the stream between the two.

    All singular values stay, only directions change: the null for *this* pair. Its spread depends
    on the pair, so a score is compared with rotations of its own.
    """
    of_later, of_earlier = later.singular_values(), earlier.singular_values()
    d_model, norms = earlier.shape[0], []
    for _ in range(n):
        normal = torch.randn(d_model, len(of_earlier), generator=generator).to(of_earlier)
        turn = torch.linalg.qr(normal).Q[: len(of_later)]  # between the pair's singular vectors
        norms.append((of_later[:, None] * turn * of_earlier).norm())
    return (torch.stack(norms) / (of_later.norm() * of_earlier.norm())).cpu()


def published_k_score(later: LowRank, earlier: LowRank) -> float:
    """Score that the paper's figure shows instead of the K-score, by its own "Correction" comment.

    Its library permuted the product cyclically, which keeps traces and eigenvalues but not norms:
    ‖W_K W_O W_V W_Qᵀ‖ in place of ‖W_Qᵀ W_K W_O W_V‖, with W_QK = W_Qᵀ W_K as `later` and W_OV =
    W_O W_V as `earlier`. It is large for pairs that form an induction circuit.
    """
    turned = (later.right @ earlier.left) @ (earlier.right @ later.left)
    return float(turned.norm() / (later.norm() * earlier.norm()))


@torch.no_grad()
def change_basis(model: Transformer, T: Float[Tensor, "d_model d_model_too"]) -> Transformer:
    """Copy of a model with its residual stream in another basis: x becomes T x.

    All matrices that write are multiplied by T, all that read by T⁻¹, positions by T, in the
    precision of T. Logits, patterns and every [n_vocab, n_vocab] circuit stay; norms and angles in
    the stream, and so composition scores, do not (unless T is orthogonal).
    """
    heads.require_plain(model)
    other, back = copy.deepcopy(model), _inverse(T, model)
    writers, readers = [other.W_E], [other.W_U]
    for layer in other.layers:
        writers.append(layer.W_O_concat)
        readers += [layer.W_Q_concat, layer.W_K_concat, layer.W_V_concat]
    for mlp in other.mlps:
        writers.append(mlp.W_O)
        readers.append(mlp.W_I)
    for W in writers:
        W.copy_(T @ W.to(T))
    for W in readers:
        W.copy_(W.to(T) @ back)
    other.W_P.copy_(other.W_P.to(T) @ T.T)
    return other


@torch.no_grad()
def white_basis(
    model: Transformer, tokens: Int[Tensor, "batch pos"], layer: int = 1
) -> Float[Tensor, "d_model d_model_too"]:
    """Matrix T of `change_basis` with which the stream before a layer is white on these tokens. [float64]

    T = C^(-1/2), with C the second moment of the stream, not centred, over all positions: no
    direction then counts for more than another, as the stream varies as much along each.

    Raises:
        ValueError: if the stream leaves a direction empty on these tokens, as in models built by
            hand: they have no such basis.
    """
    model.require(general.NORM, general.ROTARY, general.STREAM, general.OUTPUTS)
    x = patterns.stream(model, tokens, layer)
    variances, directions = torch.linalg.eigh(_moment(x))
    if float(variances[0]) <= 1e-10 * float(variances[-1]):
        raise ValueError(
            f"{x[..., 0].numel()} places do not fill the stream's {x.shape[-1]} dimensions: "
            "take more text, or a model that writes in all of them"
        )
    return directions * variances.rsqrt() @ directions.T
