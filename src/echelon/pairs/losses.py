"""Losses over all pairs of a set: value, gradient and Hessian products in the scores.

A pair of winner i and loser j has the margin m = f_i − f_j and a weight c. Implied pairs are summed
without being listed, in O(n log n), and stated pairs one by one; a set with both is their sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .._utils.types import Vector
from .exponential_pairs import ExponentialLoss
from .hinge import HingeLoss
from .listed import ListedLoss
from .logistic import LogisticLoss
from .misranking import PairTotals, misranked
from .pair_set import LevelPairs, PairSet

__all__ = ["PAIR_LOSSES", "LossPoint", "PairLoss", "PairTotals", "misranked", "pair_loss"]

PAIR_LOSSES = ("hinge", "squared_hinge", "logistic", "exponential")


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
    if name not in PAIR_LOSSES:
        raise ValueError(f"name must be one of {', '.join(PAIR_LOSSES)}; found {name!r}.")
    if not np.isfinite(margin):
        raise ValueError(f"margin must be finite; found {margin}.")
    if name in ("logistic", "exponential") and margin != 1.0:
        raise ValueError(f"The {name} loss has no margin to set; found margin={margin}.")
    parts: list[PairLoss] = []
    if pairs.implied is not None:
        parts.append(_implied_loss(name, pairs.implied, pairs.n_items, margin))
    if pairs.listed is not None:
        parts.append(ListedLoss(name, pairs.listed, pairs.n_items, margin))
    return _SumLoss(tuple(parts), pairs.n_items)


def _implied_loss(name: str, pairs: LevelPairs, n_items: int, margin: float) -> PairLoss:
    if name == "exponential":
        return ExponentialLoss(pairs, n_items)
    if name == "logistic":
        return LogisticLoss(pairs, n_items)
    return HingeLoss(pairs, n_items, margin, squared=name == "squared_hinge")


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
