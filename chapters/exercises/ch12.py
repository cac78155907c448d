"""What tells right answers from wrong ones in the exercises of *How induction heads work*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import composition, copying_scores, heads
from transformer_circuits.book.exercises import (
    Exercise,
    agrees,
    as_tensor,
    whole_number,
)


def break_it(without_first, each) -> Exercise:
    """Break it."""

    def comes_second(head):
        left_over = without_first(whole_number(head, len(each)))
        return sum(without_first(other) < left_over for other in each) == 1

    most_harm = min(each, key=without_first)
    least_harm = max(each, key=without_first)
    return Exercise(comes_second, wrong=[most_harm, least_harm, len(each)])


def spectrum(model, back, strongest, score) -> Exercise:
    """The second spectrum, from the weights."""
    OV_back = heads.W_OV(model, (0, back)).dense()
    wanted = composition.matching(model, (1, strongest), (0, back)).eigenvalues()
    weights = [model.layers[1].W_Q[strongest], model.layers[1].W_K[strongest]]
    weights += [OV_back, model.W_E]
    return Exercise(
        lambda f: agrees(f(*weights), copying_scores.positivity(wanted), 1e-3),
        wrong=[
            lambda W_Q, W_K, W_OV, W_E: score(W_Q @ W_E @ W_E.T @ W_K.T),
            lambda W_Q, W_K, W_OV, W_E: score(W_OV @ W_E @ W_E.T),
            lambda W_Q, W_K, W_OV, W_E: score(W_K @ W_OV @ W_Q.T),
        ],
    )


def share_recovered() -> Exercise:
    """The share recovered."""
    return Exercise(
        lambda f: agrees(
            [f(3, 3, 4), f(3, 4, 4), f(2, 2.5, 4), f(1, 5, 4)],
            torch.tensor([1, 0, 0.75, -1 / 3]),
        ),
        wrong=[
            lambda a, b, c: (b - a) / (c - a),
            lambda a, b, c: a / b,
            lambda a, b, c: (c - b) / c,
            lambda a, b, c: max(0, (c - b) / (c - a)),
            lambda a, b, c: abs(c - b) / abs(c - a),
        ],
    )


def summed(eye, ones) -> Exercise:
    """Two that copy only together."""

    def raised_most(circuit):
        others = circuit.masked_fill(eye.bool(), -torch.inf).amax(dim=0)
        return circuit.diagonal() > others

    def only_together(pair):
        one, other = (as_tensor(circuit, (3, 3)) for circuit in pair)
        alone = raised_most(one) | raised_most(other)
        return raised_most(one + other).all() and not alone.any()

    return Exercise(
        only_together,
        wrong=[(eye, eye), (ones - eye, ones - eye), (ones, eye), (ones, ones)],
    )
