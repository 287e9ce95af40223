"""Ordered labels by binary classifiers, one question for each threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from .._utils.messages import require_choice
from .._utils.types import Codes, CostLike, EstimatorLike, LabelsLike, Mask, Matrix, Vector
from ..base.estimator import BaseEstimator
from ..base.mixins import CostSensitiveMixin, ProbabilityMixin
from ..base.nested import clone_or, fit_weighted, inherit_input_tags
from ..base.reading import finite_answers
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import monotone_exceedance, reduce_to_binary, untilted_probabilities


def _gives_probabilities(model: OrdinalReduction) -> bool:
    inner = model.estimator if model.estimator is not None else LogisticRegression()
    if not hasattr(inner, "predict_proba"):
        raise AttributeError(f"{type(inner).__name__} has no predict_proba.")
    return True


class OrdinalReduction(CostSensitiveMixin, ProbabilityMixin, BaseEstimator):
    """Ordered labels by any binary classifier, through "is the label above k?".

    Parameters
    ----------
    estimator : scikit-learn classifier, default=LogisticRegression()
        A classifier of two classes; for costs other than the absolute one, and for sample
        weights, its ``fit`` must accept ``sample_weight``.
    mode : {"separate", "joint"}, default="separate"
        K−1 classifiers, one for each threshold, or one classifier g(x, k) on inputs extended by
        the indicator of k. A linear classifier in joint mode gives parallel boundaries. Separate
        classifiers are given the inputs as they are; joint mode needs numbers.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost that weights the binary examples.
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.
    n_jobs : int, optional
        Threads or processes for separate classifiers, as in joblib.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    estimators_ : list
        The K−1 classifiers, or the only one in joint mode; ``None`` where all examples lie on one
        side of the threshold.

    Notes
    -----
    The reduction of [LL09] section 2: example i becomes K−1 binary examples with side
    z_k = [y_i > k] and weight |C[y_i, k+1] − C[y_i, k]|, and r(x) counts the thresholds that the
    classifiers hold to be passed. For margins that fall in k, or for a convex cost, the cost of r
    is at most the weighted error of the classifiers (theorem 1).

    Probabilities are the differences of P(y > k), after the least-squares projection that makes
    them fall in k. A cost other than the absolute one weights the binary examples and so tilts what
    the classifiers estimate; the class probabilities behind that solve K−1 linear equations, see
    ``echelon.ordinal.reduction.untilted_probabilities``.

    Examples
    --------
    >>> import numpy as np
    >>> from echelon import OrdinalReduction
    >>> X = np.arange(6.0)[:, None]
    >>> model = OrdinalReduction().fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[0.0], [5.0]])
    array([1, 3])
    """

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        mode: str = "separate",
        cost: CostLike = "absolute",
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.mode = mode
        self.cost = cost
        self.classes = classes
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        require_choice("mode", self.mode, ("separate", "joint"))
        self._reads_numbers = self.mode == "joint"

    def _learn(self, data: OrdinalData, sample_cost: Any) -> None:
        sides, weights = reduce_to_binary(data.codes, data.costs(self.cost, sample_cost))
        weights = weights * data.sample_weight[:, None]
        fit = self._fit_joint if self.mode == "joint" else self._fit_separate
        self.estimators_, self._constant = fit(data.X, sides > 0, weights)
        self._link_weights = data.link_weights(self.cost, sample_cost)

    def _fit_separate(self, X: Any, above: Mask, weights: Matrix) -> tuple[list[Any], Codes]:
        constant = np.array([_only_side(a, w) for a, w in zip(above.T, weights.T, strict=True)])
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_binary)(
                clone_or(self.estimator, LogisticRegression), X, above[:, k], weights[:, k]
            )
            for k in np.flatnonzero(constant == 0)
        )
        members = iter(fitted)
        return [next(members) if side == 0 else None for side in constant], constant

    def _fit_joint(self, X: Any, above: Mask, weights: Matrix) -> tuple[list[Any], Codes]:
        extended = _extend(X, above.shape[1])
        model = clone_or(self.estimator, LogisticRegression)
        member = _fit_binary(model, extended, above.T.ravel(), weights.T.ravel())
        return [member], np.zeros(above.shape[1], dtype=int)

    def _per_threshold(self, X: Any, response: Callable[[Any, Any], Vector]) -> Matrix:
        """Response of every threshold's classifier; ±1 where there is only one side."""
        X = self._inputs(X)
        thresholds = len(self._constant)
        if self.mode == "joint":
            answers = response(self.estimators_[0], _extend(X, thresholds))
            return finite_answers(answers.reshape(thresholds, -1).T, self.estimators_[0])
        answers = np.empty((_num_samples(X), thresholds))
        for k, member in enumerate(self.estimators_):
            answers[:, k] = self._constant[k] if member is None else response(member, X)
        return finite_answers(answers, clone_or(self.estimator, LogisticRegression))

    def _margins(self, X: Any) -> Matrix:
        return self._per_threshold(X, _binary_margin)

    predict_proba = available_if(_gives_probabilities)(ProbabilityMixin.predict_proba)

    def _probabilities(self, X: Any) -> Matrix:
        above = 0.5 * (self._per_threshold(X, _signed_probability) + 1.0)
        if np.ptp(self._link_weights) == 0.0:
            above = monotone_exceedance(above)
        return untilted_probabilities(above, self._link_weights)

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, LogisticRegression)


def _only_side(above: Mask, weights: Vector) -> int:
    """0 if both sides of a threshold have weight, else the sign of the only one."""
    up, down = weights[above].any(), weights[~above].any()
    if up and down:
        return 0
    return 1 if up else -1


def _fit_binary(model: Any, X: Any, above: Mask, weights: Vector) -> Any:
    positive = weights > 0
    if not positive.all():
        rows = np.flatnonzero(positive)
        X, above, weights = _safe_indexing(X, rows), above[rows], weights[rows]
    return fit_weighted(model, X, above.astype(int), None if (weights == 1.0).all() else weights)


def _extend(X: Any, thresholds: int) -> Any:
    """K−1 copies of X, copy k extended by the indicator of threshold k."""
    if thresholds == 1:
        return X
    if sp.issparse(X):
        indicator = sp.kron(sp.identity(thresholds), np.ones((X.shape[0], 1)))
        return sp.hstack([sp.vstack([X] * thresholds), indicator], format="csr")
    indicator = np.repeat(np.eye(thresholds), len(X), axis=0)
    return np.hstack([np.tile(X, (thresholds, 1)), indicator])


def _binary_margin(member: Any, X: Any) -> Vector:
    if hasattr(member, "decision_function"):
        return np.asarray(member.decision_function(X))
    if hasattr(member, "predict_proba"):
        return _signed_probability(member, X)
    return np.asarray(2.0 * member.predict(X) - 1.0)


def _signed_probability(member: Any, X: Any) -> Vector:
    return np.asarray(2.0 * member.predict_proba(X)[:, 1] - 1.0)
