"""One pass over the rows: value, slopes and curvatures of smoothed threshold hinges.

With t_ik = 1 − Z_ik(f_i − b_k), scores f_i = x_i·w and masses c_ik = C·s_i·W_ik, both losses are

    φ_h(t) = a·t − ½·h·a²,   a = min(max(t, 0)/h, cap):

- squared hinge: h = ½ and no cap, so φ = max(t, 0)²;
- hinge: cap = 1 and a width h > 0, the hinge with its kink rounded over 0 < t < h, which is the
  hinge itself as h → 0.

The dual variables of a point are α_ik = c_ik·a_ik. Only blocks of rows times thresholds are held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..._utils.types import Codes, Matrix, Vector
from .svor_rows import Source, blocks


@dataclass(frozen=True)
class ThresholdHinges:
    """The loss of all rows as a function of (w, b); b has an entry for each group of thresholds.

    Parameters
    ----------
    source : iterable of (X, codes, weights)
    centre : ndarray of shape (d,)
        Subtracted from every row; the thresholds absorb it.
    masses : ndarray of shape (M, K)
        C·W for each threshold that is finite and each class.
    sides : ndarray of shape (M, K)
        +1 where the class lies above the threshold, else −1.
    groups : ndarray of shape (M,)
        The entry of b that a threshold takes: ascending, from 0 to G−1.
    cap : float
        1 for the hinge, infinity for the squared hinge.
    """

    source: Source
    centre: Vector
    masses: Matrix
    sides: Matrix
    groups: Codes
    cap: float

    @property
    def n_groups(self) -> int:
        """Number of free thresholds G."""
        return int(self.groups[-1]) + 1

    def by_group(self, values: Matrix) -> Matrix:
        """Sums over the thresholds of a group; thresholds along the last axis."""
        starts = np.searchsorted(self.groups, np.arange(self.n_groups))
        return np.asarray(np.add.reduceat(values, starts, axis=-1))


# A row so near to the margin counts as one on it.
_KINK = 1e-9


class Terms(NamedTuple):
    """Rows of a block along the last axis, thresholds along the first."""

    mass: Matrix
    side: Matrix
    t: Matrix
    a: Matrix


@dataclass
class Evaluation:
    """Loss at a point, with derivatives by w and by the groups' thresholds.

    ``value`` is the smoothed loss, ``exact`` that of the hinge itself, and ``rounding`` the part of
    the duality gap that the smoothing causes. ``gram`` is the d×d curvature by w or, when it was
    not asked for, its diagonal. ``drift`` is −h·∂(slope)/∂h, the direction in which the minimiser
    moves along the path.
    """

    value: float
    exact: float
    rounding: float
    slope_w: Vector
    slope_b: Vector
    gram: Matrix
    border: Matrix
    bend_b: Vector
    drift_w: Vector
    drift_b: Vector


def evaluate(
    loss: ThresholdHinges, w: Vector, b: Vector, h: float, spread: float, *, full_gram: bool
) -> Evaluation:
    """Everything that a Newton step needs, in one pass.

    With a ``spread`` above zero, rows so near to the rounded kink count as bent too, with the
    curvature of the parabola that touches the loss where they are and lies above it elsewhere.
    """
    d, M = len(w), len(loss.groups)
    thresholds = b[loss.groups]
    value = exact = rounding = 0.0
    gram = np.zeros((d, d) if full_gram else d)
    sums = np.zeros((d, M + 2))
    slope, bend, drift = np.zeros(M), np.zeros(M), np.zeros(M)
    for block, codes, weights in blocks(loss.source, loss.centre):
        terms = _terms(loss, block.dot(w), codes, weights, thresholds, h)
        mass, side, t, a = terms
        alpha = mass * a
        bends = _bends(loss, a)
        curvature = _curvature(mass, t, bends, h, spread)
        value += float(np.vdot(alpha, t) - 0.5 * h * np.vdot(alpha, a))
        signed = side * alpha
        pulled = np.where(bends, signed, 0.0)
        if np.isfinite(loss.cap):
            exact += float(np.vdot(mass, np.maximum(t, 0.0)))
            rounding += h * float(alpha.sum() - np.vdot(alpha, a))
        by_row = curvature.sum(axis=0)
        gram += block.gram(by_row) if full_gram else block.squares(by_row)
        columns = np.vstack([curvature, signed.sum(axis=0), pulled.sum(axis=0)])
        sums += block.transpose_dot(columns.T)
        slope += signed.sum(axis=1)
        bend += curvature.sum(axis=1)
        drift += pulled.sum(axis=1)
    return Evaluation(
        value=value,
        exact=exact if np.isfinite(loss.cap) else value,
        rounding=rounding,
        slope_w=-sums[:, M],
        slope_b=loss.by_group(slope),
        gram=gram,
        border=-loss.by_group(sums[:, :M]),
        bend_b=loss.by_group(bend),
        drift_w=-sums[:, M + 1],
        drift_b=loss.by_group(drift),
    )


def curvature_product(
    loss: ThresholdHinges, w: Vector, b: Vector, h: float, spread: float, V: Matrix
) -> Matrix:
    """Curvature by w times the columns of V, in one pass and without a d×d matrix."""
    thresholds = b[loss.groups]
    product = np.zeros_like(V)
    both = np.column_stack([w, V])
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(both)
        mass, _, t, a = _terms(loss, scores[:, 0], codes, weights, thresholds, h)
        by_row = _curvature(mass, t, _bends(loss, a), h, spread).sum(axis=0)
        product += block.transpose_dot(by_row[:, None] * scores[:, 1:])
    return product


def slopes_along(
    loss: ThresholdHinges,
    point: tuple[Vector, Vector],
    step: tuple[Vector, Vector],
    h: float,
    lengths: Vector,
) -> Vector:
    """Slope of the loss along a step, at (w, b) + length·step for each length, in one pass."""
    columns = np.column_stack([point[0], step[0]])
    thresholds, moves = point[1][loss.groups], step[1][loss.groups]
    slopes = np.zeros(len(lengths))
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(columns)
        mass, side, t, _ = _terms(loss, scores[:, 0], codes, weights, thresholds, h)
        rate = -side * (scores[:, 1] - moves[:, None])
        pull = mass * rate
        for j, length in enumerate(lengths):
            slopes[j] += np.vdot(pull, np.clip((t + length * rate) / h, 0.0, loss.cap))
    return slopes


@dataclass
class DualSums:
    """Sums over the dual variables of a point, apart for the two sides of every threshold.

    The first axis is the kind of sum: over the variables at their bound (``STUCK``), over the
    others (``FREE``), and over the bounds of the others (``ROOM``). The second is the side, below
    and above. ``total`` Σα has shape (3, 2, M), ``moment`` Σα·x has shape (3, 2, d, M), and
    ``charge`` Σα²/(4c) of the free variables of the squared hinge has shape (2, M).
    """

    total: Matrix
    moment: Matrix
    charge: Matrix


STUCK, FREE, ROOM = range(3)


def dual_sums(
    loss: ThresholdHinges,
    point: tuple[Vector, Vector],
    step: tuple[Vector, Vector],
    h: float,
) -> DualSums:
    """Sums that a feasible dual point is made from, in one pass.

    The dual variables are those that the quadratic model has after the Newton step: where rows
    bend sharply they balance far better than those of the point before or after it.
    """
    columns = np.column_stack([point[0], step[0]])
    thresholds, moves = point[1][loss.groups], step[1][loss.groups]
    d, M, hinge = len(point[0]), len(loss.groups), np.isfinite(loss.cap)
    sums = DualSums(np.zeros((3, 2, M)), np.zeros((3, 2, d, M)), np.zeros((2, M)))
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(columns)
        mass, side, _, a = _terms(loss, scores[:, 0], codes, weights, thresholds, h)
        bends = _bends(loss, a)
        ahead = np.clip(a - side * (scores[:, 1] - moves[:, None]) / h, 0.0, loss.cap)
        free = np.where(bends, mass * ahead, 0.0)
        kinds = [np.where(bends, 0.0, mass * a), free, np.where(bends, mass, 0.0)]
        for kind, alpha in enumerate(kinds if hinge else kinds[:2]):
            for j, on_side in enumerate((side < 0.0, side > 0.0)):
                part = np.where(on_side, alpha, 0.0)
                sums.total[kind, j] += part.sum(axis=1)
                sums.moment[kind, j] += block.transpose_dot(part.T)
                if kind == FREE and not hinge:
                    sums.charge[j] += 0.25 * (part * ahead).sum(axis=1)
    return sums


def flat_intervals(
    loss: ThresholdHinges, w: Vector, b: Vector, h: float
) -> tuple[npt.NDArray[np.bool_], Vector]:
    """Groups whose loss is flat at b, and the middles between the kinks beside b."""
    G, hinge = loss.n_groups, np.isfinite(loss.cap)
    slope, weight = np.zeros(G), np.zeros(G)
    lower, upper = np.full(G, -np.inf), np.full(G, np.inf)
    thresholds = b[loss.groups]
    starts = np.searchsorted(loss.groups, np.arange(G))
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(w)
        mass, side, t, _ = _terms(loss, scores, codes, weights, thresholds, h)
        steep = np.where(t > _KINK, mass, 0.0)
        # A squared hinge that anything bends has one minimiser, so its slopes must not cancel.
        slope += loss.by_group((side * steep if hinge else steep).sum(axis=1))
        weight += loss.by_group(mass.sum(axis=1))
        kinks = np.where(mass > 0.0, scores - side, np.nan)
        is_lower = np.where(side < 0.0, t <= _KINK, t > _KINK)
        below = np.where(is_lower, kinks, np.nan)
        above = np.where(is_lower, np.nan, kinks)
        lower = np.fmax(lower, np.fmax.reduceat(np.fmax.reduce(below, axis=1), starts))
        upper = np.fmin(upper, np.fmin.reduceat(np.fmin.reduce(above, axis=1), starts))
    flat = np.abs(slope) <= 1e-10 * weight
    flat &= np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        return flat, np.asarray(0.5 * (lower + upper))


def _bends(loss: ThresholdHinges, a: Matrix) -> npt.NDArray[np.bool_]:
    return np.asarray((a > 0.0) & (a < loss.cap))


def _curvature(
    mass: Matrix, t: Matrix, bends: npt.NDArray[np.bool_], h: float, spread: float
) -> Matrix:
    curvature = np.where(bends, mass, 0.0)
    curvature /= h
    if spread > 0.0:
        distance = np.abs(t - 0.5 * h)
        near = (distance < spread) & ~bends
        curvature[near] = 0.5 * mass[near] / distance[near]
    return curvature


def _terms(
    loss: ThresholdHinges,
    scores: Vector,
    codes: Codes,
    weights: Vector,
    thresholds: Vector,
    h: float,
) -> Terms:
    side = np.take(loss.sides, codes, axis=1)
    mass = np.take(loss.masses, codes, axis=1)
    mass *= weights
    t = scores - thresholds[:, None]
    t *= side
    np.subtract(1.0, t, out=t)
    return Terms(mass, side, t, np.clip(t / h, 0.0, loss.cap))
