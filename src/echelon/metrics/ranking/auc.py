"""Areas under ROC curves as shares of pairs: two labels, several labels, many queries."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid

from ..._utils.messages import require_choice
from ..._utils.types import KeysLike, LabelsLike, Vector, VectorLike, WeightsLike
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
