"""Missing entries of a matrix, such as ratings, filled from an approximation of low rank."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._utils.messages import warn_caller
from .._utils.types import Array, LabelsLike, MatrixLike
from ..base.estimator import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from ..base.threads import suitable_threads
from ..base.validation import all_or_nothing, validate_inputs
from ..ordinal.arrays import read_numbers, require_count, require_positive
from ..solvers.gp.low_rank import approximate, estimate_scores


class LowRankImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing entries, NaN, from a weighted approximation of low rank.

    The matrix is approximated by an offset for each column and a matrix U of rank k, which
    together minimise Σ W (X − offset − U)² with weights W of zero for missing entries. They are
    found by the EM steps of Srebro and Jaakkola (2003), with momentum; [CG05] fills rating
    matrices in this way before a Gaussian process sees them.

    Parameters
    ----------
    n_components : int, default=5
        Rank k. Fewer are used where the matrix has fewer rows or columns. With as many as there
        are columns nothing is left to learn from, and their means are filled in.
    max_iter : int, default=500
        Most EM steps.
    tol : float, default=1e-4
        Steps end when one moves less than this, relative to the length of the approximation of
        the matrix less the means of its columns.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Right factor of U: orthogonal rows from the largest part of U on, of unit length where that
        part is not zero.
    singular_values_ : ndarray of shape (k,)
        Singular values of U.
    offset_ : ndarray of shape (d,)
        Offsets of the columns: means of the completed columns. In a column without any entry it
        is the weighted mean of all entries.
    reconstruction_error_ : float
        Σ W (X − offset − U)².
    noise_variance_ : float
        The same divided by Σ W.
    n_iter_ : int
        EM steps taken.
    converged_ : bool
        Whether they ended by `tol`.
    n_features_in_ : int
        Number of columns d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where there are.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached; the message states how far the last step moved.

    Notes
    -----
    ``fit_transform`` gives the matrix as the steps have filled it, W∘X + (1−W)∘(offset + U).
    ``transform`` knows the components alone and estimates the scores of each row, new or old, by a
    ridge regression of the entries that are there, with the ridge that the variances of scores and
    residuals imply: rows with few entries stay near the offsets, where unrestrained scores would go
    astray. So rows of the training part come out slightly different from ``fit_transform``.

    Examples
    --------
    >>> import numpy as np
    >>> from echelon import LowRankImputer
    >>> ratings = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, -1.0])
    >>> ratings[3, 1] = np.nan
    >>> imputer = LowRankImputer(n_components=1, tol=1e-6)
    >>> imputer.fit_transform(ratings).round(1)[3]
    array([ 4.,  8., -4.])
    """

    def __init__(self, n_components: int = 5, *, max_iter: int = 500, tol: float = 1e-4) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, X: MatrixLike, y: LabelsLike | None = None, weights: npt.ArrayLike | None = None
    ) -> Self:
        """Find offsets and components.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN where an entry is missing.
        y : None
            Not used.
        weights : array-like of shape (n, d), optional
            W, from 0 for an entry that is not used to 1; ones by default. Missing entries have
            the weight 0 whatever is given.

        Returns
        -------
        self
        """
        self._fit(X, weights)
        return self

    def fit_transform(
        self, X: MatrixLike, y: LabelsLike | None = None, weights: npt.ArrayLike | None = None
    ) -> Array:
        """Find offsets and components, and give the matrix as the EM steps have filled it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN where an entry is missing.
        y : None
            Not used.
        weights : array-like of shape (n, d), optional
            See ``fit``. An entry of weight w comes out as w times itself and 1 − w times its
            approximation.

        Returns
        -------
        filled : ndarray of shape (n, d)
        """
        return np.asarray(self._fit(X, weights))

    def transform(self, X: MatrixLike) -> Array:
        """Fill the missing entries of rows; the others stay as they are.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        filled : ndarray of shape (n, d)
        """
        check_is_fitted(self)
        rows: Array = validate_inputs(self, X)
        known = ~np.isnan(rows)
        centred = np.where(known, rows - self.offset_, 0.0)
        scores = estimate_scores(
            centred,
            known.astype(np.float64),
            self.components_,
            self.singular_values_**2 / self._n_rows,
            self.noise_variance_,
        )
        return np.where(known, rows, self.offset_ + scores @ self.components_)

    @all_or_nothing
    def _fit(self, X: Any, weights: Any) -> Array:
        require_count("n_components", self.n_components)
        require_count("max_iter", self.max_iter)
        require_positive("tol", self.tol)
        X = validate_inputs(self, X, first=True)
        W = _read_weights(weights, X)
        filled = np.where(W > 0.0, X, 0.0)
        means = _column_means(filled, W)
        rank = min(self.n_components, *X.shape)
        centred = np.where(W > 0.0, filled - means, 0.0)
        with suitable_threads(X):
            result = approximate(centred, W, rank, max_iter=self.max_iter, tol=self.tol)
        if not result.converged:
            warn_caller(
                f"LowRankImputer stopped after max_iter={self.max_iter} steps, the last of which "
                f"moved {result.movement:.2g} of the approximation's length, above "
                f"tol={self.tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.offset_ = means + result.offset
        self.components_ = result.components
        self.singular_values_ = np.linalg.norm(result.scores, axis=0)
        self.reconstruction_error_ = float(result.objectives[-1])
        self.noise_variance_ = self.reconstruction_error_ / float(W.sum())
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self._n_rows = len(X)
        approximation = means + result.approximation
        return np.where(W == 1.0, filled, W * filled + (1.0 - W) * approximation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _read_weights(weights: Any, X: Array) -> Array:
    known = ~np.isnan(X)
    if weights is None:
        W = known.astype(np.float64)
    else:
        W = read_numbers(weights, "weights")
        if W.shape != X.shape:
            raise ValueError(f"weights must have the shape of X, {X.shape}; found {W.shape}.")
        if not ((W >= 0.0) & (W <= 1.0)).all():
            raise ValueError("weights must be numbers from 0 to 1; found others.")
        W = np.where(known, W, 0.0)
    if not W.any():
        raise ValueError(
            "X must have an entry that is not missing and has a positive weight; found none."
        )
    return W


def _column_means(X: Array, W: Array) -> Array:
    """Weighted means; that of all entries for columns without any."""
    mass = W.sum(axis=0)
    sums = np.einsum("ij,ij->j", W, X)
    overall = sums.sum() / mass.sum()
    return np.asarray(np.where(mass > 0.0, sums / np.where(mass > 0.0, mass, 1.0), overall))
