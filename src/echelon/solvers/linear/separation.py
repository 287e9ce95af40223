"""Whether a cumulative link likelihood has its maximum at infinity, and along which inputs.

The likelihood has no finite maximum exactly when some direction (δ, η) ≠ 0 never lowers any
row's interval probability: δ_{y_i} ≥ z_iᵀη ≥ δ_{y_i − 1} for every row, with a strict inequality
somewhere. That is a linear feasibility problem, solved here by maximising the total slack over
a box.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..._utils.types import Codes, Index
from .design import StandardizedDesign


def separating_columns(design: StandardizedDesign, codes: Codes, n_classes: int) -> Index:
    """Columns of X that take part in a separation of the classes; empty if there is none."""
    thresholds = n_classes - 1
    rows = sp.csr_array(design.raw_columns())
    below_top, above_bottom = codes < thresholds, codes > 0
    # Slack of each inequality as a row over (δ, η): δ_y − zᵀη and zᵀη − δ_{y−1}.
    slacks = sp.vstack(
        [
            sp.hstack([_pick(codes[below_top], thresholds), -rows[below_top]]),
            sp.hstack([-_pick(codes[above_bottom] - 1, thresholds), rows[above_bottom]]),
        ],
        format="csr",
    )
    total = np.asarray(slacks.sum(axis=0)).ravel()
    answer = linprog(
        -total / len(codes), A_ub=-slacks, b_ub=np.zeros(slacks.shape[0]), bounds=(-1, 1)
    )
    if answer.x is None or -answer.fun <= 1e-7:
        return np.empty(0, dtype=np.intp)
    return np.asarray(design.active[np.abs(answer.x[thresholds:]) > 1e-6])


def _pick(codes: Codes, size: int) -> sp.csr_array:
    ones = np.ones(len(codes))
    return sp.csr_array((ones, (np.arange(len(codes)), codes)), shape=(len(codes), size))
