"""Many weighted stumps as one step function per feature.

A stump looks at one feature, so an ensemble of them is a sum of step functions, one for each
feature: Σ_t v_t·h_t(x) = Σ_j T_j[#{cuts c of feature j : x_j > c}]. A row then costs one search per
feature however many stumps there are, and the tables show the effect of each feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._utils.types import Codes, Matrix, Vector

_BLOCK = 2**16


@dataclass(frozen=True)
class StepTable:
    """What the stumps on one feature add up to.

    Parameters
    ----------
    feature : int
    cuts : ndarray of shape (m,)
        Ascending.
    values : ndarray of shape (m+2, q)
        Row g: the q sums where g cuts lie below x; the last row is for missing values.
    """

    feature: int
    cuts: Vector
    values: Matrix


def tabulate_steps(
    features: Codes, cuts: Matrix, rising: Codes, missing: Matrix, weights: Vector
) -> list[StepTable]:
    """Tables of all features that occur.

    Parameters
    ----------
    features : ndarray of shape (T,)
        The feature of each stump.
    cuts : ndarray of shape (T, q)
        Where the q answers of a stump change between 0 and 1; ±∞ where they do not.
    rising : ndarray of shape (T,)
        1 for answers [x > cut], −1 for [x ≤ cut].
    missing : ndarray of shape (T, q)
        Answers for a missing value.
    weights : ndarray of shape (T,)

    Examples
    --------
    >>> cuts, missing = np.array([[1.5], [0.5]]), np.array([[0.0], [0.5]])
    >>> (table,) = tabulate_steps(
    ...     np.array([0, 0]), cuts, np.array([1, -1]), missing, np.array([2.0, 1.0])
    ... )
    >>> table.cuts, table.values[:, 0]
    (array([0.5, 1.5]), array([1. , 0. , 2. , 0.5]))
    """
    chosen = [np.flatnonzero(features == feature) for feature in np.unique(features)]
    return [
        _table(int(features[t[0]]), cuts[t], rising[t, None], missing[t], weights[t, None])
        for t in chosen
    ]


def _table(feature: int, at: Matrix, rising: Codes, missing: Matrix, weights: Vector) -> StepTable:
    cuts = np.unique(at[np.isfinite(at)])
    # Rising answers begin after their cut, falling ones end there.
    place = np.searchsorted(cuts, at, side="left") + 1
    place[at == -np.inf] = 0
    values = np.zeros((len(cuts) + 2, at.shape[1]))
    column = np.broadcast_to(np.arange(at.shape[1]), at.shape)
    np.add.at(values, (place, column), np.broadcast_to(rising * weights, at.shape))
    values = np.cumsum(values, axis=0)
    values[:-1] += (weights * (rising < 0)).sum()
    values[-1] = (missing * weights).sum(axis=0)
    return StepTable(feature, cuts, values)


def sum_steps(tables: Sequence[StepTable], X: Matrix, width: int) -> Matrix:
    """Sums of the step functions for each row, (n, width)."""
    sums = np.zeros((len(X), width))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        for table in tables:
            column = np.ascontiguousarray(rows[:, table.feature])
            place = np.searchsorted(table.cuts, column, side="left")
            place[np.isnan(column)] = len(table.cuts) + 1
            sums[start : start + _BLOCK] += table.values[place]
    return sums
