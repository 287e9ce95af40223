"""The exponential loss over pairs of rows of different levels, without listing the pairs.

A term of Σ c·exp(−(f_i − f_j)) is a product of a factor of the winner i and one of the loser j, so
the sum over pairs is a sum over pairs of levels. All sums are kept as logarithms and all else as
shares of the loss, so scores of any size neither overflow nor lose the smaller terms of a level.

- `ExponentialLoss` is the sum over the implied pairs of all queries of a ``PairSet``, with Hessian
  products: what ``losses.pair_loss`` gives. O(n) for a point and for a product. What is averaged
  over lower or higher levels is carried from level to level as a mixture.
- `ExponentialPairLoss` is for one list of K levels y, without queries,

      R(f) = Σ_{y_i > y_j} m(y_i, y_j)·w_i·w_j·exp(−(f_i − f_j))
           = Σ_{c > c'} m(c, c')·S⁻_c·S⁺_c'   with S∓_c = Σ_{y_i = c} w_i·exp(∓f_i),

  where m is 1, so that every pair counts once, or y_i − y_j, so that a pair counts once for every
  threshold between its levels, which is the fast form of [DK09]. It gives shares of R by row and
  derivatives along a direction in O(n + K²) time and memory, as boosting needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._native._pair_windows import mixed_levels
from .._utils.messages import require_choice
from .._utils.types import Codes, Matrix, Vector
from .misranking import scatter
from .pair_set import LevelPairs, exclusive_sums


class LevelSums:
    """Sums of exponentials over the rows of each level, as logarithms.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Level of each row, 0 … K−1.
    n_levels : int
        K.

    Examples
    --------
    >>> sums = LevelSums(np.array([0, 1, 0]), 3)
    >>> sums.log_sums(np.array([900.0, 1.0, 900.0])).tolist()
    [900.6931471805599, 1.0, -inf]
    """

    def __init__(self, codes: Codes, n_levels: int) -> None:
        self.codes = codes
        self.n_levels = n_levels
        self._order = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[self._order], return_index=True)
        self._present = present
        self._starts = starts

    def log_sums(self, exponents: Vector) -> Vector:
        """Logarithm of Σ exp(exponent) over the rows of each level; −∞ where there is none."""
        return self._by_level(exponents)[0]

    def softmax(self, exponents: Vector) -> tuple[Vector, Vector]:
        """``log_sums``, and the share of each row in the sum of its level."""
        logs, shift, raised = self._by_level(exponents)
        with np.errstate(invalid="ignore"):
            scale = np.exp(shift - logs)
        return logs, raised * np.where(np.isfinite(scale), scale, 0.0)[self.codes]

    def totals(self, values: Vector) -> Vector:
        """Sum of a number per row over the rows of each level."""
        return np.asarray(np.bincount(self.codes, values, self.n_levels), dtype=np.float64)

    def _by_level(self, exponents: Vector) -> tuple[Vector, Vector, Vector]:
        shift = np.full(self.n_levels, -np.inf)
        shift[self._present] = np.maximum.reduceat(exponents[self._order], self._starts)
        raised = np.exp(exponents - np.where(np.isfinite(shift), shift, 0.0)[self.codes])
        with np.errstate(divide="ignore"):
            return np.log(self.totals(raised)) + shift, shift, raised


@dataclass(frozen=True)
class PairShares:
    """The loss at some scores, and each row's share of it.

    Parameters
    ----------
    log_loss : float
        ln R.
    upper : ndarray of shape (n,)
        Share of R in pairs where the row has the higher level; sums to one.
    lower : ndarray of shape (n,)
        Share of R in pairs where the row has the lower level; sums to one.
    """

    log_loss: float
    upper: Vector
    lower: Vector

    @property
    def gradient(self) -> Vector:
        """Gradient of ln R in the scores; times R it is the gradient of R."""
        return self.lower - self.upper


@dataclass(frozen=True)
class PairEdge:
    """What a change h of the scores does to the pairs, as shares of R.

    Parameters
    ----------
    slope, curvature : float
        R′/R and R″/R along h: −Σ share·(h_i − h_j) and Σ share·(h_i − h_j)².
    """

    slope: float
    curvature: float


class ExponentialPairLoss:
    """R(f) for fixed levels and weights.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Levels 0 … K−1, at least two of which have a row of positive weight.
    n_levels : int
        K.
    weights : ndarray of shape (n,), optional
        Weights of the rows, none negative; ones by default.
    count : {"once", "per_threshold"}, default="once"
        Whether a pair weighs 1 or the number of thresholds between its levels.

    Examples
    --------
    >>> loss = ExponentialPairLoss(np.array([0, 1, 2]), 3)
    >>> shares = loss.at(np.array([0.0, 0.0, 0.0]))
    >>> float(np.exp(shares.log_loss).round(12))
    3.0
    >>> (3 * shares.gradient).round(12)
    array([ 2.,  0., -2.])
    """

    def __init__(
        self,
        codes: Codes,
        n_levels: int,
        weights: Vector | None = None,
        *,
        count: str = "once",
    ) -> None:
        require_choice("count", count, ("once", "per_threshold"))
        self._sums = LevelSums(codes, n_levels)
        weights = np.ones(len(codes)) if weights is None else weights
        if np.count_nonzero(self._sums.totals(weights)) < 2:
            raise ValueError("codes must hold two levels or more among rows of positive weight.")
        steps = np.subtract.outer(np.arange(n_levels), np.arange(n_levels))
        multiplicity = np.maximum(steps, 0) if count == "per_threshold" else steps > 0
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(weights)
            self._log_multiplicity = np.log(multiplicity.astype(np.float64))
        totals = self._sums.totals(weights)
        self.total = float(totals @ multiplicity @ totals)

    def at(self, scores: Vector) -> PairShares:
        """Value and per-row shares at the given scores."""
        return self._parts(scores).shares

    def along(self, scores: Vector, h: Vector) -> PairEdge:
        """First and second derivative in v, at 0, of R(f + v·h), divided by R."""
        parts = self._parts(scores)
        high, low = self._level_means(parts, h)
        shares = parts.shares
        square = float((shares.upper + shares.lower) @ (h * h))
        return PairEdge(float(shares.gradient @ h), square - 2.0 * float(high @ parts.levels @ low))

    def ordered_by(self, scores: Vector, h: Vector) -> tuple[float, float]:
        """Shares of R in pairs that h of values ±1 orders rightly, and wrongly."""
        parts = self._parts(scores)
        up_high, up_low = self._level_means(parts, np.asarray(h > 0, dtype=np.float64))
        down_high, down_low = self._level_means(parts, np.asarray(h < 0, dtype=np.float64))
        levels = parts.levels
        return float(up_high @ levels @ down_low), float(down_high @ levels @ up_low)

    def _parts(self, scores: Vector) -> _Parts:
        log_high, high = self._sums.softmax(self._log_weights - scores)
        log_low, low = self._sums.softmax(self._log_weights + scores)
        logs = self._log_multiplicity + log_high[:, None] + log_low
        top = float(logs.max())
        levels = np.exp(logs - top)
        total = float(levels.sum())
        levels /= total
        codes = self._sums.codes
        shares = PairShares(
            top + float(np.log(total)),
            high * levels.sum(axis=1)[codes],
            low * levels.sum(axis=0)[codes],
        )
        return _Parts(shares, levels, high, low)

    def _level_means(self, parts: _Parts, h: Vector) -> tuple[Vector, Vector]:
        """Means of h within each level, as the higher and as the lower side of pairs."""
        return self._sums.totals(parts.high * h), self._sums.totals(parts.low * h)


@dataclass(frozen=True)
class _Parts:
    shares: PairShares
    levels: Matrix  # share of R of each pair of levels, higher by row and lower by column
    high: Vector  # share of each row in S⁻ of its level
    low: Vector  # share of each row in S⁺ of its level


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
            gradient = scatter(pairs.rows, lost - won, self._n_items)
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
        return scatter(rows, change, len(v))

    def curvature_diagonal(self) -> Vector:
        """Diagonal of the Hessian."""
        return scatter(self.pairs.rows, self.won + self.lost, len(self.gradient))


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
