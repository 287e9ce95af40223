"""Rows of a kernel matrix that is too large to hold, and of one that is not.

A *row source* gives a solver what it asks of the n×n matrix K of a training set: some rows at a
time (perhaps rounded to single precision), small blocks and products with a vector (always in
double precision), and the same for a subset of the examples.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.types import Array, Index
from .functions import Kernel, Precomputed, row_writer
from .rows import Rows, read_rows

#: entries of a kernel block that are worked on at a time
_PIECE = 1 << 21
#: part of the memory that is left for blocks in double precision
_BLOCK_SHARE = 0.25
#: matrices of up to this many entries are computed whole: it takes less time than one search
_SMALL = 1 << 22


def row_source(kernel: Kernel, X: Rows, cache_size: float = 200.0) -> RowSource:
    """Choose a source for the kernel matrix of X within ``cache_size`` megabytes.

    Examples
    --------
    >>> from echelon.kernels import Linear
    >>> source = row_source(Linear(), np.array([[1.0], [2.0]]))
    >>> source.times(np.array([1.0, 1.0]))
    array([3., 6.])
    """
    n = np.shape(X)[0]
    small = n * n <= _SMALL and 8 * n * n <= cache_size * 1e6
    if small or isinstance(kernel, Precomputed):
        return GramRows(kernel.block(X))
    return CachedRows(kernel, X, cache_size)


def apply_kernel(kernel: Kernel, X: Rows, Y: Rows, coef: Array) -> Array:
    """Σ_j coef_j·k(x_i, y_j) for every row of X, holding a bounded part of the matrix at a time."""
    n, m = np.shape(X)[0], np.shape(Y)[0]
    result = np.zeros(n)
    if not m:
        return result
    step = max(1, _PIECE // m)
    for first in range(0, n, step):
        part = slice(first, first + step)
        result[part] = kernel.block(X[part], Y) @ coef
    return result


class GramRows:
    """Source over a matrix that is there already."""

    def __init__(self, gram: Array) -> None:
        self._gram = np.ascontiguousarray(gram)
        self.diagonal: Array = self._gram.diagonal().copy()

    @property
    def capacity(self) -> int:
        """All rows."""
        return len(self._gram)

    @property
    def largest_block(self) -> int:
        """As large as the matrix."""
        return len(self._gram)

    def rows(self, index: Index) -> tuple[Array, Index]:
        """The matrix itself, and for each index where in it the row is."""
        return self._gram, index

    def block(self, index: Index) -> Array:
        """K[index, index] in double precision, as a new array."""
        return self._gram[np.ix_(index, index)]

    def times(self, coef: Array) -> Array:
        """K·coef in double precision, from the columns whose coefficient is not zero."""
        used = np.flatnonzero(coef)
        if 2 * len(used) > len(coef):
            return np.asarray(self._gram @ coef)
        return np.asarray(coef[used] @ self._gram[used])

    def restrict(self, index: Index) -> GramRows:
        """A smaller matrix."""
        return GramRows(self.block(index))


class CachedRows:
    """Source that computes rows when they are asked for and keeps the latest in single precision.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n, d)
    cache_size : float
        Megabytes for the rows kept and for two blocks. At least two rows are always kept.
    """

    def __init__(self, kernel: Kernel, X: Rows, cache_size: float) -> None:
        self._kernel = kernel
        self._X = read_rows(X)
        self._write = row_writer(kernel, self._X)
        self.diagonal: Array = kernel.diagonal(self._X)
        n = len(self.diagonal)
        # Two blocks of so many examples fit into what was granted.
        self.largest_block = int(np.sqrt(_BLOCK_SHARE * cache_size * 1e6 / 16))
        n_rows = min(n, max(2, int((1 - _BLOCK_SHARE) * cache_size * 1e6 / (4 * n))))
        self._flat = np.empty(n_rows * n, dtype=np.float32)
        self._set_shape(n)

    def _set_shape(self, n: int) -> None:
        n_rows = min(n, len(self._flat) // n)
        self._rows = self._flat[: n_rows * n].reshape(n_rows, n)
        self._slot = np.full(n, -1, dtype=np.intp)
        self._held = np.full(n_rows, -1, dtype=np.intp)
        self._used = np.zeros(n_rows, dtype=np.int64)
        self._clock = 0

    @property
    def capacity(self) -> int:
        """Number of rows that fit into the cache."""
        return len(self._rows)

    def rows(self, index: Index) -> tuple[npt.NDArray[np.float32], Index]:
        """The cache, and for each index where in it the row is.

        What is missing is computed in the place of what was used longest ago.
        """
        self._clock += 1
        present = self._slot[index]
        self._used[present[present >= 0]] = self._clock
        missing = index[present < 0]
        if len(missing):
            slots = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
            dropped = self._held[slots]
            self._slot[dropped[dropped >= 0]] = -1
            self._fill(missing, slots)
            self._held[slots] = missing
            self._used[slots] = self._clock
            self._slot[missing] = slots
        return self._rows, self._slot[index]

    def _fill(self, index: Index, slots: Index) -> None:
        n = len(self._slot)
        step = min(len(index), max(1, _PIECE // n))
        scratch = np.empty((step, n), dtype=np.float32)
        for first in range(0, len(index), step):
            part = slice(first, first + step)
            rows = scratch[: len(index[part])]
            self._write(index[part], rows)
            self._rows[slots[part]] = rows

    def block(self, index: Index) -> Array:
        """K[index, index] in double precision, computed anew."""
        return self._kernel.block(self._X[index])

    def times(self, coef: Array) -> Array:
        """K·coef in double precision, computed anew."""
        used = np.flatnonzero(coef)
        return apply_kernel(self._kernel, self._X, self._X[used], coef[used])

    def restrict(self, index: Index) -> CachedRows:
        """The source of K[index, index], for ascending indices.

        It takes over the memory for rows, with those of the examples that stay shortened in place;
        this source may be asked for rows again when the other is no longer used.
        """
        smaller = object.__new__(CachedRows)
        smaller._kernel = self._kernel
        smaller._X = self._X[index]
        smaller._write = row_writer(self._kernel, smaller._X)
        smaller.diagonal = self.diagonal[index]
        smaller.largest_block = self.largest_block
        smaller._flat = self._flat
        n = len(index)
        place = np.full(len(self._slot), -1, dtype=np.intp)
        place[index] = np.arange(n)
        staying = np.flatnonzero((self._held >= 0) & (place[self._held] >= 0))
        for new, old in enumerate(staying):
            # A new row begins no later than the old row that it comes from.
            self._flat[new * n : (new + 1) * n] = self._rows[old, index]
        smaller._set_shape(n)
        kept = place[self._held[staying]]
        smaller._held[: len(kept)] = kept
        smaller._slot[kept] = np.arange(len(kept))
        self._set_shape(len(self._slot))
        return smaller


#: What a solver can ask of the kernel matrix of a training set.
RowSource = GramRows | CachedRows
