"""A regressor on the ranks whose predictions are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from .._utils.types import EstimatorLike, LabelsLike, Vector
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin
from ..base.nested import clone_or, fit_weighted, inherit_input_tags
from ..ordinal.data import OrdinalData


class RoundedRegressor(ThresholdModelMixin, BaseEstimator):
    """Treat the ranks as numbers, regress, and round to the nearest rank.

    The naive approach that ordinal models are measured against ([CK07] section 4.3).

    Parameters
    ----------
    regressor : scikit-learn regressor, default=Ridge()
        Fitted on the ranks 0 … K−1, with the inputs as they are.
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

    _reads_numbers = False

    def __init__(
        self, regressor: EstimatorLike | None = None, *, classes: LabelsLike | None = None
    ) -> None:
        self.regressor = regressor
        self.classes = classes

    def _learn(self, data: OrdinalData) -> None:
        regressor = clone_or(self.regressor, Ridge)
        weights = data.sample_weight if data.weighted else None
        self.regressor_ = fit_weighted(regressor, data.X, data.codes.astype(np.float64), weights)
        self.thresholds_ = np.arange(data.n_classes - 1, dtype=np.float64) + 0.5

    def _latent(self, X: Any) -> Vector:
        return np.asarray(self.regressor_.predict(self._inputs(X)), dtype=np.float64).reshape(-1)

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.regressor, Ridge)
