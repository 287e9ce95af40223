"""Newton's step on the multipliers that are strictly between their bounds.

At the optimum every free multiplier (k, i) has v = f_i − Z_ik + s_k equal to the threshold b of
its group, which is a linear system once the free set is known:

    H p + v = E b,   Eᵀ p = 0,   H = K[i, i′] (+ [k = k′] where thresholds are penalised),

in signed steps p = Z·δα, with E the membership in groups: one per threshold, one per run of tied
thresholds, one in all, or none, as the coupling says. Pair steps find the free set quickly but
need many more steps to balance it when the boxes are large; this solves it at once. Multipliers
that would leave their box are put on its bound and the rest solved again, so the end point is
feasible, and an exact search on the way there cannot raise the objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from .._native._smo import Coupling
from ..ordinal.costs import Matrix
from ..ordinal.thresholds import Vector
from .threshold_dual import Iterate, ThresholdDual

Index = npt.NDArray[np.intp]

# Added to the diagonal of H, as a part of its mean: a kernel matrix can be singular.
_RIDGE = 1e-9
# How often multipliers are put on their bounds before the step is cut short instead.
_MAX_TRIMS = 8


@dataclass(frozen=True)
class FreeStep:
    """Signed steps p of the multipliers (k, i)."""

    k: Index
    i: Index
    p: Vector


def free_multipliers(dual: ThresholdDual, point: Iterate) -> tuple[Index, Index]:
    """Thresholds and examples of the multipliers strictly inside their boxes."""
    k, i = np.nonzero((point.alpha > 0.0) & (point.alpha < dual.upper))
    return k, i


def newton_step(
    dual: ThresholdDual, point: Iterate, block: Matrix, k: Index, i: Index
) -> FreeStep | None:
    """Step on the free multipliers (k, i), whose kernel block is K[i, i′]; None if none helps."""
    system = _System(dual, point, block, k, i)
    p = system.solve()
    if p is None:
        return None
    p = p * _longest(dual, point, k, i, p)
    slope = float(p @ system.v)
    curvature = float(p @ (system.H @ p))
    if not slope < 0.0:
        return None
    return FreeStep(k, i, p * min(1.0, -slope / curvature) if curvature > 0.0 else p)


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
        self.groups = _groups(dual, point)[k]
        self.n_groups = int(self.groups.max(initial=-1)) + 1
        # Where each signed step would meet a bound.
        self.floor = np.where(above, -alpha, alpha - upper)
        self.ceiling = np.where(above, upper - alpha, alpha)

    def solve(self) -> Vector | None:
        """Signed steps within the bounds; None when no group keeps a free multiplier."""
        p = np.zeros(len(self.v))
        free = np.ones(len(self.v), dtype=bool)
        for _ in range(_MAX_TRIMS):
            p[free] = self._solve_free(free, p)
            outside = free & ((p < self.floor) | (p > self.ceiling))
            if not outside.any():
                return p
            p[outside] = np.clip(p[outside], self.floor[outside], self.ceiling[outside])
            free &= ~outside
            if len(np.unique(self.groups[free])) < len(np.unique(self.groups)):
                return None
        p[free] = self._solve_free(free, p)
        return p

    def _solve_free(self, free: npt.NDArray[np.bool_], p: Vector) -> Vector:
        fixed = ~free
        H = self.H[np.ix_(free, free)]
        right = -self.v[free]
        if fixed.any():
            right = right - self.H[np.ix_(free, fixed)] @ p[fixed]
        H[np.diag_indices_from(H)] += _RIDGE * max(float(np.mean(np.diag(H))), 1e-12)
        try:
            factor = scipy.linalg.cho_factor(H, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.zeros(len(right))
        if not self.n_groups:
            return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
        names, group = np.unique(self.groups[free], return_inverse=True)
        E = (group[:, None] == np.arange(len(names))).astype(np.float64)
        missing = -np.array([p[fixed & (self.groups == name)].sum() for name in names])
        solved = scipy.linalg.cho_solve(factor, np.column_stack([right, E]), check_finite=False)
        b = np.linalg.lstsq(E.T @ solved[:, 1:], missing - E.T @ solved[:, 0], rcond=None)[0]
        step = solved[:, 0] + solved[:, 1:] @ b
        # What rounding leaves of the groups' sums would add up over many steps.
        left = missing - np.bincount(group, step)
        return np.asarray(step + (left / np.bincount(group))[group])


def _groups(dual: ThresholdDual, point: Iterate) -> Index:
    """Group of each threshold, or −1 where there are none."""
    m = dual.n_thresholds
    if dual.coupling == Coupling.SEPARATE:
        return np.arange(m)
    if dual.coupling == Coupling.ORDERED:
        return np.concatenate([[0], np.cumsum(point.link[:-1] <= 0.0)]).astype(np.intp)
    return np.full(m, 0 if dual.coupling == Coupling.COMMON else -1, dtype=np.intp)


def _longest(dual: ThresholdDual, point: Iterate, k: Index, i: Index, p: Vector) -> float:
    """Part of the step, at most one, that keeps α in its boxes and the links above zero."""
    above = dual.codes[i] > k
    change = np.where(above, p, -p)
    alpha, upper = point.alpha[k, i], dual.upper[k, i]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(change > 0.0, (upper - alpha) / change, -alpha / change)
    longest = min(1.0, float(np.where(change == 0.0, np.inf, room).min(initial=np.inf)))
    if dual.coupling == Coupling.ORDERED:
        fall = np.cumsum(np.bincount(k, p, minlength=dual.n_thresholds))
        tied = (point.link > 0.0) & (fall > 0.0)
        if tied.any():
            longest = min(longest, float((point.link[tied] / fall[tied]).min()))
    return longest
