import pytest
import torch

from transformer_circuits.analysis.one_layer import circuit_columns, skip_trigrams
from transformer_circuits.analysis.one_layer.skip_trigrams import Factors
from transformer_circuits.text.tokenizer import BEGIN

N = 17
SOURCES = torch.tensor([4, 9, 2])


@pytest.fixture
def factors(model):
    return skip_trigrams.factors(model, (0, 1))


def test_the_entries_are_the_strongest_of_their_columns(factors):
    found = circuit_columns.strongest(factors, SOURCES, n_dst=3, n_raised=2, n_lowered=1)
    for i, src in enumerate(SOURCES.tolist()):
        attention, logits = factors.attention[1:, src], factors.logits[:, src]
        best, rising = 1 + attention.argsort(descending=True), logits.argsort()
        assert found.dst[i].tolist() == best[:3].tolist()
        assert found.out[i].tolist() == [*rising.flip(0)[:2].tolist(), int(rising[0])]
        torch.testing.assert_close(found.scores[i].sigmoid(), factors.attention[best[:3], src])
        torch.testing.assert_close(found.logits[i], logits[found.out[i]])
        strength = attention.max() * logits.max()
        torch.testing.assert_close(found.strength()[i], strength)


def test_a_constant_for_all_scores_of_a_destination_changes_nothing(model, factors):
    """What a query adds to the scores of all keys alike: here along a direction that keys share."""
    layer, W_E = model.layers[0], model.W_E
    shared = torch.linalg.lstsq(W_E.T, torch.ones(N, 1, dtype=W_E.dtype)).solution  # keys · this
    residue = (W_E.T @ shared - 1).abs().max()
    if residue > 1e-9:  # 17 tokens in 14 dimensions: keep those that can share one
        model.W_E[:, 14:] = model.W_E[:, :3]
        shared = torch.linalg.lstsq(W_E.T, torch.ones(N, 1, dtype=W_E.dtype)).solution
    before = circuit_columns.strongest(skip_trigrams.factors(model, (0, 1)), SOURCES)
    layer.W_K[1, 0], layer.W_Q[1, 0] = shared[:, 0], layer.W_Q[1, 0]
    changed = skip_trigrams.factors(model, (0, 1))
    layer.W_Q[1, 0] *= -5
    again = skip_trigrams.factors(model, (0, 1))
    torch.testing.assert_close(changed.attention, again.attention)
    assert before.dst.shape == (3, 6)


def test_common_destinations_may_come_first_and_begin_never_does(factors):
    weight = torch.full((N,), 1e-6, dtype=torch.float64)
    weight[[BEGIN, 5]] = 1
    found = circuit_columns.strongest(factors, SOURCES, weight)
    assert found.dst[:, 0].tolist() == [5, 5, 5]
    every = circuit_columns.strongest(factors, SOURCES, n_dst=N - 1).dst
    assert BEGIN not in every


def test_more_than_there_are_is_refused():
    few = Factors(torch.rand(8, 8), torch.rand(8, 8))
    with pytest.raises(ValueError, match=r"6 \+ 3 outputs are asked for, but there are 8 tokens"):
        circuit_columns.strongest(few, SOURCES[:1])
