"""How many pairs of a query stand in the wrong order, for all queries at once.

A pair is two rows of one query with different labels, and weighs the product of the weights of its
rows, so an integer row weight equals repeated rows. All counts of pairs come from one walk over the
rows in O(n log n), whole numbers stay exact below 2^53, and no pair is ever listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.messages import require_choice
from ..._utils.types import KeysLike, LabelsLike, Vector, VectorLike, WeightsLike
from ...ordinal.arrays import moderate_weights
from ...pairs.misranking import misranked, misranked_by_query
from ...pairs.pair_set import PairSet
from .._labels import read_score_vector
from .queries import QueryRows, by_query
from .summary import P, QueryScores, is_loss, query_metric, settled

#: How much of an error a pair with equal scores is.
TIE_ERRORS = {"half": 0.5, "error": 1.0, "correct": 0.0}


@dataclass(frozen=True)
class PairShares:
    """Weight of some pairs of each query, such as the wrong ones, as a share of that of all."""

    view: QueryRows
    part: Vector
    whole: Vector
    average: str = "pairs"
    empty: str | float = "skip"

    def mean(self) -> float:
        """Part over whole, of all pairs or averaged over queries."""
        require_choice("average", self.average, ("pairs", "queries"))
        shares = self.by_query()
        if self.average == "queries":
            return shares.mean()
        total = float(self.view.query_weights @ self.whole)
        return float(self.view.query_weights @ self.part) / total if total > 0 else math.nan

    def by_query(self) -> QueryScores:
        """Part over whole of each query; how queries are averaged is no matter here."""
        return settled(self.view, self.part, self.whole, self.empty)


def pair_metric(shares_of: Callable[P, PairShares]) -> Callable[P, float]:
    """Make a metric from a function that returns `PairShares`, as `query_metric` does."""
    metric = query_metric(shares_of)
    metric.by_query = lambda *args, **options: shares_of(*args, **options).by_query()  # type: ignore[attr-defined]
    return metric


@is_loss
@pair_metric
def misranking_loss(
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
    """Share of the pairs of one query with different labels that the scores put in wrong order.

    With two labels and one query it is 1 − AUC.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, higher is better: numbers, or labels of a type that states its order.
    y_score : array-like of shape (n,)
        Scores, higher is ranked higher; infinities are allowed.
    qid : sequence of shape (n,), optional
        Query of each row: any hashable ids in any order. All rows are one query by default.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of the weights of its rows.
    query_weight : mapping or array-like, optional
        Weight of each query, by id, in the order of first rows, or once per row. It multiplies the
        pairs of the query, or with ``average="queries"`` its loss.
    ties : {"half", "error", "correct"}, default="half"
        What a pair with equal scores is: half an error; an error, as in (10.2) of [MRT18]; or
        right, as in the chapter's AUC.
    average : {"pairs", "queries"}, default="pairs"
        Whether every pair counts alike, or every query.
    empty : "skip" or float, default="skip"
        With ``average="queries"``: whether a query whose labels are all equal is left out, or the
        loss it gets. Without a pair it cannot change the average over pairs.

    Returns
    -------
    loss : float
        From 0 to 1; NaN, without a warning, if nothing is left to average.

    Notes
    -----
    O(n log n) time and O(n) memory for any number of queries.

    Examples
    --------
    >>> misranking_loss([2, 1, 0, 1, 0], [0.9, 0.1, 0.5, 0.3, 0.3], qid=[1, 1, 1, 2, 2])
    0.375
    >>> misranking_loss([1, 0, 1, 1], [3, 2, 1, 1], qid=[1, 1, 2, 2], average="queries", empty=1.0)
    0.5
    """
    view = pair_rows(y_true, y_score, qid, sample_weight, query_weight)
    pairs = query_pairs(view)
    return PairShares(view, pairs.errors(ties), pairs.total, average, empty)


@pair_metric
def pairwise_accuracy(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
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


def stated_misranking_loss(
    pairs: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    pair_weight: VectorLike | None = None,
    ties: str = "half",
) -> float:
    """Share of stated preferences that the scores contradict.

    Parameters
    ----------
    pairs : array-like of shape (m, 2)
        Row of the preferred item and row of the other one.
    y_score : array-like of shape (n,)
        Scores of the rows, higher is ranked higher.
    pair_weight : array-like of shape (m,), optional
    ties : {"half", "error", "correct"}, default="half"
        As in `misranking_loss`.

    Returns
    -------
    loss : float
        From 0 to 1; NaN, without a warning, if there is no pair of positive weight.

    Examples
    --------
    >>> stated_misranking_loss([[0, 1], [2, 1]], [0.3, 0.5, 0.5], ties="error")
    1.0
    """
    scores = read_score_vector(y_score, "y_score")
    totals = misranked(PairSet.from_pairs(pairs, len(scores), pair_weight), scores)
    errors = totals.discordant + tie_error(ties) * totals.tied
    return errors / totals.total if totals.total > 0 else math.nan


@query_metric
def kendall_tau_by_query(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    qid: KeysLike | None = None,
    sample_weight: VectorLike | None = None,
    query_weight: WeightsLike | None = None,
    empty: str | float = "skip",
) -> QueryScores:
    """Kendall's τ_b between labels and scores of each query, averaged over the queries.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, query_weight
        As in `misranking_loss`.
    empty : "skip" or float, default="skip"
        Whether a query with equal labels or equal scores throughout is left out, or the value it
        gets.

    Returns
    -------
    tau : float
        From −1 to 1; NaN, without a warning, if nothing is left to average.

    Examples
    --------
    >>> kendall_tau_by_query([3, 2, 1, 1, 0], [0.3, 0.1, 0.2, 7, 5], qid=[1, 1, 1, 2, 2])
    0.6666666666666666
    """
    view = pair_rows(y_true, y_score, qid, sample_weight, query_weight)
    pairs = query_pairs(view)
    # The pairs that differ in score are those that scores as labels would imply.
    differing = query_pairs(view, view.scores).total
    whole = np.sqrt(pairs.total * differing)
    # The sums are taken in different orders: beyond one is rounding.
    difference = np.clip(pairs.correct - pairs.wrong, -whole, whole)
    return settled(view, difference, whole, empty)


@dataclass(frozen=True)
class QueryPairs:
    """Weight of the pairs of each query, by what the scores make of them.

    Parameters
    ----------
    correct, tied, wrong : ndarray of shape (Q,)
        Weight of the pairs whose better row has the higher, the same, the lower score.
    """

    correct: Vector
    tied: Vector
    wrong: Vector

    @property
    def total(self) -> Vector:
        """Weight of all pairs of each query."""
        return self.correct + self.tied + self.wrong

    def errors(self, ties: str) -> Vector:
        """Weight of the errors in each query."""
        return self.wrong + tie_error(ties) * self.tied

    def hits(self, ties: str) -> Vector:
        """Weight of all but the errors."""
        return self.correct + (1.0 - tie_error(ties)) * self.tied


def pair_rows(
    y_true: Any, y_score: Any, qid: Any = None, sample_weight: Any = None, query_weight: Any = None
) -> QueryRows:
    """Rows by query; a query whose rows all have weight zero loses its own weight."""
    view = by_query(y_true, y_score, qid, sample_weight, query_weight)
    counted = view.query_weights * (view.sums(view.weights > 0) > 0)
    return replace(view, weights=moderate_weights(view.weights), query_weights=counted)


def query_pairs(view: QueryRows, labels: Vector | None = None, rows: Any = None) -> QueryPairs:
    """Count the pairs of each query, of other labels and of some rows only if these are given."""
    labels = view.relevance if labels is None else labels
    codes = np.repeat(np.arange(len(view.ids)), view.sizes)
    scores, weights = view.scores, view.weights
    if rows is not None:
        labels, codes, scores, weights = labels[rows], codes[rows], scores[rows], weights[rows]
    implied = PairSet.from_labels(labels, codes, weights).implied
    counts = np.zeros((len(view.ids), 3))
    if implied is not None:
        first_rows = implied.rows[implied.starts[implied.queries[:-1]]]
        counts[codes[first_rows]] = misranked_by_query(implied, scores)
    return QueryPairs(*counts.T)


def tie_error(ties: str) -> float:
    """How much of an error a pair with equal scores is."""
    require_choice("ties", ties, TIE_ERRORS)
    return TIE_ERRORS[ties]
