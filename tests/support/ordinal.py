"""What tests hold ordinal models against: the median of votes."""

from __future__ import annotations

import numpy as np

from echelon._utils.types import Codes, Vector


def weighted_median(votes: Codes, weights: Vector) -> Codes:
    """Weighted (upper) median of the votes, [LL09] (7).

    The least k with more than half of the weight on votes ≤ k. It equals (6), which counts the
    thresholds with at least half of the weight above them.
    """
    order = np.argsort(votes, axis=1, kind="stable")
    ranked = np.take_along_axis(votes, order, axis=1)
    below = np.cumsum(weights[order], axis=1)
    first = np.argmax(2.0 * below > below[:, -1:], axis=1)
    return np.take_along_axis(ranked, first[:, None], axis=1)[:, 0]
