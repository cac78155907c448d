"""What tells right answers from wrong ones in the exercises of *Skip-trigrams at work, and their bugs*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.book.exercises import Exercise, agrees
from transformer_circuits.text import tokenizer


def own_triple(held_out) -> Exercise:
    """A skip-trigram of your own."""

    def holds(texts):
        triple = skip_trigrams.SkipTrigram(*map(tokenizer.token, texts))
        seen = skip_trigrams.count(held_out, triple, 256)
        return seen.n_all >= 10 and seen.lift > 1

    unheard = (
        (" land", " the", " def"),
        (" if", "\n   ", " mind"),
        (" United", " the", " ="),
    )
    return Exercise(holds, wrong=unheard)


def price(f1s, f2s) -> Exercise:
    """The price of being right twice."""
    strengths = f1s[0] * f2s[0], f1s[1] * f2s[1], f1s[0] * f2s[1], f1s[1] * f2s[0]
    return Exercise(
        lambda f: agrees(f(*strengths[:3]), strengths[3]),
        wrong=[
            lambda a, b, c: a + b - c,
            lambda a, b, c: a * b,
            lambda a, b, c: c * a / b,
        ],
    )


def one() -> Exercise:
    """Can one head say this?"""
    asked_of = {
        ((2.0, 4.0), (1.0, 2.0)): True,
        ((1.0, 0.0), (0.0, 1.0)): False,
        ((0.0, 0.0), (3.0, 1.0)): True,
        ((3.0, 1.0), (1.0, 3.0)): False,
        ((1.0, -2.0), (-2.0, 4.0)): False,  # attention is never below zero
    }

    def tells(f):
        for table, can in asked_of.items():
            said = bool(f(torch.tensor(table)))
            if said != can:
                rows = [list(row) for row in table]
                raise ValueError(f"it says {said} of {rows}")
        return True

    return Exercise(
        tells,
        wrong=[
            lambda t: True,
            lambda t: (t >= 0).all(),
            lambda t: t[0, 0] * t[1, 1] == t[0, 1] * t[1, 0],
        ],
    )


def preferred() -> Exercise:
    """All of the passage, and no more."""
    equal = torch.zeros(10)  # the logits of the ten tokens of a passage
    against = (equal[0] > equal[1:]).double() + 0.5 * (equal[0] == equal[1:])
    return Exercise(
        lambda share: abs(share - against.mean()) < 1e-6,
        wrong=[1.0, 0.0, 1 / 10],
    )
