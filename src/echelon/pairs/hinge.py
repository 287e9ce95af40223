"""Hinge losses over implied pairs, by windows on the sorted scores.

A pair (i, j) of winner and loser costs something where it is in the window f_i − f_j < t. The
partners of a row in the window are those beyond a point on the axis of scores, and that point moves
one way as the row does. So one sweep down the sorted scores and one up, with totals by level of
what has entered, give every row the weight of its partners and its sums of shortfalls
u = t − (f_i − f_j) and of their squares. All shortfalls grow by the step of the sweep, so the sums
are carried from row to row by adding positive terms alone and lose no digits, wherever the scores
lie and however widely they spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._native._pair_windows import window_moments, window_sums
from .._utils.types import Vector
from .misranking import Levels, ScoreOrder, ScoreSorter
from .pair_set import LevelPairs


class HingeLoss:
    """Sum over implied pairs of max(0, t − m) or of its square: O(n log n) for a point.

    Parameters
    ----------
    pairs : LevelPairs
    n_items : int
        Number of rows.
    margin : float
        t, of any sign.
    squared : bool

    Examples
    --------
    >>> from echelon.pairs import PairSet
    >>> pairs = PairSet.from_labels([2, 0, 1])
    >>> HingeLoss(pairs.implied, 3, 1.0, squared=False).at(np.array([0.0, 1.0, 2.0])).value
    5.0
    """

    def __init__(self, pairs: LevelPairs, n_items: int, margin: float, *, squared: bool) -> None:
        self._sorter = ScoreSorter(pairs)
        self._n_items = n_items
        self._margin = margin
        self._squared = squared

    def at(self, scores: Vector) -> HingePoint:
        """Sum of the loss and its derivatives at the given scores."""
        order = self._sorter.sort(scores)
        entered = np.empty((2, len(order.rows)), dtype=np.int32)
        won = self._moments(order, 1.0, entered[0])
        lost = self._moments(order, -1.0, entered[1])
        power = 2 if self._squared else 1
        net = lost[:, power - 1] - won[:, power - 1]
        # A search along a line may look too far.
        with np.errstate(over="ignore"):
            value = float(order.factors @ won[:, power])
        return HingePoint(
            value=value,
            gradient=order.scatter(power * order.factors * net, self._n_items),
            slope=power * float(order.factors @ won[:, power - 1]),
            order=order,
            entered=entered,
            masses=won[:, 0] + lost[:, 0] if self._squared else None,
        )

    def _moments(self, order: ScoreOrder, side: float, entered: Levels) -> Vector:
        moments = np.empty((len(order.rows), 3))
        window_moments(
            order.bounds,
            order.n_levels,
            order.levels,
            order.scores,
            order.weights,
            self._margin,
            side,
            np.empty((order.most_levels + 1, 4)),
            moments,
            entered,
        )
        return moments


@dataclass(frozen=True)
class HingePoint:
    """A hinge loss at some scores; see ``losses.LossPoint``.

    Parameters
    ----------
    value, slope : float
    gradient : ndarray of shape (n_items,)
    order : ScoreOrder
        Rows sorted by their scores.
    entered : ndarray of shape (2, m)
        Number of rows in the window of each place as a winner, and as a loser.
    masses : ndarray of shape (m,) or None
        Weight of the partners in the window of each place; None if there is no curvature.
    """

    value: float
    gradient: Vector
    slope: float
    order: ScoreOrder
    entered: Levels
    masses: Vector | None

    def curvature(self, v: Vector) -> Vector:
        """Hessian times v: two sweeps over the order of the point, O(n log K) without a sort."""
        if self.masses is None:
            return np.zeros(len(v))
        order = self.order
        own = v[order.rows]
        sums = np.empty(len(own))
        window_sums(
            order.bounds,
            order.n_levels,
            order.levels,
            order.weights * own,
            self.entered,
            np.empty(order.most_levels + 1),
            sums,
        )
        own *= self.masses
        own -= sums
        own *= order.factors
        return 2.0 * order.scatter(own, len(v))

    def curvature_diagonal(self) -> Vector:
        """Diagonal of the Hessian."""
        n = len(self.gradient)
        if self.masses is None:
            return np.zeros(n)
        return self.order.scatter(2.0 * self.order.factors * self.masses, n)
