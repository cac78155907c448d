"""What tells right answers from wrong ones in the exercises of *One layer: bigrams and skip-trigrams*.

Read it after you have tried: some of it comes close to an answer.
"""

from transformer_circuits.analysis import heads
from transformer_circuits.book.exercises import Exercise, agrees, whole_number
from transformer_circuits.text import tokenizer


def three_ways(score, src, f1) -> Exercise:
    """Attention among three."""
    given = score[:, src], score[:, tokenizer.BEGIN], score.diagonal()
    return Exercise(
        lambda f: agrees(f(*given), f1),
        wrong=[
            lambda s, b, i: (s - b).sigmoid(),
            lambda s, b, i: s.exp() / (b.exp() + i.exp()),
            lambda s, b, i: s.softmax(dim=0),
        ],
    )


def numbers(every_factors, model) -> Exercise:
    """So many triples, so few numbers."""
    held_in = every_factors[0, 0].attention.numel() + every_factors[0, 0].logits.numel()
    return Exercise(
        lambda n: n == held_in, wrong=[model.config.n_vocab**3, model.config.n_vocab**2]
    )


def last(A, h, OV, ids, by_head, exact) -> Exercise:
    """One head at the last place."""
    return Exercise(
        lambda f: agrees(f(A[h], OV, ids), by_head[heads.every(exact)[h]][-1]),
        wrong=[
            lambda A_h, OV, ids: OV[:, ids] @ A_h[:, -1],
            lambda A_h, OV, ids: OV[:, ids].mean(dim=1),
            lambda A_h, OV, ids: OV[ids].T @ A_h[-1],
            lambda A_h, OV, ids: OV[:, ids[-1]],
        ],
    )


def closes(every_factors, n_heads, ending, opening) -> Exercise:
    """Who closes a bracket?"""

    def raised(head):
        return every_factors[0, whole_number(head, n_heads)].logits[ending, opening]

    return Exercise(
        lambda head: all(raised(head) >= raised(other) for other in range(n_heads)),
        wrong=[min(range(n_heads), key=raised), n_heads],
    )
