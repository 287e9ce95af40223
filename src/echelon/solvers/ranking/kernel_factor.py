"""A kernel matrix as a product of a thin factor with itself, from few of its columns.

Cholesky's method with pivots drawn at random: the next row is drawn in proportion to what its
diagonal entry still lacks, so rows far from those chosen are preferred, and equal rows are not
chosen twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..._utils.types import Index, Matrix, Vector

# What is left of a diagonal entry below this share of the largest is a rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class KernelFactor:
    """K ≈ F·Fᵀ, exact in the rows and columns ``pivots``."""

    pivots: Index
    factor: Matrix

    def coefficients(self, w: Vector) -> Vector:
        """β over the pivots for which K[:, pivots]·β equals F·w."""
        corner = self.factor[self.pivots]
        return np.asarray(scipy.linalg.solve_triangular(corner, w, trans="T", lower=True))


def factor_kernel(
    column: Callable[[int], Vector], diagonal: Vector, rank: int, rng: np.random.RandomState
) -> KernelFactor:
    """Factor of a kernel matrix with at most `rank` columns.

    Parameters
    ----------
    column : callable
        Gives a column of K.
    diagonal : ndarray of shape (n,)
        Of K.
    rank : int
        Most columns; fewer where the matrix has a lower rank.
    rng : RandomState

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> K = X @ X.T
    >>> found = factor_kernel(lambda i: K[:, i], K.diagonal(), 3, np.random.RandomState(0))
    >>> found.factor.shape, bool(np.allclose(found.factor @ found.factor.T, K))
    ((3, 1), True)
    """
    left = diagonal.astype(np.float64, copy=True)
    floor = _ROUNDING * float(left.max(initial=0.0))
    rank = min(rank, len(left))
    factor = np.zeros((len(left), rank), order="F")
    pivots: list[int] = []
    for number in range(rank):
        weight = np.where(left > floor, left, 0.0)
        total = weight.sum()
        if total <= 0.0:
            break
        pivot = int(rng.choice(len(left), p=weight / total))
        rest = column(pivot) - factor[:, :number] @ factor[pivot, :number]
        factor[:, number] = rest / np.sqrt(rest[pivot] if rest[pivot] > 0.0 else left[pivot])
        left -= factor[:, number] ** 2
        left[pivot] = 0.0
        factor[pivots, number] = 0.0
        pivots.append(pivot)
    return KernelFactor(np.array(pivots, dtype=np.intp), factor[:, : len(pivots)])
