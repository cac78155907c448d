"""What tells right answers from wrong ones in the exercises of *By which ruler? Composition scores in two bases*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import composition
from transformer_circuits.book.exercises import Exercise, agrees, as_tensor
from transformer_circuits.model.lowrank import LowRank


def _samples(*shape: int) -> torch.Tensor:
    """Random numbers, the same each time, that are longer along some directions than others."""
    generator = torch.Generator().manual_seed(2)
    found = torch.randn(shape, generator=generator, dtype=torch.float64)
    return found * torch.logspace(-1, 1, shape[-1], dtype=torch.float64) + 0.5


def whiten() -> Exercise:
    """Make it white."""
    x = _samples(200, 5)

    def is_white(f):
        y = x @ as_tensor(f(x), (5, 5)).double().T
        return agrees(torch.einsum("pm,pn->mn", y, y) / len(y), torch.eye(5), 1e-3)

    return Exercise(
        is_white,
        wrong=[
            lambda x: torch.eye(5),
            lambda x: torch.linalg.inv(torch.cov(x.T)),
            lambda x: torch.diag(x.std(dim=0) ** -1),
        ],
    )


def liar() -> Exercise:
    """A ruler that lies."""
    e = torch.eye(2, dtype=torch.float64)
    reads = LowRank(e[:, :1], e[:1])

    def fooled(lengths):
        a, b = as_tensor(lengths, (2,)).double()
        if not (a > 0 and b > 0):
            raise ValueError("lengths are above zero")
        T = torch.stack([a, b])
        found = []
        for column in (e[:, :1], e[:, :1] + e[:, 1:]):
            seen = LowRank(reads.left * T[:, None], reads.right / T)
            written = LowRank(column * T[:, None], e[:1] / T)
            found.append(composition.score(seen, written))
        return found[1] > 0.9 * found[0]

    return Exercise(fooled, wrong=[(1.0, 1.0), (0.1, 1.0), (0.5, 0.5)])


def sampled() -> Exercise:
    """A share from samples."""
    R, r, x = _samples(4, 5), _samples(30, 5).flip(1), _samples(31, 5)[1:]
    long = [sum(float((R @ one).norm()) ** 2 for one in of) for of in (r, x)]
    return Exercise(
        lambda f: agrees(f(R, r, x), torch.tensor(long[0] / long[1])),
        wrong=[
            lambda R, r, x: (r @ R.T).norm() / (x @ R.T).norm(),
            lambda R, r, x: r.pow(2).sum() / x.pow(2).sum(),
            lambda R, r, x: (
                (R @ r.mean(dim=0)).norm() ** 2 / (R @ x.mean(dim=0)).norm() ** 2
            ),
        ],
    )


def left_over() -> Exercise:
    """What is left for the pair."""
    effects = _samples(6, 4).abs() + 0.1

    def nothing_of_heads(f):
        """Rows and columns sum to zero, and what was taken away is a number for each head."""
        rest = as_tensor(f(effects), (6, 4)).double()
        away = effects.log() - rest
        crossed = away[1:, 1:] + away[:1, :1] - away[1:, :1] - away[:1, 1:]
        sums = [float(rest.sum(dim=d).abs().max()) for d in (0, 1)]
        return max(*sums, float(crossed.abs().max())) < 1e-4

    return Exercise(
        nothing_of_heads,
        wrong=[
            lambda effects: effects.log() - effects.log().mean(),
            lambda effects: effects.log() - effects.log().mean(dim=1, keepdim=True),
            lambda effects: torch.zeros(6, 4),
        ],
    )
