"""Areas under ROC curves as shares of pairs: two labels, several labels, many queries.

How sure an AUC is: DeLong's variance, tests between two rankers, and a bound for any sample.
DeLong's estimate takes the AUC as a mean over positives and over negatives: with v_i the share of
the negatives below positive i and u_j the share of the positives above negative j (ties as half),
Var(AUC) ≈ var(v)/m + var(u)/n. Both come from mid-ranks in O(n log n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.integrate import trapezoid
from scipy.special import expit

from ..._utils.messages import require_choice
from ..._utils.types import KeysLike, LabelsLike, Vector, VectorLike, WeightsLike
from ...ordinal.arrays import require_count
from .._labels import require_fraction
from ..significance import two_sided_p
from .misranking import PairShares, QueryPairs, pair_metric, pair_rows, query_pairs, tie_error
from .queries import QueryRows, by_query


@pair_metric
def auc_score(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    ties: str = "half",
    average: str = "pairs",
    empty: str | float = "skip",
) -> PairShares:
    """Area under the ROC curve: share of the pairs of a positive and a negative in right order.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, the higher one is the positive.
    y_score : array-like of shape (n,)
        Scores, higher is ranked higher; infinities are allowed.
    qid : sequence of shape (n,), optional
        Query of each row; pairs are those within a query.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of the weights of its rows.
    query_weight : mapping or array-like, optional
        Weight of each query, by id, in the order of first rows, or once per row.
    ties : {"half", "error", "correct"}, default="half"
        What a pair with equal scores is: half right, as is usual; wrong, as in (10.2) of [MRT18];
        or right, as in the AUC of section 10.5.2 there.
    average : {"pairs", "queries"}, default="pairs"
        Whether every pair counts alike, or every query.
    empty : "skip" or float, default="skip"
        With ``average="queries"``: whether a query with one label only is left out, or its value.

    Returns
    -------
    auc : float
        From 0 to 1; NaN, without a warning, if nothing is left to average.

    Examples
    --------
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8], ties="correct")
    1.0
    """
    view = pair_rows(y_true, y_score, qid, sample_weight, query_weight)
    refuse_third_label(view.relevance)
    pairs = query_pairs(view)
    return PairShares(view, pairs.hits(ties), pairs.total, average, empty)


def multipartite_auc(
    y_true: LabelsLike,
    y_score: npt.ArrayLike,
    *,
    qid: KeysLike | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: VectorLike | None = None,
    levels: str = "level_pairs",
    ties: str = "half",
    average: str = "pairs",
    empty: str | float = "skip",
) -> float:
    """AUC for more than two ordered labels, from one score.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, higher is better; few distinct ones.
    y_score, qid, sample_weight, query_weight, ties, average, empty
        As in `auc_score`.
    levels : {"level_pairs", "pairs", "thresholds"}, default="level_pairs"
        What is averaged. "level_pairs": the AUCs of every two labels, each alike, which is the
        measure of Hand and Till (2001) for one score. "pairs": the same AUCs by their numbers of
        pairs, which is 1 − `misranking_loss`. "thresholds": the AUCs of the K−1 questions whether
        a label lies above the k-th of those in y_true.

    Returns
    -------
    auc : float
        From 0 to 1; with two labels all three are `auc_score`. NaN, without a warning, if nothing
        is left to average.

    Notes
    -----
    O(K·n log n) for K labels, and O(n log n) for "pairs".

    Examples
    --------
    >>> multipartite_auc([0, 0, 0, 1, 2], [1, 2, 3, 0, 4])
    0.6666666666666666
    >>> multipartite_auc([0, 0, 0, 1, 2], [1, 2, 3, 0, 4], levels="pairs")
    0.5714285714285714
    """
    require_choice("levels", levels, ("pairs", "level_pairs", "thresholds"))
    tie_error(ties)
    view = pair_rows(y_true, y_score, qid, sample_weight, query_weight)
    parts = _bipartite_parts(view, levels)
    hits = np.array([pairs.hits(ties) for pairs in parts]).reshape(-1, len(view.ids))
    total = np.array([pairs.total for pairs in parts]).reshape(-1, len(view.ids))
    if average == "pairs":
        hits, total = hits @ view.query_weights, total @ view.query_weights
        has = total > 0
        return float(np.mean(hits[has] / total[has])) if has.any() else math.nan
    has = total > 0
    shares = np.where(has, hits / np.where(has, total, 1.0), 0.0)
    return PairShares(view, shares.sum(axis=0), has.sum(axis=0), average, empty).mean()


class RocCurve(NamedTuple):
    """Points of a ROC curve, from (0, 0) to (1, 1).

    Parameters
    ----------
    false_positive_rate, true_positive_rate : ndarray
        Share of the negatives, and of the positives, with a score of at least the threshold.
    thresholds : ndarray
        Falling; the first is infinite.
    """

    false_positive_rate: Vector
    true_positive_rate: Vector
    thresholds: Vector

    @property
    def area(self) -> float:
        """Area under the curve, which is the AUC with ties as half."""
        return float(trapezoid(self.true_positive_rate, self.false_positive_rate))


def roc_curve(
    y_true: LabelsLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: VectorLike | None = None,
    drop_intermediate: bool = True,
) -> RocCurve:
    """Rates of true and false positives as the threshold on the score falls.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, the higher one is the positive.
    y_score : array-like of shape (n,)
        Scores, higher is ranked higher.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    drop_intermediate : bool, default=True
        Whether to leave out points halfway between their neighbours, as scikit-learn does.

    Returns
    -------
    curve : RocCurve
        Unpacks into three arrays, as scikit-learn's function gives them.

    Examples
    --------
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.true_positive_rate, curve.area
    (array([0. , 0.5, 0.5, 1. , 1. ]), 0.75)
    """
    view = by_query(y_true, y_score, None, sample_weight)
    kept = view.weights > 0
    positive = positives(view.relevance[kept])
    order = np.argsort(-view.scores[kept], kind="stable")
    scores, weights = view.scores[kept][order], view.weights[kept][order]
    ends = np.r_[np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1]
    true = np.cumsum(weights * positive[order])[ends]
    false = np.cumsum(weights * ~positive[order])[ends]
    if drop_intermediate and len(ends) > 2:
        bent = (np.diff(true, 2) != 0) | (np.diff(false, 2) != 0)
        kept = np.r_[True, bent, True]
        true, false, ends = true[kept], false[kept], ends[kept]
    return RocCurve(
        np.r_[0.0, false / false[-1]], np.r_[0.0, true / true[-1]], np.r_[np.inf, scores[ends]]
    )


def positives(labels: Vector) -> npt.NDArray[np.bool_]:
    """Which rows have the higher of two labels."""
    refuse_third_label(labels)
    high = labels.max()
    if labels.min() == high:
        raise ValueError("y_true must hold two labels; found one.")
    return labels == high


def refuse_third_label(labels: Vector) -> None:
    """Raise an error if there are more than two labels."""
    low, high = labels.min(), labels.max()
    if ((labels != low) & (labels != high)).any():
        raise ValueError(
            f"y_true must hold two labels; found {len(np.unique(labels))}, which multipartite_auc "
            "takes."
        )


def _bipartite_parts(view: QueryRows, levels: str) -> list[QueryPairs]:
    """Pairs of the problems with two labels whose AUCs are averaged."""
    y = view.relevance
    if levels == "pairs":
        return [query_pairs(view)]
    distinct = np.unique(y)
    if levels == "thresholds":
        return [query_pairs(view, (y > low).astype(np.float64)) for low in distinct[:-1]]
    members = [np.flatnonzero(y == level) for level in distinct]
    return [query_pairs(view, rows=np.concatenate(two)) for two in combinations(members, 2)]


@dataclass(frozen=True)
class AUCInterval:
    """An AUC and an interval around it.

    Parameters
    ----------
    auc : float
    low, high : float
        Ends of the interval.
    standard_error : float
        DeLong's; NaN with fewer than two rows of a label.
    level : float
        Confidence level.
    method : str
        How the interval was made.
    """

    auc: float
    low: float
    high: float
    standard_error: float
    level: float
    method: str


@dataclass(frozen=True)
class AUCComparison:
    """Two AUCs on the same rows and DeLong's test of their difference.

    Parameters
    ----------
    first, second : float
        The AUCs.
    standard_error : float
        Of the difference, which takes the correlation of the two into account.
    low, high : float
        Confidence interval of the difference.
    p_value : float
        Two-sided. Where the AUCs differ and the standard error is zero, as for a perfect ranking
        beside its reverse, the error says nothing, and both are by Hoeffding's bound.
    """

    first: float
    second: float
    standard_error: float
    low: float
    high: float
    p_value: float

    @property
    def difference(self) -> float:
        """First less second."""
        return self.first - self.second


def auc_confidence_interval(
    y_true: LabelsLike, y_score: npt.ArrayLike, *, level: float = 0.95, method: str = "logit"
) -> AUCInterval:
    """Confidence interval of the AUC of a fixed ranker on independent rows of one query.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, the higher one is the positive.
    y_score : array-like of shape (n,)
        Scores, higher is ranked higher.
    level : float, default=0.95
        Confidence level, between 0 and 1.
    method : {"logit", "normal", "hoeffding"}, default="logit"
        "normal": AUC ± z·se with DeLong's standard error, cut at 0 and 1. "logit": the same for
        ln(AUC/(1 − AUC)), which stays inside (0, 1) and holds its level better near the ends.
        "hoeffding": AUC ± `auc_deviation`, which holds for any sample size and is wide.

    Returns
    -------
    interval : AUCInterval
        Where DeLong's variance is zero, as for a perfect ranking, it says nothing about the error,
        so the interval is Hoeffding's and ``method`` says so.

    Examples
    --------
    >>> interval = auc_confidence_interval([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> round(interval.auc, 3), round(interval.low, 3), round(interval.high, 3)
    (0.889, 0.261, 0.995)
    """
    require_fraction("level", level)
    require_choice("method", method, ("logit", "normal", "hoeffding"))
    above, below = _placements(y_true, y_score)
    auc, error = float(above.mean()), _standard_error(above, below)
    if not error > 0.0:
        method = "hoeffding"
    reach = _quantile(level) * error
    if method == "hoeffding":
        reach = auc_deviation(len(above), len(below), 1.0 - level)
    ends = auc - reach, auc + reach
    if method == "logit":
        centre, reach = math.log(auc / (1.0 - auc)), reach / (auc * (1.0 - auc))
        ends = float(expit(centre - reach)), float(expit(centre + reach))
    return AUCInterval(auc, max(ends[0], 0.0), min(ends[1], 1.0), error, level, method)


def compare_auc(
    y_true: LabelsLike, first: Any, second: Any, *, level: float = 0.95
) -> AUCComparison:
    """DeLong's test whether two rankers have the same AUC, from scores on the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, the higher one is the positive; two rows of each or more.
    first, second : array-like of shape (n,)
        Scores of the two rankers.
    level : float, default=0.95
        Confidence level of the interval of the difference.

    Returns
    -------
    comparison : AUCComparison

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> result = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [1, 6, 3, 7, 4, 2, 5, 8])
    >>> round(result.difference, 4), round(result.p_value, 3)
    (0.375, 0.1)
    """
    require_fraction("level", level)
    a, b = _placements(y_true, first), _placements(y_true, second)
    if min(len(a[0]), len(a[1])) < 2:
        raise ValueError("y_true must have two rows of each label or more; found one of a label.")
    error = _standard_error(a[0] - b[0], a[1] - b[1])
    aucs = float(a[0].mean()), float(b[0].mean())
    difference = aucs[0] - aucs[1]
    if error == 0.0 and difference != 0.0:
        # The terms lie between −1 and 1, twice as wide as those of a single AUC.
        sizes = len(a[0]), len(a[1])
        reach = 2.0 * auc_deviation(*sizes, 1.0 - level)
        p = auc_deviation_probability(*sizes, 0.5 * abs(difference))
    else:
        reach = _quantile(level) * error
        p = two_sided_p(difference, error, math.inf)
    low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
    return AUCComparison(*aucs, standard_error=error, low=low, high=high, p_value=p)


def auc_deviation(n_positive: int, n_negative: int, delta: float = 0.05) -> float:
    """Largest distance of an AUC from its expectation, up to probability δ; exercise 10.9.

    Parameters
    ----------
    n_positive, n_negative : int
        Rows of each label.
    delta : float, default=0.05
        Probability that the distance is greater.

    Returns
    -------
    epsilon : float

    Notes
    -----
    For a fixed scoring function, positives drawn independently from one distribution and negatives
    from another, P(|AUC − E AUC| ≥ ε) ≤ 2·exp(−2·min(m, n)·ε²). With m ≤ n the AUC is the mean,
    over all ways to give each positive a negative of its own, of means of m independent terms from
    0 to 1. The exponential is convex, so E exp(s(AUC − E AUC)) is at most that of one such mean,
    exp(s²/(8m)), and Hoeffding's bound follows as for m independent terms. It holds for every
    treatment of ties. Changing one row at a time (McDiarmid) gives mn/(m+n) in place of min(m, n),
    which is always smaller and so weaker.

    Examples
    --------
    >>> round(auc_deviation(1000, 5000), 4)
    0.0429
    """
    require_fraction("delta", delta)
    return math.sqrt(math.log(2.0 / delta) / (2.0 * _independent(n_positive, n_negative)))


def auc_deviation_probability(n_positive: int, n_negative: int, epsilon: float) -> float:
    """Bound on the probability that an AUC is ε or more away from its expectation.

    Parameters
    ----------
    n_positive, n_negative : int
        Rows of each label.
    epsilon : float
        Distance, not negative.

    Returns
    -------
    probability : float
        min(1, 2·exp(−2·min(m, n)·ε²)), see `auc_deviation`.

    Examples
    --------
    >>> round(auc_deviation_probability(1000, 5000, 0.05), 4)
    0.0135
    """
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must not be negative; found {epsilon!r}.")
    return min(1.0, 2.0 * math.exp(-2.0 * _independent(n_positive, n_negative) * epsilon**2))


def _placements(y_true: Any, y_score: Any) -> tuple[Vector, Vector]:
    """Share of the negatives below each positive, and of the positives above each negative."""
    view = by_query(y_true, y_score)
    labels, scores = view.relevance, view.scores
    positive = positives(labels)
    m, n = int(positive.sum()), int((~positive).sum())
    ranks = stats.rankdata(scores)
    above = (ranks[positive] - stats.rankdata(scores[positive])) / n
    below = 1.0 - (ranks[~positive] - stats.rankdata(scores[~positive])) / m
    return above, below


def _standard_error(above: Vector, below: Vector) -> float:
    if min(len(above), len(below)) < 2:
        return math.nan
    return math.sqrt(above.var(ddof=1) / len(above) + below.var(ddof=1) / len(below))


def _independent(n_positive: int, n_negative: int) -> int:
    require_count("n_positive", n_positive)
    require_count("n_negative", n_negative)
    return int(min(n_positive, n_negative))


def _quantile(level: float) -> float:
    return float(stats.norm.ppf(0.5 + 0.5 * level))
