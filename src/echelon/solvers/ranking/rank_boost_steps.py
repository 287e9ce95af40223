"""A loss over pairs along a base ranker, and how far RankBoost goes along it.

What a base ranker h does to the loss F = Σ c·exp(−(f_winner − f_loser)) is Z(α) = F(f + α·h)/F(f) =
Σ D·e^{−α·(h(winner) − h(loser))}. With few values of h it takes the weight of the pairs for every
two of them; else moments of h, for Z and two derivatives at any α.

With D the weights of the pairs and ε⁺, ε⁻, ε⁰ the weight of those that h puts in order, in the
wrong order, and level:

- the exact step minimises Z(α): ½ ln(ε⁺/ε⁻) for h in {0, 1}, else by Newton's method;
- the book's step, [MRT18] figure 10.2, is ½ ln(E⁺[h]/E⁻[h]) with the means of h over winners and
  over losers. It is shorter than the exact one, which for one query of two levels is
  ½ ln(E⁺[h]·(1 − E⁻[h])/(E⁻[h]·(1 − E⁺[h])));
- the margin step maximises the smooth margin G = −ln F/‖α‖₁. With s = ‖α‖₁ and g = G before,
  G(η) = (g·s − ln Z(η))/(s + η), and its derivative has the sign of

      ψ(η) = (s + η)·e(η) − g·s + ln Z(η),  e = −Z′/Z the edge after the step,

  which falls in η, as ψ′ = (s + η)·e′ and ln Z is convex. The step is its only root: there the edge
  equals the new margin. It exists while the edge exceeds g; no h can raise G otherwise.

Where nothing is in the wrong order the exact step is infinite; no step exceeds ½ ln 10¹⁰ ≈ 11.5
over the spread of h, which leaves 10⁻⁵ of the weight of the pairs in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np

from ..._utils.types import Matrix, Vector

LARGEST_STEP = 0.5 * log(1e10)

_MOST_STEPS = 100
_ROUNDING = 4.0 * float(np.finfo(float).eps)


class _Spread:
    """Range of the values of h."""

    values: Vector

    @property
    def spread(self) -> float:
        """Greatest difference of two values of h."""
        return self.most - self.least

    @property
    def least(self) -> float:
        """Least value of h."""
        return float(self.values.min())

    @property
    def most(self) -> float:
        """Greatest value of h."""
        return float(self.values.max())


@dataclass(frozen=True)
class FewLine(_Spread):
    """Z for a base ranker with few values.

    Parameters
    ----------
    masses : ndarray of shape (A, A)
        Share of the pairs whose winner is in class a and loser in class b.
    values : ndarray of shape (A,)
        h of every class.
    upper, lower : ndarray of shape (S, A), optional
        Sums of u and v by segment and class.
    """

    masses: Matrix
    values: Vector
    upper: Matrix | None = None
    lower: Matrix | None = None

    @property
    def gains(self) -> Matrix:
        """h(winner) − h(loser) for every two classes."""
        return np.asarray(self.values[:, None] - self.values[None, :])

    @property
    def edge(self) -> float:
        """Mean of h(winner) − h(loser) over the pairs."""
        return float((self.masses * self.gains).sum())

    @property
    def least_gain(self) -> float:
        """Least h(winner) − h(loser); h puts all pairs in order where it is positive."""
        return float(self.gains[self.masses > 0].min())

    @property
    def means(self) -> tuple[float, float]:
        """Mean of h over the winners and over the losers."""
        winners, losers = self.masses.sum(axis=1), self.masses.sum(axis=0)
        return float(winners @ self.values), float(losers @ self.values)

    def at(self, step: float) -> tuple[float, float, float]:
        """Z and its two derivatives."""
        gains = self.gains
        terms = self.masses * np.exp(-step * gains)
        return float(terms.sum()), -float((gains * terms).sum()), float((gains**2 * terms).sum())


@dataclass(frozen=True)
class ManyLine(_Spread):
    """Z for a base ranker with many values.

    Parameters
    ----------
    weights, values : ndarray of shape (m,)
        π and h of the rows.
    moments : callable
        Sums over pairs of D·e^{−α·(h_i − h_j)}·h_i^a·h_j^b, a and b from 0 to 2, for h and α.
    """

    weights: Vector
    values: Vector
    moments: Callable[[Vector, float], Matrix]

    @property
    def edge(self) -> float:
        """Mean of h(winner) − h(loser) over the pairs."""
        return float(self.weights @ self.values)

    @property
    def least_gain(self) -> float:
        """Not known: boosting does not end at a base ranker with many values."""
        return -np.inf

    @property
    def means(self) -> tuple[float, float]:
        """Mean of h over the winners and over the losers."""
        moments = self.moments(self.values, 0.0)
        return float(moments[1, 0]), float(moments[0, 1])

    def at(self, step: float) -> tuple[float, float, float]:
        """Z and its two derivatives."""
        # Only differences of h matter, and these keep exponents small.
        m = self.moments(self.values - self.least, step)
        return float(m[0, 0]), float(m[0, 1] - m[1, 0]), float(m[2, 0] - 2 * m[1, 1] + m[0, 2])


@dataclass(frozen=True)
class LogisticLine:
    """The logistic loss along a base ranker; ``at`` gives its share after a step as for the others.

    ``least_gain`` is the least h(winner) − h(loser), or −∞ where it is not known to be positive.
    """

    edge: float
    spread: float
    least_gain: float
    at: Callable[[float], tuple[float, float, float]]


#: A loss along a base ranker, as a share of the loss where it starts.
Line = FewLine | ManyLine | LogisticLine


def exact_step(line: Line) -> float:
    """The step that leaves the least loss, for a base ranker of positive edge.

    Examples
    --------
    >>> line = FewLine(np.array([[0.3, 0.1], [0.4, 0.2]]), np.array([0.0, 1.0]))
    >>> exact_step(line) == 0.5 * log(4.0)
    True
    """
    if isinstance(line, FewLine) and len(line.values) == 2:
        spread = line.spread
        right, wrong = line.masses[1, 0], line.masses[0, 1]
        if line.values[0] > line.values[1]:
            right, wrong = wrong, right
        limit = LARGEST_STEP / spread
        return limit if wrong == 0.0 else min(limit, float(0.5 * np.log(right / wrong)) / spread)

    return _root(lambda step: line.at(step)[1:], LARGEST_STEP / line.spread)


def book_step(line: Line) -> float:
    """½ ln of the means of h over winners and losers, for h in [0, 1] of positive edge.

    Where h leaves that range it is the exact step.
    """
    if not isinstance(line, FewLine | ManyLine) or line.least < 0.0 or line.most > 1.0:
        return exact_step(line)
    winners, losers = line.means
    return LARGEST_STEP if losers <= 0.0 else min(LARGEST_STEP, 0.5 * log(winners / losers))


def margin_step(line: Line, log_total: float, norm: float) -> float:
    """The step that leaves the largest smooth margin; 0 where none raises it.

    Parameters
    ----------
    line : Line
    log_total : float
        ln F, negative.
    norm : float
        ‖α‖₁ up to here.
    """

    def falling(step: float) -> tuple[float, float]:
        loss, first, second = line.at(step)
        edge, curvature = -first / loss, (first / loss) ** 2 - second / loss
        reach = norm + step
        return -(reach * edge + log_total + log(loss)), -reach * curvature

    return _root(falling, LARGEST_STEP / line.spread)


def _root(function: Callable[[float], tuple[float, float]], limit: float) -> float:
    """Where an increasing function with its derivative crosses zero, between 0 and a limit."""
    if function(limit)[0] <= 0.0:
        return limit
    low, high, step = 0.0, limit, 0.0
    for _ in range(_MOST_STEPS):
        value, slope = function(step)
        if value == 0.0 or (step == 0.0 and value > 0.0):
            return step
        low, high = (step, high) if value < 0.0 else (low, step)
        following = step - value / slope if slope > 0.0 else high
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - step) <= _ROUNDING * following:
            return following
        step = following
    return step
