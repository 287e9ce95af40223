"""Inputs centred and scaled to unit variance, dense or sparse, for solvers of linear models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.types import Matrix, Vector
from .svor_rows import SparseBlock

_BLOCK_ROWS = 8192


class StandardizedDesign:
    """The columns of X that vary, as (X − centre) / scale under row weights.

    A sparse X stays sparse; its centring is carried through the products. Constant columns are
    left out, because a threshold or intercept does their work.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    weights : ndarray of shape (n,)

    Attributes
    ----------
    active : ndarray of int
        The columns that vary; all products are over these.
    centre, scale : ndarray
        Weighted mean and standard deviation of the active columns.
    """

    def __init__(self, X: Any, weights: Vector) -> None:
        total = weights.sum()
        mean = np.asarray(X.T @ weights).ravel() / total
        deviation = np.sqrt(_weighted_squares(X, mean, weights) / total)
        floor = 1e-13 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        self.active = np.flatnonzero(deviation > floor)
        self.centre = mean[self.active]
        self.scale = deviation[self.active]
        self.sparse = sp.issparse(X)
        if self.sparse:
            self._Z = sp.csr_array(X[:, self.active]) @ sp.diags_array(1.0 / self.scale)
            self._shift = self.centre / self.scale
        else:
            self._Z = self._standardized(X)
            self._shift = np.zeros(len(self.active))

    def _standardized(self, X: Matrix) -> Matrix:
        # In blocks, between which Ctrl-C is heard, and without a second matrix of this size.
        Z = np.empty((len(X), len(self.active)))
        kept = self.active if len(self.active) < X.shape[1] else slice(None)
        for first in range(0, len(X), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            np.subtract(X[rows, kept], self.centre, out=Z[rows])
            Z[rows] /= self.scale
        return Z

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and active columns."""
        n, d = self._Z.shape
        return int(n), int(d)

    def dot(self, coef: Vector) -> Vector:
        """Z·coef."""
        return np.asarray(self._Z @ coef - self._shift @ coef)

    def transpose_dot(self, rows: Any) -> Matrix:
        """Zᵀ·rows, for a vector or a matrix with a line per row of X."""
        product = self._Z.T @ rows
        if sp.issparse(product):
            product = product.toarray()
        if not self.sparse:
            return np.asarray(product)
        sums = np.asarray(rows.sum(axis=0))
        return np.asarray(product - np.multiply.outer(self._shift, sums))

    def gram(self, curvature: Vector) -> Matrix:
        """Zᵀ·diag(curvature)·Z."""
        if self.sparse:
            return SparseBlock(self._Z, self._shift).gram(curvature)
        d = self.shape[1]
        total = np.zeros((d, d))
        positive = bool((curvature >= 0.0).all())
        for first in range(0, len(curvature), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            block = self._Z[rows]
            if positive:
                # A product of a matrix with its own transpose costs half of a general one.
                half = block * np.sqrt(curvature[rows, None])
                total += half.T @ half
            else:
                total += block.T @ (block * curvature[rows, None])
        return total

    def rows(self) -> Matrix:
        """Z itself, as a new matrix."""
        return np.asarray(self._Z.toarray() - self._shift if self.sparse else self._Z.copy())

    def raw_columns(self) -> Any:
        """Scaled active columns, centred only where dense; a threshold absorbs the difference."""
        return self._Z

    def to_original(self, coef: Vector, n_columns: int) -> tuple[Vector, float]:
        """Coefficients for X itself, and what centring adds to every threshold."""
        original = np.zeros(n_columns)
        original[self.active] = coef / self.scale
        return original, float(self.centre @ original[self.active])


@dataclass(frozen=True)
class RowCoordinates:
    """Rows by their coordinates in a basis of their span, as they are.

    Parameters
    ----------
    values : ndarray of shape (n, r)
    """

    values: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coordinates."""
        n, r = self.values.shape
        return int(n), int(r)

    def dot(self, coef: Vector) -> Vector:
        """values·coef."""
        return np.asarray(self.values @ coef)

    def transpose_dot(self, rows: Any) -> Matrix:
        """valuesᵀ·rows, for a vector or a sparse matrix with a line per row."""
        return np.asarray(self.values.T @ rows)

    def gram(self, curvature: Vector) -> Matrix:
        """valuesᵀ·diag(curvature)·values."""
        return np.asarray(self.values.T @ (self.values * curvature[:, None]))


def _weighted_squares(X: Any, mean: Vector, weights: Vector) -> Vector:
    if not sp.issparse(X):
        total = np.zeros(X.shape[1])
        for first in range(0, len(weights), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            total += weights[rows] @ (X[rows] - mean) ** 2
        return total
    stored = sp.csc_array(X)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(stored.indptr))
    row_weights = weights[stored.indices]
    deviation = (stored.data - mean[columns]) ** 2 * row_weights
    squares = np.bincount(columns, deviation, minlength=X.shape[1])
    present = np.bincount(columns, row_weights, minlength=X.shape[1])
    return np.asarray(squares + np.maximum(weights.sum() - present, 0.0) * mean**2)
