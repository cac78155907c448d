"""What tells right answers from wrong ones in the exercises of *What changes with size*.

Read it after you have tried: some of it comes close to an answer.
"""

import random

import numpy as np
from transformer_circuits.book.exercises import Exercise, agrees
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def luck_exercise() -> Exercise:
    """By luck."""
    draw = random.Random(0)

    def tried(n, m, times=20000):
        apart = 0
        for _ in range(times):
            drawn = [draw.random() for _ in range(n + m)]
            some, others = drawn[:n], drawn[n:]
            apart += min(some) > max(others) or max(some) < min(others)
        return apart / times

    shares = {pair: tried(*pair) for pair in ((2, 2), (3, 3), (2, 3), (1, 4))}
    return Exercise(
        lambda f: all(abs(f(*pair) - share) < 0.02 for pair, share in shares.items()),
        wrong=[
            lambda n, m: 0.5 ** (n + m),
            lambda n, m: 1 / (n * m),
            lambda n, m: 2 / 2 ** (n + m),
        ],
    )


def fall_exercise(widths) -> Exercise:
    """How much lower is the loss?"""
    points = [(width, one.loss) for width, of in widths.items() for one in of]
    over, losses = np.log2([width for width, _ in points]), [loss for _, loss in points]
    A = np.stack([over, np.ones_like(over)], axis=1)
    slope = np.linalg.lstsq(A, np.array(losses), rcond=None)[0][0]
    plain = np.polyfit([width for width, _ in points], losses, 1)[0]
    return Exercise(
        lambda number: abs(number + slope) < 6e-3,
        wrong=[0.0, float(plain), float(losses[0] - losses[-1])],
    )


def size_exercise() -> Exercise:
    """How many weights?"""

    def counted(d_model, n_vocab, d_head=4):
        shape = ModelConfig(2, d_model // d_head, d_model, d_head, n_vocab, 7, 10.0)
        return sum(weight.numel() for weight in Transformer(shape).parameters())

    shapes = ((8, 11), (16, 5), (24, 101))
    return Exercise(
        lambda f: all(agrees(f(*shape), counted(*shape)) for shape in shapes),
        wrong=[
            lambda d_model, n_vocab: 2 * n_vocab * d_model + 4 * d_model**2,
            lambda d_model, n_vocab: n_vocab * d_model + 8 * d_model**2,
            lambda d_model, n_vocab: 2 * n_vocab * d_model + 6 * d_model**2,
        ],
    )


def part_exercise() -> Exercise:
    """Width, or loss?"""

    def right(f):
        made = [(1.0, 1.5, 2.0), (0.2, 0.2, 0.8), (3.0, 2.0, 2.0), (0.0, -0.3, 0.6)]
        return all(
            agrees(long, narrow + f(narrow, long, wide) * (wide - narrow))
            for narrow, long, wide in made
        )

    return Exercise(
        right,
        wrong=[
            lambda narrow, long, wide: long / wide,
            lambda narrow, long, wide: (wide - long) / (wide - narrow),
            lambda narrow, long, wide: long - narrow,
        ],
    )
