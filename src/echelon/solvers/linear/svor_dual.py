"""A feasible dual point near a given one, and so a lower bound of the minimum that is true.

Dual feasibility asks that r_1 + … + r_k ≤ 0 for every k and = 0 for the last, where r_k is the
total of the dual variables above threshold k less that below: every unit above a threshold is
matched by a unit below the same or an earlier one. Near the optimum the totals match up to a
little, which is taken from or added to variables strictly between their bounds where possible:
there the dual objective is flat to first order.
"""

from __future__ import annotations

import numpy as np

from ..._utils.types import Matrix, Vector
from .svor_pass import FREE, ROOM, STUCK, DualSums


def dual_value(sums: DualSums) -> float:
    """Dual objective of the repaired point; zero, the value of α = 0, where that is more."""
    stuck, free, room = sums.total
    amount = match_sides(stuck + free)
    surplus = stuck + free - amount
    # What would have to come from variables at their bound is added on the other side instead.
    lift = np.clip(surplus - free, 0.0, np.maximum(room - free, 0.0)[::-1])
    amount = amount + lift + lift[::-1]
    factor = _factors(amount, stuck, free, room)
    v = _moment(factor, sums)
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
    factor[STUCK] = _share(np.minimum(amount, stuck), stuck)
    wanted = np.maximum(amount - stuck, 0.0)
    lowered = _share(np.minimum(wanted, free), free)
    raised = _share(np.maximum(wanted - free, 0.0), room - free)
    factor[FREE] = lowered * (1.0 - raised)
    factor[ROOM] = raised
    return factor


def _share(part: Matrix, whole: Matrix) -> Matrix:
    return np.asarray(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0))


def _moment(factor: Matrix, sums: DualSums) -> Vector:
    by_side = np.einsum("ksm,ksdm->sd", factor, sums.moment)
    return np.asarray(by_side[1] - by_side[0])
