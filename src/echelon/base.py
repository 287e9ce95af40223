"""What every ordinal estimator shares: from margins to labels, and a score that is a cost."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import metrics  # noqa: F401 - registers the scorer names for GridSearchCV(scoring=...)
from ._validation import OrdinalData, one_column
from .ordinal.arrays import check_weights
from .ordinal.costs import cost_matrix
from .ordinal.labels import Codes, OrdinalScale
from .ordinal.reduction import decode
from .ordinal.thresholds import margins


class OrdinalClassifierMixin(ClassifierMixin):
    """Decoding, labels and scoring for estimators with margins G[i, k] at K−1 thresholds.

    A subclass gives ``_margins(X)`` of shape (n, K−1), calls ``_store_scale`` in ``fit``, and has
    ``decision_function``, ``predict`` and ``score`` from here. A subclass that decides otherwise,
    for instance by expected cost, overrides ``_codes(X)``.
    """

    def _store_scale(self, data: OrdinalData) -> None:
        self.classes_ = data.scale.classes
        self._label_container = data.scale.container

    @property
    def _scale(self) -> OrdinalScale:
        return OrdinalScale(self.classes_, self._label_container)

    def _margins(self, X: Any) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def _codes(self, X: Any, **params: Any) -> Codes:
        return decode(self._margins(X, **params))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Margins at the thresholds: positive where the label is held to lie above.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        margins : ndarray of shape (n, K−1), or (n,) for two classes
        """
        check_is_fitted(self)
        return squeeze_margins(self._margins(X))

    def predict(self, X: Any) -> Any:
        """Labels, in the type that came in at ``fit``.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        labels : array of shape (n,)
            A NumPy array, or the ordered category of the data-frame library that came in.
        """
        check_is_fitted(self)
        return self._scale.decode(self._codes(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean cost, so that greater is better.

        The cost is the estimator's ``cost`` if it has one, else the absolute difference of ranks.
        """
        check_is_fitted(self)
        return -self._mean_cost(self._codes(X), y, sample_weight)

    def _mean_cost(self, predicted: Codes, y: Any, sample_weight: Any) -> float:
        truth = self._scale.encode(one_column(y))
        if len(truth) != len(predicted):
            raise ValueError(
                f"y must have as many rows as X, {len(predicted)}; found {len(truth)}."
            )
        cost = cost_matrix(getattr(self, "cost", "absolute"), len(self.classes_))
        weights = check_weights(sample_weight, len(truth))
        return float(np.average(cost[truth, predicted], weights=weights))


class ThresholdModelMixin(OrdinalClassifierMixin):
    """An ordinal model with a latent score: G[i, k] = f(x_i) − b_k.

    A subclass gives ``_latent(X)`` and sets ``thresholds_``.
    """

    def _latent(self, X: Any) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def _margins(self, X: Any) -> npt.NDArray[np.float64]:
        return margins(self._latent(X), self.thresholds_)

    def predict_latent(self, X: Any) -> npt.NDArray[np.float64]:
        """Latent score f(x), on the scale of ``thresholds_``.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self._latent(X)


class SignedLearnerMixin:
    """An ordinal estimator that learns from signed weights V, see ``ordinal.reduction``.

    Ensembles prepare the inputs once and ask it again and again for other weights. A subclass
    gives ``_signed_learner(data, n_threads, rng)``, a function from V to a result and its ranks of
    the rows; ``_adopt(result)``, which makes the estimator the fitted one of that result; and
    ``_ranks(X)``, the ranks of rows that were checked already. ``_free_parameters`` names what may
    be changed in the estimator between two calls of that function.
    """

    _free_parameters: frozenset[str] = frozenset()

    def _signed_learner(
        self, data: OrdinalData, n_threads: int, rng: np.random.RandomState
    ) -> Callable[[npt.NDArray[np.float64]], tuple[Any, Codes]]:
        raise NotImplementedError

    def _adopt(self, result: Any) -> None:
        raise NotImplementedError

    def _ranks(self, X: npt.NDArray[np.float64]) -> Codes:
        raise NotImplementedError

    def _adopted(self, result: Any, n_classes: int, n_features: int) -> Any:
        """A copy of an estimator not yet fitted, with this result and the labels 0 … K−1."""
        member = copy(self)
        member._adopt(result)
        member.n_features_in_ = n_features
        member.classes_ = np.arange(n_classes)
        member._label_container = "numpy"
        return member


def squeeze_margins(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """One margin per row as a vector, as scikit-learn has it for two classes."""
    return values[:, 0] if values.shape[1] == 1 else values
