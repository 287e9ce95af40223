"""A slow, obvious solver of convex quadratic programmes, to compare the fast ones with.

``solve_qp`` is a primal-dual interior point method on dense matrices. ``solve_threshold_qp`` writes
a dual problem of support vector ordinal regression out in full, one variable for each multiplier
and one row for each constraint, and hands it over.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from echelon.solvers.svor.dual import Coupling


class QPSolution(NamedTuple):
    """Minimiser x, multipliers y of A x = b and z of G x ≤ h, and the value."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    objective: float


def solve_qp(P, q, A, b, G, h, upper, *, tol=1e-9, max_iter=100):
    """Minimise ½xᵀPx + qᵀx with A x = b, G x ≤ h and 0 ≤ x ≤ upper, all of about unit size.

    There must be a point strictly inside the inequalities, and A must have full row rank. The
    method is Mehrotra's: every inequality gets a slack s and a multiplier z, and Newton steps on
    the optimality conditions drive all products s·z to zero together.
    """
    n, m = len(q), len(b)
    lower_rows, upper_rows = np.s_[:n], np.s_[n : 2 * n]
    limit = np.concatenate([np.zeros(n), upper, h])

    def rows(x):
        return np.concatenate([-x, x, G @ x])

    def columns(z):
        return z[upper_rows] - z[lower_rows] + G.T @ z[2 * n :]

    x, y = 0.5 * upper, np.zeros(m)
    s, z = np.maximum(limit - rows(x), 1.0), np.ones(len(limit))
    for _ in range(max_iter):
        dual = P @ x + q + A.T @ y + columns(z)
        equal, below = A @ x - b, rows(x) + s - limit
        value = float(0.5 * x @ P @ x + q @ x)
        worst = max(np.abs(part).max(initial=0.0) for part in (dual, equal, below, [s @ z]))
        if worst <= tol * max(1.0, abs(value)):
            return QPSolution(x, y, z[2 * n :], value)
        # Bounds are eliminated; the other inequalities stay in the system, which keeps it well
        # conditioned where they are active.
        ratio = z / s
        diagonal = np.diag(ratio[lower_rows] + ratio[upper_rows])
        factor = scipy.linalg.lu_factor(
            np.block(
                [
                    [P + diagonal, A.T, G.T],
                    [A, np.zeros((m, m)), np.zeros((m, len(h)))],
                    [G, np.zeros((len(h), m)), -np.diag(1.0 / ratio[2 * n :])],
                ]
            )
        )

        def direction(rest, factor=factor, dual=dual, equal=equal, below=below, s=s, z=z):
            """Newton's direction that changes the products s·z by −rest."""
            kept = (z * below - rest) / s
            right = -dual - kept[upper_rows] + kept[lower_rows]
            tail = rest[2 * n :] / z[2 * n :] - below[2 * n :]
            step = scipy.linalg.lu_solve(factor, np.concatenate([right, -equal, tail]))
            ds = -below - rows(step[:n])
            dz = -(rest + z * ds) / s
            dz[2 * n :] = step[n + m :]
            return step[:n], step[n : n + m], ds, dz

        *_, ds, dz = direction(s * z)
        mean = s @ z / len(s)
        t = min(1.0, _longest(s, ds), _longest(z, dz))
        ahead = (s + t * ds) @ (z + t * dz) / len(s)
        dx, dy, ds, dz = direction(s * z + ds * dz - (ahead / mean) ** 3 * mean)
        t = min(1.0, 0.99 * min(_longest(s, ds), _longest(z, dz)))
        x, y, s, z = x + t * dx, y + t * dy, s + t * ds, z + t * dz
    raise RuntimeError(f"no convergence: the worst residual is {worst:.2g}")


def _longest(values, steps):
    falling = steps < 0.0
    return (-values[falling] / steps[falling]).min(initial=2.0)


def solve_threshold_qp(dual, gram):
    """Minimiser α of shape (K−1, n) and the value of a dual problem with kernel matrix ``gram``."""
    k, i = _free_to_move(dual)
    side = np.where(dual.codes[i] > k, 1.0, -1.0)
    sums = np.where(np.arange(dual.n_thresholds)[:, None] == k, side, 0.0)
    P = gram[np.ix_(i, i)] * np.outer(side, side)
    if dual.penalised:
        P = P + sums.T @ sums
    A, order = np.zeros((0, len(k))), np.zeros((0, len(k)))
    if dual.coupling == Coupling.SEPARATE:
        A = sums[sums.any(axis=1)]
    elif dual.coupling in (Coupling.COMMON, Coupling.ORDERED):
        A = side[None, :]
    if dual.coupling == Coupling.ORDERED:
        # The last sum is the equality, and before the first multiplier there is nothing to sum.
        order = np.cumsum(sums, axis=0)[k.min(initial=0) : k.max(initial=0)]
    # Small boxes are the unit of their multipliers, so that all numbers are about one.
    upper = dual.upper[k, i]
    unit = np.minimum(upper, 1.0)
    P, q = unit[:, None] * P * unit, -unit
    size = max(np.abs(P).max(initial=0.0), unit.max(initial=0.0))
    A, G = A * unit / unit.max(initial=0.0), order * unit / unit.max(initial=0.0)
    solution = solve_qp(P / size, q / size, A, np.zeros(len(A)), G, np.zeros(len(G)), upper / unit)
    alpha = np.zeros(dual.upper.shape)
    alpha[k, i] = unit * solution.x
    return alpha, size * solution.objective


def _free_to_move(dual):
    """Multipliers that no constraint forces to zero, so that the rest has an interior.

    Multipliers of one sign whose sum must vanish are all zero.
    """
    k, i = np.nonzero(dual.upper > 0.0)
    above = dual.codes[i] > k
    if dual.coupling == Coupling.SEPARATE:
        kept = np.isin(k, k[above]) & np.isin(k, k[~above])
    elif dual.coupling == Coupling.ORDERED:
        first, last = k[~above].min(initial=len(dual.upper)), k[above].max(initial=-1)
        kept = (k >= first) & (k <= last)
    elif dual.coupling == Coupling.COMMON:
        kept = np.full(len(k), above.any() and not above.all())
    else:
        kept = np.ones(len(k), dtype=bool)
    return k[kept], i[kept]
