"""Pairs in right and wrong order, counted without listing them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._native._pair_counts import count_sorted_pairs
from .._native._pair_windows import group_by_query
from .._utils.types import Codes, Vector
from .pair_set import LevelPairs, PairSet

Levels = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ScoreOrder:
    """Rows of implied pairs, sorted by query and then by ascending score.

    Parameters
    ----------
    bounds : ndarray of shape (Q + 1,)
        Where each query begins, and m.
    n_levels : ndarray of shape (Q,)
        Number of levels of each query.
    rows : ndarray of shape (m,)
        Row of each place.
    levels : ndarray of shape (m,)
        Its level within its query, from 0.
    scores, weights : ndarray of shape (m,)
        Its score and its weight.
    factors : ndarray of shape (m,)
        Its weight times the factor of its query.
    """

    bounds: Codes
    n_levels: Levels
    rows: Codes
    levels: Levels
    scores: Vector
    weights: Vector
    factors: Vector

    @property
    def most_levels(self) -> int:
        """Largest number of levels in a query."""
        return int(self.n_levels.max())

    def scatter(self, values: Vector, n_items: int) -> Vector:
        """Give a number per place to the rows, and zero to all others."""
        return scatter(self.rows, values, n_items)


def scatter(rows: Codes, values: Vector, n: int) -> Vector:
    """The values at their rows, and zero elsewhere."""
    result = np.zeros(n)
    result[rows] = values
    return result


class ScoreSorter:
    """Sort the rows of implied pairs by any scores: O(n log n).

    Parameters
    ----------
    pairs : LevelPairs

    Examples
    --------
    >>> from echelon.pairs import PairSet
    >>> pairs = PairSet.from_labels([1, 0, 2, 0], qid=["a", "b", "b", "a"]).implied
    >>> order = ScoreSorter(pairs).sort(np.array([0.5, 0.1, 0.0, 0.9]))
    >>> order.rows.tolist(), order.levels.tolist()
    ([0, 3, 2, 1], [1, 0, 1, 0])
    """

    def __init__(self, pairs: LevelPairs) -> None:
        self.pairs = pairs
        self._bounds = pairs.starts[pairs.queries]
        self._n_levels = np.diff(pairs.queries).astype(np.int32)
        self._levels = pairs.levels.astype(np.int32)[pairs.segments]
        self._queries = pairs.row_queries
        self._factors = pairs.scales[self._queries] * pairs.weights

    def sort(self, scores: Vector) -> ScoreOrder:
        """Order at the scores of all items."""
        own = scores[self.pairs.rows]
        order = np.argsort(own)
        if self.pairs.n_queries > 1:
            grouped = np.empty_like(order)
            group_by_query(order, self._queries, self._bounds.copy(), grouped)
            order = grouped
        return ScoreOrder(
            bounds=self._bounds,
            n_levels=self._n_levels,
            rows=self.pairs.rows[order],
            levels=self._levels[order],
            scores=own[order],
            weights=self.pairs.weights[order],
            factors=self._factors[order],
        )


@dataclass(frozen=True)
class PairTotals:
    """Weight of the pairs by how the scores of winner and loser compare.

    Parameters
    ----------
    concordant, tied, discordant : float
        The winner scores higher, the same, or lower.
    """

    concordant: float
    tied: float
    discordant: float

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        return self.concordant + self.tied + self.discordant

    @property
    def accuracy(self) -> float:
        """Share of the pairs in the right order, where a tie counts one half."""
        return (self.concordant + 0.5 * self.tied) / self.total


def misranked(pairs: PairSet, scores: npt.ArrayLike) -> PairTotals:
    """Weigh the pairs of a set that scores put in the right order, tie, and put in the wrong one.

    Parameters
    ----------
    pairs : PairSet
    scores : array-like of shape (n_items,)
        Numbers without NaN; infinite ones compare as usual.

    Returns
    -------
    totals : PairTotals
        Sums of terms that are not negative: exact for whole weights below 2^53.

    Notes
    -----
    O(n log n) for implied pairs, one comparison for each stated pair.

    Examples
    --------
    >>> misranked(PairSet.from_labels([2, 0, 1, 0]), [0.5, 0.5, 0.7, 0.1])
    PairTotals(concordant=3.0, tied=1.0, discordant=1.0)
    """
    f = np.asarray(scores, dtype=np.float64)
    if f.shape != (pairs.n_items,) or np.isnan(f).any():
        raise ValueError(
            f"scores must be {pairs.n_items} numbers; found shape {f.shape}"
            f"{'' if f.shape != (pairs.n_items,) else ' with NaN'}."
        )
    totals = np.zeros(3)
    if pairs.implied is not None:
        totals += pairs.implied.scales @ misranked_by_query(pairs.implied, f)
    if pairs.listed is not None:
        won, lost = f[pairs.listed.winners], f[pairs.listed.losers]
        kind = np.where(won > lost, 0, np.where(won == lost, 1, 2))
        totals += np.bincount(kind, pairs.listed.weights, 3)
    return PairTotals(*totals.tolist())


def misranked_by_query(pairs: LevelPairs, scores: Vector) -> Vector:
    """Weight of the concordant, tied and discordant pairs of each query, before its factor.

    Returns an array of shape (Q, 3).
    """
    order = ScoreSorter(pairs).sort(scores)
    levels, weights = order.levels, order.weights
    new = np.r_[True, order.scores[1:] != order.scores[:-1], True]
    new[order.bounds] = True
    tied = np.flatnonzero(~(new[:-1] & new[1:]))
    if len(tied):
        # Equal scores by level, which a sort of all rows would do at a higher price.
        run = np.cumsum(new)[tied]
        by_level = tied[np.argsort(run * order.most_levels + levels[tied])]
        levels[tied], weights[tied] = levels[by_level], weights[by_level]
    counts = _counts(order.bounds, order.n_levels, order.scores, levels, weights)
    return counts[:, [0, 2, 1]]


def _counts(bounds: Codes, n_levels: Levels, a: Vector, b: Levels, weights: Vector) -> Vector:
    """The sums of `PairCounts` for each query of rows sorted by query, a and b."""
    leaves = 1 << (int(n_levels.max()) - 1).bit_length()
    counts = np.empty((len(n_levels), 5))
    count_sorted_pairs(bounds, n_levels, a, b, weights, np.empty(2 * leaves), counts)
    return counts


@dataclass(frozen=True)
class PairCounts:
    """Weight of the pairs of rows {i, j}, i ≠ j, by how the columns a and b order them.

    A pair weighs w_i·w_j, so with unit weights these are numbers of pairs.

    Parameters
    ----------
    concordant : float
        Pairs that a and b order alike.
    discordant : float
        Pairs that a and b order in opposite ways.
    tied_in_a, tied_in_b : float
        Pairs that are equal in that column and differ in the other.
    tied_in_both : float
        Pairs that are equal in both columns. A row is no pair with itself, so an integer weight
        equals repeated rows in every count but this one.
    """

    concordant: float
    discordant: float
    tied_in_a: float
    tied_in_b: float
    tied_in_both: float

    @property
    def differing_in_a(self) -> float:
        """Weight of the pairs whose entries of a differ."""
        return self.concordant + self.discordant + self.tied_in_b

    @property
    def differing_in_b(self) -> float:
        """Weight of the pairs whose entries of b differ."""
        return self.concordant + self.discordant + self.tied_in_a

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        return self.differing_in_a + self.tied_in_a + self.tied_in_both

    @property
    def concordance(self) -> float:
        """Share of the pairs that differ in b that a orders alike, ties in a half; else NaN."""
        comparable = self.differing_in_b
        return (self.concordant + 0.5 * self.tied_in_a) / comparable if comparable else math.nan


def count_pairs(a: npt.ArrayLike, b: npt.ArrayLike, weights: Vector | None = None) -> PairCounts:
    """Count the pairs of rows of two columns by how the columns order them.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Anything that sorts, without NaN.
    weights : ndarray of shape (n,), optional
        Weights of the rows, none negative; ones by default.

    Returns
    -------
    counts : PairCounts

    Notes
    -----
    O(n log n) time and O(n) memory: one sort by (a, b), then a walk over the groups of equal a with
    a tree of weights over the distinct values of b. Counts are exact while the weights are integers
    and the total stays below 2^53, which is 134 million rows of weight one.

    Examples
    --------
    >>> counts = count_pairs([1, 2, 3, 3], [1, 3, 2, 2])
    >>> counts.concordant, counts.discordant, counts.tied_in_both
    (3.0, 2.0, 1.0)
    """
    ranks_a, n_distinct_a = _dense_ranks(a)
    ranks_b, n_distinct = _dense_ranks(b)
    n = len(ranks_a)
    if len(ranks_b) != n or (weights is not None and len(weights) != n):
        raise ValueError(
            "a, b and weights must have one entry per row; found lengths "
            f"{n}, {len(ranks_b)}{'' if weights is None else f', {len(weights)}'}."
        )
    cells = ranks_a * n_distinct + ranks_b
    if n_distinct_a * n_distinct <= 1 << 16:
        # NumPy sorts numbers of 16 bits by counting, in linear time.
        cells = cells.astype(np.uint16)
    order = np.argsort(cells, kind="stable")
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    levels = np.array([max(n_distinct, 1)], dtype=np.int32)
    columns = ranks_a[order].astype(np.float64), ranks_b[order].astype(np.int32)
    return PairCounts(*_counts(np.array([0, n]), levels, *columns, w)[0].tolist())


def _dense_ranks(values: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], int]:
    """Rank of each entry among the distinct values, from 0, and how many of these there are."""
    column = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"Each column must be one-dimensional; found shape {column.shape}.")
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if low >= 0 and high <= len(column):
            # Codes: counting which ones occur is cheaper than sorting.
            codes = column.astype(np.intp, copy=False)
            occurs = np.bincount(codes) > 0
            return (np.cumsum(occurs) - 1)[codes], int(occurs.sum())
    distinct, ranks = np.unique(column, return_inverse=True)
    return ranks.astype(np.intp, copy=False), len(distinct)
