"""Metrics of how soon a reader is satisfied: reciprocal rank, hit rate, expected reciprocal rank.

They look at where a reader stops and add nothing up over rows, so rows have no weights here;
queries do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..._utils.messages import require_choice
from ..._utils.types import Codes, KeysLike, LabelsLike, Vector, VectorLike, WeightsLike
from .gains import Conventions, Gain, conventions, discounts_of, gains_of
from .queries import QueryRows, Ranking, by_query, padded_queries, rank_rows
from .summary import QueryScores, query_metric, settled

#: Readers still unsatisfied that no longer count.
_NEGLIGIBLE = 1e-18
#: 2 to this power exceeds all numbers.
_MOST_GRADE = 1024


@query_metric
def reciprocal_rank(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    threshold: float | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str = 0.0,
) -> QueryScores:
    """One over the position of the first relevant row; the mean over queries is MRR.

    Parameters
    ----------
    y_true, y_score, qid, query_weight, ties, doc_id
        As for `ndcg_score`.
    k : int, optional
        A first relevant row behind position k counts as none; all positions by default.
    preset : {"sklearn", "trec", "lightgbm", "xgboost", "letor"}, optional
        Fills `threshold` and `ties`.
    threshold : float, default=0.0
        Rows with a label above it are relevant.
    empty : float or "skip", default=0.0
        Value of a query without relevant rows, or leave it out.

    Returns
    -------
    rank : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Examples
    --------
    >>> reciprocal_rank([0, 1, 1, 0], [4, 3, 2, 1])
    0.5
    """
    view = by_query(y_true, y_score, qid, None, query_weight)
    rule = conventions(preset, threshold=threshold, ties=ties)
    return _first_relevant(view, rule, "reciprocal", k, doc_id, empty)


#: The mean over queries under the name it is known by.
mean_reciprocal_rank = reciprocal_rank


@query_metric
def hit_rate(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    threshold: float | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str = 0.0,
) -> QueryScores:
    """Share of the queries with a relevant row among the first k.

    Parameters
    ----------
    y_true, y_score, qid, k, query_weight, preset, threshold, ties, doc_id, empty
        As for `reciprocal_rank`. With ``ties="average"`` a query counts the probability of a hit.

    Returns
    -------
    rate : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Examples
    --------
    >>> hit_rate([1, 0, 0, 1], [2, 1, 2, 1], qid=["a", "a", "b", "b"], k=1)
    0.5
    """
    view = by_query(y_true, y_score, qid, None, query_weight)
    rule = conventions(preset, threshold=threshold, ties=ties)
    return _first_relevant(view, rule, np.ones_like, k, doc_id, empty)


@query_metric
def expected_reciprocal_rank(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    k: int | None = None,
    query_weight: WeightsLike | None = None,
    preset: str | None = None,
    gain: Gain = "exponential",
    max_grade: float | None = None,
    ties: str | None = None,
    doc_id: KeysLike | None = None,
    empty: float | str = 0.0,
) -> QueryScores:
    """Expected reciprocal rank (ERR) of the row at which a reader stops, mean over queries.

    Parameters
    ----------
    y_true, y_score, qid, query_weight, ties, doc_id
        As for `ndcg_score`.
    k : int, optional
        Positions that count; all by default.
    preset : {"sklearn", "trec", "lightgbm", "xgboost", "letor"}, optional
        Fills `ties`.
    gain : "exponential", callable, mapping or sequence, default="exponential"
        Probability that a row of label l satisfies: (2^l − 1) / 2^max_grade; or as a function of
        labels or a table, with values from 0 to 1.
    max_grade : float, optional
        Highest label of the scale; the highest of `y_true` by default. State it where values on
        different rows are compared.
    empty : float or "skip", default=0.0
        Value of a query without a row that can satisfy, or leave it out.

    Returns
    -------
    err : float
        From 0 to 1; NaN, without a warning, if no query is left.

    Notes
    -----
    Σ_p (1/p)·R_p·Π_{q<p} (1 − R_q), R_p the probability of the row at position p. The mean over
    the orders of t rows of equal score comes from symmetric means of their 1 − R, in O(t²) at most
    and much less where rows satisfy or `k` is small.

    Examples
    --------
    >>> round(expected_reciprocal_rank([2, 0, 1], [0.9, 0.5, 0.1], max_grade=2), 4)
    0.7708
    """
    rule = conventions(preset, ties=ties)
    view = by_query(y_true, y_score, qid, None, query_weight)
    factors = discounts_of(int(view.sizes.max()), k, "reciprocal")
    probability = _stop_probabilities(view.relevance, gain, max_grade)
    ranking = rank_rows(view, rule.ties, probability, doc_id)
    placed = probability[ranking.order]
    reached = _reached(1.0 - placed, view.starts)
    if ranking.groups is not None:
        sizes = np.diff(ranking.groups)
        reached = np.repeat(reached[ranking.groups[:-1]], sizes)
        _average_orders(placed, ranking.groups, k)
    found = view.sums(reached * placed * factors[ranking.positions])
    return settled(view, found, (view.sums(probability) > 0).astype(float), empty)


def _first_relevant(
    view: QueryRows, rule: Conventions, discount: Any, k: int | None, doc_id: Any, empty: Any
) -> QueryScores:
    """Factor of the position of the first relevant row of each query."""
    relevant = view.relevance > rule.threshold
    ranking = rank_rows(view, rule.ties, relevant.astype(float), doc_id)
    factors = discounts_of(int(view.sizes.max()), k, discount)
    hits = np.flatnonzero(relevant[ranking.order])
    queries = np.searchsorted(view.starts, hits, side="right") - 1
    present, first = np.unique(queries, return_index=True)
    found, whole = np.zeros((2, len(view.ids)))
    found[present] = _factor_of_first(hits, first, relevant, ranking, factors)
    whole[present] = 1.0
    return settled(view, found, whole, empty)


def _factor_of_first(
    hits: Codes, first: Codes, relevant: Any, ranking: Ranking, factors: Vector
) -> Vector:
    """Factor at the first hit, or its mean over the orders of the rows it is tied with."""
    if ranking.groups is None:
        return factors[ranking.positions[hits[first]]]
    group = np.searchsorted(ranking.groups, hits[first], side="right") - 1
    start, end = ranking.groups[group], ranking.groups[group + 1]
    r = np.add.reduceat(relevant[ranking.order].astype(np.intp), ranking.groups[:-1])[group]
    t, before = end - start, ranking.positions[start]
    # The first of r relevant rows among t is at place j with probability C(t − j, r − 1) / C(t, r).
    reach = t - r + 1
    starts = np.concatenate([[0], np.cumsum(reach)])
    j = np.arange(starts[-1]) - np.repeat(starts[:-1], reach) + 1
    t_j, r_j = np.repeat(t, reach), np.repeat(r, reach)
    log = gammaln(t_j - j + 1.0) - gammaln(t_j - j - r_j + 2.0)
    log -= np.repeat(np.maximum.reduceat(log, starts[:-1]), reach)
    probability = np.exp(log)
    terms = probability * factors[np.repeat(before, reach) + j - 1]
    return np.add.reduceat(terms, starts[:-1]) / np.add.reduceat(probability, starts[:-1])


def _stop_probabilities(relevance: Vector, gain: Gain, max_grade: float | None) -> Vector:
    """Probability of each row to satisfy."""
    if isinstance(gain, str):
        others = ("a function of labels", "a table of probabilities")
        require_choice("gain", gain, ("exponential",), *others)
        highest = float(relevance.max()) if max_grade is None else float(max_grade)
        if not relevance.max() <= highest < _MOST_GRADE:
            raise ValueError(
                f"max_grade must be no less than the highest label, {relevance.max():g}, and below "
                f"{_MOST_GRADE}; found {highest:g}."
            )
        return gains_of(relevance, gain) / np.exp2(highest)
    if max_grade is not None:
        raise ValueError("max_grade must go with gain='exponential'; found another gain.")
    probability = gains_of(relevance, gain)
    if probability.max() > 1.0:
        raise ValueError(f"gain must give probabilities up to 1; found {probability.max():g}.")
    return probability


def _reached(passes: Vector, starts: Codes) -> Vector:
    """Product of the factors of all earlier places of the query."""
    result = np.ones(len(passes))
    for places, present in padded_queries(starts):
        product = np.ones(places.shape)
        np.cumprod(passes[places[:, :-1]], axis=1, out=product[:, 1:])
        if present is None:
            result[places] = product
        else:
            result[places[present]] = product[present]
    return result


def _average_orders(placed: Vector, runs: Codes, k: int | None) -> None:
    """Replace, at tied places, the probability to stop by its mean over the orders of the rows."""
    sizes = np.diff(runs)
    means = 1.0 - np.add.reduceat(placed, runs[:-1]) / sizes
    open_order = np.flatnonzero((sizes > 1) & (means < 1.0))
    exponents = np.frexp(sizes[open_order])[1]
    # Groups of like size are the lines of a matrix.
    for exponent in np.unique(exponents):
        groups = open_order[exponents == exponent]
        start, t = runs[groups], sizes[groups]
        column = np.arange(t.max())
        present = column < t[:, None]
        places = np.where(present, start[:, None] + column, 0)
        depth = _depth(float(means[groups].max()), int(t.max()), k)
        stops = -np.diff(_symmetric_means(1.0 - placed[places], t, depth), axis=1)
        filled = np.zeros(places.shape)
        filled[:, :depth] = stops
        placed[places[present]] = filled[present]


def _depth(mean: float, most: int, k: int | None) -> int:
    """Tied places at which readers still arrive: symmetric means fall at least like powers."""
    if mean <= 0.0:
        return 1
    return min(most, k or most, math.ceil(math.log(_NEGLIGIBLE) / math.log(mean)))


def _symmetric_means(q: Vector, sizes: Codes, depth: int) -> Vector:
    """Mean product of 0, 1, … depth different entries of the first `sizes` of each line.

    With j entries, those products of p that hold the j-th are a share p/j of all, so
    S_p ← (1 − p/j)·S_p + (p/j)·q_j·S_{p−1}: nothing cancels.
    """
    means = np.zeros((len(q), depth + 1))
    means[:, 0] = 1.0
    p = np.arange(1, depth + 1)
    for j in range(1, q.shape[1] + 1):
        top = min(j, depth)
        share = p[:top] / j
        fresh = (1.0 - share) * means[:, 1 : top + 1] + share * q[:, j - 1, None] * means[:, :top]
        means[:, 1 : top + 1] = np.where((sizes >= j)[:, None], fresh, means[:, 1 : top + 1])
    return means
