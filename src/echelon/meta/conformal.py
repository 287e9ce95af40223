"""Intervals of labels that hold the true one with a stated probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._utils.messages import require_choice, warn_caller
from .._utils.types import (
    Codes,
    CostLike,
    EstimatorLike,
    LabelsLike,
    Matrix,
    MatrixLike,
    RandomStateLike,
    SplitsLike,
    Vector,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ProbabilityMixin
from ..base.nested import fit_on_codes, inherit_input_tags, is_frozen
from ..base.reading import AroundModel, FittedModel, has_latent
from ..base.row_design import RowDesign, Split, held_out_splits
from ..base.wrappers import final_estimator
from ..linear.proportional_odds import ProportionalOdds
from ..ordinal.data import OrdinalData
from ..ordinal.intervals import (
    conformal_p_values,
    conformal_p_values_by_class,
    covering_interval,
    fewest_rows,
    hidden_classes,
    margin_nonconformity,
    miscoverage,
    one_per_group,
    probability_nonconformity,
)


class CoverageWarning(UserWarning):
    """Intervals that leave no label out, for want of calibration rows, or that miss a class."""


def _gives_probabilities(model: ConformalOrdinal) -> bool:
    inner = getattr(model, "estimator_", model.estimator)
    if inner is not None and not hasattr(inner, "predict_proba"):
        raise AttributeError(f"{type(final_estimator(inner)).__name__} has no predict_proba.")
    return True


class ConformalOrdinal(AroundModel, ProbabilityMixin, BaseEstimator):
    """Intervals of neighbouring labels around the prediction of any model, with a guarantee.

    Parameters
    ----------
    estimator : estimator, default=ProportionalOdds()
        An ordinal estimator or a classifier, or a pipeline or search that ends in one. It is
        fitted on ranks 0 … K−1 and given the inputs as they are, and the sample weights where it
        accepts them. A ``sklearn.frozen.FrozenEstimator`` is taken as it is. Labels and, where it
        has any, class probabilities are its own.
    confidence : float, default=0.9
        Probability 1 − α with which the interval of a new row is to hold its label.
    method : {"split", "cross", "prefit"}, default="split"
        "split" fits on a part of the rows and calibrates on the others. "cross" fits a
        model without each fold, calibrates it on that fold and joins their answers; predictions
        come from a model of all rows. With "prefit" the estimator is fitted already, and all rows
        calibrate: it must not have seen them.
    per_class : bool, default=False
        Whether the confidence is to hold for the rows of every class and not only on average over
        all rows. Intervals get longer, most of all around rare classes.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share, or so many. They are drawn at random, as whole groups
        where `fit` is given groups, or are the latest where it is given times.
    cv : int, splitter or iterable of splits, default=5
        Folds of "cross". An int deals rows out at random, or whole groups, or later rows after
        earlier ones.
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`, or those of an ordinal
        estimator that is fitted already.
    n_jobs : int, optional
        Folds at a time, as in joblib.
    random_state : int, RandomState instance, optional
        Deals rows out at random.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    estimator_ : estimator
        What predicts labels: fitted on the rows that do not calibrate, or on all rows for "cross".
    estimators_ : list
        What scores labels for "cross", one for each fold; else ``estimator_`` does, and it is
        empty.
    calibration_scores_ : list of ndarray
        For each of these models, the nonconformity scores of the labels of its calibration rows,
        ascending.
    calibration_codes_ : list of ndarray
        The ranks of these labels.
    calibration_weights_ : list of ndarray
        What these rows count: one, or one divided by the rows of their group (and class, with
        `per_class`).
    coverage_ : float
        Share of the calibration rows in their own intervals, as a check.
    coverage_by_class_ : ndarray of shape (K,)
        The same share of the rows of each class; NaN for a class without calibration rows.
    mean_size_ : float
        Mean number of labels in these intervals.
    thresholds_ : ndarray of shape (K−1,)
        Only around a model with a latent score: its thresholds.

    Warns
    -----
    CoverageWarning
        If there are too few calibration rows, 1/α − 1, in all or in a class: then no label, or
        not this one, can be left out. And if the confidence, which without `per_class` holds on
        average over all rows, hides a class whose rows are covered much less often.

    See Also
    --------
    OrdinalCalibrator : Class probabilities for any model.

    Notes
    -----
    If a new row and the calibration rows are exchangeable, for instance drawn independently from
    one population, then with α = 1 − `confidence`

    - "split" and "prefit": P(low ≤ y ≤ high) ≥ 1 − α, whatever the model and the number of rows;
      and at most 1 − α + 1/(n+1) for n calibration rows without ties, unless the predicted
      label, which is always in the interval, is right more often than that;
    - "cross": P(low ≤ y ≤ high) ≥ 1 − 2α, and in practice near 1 − α;
    - with ``per_class=True`` the same for the rows of each class that was seen.

    With groups it is enough that whole groups are exchangeable, and the same holds for a row drawn
    at random from a new group; 1/α − 1 calibration groups are needed in place of rows. With times
    the latest rows calibrate, and nothing is promised for rows that are later still: it holds as
    far as the present is like the latest past.

    Theorems and proofs are in ``echelon.ordinal.intervals``. The interval grows from the predicted
    label, always by the more probable neighbour, until its probability passes a level that the
    calibration rows set; for a model without probabilities it is what the margins, moved by so
    much, would decode to. It is never empty, contains the prediction, and grows with the
    confidence.

    Weights are for the estimator: calibration rows count alike, but for those of weight zero.

    Examples
    --------
    >>> from sklearn.model_selection import train_test_split
    >>> from echelon.meta import ConformalOrdinal
    >>> from echelon.datasets import load_esl
    >>> X, X_new, y, y_new = train_test_split(*load_esl(return_X_y=True), random_state=0)
    >>> low, high = ConformalOrdinal(random_state=0).fit(X, y).predict_interval(X_new)
    >>> bool(((low <= y_new) & (y_new <= high)).mean() > 0.8)
    True
    """

    _default = ProportionalOdds

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        confidence: float = 0.9,
        *,
        method: str = "split",
        per_class: bool = False,
        calibration_size: float = 0.25,
        cv: SplitsLike = 5,
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.confidence = confidence
        self.method = method
        self.per_class = per_class
        self.calibration_size = calibration_size
        self.cv = cv
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require_choice("method", self.method, ("split", "cross", "prefit"))
        _miscoverage(self.confidence)
        if not is_classifier(self._given):
            raise ValueError(
                f"ConformalOrdinal needs an estimator that predicts labels; "
                f"{type(final_estimator(self._given)).__name__} predicts numbers: put a regressor "
                "into RoundedRegressor, a ranker into ThresholdedRanker, or either into "
                "OrdinalCalibrator."
            )
        self._on_codes = not (is_frozen(self.estimator) or self.method == "prefit")

    def _learn(self, data: OrdinalData, groups: Any = None, time: Any = None) -> None:
        (inputs,) = indexable(data.X)
        data = replace(data, X=inputs)
        design = RowDesign.of(len(data.codes), groups=groups, time=time)
        seen = np.bincount(data.codes[data.sample_weight > 0], minlength=data.n_classes)
        self._unseen = np.flatnonzero(seen == 0)
        self._calibrate(self._given, data, design)
        whole = "rows" if design.groups is None else "groups"
        self._check_calibration(_miscoverage(self.confidence), whole)
        self.__dict__.pop("thresholds_", None)
        if has_latent(self.estimator_):
            self.thresholds_ = np.asarray(final_estimator(self.estimator_).thresholds_)

    def _calibrate(self, estimator: Any, data: OrdinalData, design: RowDesign) -> None:
        if not self._on_codes:
            rows = np.flatnonzero(data.sample_weight > 0)
            parts = [CalibrationRows.of(FittedModel(estimator, data.scale), data, design, rows)]
        else:
            parts = Parallel(n_jobs=self.n_jobs)(
                delayed(CalibrationRows.held_out)(estimator, data, design, inside, outside)
                for inside, outside in self._splits(data, design)
            )
        self.estimator_, self.estimators_ = parts[0].model, []
        if self.method == "cross" and self._on_codes:
            self.estimators_ = [part.model for part in parts]
            self.estimator_ = fit_on_codes(estimator, data, design=design).model
        calibration = [part.ascending() for part in parts]
        self.calibration_scores_ = [scores for scores, _, _ in calibration]
        self.calibration_codes_ = [codes for _, codes, _ in calibration]
        self.calibration_weights_ = [
            one_per_group(groups, codes if self.per_class else None)
            for _, codes, groups in calibration
        ]
        self._measure(parts)

    def _splits(self, data: OrdinalData, design: RowDesign) -> Iterable[Split]:
        """Rows to fit on and rows to calibrate on.

        Rows are assigned without regard to the labels, as theorem 1 needs; by class where
        each class is calibrated by itself.
        """
        rng = check_random_state(self.random_state)
        if self.method == "cross":
            return held_out_splits(self.cv, data, rng, design, by_class=self.per_class)
        rows = np.flatnonzero(data.sample_weight > 0)
        inside, outside = design.take(rows).held_out(
            data.codes[rows],
            self.calibration_size,
            rng,
            by_class=self.per_class,
            name="calibration_size",
        )
        return [(rows[inside], rows[outside])]

    def _measure(self, parts: list[CalibrationRows]) -> None:
        """Coverage and size of the intervals of the calibration rows themselves."""
        covered, size, alpha = [], [], _miscoverage(self.confidence)
        for number, part in enumerate(parts):
            p_values = self._p_values(part.scores, number)
            low, high = covering_interval(p_values, part.predicted, alpha)
            covered.append((low <= part.codes) & (part.codes <= high))
            size.append(high - low + 1)
        inside, codes = np.concatenate(covered), np.concatenate([part.codes for part in parts])
        rows, held = (np.bincount(codes[s], minlength=len(self.classes_)) for s in (..., inside))
        self.coverage_ = float(inside.mean())
        self.coverage_by_class_ = np.divide(
            held, rows, out=np.full(len(rows), np.nan), where=rows > 0
        )
        hidden = hidden_classes(self.classes_, held, rows, 1.0 - alpha)
        if hidden is not None:
            advice = (
                ""
                if self.per_class
                else ": ConformalOrdinal(per_class=True) keeps the confidence in each"
            )
            warn_caller(f"{hidden}{advice}.", CoverageWarning)
        self.mean_size_ = float(np.concatenate(size).mean())

    def _check_calibration(self, alpha: float, whole: str) -> None:
        codes = np.concatenate(self.calibration_codes_)
        weights = np.concatenate(self.calibration_weights_)
        counts = np.rint(np.bincount(codes, weights, minlength=len(self.classes_))).astype(int)
        needed = fewest_rows(alpha) * len(self.calibration_scores_)
        if not self.per_class:
            found = round(weights.sum())
            if found < needed:
                warn_caller(
                    f"A confidence of {self.confidence:g} needs {needed} calibration {whole}; "
                    f"found {found}, so that intervals leave no label out.",
                    CoverageWarning,
                )
            return
        rare = np.setdiff1d(np.flatnonzero(counts < needed), self._unseen)
        if len(rare):
            listed = ", ".join(f"{self.classes_[k]} ({counts[k]})" for k in rare)
            warn_caller(
                f"A confidence of {self.confidence:g} in every class needs {needed} calibration "
                f"{whole} of each; these have fewer and are in every interval: {listed}.",
                CoverageWarning,
            )

    def _p_values(self, scores: Matrix, number: int) -> Matrix:
        calibration, weights = self.calibration_scores_[number], self.calibration_weights_[number]
        if not self.per_class:
            return conformal_p_values(scores, calibration, weights)
        codes = self.calibration_codes_[number]
        p_values = conformal_p_values_by_class(scores, calibration, codes, weights)
        p_values[:, self._unseen] = 0.0
        return p_values

    @property
    def _keeps_margins(self) -> bool:
        return True

    def predict_interval_codes(self, X: MatrixLike, confidence: float | None = None) -> Split:
        """First and last rank of the interval of each row, counted from 0.

        Parameters
        ----------
        X : array-like, or whatever the estimator reads, of shape (n, d)
        confidence : float, optional
            In place of the estimator's own.

        Returns
        -------
        low, high : ndarrays of int of shape (n,)
        """
        check_is_fitted(self)
        X = self._inputs(X)
        alpha = _miscoverage(self.confidence if confidence is None else confidence)
        if not self.estimators_:
            scores, predicted = nonconformity_scores(self._inner, X)
            return covering_interval(self._p_values(scores, 0), predicted, alpha)
        predicted = self._inner.codes(X)
        p_values = np.zeros((len(predicted), len(self.classes_)))
        for number, model in enumerate(self.estimators_):
            scores, _ = nonconformity_scores(self._read(model), X)
            p_values += self._p_values(scores, number) / len(self.estimators_)
        return covering_interval(p_values, predicted, alpha)

    def predict_interval(self, X: MatrixLike, confidence: float | None = None) -> tuple[Any, Any]:
        """Lowest and highest label of the interval of each row, in the type of the labels.

        Parameters
        ----------
        X : array-like, or whatever the estimator reads, of shape (n, d)
        confidence : float, optional
            In place of the estimator's own.

        Returns
        -------
        low, high : arrays of shape (n,)
            Both are in the interval.
        """
        low, high = self.predict_interval_codes(X, confidence)
        return self._scale.decode(low), self._scale.decode(high)

    @property
    def cost(self) -> CostLike:
        """What ``score`` charges: the cost of the model inside."""
        inner = getattr(self, "estimator_", self.estimator)
        cost: CostLike = getattr(final_estimator(inner), "cost", "absolute")
        return cost

    def _margins(self, X: Any) -> Matrix:
        return self._inner.margins_or_sides(self._inputs(X))

    def _codes(self, X: Any, **params: Any) -> Codes:
        return self._inner.codes(self._inputs(X))

    predict_proba = available_if(_gives_probabilities)(ProbabilityMixin.predict_proba)

    def _probabilities(self, X: Any) -> Matrix:
        return np.asarray(self._inner.probabilities(self._inputs(X)))

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, self._default)


def _miscoverage(confidence: Any) -> float:
    """α = 1 − confidence, checked."""
    if not isinstance(confidence, Real) or not 0.0 < float(confidence) < 1.0:
        raise ValueError(f"confidence must be a number between 0 and 1; found {confidence!r}.")
    return miscoverage(float(confidence))


@dataclass(frozen=True)
class CalibrationRows:
    """Calibration rows and their scores by a model that has not seen them.

    Parameters
    ----------
    model : estimator
    scores : ndarray of shape (n, K)
        Nonconformity scores of every label.
    codes : ndarray of shape (n,)
        The true labels.
    predicted : ndarray of shape (n,)
        The predicted ones.
    groups : ndarray of shape (n,)
        The group of each row; its own where there are no groups.
    """

    model: Any
    scores: Matrix
    codes: Codes
    predicted: Codes
    groups: Codes

    @classmethod
    def of(
        cls, model: FittedModel, data: OrdinalData, design: RowDesign, rows: Codes
    ) -> CalibrationRows:
        """Score rows by a model that is fitted already."""
        scores, predicted = nonconformity_scores(model, _safe_indexing(data.X, rows))
        groups = rows if design.groups is None else design.groups[rows]
        return cls(model.model, scores, data.codes[rows], predicted, groups)

    @classmethod
    def held_out(
        cls, estimator: Any, data: OrdinalData, design: RowDesign, inside: Codes, outside: Codes
    ) -> CalibrationRows:
        """Score the rows outside by a model that is fitted on those inside."""
        return cls.of(fit_on_codes(estimator, data, inside, design), data, design, outside)

    def ascending(self) -> tuple[Vector, Codes, Codes]:
        """Scores of the true labels in ascending order, these labels, and groups of the rows."""
        own = self.scores[np.arange(len(self.codes)), self.codes]
        order = np.argsort(own, kind="stable")
        return own[order], self.codes[order], self.groups[order]


def nonconformity_scores(model: FittedModel, X: Any) -> tuple[Matrix, Codes]:
    """Nonconformity score of every label for every row, and the predicted labels."""
    predicted, probabilities = model.codes_and_probabilities(X)
    if probabilities is not None:
        return probability_nonconformity(probabilities, predicted), predicted
    margins = model.margins(X)
    if margins is None:
        # A model that gives nothing but labels: margins say how many ranks away thresholds are.
        margins = predicted[:, None] - (np.arange(model.scale.n_classes - 1) + 0.5)
    return margin_nonconformity(margins, predicted), predicted
