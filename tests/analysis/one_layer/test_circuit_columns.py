import math

import pytest
import torch

from transformer_circuits.analysis import heads
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


def test_scores_stand_above_begin_and_the_destination_itself(model, factors):
    found = circuit_columns.strongest(factors, SOURCES, n_dst=2)
    score = heads.full_qk(model, (0, 1)).dense() / math.sqrt(model.config.d_head)
    dst, src = found.dst, SOURCES[:, None]
    rest = score[dst, BEGIN].logaddexp(score[dst, dst])
    torch.testing.assert_close(found.scores, score[dst, src] - rest)


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
