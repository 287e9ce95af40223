"""Rows of inputs, dense or CSR: reading them, their inner products and their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.types import Array

#: a dense array or a SciPy sparse matrix or array, a row per item
Rows = Any

# Entries worked on at a time: small enough for the cache, large enough for the products.
_CHUNK = 1 << 18


def read_pair(X: Rows, Y: Rows | None, *, sparse: bool = True) -> tuple[Rows, Rows]:
    """Both sides of a block as floats; one and the same object when Y is X or is not given."""
    left = read_rows(X, "X", sparse=sparse)
    if Y is None or Y is X:
        return left, left
    right = read_rows(Y, "Y", sparse=sparse)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"Y must have as many columns as X, {left.shape[1]}; found {right.shape[1]}."
        )
    return left, right


def read_rows(X: Rows, name: str = "X", *, sparse: bool = True) -> Rows:
    """A matrix of float64, as an array or as CSR; no copy where it is one already."""
    if sp.issparse(X):
        if not sparse:
            raise ValueError(f"{name} must be dense for this kernel; found a sparse matrix.")
        return sp.csr_array(X, dtype=np.float64)
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, a row per item; found an array of shape "
            f"{rows.shape}."
        )
    return rows


def inner_products(X: Rows, Y: Rows) -> Array:
    """⟨x_i, y_j⟩ as a new dense array; exactly symmetric when X is Y."""
    if not (sp.issparse(X) and sp.issparse(Y)):
        return np.ascontiguousarray(X @ Y.T)
    # A product of two sparse matrices is itself sparse and bulkier than the dense one it fills.
    products = np.empty((X.shape[0], Y.shape[0]))
    transposed = Y.T.tocsr()
    for rows in chunks(*products.shape):
        products[rows] = (X[rows] @ transposed).toarray()
    return products


def squared_norms(X: Rows) -> Array:
    """‖x_i‖²."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def scale_columns(X: Rows, factors: Array) -> Rows:
    """X with every column multiplied by its factor, or by the only one."""
    if sp.issparse(X):
        return (X @ sp.diags_array(np.broadcast_to(factors, X.shape[1]).copy())).tocsr()
    return X * factors


def shift_rows(X: Rows, Y: Rows) -> tuple[Rows, Rows]:
    """Both sides less the mean of Y, which changes no distance and loses fewer digits of it.

    Sparse rows stay as they are, since shifting would fill them.
    """
    if sp.issparse(X) or sp.issparse(Y) or not len(Y):
        return X, Y
    centre = Y.mean(axis=0)
    shifted = Y - centre
    return (shifted if X is Y else X - centre), shifted


def transform_in_place(products: Array, function: Callable[[Array], Array]) -> Array:
    """Apply a function to the entries, some rows at a time so that they stay in the cache."""
    for rows in chunks(*products.shape):
        products[rows] = function(products[rows])
    return products


def chunks(n: int, m: int) -> Iterator[slice]:
    """Cut n rows of m entries into slices of a bounded number of entries."""
    step = max(1, _CHUNK // max(1, m))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
