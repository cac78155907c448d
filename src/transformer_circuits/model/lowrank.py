"""A matrix kept as a product of two thin factors (paper: "Working with Low-Rank Matrices").

The circuits of a head are [n_vocab, n_vocab] matrices of rank at most d_head. Nothing here ever
builds the square matrix, except `dense`, which says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LowRank:
    """The matrix `left @ right`; with leading dimensions, such as one for heads, one for each.

    TransformerLens: `FactoredMatrix`.

    >>> W_O, W_V = torch.tensor([[1.0], [2.0], [0.0]]), torch.tensor([[3.0, 0.0, 1.0]])
    >>> OV = LowRank(W_O, W_V)
    >>> OV.shape, OV.max_rank
    ((3, 3), 1)
    >>> OV.dense()
    tensor([[3., 0., 1.],
            [6., 0., 2.],
            [0., 0., 0.]])
    >>> OV.eigenvalues().real, OV.trace()
    (tensor([3.]), tensor(3.))
    """

    left: Float[Tensor, "*batch rows inner"]
    right: Float[Tensor, "*other_batch other_inner cols"]

    def __post_init__(self):
        if self.left.shape[-1] != self.right.shape[-2]:
            raise ValueError(
                f"left has {self.left.shape[-1]} columns but right has {self.right.shape[-2]} rows"
            )
        if self.left.shape[:-2] != self.right.shape[:-2]:
            raise ValueError(
                f"left has the leading dimensions {tuple(self.left.shape[:-2])} "
                f"but right has {tuple(self.right.shape[:-2])}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dense matrix: (…, rows, cols)."""
        return *self.left.shape[:-1], self.right.shape[-1]

    @property
    def max_rank(self) -> int:
        """The largest rank such a product can have."""
        return min(*self.shape[-2:], self.left.shape[-1])

    @property
    def T(self) -> "LowRank":
        """The transpose of each matrix."""
        return LowRank(self.right.mT, self.left.mT)

    def __matmul__(self, other: "LowRank | Tensor") -> "LowRank":
        """The product with a matrix or another LowRank, factored at the thinner place."""
        if isinstance(other, Tensor):
            return LowRank(self.left, self.right @ other)
        middle = self.right @ other.left
        if middle.shape[-2] <= middle.shape[-1]:
            return LowRank(self.left, middle @ other.right)
        return LowRank(self.left @ middle, other.right)

    def __add__(self, other: "LowRank") -> "LowRank":
        """The sum, with the factors side by side: heads that share a pattern act as one."""
        if self.shape != other.shape:
            raise ValueError(f"a matrix {self.shape} and one {other.shape} cannot be added")
        left = torch.cat([self.left, other.left], dim=-1)
        return LowRank(left, torch.cat([self.right, other.right], dim=-2))

    def __rmatmul__(self, other: Tensor) -> "LowRank":
        """The product of a matrix with this one."""
        return LowRank(other @ self.left, self.right)

    def double(self) -> "LowRank":
        """Matrix with both factors in float64, for checking identities."""
        return LowRank(self.left.double(), self.right.double())

    def dense(self) -> Float[Tensor, "*batch rows cols"]:
        """Matrix as one tensor: rows · cols numbers in memory."""
        return self.left @ self.right

    def rows(self, which: Sequence[int] | Int[Tensor, " n"]) -> Float[Tensor, "*batch n cols"]:
        """Rows of the matrix: of a circuit, all sources for some outputs or destinations."""
        return self.left[..., which, :] @ self.right

    def columns(self, which: Sequence[int] | Int[Tensor, " n"]) -> Float[Tensor, "*batch rows n"]:
        """Columns of the matrix: of a circuit, all outputs or destinations for some sources."""
        return self.left @ self.right[..., which]

    def norm(self) -> Float[Tensor, "*batch"]:
        """Frobenius norm, of the right factor times the triangular factor of the left one.

        The trace's cyclic identity must not be used here: ‖AB‖ and ‖BA‖ differ. Using it is the
        error behind the paper's published composition figure (its "Correction" comment).
        """
        return (torch.linalg.qr(self.left).R @ self.right).norm(dim=(-2, -1))

    def singular_values(self) -> Float[Tensor, "*batch rank"]:
        """Singular values that can be non-zero, largest first."""
        return torch.linalg.svdvals(self._core())[..., : self.max_rank]

    def svd(
        self,
    ) -> tuple[
        Float[Tensor, "*batch rows rank"],
        Float[Tensor, "*batch rank"],
        Float[Tensor, "*batch rank cols"],
    ]:
        """U, S and Vh, with U @ diag(S) @ Vh the matrix; rank is `max_rank`.

        As `torch.linalg.svd(..., full_matrices=False)` gives them: the columns of U and the *rows*
        of Vh are orthonormal, and S is not negative, largest first.
        """
        q_left, r_left = torch.linalg.qr(self.left)
        q_right, r_right = torch.linalg.qr(self.right.mT)
        U, S, Vh = torch.linalg.svd(r_left @ r_right.mT, full_matrices=False)
        rank = self.max_rank
        return (q_left @ U)[..., :rank], S[..., :rank], (Vh @ q_right.mT)[..., :rank, :]

    def eigenvalues(self) -> Complex[Tensor, "*batch inner"]:
        """Eigenvalues of `right @ left`: those of the square matrix, zeros aside."""
        self._require_square("eigenvalues")
        core = self.right @ self.left
        if not core.isfinite().all():  # LAPACK may end the process over such a matrix
            most = torch.finfo(core.dtype).max
            raise ValueError(
                f"eigenvalues need finite numbers but the product has entries beyond {most:.2g}"
            )
        return torch.linalg.eigvals(core)

    def diagonal(self) -> Float[Tensor, "*batch rows"]:
        """The entries where row and column are the same."""
        self._require_square("a diagonal")
        return (self.left * self.right.mT).sum(dim=-1)

    def trace(self) -> Float[Tensor, "*batch"]:
        """The sum of the diagonal, which is the sum of the eigenvalues."""
        self._require_square("a trace")
        return self.diagonal().sum(dim=-1)

    def _require_square(self, what: str) -> None:
        rows, cols = self.shape[-2:]
        if rows != cols:
            raise ValueError(f"{what} needs a square matrix but this one is {(rows, cols)}")

    def _core(self) -> Float[Tensor, "*batch small small_too"]:
        """A small matrix with the same singular values as the product."""
        # Orthonormal factors on either side change no singular value.
        return torch.linalg.qr(self.left).R @ torch.linalg.qr(self.right.mT).R.mT
