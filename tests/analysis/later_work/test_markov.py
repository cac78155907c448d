import itertools

import pytest
import torch

from transformer_circuits.analysis.later_work import markov


def integrated(states, memory):
    """P(next is 1 | states) for two states, by adding up over a grid of all chains.

    A chain is two numbers: the probability of 1 after 0, and after 1. Without memory they are one.
    """
    grid = (torch.arange(400, dtype=torch.float64) + 0.5) / 400
    after_0, after_1 = torch.meshgrid(grid, grid, indexing="ij") if memory else (grid, grid)

    def likelihood(sequence):
        # Without memory the first state is drawn like the others; with it, it is given.
        product = torch.ones_like(after_0)
        if not memory:
            product = after_0 if sequence[0] else 1 - after_0
        for present, following in itertools.pairwise(sequence):
            p = after_1 if present else after_0
            product = product * (p if following else 1 - p)
        return float(product.mean())

    return likelihood([*states, 1]) / likelihood(states)


@pytest.mark.parametrize("states", [[0, 1, 1, 0, 1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 0]])
def test_readers_are_exact(states):
    """Against brute force: all chains, weighed by how likely they make the sequence."""
    tensor = torch.tensor([states])
    for reader, memory in ((markov.bigrams, True), (markov.unigrams, False)):
        found = reader(tensor, 2)[0, :, 1]
        expected = [integrated(states[: k + 1], memory) for k in range(len(states))]
        torch.testing.assert_close(
            found, torch.tensor(expected).double(), atol=1e-4, rtol=0, msg=str(memory)
        )


def test_chains_are_columns_of_probabilities(generator):
    table = markov.chains(4000, 3, generator=generator)
    torch.testing.assert_close(table.sum(dim=1), torch.ones(4000, 3).double())
    # A flat Dirichlet over three: each share has mean 1/3 and variance 1/18.
    assert table.var() == pytest.approx(1 / 18, abs=0.003)
    without = markov.chains(7, 3, memory=False, generator=generator)
    assert torch.equal(without[:, :, 0], without[:, :, 2])


def test_walks_follow_their_chain(generator):
    table = torch.eye(5).roll(1, 0).double().expand(3, 5, 5)  # each state goes to the next one
    states = markov.walks(table, 9, generator=generator)
    assert torch.equal(states[:, 1:], (states[:, :-1] + 1) % 5)


def test_predictions_are_those_of_the_models_own_logits(model, generator):
    states = torch.randint(3, (4, 7), generator=generator)
    alphabet = torch.tensor([[4, 9, 2], [1, 2, 3], [16, 5, 7], [3, 2, 1]])
    found = markov.predicted(model, states, alphabet)
    for row in range(4):
        text = torch.cat([torch.tensor([0]), alphabet[row][states[row]]])[None]
        logits = model(text)[0, 1:, alphabet[row]]
        torch.testing.assert_close(found[row], logits.log_softmax(dim=1))


def test_alphabets_have_different_tokens_and_never_begin(generator):
    found = markov.alphabets(torch.tensor([9.0, 1, 0, 1, 1, 1]), 50, 3, generator=generator)
    assert all(len(set(row)) == 3 for row in found.tolist())
    assert set(found.flatten().tolist()) == {1, 3, 4, 5}
