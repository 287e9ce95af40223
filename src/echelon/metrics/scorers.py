"""Scorers for model selection: metrics that know the scale of the estimator they score."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics._scorer import _BaseScorer

from .._utils.types import LabelsLike, Matrix, Vector
from ..ordinal.labels import OrdinalScale
from ._labels import plain_labels, stated_order
from .agreement import linear_weighted_kappa, quadratic_weighted_kappa
from .association import concordance_index, kendall_tau_b, spearman_correlation
from .error import (
    macro_mean_absolute_error,
    maximum_mean_absolute_error,
    mean_absolute_rank_error,
    mean_cost,
    within_one_accuracy,
    zero_one_error,
)
from .probability import ordinal_log_loss, ranked_probability_score
from .ranking.scorers import RankingScorer, get_ranking_scorer, is_ranking_scorer_name

_LATENT = ("predict_latent", "decision_function", "predict")


class OrdinalScorer(_BaseScorer):
    """A metric as ``scorer(estimator, X, y, sample_weight=None)``; greater is better.

    The scale is `classes` if given. Otherwise it is the estimator's ``classes_`` (a pipeline or
    a search forwards those of its last step), so that a test fold without some class is scored on
    the whole scale. Two cases know more than ``classes_``: if these are merely in sorted order and
    the type of `y` states an order, that order holds; and if numbers turn up in `y` that the
    training fold lacked, they take their place by value. An estimator without ``classes_`` is
    scored on the scale of the labels, as the metric functions do.

    Use `get_scorer` or `cost_scorer` to make one.

    Parameters
    ----------
    metric : callable
        A function of this package, called as ``metric(y, response, classes=..., ...)``.
    sign : {1, -1}
        −1 for errors, which are negated.
    response_method : {"predict", "predict_proba"} or tuple of str
        Where the response comes from. A tuple lists ways to get one score per row: the first
        that the estimator has and that gives such a score is used.
    classes : sequence, optional
        The labels from lowest to highest.
    **options : dict
        Further keyword arguments of the metric.
    """

    def __init__(
        self,
        metric: Callable[..., float],
        sign: int,
        response_method: str | tuple[str, ...] = "predict",
        classes: LabelsLike | None = None,
        **options: Any,
    ) -> None:
        super().__init__(metric, sign, options, response_method)
        self._classes = classes

    def __repr__(self) -> str:
        sign = "" if self._sign > 0 else "-"
        options = "".join(f", {name}={value!r}" for name, value in self._kwargs.items())
        return f"OrdinalScorer({sign}{self._score_func.__name__}{options})"

    def _score(
        self, method_caller: Callable[..., Any], estimator: Any, X: Any, y_true: Any, **kwargs: Any
    ) -> float:
        classes = self._classes
        if classes is None:
            classes = _scale_of(estimator, y_true)
        response = _Response(method_caller, estimator, X, classes)
        if self._response_method == "predict":
            values = response.call("predict")
        elif self._response_method == "predict_proba":
            values = response.probabilities()
        else:
            values = response.scores(self._response_method)
        metric = self._score_func(y_true, values, classes=classes, **self._kwargs, **kwargs)
        return self._sign * metric


class _Response:
    """What an estimator says about X, put on the scale of the scorer.

    ``method_caller`` is how scikit-learn shares one prediction among several scorers.
    """

    def __init__(
        self, method_caller: Callable[..., Any], estimator: Any, X: Any, classes: Any
    ) -> None:
        self.method_caller = method_caller
        self.estimator = estimator
        self.X = X
        self.known = getattr(estimator, "classes_", None)
        self.classes = self.known if classes is None else classes

    def call(self, method: str) -> Any:
        return self.method_caller(self.estimator, method, self.X, pos_label=None)

    def probabilities(self) -> Matrix:
        """Class probabilities with a column for every class of the scale."""
        if self.known is None or len(self.known) <= 2:
            # For two classes the shared call gives the upper column only, and one minus it would
            # round a small probability of the lower class to zero.
            p = np.asarray(self.estimator.predict_proba(self.X))
        else:
            p = np.asarray(self.call("predict_proba"))
        if self.known is None:
            return p
        full = np.zeros((len(p), len(self.classes)))
        full[:, self._scale().encode(self.known, name="classes_")] = p
        return full

    def scores(self, methods: tuple[str, ...]) -> Vector:
        """One score per row that grows with the label."""
        for method in methods:
            if method == "predict" or not hasattr(self.estimator, method):
                continue
            values = np.asarray(self.call(method), dtype=np.float64)
            if values.ndim == 1:
                return values
            # K−1 columns are margins at thresholds, and their sum grows with the label; K columns
            # are scores of classes without an order, and their sum says nothing.
            if self.known is not None and values.shape[1] == len(self.known) - 1:
                return values.sum(axis=1)
        predicted = self.call("predict")
        if self.known is None:
            return predicted
        return self._scale().encode(predicted, name="predictions").astype(np.float64)

    def _scale(self) -> OrdinalScale:
        return OrdinalScale(np.asarray(self.classes))


def _scale_of(estimator: Any, y_true: Any) -> npt.NDArray[Any] | None:
    """Labels from lowest to highest as far as the estimator and the labels tell."""
    known = getattr(estimator, "classes_", None)
    if known is None:
        return None
    known = np.asarray(known)
    if _merely_sorted(known):
        stated, labels = stated_order(y_true), plain_labels(y_true)
        if stated is not None:
            known = stated
        elif known.dtype.kind in "biuf" and labels.dtype.kind in "biuf":
            known = np.union1d(known, labels)
    # The metrics read a scale of one class from the labels themselves.
    return known if len(known) > 1 else None


def _merely_sorted(classes: npt.NDArray[Any]) -> bool:
    labels = classes.tolist()
    try:
        return labels == sorted(labels)
    except TypeError:
        return False


_SCORERS = {
    "neg_mean_absolute_rank_error": OrdinalScorer(mean_absolute_rank_error, -1),
    "neg_zero_one_error": OrdinalScorer(zero_one_error, -1),
    "neg_macro_mean_absolute_error": OrdinalScorer(macro_mean_absolute_error, -1),
    "neg_maximum_mean_absolute_error": OrdinalScorer(maximum_mean_absolute_error, -1),
    "within_one_accuracy": OrdinalScorer(within_one_accuracy, 1),
    "quadratic_weighted_kappa": OrdinalScorer(quadratic_weighted_kappa, 1),
    "linear_weighted_kappa": OrdinalScorer(linear_weighted_kappa, 1),
    "kendall_tau_b": OrdinalScorer(kendall_tau_b, 1),
    "spearman_correlation": OrdinalScorer(spearman_correlation, 1),
    "concordance_index": OrdinalScorer(concordance_index, 1, _LATENT),
    "neg_ranked_probability_score": OrdinalScorer(ranked_probability_score, -1, "predict_proba"),
    "neg_ordinal_log_loss": OrdinalScorer(ordinal_log_loss, -1, "predict_proba"),
}


def scorer_names() -> list[str]:
    """Names that `get_scorer` knows, sorted.

    Examples
    --------
    >>> scorer_names()[:3]
    ['concordance_index', 'kendall_tau_b', 'linear_weighted_kappa']
    """
    return sorted(_SCORERS)


def get_scorer(name: str, *, classes: LabelsLike | None = None) -> OrdinalScorer | RankingScorer:
    """Scorer by name, for ``scoring=`` in scikit-learn.

    After ``import echelon.metrics`` scikit-learn knows the names too, so that a plain string does
    for ``scoring=``. In worker processes that have not imported the package, pass the scorer.

    Parameters
    ----------
    name : str
        One of `scorer_names`; those that start with ``neg_`` are negated errors. Names of ranking
        scorers, such as "ndcg@5", are known too, see `get_ranking_scorer`.
    classes : sequence, optional
        The labels from lowest to highest, for estimators that do not know the order of text labels.

    Returns
    -------
    scorer : OrdinalScorer or RankingScorer

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0], [1], [2], [3]], ["bad", "bad", "fair", "ace"]
    >>> model = LogisticRegression(C=1e3).fit(X, y)
    >>> scorer = get_scorer("neg_mean_absolute_rank_error", classes=["bad", "fair", "ace"])
    >>> scorer(model, [[0], [3]], ["ace", "ace"])
    -1.0
    """
    if is_ranking_scorer_name(name):
        return get_ranking_scorer(name)
    if name not in _SCORERS:
        raise ValueError(f"name must be one of {', '.join(scorer_names())}; found {name!r}.")
    scorer = copy.deepcopy(_SCORERS[name])
    scorer._classes = classes
    return scorer


def cost_scorer(cost: str | npt.ArrayLike, *, classes: LabelsLike | None = None) -> OrdinalScorer:
    """Scorer that gives the negative mean cost of the predictions.

    Parameters
    ----------
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K)
        Row y, column r: the cost of predicting r when the truth is y.
    classes : sequence, optional
        The labels from lowest to highest; the estimator's ``classes_`` by default.

    Returns
    -------
    scorer : OrdinalScorer

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0], [0]], [1, 2, 2])
    >>> cost_scorer([[0, 5], [1, 0]])(model, [[0], [0]], [1, 2])
    -2.5
    """
    return OrdinalScorer(mean_cost, -1, classes=classes, cost=cost)
