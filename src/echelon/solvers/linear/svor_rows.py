"""Rows in blocks, centred on the fly, so that a pass over the data needs one block of memory.

A *source* of rows is anything that can be iterated again and again and yields (X, codes, weights),
with X dense or CSR: a list with one entry for data in memory, or an object that reads chunks from
a disk. Only products with the centred inputs leave this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.sparse import csr_of
from ..._utils.types import Codes, Matrix, Vector

Chunk = tuple[Any, Codes, Vector]
Source = Iterable[Chunk]

# A dense block and its scaled copy stay in the cache of a processor.
_DENSE_ENTRIES = 1 << 17
# So many rows of a sparse block, more where a row has so few entries that sums over all columns,
# which every block makes, would cost more than they do.
_SPARSE_ROWS = 1 << 12, 1 << 15
_SQUARED_ROWS = 1 << 9


@dataclass(frozen=True)
class RowSummary:
    """What one pass tells before the fit: weighted means of the inputs, weight of each class."""

    centre: Vector
    class_mass: Vector

    @property
    def n_features(self) -> int:
        """Number of columns d."""
        return len(self.centre)


def summarise(source: Source, n_classes: int) -> RowSummary:
    """Weighted column means and class masses of a source."""
    mass = np.zeros(n_classes)
    total: Vector | None = None
    for X, codes, weights in source:
        mass += np.bincount(codes, weights, minlength=n_classes)
        part = np.asarray(X.T @ weights).ravel()
        total = part if total is None else total + part
    if total is None:
        raise ValueError("the source of rows must yield at least one chunk.")
    return RowSummary(total / (mass.sum() or 1.0), mass)


class DenseBlock:
    """Some rows of X − centre."""

    def __init__(self, X: Matrix, centre: Vector) -> None:
        self._B = X - centre

    def dot(self, V: Matrix) -> Matrix:
        """Products of the rows with a vector or with the columns of a matrix."""
        return np.asarray(self._B @ V)

    def transpose_dot(self, R: Matrix) -> Matrix:
        """Sums of the rows under the weights in the columns of R."""
        return np.asarray(self._B.T @ R)

    def gram(self, curvature: Vector) -> Matrix:
        """Σ_i curvature_i·x_i·x_iᵀ."""
        curved = np.flatnonzero(curvature)
        rows = self._B
        if 4 * len(curved) < 3 * len(curvature):
            # Where few rows have any, as late in the path to the hinge, the others cost nothing.
            rows, curvature = rows[curved], curvature[curved]
        half = rows * np.sqrt(curvature)[:, None]
        return np.asarray(half.T @ half)

    def squares(self, curvature: Vector) -> Vector:
        """Diagonal of `gram`."""
        return np.asarray(curvature @ self._B**2)


class SparseBlock:
    """Some rows of X − centre for a sparse X, with the centre carried through the products."""

    def __init__(self, X: Any, centre: Vector) -> None:
        # SciPy's constructor copies the arrays of a part of another matrix.
        self._X = X if isinstance(X, sp.csr_array) else sp.csr_array(X)
        self._centre = centre

    def dot(self, V: Matrix) -> Matrix:
        """Products of the rows with a vector or with the columns of a matrix."""
        return np.asarray(_product(self._X, V) - self._centre @ V)

    def transpose_dot(self, R: Matrix) -> Matrix:
        """Sums of the rows under the weights in the columns of R."""
        sums = _product(self._X.T, R)
        # Column by column, because the products of all would be as large as the sums.
        for j, total in enumerate(R.sum(axis=0)):
            sums[:, j] -= self._centre * total
        return sums

    def gram(self, curvature: Vector) -> Matrix:
        """Σ_i curvature_i·x_i·x_iᵀ."""
        weighted = sp.diags_array(curvature) @ self._X
        raw = (self._X.T @ weighted).toarray()
        cross = np.multiply.outer(self._centre, np.asarray(weighted.sum(axis=0)).ravel())
        square = np.multiply.outer(self._centre, self._centre) * curvature.sum()
        return np.asarray(raw - cross - cross.T + square)

    def squares(self, curvature: Vector) -> Vector:
        """Diagonal of `gram`."""
        X, raw = self._X, np.zeros(self._X.shape[1])
        # Some rows at a time: the squares of all would be as large as the inputs.
        for first in range(0, X.shape[0], _SQUARED_ROWS):
            ends = X.indptr[first : first + _SQUARED_ROWS + 1]
            here = slice(ends[0], ends[-1])
            curved = np.repeat(curvature[first : first + _SQUARED_ROWS], np.diff(ends))
            raw += np.bincount(X.indices[here], X.data[here] ** 2 * curved, minlength=len(raw))
        sums = np.asarray(X.T @ curvature)
        return np.asarray(raw - 2.0 * self._centre * sums + curvature.sum() * self._centre**2)


def _product(X: Any, V: Matrix) -> Matrix:
    """Product of a sparse matrix, for which one column is best taken as a vector."""
    one = V.ndim == 2 and V.shape[1] == 1
    return np.asarray((X @ V[:, 0])[:, None] if one else X @ V)


def _sparse_rows(X: Any, width: int) -> int:
    return int(np.clip(4 * width * X.shape[0] / max(1, X.nnz), *_SPARSE_ROWS))


def _row_view(X: Any, rows: slice) -> sp.csr_array:
    """Some rows of a CSR matrix in its own arrays, which a slice would copy."""
    ends = X.indptr[rows.start : rows.stop + 1]
    here = slice(ends[0], ends[-1])
    return csr_of(X.data[here], X.indices[here], ends - ends[0], X.shape[1])


Block = DenseBlock | SparseBlock


def blocks(source: Source, centre: Vector) -> Iterator[tuple[Block, Codes, Vector]]:
    """Centred blocks of a source, each of a size that suits the processor."""
    for X, codes, weights in source:
        sparse = sp.issparse(X)
        width = max(1, len(centre))
        size = _sparse_rows(X, width) if sparse else max(64, _DENSE_ENTRIES // width)
        for first in range(0, len(codes), size):
            rows = slice(first, first + size)
            part = _row_view(X, rows) if sparse else X[rows]
            block: Block = SparseBlock(part, centre) if sparse else DenseBlock(part, centre)
            yield block, codes[rows], weights[rows]
