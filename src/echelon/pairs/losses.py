"""The table of pair losses, and their sums over all pairs of a set as functions of the scores.

A pair of winner i and loser j has the margin m = f_i − f_j and a weight c. Implied pairs are summed
without being listed, in O(n log n), and stated pairs one by one; a set with both is their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from .._utils.messages import require_choice
from .._utils.types import Vector
from .exponential import ExponentialLoss
from .hinge import HingeLoss
from .logistic import LogisticLoss
from .pair_set import LevelPairs, ListedPairs, PairSet

Derivatives = tuple[Vector, Vector, Vector]


class LossPoint(Protocol):
    """A pair loss at some scores."""

    @property
    def value(self) -> float:
        """Σ c·ℓ(m)."""

    @property
    def gradient(self) -> Vector:
        """Derivative in the scores, of shape (n_items,)."""

    @property
    def slope(self) -> float:
        """Σ c·(−ℓ′(m)), which is no less than zero."""

    def curvature(self, v: Vector) -> Vector:
        """Hessian in the scores times v; of the squared hinge, with ℓ″ = 0 at its kink."""

    def curvature_diagonal(self) -> Vector:
        """Diagonal of that Hessian."""


class PairLoss(Protocol):
    """A loss over the pairs of a set, as a function of the scores."""

    def at(self, scores: Vector) -> LossPoint:
        """Value and derivatives at scores of shape (n_items,)."""


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


@dataclass(frozen=True)
class PairLossKind:
    """A loss of one margin, and its sum over implied pairs.

    Parameters
    ----------
    derivatives : callable
        Loss and its first and second derivative at margins m, with the threshold t.
    over_implied : callable
        Makes the sum over implied pairs from ``LevelPairs``, the number of rows and t.
    has_margin : bool
        Whether the threshold t can be set.
    """

    derivatives: Callable[[Vector, float], Derivatives]
    over_implied: Callable[[LevelPairs, int, float], PairLoss]
    has_margin: bool = False


PAIR_LOSSES = {
    "hinge": PairLossKind(
        hinge, lambda pairs, n, t: HingeLoss(pairs, n, t, squared=False), has_margin=True
    ),
    "squared_hinge": PairLossKind(
        squared_hinge, lambda pairs, n, t: HingeLoss(pairs, n, t, squared=True), has_margin=True
    ),
    "logistic": PairLossKind(logistic, lambda pairs, n, t: LogisticLoss(pairs, n)),
    "exponential": PairLossKind(exponential, lambda pairs, n, t: ExponentialLoss(pairs, n)),
}
#: Losses of support vector machines, and losses of boosting.
HINGE_LOSSES = tuple(name for name, kind in PAIR_LOSSES.items() if kind.has_margin)
SMOOTH_LOSSES = tuple(name for name, kind in PAIR_LOSSES.items() if not kind.has_margin)


def pair_loss(name: str, pairs: PairSet, margin: float = 1.0) -> PairLoss:
    """Loss of a name over all pairs of a set.

    Parameters
    ----------
    name : {"hinge", "squared_hinge", "logistic", "exponential"}
        max(0, t − m), its square, ln(1 + e^−m) or e^−m.
    pairs : PairSet
    margin : float, default=1
        t of the hinge losses, of any sign; the others have none and take 1 alone.

    Returns
    -------
    loss : PairLoss

    Examples
    --------
    >>> pairs = PairSet.from_labels([2, 0, 1])
    >>> point = pair_loss("squared_hinge", pairs).at(np.array([0.0, 1.0, 2.0]))
    >>> point.value, point.gradient
    (13.0, array([-10.,   4.,   6.]))
    """
    require_choice("name", name, PAIR_LOSSES)
    kind = PAIR_LOSSES[name]
    if not np.isfinite(margin):
        raise ValueError(f"margin must be finite; found {margin}.")
    if not kind.has_margin and margin != 1.0:
        raise ValueError(f"The {name} loss has no margin to set; found margin={margin}.")
    parts: list[PairLoss] = []
    if pairs.implied is not None:
        parts.append(kind.over_implied(pairs.implied, pairs.n_items, margin))
    if pairs.listed is not None:
        parts.append(ListedLoss(kind, pairs.listed, pairs.n_items, margin))
    return _SumLoss(tuple(parts), pairs.n_items)


class ListedLoss:
    """Sum of a loss over listed pairs: O(pairs) time and memory.

    Parameters
    ----------
    kind : PairLossKind
    pairs : ListedPairs
    n_items : int
        Number of rows.
    margin : float
        Threshold t of the hinge losses.

    Examples
    --------
    >>> pairs = ListedPairs(np.array([0]), np.array([1]), np.array([2.0]))
    >>> ListedLoss(PAIR_LOSSES["hinge"], pairs, 2, 1.0).at(np.array([0.0, 3.0])).value
    8.0
    """

    def __init__(self, kind: PairLossKind, pairs: ListedPairs, n_items: int, margin: float) -> None:
        self._loss = kind.derivatives
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
    """A loss over listed pairs at some scores; see ``LossPoint``.

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


@dataclass(frozen=True)
class _SumLoss:
    parts: tuple[PairLoss, ...]
    n_items: int

    def at(self, scores: npt.ArrayLike) -> LossPoint:
        f = np.asarray(scores, dtype=np.float64)
        if f.shape != (self.n_items,) or not np.isfinite(f).all():
            raise ValueError(
                f"scores must be {self.n_items} finite numbers; found shape {f.shape}"
                f"{'' if f.shape != (self.n_items,) else ' with NaN or infinity'}."
            )
        points = tuple(part.at(f) for part in self.parts)
        if len(points) == 1:
            return points[0]
        return _SumPoint(
            value=sum((point.value for point in points), 0.0),
            gradient=sum((point.gradient for point in points), np.zeros(self.n_items)),
            slope=sum((point.slope for point in points), 0.0),
            points=points,
        )


@dataclass(frozen=True)
class _SumPoint:
    value: float
    gradient: Vector
    slope: float
    points: tuple[LossPoint, ...]

    def curvature(self, v: Vector) -> Vector:
        return sum((point.curvature(v) for point in self.points), np.zeros(len(v)))

    def curvature_diagonal(self) -> Vector:
        zeros = np.zeros(len(self.gradient))
        return sum((point.curvature_diagonal() for point in self.points), zeros)
