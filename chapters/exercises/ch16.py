"""What tells right answers from wrong ones in the exercises of *What freezing hides: taking heads away*.

Read it after you have tried: some of it comes close to an answer.
"""

import torch
from transformer_circuits.analysis import term_importance
from transformer_circuits.book.exercises import Exercise, agrees


def bias() -> Exercise:
    """A head that is a bias."""
    constant = torch.ones(3, 5, 2) * torch.tensor([2.0, -1.0])  # [window, pos, d_model]
    instead = {
        "zero": torch.zeros_like(constant),
        "mean": constant.mean(dim=(0, 1)).expand_as(constant),
        "resample": constant.roll(1, dims=0),
    }
    harmless = {way for way, other in instead.items() if torch.equal(other, constant)}
    return Exercise(
        lambda ways: not isinstance(ways, str) and set(ways) == harmless,
        wrong=[["mean"], ["resample"], ["zero"], ["zero", "mean", "resample"], "mean"],
    )


def left(for_repeats) -> Exercise:
    """What is left to see."""
    all_of_it = for_repeats["full"].mean()

    def is_seen(share):  # no more and no less than what is lost with patterns kept
        unseen = share * all_of_it - for_repeats["patterns kept"].mean()
        return abs(unseen) < 6e-3 * all_of_it

    return Exercise(is_seen, wrong=[1.0, 0.5, for_repeats["patterns kept"].mean()])


def alone(inputs, model) -> Exercise:
    """Patterns that embeddings make."""
    few = inputs[:2, :40]
    wanted = term_importance.patterns_of_embeddings(model, few)[1]
    return Exercise(
        lambda f: agrees(f(model, few), wanted),
        wrong=[
            lambda model, tokens: model.trace(tokens).patterns[1],
            lambda model, tokens: model.trace(tokens).patterns[0],
            lambda model, tokens: term_importance.patterns_of_embeddings(model, tokens)[
                0
            ],
        ],
    )


def two(costs_without, pair) -> Exercise:
    """Two at once."""
    at_once, apart = costs_without(pair), sum(costs_without([head]) for head in pair)
    return Exercise(
        lambda ratio: abs(ratio - at_once / apart) < 6e-3,
        wrong=[apart / at_once, at_once, 1.0],
    )
