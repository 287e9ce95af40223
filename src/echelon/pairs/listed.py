"""Pair losses as functions of one margin, and their sums over pairs that are listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .._utils.types import Vector
from .pair_set import ListedPairs

Derivatives = tuple[Vector, Vector, Vector]


def hinge(m: Vector, t: float) -> Derivatives:
    """Give max(0, t − m), its derivative, with 0 at the kink, and zeros."""
    short: Vector = np.maximum(t - m, 0.0)
    return short, np.where(m < t, -1.0, 0.0), np.zeros_like(m)


def squared_hinge(m: Vector, t: float) -> Derivatives:
    """Give max(0, t − m)² and two derivatives, the second with 0 at the kink."""
    short = np.maximum(t - m, 0.0)
    return short * short, -2.0 * short, np.where(m < t, 2.0, 0.0)


def logistic(m: Vector, t: float) -> Derivatives:
    """Give ln(1 + e^−m) and two derivatives; t has no part in it."""
    slope = expit(-m)
    return np.logaddexp(0.0, -m), -slope, slope * expit(m)


def exponential(m: Vector, t: float) -> Derivatives:
    """Give e^−m and two derivatives, infinite where they exceed all numbers."""
    with np.errstate(over="ignore"):
        value = np.exp(-m)
    return value, -value, value


LOSSES: dict[str, Callable[[Vector, float], Derivatives]] = {
    "hinge": hinge,
    "squared_hinge": squared_hinge,
    "logistic": logistic,
    "exponential": exponential,
}


class ListedLoss:
    """Sum of a loss over listed pairs: O(pairs) time and memory.

    Parameters
    ----------
    name : {"hinge", "squared_hinge", "logistic", "exponential"}
    pairs : ListedPairs
    n_items : int
        Number of rows.
    margin : float
        Threshold t of the hinge losses.

    Examples
    --------
    >>> pairs = ListedPairs(np.array([0]), np.array([1]), np.array([2.0]))
    >>> ListedLoss("hinge", pairs, 2, 1.0).at(np.array([0.0, 3.0])).value
    8.0
    """

    def __init__(self, name: str, pairs: ListedPairs, n_items: int, margin: float) -> None:
        self._loss = LOSSES[name]
        self._pairs = pairs
        self._n_items = n_items
        self._margin = margin

    def at(self, scores: Vector) -> ListedPoint:
        """Sum of the loss and its derivatives at the given scores."""
        pairs = self._pairs
        m = scores[pairs.winners] - scores[pairs.losers]
        value, first, second = self._loss(m, self._margin)
        first = first * pairs.weights
        return ListedPoint(
            value=float(value @ pairs.weights),
            gradient=_at_ends(pairs, first, -first, self._n_items),
            slope=-float(first.sum()),
            pairs=pairs,
            seconds=second * pairs.weights,
        )


@dataclass(frozen=True)
class ListedPoint:
    """A loss over listed pairs at some scores; see ``losses.LossPoint``.

    Parameters
    ----------
    value, slope : float
    gradient : ndarray of shape (n_items,)
    pairs : ListedPairs
    seconds : ndarray of shape (m,)
        Weight times second derivative of each pair.
    """

    value: float
    gradient: Vector
    slope: float
    pairs: ListedPairs
    seconds: Vector

    def curvature(self, v: Vector) -> Vector:
        """Hessian times v."""
        change = self.seconds * (v[self.pairs.winners] - v[self.pairs.losers])
        return _at_ends(self.pairs, change, -change, len(v))

    def curvature_diagonal(self) -> Vector:
        """Diagonal of the Hessian."""
        return _at_ends(self.pairs, self.seconds, self.seconds, len(self.gradient))


def _at_ends(pairs: ListedPairs, to_winner: Vector, to_loser: Vector, n: int) -> Vector:
    """Sum a number per pair at the winners and another at the losers."""
    won = np.bincount(pairs.winners, to_winner, n)
    return np.asarray(won + np.bincount(pairs.losers, to_loser, n), dtype=np.float64)
