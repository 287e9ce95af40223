"""One pass over the rows: value, gradient and curvature of a threshold loss.

With margins m_ik = Z_ik(f_i − b_k), scores f_i = x_i·w, t = 1 − m and masses c_ik = C·s_i·W_ik, the
losses with a ramp are

    φ_h(t) = a·t − ½·h·a²,   a = min(max(t, 0)/h, cap):

- squared hinge: h = ½ and no cap, so φ = max(t, 0)²;
- hinge: cap = 1 and a width h > 0, the hinge with its kink rounded over 0 < t < h, which is the
  hinge itself as h → 0.

For any other loss a = −φ′ and h has no meaning. The dual variables of a point are α_ik = c_ik·a_ik.
Only blocks of rows times thresholds are held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._utils.types import Codes, Mask, Matrix, Vector
from ...ordinal.losses import Function, MarginLoss
from .svor_rows import Source, blocks

# Losses that grow beyond all numbers are cut off here, far above any point that a search keeps.
_LARGEST = 1e100


@dataclass(frozen=True)
class ThresholdLoss:
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
    margin_loss : MarginLoss
        φ.
    """

    source: Source
    centre: Vector
    masses: Matrix
    sides: Matrix
    groups: Codes
    margin_loss: MarginLoss

    @property
    def kinked(self) -> bool:
        """Whether the loss has a kink, which is rounded over a width h."""
        return self.margin_loss.ramp is not None and self.margin_loss.ramp.width == 0.0

    @property
    def cap(self) -> float:
        """Bound of −φ′ for a loss with a ramp, infinity for any other."""
        return np.inf if self.margin_loss.ramp is None else self.margin_loss.ramp.cap

    def descent(self, t: Matrix, h: float) -> Matrix:
        """A = −φ′."""
        if self.margin_loss.ramp is None:
            return _cut_off(lambda m: -self.margin_loss.gradient(m), t)
        return np.clip(t / h, 0.0, self.cap)

    def total(self, terms: Terms, alpha: Matrix, h: float) -> float:
        """Σ c·φ."""
        if self.margin_loss.ramp is None:
            return float(np.vdot(terms.mass, _cut_off(self.margin_loss.value, terms.t)))
        return float(np.vdot(alpha, terms.t) - 0.5 * h * np.vdot(alpha, terms.a))

    def curvature(self, terms: Terms, h: float, spread: float) -> Matrix:
        """c·φ″, and of rows within `spread` of a rounded kink that of a parabola above the loss."""
        mass, _, t, _ = terms
        if self.margin_loss.ramp is None:
            return mass * _cut_off(self.margin_loss.curvature, t)
        curved = self.is_curved(terms.a)
        curvature = np.where(curved, mass, 0.0)
        curvature /= h
        if spread > 0.0:
            distance = np.abs(t - 0.5 * h)
            near = (distance < spread) & ~curved
            curvature[near] = 0.5 * mass[near] / distance[near]
        return curvature

    def is_curved(self, a: Matrix) -> Mask:
        """Where the ramp rises: neither at its foot nor at its cap."""
        return np.asarray((a > 0.0) & (a < self.cap))

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
    curvature_b: Vector
    drift_w: Vector
    drift_b: Vector


def evaluate(
    loss: ThresholdLoss, w: Vector, b: Vector, h: float, spread: float, *, full_gram: bool
) -> Evaluation:
    """Everything that a Newton step needs, in one pass.

    With a ``spread`` above zero, rows so near to the rounded kink count as curved too, with the
    curvature of the parabola that touches the loss where they are and lies above it elsewhere.
    """
    d, M = len(w), len(loss.groups)
    thresholds = b[loss.groups]
    value = exact = rounding = 0.0
    gram = np.zeros((d, d) if full_gram else d)
    sums = np.zeros((d, M + 2))
    slope, curvature_b, drift = np.zeros(M), np.zeros(M), np.zeros(M)
    for block, codes, weights in blocks(loss.source, loss.centre):
        terms = _terms(loss, block.dot(w), codes, weights, thresholds, h)
        mass, side, t, a = terms
        alpha = mass * a
        curvature = loss.curvature(terms, h, spread)
        value += loss.total(terms, alpha, h)
        signed = side * alpha
        moving = np.where(loss.is_curved(a), signed, 0.0)
        if loss.kinked:
            exact += float(np.vdot(mass, np.maximum(t, 0.0)))
            rounding += h * float(alpha.sum() - np.vdot(alpha, a))
        by_row = curvature.sum(axis=0)
        gram += block.gram(by_row) if full_gram else block.squares(by_row)
        columns = np.vstack([curvature, signed.sum(axis=0), moving.sum(axis=0)])
        sums += block.transpose_dot(columns.T)
        slope += signed.sum(axis=1)
        curvature_b += curvature.sum(axis=1)
        drift += moving.sum(axis=1)
    return Evaluation(
        value=value,
        exact=exact if loss.kinked else value,
        rounding=rounding,
        slope_w=-sums[:, M],
        slope_b=loss.by_group(slope),
        gram=gram,
        border=-loss.by_group(sums[:, :M]),
        curvature_b=loss.by_group(curvature_b),
        drift_w=-sums[:, M + 1],
        drift_b=loss.by_group(drift),
    )


def curvature_product(
    loss: ThresholdLoss, w: Vector, b: Vector, h: float, spread: float, V: Matrix
) -> Matrix:
    """Curvature by w times the columns of V, in one pass and without a d×d matrix."""
    thresholds = b[loss.groups]
    product = np.zeros_like(V)
    both = np.column_stack([w, V])
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(both)
        terms = _terms(loss, scores[:, 0], codes, weights, thresholds, h)
        by_row = loss.curvature(terms, h, spread).sum(axis=0)
        product += block.transpose_dot(by_row[:, None] * scores[:, 1:])
    return product


def slopes_along(
    loss: ThresholdLoss,
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
        weighted = mass * rate
        for j, length in enumerate(lengths):
            slopes[j] += np.vdot(weighted, loss.descent(t + length * rate, h))
    return slopes


@dataclass
class DualSums:
    """Sums over the dual variables of a point, apart for the two sides of every threshold.

    The first axis is the kind of sum: over the variables at their bound (``STUCK``), over the
    others (``FREE``), and over the bounds of the others (``ROOM``). The second is the side, below
    and above. ``total`` Σα has shape (3, 2, M) and ``moment`` Σα·x has shape (3, 2, d, M).
    ``charge``, of shape (2, M), is what the free variables lose of Σα in the dual objective,
    Σ(α + c·φ*(−α/c)): α²/(4c) for the squared hinge, nothing for the hinge. It is convex and zero
    at zero, so variables that are multiplied by a factor below one are charged no more than that
    factor to the power of ``degree`` times as much.
    """

    total: Matrix
    moment: Matrix
    charge: Matrix
    degree: int


STUCK, FREE, ROOM = range(3)


def dual_sums(
    loss: ThresholdLoss,
    point: tuple[Vector, Vector],
    step: tuple[Vector, Vector],
    h: float,
) -> DualSums:
    """Sums that a feasible dual point is made from, in one pass.

    The dual variables are those that the quadratic model has after the Newton step: where rows
    curve sharply they balance far better than those of the point before or after it. For a loss
    without a ramp they are those of the point after the step.
    """
    columns = np.column_stack([point[0], step[0]])
    thresholds, moves = point[1][loss.groups], step[1][loss.groups]
    d, M = len(point[0]), len(loss.groups)
    degree = 1 if loss.margin_loss.ramp is None else 2
    sums = DualSums(np.zeros((3, 2, M)), np.zeros((3, 2, d, M)), np.zeros((2, M)), degree)
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(columns)
        terms = _terms(loss, scores[:, 0], codes, weights, thresholds, h)
        kinds, charge = _dual_kinds(loss, terms, terms.side * (scores[:, 1] - moves[:, None]), h)
        for j, on_side in enumerate((terms.side < 0.0, terms.side > 0.0)):
            for kind, alpha in kinds.items():
                part = np.where(on_side, alpha, 0.0)
                sums.total[kind, j] += part.sum(axis=1)
                sums.moment[kind, j] += block.transpose_dot(part.T)
            sums.charge[j] += np.where(on_side, charge, 0.0).sum(axis=1)
    return sums


def _dual_kinds(
    loss: ThresholdLoss, terms: Terms, gain: Matrix, h: float
) -> tuple[dict[int, Matrix], Matrix | float]:
    """Dual variables by kind where margins gain so much, and the charge of the free ones."""
    mass, _, t, a = terms
    if loss.margin_loss.ramp is None:
        # By Fenchel's equality c·φ*(−a) = −c·(φ + a·m), so no loss needs to state its conjugate.
        after = loss.descent(t - gain, h)
        alpha = mass * after
        value = _cut_off(loss.margin_loss.value, t - gain)
        return {FREE: alpha}, alpha * (t - gain) - mass * value
    curved = loss.is_curved(a)
    after = np.clip(a - gain / h, 0.0, loss.cap)
    free = np.where(curved, mass * after, 0.0)
    kinds = {STUCK: np.where(curved, 0.0, mass * a), FREE: free}
    if loss.kinked:
        return kinds | {ROOM: np.where(curved, mass, 0.0)}, 0.0
    return kinds, 0.25 * (free * after)


def flat_intervals(loss: ThresholdLoss, w: Vector, b: Vector, h: float) -> tuple[Mask, Vector]:
    """Groups whose loss is flat at b, and the middles between the kinks beside b."""
    G = loss.n_groups
    slope, weight = np.zeros(G), np.zeros(G)
    lower, upper = np.full(G, -np.inf), np.full(G, np.inf)
    thresholds = b[loss.groups]
    starts = np.searchsorted(loss.groups, np.arange(G))
    for block, codes, weights in blocks(loss.source, loss.centre):
        scores = block.dot(w)
        mass, side, t, _ = _terms(loss, scores, codes, weights, thresholds, h)
        steep = np.where(t > _KINK, mass, 0.0)
        # A squared hinge with curvature anywhere has one minimiser, so its slopes must not cancel.
        slope += loss.by_group((side * steep if loss.kinked else steep).sum(axis=1))
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


def _terms(
    loss: ThresholdLoss,
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
    return Terms(mass, side, t, loss.descent(t, h))


def _cut_off(function: Function, t: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        return np.minimum(function(1.0 - t), _LARGEST)
