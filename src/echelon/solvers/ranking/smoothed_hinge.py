"""The hinge over pairs, smoothed so that Newton's method can work on it, and the squared hinge.

Smoothed over a width h the hinge is a difference of two squared hinges, with t = 1 − margin:

    φ_h(t) = (max(t, 0)² − max(t − h, 0)²) / 2h.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..._utils.types import Vector
from ...pairs.losses import LossPoint, pair_loss
from ...pairs.pair_set import PairSet


@dataclass(frozen=True)
class HingeTerms:
    """C times the loss of width h at some scores.

    Parameters
    ----------
    parts : tuple of LossPoint
        The squared hinge of margin 1, and for the hinge that of margin 1 − h.
    factor : float
        Of their difference.
    value, exact : float
        The smoothed loss and the loss itself.
    excess : float
        What smoothing adds to the duality gap, Σ C·c·φ(t) − α·t with α = C·c·φ_h'(t).
    gradient : ndarray of shape (n,)
        Of the smoothed loss, in the scores.
    """

    parts: tuple[LossPoint, ...]
    factor: float
    value: float
    exact: float
    excess: float
    gradient: Vector

    def curvature(self, v: Vector) -> Vector:
        """Hessian in the scores times v."""
        first, *second = self.parts
        product = first.curvature(v)
        for part in second:
            product = product - part.curvature(v)
        return self.factor * product

    def total_curvature(self) -> float:
        """Sum over pairs of the second derivative of their loss."""
        first, *second = (float(part.curvature_diagonal().sum()) for part in self.parts)
        return max(0.0, 0.5 * self.factor * (first - sum(second)))


class SmoothedHinge:
    """C Σ c·φ over a set of pairs, with the hinge smoothed over a width."""

    def __init__(self, pairs: PairSet, C: float, squared: bool) -> None:
        self.pairs = pairs
        self.C = C
        self.squared = squared
        self._outer = pair_loss("squared_hinge", pairs, 1.0)
        self._inner = self._outer
        self._width = 0.0

    def at(self, scores: Vector, h: float) -> HingeTerms:
        """Value and derivatives at some scores; the width plays no part in the squared hinge."""
        outer = self._outer.at(scores)
        if self.squared:
            value = self.C * outer.value
            return HingeTerms((outer,), self.C, value, value, 0.0, self.C * outer.gradient)
        if h != self._width:
            self._inner, self._width = pair_loss("squared_hinge", self.pairs, 1.0 - h), h
        inner = self._inner.at(scores)
        factor = 0.5 * self.C / h
        gradient = factor * (outer.gradient - inner.gradient)
        # The slope of the squared hinge, Σ 2c·t, is twice the hinge.
        exact = 0.5 * self.C * outer.slope
        earned = factor * (outer.slope - inner.slope) + float(gradient @ scores)
        value = factor * (outer.value - inner.value)
        return HingeTerms((outer, inner), factor, value, exact, max(0.0, exact - earned), gradient)
