"""Linear support vector ordinal regression [CK07] by Newton's method on the primal.

The problem, for rows x_i with codes y_i and weights s_i, sides Z_ik = ±1 and threshold weights W:

    min over w and b_1 ≤ … ≤ b_{K−1} of
    ½‖w‖² + C Σ_i s_i Σ_k W[y_i, k] φ(1 − Z_ik (x_i·w − b_k)),

in the notation of the hinges, φ(t) = max(t, 0) or its square; any other margin loss stands in place
of φ as a function of the margin m = 1 − t. For weights of a convex cost the order holds by itself:
for rows below, W grows from threshold k to k+1, for rows above it shrinks, and the rows of class
k+1 go from above to below, so the slope in b_{k+1} is nowhere greater than that in b_k. For other
weights (only the two thresholds next to y, say) the order is a constraint, kept in every Newton
step.

Smooth losses are solved as they are. The hinge is rounded over a width h, solved, and followed as
h → 0; between changes of the rows with curvature, the solution is linear in h, which gives the next
starting point. Every stop rests on a duality gap for the loss itself, not for the rounded one.

The dual, with α_ik ≥ 0, c_ik = C·s_i·W[y_i, k], v = Σ Z_ik α_ik x_i and r_k = Σ_i Z_ik α_ik:

    max Σ α − ½‖v‖²                 with α ≤ c            (hinge)
    max Σ α − Σ α²/(4c) − ½‖v‖²                           (squared hinge)
    max −Σ c·φ*(−α/c) − ½‖v‖²                             (any φ of m, with its conjugate φ*)
    subject to r_1 + … + r_k ≤ 0 for every k, and = 0 for the last.

Partial sums below zero are the multipliers of tied thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.losses import MarginLoss
from .row_space import RowSpace
from .svor_pass import ThresholdLoss
from .svor_path import NewtonPath, Progress
from .svor_rows import RowSummary, Source


@dataclass(frozen=True)
class LinearSVORProblem:
    """Data of the problem: a source of rows, C, the K×(K−1) threshold weights W, and the loss."""

    source: Source
    summary: RowSummary
    C: float
    weights: Matrix
    loss: MarginLoss


@dataclass(frozen=True)
class LinearSVORResult:
    """Solution with its certificate.

    ``duality_gap`` bounds how far the objective lies above its minimum, and ½‖w − w*‖² too.
    """

    coef: Vector
    thresholds: Vector
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool


def solve_linear_svor(
    problem: LinearSVORProblem,
    *,
    max_iter: int = 200,
    tol: float = 1e-8,
    progress: Progress | None = None,
) -> LinearSVORResult:
    """Minimise to a relative duality gap.

    Parameters
    ----------
    problem : LinearSVORProblem
    max_iter : int
        Most Newton steps.
    tol : float
        Largest accepted duality gap, relative to 1 + objective.
    progress : callable, optional
        Called with the number of steps, the objective, the estimated gap and the width h.
    """
    groups, thresholds = tie_thresholds(problem.weights, problem.summary.class_mass)
    if not (groups >= 0).any():
        coef = np.zeros(problem.summary.n_features)
        return LinearSVORResult(coef, thresholds, 0.0, 0.0, 0, True)
    loss = _threshold_loss(problem, groups)
    weight = loss.masses * problem.summary.class_mass
    mass = loss.by_group(weight.sum(axis=1))
    # The minimiser of the squared hinge for w = 0, between −1 and 1.
    b = np.maximum.accumulate(loss.by_group(-(weight * loss.sides).sum(axis=1)) / mass)
    # The rounded hinge would take more steps in the space of rows than it saves.
    space = None if loss.kinked else _row_space(problem)
    if space is not None:
        ((_, codes, weights),) = problem.source
        loss = replace(loss, source=[(space.Z, codes, weights)], centre=np.zeros(space.Z.shape[1]))
    path = NewtonPath(loss, mass, max_iter, tol, progress)
    n_iter = path.run(np.zeros_like(loss.centre), b)
    point = path.settle()
    gap = point.objective - path.bound
    coef = point.w if space is None else space.weights(point.w)
    thresholds[groups >= 0] = point.b[loss.groups] + problem.summary.centre @ coef
    return LinearSVORResult(
        coef=coef,
        thresholds=thresholds,
        objective=point.objective,
        duality_gap=max(0.0, gap),
        n_iter=n_iter,
        converged=gap <= path.goal(point),
    )


def tie_thresholds(weights: Matrix, class_mass: Vector) -> tuple[Codes, Vector]:
    """Which thresholds move together, and where those stand that no pair of rows holds.

    A threshold with rows on one side only slides until it meets a neighbour, and beyond the last
    one it goes to infinity. Returns the group of each threshold, −1 for those outside, and their
    positions, with zeros for the others.
    """
    K = len(class_mass)
    present = weights * np.sign(class_mass)[:, None] > 0.0
    is_below = np.arange(K)[:, None] <= np.arange(K - 1)
    below = np.logical_or.reduce(present & is_below, axis=0)
    above = np.logical_or.reduce(present & ~is_below, axis=0)
    tied = ~above[:-1] | (above[1:] & ~below[1:])
    label = np.concatenate([[0], np.cumsum(~tied)])
    has_below = np.bincount(label, below) > 0
    has_above = np.bincount(label, above) > 0
    position = np.where(has_below & has_above, 0.0, np.where(has_above, -np.inf, np.inf))
    if not present.any():
        position[:] = 0.0
    held = has_below & has_above
    number = np.where(held, np.cumsum(held) - 1, -1)
    return number[label], position[label]


def _row_space(problem: LinearSVORProblem) -> RowSpace | None:
    """The space of rows that are in memory and dense, where it is the smaller one."""
    source = problem.source
    if not isinstance(source, list) or len(source) != 1 or sp.issparse(source[0][0]):
        return None
    return RowSpace.of(source[0][0], problem.summary.centre)


def _threshold_loss(problem: LinearSVORProblem, groups: Codes) -> ThresholdLoss:
    K = len(problem.weights)
    finite = np.flatnonzero(groups >= 0)
    sides = np.where(np.arange(K) > finite[:, None], 1.0, -1.0)
    return ThresholdLoss(
        source=problem.source,
        centre=problem.summary.centre,
        masses=np.ascontiguousarray(problem.C * problem.weights[:, finite].T),
        sides=sides,
        groups=groups[finite],
        margin_loss=problem.loss,
    )
