"""Kernels of Gaussian processes that scikit-learn does not have, in its own form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from .._utils.types import Array, BoundsLike
from ..kernels import Pearson

__all__ = ["LinearARD", "PearsonKernel"]


class _FromProducts(Kernel):
    """A kernel of inner products, which a subclass gives as ``_values`` with ``_gradient``."""

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """k(x_i, y_j), and on request its derivatives in the logarithms of parameters for Y = X.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array-like of shape (m, d), default=None
            X if not given.
        eval_gradient : bool, default=False
            Only where Y is not given.

        Returns
        -------
        values : ndarray of shape (n, m)
        gradient : ndarray of shape (n, n, p)
            Only with ``eval_gradient``; p is the number of parameters, or 0 where they are fixed.
        """
        if eval_gradient and Y is not None:
            raise ValueError("Y must be None with eval_gradient=True; found an array.")
        X = np.atleast_2d(X)
        values = self._values(X, None if Y is None else np.atleast_2d(Y))
        if not eval_gradient:
            return values
        return values, self._gradient(X, values) if self.n_dims else np.empty((*values.shape, 0))

    def _values(self, X: Array, Y: Array | None) -> Array:
        raise NotImplementedError

    def _gradient(self, X: Array, values: Array) -> Array:
        """Of a kernel that is proportional to its only parameter."""
        return values[:, :, None].copy()

    def is_stationary(self) -> bool:
        """Whether the kernel depends on x − x′ alone: it does not."""
        return False


class LinearARD(_FromProducts):
    """Linear kernel with a relevance for each feature: k(x, x′) = Σ_v κ_v x_v x′_v.

    It is the prior of a linear function whose weights are independent and have variances κ_v
    (automatic relevance determination); features that evidence does not speak for get a small κ_v
    [CG05].

    Parameters
    ----------
    relevance : float or array-like of shape (d,), default=1.0
        κ, above zero: one for all features, or one for each.
    relevance_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
        Lower and upper bound of κ in a search; "fixed" keeps it as it is.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = LinearARD([2.0, 0.5])
    >>> kernel(np.array([[1.0, 0.0], [1.0, 2.0]]))
    array([[2., 2.],
           [2., 4.]])
    >>> kernel + LinearARD(3.0)
    LinearARD(relevance=[2, 0.5]) + LinearARD(relevance=3)
    """

    def __init__(
        self, relevance: npt.ArrayLike = 1.0, relevance_bounds: BoundsLike = (1e-5, 1e5)
    ) -> None:
        self.relevance = relevance
        self.relevance_bounds = relevance_bounds

    @property
    def anisotropic(self) -> bool:
        """Whether features have a relevance each."""
        return np.ndim(self.relevance) > 0 and np.size(self.relevance) > 1

    @property
    def hyperparameter_relevance(self) -> Hyperparameter:
        """κ and its bounds."""
        count = np.size(self.relevance) if self.anisotropic else 1
        return Hyperparameter("relevance", "numeric", self.relevance_bounds, count)

    def _values(self, X: Array, Y: Array | None) -> Array:
        roots = np.sqrt(self._checked(X))
        left = X * roots
        return np.asarray(left @ (left if Y is None else Y * roots).T)

    def _gradient(self, X: Array, values: Array) -> Array:
        if not self.anisotropic:
            return super()._gradient(X, values)
        left = X * np.sqrt(self._checked(X))
        return np.asarray(left[:, None, :] * left[None, :, :])

    def diag(self, X: npt.ArrayLike) -> Array:
        """k(x_i, x_i) of shape (n,)."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return np.asarray(np.einsum("ij,ij->i", rows * self._checked(rows), rows))

    def __repr__(self) -> str:
        entries = ", ".join(f"{value:.3g}" for value in np.ravel(self.relevance))
        return f"LinearARD(relevance={f'[{entries}]' if self.anisotropic else entries})"

    def _checked(self, X: Array) -> Array:
        relevance = np.asarray(np.squeeze(self.relevance), dtype=np.float64)
        if relevance.ndim > 1 or (relevance.ndim and relevance.shape[0] != X.shape[1]):
            raise ValueError(
                f"relevance must be one number or one per feature, {X.shape[1]}; found an array "
                f"of shape {np.shape(self.relevance)}."
            )
        return relevance


class PearsonKernel(_FromProducts):
    """Correlation between the entries of two rows, such as the ratings of two items.

    k(x, x′) = variance · ⟨z, z′⟩/d, where z holds the row's z-scores: its d entries less their
    mean, over their standard deviation. A missing entry, NaN, has the z-score 0, as if it was the
    mean of the row; mean and standard deviation are those of the entries that are there [CG05].

    Parameters
    ----------
    variance : float, default=1.0
        Factor of the correlation, above zero.
    variance_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
        Lower and upper bound of the variance in a search; "fixed" keeps it as it is.

    Notes
    -----
    [CG05] sums the products of z-scores over the users. Here the sum is divided by their number
    d, the same for all rows, which ``variance`` can undo. So k(x, x) is ``variance`` for complete
    rows, and ``variance`` times the share of entries that are there for others: a Gaussian process
    knows less of rows that few have rated. A length of one for these too would also be positive
    semidefinite, but would call two rows with two ratings each as alike as two complete ones.

    Rows with entries that are all equal, or with a single one, have the kernel 0 with every row.

    Examples
    --------
    >>> import numpy as np
    >>> ratings = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, np.nan, 1.0, np.nan]])
    >>> PearsonKernel()(ratings).round(3)
    array([[ 1.   , -0.447],
           [-0.447,  0.5  ]])
    """

    def __init__(self, variance: float = 1.0, variance_bounds: BoundsLike = (1e-5, 1e5)) -> None:
        self.variance = variance
        self.variance_bounds = variance_bounds

    @property
    def hyperparameter_variance(self) -> Hyperparameter:
        """The variance and its bounds."""
        return Hyperparameter("variance", "numeric", self.variance_bounds)

    def _values(self, X: Array, Y: Array | None) -> Array:
        values = Pearson().block(X, Y)
        values *= self.variance
        return values

    def diag(self, X: npt.ArrayLike) -> Array:
        """k(x_i, x_i) of shape (n,)."""
        return self.variance * Pearson().diagonal(np.atleast_2d(np.asarray(X, dtype=np.float64)))

    def __repr__(self) -> str:
        return f"PearsonKernel(variance={self.variance:.3g})"
