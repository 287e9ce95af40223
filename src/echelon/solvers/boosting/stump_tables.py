"""Many weighted stumps as one table per feature.

A stump looks at one feature, so the votes of an ensemble are a sum of step functions, one for each
feature: Σ_t v_t·[r_t(x) > k] = Σ_j T_j[#{cuts c of feature j : x_j > c}, k]. A row then costs one
search per feature however many stumps there are, and the tables show the effect of each feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._utils.types import Matrix, Vector
from .stumps import Stump

_BLOCK = 2**16


@dataclass(frozen=True)
class FeatureTable:
    """Votes that one feature gives.

    Parameters
    ----------
    feature : int
    cuts : ndarray of shape (m,)
        Ascending.
    above : ndarray of shape (m+2, K−1)
        Row g: weight of the votes above each threshold where g cuts lie below x; the last row is
        for missing values.
    """

    feature: int
    cuts: Vector
    above: Matrix


def tabulate(stumps: Sequence[Stump], weights: Vector) -> list[FeatureTable]:
    """Tables of all features that occur in stumps with these weights."""
    by_feature: dict[int, list[int]] = {}
    for t, stump in enumerate(stumps):
        by_feature.setdefault(stump.feature, []).append(t)
    return [
        _table(feature, [stumps[t] for t in members], weights[members])
        for feature, members in sorted(by_feature.items())
    ]


def votes_above(tables: Sequence[FeatureTable], X: npt.NDArray[np.float64], K: int) -> Matrix:
    """Weight of the votes above each threshold, (n, K−1)."""
    above = np.zeros((len(X), K - 1))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        for table in tables:
            column = np.ascontiguousarray(rows[:, table.feature])
            place = np.searchsorted(table.cuts, column, side="left")
            place[np.isnan(column)] = len(table.cuts) + 1
            above[start : start + _BLOCK] += table.above[place]
    return above


def _table(feature: int, stumps: list[Stump], weights: Vector) -> FeatureTable:
    direction = np.array([stump.direction for stump in stumps])[:, None]
    at = direction * np.array([stump.thresholds for stump in stumps])
    # A falling stump holds x < −θ to be above, which is x ≤ the float before it.
    at = np.where((direction < 0) & np.isfinite(at), np.nextafter(at, -np.inf), at)
    cuts = np.unique(at[np.isfinite(at)])
    n_thresholds = at.shape[1]
    votes = np.broadcast_to(weights[:, None], at.shape)
    # Rising stumps begin to vote above after their cut, falling ones end there.
    steps = np.zeros((len(cuts) + 2, n_thresholds))
    place = np.searchsorted(cuts, at, side="left") + 1
    place[at == -np.inf] = 0
    threshold = np.broadcast_to(np.arange(n_thresholds), at.shape)
    np.add.at(steps, (place, threshold), direction * votes)
    above = np.cumsum(steps, axis=0)
    above[:-1] += (votes * (direction < 0)).sum(axis=0)
    missing = np.array([stump.missing_rank for stump in stumps])
    above[-1] = ((missing[:, None] > np.arange(n_thresholds)) * votes).sum(axis=0)
    return FeatureTable(feature, cuts, above)
