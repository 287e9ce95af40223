"""Covariance matrices and their derivatives, weighted and summed without ever being listed.

The gradient of a Gaussian process's evidence holds sums Σ_ij W_ij ∂k(x_i, x_j)/∂θ. scikit-learn's
kernels list the derivatives of all entries, n×n×p numbers; here they are summed by parts of the
matrix, so that besides the arguments and the result a bounded number of entries is held at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._utils.types import Array
from .parts import part_of

# Entries of a tile: few enough for the cache, but no fewer rows than pay for preparing the columns.
_TILE = 1 << 18
_FEWEST_ROWS = 64


def covariance(kernel: Any, X: Any, Y: Any = None) -> Array:
    """Matrix k(x_i, y_j), as ``kernel(X, Y)`` gives it but faster for some kernels.

    The Gaussian kernel comes from products of matrices: equal rows get exactly the kernel's value
    at a distance of zero, other exponents are right to about 1e−11. Without Y the matrix is exactly
    symmetric, if the kernel is.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d), default=None
        X if not given; WhiteKernel then adds to the diagonal.

    Returns
    -------
    values : ndarray of shape (n, m)

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> covariance(4.0 * RBF() + WhiteKernel(0.5), [[0.0], [1.0]]).round(4)
    array([[4.5   , 2.4261],
           [2.4261, 4.5   ]])
    """
    X, Y = _read(X, Y)
    part = part_of(kernel)
    values = np.empty((len(X), len(X if Y is None else Y)))
    for tile in _tiles(*values.shape, same=Y is None):
        left, right = tile.inputs(X, Y)
        entries = part.values(left, right)
        values[tile.rows, tile.columns] = entries
        if tile.mirrored:
            values[tile.columns, tile.rows] = np.transpose(entries)
    return values


def contract(kernel: Any, X: Any, Y: Any, weights: Any, matrix: Any = None) -> Array:
    """Σ_ij weights_ij ∂k(x_i, y_j)/∂θ for the free parameters θ = ``kernel.theta``.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d) or None
        None stands for X, with the diagonal of WhiteKernel.
    weights : array-like of shape (n, m)
        Symmetric where Y is None: only its lower part is read then.
    matrix : array-like of shape (n, m), default=None
        ``covariance(kernel, X, Y)`` if it is at hand, which spares some kernels from computing it
        again.

    Returns
    -------
    sums : ndarray of shape (p,)

    Notes
    -----
    Entries are worked on 2¹⁸ at a time (64 rows at least), with a few arrays of that size beside
    the arguments. Kernels other than ConstantKernel, WhiteKernel, RBF, Matern with ν of 1/2, 3/2,
    5/2 or ∞, DotProduct, LinearARD, PearsonKernel and their sums, products and powers list their
    derivatives by themselves, for few rows at a time.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X, weights = np.array([[0.0], [1.0]]), np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> contract(4.0 * RBF(), X, None, weights).round(4)
    array([10.4261,  2.4261])
    """
    X, Y = _read(X, Y)
    part = part_of(kernel)
    weights = np.asarray(weights, dtype=np.float64)
    known = None if matrix is None else np.asarray(matrix, dtype=np.float64)
    shape = (len(X), len(X if Y is None else Y))
    for name, array in (("weights", weights), ("matrix", known)):
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}; found {array.shape}.")
    total = np.zeros(part.n_free)
    for tile in _tiles(*shape, same=Y is None) if part.n_free else ():
        here = tile.rows, tile.columns
        values = None if known is None else known[here]
        sums = part.contract(*tile.inputs(X, Y), weights[here], values)
        total += 2.0 * sums if tile.mirrored else sums
    return total


def contract_diagonal(kernel: Any, X: Any, weights: Any) -> Array:
    """Σ_i weights_i ∂k(x_i, x_i)/∂θ for the free parameters θ = ``kernel.theta``.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    X : array-like of shape (n, d)
    weights : array-like of shape (n,)

    Returns
    -------
    sums : ndarray of shape (p,)

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> contract_diagonal(4.0 * RBF(), [[0.0], [1.0]], [1.0, 0.5])
    array([6., 0.])
    """
    X, _ = _read(X, None)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(X),):
        raise ValueError(f"weights must have the shape {(len(X),)}; found {weights.shape}.")
    part = part_of(kernel)
    return part.contract_diagonal(X, weights) if part.n_free else np.empty(0)


def relevance(kernel: Any, n_features: int) -> Array | None:
    """Relevance κ_v of every feature, or None where no part of the kernel has one for each.

    It is 1/ℓ_v² for RBF and Matern with a length scale for each feature, and κ_v for LinearARD;
    several of them in one kernel are added up. With a single feature the one parameter is its.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    n_features : int

    Returns
    -------
    relevance : ndarray of shape (n_features,) or None

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> relevance(3.0 * RBF([0.5, 2.0]), 2)
    array([4.  , 0.25])
    """
    return part_of(kernel).relevance(n_features)


class _Tile(NamedTuple):
    """Part of a matrix; `mirrored` if it stands for its mirror image beyond the diagonal too."""

    rows: slice
    columns: slice
    mirrored: bool
    on_diagonal: bool

    def inputs(self, X: Array, Y: Array | None) -> tuple[Array, Array | None]:
        left = X[self.rows]
        return left, None if self.on_diagonal else (X if Y is None else Y)[self.columns]


def _tiles(n: int, m: int, *, same: bool) -> Iterator[_Tile]:
    """Cut a matrix into tiles; of rows with themselves, the part on and below the diagonal."""
    step = max(_FEWEST_ROWS, _TILE // max(1, m))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        if not same:
            yield _Tile(rows, slice(0, m), False, False)
            continue
        yield _Tile(rows, rows, False, True)
        if start:
            yield _Tile(rows, slice(0, start), True, False)


def _read(X: Any, Y: Any) -> tuple[Array, Array | None]:
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    return X, None if Y is None else np.atleast_2d(np.asarray(Y, dtype=np.float64))
