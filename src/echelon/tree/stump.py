"""The ordinal decision stump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._utils.state import are_indices, require_state
from .._utils.types import ClassWeightLike, Codes, CostLike, LabelsLike, Matrix, Vector
from ..base.estimator import BaseEstimator
from ..base.mixins import SignedLearnerMixin, ThresholdModelMixin
from ..base.validation import validate_inputs
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import side_matrix
from ..ordinal.thresholds import margins
from ..solvers.boosting.bins import bin_inputs, check_max_bins
from ..solvers.boosting.stumps import Stump, StumpSearch


class ORStump(SignedLearnerMixin, ThresholdModelMixin, BaseEstimator):
    """One feature cut into at most K ranges, each with its rank: the stump of least cost.

    Parameters
    ----------
    max_bins : int, optional
        Cut features at most between so many bins of about equal weight, 2 to 255, for large data;
        by default anywhere between two values.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost to minimise.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    feature_ : int
        The column that decides.
    direction_ : int
        +1 if ranks rise with the feature, −1 if they fall.
    thresholds_ : ndarray of shape (K−1,)
        Ascending, on the scale of direction × feature; −∞ or +∞ for ranks that are not given.
    missing_rank_ : int
        Rank of rows whose feature is missing: the one that costs least among such rows in the
        training data, or among all rows if there were none.
    missing_score_ : float
        Latent score of such rows: one that the thresholds give that rank, or the nearest where no
        score has it.
    training_cost_ : float
        Mean cost on the training data, which no other stump undercuts.
    feature_importances_ : ndarray of shape (d,)
        1 at the feature that decides; all 0 if the stump gives one rank to all.

    Notes
    -----
    The rule is r(x) = #{k : q·x_j > θ_k} with θ ascending, and the stump minimises Σ_i c_i[r(x_i)]
    over j, q = ±1 and θ, exactly: see ``echelon.solvers.boosting.stumps``. Equal values share a
    rank.

    Examples
    --------
    >>> import numpy as np
    >>> from echelon import ORStump
    >>> stump = ORStump().fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 3])
    >>> stump.thresholds_
    array([1.5, 2.5])
    >>> stump.predict([[1.2], [9.0]])
    array([1, 3])
    """

    _takes_missing = True

    def __init__(
        self,
        max_bins: int | None = None,
        *,
        cost: CostLike = "absolute",
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
    ) -> None:
        self.max_bins = max_bins
        self.cost = cost
        self.class_weight = class_weight
        self.classes = classes

    def _fit_signed(self, data: OrdinalData, V: Matrix) -> None:
        stump, _ = self._signed_learner(data, 1)(V)
        self._adopt(stump)
        self.training_cost_ = stump.cost / float(data.sample_weight.sum())

    def _signed_learner(
        self, data: OrdinalData, n_threads: int, rng: Any = None
    ) -> Callable[[Matrix], tuple[Stump, Codes]]:
        bins = bin_inputs(data.X, check_max_bins(self.max_bins), data.sample_weight)
        return StumpSearch(bins, data.n_classes, n_threads).find

    def _adopt(self, stump: Stump) -> None:
        self.feature_ = stump.feature
        self.direction_ = stump.direction
        self.thresholds_ = stump.thresholds
        self.missing_rank_ = stump.missing_rank

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if hasattr(self, "classes_"):
            self._stump.check_state()
            of_inputs = are_indices([self.feature_], self.n_features_in_)
            require_state(of_inputs, "its feature is none of its inputs")

    @property
    def _stump(self) -> Stump:
        return Stump(self.feature_, self.direction_, self.thresholds_, self.missing_rank_)

    @property
    def missing_score_(self) -> float:
        """Latent score of rows whose feature is missing, which the thresholds give their rank."""
        return _score_of_rank(self.missing_rank_, self.thresholds_)

    def _ranks(self, X: Matrix) -> Codes:
        return self._stump.ranks(X)

    @property
    def feature_importances_(self) -> Vector:
        """1 at the feature that decides; all 0 if the stump gives one rank to all."""
        importances = np.zeros(self.n_features_in_)
        importances[self.feature_] = float(np.isfinite(self.thresholds_).any())
        return importances

    def _latent(self, X: Any) -> Vector:
        scores = self._feature_scores(X)
        return np.where(np.isnan(scores), self.missing_score_, scores)

    def _feature_scores(self, X: Any) -> Vector:
        return np.asarray(self.direction_ * validate_inputs(self, X)[:, self.feature_])

    def _margins(self, X: Any) -> Matrix:
        scores = self._feature_scores(X)
        values = margins(scores, self.thresholds_)
        missing = np.isnan(scores)
        if missing.any():
            values[missing] = side_matrix(np.array([self.missing_rank_]), len(self.classes_))
        return values


def _score_of_rank(rank: int, thresholds: Vector) -> float:
    """A finite score with so many thresholds below it, or the nearest to one.

    Examples
    --------
    >>> _score_of_rank(1, np.array([0.0, 3.0])), _score_of_rank(2, np.array([0.0, 3.0]))
    (1.5, 6.0)
    """
    finite = thresholds[np.isfinite(thresholds)]
    if not len(finite):
        return 0.0
    width = float(np.ptp(finite)) or max(1.0, float(np.abs(finite).max()))
    low, high = np.clip(
        np.concatenate([[-np.inf], thresholds, [np.inf]])[rank : rank + 2],
        finite.min() - 2.0 * width,
        finite.max() + 2.0 * width,
    ).tolist()
    middle = 0.5 * (low + high)
    return float(middle if low < middle else high)
