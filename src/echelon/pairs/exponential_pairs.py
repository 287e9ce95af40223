"""The exponential loss over implied pairs of all queries at once.

Σ s·w_i·w_j·exp(−(f_i − f_j)) is a sum over segments (rows of one query and level) of a factor of
the winners, s·w_i·exp(−f_i), times the sum of a factor of the losers, w_j·exp(f_j), over all lower
levels. All sums are kept as logarithms, and what is averaged over lower or higher levels is carried
from level to level as a mixture, so scores of any size neither overflow nor lose terms. O(n) for a
point and for a Hessian product.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._native._pair_windows import mixed_levels
from .._utils.types import Codes, Vector
from .exponential import LevelSums
from .pair_set import LevelPairs, exclusive_sums


class ExponentialLoss:
    """Sum over implied pairs of exp(−m).

    Parameters
    ----------
    pairs : LevelPairs
    n_items : int
        Number of rows.

    Examples
    --------
    >>> from echelon.pairs import PairSet
    >>> loss = ExponentialLoss(PairSet.from_labels([1, 0, 1]).implied, 3)
    >>> point = loss.at(np.array([900.0, 0.0, 901.0]))
    >>> point.value, round(point.log_value, 10)
    (0.0, -899.6867383125)
    """

    def __init__(self, pairs: LevelPairs, n_items: int) -> None:
        self._pairs = pairs
        self._n_items = n_items
        self._sums = LevelSums(pairs.segments, pairs.n_segments)
        self._log_weights = np.log(pairs.weights)
        self._log_scales = np.log(pairs.scales)[pairs.segment_queries]
        self._queries = pairs.row_queries

    def at(self, scores: Vector) -> ExponentialPoint:
        """Sum of the loss and its derivatives at the given scores."""
        pairs = self._pairs
        own = scores[pairs.rows]
        # Pairs are within a query, so a score of its own is the origin that keeps most digits.
        own = own - own[pairs.starts[pairs.queries[:-1]]][self._queries]
        winners = _Side(*self._sums.softmax(self._log_weights - own), pairs, higher=True)
        losers = _Side(*self._sums.softmax(self._log_weights + own), pairs, higher=False)
        logs = self._log_scales + winners.logs + losers.outer
        top = float(logs.max())
        log_value = top + float(np.log(np.exp(logs - top).sum()))
        with np.errstate(over="ignore", invalid="ignore"):
            won = winners.shares * np.exp(logs)[pairs.segments]
            other = self._log_scales + losers.logs + winners.outer
            lost = losers.shares * np.exp(other)[pairs.segments]
            value = float(np.exp(log_value))
            gradient = _scatter(pairs.rows, lost - won, self._n_items)
        return ExponentialPoint(
            value=value,
            gradient=gradient,
            slope=value,
            log_value=log_value,
            pairs=pairs,
            won=won,
            lost=lost,
            sides=(winners, losers),
        )


@dataclass(frozen=True)
class ExponentialPoint:
    """The exponential loss at some scores; see ``losses.LossPoint``.

    Parameters
    ----------
    value, slope : float
        Infinite where they exceed all numbers.
    gradient : ndarray of shape (n_items,)
        Infinite, or NaN, where what a row wins and what it loses exceed all numbers.
    log_value : float
        Logarithm of the value, always finite.
    pairs : LevelPairs
    won, lost : ndarray of shape (m,)
        Loss of the pairs in which each row wins, and loses.
    sides : tuple
        Sums over winners and over losers.
    """

    value: float
    gradient: Vector
    slope: float
    log_value: float
    pairs: LevelPairs
    won: Vector
    lost: Vector
    sides: tuple[_Side, _Side] = field(repr=False)

    def curvature(self, v: Vector) -> Vector:
        """Hessian times v: a row moves against the mean of v over its partners."""
        rows, segments = self.pairs.rows, self.pairs.segments
        own = v[rows]
        winners, losers = self.sides
        with np.errstate(invalid="ignore"):
            change = self.won * (own - losers.mean(own)[segments])
            change += self.lost * (own - winners.mean(own)[segments])
        return _scatter(rows, change, len(v))

    def curvature_diagonal(self) -> Vector:
        """Diagonal of the Hessian."""
        return _scatter(self.pairs.rows, self.won + self.lost, len(self.gradient))


class _Side:
    """Sums over the winners of each segment, or over the losers, and over all their segments."""

    def __init__(self, logs: Vector, shares: Vector, pairs: LevelPairs, *, higher: bool) -> None:
        self.logs = logs
        self.shares = shares
        self._segments = pairs.segments
        self._turn = slice(None, None, -1 if higher else 1)
        self._queries = (pairs.n_segments - pairs.queries)[::-1].copy() if higher else pairs.queries
        turned = exclusive_sums(logs[self._turn], self._queries, np.logaddexp)
        self.outer = turned[self._turn]
        after = np.logaddexp(turned, logs[self._turn])
        self._kept = np.exp(turned - after)
        self._joined = np.exp(logs[self._turn] - after)

    def mean(self, own: Vector) -> Vector:
        """Mean of a number per row over all rows of this side that a segment is paired with."""
        values = np.bincount(self._segments, self.shares * own, len(self.logs))
        means = np.empty(len(values))
        mixed_levels(
            self._queries,
            self._kept,
            self._joined,
            np.ascontiguousarray(values[self._turn]),
            means,
        )
        return means[self._turn]


def _scatter(rows: Codes, values: Vector, n: int) -> Vector:
    result = np.zeros(n)
    result[rows] = values
    return result
