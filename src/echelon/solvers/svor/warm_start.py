"""Starts for a dual problem from solutions of others like it."""

from __future__ import annotations

import numpy as np

from ..._utils.types import Matrix
from ...kernels.cache import RowSource
from .dual import DualSolution, Iterate, ThresholdDual, coefficients, dual_objective

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
    """Feasible multipliers for a problem whose boxes are a multiple of another's; None if not so.

    On the ray through the other's solution the objective is t²·½βᵀKβ − t·Σα, least at
    t = Σα / βᵀKβ; the boxes allow t up to the ratio of C.
    """
    if dual.coupling != before.coupling or not np.array_equal(dual.codes, before.codes):
        return None
    total = before.upper.sum()
    if dual.upper.shape != before.upper.shape or not total > 0.0:
        return None
    ratio = dual.upper.sum() / total
    if not np.allclose(dual.upper, ratio * before.upper, rtol=1e-9, atol=0.0):
        return None
    square = solution.coef @ solution.scores
    if dual.penalised:
        sums = np.einsum("ki,ki->k", solution.alpha, before.sides())
        square += sums @ sums
    best = solution.alpha.sum() / square if square > 0.0 else ratio
    return np.asarray(min(ratio, best) * solution.alpha)
