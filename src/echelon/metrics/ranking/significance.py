"""A metric query by query, and two rankers side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..._utils.messages import require_choice
from ..._utils.types import KeysLike, LabelsLike, RandomStateLike, Vector, VectorLike
from ..significance import two_sided_p
from .queries import by_query
from .retrieval import ndcg_score
from .summary import QueryScores, blocks, some_queries

#: Differences up to this are rounding.
_LEVEL = 1e-12


@dataclass(frozen=True)
class RankerComparison:
    """Two rankers on the same queries, the first minus the second.

    Parameters
    ----------
    difference : float
        Of the weighted means.
    interval : tuple of float
        Confidence interval of the difference.
    p_value : float
        Two-sided.
    wins, ties, losses : int
        Queries in which the first ranker's value is greater, equal within 1e-12, smaller.
    mean_a, mean_b : float
    method : str
    """

    difference: float
    interval: tuple[float, float]
    p_value: float
    wins: int
    ties: int
    losses: int
    mean_a: float
    mean_b: float
    method: str


def per_query(
    metric: Callable[..., float],
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    query_weight: VectorLike | None = None,
    **options: Any,
) -> QueryScores:
    """A metric query by query.

    Parameters
    ----------
    metric : callable
        One of this package, such as `ndcg_score`, which is computed for all queries at once; or
        any function ``metric(y_true, y_score, **options)`` of numbers, called once per query.
    y_true, y_score : array-like of shape (n,)
    qid : sequence of shape (n,), optional
    query_weight : mapping or array-like, optional
        Weight of each query, by id, in the order of first rows, or once per row.
    **options
        Passed on to the metric. ``sample_weight`` is cut to the rows of the query.

    Returns
    -------
    scores : QueryScores

    Examples
    --------
    >>> from echelon.metrics.ranking import ndcg_score
    >>> scores = per_query(ndcg_score, [1, 0, 1, 0], [2, 1, 1, 2], qid=["x", "x", "y", "y"])
    >>> scores.ids, scores.values.round(3)
    (('x', 'y'), array([1.   , 0.631]))
    """
    whole = getattr(metric, "by_query", None)
    if whole is not None:
        return whole(y_true, y_score, qid=qid, query_weight=query_weight, **options)
    weights = options.pop("sample_weight", None)
    view = by_query(y_true, y_score, qid, weights, query_weight)
    values = np.empty(len(view.ids))
    for q, (first, last) in enumerate(zip(view.starts[:-1], view.starts[1:], strict=True)):
        part = slice(first, last)
        extra = {} if weights is None else {"sample_weight": view.weights[part]}
        values[q] = metric(view.relevance[part], view.scores[part], **extra, **options)
    return QueryScores(view.ids, values, view.query_weights)


def compare_rankers(
    y_true: LabelsLike,
    scores_a: VectorLike,
    scores_b: VectorLike,
    *,
    metric: Callable[..., float] = ndcg_score,
    qid: KeysLike | None = None,
    query_weight: VectorLike | None = None,
    method: str = "t",
    level: float = 0.95,
    n_resamples: int = 9999,
    random_state: RandomStateLike = 0,
    **options: Any,
) -> RankerComparison:
    """Test whether two rankers differ, query by query.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    scores_a, scores_b : array-like of shape (n,)
        Scores of the two rankers for the same rows.
    metric : callable, default=ndcg_score
        As for `per_query`.
    qid : sequence of shape (n,), optional
    query_weight : mapping or array-like, optional
    method : {"t", "wilcoxon", "permutation"}, default="t"
        Student's paired t-test; Wilcoxon's signed-rank test, which knows no query weights and drops
        queries without a difference; or flips of the differences' signs, all of them if there are
        no more than `n_resamples`.
    level : float, default=0.95
        Of the interval, by Student's t with ``method="t"`` and by the bootstrap otherwise.
    n_resamples : int, default=9999
    random_state : int or Generator, default=0
    **options
        Passed on to the metric.

    Returns
    -------
    result : RankerComparison
        Of the queries in which the metric is defined for both.

    Examples
    --------
    >>> from echelon.metrics.ranking import ndcg_score
    >>> y, qid = [1, 0] * 6, [q for q in range(6) for _ in "ab"]
    >>> result = compare_rankers(y, [1, 0] * 6, [0, 1] * 6, metric=ndcg_score, qid=qid,
    ...                          method="permutation")
    >>> result.wins, result.losses, round(result.difference, 3), result.p_value
    (6, 0, 0.369, 0.03125)
    """
    first, second = (
        per_query(metric, y_true, scores, qid=qid, query_weight=query_weight, **options)
        for scores in (scores_a, scores_b)
    )
    how: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    return compare_query_scores(first, second, method=method, level=level, **how)


def compare_query_scores(
    first: QueryScores,
    second: QueryScores,
    *,
    method: str = "t",
    level: float = 0.95,
    n_resamples: int = 9999,
    random_state: RandomStateLike = 0,
) -> RankerComparison:
    """Test whether two rankers differ, from values by query that are at hand.

    Parameters
    ----------
    first, second : QueryScores
        Of the same metric, by `per_query` or from `cross_validate_ranker`. Queries are paired by
        their ids; weights are those of the first.
    method, level, n_resamples, random_state
        As for `compare_rankers`.

    Returns
    -------
    result : RankerComparison

    Examples
    --------
    >>> ids, weights = ("x", "y", "z"), np.ones(3)
    >>> first = QueryScores(ids, np.array([0.9, 0.8, 1.0]), weights)
    >>> second = QueryScores(ids, np.array([0.7, 0.5, 0.9]), weights)
    >>> round(compare_query_scores(first, second).p_value, 3)
    0.074
    """
    require_choice("method", method, ("t", "wilcoxon", "permutation"))
    a, b = _paired(first, second)
    d = a.values - b.values
    d = np.where(np.abs(d) <= _LEVEL, 0.0, d)
    change = QueryScores(a.ids, d, a.weights)
    how: Any = {"n_resamples": n_resamples, "random_state": np.random.default_rng(random_state)}
    by = "t" if method == "t" else "bootstrap"
    return RankerComparison(
        difference=change.mean(),
        interval=change.confidence_interval(level, method=by, **how),
        p_value=_p_value(change, method, **how),
        wins=int((d > 0).sum()),
        ties=int((d == 0).sum()),
        losses=int((d < 0).sum()),
        mean_a=a.mean(),
        mean_b=b.mean(),
        method=method,
    )


def _paired(a: QueryScores, b: QueryScores) -> tuple[QueryScores, QueryScores]:
    """Both, with the weights of the first, for queries that count and have a value in both."""
    place = {query: q for q, query in enumerate(b.ids)}
    first = [q for q, query in enumerate(a.ids) if query in place]
    ids, weights = tuple(a.ids[q] for q in first), a.weights[first]
    values, others = a.values[first], b.values[[place[query] for query in ids]]
    kept = ~np.isnan(values) & ~np.isnan(others) & (weights > 0)
    both = (QueryScores(ids, values, weights), QueryScores(ids, others, weights))
    return some_queries(both[0], kept), some_queries(both[1], kept)


def _p_value(
    change: QueryScores, method: str, n_resamples: int, random_state: np.random.Generator
) -> float:
    d, w = change.values, change.weights
    if method == "wilcoxon" and len(w) and (w != w[0]).any():
        raise ValueError(
            "query_weight must be equal for method='wilcoxon'; found different weights."
        )
    if len(d) < 2:
        return math.nan
    if method == "t":
        return two_sided_p(change.mean(), change.standard_error(), len(d) - 1)
    if not d.any():
        return 1.0
    if method == "wilcoxon":
        return float(stats.wilcoxon(d[d != 0]).pvalue)
    return _sign_flips(d * w, n_resamples, random_state)


def _sign_flips(terms: Vector, n_resamples: int, rng: np.random.Generator) -> float:
    """How often random signs give a sum as far from zero as the one found."""
    terms = terms[terms != 0]
    n = len(terms)
    found = abs(float(terms.sum())) * (1.0 - 1e-12)
    if n < 63 and 1 << n <= n_resamples:
        every = 1 - 2 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(every @ terms) >= found))
    as_far = 0
    for count in blocks(n_resamples, n):
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(count, n), dtype=np.int8)
        as_far += int((np.abs(signs @ terms) >= found).sum())
    return (1 + as_far) / (1 + n_resamples)
