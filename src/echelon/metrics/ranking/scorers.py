"""Scorers of rankings for model selection, which know queries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics._scorer import _BaseScorer, _cached_call

from ..._utils.types import KeysLike, LabelsLike, Vector, VectorLike
from ...ordinal.reduction import expected_rank
from .compare import per_query
from .first_hit import hit_rate, reciprocal_rank
from .misranking import PairShares, pair_metric, pair_rows, query_pairs
from .retrieval import average_precision, ndcg_score, precision_at, recall_at
from .summary import QueryScores


class RankingScorer(_BaseScorer):
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

    def __repr__(self) -> str:
        sign = "" if self._sign > 0 else "-"
        name = getattr(self._score_func, "__name__", repr(self._score_func))
        options = "".join(f", {key}={value!r}" for key, value in self._kwargs.items())
        return f"RankingScorer({sign}{name}{options})"

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
        single = partial(_cached_call, None)
        return self._score(single, estimator, X, y_true, qid=qid, sample_weight=sample_weight)

    def set_score_request(self, **requests: Any) -> RankingScorer:
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
        if sample_weight is not None and _takes_weights(self._score_func):
            options["sample_weight"] = sample_weight
        return options

    def _score(
        self, method_caller: Callable[..., Any], estimator: Any, X: Any, y_true: Any, **given: Any
    ) -> float:
        return self.of_scores(y_true, ranking_scores(estimator, X, method_caller), **given)


def ranking_scores(
    estimator: Any, X: Any, method_caller: Callable[..., Any] | None = None
) -> Vector:
    """One score per row by which an estimator ranks, whatever kind of estimator it is."""
    call = partial(_cached_call, None) if method_caller is None else method_caller
    if is_classifier(estimator):
        for method in ("predict_latent", "decision_function", "predict_proba"):
            if hasattr(estimator, method):
                values = np.asarray(call(estimator, method, X, pos_label=None))
                scores = _one_score(values, len(estimator.classes_), method)
                if scores is not None:
                    return scores
    scores = np.asarray(call(estimator, "predict", X, pos_label=None))
    if scores.ndim != 1 or scores.dtype.kind not in "iufb":
        raise ValueError(
            f"{type(estimator).__name__}.predict must give one number per row to rank by; found "
            f"shape {scores.shape} of {scores.dtype}."
        )
    return scores.astype(np.float64)


def _one_score(values: npt.NDArray[Any], n_classes: int, method: str) -> Vector | None:
    """One score per row that grows with the class; None where the columns have no order."""
    if values.ndim == 1:
        return values.astype(np.float64)
    if values.shape[1] == n_classes - 1:
        return values.sum(axis=1)
    return expected_rank(values) if method == "predict_proba" else None


def _takes_weights(metric: Callable[..., float]) -> bool:
    parameters = signature(metric).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


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


@pair_metric
def pairwise_accuracy(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
) -> PairShares:
    """Share of the pairs of one query with different labels in the right order, ties half.

    It is one minus `misranking_loss`, and what the rankers' ``score`` gives.

    Examples
    --------
    >>> pairwise_accuracy([2, 1, 0, 1, 0], [0.9, 0.1, 0.5, 0.3, 0.3], qid=[1, 1, 1, 2, 2])
    0.625
    """
    view = pair_rows(y_true, y_score, qid, sample_weight, query_weight)
    pairs = query_pairs(view)
    return PairShares(view, pairs.hits("half"), pairs.total)


_METRICS: dict[str, Callable[..., float]] = {
    "pairwise_accuracy": pairwise_accuracy,
    "ndcg": ndcg_score,
    "mean_average_precision": average_precision,
    "mean_reciprocal_rank": reciprocal_rank,
    "precision": precision_at,
    "recall": recall_at,
    "hit_rate": hit_rate,
}
# These mean little without a number of places, and two of them are scikit-learn's for classes.
_ONLY_AT = ("precision", "recall", "hit_rate")
_PLACES = (1, 3, 5, 10)


def is_ranking_scorer_name(name: str) -> bool:
    """Whether a name is one of ours, with or without a number of places."""
    return name.partition("@")[0] in _METRICS


def get_ranking_scorer(name: str) -> RankingScorer:
    """Ranking scorer by name, for ``scoring=`` in scikit-learn.

    After ``import echelon.metrics`` scikit-learn knows the names of `ranking_scorer_names` too.

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
    base, at, places = name.partition("@")
    whole = places.isdecimal() and int(places) > 0
    if (
        base not in _METRICS
        or (not at and base in _ONLY_AT)
        or (at and (not whole or base == "pairwise_accuracy"))
    ):
        raise ValueError(
            f"name must be one of {', '.join(ranking_scorer_names())}, or have another number "
            f"of places after @; found {name!r}."
        )
    return make_ranking_scorer(_METRICS[base], **({"k": int(places)} if at else {}))


def ranking_scorer_names() -> list[str]:
    """Names of ranking scorers that scikit-learn gets to know, sorted.

    Examples
    --------
    >>> [name for name in ranking_scorer_names() if "@" not in name][-2:]
    ['ndcg', 'pairwise_accuracy']
    """
    plain = [name for name in _METRICS if name not in _ONLY_AT]
    cut = [f"{name}@{k}" for name in ("ndcg", *_ONLY_AT) for k in _PLACES]
    return sorted(plain + cut)


def ranking_scorers() -> dict[str, RankingScorer]:
    """A scorer for each of `ranking_scorer_names`."""
    return {name: get_ranking_scorer(name) for name in ranking_scorer_names()}
