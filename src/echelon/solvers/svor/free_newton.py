"""Newton's step on the multipliers that are strictly between their bounds.

At the optimum every free multiplier (k, i) has v = f_i − Z_ik + s_k equal to the threshold b of
its group, which is a linear system once the free set is known:

    H p + v = E b,   Eᵀ p = 0,   H = K[i, i′] (+ [k = k′] where thresholds are penalised),

in signed steps p = Z·δα, with E the membership in groups: one per threshold, one per run of tied
thresholds, one in all, or none, as the coupling says. Pair steps find the free set quickly but
need many more steps to balance it when the boxes are large; this solves it at once. Where some
multipliers would leave their boxes, the step goes to the first bound on the way and on from there
without the multiplier that met it, as active set methods do; when there are many, all that would
leave are put on their bounds together and the rest solved again. Either way the end point is
feasible, and an exact search on the way there cannot raise the objective.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..._native._smo import Coupling
from ..._utils.types import Index, Mask, Matrix, Vector
from .dual import Iterate, ThresholdDual

# Added to the diagonal of H, as a part of its mean: a kernel matrix can be singular.
_RIDGE = 1e-9
# Up to this many free multipliers are fixed one by one, which is exact.
_FEW = 100
# How often multipliers are put on their bounds before the step is cut short instead.
_MAX_TRIMS = 8


def free_multipliers(dual: ThresholdDual, point: Iterate) -> tuple[Index, Index]:
    """Thresholds and examples of the multipliers strictly inside their boxes."""
    k, i = np.nonzero((point.alpha > 0.0) & (point.alpha < dual.upper))
    return k, i


def newton_step(
    dual: ThresholdDual, point: Iterate, block: Matrix, k: Index, i: Index
) -> Vector | None:
    """Signed steps of the free multipliers (k, i) of kernel block K[i, i′]; None if none helps."""
    system = _System(dual, point, block, k, i)
    p = system.solve()
    if p is None:
        return None
    p = p * min(system.room(p), _longest(dual, point, k, p))
    slope = float(p @ system.v)
    curvature = float(p @ (system.H @ p))
    if not slope < 0.0:
        return None
    return p * min(1.0, -slope / curvature) if curvature > 0.0 else p


class _System:
    def __init__(
        self, dual: ThresholdDual, point: Iterate, block: Matrix, k: Index, i: Index
    ) -> None:
        above = dual.codes[i] > k
        side = np.where(above, 1.0, -1.0)
        alpha, upper = point.alpha[k, i], dual.upper[k, i]
        self.v = point.scores[i] - side
        self.H = block
        if dual.penalised:
            self.v = self.v + point.sums[k]
            self.H = block + (k[:, None] == k)
        groups = _groups(dual, point)
        self.n_groups = 0 if groups is None else int(groups.max()) + 1
        self.groups = np.zeros(len(k), dtype=np.intp) if groups is None else groups[k]
        # Where each signed step would meet a bound.
        self.floor = np.where(above, -alpha, alpha - upper)
        self.ceiling = np.where(above, upper - alpha, alpha)

    def solve(self) -> Vector | None:
        """Signed steps to the solution within the bounds, or towards it; None if there is none."""
        return self._pivot() if len(self.v) <= _FEW else self._trim()

    def room(self, p: Vector) -> float:
        """Part of the steps that meets the first bound."""
        return float(self._rooms(p, 0.0).min(initial=np.inf))

    def _rooms(self, step: Vector, p: Vector | float) -> Vector:
        """Part of each step from p that meets a bound; infinite where nothing moves."""
        ends = np.where(step > 0.0, self.ceiling - p, self.floor - p)
        infinite = np.full(len(step), np.inf)
        return np.asarray(np.divide(ends, step, out=infinite, where=step != 0.0))

    def _pivot(self) -> Vector:
        """Go towards the solution to the first bound on the way, fix what met it, and so on."""
        p, v = np.zeros(len(self.v)), self.v.copy()
        free = np.ones(len(v), dtype=bool)
        none = np.zeros(self.n_groups)
        while free.any():
            step = np.zeros(len(v))
            step[free] = self._solve_free(free, -v[free], none)
            room = self._rooms(step, p)
            part = float(room.min())
            if part >= 1.0:
                return p + step
            p += part * step
            v += part * (self.H @ step)
            met = free & (room <= part)
            p[met] = np.where(step[met] > 0.0, self.ceiling[met], self.floor[met])
            free &= ~met
        return p

    def _trim(self) -> Vector | None:
        """Put all that would leave their boxes on the bounds at once and solve for the rest."""
        p = np.zeros(len(self.v))
        free = np.ones(len(self.v), dtype=bool)
        for _ in range(_MAX_TRIMS):
            fixed = ~free
            right = -self.v[free] - self.H[np.ix_(free, fixed)] @ p[fixed]
            sums = np.zeros(max(1, self.n_groups))
            np.subtract.at(sums, self.groups[fixed], p[fixed])
            p[free] = self._solve_free(free, right, sums)
            outside = free & ((p < self.floor) | (p > self.ceiling))
            if not outside.any():
                break
            p[outside] = np.clip(p[outside], self.floor[outside], self.ceiling[outside])
            free &= ~outside
            if len(np.unique(self.groups[free])) < len(np.unique(self.groups)):
                return None
        return p

    def _solve_free(self, free: Mask, right: Vector, sums: Vector) -> Vector:
        """Steps s of the free multipliers with H s = right + E b and Eᵀ s = sums."""
        H = self.H[np.ix_(free, free)]
        H[np.diag_indices_from(H)] += _RIDGE * max(float(np.mean(np.diag(H))), 1e-12)
        try:
            factor = scipy.linalg.cho_factor(H, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.zeros(len(right))
        if not self.n_groups:
            return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
        names, group = np.unique(self.groups[free], return_inverse=True)
        E = (group[:, None] == np.arange(len(names))).astype(np.float64)
        solved = scipy.linalg.cho_solve(factor, np.column_stack([right, E]), check_finite=False)
        needed = sums[names] - E.T @ solved[:, 0]
        b = np.linalg.lstsq(E.T @ solved[:, 1:], needed, rcond=None)[0]
        step = solved[:, 0] + solved[:, 1:] @ b
        # What rounding leaves of the groups' sums would add up over many steps.
        left = sums[names] - np.bincount(group, step)
        return np.asarray(step + (left / np.bincount(group))[group])


def _groups(dual: ThresholdDual, point: Iterate) -> Index | None:
    """Group of each threshold, or None where there are none."""
    m = dual.n_thresholds
    if dual.coupling == Coupling.SEPARATE:
        return np.arange(m)
    if dual.coupling == Coupling.ORDERED:
        return np.concatenate([[0], np.cumsum(point.link[:-1] <= 0.0)]).astype(np.intp)
    return np.zeros(m, dtype=np.intp) if dual.coupling == Coupling.COMMON else None


def _longest(dual: ThresholdDual, point: Iterate, k: Index, p: Vector) -> float:
    """Part of the step, at most one, that keeps the links above zero."""
    longest = 1.0
    if dual.coupling == Coupling.ORDERED:
        fall = np.cumsum(np.bincount(k, p, minlength=dual.n_thresholds))
        tied = (point.link > 0.0) & (fall > 0.0)
        if tied.any():
            longest = min(longest, float((point.link[tied] / fall[tied]).min()))
    return longest
