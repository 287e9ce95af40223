"""How sure an AUC is: DeLong's variance, tests between two rankers, and a bound for any sample.

DeLong's estimate takes the AUC as a mean over positives and over negatives: with v_i the share of
the negatives below positive i and u_j the share of the positives above negative j (ties as half),
Var(AUC) ≈ var(v)/m + var(u)/n. Both come from mid-ranks in O(n log n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from scipy import stats
from scipy.special import expit

from ..._utils.messages import require_choice
from ..._utils.types import LabelsLike, Vector
from ...ordinal.arrays import require_count
from .._labels import require_fraction
from ..significance import two_sided_p
from .auc import positives
from .queries import by_query


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
