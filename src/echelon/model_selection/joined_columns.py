"""Columns of a table side by side, where the widest part of them is sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer

from .._utils.sparse import csr_of
from .._utils.types import Matrix

# Entries that are moved together.
_MOVED = 1 << 16


class JoinedColumns(ColumnTransformer):
    """A column transformer that puts dense parts before a sparse one without a copy of the latter.

    scikit-learn's own keeps the parts in memory beside the whole, which for the terms of texts is
    twice their size.
    """

    def _hstack(self, Xs: list[Any], *, n_samples: int) -> Any:
        *dense, last = Xs
        if any(map(sp.issparse, dense)) or getattr(last, "format", None) != "csr":
            return super()._hstack(Xs, n_samples=n_samples)
        return put_before(np.hstack(dense), last) if dense else last


def put_before(left: Matrix, right: sp.csr_array) -> sp.csr_array:
    """Columns of a dense matrix, then those of a sparse one, whose arrays become the whole's.

    Parameters
    ----------
    left : ndarray of shape (n, d)
    right : CSR array of shape (n, m)
        Is not to be used afterwards.

    Examples
    --------
    >>> right = sp.csr_array([[0.0, 3.0], [4.0, 5.0]])
    >>> put_before(np.array([[1.0], [2.0]]), right).toarray()
    array([[1., 0., 3.],
           [2., 4., 5.]])
    """
    added, n = sp.csr_array(left), len(left)
    size = right.nnz + added.nnz
    data, indices = right.data, right.indices
    owned = data.flags.owndata and indices.flags.owndata
    if not owned or size > np.iinfo(indices.dtype).max:
        return sp.hstack([added, right], format="csr")
    starts, before = right.indptr.astype(np.int64), added.indptr.astype(np.int64)
    for array in (data, indices):
        array.resize(size, refcheck=False)
    indices[: right.nnz] += left.shape[1]
    # From the last row on, so that no entry is overwritten before it is moved.
    end = n
    while end:
        first = min(int(np.searchsorted(starts, starts[end] - _MOVED)), end - 1)
        rows = slice(first, end)
        old = np.arange(starts[first], starts[end])
        moved = old + np.repeat(before[first + 1 : end + 1], np.diff(starts[first : end + 1]))
        new = np.arange(before[first], before[end])
        placed = new + np.repeat(starts[rows], np.diff(before[first : end + 1]))
        for array, more in ((data, added.data), (indices, added.indices)):
            array[moved] = array[old]
            array[placed] = more[new]
        end = first
    indptr = (starts + before).astype(indices.dtype)
    return csr_of(data, indices, indptr, left.shape[1] + right.shape[1])
