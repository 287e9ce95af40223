"""The dual problems of support vector ordinal regression, as data for one engine.

Primal, over a function f of the kernel's space and thresholds b, with boxes U[k, i] ≥ 0:

    min  ½‖f‖² + Σ_ik U[k, i]·max(0, 1 − Z_ik(f_i − b_k))  [+ ½ Σ_k b_k²]  [with b_1 ≤ … ≤ b_{K−1}]

Dual, with β_i = Σ_k Z_ik α_ik and d_k = Σ_i Z_ik α_ik:

    min  ½ βᵀKβ − Σ α  [+ ½ Σ_k d_k²]    with 0 ≤ α ≤ U and the coupling of the d_k.

The couplings are those of `Coupling`:

- SEPARATE  thresholds are free, so d_k = 0 for each k ([CK07] (25));
- ORDERED  thresholds must ascend, so d_1 + … + d_k = −μ_k ≤ 0 with equality for k = K−1
  ([CK07] (12), whose μ^{k+1} is the ``link`` μ_k here);
- RIDGE  thresholds are penalised ([CK07] footnote 2): d is free, ½Σd² is added, b_k = −d_k;
- COMMON  penalised around a free common offset b_0, which is the kernel k(x, x′) + [k = k′] of the
  reduction to one binary machine with a bias: Σ_k d_k = 0 and b_k = b_0 − d_k.

A formulation is a function that builds such a dual from codes and boxes. [CK07] lemma 1, by which
the thresholds of the implicit form ascend by themselves, needs boxes that never shrink away from
an example's class: for convex costs it holds, for others (the zero-one cost gives the form of
Shashua and Levin) it fails, and `implicit` then imposes the order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..._native._smo import Coupling, bounds, partners
from ..._utils.types import Codes, Index, Matrix, Vector
from ...kernels.cache import RowSource
from ...ordinal.thresholds import fit_hinge

#: stands for the bound of a threshold that has none
NOTHING = 1e300


@dataclass(frozen=True)
class ThresholdDual:
    """Codes, boxes of shape (K−1, n) with a row per threshold, and the coupling."""

    codes: Codes
    upper: Matrix
    coupling: Coupling

    @property
    def n_thresholds(self) -> int:
        """K−1."""
        return len(self.upper)

    @property
    def penalised(self) -> bool:
        """Whether the thresholds are penalised."""
        return self.coupling in (Coupling.COMMON, Coupling.RIDGE)

    def sides(self) -> npt.NDArray[np.int8]:
        """Z with a row per threshold."""
        above = self.codes > np.arange(self.n_thresholds)[:, None]
        return np.where(above, np.int8(1), np.int8(-1))

    def restrict(self, index: Index) -> ThresholdDual:
        """Keep some of the examples."""
        upper = np.ascontiguousarray(self.upper[:, index])
        return ThresholdDual(self.codes[index], upper, self.coupling)


def implicit(codes: Codes, boxes: Matrix) -> ThresholdDual:
    """Every example counts at every threshold where its box, (n, K−1), is not empty."""
    return _dual(codes, boxes, Coupling.SEPARATE if _grows(codes, boxes) else Coupling.ORDERED)


def explicit(codes: Codes, boxes: Matrix) -> ThresholdDual:
    """Thresholds ascend by constraint."""
    return _dual(codes, boxes, Coupling.ORDERED)


def unordered(codes: Codes, boxes: Matrix) -> ThresholdDual:
    """Thresholds are free; nothing keeps them from crossing."""
    return _dual(codes, boxes, Coupling.SEPARATE)


def penalised(codes: Codes, boxes: Matrix) -> ThresholdDual:
    """Thresholds are penalised by ½Σb²."""
    return _dual(codes, boxes, Coupling.RIDGE)


def penalised_around_offset(codes: Codes, boxes: Matrix) -> ThresholdDual:
    """Distances of thresholds from a free offset are penalised by ½Σ(b − b_0)²."""
    return _dual(codes, boxes, Coupling.COMMON)


def _dual(codes: Codes, boxes: Matrix, coupling: Coupling) -> ThresholdDual:
    return ThresholdDual(
        np.ascontiguousarray(codes, dtype=np.intp), np.ascontiguousarray(boxes.T), coupling
    )


def _grows(codes: Codes, boxes: Matrix) -> bool:
    """Whether no box is smaller than one nearer to its example's class."""
    steps = np.diff(boxes, axis=1)
    lower = np.arange(steps.shape[1]) + 1
    above = np.where(lower > codes[:, None], steps, 0.0)
    below = np.where(lower < codes[:, None], -steps, 0.0)
    return bool((above >= 0.0).all() and (below >= 0.0).all())


@dataclass
class Iterate:
    """A feasible point: α of shape (K−1, n), scores f = Kβ, sums d and links μ."""

    alpha: Matrix
    scores: Vector
    sums: Vector
    link: Vector

    @classmethod
    def zero(cls, dual: ThresholdDual) -> Iterate:
        """The point α = 0."""
        m, n = dual.upper.shape
        return cls(np.zeros((m, n)), np.zeros(n), np.zeros(m), np.zeros(m))

    @classmethod
    def at(cls, dual: ThresholdDual, alpha: Matrix, scores: Vector) -> Iterate:
        """A point with given α and scores."""
        sums = np.einsum("ki,ki->k", alpha, dual.sides())
        return cls(alpha, scores, sums, links(dual, sums))


@dataclass(frozen=True)
class DualSolution:
    """Solution with its certificate.

    ``kkt_gap`` is the largest violation of the optimality conditions, in units of the scores;
    ``duality_gap`` is primal minus dual value, so the objective is at most that far from optimal.
    """

    alpha: Matrix
    coef: Vector
    scores: Vector
    thresholds: Vector
    objective: float
    kkt_gap: float
    duality_gap: float
    n_steps: int
    converged: bool


def links(dual: ThresholdDual, sums: Vector) -> Vector:
    """μ_k = −(d_1 + … + d_k); rounding below zero is cut off."""
    if dual.coupling != Coupling.ORDERED:
        return np.zeros(len(sums))
    link = np.maximum(-np.cumsum(sums), 0.0)
    link[link < 1e-12 * np.abs(sums).max(initial=0.0)] = 0.0
    link[-1:] = 0.0
    return link


def coefficients(dual: ThresholdDual, alpha: Matrix) -> Vector:
    """β."""
    beta: Vector = np.einsum("ki,ki->i", alpha, dual.sides())
    # An example whose multipliers cancel exactly is no support vector; their rounding must not
    # make it one.
    beta[np.abs(beta) < 1e-14 * alpha.sum(axis=0)] = 0.0
    return beta


@dataclass(frozen=True)
class Bounds:
    """KKT bounds: per threshold, and the partners that each may be exchanged with."""

    up: Vector
    low: Vector
    low_for_up: Vector
    up_for_low: Vector
    shift: Vector

    @property
    def gap(self) -> float:
        """Largest violation of the optimality conditions, [CK07] (19)."""
        worst = max((self.low_for_up - self.up).max(), (self.low - self.up_for_low).max())
        return max(0.0, float(worst))


def kkt_bounds(dual: ThresholdDual, point: Iterate) -> Bounds:
    """Bounds at a point."""
    m = dual.n_thresholds
    up, low, low_for_up, up_for_low = (np.empty(m) for _ in range(4))
    shift = point.sums if dual.penalised else np.zeros(m)
    bounds(point.scores, point.alpha, dual.upper, dual.codes, shift, up, low)
    partners(up, low, point.link, dual.coupling, low_for_up, up_for_low)
    return Bounds(up, low, low_for_up, up_for_low, shift)


def worst_exchange(dual: ThresholdDual, point: Iterate, limits: Bounds) -> Bounds:
    """Bounds with partners for the worst up bound alone, as if all other pairs were optimal."""
    if dual.coupling == Coupling.RIDGE:
        return limits
    worst = np.arange(dual.n_thresholds) == np.argmax(limits.low_for_up - limits.up)
    up = np.where(worst, limits.up, NOTHING)
    low_for_up, up_for_low = np.empty_like(up), np.empty_like(up)
    partners(up, limits.low, point.link, dual.coupling, low_for_up, up_for_low)
    low_for_up = np.where(worst, low_for_up, -NOTHING)
    return replace(limits, low_for_up=low_for_up, up_for_low=up_for_low)


def dual_objective(dual: ThresholdDual, point: Iterate) -> float:
    """½ βᵀKβ − Σ α [+ ½Σd²]."""
    value = 0.5 * coefficients(dual, point.alpha) @ point.scores - point.alpha.sum()
    if dual.penalised:
        value += 0.5 * point.sums @ point.sums
    return float(value)


def primal_objective(dual: ThresholdDual, point: Iterate, thresholds: Vector) -> float:
    """Value of the primal at the point's scores and some thresholds."""
    value = 0.5 * coefficients(dual, point.alpha) @ point.scores
    for k, b in enumerate(thresholds):
        used = dual.upper[k] > 0.0
        side = np.where(dual.codes[used] > k, 1.0, -1.0)
        slack = 1.0 - side * (point.scores[used] - b)
        value += dual.upper[k, used] @ np.maximum(slack, 0.0)
    if dual.penalised:
        deviation = point.sums if dual.coupling == Coupling.COMMON else thresholds
        value += 0.5 * deviation @ deviation
    return float(value)


def thresholds_of(dual: ThresholdDual, point: Iterate, limits: Bounds) -> Vector:
    """Optimal thresholds: the middle of the interval that the scores leave to each.

    Where the thresholds are not penalised they minimise the primal for these scores exactly, so
    that under an order (which the implicit form has by itself) they ascend exactly. A threshold
    without examples on one side lies at −∞ or +∞.
    """
    if dual.coupling == Coupling.RIDGE:
        return -point.sums
    if dual.coupling == Coupling.COMMON:
        offset = 0.5 * (limits.up.min() + limits.low.max())
        return np.asarray(offset - point.sums)
    if dual.coupling == Coupling.ORDERED or _grows(dual.codes, dual.upper.T):
        return fit_hinge(point.scores, dual.codes, dual.n_thresholds + 1, dual.upper.T)
    middle = 0.5 * (limits.up + limits.low)
    above = ((dual.sides() > 0) & (dual.upper > 0.0)).any(axis=1)
    below = ((dual.sides() < 0) & (dual.upper > 0.0)).any(axis=1)
    top, bottom = limits.up >= NOTHING, limits.low <= -NOTHING
    middle = np.where(top, np.where(above, limits.low, np.inf), middle)
    return np.where(bottom, np.where(below, limits.up, -np.inf), middle)


Solved = tuple[ThresholdDual, DualSolution]


def best_start(dual: ThresholdDual, source: RowSource, *earlier: Solved | None) -> Matrix | None:
    """The start of least objective that earlier solutions give; None if they give none."""
    found = [scaled_start(dual, *solved) for solved in earlier if solved is not None]
    starts = [start for start in found if start is not None]
    if len(starts) < 2:
        return starts[0] if starts else None

    def objective(alpha: Matrix) -> float:
        scores = source.times(coefficients(dual, alpha))
        return dual_objective(dual, Iterate.at(dual, alpha, scores))

    return min(starts, key=objective)


def scaled_start(
    dual: ThresholdDual, before: ThresholdDual, solution: DualSolution
) -> Matrix | None:
    """Feasible multipliers where the boxes are a multiple of another problem's; None if not so."""
    if dual.coupling != before.coupling or not np.array_equal(dual.codes, before.codes):
        return None
    total = before.upper.sum()
    if dual.upper.shape != before.upper.shape or not total > 0.0:
        return None
    ratio = dual.upper.sum() / total
    if not np.allclose(dual.upper, ratio * before.upper, rtol=1e-9, atol=0.0):
        return None
    return ray_start(dual, solution)


def ray_start(dual: ThresholdDual, solution: DualSolution) -> Matrix:
    """The best feasible multipliers on the ray through the solution of a problem of other boxes.

    The objective is t²·½βᵀKβ − t·Σα there, least at t = Σα / βᵀKβ.
    """
    used = solution.alpha > 0.0
    longest = float((dual.upper[used] / solution.alpha[used]).min(initial=np.inf))
    square = float(solution.coef @ solution.scores)
    if dual.penalised:
        sums = np.einsum("ki,ki->k", solution.alpha, dual.sides())
        square += float(sums @ sums)
    best = float(solution.alpha.sum()) / square if square > 0.0 else np.inf
    t = min(longest, best)
    return t * solution.alpha if t < np.inf else solution.alpha
