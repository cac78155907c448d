import math

import pytest
import torch

from transformer_circuits.analysis import bigrams

STREAM = torch.tensor([0, 1, 2, 1, 2, 1, 0, 1])


def test_counts_are_output_by_source():
    table = bigrams.counts(STREAM, 5)
    assert table.shape == (5, 5)
    assert table[1, 0] == 2 and table[2, 1] == 2 and table[0, 1] == 1 and table[0, 2] == 0
    assert table.sum() == len(STREAM) - 1
    windows = torch.tensor([[0, 1], [2, 1]]), torch.tensor([[1, 2], [1, 0]])
    table = bigrams.counts_of(*windows, 3)
    assert table.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_entropy_and_losses_of_a_case_done_by_hand():
    table = torch.tensor([[1.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    by_hand = -(1 * math.log(1 / 4) + 3 * math.log(3 / 4)) / 8
    assert bigrams.entropy(table) == pytest.approx(by_hand)
    perfect = (table / table.sum(dim=0)).clamp(min=1e-12).log()
    assert bigrams.kl(perfect, table) == pytest.approx(0, abs=1e-9)
    uniform = torch.zeros(2, 2)
    assert bigrams.cross_entropy(uniform, table) == pytest.approx(math.log(2))
    assert bigrams.add_one(table)[0, 1].exp() == pytest.approx(1 / 6)
    assert bigrams.unigram(table)[:, 0].exp().tolist() == pytest.approx([2 / 10, 8 / 10])


def test_mixed_counts_are_probabilities_nearer_to_unigrams_where_little_was_counted():
    table = torch.tensor([[0.0, 6.0, 0.0], [3.0, 2.0, 0.0], [0.0, 0.0, 0.0]]).double()
    mixed, unigram = bigrams.mixed(table).exp(), bigrams.unigram(table).exp()
    torch.testing.assert_close(mixed.sum(dim=0), torch.ones(3).double())
    assert mixed[1, 0] == pytest.approx((3 + unigram[1, 0]) / 4)
    torch.testing.assert_close(mixed[:, 2], unigram[:, 2])


def test_correlation_knows_right_from_wrong_and_from_transposed(generator):
    table = torch.randint(10, 500, (13, 13), generator=generator).double()
    right, kept = bigrams.correlation(table.log(), table)
    wrong, _ = bigrams.correlation(table.log().T, table)
    assert kept.all() and right.min() > 0.999
    assert wrong.abs().mean() < 0.5


def test_best_fit_reaches_the_entropy_at_full_rank_and_not_below(generator):
    table = torch.randint(1, 200, (11, 11), generator=generator).double()
    losses = [bigrams.kl(bigrams.best_fit(table, rank, 400), table) for rank in (1, 4, 11)]
    assert losses[0] > losses[1] > losses[2] >= -1e-9
    assert losses[2] < 1e-3
