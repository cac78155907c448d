"""Bigram statistics, and the nearest that a zero-layer model can come to them (paper: "Zero-Layer
Transformers").

Tables are [output token, source token], like W_U W_E.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

ROWS = 64
"""Outputs at once when logits are summed."""


def counts(stream: Int[Tensor, " n_tokens"], n_vocab: int) -> Float[Tensor, "n_vocab n_vocab"]:
    """Counts of each token (row) after each token (column) in a stream."""
    return counts_of(stream[:-1], stream[1:], n_vocab)


def counts_of(
    inputs: Int[Tensor, "*pos"], targets: Int[Tensor, "*pos"], n_vocab: int
) -> Float[Tensor, "n_vocab n_vocab"]:
    """Counts of pairs of a token and its successor, such as those of windows."""
    src, out = inputs.flatten().long(), targets.flatten().long()  # n_vocab² may need over 32 bits
    if len(src) and (highest := int(torch.maximum(src, out).max())) >= n_vocab:
        raise ValueError(f"the text has token {highest} but n_vocab is {n_vocab}")
    # Counted in double at once: the whole numbers would be a second table as large.
    ones = torch.ones(len(src), dtype=torch.float64, device=src.device)
    return torch.bincount(out * n_vocab + src, ones, n_vocab**2).view(n_vocab, n_vocab)


def add_one(table: Float[Tensor, "out src"]) -> Float[Tensor, "out src"]:
    """Log-probabilities of the add-one (Laplace) estimate of P(out | src). [nats]"""
    return ((table + 1) / (table + 1).sum(dim=0)).log()


def mixed(table: Float[Tensor, "out src"]) -> Float[Tensor, "out src"]:
    """Log-probabilities of bigrams with Witten-Bell smoothing: mixed with unigrams. [nats]

    For n tokens counted after a source, T of them different, the unigrams weigh T / (n + T): they
    stand for what would be new (Witten and Bell 1991).
    """
    n_different = (table > 0).sum(dim=0).clamp(min=1)  # [src]
    expected = table + n_different * unigram(table).exp()
    return (expected / (table.sum(dim=0) + n_different)).log()


def unigram(table: Float[Tensor, "out src"]) -> Float[Tensor, "out src"]:
    """Log-probabilities of P(out) with add-one, the same in every column. [nats]"""
    total = table.sum(dim=1, keepdim=True) + 1
    return (total / total.sum()).log().expand_as(table)


def entropy(table: Float[Tensor, "out src"]) -> float:
    """Entropy of the next token given this one, for text with exactly these counts. [nats]

    No model that sees only the present token can have a lower loss on that text.
    """
    probability = table / table.sum(dim=0).clamp(min=1)
    return float(-(table * probability.clamp(min=1e-300).log()).sum() / table.sum())


def cross_entropy(logits: Float[Tensor, "out src"], table: Float[Tensor, "out src"]) -> float:
    """Loss, on text with these counts, of predicting column `src` of softmax(logits). [nats]"""
    table = table.to(logits.device)
    how_often, largest = table.sum(dim=0), logits.amax(dim=0).double()  # [src]
    summed, of_pairs = torch.zeros_like(largest), torch.zeros_like(largest)
    # Some rows at a time: a copy of the whole table in double costs more time than the sums.
    for rows, counted in zip(logits.split(ROWS), table.split(ROWS), strict=True):
        rows = rows.double()
        of_pairs += (counted * rows).sum(dim=0)
        summed += (rows - largest).exp_().sum(dim=0)
    return float((how_often @ (largest + summed.log()) - of_pairs.sum()) / how_often.sum())


def kl(logits: Float[Tensor, "out src"], table: Float[Tensor, "out src"]) -> float:
    """Mean KL divergence of the model from the bigrams of the text. [nats], 0 is perfect."""
    return cross_entropy(logits, table) - entropy(table)


def correlation(
    logits: Float[Tensor, "out src"], table: Float[Tensor, "out src"], least: int = 10
) -> tuple[Float[Tensor, " kept"], Bool[Tensor, " src"]]:
    """Correlation of logits with measured log-probabilities, per source token.

    Over outputs that followed the source at least `least` times, and for sources with at least
    `least` such outputs. Correlation ignores a constant per column, as softmax does.

    Returns:
        the correlations in [-1, 1], and the mask of source tokens they belong to.
    """
    table = table.to(logits.device)
    seen = table >= least  # [out, src]: the pairs that count
    kept = seen.sum(dim=0) >= least  # [src]: the sources that have enough of them
    counted = seen[:, kept].double()  # [out, kept], 1 or 0
    n_counted = counted.sum(dim=0)  # [kept]

    def centred(values: Float[Tensor, "out kept"]) -> Float[Tensor, "out kept"]:
        mean = (values * counted).sum(dim=0) / n_counted  # [kept], over the pairs that count
        return (values - mean) * counted

    model = centred(logits[:, kept].double())  # [out, kept]
    measured = centred(table[:, kept].clamp(min=1).log())  # [out, kept]
    norms = model.norm(dim=0) * measured.norm(dim=0)  # [kept]
    return (model * measured).sum(dim=0) / norms, kept


def _leading(
    matrix: Float[Tensor, "rows cols"], rank: int
) -> tuple[Float[Tensor, "rows kept"], Float[Tensor, " kept"], Float[Tensor, "kept cols"]]:
    """Largest `rank` singular values with their vectors, the same in every run.

    Exact where `rank` is full; else near, and for a large matrix many times faster than all of
    them.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        U, S, V = torch.svd_lowrank(matrix, q=min(rank + 16, *matrix.shape))
    return U[:, :rank], S[:rank], V[:, :rank].T


def best_fit(table: Float[Tensor, "out src"], rank: int, steps: int) -> Float[Tensor, "out src"]:
    """Logits W_U W_E of the given rank that come near the bigrams in KL: the limit of that rank.

    `table`: raw counts, as of `counts`, not probabilities.

    Fitted to the full table at once, without sampling. The fit starts near the truncated singular
    value decomposition of the log-probabilities, weighted by how common their tokens are, and goes
    on with Adam, its learning rate falling to 0. The KL reached is an upper bound of the best
    possible; more steps bring it closer. In float32, even for a float64 table: the fit is not that
    close.
    """
    target = (table / table.sum()).float()  # [out, src]: how often each pair occurs
    how_often = target.sum(dim=0)  # [src]
    # The square roots make the decomposition count an entry as often as it matters.
    of_out = target.sum(dim=1).clamp(min=1e-7).sqrt()  # [out]
    of_src = how_often.clamp(min=1e-7).sqrt()  # [src]
    log_p = add_one(table).float()  # [out, src]
    weighted = of_out[:, None] * (log_p - log_p.mean(dim=0)) * of_src  # [out, src]
    U, S, Vh = _leading(weighted, rank)
    root = S.sqrt()  # [rank]
    W_U = (U * root / of_out[:, None]).requires_grad_()  # [out, rank]
    W_E = (root[:, None] * Vh / of_src).requires_grad_()  # [rank, src]
    adam = torch.optim.Adam([W_U, W_E], lr=0.1, betas=(0.9, 0.99))
    for step in range(steps):
        adam.param_groups[0]["lr"] = 0.1 * (1 + math.cos(math.pi * step / steps)) / 2
        logits = W_U @ W_E
        # The gradient of the loss in the logits, written down: it saves two passes over the table.
        with torch.no_grad():
            gradient = logits.softmax(dim=0) * how_often - target
        adam.zero_grad()
        logits.backward(gradient)
        adam.step()
    return (W_U @ W_E).detach()
