import pytest
import torch

from transformer_circuits import spectra
from transformer_circuits.lowrank import LowRank


def lowrank(matrix):
    return LowRank(matrix, torch.eye(len(matrix), dtype=matrix.dtype))


@pytest.mark.parametrize(
    ("diagonal", "expected"), [((1.0, 3.0), 1), ((-2.0, -1.0), -1), ((2.0, -2.0), 0)]
)
def test_positivity_of_known_spectra(diagonal, expected):
    found = spectra.positivity(lowrank(torch.tensor(diagonal).diag()).eigenvalues())
    assert found == pytest.approx(expected)


def test_positivity_of_a_rotation_is_zero():
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    assert spectra.positivity(lowrank(turn).eigenvalues()) == pytest.approx(0)


def test_no_eigenvalues_say_nothing():
    with pytest.raises(ValueError, match="all eigenvalues are 0"):
        spectra.positivity(torch.zeros(3, dtype=torch.complex64))


def test_positive_eigenvalues_do_not_mean_that_tokens_raise_themselves():
    """The counter-example of the book: eigenvalues 2 and 1, but token 1 lowers itself."""
    circuit = lowrank(torch.tensor([[4.0, -6.0], [1.0, -1.0]]))
    assert spectra.positivity(circuit.eigenvalues()) == pytest.approx(1)
    assert circuit.diagonal().tolist() == [4.0, -1.0]
    assert spectra.own_ranks(circuit).tolist() == [0, 0]
    twice = lowrank(torch.tensor([[4.0, 6.0], [-1.0, -1.0]]))
    assert spectra.positivity(twice.eigenvalues()) == pytest.approx(1)
    assert spectra.own_ranks(twice).tolist() == [0, 1]


def test_the_null_is_around_zero_and_narrows_with_the_rank(generator):
    left = torch.randn(90, 40, generator=generator)
    right = torch.randn(40, 90, generator=generator)
    few = spectra.null(left, right, 4, 200, generator)
    many = spectra.null(left, right, 16, 200, generator)
    assert few.mean().abs() < 4 * few.std() / 200**0.5
    assert many.std() < few.std()


def test_the_null_sees_what_stands_around_the_head(generator):
    """Where W_E W_U is lopsided, a random head is too far from 0 to be called chance."""
    left, right = torch.randn(90, 4, generator=generator), torch.randn(4, 90, generator=generator)
    middle = right @ left
    by_hand = spectra.positivity(torch.linalg.eigvals(middle @ torch.eye(4)))
    same = spectra.positivity(LowRank(left, right).eigenvalues())
    assert same == pytest.approx(by_hand, abs=1e-4)


def test_own_ranks_agree_with_sorting_the_dense_matrix(generator):
    circuit = LowRank(
        torch.randn(11, 3, generator=generator), torch.randn(3, 11, generator=generator)
    )
    dense = circuit.dense()
    expected = [int((dense[:, t] > dense[t, t] + 1e-6).sum()) for t in range(11)]
    assert spectra.own_ranks(circuit, chunk=4).tolist() == expected
