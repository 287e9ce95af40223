"""Probabilities for any model, learnt from its scores of rows that it has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.parallel import Parallel, delayed

from .._utils.messages import require_choice
from .._utils.state import is_ascending, require_state
from .._utils.types import (
    Codes,
    CostLike,
    EstimatorLike,
    LabelsLike,
    Matrix,
    RandomStateLike,
    SplitsLike,
    Vector,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ProbabilityMixin
from ..base.nested import fit_on_codes, inherit_input_tags, is_frozen
from ..base.reading import AroundModel, FittedModel, has_latent
from ..base.row_design import RowDesign, held_out_splits
from ..base.wrappers import final_estimator
from ..linear.linear_svor import LinearSVOR
from ..ordinal.costs import cost_matrix, minimum_cost_codes
from ..ordinal.data import OrdinalData
from ..ordinal.likelihoods import class_probabilities, get_link
from ..ordinal.reduction import decode, exceedance, exceedance_to_probabilities
from ..ordinal.thresholds import margins
from ..solvers.linear.calibration import (
    IsotonicCalibration,
    calibrate,
    calibrate_isotonic,
    isotonic_exceedance,
    isotonic_thresholds,
)


class OrdinalCalibrator(AroundModel, ProbabilityMixin, BaseEstimator):
    """Class probabilities for any ordinal model, classifier, regressor or ranker.

    Parameters
    ----------
    estimator : estimator, default=LinearSVOR()
        What gives scores: an ordinal estimator, a classifier with probabilities or not, a
        regressor, a ranker, or a pipeline or search that ends in one. It is fitted on
        ranks 0 … K−1 and given the inputs as they are; a ``sklearn.frozen.FrozenEstimator`` is
        taken as it is. An estimator that does not accept sample weights takes none here, unless it
        is fitted already.
    method : {"cumulative_link", "isotonic"}, default="cumulative_link"
        "cumulative_link" fits a slope and ordered thresholds to one score for each row, K numbers
        in all, and suits few rows; "isotonic" fits a rising curve for each threshold, which can
        mend any distortion that keeps the order of rows, and needs about a thousand rows.
    cv : int, splitter, iterable of splits or "prefit", default=5
        The scores to learn from are those of rows that were held out, each fold by an estimator
        fitted on the others; then the estimator is fitted on all rows. An int deals the rows of
        every class evenly into so many folds, whole groups together, or later rows after earlier
        ones, where `fit` is given groups or times. With "prefit" the estimator is fitted already,
        and `X` and `y` should be rows that it has not seen.
    decision : {"cost", "inner"}, default="cost"
        Whether ``predict`` gives the label of least expected `cost` under the probabilities, or
        the estimator's own label.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        Cost of predicting label r, a column, for label y, a row.
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`, or those of an ordinal
        estimator that is fitted already.
    n_jobs : int, optional
        Folds at a time, as in joblib.
    random_state : int, RandomState instance, optional
        Deals the rows into folds at random; by default in their order.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    estimator_ : estimator
        Fitted on all rows, or the one that was passed.
    slope_ : float
        Of ``method="cumulative_link"``: P(y ≤ k) is logistic in cutpoints[k] − slope · score.
    cutpoints_ : ndarray of shape (K−1,)
        The same model's thresholds, in units of its noise.
    curves_ : list of pairs of arrays
        Of ``method="isotonic"``: knots and heights of the curve of each class that has rows but
        the highest.
    thresholds_ : ndarray of shape (K−1,)
        Only around a model with a latent score: where on it the decision changes.

    See Also
    --------
    ConformalOrdinal : Intervals of labels with a guarantee.

    Notes
    -----
    The score is the latent score of a threshold model or the prediction of a regressor or ranker.
    Other models have one for each threshold, their margins or P(y > k); the cumulative link takes
    the mean, which is the expected rank up to its unit. Its slope is never negative, so
    P(y ≤ k) never rises with the score. Thresholds and pairs leave the zero of a latent score open:
    scores of a fold are shifted so that its training rows have the mean that they have under the
    estimator of all rows.

    Isotonic curves over one common score do not cross. Over margins they can, and the nearest
    sequence that falls in k is taken, which lowers the ranked probability score of every row or
    leaves it, whatever its label: see ``echelon.solvers.linear.calibration.isotonic_exceedance``.

    ``decision_function`` gives P(y > k) − ½, or score − ``thresholds_`` around a model with a
    latent score, and the estimator's own margins with ``decision="inner"``.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import train_test_split
    >>> from echelon.meta import OrdinalCalibrator
    >>> from echelon.datasets import load_era
    >>> from echelon.metrics import ranked_probability_score
    >>> X, X_new, y, y_new = train_test_split(*load_era(return_X_y=True), random_state=0)
    >>> forest = RandomForestClassifier(30, random_state=0)
    >>> before = forest.fit(X, y).predict_proba(X_new)
    >>> after = OrdinalCalibrator(forest).fit(X, y).predict_proba(X_new)
    >>> bool(ranked_probability_score(y_new, after) < ranked_probability_score(y_new, before))
    True
    """

    _default = LinearSVOR

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        method: str = "cumulative_link",
        cv: SplitsLike = 5,
        decision: str = "cost",
        cost: CostLike = "absolute",
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.decision = decision
        self.cost = cost
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require_choice("method", self.method, ("cumulative_link", "isotonic"))
        require_choice("decision", self.decision, ("cost", "inner"))
        is_prefit = isinstance(self.cv, str) and self.cv == "prefit"
        self._on_codes = not (is_frozen(self.estimator) or is_prefit)

    def _learn(self, data: OrdinalData, groups: Any = None, time: Any = None) -> None:
        design = RowDesign.of(len(data.codes), groups=groups, time=time)
        estimator = self._given
        if self._on_codes:
            whole = fit_on_codes(estimator, data, design=design)
            self.estimator_ = whole.model
            rows, scores = self._unseen_scores(estimator, whole, data, design)
        else:
            self.estimator_ = estimator
            rows = np.flatnonzero(data.sample_weight > 0)
            scores = FittedModel(estimator, data.scale).scores(_safe_indexing(data.X, rows))
        cost_matrix(self.cost, data.n_classes)
        self._require_labels()
        self._calibrate(scores, data.codes[rows], data.sample_weight[rows])

    def _unseen_scores(
        self, estimator: Any, whole: FittedModel, data: OrdinalData, design: RowDesign
    ) -> tuple[Codes, Matrix]:
        """Rows of positive weight that were held out in turn, and their scores."""
        (X,) = indexable(data.X)
        level = whole.scores(X)[:, 0] if whole.has_one_score else None
        data = replace(data, X=X)
        rng = None if self.random_state is None else check_random_state(self.random_state)
        parts = list(held_out_splits(self.cv, data, rng, design, by_class=True))
        scores = Parallel(n_jobs=self.n_jobs)(
            delayed(_fold_scores)(estimator, level, data, design, inside, outside)
            for inside, outside in parts
        )
        return np.concatenate([outside for _, outside in parts]), np.concatenate(scores)

    def _require_labels(self) -> None:
        if self.decision == "inner" and not self._inner.gives_labels:
            raise ValueError(
                f"decision='inner' needs an estimator that predicts labels; "
                f"{type(final_estimator(self.estimator_)).__name__} predicts scores."
            )

    def _calibrate(self, scores: Matrix, codes: Codes, weights: Vector) -> None:
        for name in ("slope_", "cutpoints_", "curves_", "_shares", "thresholds_"):
            self.__dict__.pop(name, None)
        n_classes = len(self.classes_)
        if self.method == "isotonic":
            found = calibrate_isotonic(scores, codes, n_classes, weights)
            self.curves_ = found.curves
            self._shares = (found.observed, found.shares, found.mass)
        else:
            calibration = calibrate(scores.mean(axis=1), codes, n_classes, weights, 1.0)
            self.slope_, self.cutpoints_ = calibration
        if has_latent(self.estimator_):
            self.thresholds_ = self._latent_thresholds()

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        for knots, heights in getattr(self, "curves_", ()):
            rises = is_ascending(knots) and is_ascending(heights, len(knots))
            bounded = rises and np.isfinite(knots).all() and (np.abs(heights - 0.5) < 0.51).all()
            require_state(bounded, "one of its curves does not rise from 0 to 1")

    def _latent_thresholds(self) -> Vector:
        """Where on the latent score the decision changes."""
        if self.decision == "inner":
            return np.asarray(final_estimator(self.estimator_).thresholds_)
        if self.method == "isotonic":
            return isotonic_thresholds(self._isotonic, len(self.classes_))
        if self.slope_ == 0.0:
            return np.where(self.cutpoints_ < 0.0, -np.inf, np.inf)
        with np.errstate(over="ignore"):
            return self.cutpoints_ / self.slope_

    @property
    def _isotonic(self) -> IsotonicCalibration:
        return IsotonicCalibration(self.curves_, *self._shares)

    @property
    def _keeps_margins(self) -> bool:
        return self.decision == "inner"

    def _above(self, X: Any) -> Matrix:
        """P(y > k), (n, K−1)."""
        if self.method == "isotonic":
            return isotonic_exceedance(self._isotonic, self._inner.scores(X), len(self.classes_))
        return exceedance(self._probabilities(X))

    def _probabilities(self, X: Any) -> Matrix:
        X = self._inputs(X)
        if self.method == "isotonic":
            return exceedance_to_probabilities(self._above(X))
        scores = self._inner.scores(X).mean(axis=1)
        return class_probabilities(get_link("logit"), self.slope_ * scores, self.cutpoints_)

    def _margins(self, X: Any) -> Matrix:
        X = self._inputs(X)
        if self.decision == "inner":
            return self._inner.margins_or_sides(X)
        if hasattr(self, "thresholds_"):
            return margins(self._inner.scores(X)[:, 0], self.thresholds_)
        return self._above(X) - 0.5

    def _codes(self, X: Any, **params: Any) -> Codes:
        if self.decision == "inner":
            return self._inner.codes(self._inputs(X))
        if isinstance(self.cost, str) and self.cost == "absolute":
            return decode(self._margins(X))
        return minimum_cost_codes(self.predict_proba(X), cost_matrix(self.cost, len(self.classes_)))

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, self._default)


def _fold_scores(
    estimator: Any,
    level: Vector | None,
    data: OrdinalData,
    design: RowDesign,
    inside: Codes,
    outside: Codes,
) -> Matrix:
    """Scores of the rows outside, shifted so that the rows inside have their mean in `level`.

    Thresholds and pairs leave the zero of a latent score open, so that of a fold's model is not
    that of the model of all rows, whose scores are `level`.
    """
    model = fit_on_codes(estimator, data, inside, design)
    scores = model.scores(_safe_indexing(data.X, outside))
    if level is None:
        return scores
    own = model.scores(_safe_indexing(data.X, inside))[:, 0]
    return scores + np.average(level[inside] - own, weights=data.sample_weight[inside])
