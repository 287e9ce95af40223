"""Scorers for model selection: measures that know the scale, or the queries, of what they score.

A scorer is a function of the table of measures with a direction: greater is better. scikit-learn's
tools take it as ``scoring=get_scorer("…")``. What an estimator says about rows becomes the labels,
probabilities or scores that metrics take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics._scorer import _BaseScorer, _cached_call

from .._utils.messages import require_choice
from .._utils.types import KeysLike, LabelsLike, Matrix, Vector, VectorLike
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import expected_rank
from ._labels import plain_labels, stated_order
from .measures import MEASURES, Measure, known_measures
from .ranking.significance import per_query
from .ranking.summary import QueryScores

#: Calls a method of an estimator; scikit-learn's way to share one prediction among scorers.
MethodCaller = Callable[..., Any]
#: Calls an estimator once, without sharing.
single_call: MethodCaller = partial(_cached_call, None)


class ScaledResponse:
    """What an estimator says about X, put on the scale of a scorer."""

    def __init__(
        self, method_caller: MethodCaller, estimator: Any, X: Any, classes: LabelsLike | None
    ) -> None:
        self.method_caller = method_caller
        self.estimator = estimator
        self.X = X
        self.known = getattr(estimator, "classes_", None)
        self.classes: npt.NDArray[Any] = np.asarray(self.known if classes is None else classes)

    def call(self, method: str) -> Any:
        """What a method of the estimator gives for X."""
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
        full[:, OrdinalScale(self.classes).encode(self.known, name="classes_")] = p
        return full

    def scores(self, methods: Sequence[str]) -> Vector:
        """One score per row that grows with the label; the predicted rank for want of a better."""
        scores = self.first_scores([method for method in methods if method != "predict"])
        if scores is not None:
            return scores
        predicted = self.call("predict")
        if self.known is None:
            return np.asarray(predicted)
        codes = OrdinalScale(self.classes).encode(predicted, name="predictions")
        return codes.astype(np.float64)

    def first_scores(self, methods: Sequence[str]) -> Vector | None:
        """By the first of the methods that the estimator has and that gives one score per row."""
        for method in methods:
            if not hasattr(self.estimator, method):
                continue
            values = np.asarray(self.call(method), dtype=np.float64)
            if values.ndim == 1:
                return values
            # K−1 columns are margins at thresholds, and their sum grows with the label; K columns
            # are scores of classes without an order, and their sum says nothing.
            if self.known is not None and values.shape[1] == len(self.known) - 1:
                return np.asarray(values.sum(axis=1))
            if method == "predict_proba":
                return expected_rank(values)
        return None


def ranking_scores(estimator: Any, X: Any, method_caller: MethodCaller = single_call) -> Vector:
    """One score per row by which an estimator ranks, whatever kind of estimator it is."""
    response = ScaledResponse(method_caller, estimator, X, None)
    if is_classifier(estimator):
        found = response.first_scores(("predict_latent", "decision_function", "predict_proba"))
        if found is not None:
            return found
    scores = np.asarray(response.call("predict"))
    if scores.ndim != 1 or scores.dtype.kind not in "iufb":
        raise ValueError(
            f"{type(estimator).__name__}.predict must give one number per row to rank by; found "
            f"shape {scores.shape} of {scores.dtype}."
        )
    return scores.astype(np.float64)


def scale_of(estimator: Any, y_true: Any) -> npt.NDArray[Any] | None:
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
        return bool(labels == sorted(labels))
    except TypeError:
        return False


#: Where the response that a measure needs comes from.
_METHODS: dict[str, str | tuple[str, ...]] = {
    "labels": "predict",
    "probabilities": "predict_proba",
    "scores": ("predict_latent", "decision_function", "predict"),
}
_PLACES = (1, 3, 5, 10)


class _MetricScorer(_BaseScorer):
    """A metric with a sign and its options."""

    def __repr__(self) -> str:
        sign = "" if self._sign > 0 else "-"
        name = getattr(self._score_func, "__name__", repr(self._score_func))
        options = "".join(f", {key}={value!r}" for key, value in self._kwargs.items())
        return f"{type(self).__name__}({sign}{name}{options})"


class OrdinalScorer(_MetricScorer):
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

    def _score(
        self, method_caller: MethodCaller, estimator: Any, X: Any, y_true: Any, **kwargs: Any
    ) -> float:
        classes = self._classes
        if classes is None:
            classes = scale_of(estimator, y_true)
        response = ScaledResponse(method_caller, estimator, X, classes)
        if self._response_method == "predict":
            values = response.call("predict")
        elif self._response_method == "predict_proba":
            values = response.probabilities()
        else:
            values = response.scores(self._response_method)
        metric = self._score_func(y_true, values, classes=classes, **self._kwargs, **kwargs)
        return float(self._sign * metric)


class RankingScorer(_MetricScorer):
    """A metric as ``scorer(estimator, X, y, qid=None, sample_weight=None)``; greater is better.

    With scikit-learn's metadata routing on, ``cross_validate`` and searches hand it the ``qid`` of
    the rows it scores without being asked; weights must be asked for by
    ``set_score_request(sample_weight=True)``. With routing off they never pass queries to a
    scorer, and the rows of a fold are scored as one query: use
    `echelon.model_selection.cross_validate_ranker` there. Before scikit-learn 1.8 name a scorer for
    pipelines and searches: the default, their own ``score``, is not handed any queries.

    The score of a row is ``predict``. Of a classifier it is ``predict_latent``, or
    ``decision_function`` (the sum of its margins where there are several), or the expected rank by
    ``predict_proba``.

    Use `make_ranking_scorer` to make one.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y, scores, qid=..., ...)``.
    sign : {1, -1}
        −1 for losses, which are negated.
    options : dict
        Further keyword arguments of the metric.
    """

    __metadata_request__score = {"qid": True, "sample_weight": None}  # noqa: RUF012 - class level

    def __init__(self, metric: Callable[..., float], sign: int, options: dict[str, Any]) -> None:
        super().__init__(metric, sign, options, "predict")

    def __call__(
        self, estimator: Any, X: Any, y_true: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Score rows by query.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X : array-like of shape (n, d)
        y_true : array-like of shape (n,)
            Labels, higher is better.
        qid : sequence of shape (n,), optional
            Query of each row.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        return self._score(single_call, estimator, X, y_true, qid=qid, sample_weight=sample_weight)

    def set_score_request(self, **requests: Any) -> Self:
        """Set what metadata to ask for; ``qid`` stays asked for unless it is among them."""
        super().set_score_request(**{"qid": True, **requests})
        return self

    def of_scores(
        self,
        y_true: LabelsLike,
        scores: npt.ArrayLike,
        *,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """Score rows from the scores that an estimator gave them."""
        options = self._options(qid, sample_weight)
        return float(self._sign * self._score_func(y_true, scores, **options))

    def by_query(
        self,
        y_true: LabelsLike,
        scores: npt.ArrayLike,
        *,
        qid: KeysLike,
        sample_weight: VectorLike | None = None,
    ) -> QueryScores:
        """Scores of single queries; those for which the metric has no value are left out."""
        options = self._options(qid, sample_weight)
        found = per_query(self._score_func, y_true, scores, **options)
        return QueryScores(found.ids, self._sign * found.values, found.weights).defined()

    def _options(self, qid: Any, sample_weight: Any) -> dict[str, Any]:
        """Keyword arguments of the metric; some, such as the reciprocal rank, know no weights."""
        options = {"qid": qid, **self._kwargs}
        if sample_weight is not None:
            parameters = signature(self._score_func).parameters.values()
            if any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters):
                options["sample_weight"] = sample_weight
        return options

    def _score(
        self, method_caller: MethodCaller, estimator: Any, X: Any, y_true: Any, **given: Any
    ) -> float:
        return self.of_scores(y_true, ranking_scores(estimator, X, method_caller), **given)


def scorer_names() -> list[str]:
    """Names that `get_scorer` knows, sorted.

    Examples
    --------
    >>> scorer_names()[:3]
    ['concordance_index', 'kendall_tau_b', 'linear_weighted_kappa']
    """
    return sorted(_ordinal_measures())


def _ordinal_measures() -> dict[str, Measure]:
    """Measures by the name of their scorer; a cost has none, because it must be stated."""
    return {
        measure.scorer: measure
        for measure in MEASURES.values()
        if measure.needs in _METHODS and measure.key != "cost"
    }


def ranking_scorer_names() -> list[str]:
    """Names of ranking scorers, with some numbers of places, sorted.

    Examples
    --------
    >>> [name for name in ranking_scorer_names() if "@" not in name][-2:]
    ['ndcg', 'pairwise_accuracy']
    """
    measures = [measure for measure in MEASURES.values() if measure.needs == "queries"]
    cut = [m for m in measures if m.places == "must" or m.key == "ndcg"]
    plain = [measure.key for measure in measures if measure.places != "must"]
    return sorted([*plain, *(measure.at(k).key for measure in cut for k in _PLACES)])


def get_scorer(name: str, *, classes: LabelsLike | None = None) -> OrdinalScorer | RankingScorer:
    """Scorer by name, for ``scoring=`` in scikit-learn.

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
    base = MEASURES.get(name.partition("@")[0])
    if base is not None and base.needs == "queries":
        return get_ranking_scorer(name)
    require_choice("name", name, scorer_names())
    measure = _ordinal_measures()[name]
    return OrdinalScorer(measure.function, measure.sign, _METHODS[measure.needs], classes)


def get_ranking_scorer(name: str) -> RankingScorer:
    """Ranking scorer by name, for ``scoring=`` in scikit-learn.

    Parameters
    ----------
    name : str
        One of `ranking_scorer_names`, or such a name with any other number of places after ``@``.

    Returns
    -------
    scorer : RankingScorer

    Examples
    --------
    >>> get_ranking_scorer("ndcg@7")
    RankingScorer(ndcg_score, k=7)
    """
    found = known_measures([name])
    if not found or found[0].needs != "queries":
        raise ValueError(
            f"name must be one of {', '.join(ranking_scorer_names())}, or have another number "
            f"of places after @; found {name!r}."
        )
    return RankingScorer(found[0].function, found[0].sign, dict(found[0].options))


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
    return OrdinalScorer(MEASURES["cost"].function, -1, classes=classes, cost=cost)


def make_ranking_scorer(
    metric: Callable[..., float], *, greater_is_better: bool | None = None, **options: Any
) -> RankingScorer:
    """Scorer from a ranking metric, for ``scoring=`` in scikit-learn.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, *, qid=None, ...)`` to a number. Weights of rows reach it if it
        takes ``sample_weight``.
    greater_is_better : bool, optional
        Whether the metric grows with quality; a loss is negated. The losses of this package are
        known as such; others are taken to grow.
    **options : dict
        Further keyword arguments of the metric, such as ``k=5``.

    Returns
    -------
    scorer : RankingScorer
        ``scorer(estimator, X, y, qid=None, sample_weight=None)``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from echelon.metrics.ranking import misranking_loss
    >>> scorer = make_ranking_scorer(misranking_loss, ties="error")
    >>> scorer
    RankingScorer(-misranking_loss, ties='error')
    >>> X, y, qid = [[0], [1], [2], [9]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> scorer(LinearRegression().fit(X[:2], y[:2]), X, y, qid=qid)
    -0.5
    """
    reserved = {"qid", "sample_weight"} & set(options)
    if reserved:
        raise ValueError(
            f"{sorted(reserved)[0]} belongs to the rows that are scored, not to the scorer; pass "
            "it where the scorer is called."
        )
    if not callable(metric):
        raise ValueError(f"metric must be a function of labels and scores; found {metric!r}.")
    if greater_is_better is None:
        greater_is_better = getattr(metric, "greater_is_better", True)
    return RankingScorer(metric, 1 if greater_is_better else -1, options)


def as_ranking_scorer(scoring: Any) -> RankingScorer:
    """Scorer of a name, of a metric of rankings, or as it is."""
    if isinstance(scoring, RankingScorer):
        return scoring
    if isinstance(scoring, str):
        return get_ranking_scorer(scoring)
    if callable(scoring) and not isinstance(scoring, _BaseScorer):
        return make_ranking_scorer(scoring)
    raise ValueError(
        "scoring must be the name of a ranking scorer, a metric of rankings or a scorer made by "
        f"make_ranking_scorer; found {scoring!r}."
    )
