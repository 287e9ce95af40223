"""How far RankBoost goes along a base ranker.

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
from math import log

import numpy as np

from .rank_boost_lines import FewLine, Line, ManyLine

LARGEST_STEP = 0.5 * log(1e10)

_MOST_STEPS = 100
_ROUNDING = 4.0 * float(np.finfo(float).eps)


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

    def slope(step: float) -> tuple[float, float]:
        _, first, second = line.at(step)
        return first, second

    return _root(slope, LARGEST_STEP / line.spread)


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
        edge, bend = -first / loss, (first / loss) ** 2 - second / loss
        reach = norm + step
        return -(reach * edge + log_total + log(loss)), -reach * bend

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
