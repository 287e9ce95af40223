"""The pairs that scores rank worst: for every row its worst partner, in O(n log n).

The margin of a pair is the score of its winner less that of its loser. Among the rows that a row
should beat, the one with the highest score has the least margin; a running maximum over the rows
sorted by level finds it for all of them.

With margins m_p = w·(x_winner − x_loser), weights c_p of sum P and a share ν the problem is

    max ρ − Σ_p c_p·max(0, ρ − m_p) / (νP)   over ρ and ‖w‖ ≤ 1 in the L1 or the L∞ norm,

which for given w is the mean of the least margins, those of a share ν of the pairs by weight. As ν
goes to zero it becomes max min_p m_p, the hard margin.

As a linear programme this has a slack for every pair, so it is approached by cutting planes. The
sum is convex in (w, ρ), and its value and slope at a point come from the sums of `pairs.losses`.
Each slope bounds the sum from below everywhere; a *master* programme with these bounds alone has d
+ 2 unknowns, and its optimum is never below that sought. The best value found is never above it,
and the difference of the two is the certificate. The optimum is taken from the multipliers of the
bounds, by duality: it holds whatever the tolerance of the master's solver. For the hard margin the
cuts are single pairs, those that the last weights rank worst.

The solver has absolute tolerances, so the inputs are brought to a range of about one first.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..._utils.types import Codes, Matrix, Vector
from ...pairs import LevelPairs, PairSet
from ...pairs.losses import pair_loss


class WorstPairs(NamedTuple):
    """Pairs and their margins, least first; the first has the least margin of all pairs."""

    winners: Codes
    losers: Codes
    margins: Vector


def worst_pairs(
    pairs: PairSet, scores: Vector, limit: int | None = None, keys: Vector | None = None
) -> WorstPairs:
    """Pair every row with the partners of least margin, above and below it; add stated pairs.

    Parameters
    ----------
    pairs : PairSet
        At least one pair.
    scores : ndarray of shape (n,)
    limit : int, optional
        Most pairs to return.
    keys : ndarray of shape (n,), optional
        Decide between equal scores and margins, instead of the order of rows.

    Returns
    -------
    worst : WorstPairs
        No implied pair twice.

    Examples
    --------
    >>> pairs = PairSet.from_labels([0, 0, 1, 2])
    >>> worst_pairs(pairs, np.array([0.0, 3.0, 2.0, 5.0])).margins
    array([-1.,  2.,  2.,  3.])
    """
    if keys is None:
        keys = np.zeros(len(scores))
    winners, losers = _implied_worst(pairs.implied, scores, keys)
    if pairs.listed is not None:
        winners = np.concatenate([pairs.listed.winners, winners])
        losers = np.concatenate([pairs.listed.losers, losers])
    margins = scores[winners] - scores[losers]
    order = np.lexsort((keys[losers], keys[winners], margins))[:limit]
    return WorstPairs(winners[order], losers[order], margins[order])


def _implied_worst(part: LevelPairs | None, scores: Vector, keys: Vector) -> tuple[Codes, Codes]:
    if part is None:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    values, keys, m = scores[part.rows], keys[part.rows], len(part.rows)
    segments, queries = part.segments, part.row_queries
    level_start, level_end = part.starts[segments], part.starts[segments + 1]
    query_start = part.starts[part.queries[queries]]
    query_end = part.starts[part.queries[queries + 1]]
    best_below = _running_best(values, keys, queries)
    beats = np.flatnonzero(level_start > query_start)
    loser = best_below[level_start[beats] - 1]
    # Upside down, the worst of the rows above is the best of those below.
    turned = _running_best(-values[::-1], keys[::-1], queries[-1] - queries[::-1])
    worst_above = (m - 1 - turned)[::-1]
    beaten = np.flatnonzero(level_end < query_end)
    winner = worst_above[level_end[beaten]]
    both = np.unique(np.r_[beats * m + loser, winner * m + beaten])
    return part.rows[both // m], part.rows[both % m]


def _running_best(values: Vector, keys: Vector, queries: Codes) -> Codes:
    """Place of the greatest value up to each entry within its query; queries ascend."""
    m = len(values)
    order = np.lexsort((keys, values))
    rank = np.empty(m, dtype=np.intp)
    rank[order] = np.arange(m)
    best = np.maximum.accumulate(rank + queries * m)
    return order[best - queries * m]


# Cuts that no optimum of the master has needed for so many steps are dropped.
_PATIENCE = 20
# Most pairs that a step adds for the hard margin.
_MOST_PAIRS = 50
# Most points along ρ for one w.
_MOST_POINTS = 60


@dataclass(frozen=True)
class MarginResult:
    """Weights with a margin, and bounds of the optimum.

    Parameters
    ----------
    coef : ndarray of shape (d,)
        A vertex of the last master programmes, so few entries differ from zero in the L1 norm.
    margin : float
        ρ.
    value : float
        The objective at (coef, margin).
    upper : float
        No weights have a greater one.
    n_cuts : int
        Linear constraints made in all.
    n_iter : int
    converged : bool
        Whether upper − value is within the tolerance.
    scale : float
        The objective for ν = 1, which no other exceeds; the tolerance is in units of it.
    """

    coef: Vector
    margin: float
    value: float
    upper: float
    n_cuts: int
    n_iter: int
    converged: bool
    scale: float


class _Point(NamedTuple):
    """Objective and cuts at a point; a cut is a row over (w, ρ, z) that is at most zero."""

    coef: Vector
    margin: float
    value: float
    cuts: Matrix


def maximise_margin(
    X: Any, pairs: PairSet, *, nu: float, norm: str, tol: float, max_iter: int
) -> MarginResult:
    """Solve the programme to a certified gap.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    pairs : PairSet
    nu : float
        Share of pairs whose mean margin is maximised, below one; zero for the least margin.
    norm : {"l1", "linf"}
    tol : float
        Largest gap between the bounds, in units of the objective for ν = 1.
    max_iter : int
        Most master programmes.

    Notes
    -----
    Each step evaluates the optimum of the master, and the middle between it and the best point
    known: the middle makes deeper cuts, the optimum is a vertex.
    """
    X, spans, unit = _in_range(X)
    oracle = _HardMargin(X, pairs) if nu == 0.0 else _SoftMargin(X, pairs, nu)
    mean = _mean_difference(X, pairs)
    scale = float(np.abs(mean).max() if norm == "l1" else np.abs(mean).sum())
    master = _Master(spans, norm)
    # The mean over all pairs is never below that of the least margins.
    master.add(np.r_[-mean, 1.0, -1.0][None])
    upper, n_iter = master.widest, 0
    best = centre = _Point(np.zeros(len(mean)), 0.0, 0.0, np.empty((0, len(mean) + 2)))
    while n_iter < max_iter and upper - best.value > tol * scale:
        n_iter += 1
        found = master.solve()
        if found is None:
            break
        coef, margin, bound = found
        upper = min(upper, bound)
        slack = 0.1 * max(upper - centre.value, 0.0)
        vertex = oracle.at(coef, margin, slack)
        middle = oracle.at(0.5 * (coef + centre.coef), 0.5 * (margin + centre.margin), slack)
        master.add(vertex.cuts)
        master.add(middle.cuts)
        best = max(best, vertex, key=attrgetter("value"))
        centre = max(centre, vertex, middle, key=attrgetter("value"))
    return MarginResult(
        coef=best.coef,
        margin=best.margin * unit,
        value=best.value * unit,
        upper=max(upper, best.value) * unit,
        n_cuts=master.n_made,
        n_iter=n_iter,
        converged=upper - best.value <= tol * scale,
        scale=scale * unit,
    )


class _Master:
    """max ρ − z over the cuts made so far, ‖w‖ ≤ 1 and z ≥ 0."""

    def __init__(self, spans: Vector, norm: str) -> None:
        d = len(spans)
        self._split = norm == "l1"
        self._cuts = np.empty((0, d + 2))
        self._age = np.empty(0, dtype=np.intp)
        self.n_made = 0
        free = (spans > 0.0).astype(np.float64)
        # No margin is wider than the inputs are apart.
        widest = 1.0 + float(spans.max() if self._split else spans.sum())
        self._free, self.widest = free, widest
        # A constant input has no part in any margin.
        low = np.zeros(2 * d) if self._split else -free
        high = np.tile(free, 2) if self._split else free
        self._bounds = np.r_[np.c_[low, high], [[-widest, widest], [0.0, np.inf]]]
        self._objective = np.r_[np.zeros(len(low)), -1.0, 1.0]

    def add(self, cuts: Matrix) -> None:
        self._cuts = np.r_[self._cuts, cuts]
        self._age = np.r_[self._age, np.zeros(len(cuts), dtype=np.intp)]
        self.n_made += len(cuts)

    def solve(self) -> tuple[Vector, float, float] | None:
        """Optimal w and ρ, and a bound of the optimum; None where rounding defeats the solver."""
        d, rows = self._cuts.shape[1] - 2, self._cuts
        limits = np.zeros(len(rows))
        if self._split:
            # w is the difference of two parts that sum to ‖w‖.
            rows = np.c_[rows[:, :d], -rows[:, :d], rows[:, d:]]
            rows = np.r_[rows, [np.r_[np.ones(2 * d), 0.0, 0.0]]]
            limits = np.r_[limits, 1.0]
        found = linprog(self._objective, A_ub=rows, b_ub=limits, bounds=self._bounds)
        if found.x is None:
            return None
        multipliers = np.maximum(-found.ineqlin.marginals[: len(self._cuts)], 0.0)
        bound = self._bound(multipliers)
        self._age = np.where(multipliers > 0.0, 0, self._age + 1)
        kept = self._age <= _PATIENCE
        self._cuts, self._age = self._cuts[kept], self._age[kept]
        w = found.x[:d] - found.x[d : 2 * d] if self._split else found.x[:d]
        return w, float(found.x[-2]), bound

    def _bound(self, multipliers: Vector) -> float:
        """What no w, ρ and z exceed, by duality, whichever multipliers of the cuts are given."""
        # A point has ρ − z ≤ ρ − z − Σ λ·cut, which a sum of at most one keeps bounded in z.
        excess = float(multipliers @ -self._cuts[:, -1])
        total = (multipliers / max(excess, 1.0)) @ self._cuts
        slopes = np.abs(total[:-2]) * self._free
        reach = slopes.max(initial=0.0) if self._split else slopes.sum()
        return float(reach + self.widest * abs(1.0 - total[-2]))


class _HardMargin:
    """Least margin; the cuts are the pairs with the least margins."""

    def __init__(self, X: Any, pairs: PairSet) -> None:
        self._X, self._pairs = X, pairs

    def at(self, coef: Vector, margin: float, slack: float) -> _Point:
        worst = worst_pairs(self._pairs, self._X @ coef, _MOST_PAIRS)
        violated = worst.margins < margin
        violated[0] = True
        differences = self._X[worst.winners[violated]] - self._X[worst.losers[violated]]
        rows = differences.toarray() if sp.issparse(differences) else differences
        cuts = np.c_[-rows, np.ones(len(rows)), np.zeros(len(rows))]
        least = float(worst.margins[0])
        return _Point(coef, least, least, cuts)


class _SoftMargin:
    """Mean of the least margins; the cuts are slopes on either side of the best ρ."""

    def __init__(self, X: Any, pairs: PairSet, nu: float) -> None:
        self._X, self._pairs = X, pairs
        self._mass = nu * pairs.total_weight

    def at(self, coef: Vector, margin: float, slack: float) -> _Point:
        """Search the best ρ for the given w by tangents, until it is known to within `slack`."""
        scores = self._X @ coef
        step = 0.1 * float(np.ptp(scores)) + 1e-12
        low: _Tangent | None = None
        high: _Tangent | None = None
        for _ in range(_MOST_POINTS):
            tangent = self._tangent(scores, margin)
            # Below the best ρ the objective rises, above it falls.
            if tangent.slope >= 0.0:
                low = tangent
            else:
                high = tangent
            if tangent.slope == 0.0:
                break
            if low is None or high is None:
                margin += step if high is None else -step
                step *= 2.0
                continue
            margin, bound = _crossing(low, high)
            settled = bound - max(low.value, high.value) <= slack
            if settled or not low.margin < margin < high.margin:
                break
        known = [tangent for tangent in (low, high) if tangent is not None]
        best = max(known, key=lambda tangent: tangent.value)
        return _Point(coef, best.margin, best.value, np.array([self._cut(t) for t in known]))

    def _tangent(self, scores: Vector, margin: float) -> _Tangent:
        point = pair_loss("hinge", self._pairs, margin).at(scores)
        value = margin - point.value / self._mass
        return _Tangent(margin, value, 1.0 - point.slope / self._mass, point.gradient)

    def _cut(self, tangent: _Tangent) -> Vector:
        gradient = np.asarray(self._X.T @ tangent.gradient) / self._mass
        return np.asarray(np.r_[gradient, 1.0 - tangent.slope, -1.0])


class _Tangent(NamedTuple):
    margin: float
    value: float
    slope: float
    gradient: Vector


def _crossing(low: _Tangent, high: _Tangent) -> tuple[float, float]:
    """Where two tangents of a concave function meet, and how high."""
    rise = low.value - high.value + high.slope * (high.margin - low.margin)
    away = -rise / (low.slope - high.slope)
    return low.margin + away, low.value + low.slope * away


def _mean_difference(X: Any, pairs: PairSet) -> Vector:
    """Mean of x_winner − x_loser over all pairs by weight."""
    # At equal scores every pair lies within any positive margin.
    point = pair_loss("hinge", pairs, 1.0).at(np.zeros(pairs.n_items))
    return -np.asarray(X.T @ point.gradient) / pairs.total_weight


def _in_range(X: Any) -> tuple[Any, Vector, float]:
    """Inputs in a unit, the range of each in it, and the unit: a power of two, so exact."""
    if sp.issparse(X):
        low, high = (np.ravel(side(axis=0).toarray()) for side in (X.min, X.max))
        middle = 0.0
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        middle = 0.5 * low + 0.5 * high
    # A margin has differences of rows alone, so dense inputs may lie around zero.
    widest = float((high - low).max())
    unit = 2.0 ** np.round(np.log2(widest)) if widest > 0.0 else 1.0
    return (X - middle if np.any(middle) else X) / unit, (high - low) / unit, float(unit)
