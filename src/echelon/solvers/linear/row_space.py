"""Inputs with more columns than rows, turned into as many columns as there are rows.

With X − 1cᵀ = Z·Qᵀ for a Q of orthonormal columns, a linear model with a penalty ½‖w‖² has its
best w in the span of Q. There w = Q·v, ‖w‖ = ‖v‖ and (X − 1cᵀ)·w = Z·v, so that the problem in v is
the same and far smaller. Z comes from the eigenvectors of the n×n products of rows, not from a
decomposition of X, which would be a second X in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..._utils.types import Matrix, Vector

# With more rows the products and their eigenvectors cost more than they save.
_MOST_ROWS = 2_000
# Eigenvalues, by the largest: from which on they are exact enough, and what rounding alone leaves.
_EXACT, _NOTHING = 1e-8, 1e-14
_COLUMNS = 4096


@dataclass(frozen=True)
class RowSpace:
    """Coordinates Z of the rows of X − centre in the space that they span.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    centre : ndarray of shape (d,)
    Z : ndarray of shape (n, r)
    back : ndarray of shape (n, r)
        What weights of rows each direction is: Q = (X − centre)ᵀ·back.
    """

    X: Matrix
    centre: Vector
    Z: Matrix
    back: Matrix

    @classmethod
    def of(cls, X: Matrix, centre: Vector) -> RowSpace | None:
        """None where X has no more columns than rows, or rows of sizes too different."""
        n, d = X.shape
        if not 1 < n < min(d, _MOST_ROWS + 1):
            return None
        products = np.zeros((n, n))
        for first in range(0, d, _COLUMNS):
            part = X[:, first : first + _COLUMNS] - centre[first : first + _COLUMNS]
            with np.errstate(over="ignore", invalid="ignore"):
                products += part @ part.T
        if not np.isfinite(products).all():
            return None
        values, vectors = scipy.linalg.eigh(products)
        kept = values > _EXACT * values[-1]
        if (np.abs(values[~kept]) > _NOTHING * n * values[-1]).any() or not kept.any():
            return None
        roots = np.sqrt(values[kept])
        return cls(X, centre, vectors[:, kept] * roots, vectors[:, kept] / roots)

    def weights(self, v: Vector) -> Vector:
        """The w = Q·v of a v."""
        rows = self.back @ v
        return np.asarray(rows @ self.X - rows.sum() * self.centre)
