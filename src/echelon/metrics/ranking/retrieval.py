"""Metrics that add up what rows are worth by position: DCG, precision, recall, average precision.

A row's weight multiplies what the row is worth, in the order found and in the best one alike, and
never its position: a row of weight 3 is worth three rows and fills one place, a row of weight 0
fills a place and is worth nothing. So normalised metrics stay in [0, 1] and do not change when all
weights of a query are multiplied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.messages import require_choice
from ..._utils.types import KeysLike, LabelsLike, Vector, VectorLike, WeightsLike
from .gains import Discount, Gain, conventions, discounts_of, gains_of, within
from .queries import QueryRows, Ranking, by_query, fall_within, rank_rows
from .summary import QueryScores, query_metric, settled


@query_metric
def dcg(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    gain: Gain | None = None,
    discount: Discount | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
) -> QueryScores:
    """Discounted cumulative gain, Σ gain × discount over positions, averaged over queries.

    Parameters
    ----------
    y_true, y_score, qid, k, sample_weight, query_weight, preset, gain, discount, ties, doc_id
        As for `ndcg_score`.

    Returns
    -------
    dcg : float

    Notes
    -----
    The chapter's discount 1/log p is infinite at the first position; the usual 1/log2(1 + p) is the
    default.

    Examples
    --------
    >>> dcg([2, 0, 1], [0.9, 0.5, 0.1])
    2.5
    """
    rule = conventions(preset, gain=gain, discount=discount, ties=ties)
    view = by_query(y_true, y_score, qid, sample_weight, query_weight)
    worth = _worth(view, gains_of(view.relevance, rule.gain))
    factors = discounts_of(int(view.sizes.max()), k, rule.discount)
    ranking = rank_rows(view, rule.ties, worth, doc_id)
    return QueryScores(view.ids, _collected(view, ranking, worth, factors), view.query_weights)


@query_metric
def ndcg_score(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    gain: Gain | None = None,
    discount: Discount | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str | None = None,
) -> QueryScores:
    """Normalised discounted cumulative gain: DCG over that of the best order, mean over queries.

    Parameters
    ----------
    y_true : array-like or data-frame column of shape (n,)
        Labels, higher is better: numbers, real ones too, or labels of a type that states its order,
        which count as 0 … K−1.
    y_score : array-like of shape (n,)
        Scores, higher is ranked higher; infinities are allowed.
    qid : sequence of shape (n,), optional
        Query of each row: any hashable ids in any order. All rows are one query by default.
    k : int, optional
        Positions that count; all by default, and by a `k` beyond the query's size.
    sample_weight : array-like of shape (n,), optional
        Factors of the rows' gains; the best order is that of falling weight × gain.
    query_weight : mapping or array-like, optional
        Weight of each query in the mean, by id, in the order of first rows, or once per row.
    preset : {"sklearn", "trec", "lightgbm", "xgboost", "letor"}, optional
        Conventions of another program for what follows; arguments that are given override it.
    gain : {"linear", "exponential"}, callable, mapping or sequence, default="linear"
        What a label l is worth: l; 2^l − 1; a function of an array of labels; a gain by label; or
        the gains of labels 0, 1, 2 and so on.
    discount : {"log2", "letor", "reciprocal"} or callable, default="log2"
        Factor at position p: 1/log2(1 + p); 1 at positions 1 and 2, then 1/log2(p); 1/p; or a
        function of an array of positions from 1 that does not rise.
    ties : {"average", "input", "best", "worst", "doc_id"}, default="average"
        Rows of equal score: the mean over all their orders; the order in which they were passed;
        the most or the least worth first; or by falling `doc_id`.
    doc_id : sequence of shape (n,), optional
        Numbers or texts, for ``ties="doc_id"``.
    empty : float or "skip", default=0.0
        Value of a query in which no row is worth anything, or leave it out. NaN makes the mean NaN.

    Returns
    -------
    ndcg : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Notes
    -----
    O(n log n). Without ties in score all `ties` agree.

    Examples
    --------
    >>> y, scores, qid = [2, 0, 1, 0, 1], [0.9, 0.5, 0.1, 0.7, 0.7], ["a", "a", "a", "b", "b"]
    >>> round(ndcg_score(y, scores, qid=qid), 3)
    0.883
    >>> round(ndcg_score([1, 0, 3], [3, 2, 1], preset="lightgbm", k=2), 3)
    0.131
    """
    rule = conventions(preset, gain=gain, discount=discount, ties=ties, empty=empty)
    view = by_query(y_true, y_score, qid, sample_weight, query_weight)
    worth = _worth(view, gains_of(view.relevance, rule.gain))
    factors = discounts_of(int(view.sizes.max()), k, rule.discount)
    ranking = rank_rows(view, rule.ties, worth, doc_id)
    found = _collected(view, ranking, worth, factors)
    return settled(view, found, _best(view, ranking, worth, factors), rule.empty)


@query_metric
def precision_at(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    threshold: float | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str = 0.0,
    divide_by: str = "k",
) -> QueryScores:
    """Share of relevant rows among the first k, mean over queries.

    Parameters
    ----------
    y_true, y_score, qid, k, query_weight, ties, doc_id
        As for `ndcg_score`.
    sample_weight : array-like of shape (n,), optional
        The weight of the relevant rows found is divided by the greatest that as many rows of the
        query can have.
    preset : {"sklearn", "trec", "lightgbm", "xgboost", "letor"}, optional
        Fills `threshold` and `ties`.
    threshold : float, default=0.0
        Rows with a label above it are relevant.
    empty : float or "skip", default=0.0
        Value of a query without relevant rows, or leave it out.
    divide_by : {"k", "rows"}, default="k"
        Whether a query of fewer than k rows counts the missing ones as not relevant, as other
        programs do, or is judged by the rows it has.

    Returns
    -------
    precision : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Examples
    --------
    >>> precision_at([1, 0, 2, 0], [4, 3, 2, 1], k=2)
    0.5
    """
    rule = conventions(preset, threshold=threshold, ties=ties)
    require_choice("divide_by", divide_by, ("k", "rows"))
    view = by_query(y_true, y_score, qid, sample_weight, query_weight)
    worth = _worth(view, view.relevance > rule.threshold)
    factors = within(int(view.sizes.max()), k)
    ranking = rank_rows(view, rule.ties, worth, doc_id)
    whole = _best(view, ranking, view.weights, factors)
    if k is not None and divide_by == "k":
        whole = whole * np.maximum(k / view.sizes, 1.0)
    whole = np.where(view.sums(worth) > 0, whole, 0.0)
    return settled(view, _collected(view, ranking, worth, factors), whole, empty)


@query_metric
def recall_at(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    threshold: float | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str | None = None,
    divide_by: str = "relevant",
) -> QueryScores:
    """Share of the relevant rows that are among the first k, mean over queries.

    Parameters
    ----------
    y_true, y_score, qid, k, query_weight, ties, doc_id
        As for `ndcg_score`.
    sample_weight : array-like of shape (n,), optional
        The share is one of weight.
    preset : {"sklearn", "trec", "lightgbm", "xgboost", "letor"}, optional
        Fills `threshold`, `ties` and `empty`.
    threshold : float, default=0.0
        Rows with a label above it are relevant.
    empty : float or "skip", default=0.0
        Value of a query without relevant rows, or leave it out.
    divide_by : {"relevant", "reachable"}, default="relevant"
        Divide by all relevant rows, or by those that k positions can hold.

    Returns
    -------
    recall : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Examples
    --------
    >>> recall_at([1, 0, 2, 0], [4, 3, 2, 1], k=1), recall_at([1, 0, 2, 0], [4, 3, 2, 1], k=3)
    (0.5, 1.0)
    """
    rule = conventions(preset, threshold=threshold, ties=ties, empty=empty, divide_by=divide_by)
    view = by_query(y_true, y_score, qid, sample_weight, query_weight)
    worth = _worth(view, view.relevance > rule.threshold)
    factors = within(int(view.sizes.max()), k)
    ranking = rank_rows(view, rule.ties, worth, doc_id)
    whole = _relevant_worth(view, ranking, worth, factors, rule.divide_by)
    return settled(view, _collected(view, ranking, worth, factors), whole, rule.empty)


@query_metric
def average_precision(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    threshold: float | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str | None = None,
    divide_by: str | None = None,
) -> QueryScores:
    """Precision at the positions of the relevant rows, averaged; the mean over queries is MAP.

    Parameters
    ----------
    y_true, y_score, qid, k, query_weight, doc_id
        As for `ndcg_score`.
    sample_weight : array-like of shape (n,), optional
        Weights of the relevant rows in the average; precision itself counts rows.
    preset : {"sklearn", "trec", "lightgbm", "xgboost", "letor"}, optional
        Fills `threshold`, `ties`, `empty` and `divide_by`.
    threshold : float, default=0.0
        Rows with a label above it are relevant.
    ties : {"average", "together", "input", "best", "worst", "doc_id"}, default="average"
        As for `ndcg_score`; "together" gives rows of equal score the precision behind the last of
        them, as scikit-learn does.
    empty : float or "skip", default=0.0
        Value of a query without relevant rows, or leave it out.
    divide_by : {"relevant", "reachable"}, default="relevant"
        Divide by all relevant rows, or by those that k positions can hold.

    Returns
    -------
    precision : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Notes
    -----
    This is the standard definition, an average over the relevant positions. [MRT18] averages the
    precision over all n positions, which no other program does.

    Examples
    --------
    >>> round(average_precision([1, 0, 1, 0], [4, 3, 2, 1]), 4)
    0.8333
    """
    rule = conventions(preset, threshold=threshold, ties=ties, empty=empty, divide_by=divide_by)
    view = by_query(y_true, y_score, qid, sample_weight, query_weight)
    relevant = view.relevance > rule.threshold
    worth = _worth(view, relevant)
    factors = within(int(view.sizes.max()), k)
    together = rule.average_precision_ties == "together"
    ties = "average" if together else rule.average_precision_ties
    ranking = rank_rows(view, ties, worth, doc_id)
    precision = _precision(view, ranking, relevant[ranking.order], together)
    found = view.sums(worth[ranking.order] * ranking.shared(factors[ranking.positions] * precision))
    whole = _relevant_worth(view, ranking, worth, factors, rule.divide_by)
    return settled(view, found, whole, rule.empty)


#: The mean over queries under the name it is known by.
mean_average_precision = average_precision


def _worth(view: QueryRows, gains: npt.NDArray[Any]) -> Vector:
    worth = view.weights * gains
    with np.errstate(over="ignore"):
        total = worth.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"gains must have a finite sum; found gains up to {gains.max():g}, which overflow."
        )
    return worth


def _collected(view: QueryRows, ranking: Ranking, worth: Vector, factors: Vector) -> Vector:
    """Σ worth × factor of each query in the order found."""
    return view.sums(worth[ranking.order] * ranking.shared(factors[ranking.positions]))


def _best(view: QueryRows, ranking: Ranking, worth: Vector, factors: Vector) -> Vector:
    """Σ worth × factor of each query in the best order."""
    return view.sums(fall_within(worth, view.blocks) * factors[ranking.positions])


def _relevant_worth(
    view: QueryRows, ranking: Ranking, worth: Vector, factors: Vector, divide_by: str
) -> Vector:
    require_choice("divide_by", divide_by, ("relevant", "reachable"))
    if divide_by == "relevant":
        return view.sums(worth)
    return _best(view, ranking, worth, factors)


def _precision(
    view: QueryRows, ranking: Ranking, relevant: npt.NDArray[np.bool_], together: bool
) -> Vector:
    """Expected precision at each place if a relevant row stands there."""
    place = ranking.positions + 1.0
    seen: Vector = np.cumsum(relevant, dtype=np.float64)
    seen = seen - np.repeat((seen - relevant)[view.starts[:-1]], view.sizes)
    if ranking.groups is None:
        return seen / place
    first, last = ranking.groups[:-1], ranking.groups[1:] - 1
    t = np.diff(ranking.groups)
    before, through = (seen - relevant)[first], seen[last]
    if together:
        return np.repeat(through / place[last], t)
    # A relevant row at the j-th of t tied places has j − 1 of the t − 1 others before it, of which
    # r − 1 are relevant.
    r = np.repeat(through - before, t)
    ahead = place - np.repeat(place[first], t)
    others = ahead * (r - 1) / np.maximum(np.repeat(t, t) - 1, 1)
    return (np.repeat(before, t) + 1.0 + others) / place
