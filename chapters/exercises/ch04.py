"""What tells right answers from wrong ones in the exercises of *Zero layers: a model of bigrams*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits import book
from transformer_circuits.book.exercises import (
    Exercise,
    agrees,
    as_tensor,
    whole_number,
)
from transformer_circuits.text import tokenizer


def best_guess(counts, fresh) -> Exercise:
    """The best single guess."""
    weights = counts.sum(dim=0) / counts.sum()
    on_average = fresh.double().softmax(dim=0) @ weights
    return Exercise(
        lambda n: on_average[whole_number(n, len(on_average))] == on_average.max(),
        wrong=[int(on_average.argmin()), int(on_average.topk(2).indices[1])],
    )


def kl(q, p) -> Exercise:
    """Divergence, in nats."""
    by_torch = torch.nn.functional.kl_div(q.log(), p, reduction="sum")
    return Exercise(
        lambda f: agrees(f(p, q), by_torch) and abs(f(q, q)) < 1e-6,
        wrong=[
            lambda p, q: (p * (p / q).log()).sum(),
            lambda p, q: -(p * q.log()).sum(),
            lambda p, q: (p * (p / q).nan_to_num(1).log2().clamp(min=-9)).sum(),
        ],
    )


def blind(trained) -> Exercise:
    """What it cannot see."""

    def same_to_the_model(texts):
        one, two = (tokenizer.context(text) for text in texts)
        long_enough = min(one.shape[1], two.shape[1]) > 3
        words_differ = texts[0].split()[-2] != texts[1].split()[-2]
        alike = book.close(trained(one)[0, -1], trained(two)[0, -1], 1e-4)
        return long_enough and words_differ and alike

    return Exercise(
        same_to_the_model,
        wrong=[("we saw the sea", "we saw the fire"), ("a man said", "a man said")],
    )


def too_rich() -> Exercise:
    """A table too rich."""

    def needs_more(table):
        table = as_tensor(table, (4, 4))
        free, rounding = table - table.mean(dim=0), 1e-5 * table.abs().max()
        return torch.linalg.matrix_rank(free, atol=rounding) > 1

    one_way = torch.outer(
        torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([1.0, 2, 3, 4])
    )
    return Exercise(
        needs_more,
        wrong=[one_way, one_way + torch.tensor([1.0, 0, 5, 0]), torch.ones(4, 4)],
    )
