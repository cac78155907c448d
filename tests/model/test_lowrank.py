import pytest
import torch

from transformer_circuits.model.lowrank import LowRank

SHAPES = {"inner < both": (11, 3, 7), "inner = cols": (11, 7, 7), "inner > both": (5, 13, 7)}


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-9)


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def product(request, generator):
    rows, inner, cols = request.param
    options = {"generator": generator, "dtype": torch.float64}
    return LowRank(torch.randn(rows, inner, **options), torch.randn(inner, cols, **options))


def test_norm_and_singular_values_are_those_of_the_dense_matrix(product):
    dense = product.dense()
    close(product.norm(), dense.norm())
    expected = torch.linalg.svdvals(dense)[: product.max_rank]
    close(product.singular_values(), expected)


def test_svd_puts_the_matrix_together_again(product):
    U, S, Vh = product.svd()
    close(U @ S.diag() @ Vh, product.dense())
    for of_columns in (U, Vh.T):
        close(of_columns.T @ of_columns, torch.eye(len(S), dtype=torch.float64))
    assert (S.diff() <= 0).all() and (S >= 0).all()


@pytest.mark.parametrize("inner", [3, 7, 13])
def test_eigenvalues_are_those_of_the_dense_matrix_and_zeros(inner, generator):
    left = torch.randn(7, inner, generator=generator, dtype=torch.float64)
    right = torch.randn(inner, 7, generator=generator, dtype=torch.float64)
    square = LowRank(left, right)
    ours, dense = square.eigenvalues(), torch.linalg.eigvals(square.dense())

    def largest(values):
        return sorted(values.tolist(), key=lambda z: (-round(abs(z), 6), z.imag))[: min(inner, 7)]

    close(torch.tensor(largest(ours)), torch.tensor(largest(dense)))
    close(square.trace(), square.dense().trace())
    close(ours.sum().real, square.trace())


def test_products_and_transposes_stay_exact_and_factored(product, generator):
    other = LowRank(
        torch.randn(product.shape[1], 2, generator=generator, dtype=torch.float64),
        torch.randn(2, 4, generator=generator, dtype=torch.float64),
    )
    close((product @ other).dense(), product.dense() @ other.dense())
    assert (product @ other).left.shape[1] <= 3 or product.left.shape[1] > 3
    close(product.T.dense(), product.dense().T)
    matrix = torch.randn(4, product.shape[0], generator=generator, dtype=torch.float64)
    close((matrix @ product).dense(), matrix @ product.dense())
    close(product.rows([4, 0]), product.dense()[[4, 0]])
    close(product.columns(torch.tensor([2])), product.dense()[:, [2]])


MEASURES = {
    "norm": LowRank.norm, "singular values": LowRank.singular_values,
    "eigenvalues": LowRank.eigenvalues, "diagonal": LowRank.diagonal, "trace": LowRank.trace,
    "transpose": lambda m: m.T.dense(), "sum": lambda m: (m + m).dense(),
    "product": lambda m: (torch.ones(2, 7).double() @ m @ m).dense(),
    "from its svd": lambda m: m.svd()[0] * m.svd()[1][..., None, :] @ m.svd()[2],
}  # fmt: skip


@pytest.mark.parametrize("name", MEASURES)
def test_leading_dimensions_are_matrices_side_by_side(name, generator):
    left = torch.randn(2, 5, 7, 3, generator=generator, dtype=torch.float64)
    right = torch.randn(2, 5, 3, 7, generator=generator, dtype=torch.float64)
    many, measure = LowRank(left, right), MEASURES[name]
    assert many.shape == (2, 5, 7, 7) and many.max_rank == 3
    together = measure(many)
    for i in range(2):
        for j in range(5):
            close(together[i, j], measure(LowRank(left[i, j], right[i, j])))


def test_eigenvalues_of_products_that_overflow_are_refused():
    """LAPACK may end the process over a matrix that is not finite."""
    large = torch.full((4, 2), 1e38)
    with pytest.raises(ValueError, match=r"finite numbers but .* beyond 3.4e\+38"):
        LowRank(large, large.T).eigenvalues()
