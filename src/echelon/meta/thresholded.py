"""Rankers as ordinal classifiers: scores cut into labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._utils.messages import require_choice
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    EstimatorLike,
    KeysLike,
    LabelsLike,
    Matrix,
    MatrixLike,
    SplitsLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.folds import deal_folds
from ..base.mixins import CalibratedScoreMixin
from ..base.nested import clone_or, fit_weighted, inherit_input_tags
from ..base.pair_explanations import PairExplanation
from ..base.validation import all_or_nothing
from ..ordinal.arrays import require_count
from ..ordinal.costs import cost_matrix, threshold_weights
from ..ordinal.data import OrdinalData
from ..ordinal.thresholds import fit_cost, fit_exponential
from ..pairs import query_codes
from ..ranking.rank_boost import RankBoost
from ..solvers.linear.calibration import calibrate


def _scores_unseen_rows(model: ThresholdedRanker) -> bool:
    if model.cv is None:
        raise AttributeError(
            "ThresholdedRanker has no predict_proba without cv: scores of rows that the ranker has "
            "seen part the classes too well."
        )
    return True


def _ranker_explains(model: ThresholdedRanker) -> bool:
    ranker = getattr(model, "ranker_", model.estimator)
    return ranker is None or hasattr(ranker, "explain_pair")


class ThresholdedRanker(CalibratedScoreMixin, BaseEstimator):
    """Ordered labels by any ranker, whose scores are cut at thresholds.

    Parameters
    ----------
    estimator : ranker, default=RankBoost()
        Fitted on the ranks 0 … K−1; its ``predict`` gives scores. A regressor works too.
    thresholds : {"cost", "exponential"}, default="cost"
        How thresholds are found for given scores: those of the least total cost exactly, or those
        of the least exponential threshold loss, in closed form. The latter depends on the scale of
        the scores and suits RankBoost, which descends that loss over pairs.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        Cost of predicting label r, a column, for label y, a row.
    cv : int, splitter or iterable of splits, optional
        Find the thresholds from scores of rows that a ranker has not seen: each fold is scored by a
        ranker fitted on the others, which must give scores on one scale from fold to fold. An
        int deals the rows of every class evenly into so many folds, or whole queries if there
        are any. By default the thresholds come from the scores of the training rows.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    ranker_ : ranker
        Fitted on all rows; its scores are the latent scores.
    thresholds_ : ndarray of shape (K−1,)
        Ascending; −∞ or +∞ beside labels that are never predicted.

    See Also
    --------
    RoundedRegressor : Thresholds halfway between the ranks.

    Notes
    -----
    With "cost" this is the exact dynamic programme over the sorted scores, O(n log n + nK); with
    RankBoost and the absolute cost it is the RankBoost-AE of H.-T. Lin and L. Li (2006). Different
    thresholds of one least cost are common; of the lowest and the highest of them, those are taken
    whose labels come nearest to the right number of each, so that turning the scale of labels
    around turns the result around.

    ``predict_proba`` exists with `cv` only. It is a cumulative logit model of the labels given the
    scores of unseen rows.

    Examples
    --------
    >>> from echelon.meta import ThresholdedRanker
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = ThresholdedRanker().fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.predict([[0.0], [2.0], [5.0]])
    array([1, 2, 3])
    """

    _reads_numbers = False
    # With metadata routing on, queries reach the ranker without being asked for.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - read by scikit-learn from the class

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        thresholds: str = "cost",
        cost: CostLike = "absolute",
        cv: SplitsLike | None = None,
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.thresholds = thresholds
        self.cost = cost
        self.cv = cv
        self.class_weight = class_weight
        self.classes = classes

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        *,
        qid: KeysLike | None = None,
    ) -> Self:
        """Fit the ranker, and thresholds to its scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d)
            Passed to the ranker as it is.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Accepted where the ranker accepts it.
        qid : sequence of shape (n,), optional
            Query of each row, for the ranker: only rows of one query are compared. Thresholds are
            common to all queries.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, qid)

    def _check_parameters(self) -> None:
        require_choice("thresholds", self.thresholds, ("cost", "exponential"))

    def _learn(self, data: OrdinalData, qid: Any) -> None:
        cost = cost_matrix(self.cost, data.n_classes)
        queries = None if qid is None else query_codes(qid, len(data.codes))[0]
        rows = np.arange(len(data.codes))
        self.ranker_ = self._fitted_ranker(data, rows, queries)
        if self.cv is None:
            scores = _scores(self.ranker_, data.X)
        else:
            rows, scores = self._unseen_scores(data, queries)
        positive = data.sample_weight[rows] > 0
        rows, scores = rows[positive], scores[positive]
        codes, weights = data.codes[rows], data.sample_weight[rows]
        self.thresholds_ = self._cut(scores, codes, weights, cost)
        self.__dict__.pop("_calibration", None)
        if self.cv is not None:
            self._calibration = calibrate(scores, codes, data.n_classes, weights)

    def _fitted_ranker(self, data: OrdinalData, rows: Codes, queries: Codes | None) -> Any:
        ranker = clone_or(self.estimator, RankBoost)
        whole = len(rows) == len(data.codes)
        X = data.X if whole else _safe_indexing(data.X, rows)
        weights = data.sample_weight[rows] if data.weighted else None
        params = {} if queries is None else {"qid": queries[rows]}
        return fit_weighted(ranker, X, data.codes[rows], weights, **params)

    def _unseen_scores(self, data: OrdinalData, queries: Codes | None) -> tuple[Codes, Vector]:
        """Rows that were held out in turn, and their scores."""
        (X,) = indexable(data.X)
        data = replace(data, X=X)
        rows, scores = [], []
        for inside, outside in self._splits(data, queries):
            ranker = self._fitted_ranker(data, inside, queries)
            rows.append(outside)
            scores.append(_scores(ranker, _safe_indexing(X, outside)))
        return np.concatenate(rows), np.concatenate(scores)

    def _splits(self, data: OrdinalData, queries: Codes | None) -> Iterable[tuple[Codes, Codes]]:
        cv: Any = self.cv
        if not isinstance(cv, Integral):
            splitter = check_cv(cv, data.codes, classifier=True)
            for inside, outside in splitter.split(data.X, data.codes, queries):
                yield np.asarray(inside), np.asarray(outside)
            return
        require_count("cv", cv, 2)
        if queries is not None and queries.max() == 0:
            raise ValueError(
                f"cv={cv} holds whole queries out and needs at least two of them; found one."
            )
        n = int(cv)
        fold: Codes = deal_folds(data.codes, n) if queries is None else queries % n
        for number in np.unique(fold):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def _cut(self, scores: Vector, codes: Codes, weights: Vector, cost: Matrix) -> Vector:
        if self.thresholds == "cost":
            return _least_cost_thresholds(scores, codes, weights, cost)
        steps = threshold_weights(cost)[codes] * weights[:, None]
        return fit_exponential(scores, codes, len(cost), steps)

    def _latent(self, X: Any) -> Vector:
        return _scores(self.ranker_, self._inputs(X))

    predict_proba = available_if(_scores_unseen_rows)(CalibratedScoreMixin.predict_proba)

    @available_if(_ranker_explains)
    def explain_pair(self, a: MatrixLike, b: MatrixLike) -> PairExplanation:
        """Why one row has a greater score than another, as the ranker tells it.

        Parameters
        ----------
        a, b : array-like of shape (d,), or of one row

        Returns
        -------
        explanation : PairExplanation
        """
        check_is_fitted(self)
        explained: PairExplanation = self.ranker_.explain_pair(a, b)
        return explained

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, RankBoost)


def _scores(ranker: Any, X: Any) -> Vector:
    return np.asarray(ranker.predict(X), dtype=np.float64).reshape(-1)


def _least_cost_thresholds(scores: Vector, codes: Codes, weights: Vector, cost: Matrix) -> Vector:
    """Thresholds of least cost; of the lowest and the highest, the better balanced ones."""
    costs = cost[codes] * weights[:, None]
    low = fit_cost(scores, costs)
    high = -fit_cost(-scores, costs[:, ::-1])[::-1]
    values = np.unique(scores)
    above = np.array([weights[codes > k].sum() for k in range(len(low))])

    def imbalance(thresholds: Vector) -> tuple[float, float]:
        passed = np.array([weights[scores > b].sum() for b in thresholds])
        place = np.searchsorted(values, thresholds)
        inside = (place > 0) & (place < len(values))
        gaps = values[place[inside]] - values[place[inside] - 1]
        # Where the numbers are as near, wide gaps around the thresholds.
        return float(np.abs(passed - above).sum()), -float(gaps.sum())

    return min(low, high, key=imbalance)
