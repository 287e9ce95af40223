"""A regressor on the ranks whose predictions are rounded."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.linear_model import Ridge

from .._utils.types import EstimatorLike, LabelsLike, MatrixLike, Vector, VectorLike
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin
from ..base.nested import clone_or, fit_weighted, inherit_input_tags
from ..base.validation import all_or_nothing, validate_inputs, validate_ordinal_fit


class RoundedRegressor(ThresholdModelMixin, BaseEstimator):
    """Treat the ranks as numbers, regress, and round to the nearest rank.

    The naive approach that ordinal models are measured against ([CK07] section 4.3).

    Parameters
    ----------
    regressor : scikit-learn regressor, default=Ridge()
        Fitted on the ranks 0 … K−1.
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    regressor_ : regressor
        The fitted regressor; its prediction is the latent score.
    thresholds_ : ndarray of shape (K−1,)
        ½, 3/2, …: where rounding changes.

    Examples
    --------
    >>> import numpy as np
    >>> from echelon import RoundedRegressor
    >>> X = np.arange(6.0)[:, None]
    >>> model = RoundedRegressor().fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[0.0], [5.0]])
    array([1, 3])
    """

    def __init__(
        self, regressor: EstimatorLike | None = None, *, classes: LabelsLike | None = None
    ) -> None:
        self.regressor = regressor
        self.classes = classes

    @all_or_nothing
    def fit(self, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None) -> Self:
        """Fit the regressor on ranks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d)
            Passed to the regressor as it is.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Accepted where the regressor accepts it.

        Returns
        -------
        self
        """
        data = validate_ordinal_fit(self, X, y, sample_weight, convert=False)
        regressor = clone_or(self.regressor, Ridge)
        weights = None if sample_weight is None else data.sample_weight
        fit_weighted(regressor, X, data.codes.astype(np.float64), weights)
        self.regressor_ = regressor
        self.thresholds_ = np.arange(data.n_classes - 1, dtype=np.float64) + 0.5
        self._store_scale(data)
        return self

    def _latent(self, X: Any) -> Vector:
        validate_inputs(self, X, convert=False)
        return np.asarray(self.regressor_.predict(X), dtype=np.float64).reshape(-1)

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.regressor, Ridge)
