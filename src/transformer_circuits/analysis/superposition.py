"""Superposition and privileged bases: more features than dimensions, and coordinates that stand out."""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_circuits.model import cross_entropy


def kurtosis(x: Float[Tensor, "*place d"]) -> Float[Tensor, "*place"]:
    """Kurtosis of a vector's coordinates: fourth central moment over the squared second; at least 1.

    About 3 for normally distributed coordinates, and so in any basis without meaning; far above
    where a few coordinates are much larger than the others (Elhage et al. 2023).
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    return (centred**4).mean(dim=-1) / (centred**2).mean(dim=-1) ** 2


def rotated_kurtosis(
    x: Float[Tensor, "*place d"], n: int, *, generator: torch.Generator
) -> Float[Tensor, " n"]:
    """Mean kurtosis of the same vectors in `n` random bases: the null for `kurtosis`."""
    d = x.shape[-1]
    turns = (torch.linalg.qr(torch.randn(d, d, generator=generator).to(x)).Q for _ in range(n))
    return torch.stack([kurtosis(x @ turn).mean() for turn in turns])


def train_toy(
    n_features: int,
    d: int,
    density: float,
    steps: int = 4000,
    *,
    n_toys: int = 1,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "toy d n_features"], Float[Tensor, "toy n_features"]]:
    """Train the toy model of Elhage et al. 2022 to carry features through too few dimensions.

    `n_toys` at once, with nothing in common but the settings: this takes hardly longer than one.

    A feature is 0, or with probability `density` uniform in [0, 1]. The toy returns
    relu(Wᵀ W x + b); in its loss the squared error of feature i has the weight 0.9^i. The learning
    rate falls linearly to 0. With too few steps dense features have not settled which of them get a
    dimension; with 0 steps the toy stays untrained.

    Returns:
        each toy's W, whose column i is the direction of feature i, and b.
    """
    W = (torch.randn(n_toys, d, n_features, generator=generator) / d**0.5).requires_grad_()
    b = torch.zeros(n_toys, n_features, requires_grad=True)
    worth = 0.9 ** torch.arange(n_features)
    optimizer = torch.optim.Adam([W, b], lr=2e-2)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 2e-2 * (1 - step / steps)
        x = torch.rand(n_toys, 512, n_features, generator=generator)
        x = x * (torch.rand(x.shape, generator=generator) < density)
        errors = F.relu(x @ W.mT @ W + b[:, None]) - x
        loss = (worth * errors**2).mean(dim=(1, 2)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), b.detach()


def recovered(
    W: Float[Tensor, "d n_features"], b: Float[Tensor, " n_features"], tolerance: float = 0.25
) -> Bool[Tensor, " n_features"]:
    """Features that leave the toy of `train_toy` as they came in, when they occur alone: true or false.

    Switching a feature on must change its own output by 1 and all others by 0, to `tolerance`.
    """
    change = F.relu(W.T @ W + b[:, None]) - F.relu(b)[:, None]
    return ((change - torch.eye(len(b)).to(b)).abs() <= tolerance).all(dim=0)


def triples_held(
    n_triples: int,
    n_heads: int,
    n_starts: int = 64,
    steps: int = 1500,
    *,
    generator: torch.Generator,
) -> tuple[int, float, Float[Tensor, "head dst out"]]:
    """Number of skip-trigrams of one source that some heads can hold together.

    The source is fixed; destination d calls for output d. Head h attends to the source by A_h(d) in
    [0, 1] and then raises output c by f_h(c), so the logits are Σ_h A_h(d) f_h(c). Trained from
    many starts at once, of which the best is kept. Guessing costs ln n_triples.

    Returns:
        the number of right answers, the loss in nats, and each head's share of the logits.
    """
    shape = n_starts, n_heads, n_triples
    scores = torch.randn(shape, generator=generator).requires_grad_()
    f = torch.randn(shape, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([scores, f], lr=0.05)
    targets = torch.arange(n_triples).expand(n_starts, n_triples)
    for _ in range(steps):
        by_head = scores.sigmoid()[:, :, :, None] * f[:, :, None, :]  # [start, head, dst, out]
        losses = cross_entropy.per_token(by_head.sum(dim=1), targets).mean(dim=1)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
    best = int(losses.argmin())
    by_head = by_head[best].detach()
    right = int((by_head.sum(dim=0).argmax(dim=1) == targets[0]).sum())
    return right, float(losses[best].detach()), by_head
