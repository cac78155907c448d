import pytest
import torch

from transformer_circuits.analysis import copying_scores
from transformer_circuits.model.lowrank import LowRank


def lowrank(matrix):
    return LowRank(matrix, torch.eye(len(matrix), dtype=matrix.dtype))


def test_positive_eigenvalues_do_not_mean_that_tokens_raise_themselves():
    """The counter-example of the book: eigenvalues 2 and 1, but token 1 lowers itself."""
    circuit = lowrank(torch.tensor([[4.0, -6.0], [1.0, -1.0]]))
    assert copying_scores.positivity(circuit.eigenvalues()) == pytest.approx(1)
    assert circuit.diagonal().tolist() == [4.0, -1.0]
    assert copying_scores.own_ranks(circuit).tolist() == [0, 0]
    twice = lowrank(torch.tensor([[4.0, 6.0], [-1.0, -1.0]]))
    assert copying_scores.positivity(twice.eigenvalues()) == pytest.approx(1)
    assert copying_scores.own_ranks(twice).tolist() == [0, 1]


def test_deletion_is_the_share_of_what_was_read_that_is_gone(generator):
    reads = torch.randn(7, 5, generator=generator, dtype=torch.float64)
    x = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    axes = torch.linalg.svd(reads).Vh[:2]  # apart from the rest, for this reader
    part = x @ axes.T @ axes
    share = (part @ reads.T).square().sum(dim=(1, 2)) / (x @ reads.T).square().sum(dim=(1, 2))
    assert copying_scores.deletion(reads, x, -part) == pytest.approx(share.tolist())
    assert copying_scores.deletion(reads, x, part) == pytest.approx((-3 * share).tolist())
    assert copying_scores.deletion(reads, x, -2 * part) == pytest.approx([0, 0])
    assert copying_scores.deletion(reads, x, -x) == pytest.approx([1, 1])


def test_the_null_is_around_zero_and_narrows_with_the_rank(generator):
    left = torch.randn(90, 40, generator=generator)
    right = torch.randn(40, 90, generator=generator)
    few = copying_scores.null(left, right, 4, 200, generator=generator)
    many = copying_scores.null(left, right, 16, 200, generator=generator)
    assert few.mean().abs() < 4 * few.std() / 200**0.5
    assert many.std() < few.std()


def test_own_ranks_agree_with_sorting_the_dense_matrix(generator):
    """Small whole numbers: no sum is rounded, and ties abound."""
    left, right = (torch.randint(-3, 4, (211, 5), generator=generator).float() for _ in range(2))
    circuit = LowRank(left, right.T)
    dense = circuit.dense()
    assert (dense == dense.diagonal()).sum() > 1000
    expected = [int((dense[:, t] > dense[t, t]).sum()) for t in range(211)]
    assert copying_scores.own_ranks(circuit, chunk=40).tolist() == expected


def test_a_token_is_never_counted_against_itself(generator):
    """At a real size, where the same entry summed in another order comes out different."""
    left = torch.randn(2048, 64, generator=generator)
    right = left.T + torch.randn(64, 2048, generator=generator)
    circuit = LowRank(left, right)
    first = copying_scores.own_ranks(circuit) == 0
    assert torch.equal(first, circuit.dense().argmax(dim=0) == torch.arange(2048))
    assert 0.1 < first.float().mean() < 0.999


def test_copying_is_one_for_the_identity_and_chance_for_random(generator):
    eye = LowRank(torch.eye(60), torch.eye(60))
    assert copying_scores.copying(eye, generator=generator) == pytest.approx(1)
    anti = LowRank(-torch.eye(60), torch.eye(60))
    assert copying_scores.copying(anti, generator=generator) == pytest.approx(0)
    draw = LowRank(
        torch.randn(400, 20, generator=generator), torch.randn(20, 400, generator=generator)
    )
    assert copying_scores.copying(draw, generator=generator) == pytest.approx(1 / 25, abs=0.01)
