"""The kernels: linear, polynomial, Gaussian with one rate or one per feature, and their kin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._utils.types import Array, Index
from .rows import (
    Rows,
    chunks,
    inner_products,
    read_pair,
    read_rows,
    scale_columns,
    shift_rows,
    squared_norms,
    transform_in_place,
)


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless the value is a finite number of at least zero."""
    if not isinstance(value, Real) or not isfinite(float(value)) or float(value) < 0:
        raise ValueError(f"{name} must be a finite number that is not negative; found {value!r}.")


KernelFunction: TypeAlias = Callable[[Any, Any], npt.ArrayLike]
"""A user's own kernel: from X and Y to the matrix of their values."""


@runtime_checkable
class Kernel(Protocol):
    """What a kernel can be asked."""

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """k(x_i, y_j) of shape (n, m), as a new array; Y is X when it is not given.

        Handing over one object twice, or leaving Y out, gives a block that is exactly symmetric.
        """
        ...

    def diagonal(self, X: Rows) -> Array:
        """k(x_i, x_i) of shape (n,), without the block."""
        ...


@dataclass(frozen=True)
class Linear:
    """k(x, x′) = ⟨x, x′⟩; dense or CSR.

    Examples
    --------
    >>> Linear().block(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[5., 2.],
           [2., 1.]])
    """

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """⟨x_i, y_j⟩."""
        return inner_products(*read_pair(X, Y))

    def diagonal(self, X: Rows) -> Array:
        """‖x_i‖²."""
        return squared_norms(read_rows(X))


@dataclass(frozen=True)
class Polynomial:
    """k(x, x′) = (γ⟨x, x′⟩ + c)^degree; dense or CSR.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    gamma : float, default=1.0
        γ, not negative.
    coef0 : float, default=0.0
        c, not negative: with a negative one the kernel is not positive semidefinite. Above zero
        the kernel holds every degree up to its own.

    Examples
    --------
    >>> Polynomial(degree=2, coef0=1.0).block(np.array([[1.0], [2.0]]))
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        degree: Any = self.degree
        if not isinstance(degree, Integral) or int(degree) < 1:
            raise ValueError(f"degree must be an integer of at least 1; found {degree!r}.")
        check_not_negative("gamma", self.gamma)
        check_not_negative("coef0", self.coef0)

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """(γ⟨x_i, y_j⟩ + c)^degree."""
        return transform_in_place(inner_products(*read_pair(X, Y)), self._transform)

    def diagonal(self, X: Rows) -> Array:
        """(γ‖x_i‖² + c)^degree."""
        return self._transform(squared_norms(read_rows(X)))

    def _transform(self, products: Array) -> Array:
        return _power(self.gamma * products + self.coef0, int(self.degree))


@dataclass(frozen=True)
class Sigmoid:
    """k(x, x′) = tanh(γ⟨x, x′⟩ + c), which need not be positive semidefinite; dense or CSR.

    Parameters
    ----------
    gamma : float, default=1.0
        γ, not negative.
    coef0 : float, default=0.0
        c.
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_not_negative("gamma", self.gamma)
        coef0: Any = self.coef0
        if not isinstance(coef0, Real) or not isfinite(float(coef0)):
            raise ValueError(f"coef0 must be a finite number; found {coef0!r}.")

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """tanh(γ⟨x_i, y_j⟩ + c)."""
        return transform_in_place(inner_products(*read_pair(X, Y)), self._transform)

    def diagonal(self, X: Rows) -> Array:
        """tanh(γ‖x_i‖² + c)."""
        return self._transform(squared_norms(read_rows(X)))

    def _transform(self, products: Array) -> Array:
        return np.tanh(self.gamma * products + self.coef0)


@dataclass(frozen=True)
class Gaussian:
    """k(x, x′) = exp(−Σ_v γ_v (x_v − x′_v)²); dense or CSR.

    Parameters
    ----------
    gamma : float or array-like of shape (d,)
        γ, not negative: one rate for all features, which makes the exponent −γ‖x − x′‖², or one
        per feature (automatic relevance determination), where zero leaves the feature out. An
        array is stored as a tuple, so that kernels compare by value.

    Notes
    -----
    [CK07] (27) writes the kernel as exp(−κ/2 ‖x − x′‖²), so γ = κ/2.

    The distances come from ‖x‖² − 2⟨x, x′⟩ + ‖x′‖², with the rows shifted by their mean when
    they are dense and with what rounding leaves below zero put back to zero. A block of rows with
    themselves has a diagonal of exactly one.

    Examples
    --------
    >>> Gaussian(gamma=0.5).block(np.array([[0.0, 0.0], [1.0, 1.0]])).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> Gaussian(gamma=[0.5, 0.0]).block(np.array([[0.0, 0.0], [0.0, 9.0]]))
    array([[1., 1.],
           [1., 1.]])
    """

    gamma: npt.ArrayLike

    def __post_init__(self) -> None:
        gamma = self.gamma
        if isinstance(gamma, str):
            raise ValueError(
                f"gamma must be a number or one per feature; found {gamma!r}, which get_kernel "
                "resolves from data."
            )
        rates = np.asarray(gamma, dtype=np.float64)
        if rates.ndim > 1 or not rates.size:
            raise ValueError(
                "gamma must be one number or one per feature; found an array of shape "
                f"{rates.shape}."
            )
        if not np.isfinite(rates).all() or (rates < 0).any():
            raise ValueError(f"gamma must be finite and not negative; found {gamma!r}.")
        read = tuple(rates.tolist()) if rates.ndim else float(rates)
        object.__setattr__(self, "gamma", read)

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """exp(−Σ_v γ_v (x_iv − y_jv)²)."""
        left, right = self._scaled(*read_pair(X, Y))
        if left is not right and not sp.issparse(left) and not sp.issparse(right):
            products = np.empty((left.shape[0], right.shape[0]))
            _write_gaussian(_with_norms(left), _with_norms(right), products)
            return products
        products = inner_products(left, right)
        a, b = squared_norms(left), squared_norms(right)
        for rows in chunks(*products.shape):
            # Adding the norms to each other first keeps a block of X with itself symmetric.
            distances = np.add.outer(a[rows], b)
            distances -= 2.0 * products[rows]
            np.maximum(distances, 0.0, out=distances)
            np.exp(np.negative(distances, out=distances), out=products[rows])
        if left is right:
            np.fill_diagonal(products, 1.0)
        return products

    def diagonal(self, X: Rows) -> Array:
        """Ones."""
        return np.ones(read_rows(X).shape[0])

    def _scaled(self, X: Rows, Y: Rows) -> tuple[Rows, Rows]:
        rates = np.asarray(self.gamma)
        if rates.ndim and len(rates) != X.shape[1]:
            raise ValueError(
                f"gamma must be one number or one per feature, {X.shape[1]}; found {len(rates)} "
                "of them."
            )
        left, right = shift_rows(X, Y)
        roots = np.sqrt(rates)
        scaled = scale_columns(right, roots)
        return (scaled if left is right else scale_columns(left, roots)), scaled


@dataclass(frozen=True)
class Pearson:
    """Correlation between the entries of two rows, for rows such as the ratings of items.

    It is ⟨z, z′⟩/d for rows of d entries and their z-scores z: the entries less the row's mean,
    over its standard deviation. A row whose entries are all equal has no correlation; the kernel
    is then 0, on the diagonal too, so that it stays positive semidefinite. Dense only.

    Notes
    -----
    A missing entry, NaN, has the z-score 0, with the mean and the standard deviation taken over
    the entries that are there. The divisor stays d, so that k(x, x) is the share of entries that
    are there and the kernel stays positive semidefinite.

    Examples
    --------
    >>> Pearson().block(np.array([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]])).round(4)
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> Pearson().diagonal(np.array([[1.0, 2.0, 3.0, 4.0], [5.0, np.nan, 1.0, np.nan]]))
    array([1. , 0.5])
    """

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """Correlation of x_i with y_j."""
        rows, others = read_pair(X, Y, sparse=False)
        left = _standard_rows(rows)
        right = left if rows is others else _standard_rows(others)
        products = inner_products(left, right)
        np.clip(products, -1.0, 1.0, out=products)
        if left is right:
            np.fill_diagonal(products, _known_shares(rows))
        return products

    def diagonal(self, X: Rows) -> Array:
        """Share of entries that are there, 1 in complete rows; 0 where they are all equal."""
        return _known_shares(read_rows(X, sparse=False))


@dataclass(frozen=True)
class Precomputed:
    """The inputs are the kernel: entry [i, j] is k(x_i, y_j). Dense only.

    ``block`` gives the inputs back as an array that cannot be written to, after checking that
    there is a column for each of Y's rows.
    """

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """X itself: square and symmetric when Y is X or is not given."""
        values: Array = read_rows(X, sparse=False).view()
        values.flags.writeable = False
        if Y is None or Y is X:
            _check_square(values)
            if not np.allclose(values, values.T):
                raise ValueError(
                    "X must be a symmetric matrix of kernel values; found one that differs from "
                    "its transpose."
                )
        elif values.shape[1] != np.shape(Y)[0]:
            raise ValueError(
                f"X must have a column of kernel values for each of the {np.shape(Y)[0]} rows of "
                f"Y; found {values.shape[1]}."
            )
        return values

    def diagonal(self, X: Rows) -> Array:
        """Diagonal of a square X."""
        values: Array = read_rows(X, sparse=False)
        _check_square(values)
        return values.diagonal().copy()


@dataclass(frozen=True)
class Function:
    """A user's own kernel: a function that takes X and Y and gives an array of shape (n, m)."""

    function: KernelFunction

    def block(self, X: Rows, Y: Rows | None = None) -> Array:
        """What the function gives, after a check of its shape."""
        left, right = read_pair(X, Y)
        values = np.asarray(self.function(left, right), dtype=np.float64)
        expected = (left.shape[0], right.shape[0])
        if values.shape != expected:
            raise ValueError(
                f"kernel must give an array of shape {expected}, a row per row of X and a column "
                f"per row of Y; found {values.shape}."
            )
        return values

    def diagonal(self, X: Rows) -> Array:
        """Diagonals of small blocks, one after another."""
        rows = read_rows(X)
        n = rows.shape[0]
        parts = [self.block(rows[start : start + 64]).diagonal() for start in range(0, n, 64)]
        return np.concatenate(parts) if parts else np.empty(0)


def row_writer(kernel: Kernel, X: Rows) -> Callable[[Index, npt.NDArray[Any]], None]:
    """Function that puts the rows k(x_i, ·) of some examples i into an array, in its precision.

    For the Gaussian of dense rows what depends on X alone is prepared once, and single precision
    is several times faster than double: the exponents have all their digits, the exponential
    does not.
    """
    if isinstance(kernel, Gaussian) and not sp.issparse(X):
        prepared = _with_norms(kernel._scaled(X, X)[0])

        def write(index: Index, out: npt.NDArray[Any]) -> None:
            _write_gaussian(prepared[index], prepared, out)

    else:

        def write(index: Index, out: npt.NDArray[Any]) -> None:
            out[...] = kernel.block(X[index], X)

    return write


def _with_norms(X: Array) -> Array:
    """Rows x with two more columns, 1 and −‖x‖²."""
    return np.column_stack([X, np.ones(len(X)), -squared_norms(X)])


def _write_gaussian(X: Array, Y: Array, out: npt.NDArray[Any]) -> None:
    """exp(−‖x_i − y_j‖²) for rows that `_with_norms` prepared.

    One product of matrices gives the exponents at once, which saves passes over the block.
    """
    left = np.column_stack([2.0 * X[:, :-2], X[:, -1], X[:, -2]])
    right = Y.T
    for rows in chunks(*out.shape):
        exponents = np.minimum(left[rows] @ right, 0.0)
        part = out[rows]
        # In single precision an exponent can become −∞, and the value is zero all the same.
        with np.errstate(over="ignore"):
            part[...] = exponents
        np.exp(part, out=part)


def _power(base: Array, exponent: int) -> Array:
    """Integer power by squaring: for small exponents far faster than the general power."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    square: Array = half * half
    return square * base if exponent % 2 else square


def _standard_rows(X: Array) -> Array:
    """Z-scores of the rows' entries over √d: complete rows have length one.

    Entries that are missing, and those of rows where all are equal, are zero.
    """
    if X.shape[1] < 2:
        raise ValueError(
            f"X must have at least two columns for a correlation of rows; found {X.shape[1]}."
        )
    share = _known_shares(X)
    varies = share > 0.0
    missing = np.isnan(X)
    known = np.maximum(X.shape[1] - missing.sum(axis=1), 1)
    filled = np.where(missing, 0.0, X)
    means = filled.sum(axis=1) / known
    rows = np.where(varies[:, None] & ~missing, filled - means[:, None], 0.0)
    # Dividing by the largest entry first keeps the squares from under- and overflowing.
    rows /= np.where(varies, np.abs(rows).max(axis=1), 1.0)[:, None]
    rows /= np.where(varies, np.sqrt(squared_norms(rows)), 1.0)[:, None]
    rows *= np.sqrt(share)[:, None]
    return rows


def _known_shares(X: Array) -> Array:
    """Share of a row's entries that are not missing; 0 where these are all equal."""
    # Comparing entries is exact where a variance would be left with rounding error.
    varies = np.fmax.reduce(X, axis=1) > np.fmin.reduce(X, axis=1)
    return np.where(varies, 1.0 - np.isnan(X).mean(axis=1), 0.0)


def _check_square(values: Array) -> None:
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"X must be a square matrix of kernel values; found one of shape {values.shape}."
        )
