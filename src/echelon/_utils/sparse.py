"""Sparse matrices made of arrays that are there."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp


def csr_of(data: Any, indices: Any, indptr: Any, n_columns: int) -> sp.csr_array:
    """A CSR array of just these arrays.

    SciPy's constructor takes views of them, which cannot grow, and copies what is a small part of a
    larger array.

    Examples
    --------
    >>> import numpy as np
    >>> csr_of(np.array([2.0]), np.array([1]), np.array([0, 0, 1]), 2).toarray()
    array([[0., 0.],
           [0., 2.]])
    """
    found = sp.csr_array((len(indptr) - 1, n_columns))
    found.data, found.indices, found.indptr = data, indices, indptr
    return found
