"""A matrix kept as a product of two thin factors (paper: "Working with Low-Rank Matrices").

The circuits of a head are [n_vocab, n_vocab] matrices of rank at most d_head. Nothing here ever
builds the square matrix, except `dense`, which says so.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LowRank:
    """The matrix `left @ right`.

    Raises:
        ValueError: if the inner dimensions differ.
    """

    left: Float[Tensor, "rows inner"]
    right: Float[Tensor, "other_inner cols"]

    def __post_init__(self):
        if self.left.shape[1] != self.right.shape[0]:
            raise ValueError(
                f"left has {self.left.shape[1]} columns but right has {self.right.shape[0]} rows"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape[0], self.right.shape[1]

    @property
    def max_rank(self) -> int:
        """The largest rank such a product can have."""
        return min(*self.shape, self.left.shape[1])

    @property
    def T(self) -> "LowRank":
        """The transpose."""
        return LowRank(self.right.T, self.left.T)

    def __matmul__(self, other: "LowRank | Tensor") -> "LowRank":
        """The product with a matrix or another LowRank, factored at the thinner place."""
        if isinstance(other, Tensor):
            return LowRank(self.left, self.right @ other)
        middle = self.right @ other.left
        if middle.shape[0] <= middle.shape[1]:
            return LowRank(self.left, middle @ other.right)
        return LowRank(self.left @ middle, other.right)

    def __add__(self, other: "LowRank") -> "LowRank":
        """The sum, with the factors side by side: heads that share a pattern act as one.

        Raises:
            ValueError: if the shapes differ.
        """
        if self.shape != other.shape:
            raise ValueError(f"a matrix {self.shape} and one {other.shape} cannot be added")
        left = torch.cat([self.left, other.left], dim=1)
        return LowRank(left, torch.cat([self.right, other.right], dim=0))

    def __rmatmul__(self, other: Tensor) -> "LowRank":
        return LowRank(other @ self.left, self.right)

    def double(self) -> "LowRank":
        """The same in float64, for checking identities."""
        return LowRank(self.left.double(), self.right.double())

    def dense(self) -> Float[Tensor, "rows cols"]:
        """The matrix itself: [rows, cols] numbers in memory."""
        return self.left @ self.right

    def norm(self) -> Float[Tensor, ""]:
        """Frobenius norm, from the triangular factors of the two sides.

        The trace's cyclic identity must not be used here: ‖AB‖ and ‖BA‖ differ. Using it is the
        error behind the paper's published composition figure (its "Correction" comment).
        """
        return self._core().norm()

    def singular_values(self) -> Float[Tensor, " rank"]:
        """All singular values that can be non-zero, largest first."""
        return torch.linalg.svdvals(self._core())[: self.max_rank]

    def svd(self) -> tuple[Tensor, Tensor, Tensor]:
        """U [rows, rank], S [rank], V [cols, rank] with `U @ diag(S) @ V.T` the matrix."""
        q_left, r_left = torch.linalg.qr(self.left)
        q_right, r_right = torch.linalg.qr(self.right.T)
        U, S, Vh = torch.linalg.svd(r_left @ r_right.T, full_matrices=False)
        k = self.max_rank
        return (q_left @ U)[:, :k], S[:k], (q_right @ Vh.T)[:, :k]

    def eigenvalues(self) -> Complex[Tensor, " inner"]:
        """The eigenvalues of `right @ left`: those of the square matrix, zeros aside.

        Raises:
            ValueError: if the matrix is not square.
        """
        self._require_square("eigenvalues")
        return torch.linalg.eigvals(self.right @ self.left)

    def diagonal(self) -> Float[Tensor, " rows"]:
        """The entries where row and column are the same.

        Raises:
            ValueError: if the matrix is not square.
        """
        self._require_square("a diagonal")
        return (self.left * self.right.T).sum(dim=1)

    def trace(self) -> Float[Tensor, ""]:
        """The sum of the diagonal, which is the sum of the eigenvalues.

        Raises:
            ValueError: if the matrix is not square.
        """
        self._require_square("a trace")
        return self.diagonal().sum()

    def _require_square(self, what: str) -> None:
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"{what} needs a square matrix but this one is {self.shape}")

    def _core(self) -> Tensor:
        """A small matrix with the same singular values as the product."""
        return torch.linalg.qr(self.left).R @ torch.linalg.qr(self.right.T).R.T
