"""One pass over the rows: value, gradient and curvature of a threshold loss.

With margins m_ik = Z_ik(f_i − b_k), scores f_i = x_i·w, t = 1 − m and masses c_ik = C·s_i·W_ik, the
losses with a ramp are

    φ_h(t) = a·t − ½·h·a²,   a = min(max(t, 0)/h, cap):

- squared hinge: h = ½ and no cap, so φ = max(t, 0)²;
- hinge: cap = 1 and a width h > 0, the hinge with its kink rounded over 0 < t < h, which is the
  hinge itself as h → 0.

For any other loss a = −φ′ and h has no meaning. The dual variables of a point are α_ik = c_ik·a_ik.
Only blocks of rows times thresholds are held.

`dual_value` makes a feasible dual point near a given one, and so a lower bound of the minimum that
is true. Dual feasibility asks that r_1 + … + r_k ≤ 0 for every k and = 0 for the last, where r_k is
the total of the dual variables above threshold k less that below: every unit above a threshold is
matched by a unit below the same or an earlier one. Near the optimum the totals match up to a
little, which is taken from or added to variables strictly between their bounds where possible:
there the dual objective is flat to first order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._utils.types import Codes, Mask, Matrix, Vector
from ...ordinal.losses import Function, MarginLoss
from .svor_rows import Block, Source, blocks

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

    def passes(self, columns: Matrix, b: Vector, h: float) -> Iterator[tuple[Block, Matrix, Terms]]:
        """Blocks of rows, their products with w and further columns, and their terms at (w, b)."""
        thresholds = b[self.groups]
        for block, codes, weights in blocks(self.source, self.centre):
            scores = block.dot(columns)
            side = np.take(self.sides, codes, axis=1)
            mass = np.take(self.masses, codes, axis=1)
            mass *= weights
            t = (scores if scores.ndim == 1 else scores[:, 0]) - thresholds[:, None]
            t *= side
            np.subtract(1.0, t, out=t)
            yield block, scores, Terms(mass, side, t, self.descent(t, h))

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
    value = exact = rounding = 0.0
    gram = np.zeros((d, d) if full_gram else d)
    sums = np.zeros((d, M + 2))
    slope, curvature_b, drift = np.zeros(M), np.zeros(M), np.zeros(M)
    for block, _, terms in loss.passes(w, b, h):
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


def row_curvatures(
    loss: ThresholdLoss, w: Vector, b: Vector, h: float, spread: float
) -> list[Vector]:
    """Curvature by the score of each row, block by block, in one pass."""
    return [
        loss.curvature(terms, h, spread).sum(axis=0)
        for _, _, terms in loss.passes(w[:, None], b, h)
    ]


def curvature_product(loss: ThresholdLoss, by_row: list[Vector], V: Matrix) -> Matrix:
    """Curvature by w times the columns of V, in one pass and without a d×d matrix."""
    product = np.zeros_like(V)
    parts = zip(blocks(loss.source, loss.centre), by_row, strict=True)
    for (block, _, _), curvature in parts:
        product += block.transpose_dot(curvature[:, None] * block.dot(V))
    return product


def slopes_along(
    loss: ThresholdLoss,
    point: tuple[Vector, Vector],
    step: tuple[Vector, Vector],
    h: float,
    lengths: Vector,
) -> Vector:
    """Slope of the loss along a step, at (w, b) + length·step for each length, in one pass."""
    moves, slopes = step[1][loss.groups], np.zeros(len(lengths))
    for _, scores, terms in loss.passes(np.column_stack([point[0], step[0]]), point[1], h):
        mass, side, t, _ = terms
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
    d, M, moves = len(point[0]), len(loss.groups), step[1][loss.groups]
    degree = 1 if loss.margin_loss.ramp is None else 2
    sums = DualSums(np.zeros((3, 2, M)), np.zeros((3, 2, d, M)), np.zeros((2, M)), degree)
    for block, scores, terms in loss.passes(np.column_stack([point[0], step[0]]), point[1], h):
        kinds, charge = _dual_kinds(loss, terms, terms.side * (scores[:, 1] - moves[:, None]), h)
        for j, on_side in enumerate((terms.side < 0.0, terms.side > 0.0)):
            for kind, alpha in kinds.items():
                part = np.where(on_side, alpha, 0.0)
                if not part.any():
                    continue
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


def dual_value(sums: DualSums) -> float:
    """Dual objective of the repaired point; zero, the value of α = 0, where that is more."""
    stuck, free, room = sums.total
    amount = match_sides(stuck + free)
    surplus = stuck + free - amount
    # What would have to come from variables at their bound is added on the other side instead.
    lift = np.clip(surplus - free, 0.0, np.maximum(room - free, 0.0)[::-1])
    amount = amount + lift + lift[::-1]
    factor = _factors(amount, stuck, free, room)
    below, above = np.einsum("ksm,ksdm->sd", factor, sums.moment)
    v = above - below
    gain = amount.sum() - float((factor[FREE] ** sums.degree * sums.charge).sum())
    return max(0.0, float(gain - 0.5 * v @ v))


def match_sides(total: Matrix) -> Matrix:
    """Largest parts of the totals below and above that match, those of one threshold first."""
    matched = np.repeat(total.min(axis=0)[None], 2, axis=0)
    left = total - matched
    waiting: list[int] = []
    for k in range(total.shape[1]):
        while waiting and left[1, k] > 0.0:
            j = waiting[-1]
            part = min(left[0, j], left[1, k])
            for side, place in ((0, j), (1, k)):
                left[side, place] -= part
                matched[side, place] += part
            if left[0, j] <= 0.0:
                waiting.pop()
        if left[0, k] > 0.0:
            waiting.append(k)
    return matched


def _factors(amount: Matrix, stuck: Matrix, free: Matrix, room: Matrix) -> Matrix:
    """Factors of the three kinds of sums for which their total is the amount."""
    factor = np.zeros((3, *amount.shape))
    factor[STUCK] = ratio(np.minimum(amount, stuck), stuck)
    wanted = np.maximum(amount - stuck, 0.0)
    lowered = ratio(np.minimum(wanted, free), free)
    raised = ratio(np.maximum(wanted - free, 0.0), room - free)
    factor[FREE] = lowered * (1.0 - raised)
    factor[ROOM] = raised
    return factor


def ratio(above: Vector, below: Vector) -> Vector:
    """Quotients, zero where the divisor is not positive."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0.0))


def flat_intervals(loss: ThresholdLoss, w: Vector, b: Vector, h: float) -> tuple[Mask, Vector]:
    """Groups whose loss is flat at b, and the middles between the kinks beside b."""
    G = loss.n_groups
    slope, weight = np.zeros(G), np.zeros(G)
    lower, upper = np.full(G, -np.inf), np.full(G, np.inf)
    starts = np.searchsorted(loss.groups, np.arange(G))
    for _, scores, (mass, side, t, _) in loss.passes(w, b, h):
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


def _cut_off(function: Function, t: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        return np.minimum(function(1.0 - t), _LARGEST)
