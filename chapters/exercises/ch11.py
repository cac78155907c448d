"""What tells right answers from wrong ones in the exercises of *Induction heads*.

Read it after you have tried: some of it comes close to an answer.
"""

from transformer_circuits.analysis import induction
from transformer_circuits.book.exercises import Exercise
from transformer_circuits.text import tokenizer


def plus_one(A_1, two_copies, strongest, length) -> Exercise:
    """Plus one."""
    of_head = induction.prefix_matching_score(A_1, two_copies)
    return Exercise(
        lambda f: all(
            abs(sum(float(f(A[h], length)) for A in A_1) / len(A_1) - of_head[h]) < 1e-4
            for h in (strongest, 0)
        ),
        wrong=[
            lambda A, n: A.diagonal(-n)[1:].mean(),
            lambda A, n: A.diagonal(1 - n).mean(),
            lambda A, n: A.diagonal(-n - 1)[1:].mean(),
        ],
    )


def prompt(model, strongest) -> Exercise:
    """Make it match."""

    def makes_it_match(text):
        tokens = tokenizer.context(text)
        A = model.trace(tokens).patterns[1][0, strongest, -1]
        looked = (A * induction.followers(tokens)[0, -1]).sum()
        return looked > 0.5 and len(set(text.split())) >= 5

    never = ["We walked along the river and sat down.", "one two three four five"]
    return Exercise(makes_it_match, wrong=never)


def most(uniform_loss, two_copies, model) -> Exercise:
    """The most that induction can save."""
    return Exercise(
        lambda nats: abs(nats - uniform_loss) < 0.06,
        wrong=[float(two_copies.shape[1]), uniform_loss / 2, model.config.n_vocab],
    )


def orderless() -> Exercise:
    """Without any order."""
    return Exercise(
        lambda f: abs(f(1) - 1) < 1e-3 and abs(f(4) - 25 / 48) < 1e-3,
        wrong=[
            lambda n: 1 / n,
            lambda n: 2 / (n + 1),
            lambda n: sum(1 / k for k in range(1, n + 1)),
        ],
    )
