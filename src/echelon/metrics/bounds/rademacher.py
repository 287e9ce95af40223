"""Empirical Rademacher complexities of classes of scoring functions.

ℜ̂_S(H) = (1/m)·E_σ sup_{h ∈ H} Σ σ_i·h(x_i) over random signs σ: how well the class follows noise on
the rows of S. Each class here has a closed bound, and an estimate that draws signs and computes the
supremum exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.types import Matrix, Vector
from ...ordinal.arrays import read_numbers, require_count, require_positive
from ..ranking.summary import blocks


@dataclass(frozen=True)
class RademacherEstimate:
    """Mean of the supremum over drawn signs.

    Parameters
    ----------
    value : float
    standard_error : float
        Of `value` over the draws; NaN for a single one.
    n_draws : int
    """

    value: float
    standard_error: float
    n_draws: int


def kernel_rademacher_bound(diagonal: npt.ArrayLike, norm: float) -> float:
    """Bound Λ√(Σ K(x_i, x_i))/m for x ↦ w·Φ(x) with ‖w‖ ≤ Λ.

    Parameters
    ----------
    diagonal : array-like of shape (m,)
        K(x_i, x_i).
    norm : float
        Λ.

    Returns
    -------
    bound : float

    Examples
    --------
    >>> kernel_rademacher_bound(np.ones(100), 2.0)
    0.2
    """
    values = read_numbers(diagonal, "diagonal")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "diagonal must be one or more finite numbers, none negative; found others or shape "
            f"{values.shape}."
        )
    require_positive("norm", norm)
    return norm * math.sqrt(float(values.sum())) / len(values)


def kernel_rademacher(
    K: npt.ArrayLike, norm: float, *, n_draws: int = 200, random_state: Any = None
) -> RademacherEstimate:
    """Complexity of x ↦ w·Φ(x) with ‖w‖ ≤ Λ on m rows, by drawn signs.

    Parameters
    ----------
    K : array-like of shape (m, m)
        Kernel matrix of the rows, positive semi-definite.
    norm : float
        Λ.
    n_draws : int, default=200
    random_state : int or Generator, optional

    Returns
    -------
    estimate : RademacherEstimate
        The supremum for signs σ is (Λ/m)·√(σᵀKσ). Its mean is at most `kernel_rademacher_bound`.

    Examples
    --------
    >>> estimate = kernel_rademacher(np.eye(100), 2.0, random_state=0)
    >>> round(estimate.value, 12)
    0.2
    """
    gram = read_numbers(K, "K")
    square = gram.ndim == 2 and gram.shape[0] == gram.shape[1] > 0
    if not square or not np.isfinite(gram).all() or (gram.diagonal() < 0).any():
        raise ValueError(
            "K must be a square matrix of finite numbers with a diagonal that is not negative; "
            f"found shape {gram.shape}{' with others' if square else ''}."
        )
    require_positive("norm", norm)
    m = len(gram)
    suprema = [
        np.sqrt(np.maximum(np.einsum("ij,ij->j", signs, gram @ signs), 0.0))
        for signs in _drawn_signs(m, n_draws, random_state)
    ]
    return _estimate(norm * np.concatenate(suprema) / m)


def stump_rademacher_bound(X: npt.ArrayLike) -> float:
    """Massart's bound for the base rankers [x_j > θ] and [x_j ≤ θ] on m rows.

    Parameters
    ----------
    X : array-like of shape (m, d)
        NaN is a missing value, for which a base ranker says 0, ½ or 1.

    Returns
    -------
    bound : float
        √(ln N/(2m)) for N answers that the class can give on these rows.

    Notes
    -----
    With h = (1 + s)/2, s between −1 and 1, the constant part vanishes in expectation and
    ℜ̂(H) = ½ℜ̂(S), for which Massart's lemma gives √m·√(2 ln N)/m. N is at most Σ_j 2v_j for v_j
    distinct values of feature j, twice that where some are missing: ½ lies between 0 and 1 and adds
    nothing to a supremum.

    Examples
    --------
    >>> round(stump_rademacher_bound(np.arange(100.0)[:, None]), 4)
    0.1628
    """
    table = _inputs(X)
    count = 0
    for column in table.T:
        held = column[~np.isnan(column)]
        # v − 1 cuts in two directions, and the two constants.
        patterns = 2 * max(len(np.unique(held)), 1)
        count += patterns * (1 if len(held) == len(column) else 2)
    return math.sqrt(math.log(count) / (2.0 * len(table)))


def stump_rademacher(
    X: npt.ArrayLike, *, n_draws: int = 200, random_state: Any = None
) -> RademacherEstimate:
    """Complexity of the base rankers [x_j > θ] and [x_j ≤ θ] on m rows, by drawn signs.

    Parameters
    ----------
    X : array-like of shape (m, d)
        NaN is a missing value, for which a base ranker says 0, ½ or 1, whichever suits the signs.
    n_draws : int, default=200
    random_state : int or Generator, optional

    Returns
    -------
    estimate : RademacherEstimate
        Its mean is at most `stump_rademacher_bound`. As 1 − h belongs to the class with h, it is
        also that of the convex hull of the class, the normalised ensembles of corollary 10.4.

    Notes
    -----
    O(m·d) for each draw after one sort of every feature: the sums of signs below all thresholds are
    running sums.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> estimate = stump_rademacher(X, random_state=0)
    >>> 0.03 < estimate.value < stump_rademacher_bound(X)
    True
    """
    table = _inputs(X)
    orders = [_thresholds(column) for column in table.T]
    suprema = [
        np.max([_largest(signs, *order) for order in orders], axis=0)
        for signs in _drawn_signs(len(table), n_draws, random_state)
    ]
    return _estimate(np.concatenate(suprema) / len(table))


def _thresholds(column: Vector) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows with a value in ascending order, and the last place of each distinct value."""
    order = np.argsort(column, kind="stable")
    order = order[: len(order) - int(np.isnan(column).sum())]
    values = column[order]
    return order, np.flatnonzero(np.r_[values[1:] != values[:-1], True][: len(values)])


def _largest(signs: Matrix, order: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> Vector:
    """Largest Σ σ·h over the base rankers of one feature, for each column of signs."""
    sums = np.cumsum(signs[order], axis=0)
    total = signs.sum(axis=0)
    if not len(ends):
        return np.maximum(total, 0.0)
    below, held = sums[ends], sums[-1]
    best = np.maximum(np.maximum(below, held - below).max(axis=0), np.maximum(held, 0.0))
    return best + np.maximum(total - held, 0.0)


def _drawn_signs(m: int, n_draws: int, random_state: Any) -> Iterator[Matrix]:
    """Columns of random signs, as many at a time as memory bears."""
    require_count("n_draws", n_draws)
    rng = np.random.default_rng(random_state)
    for count in blocks(n_draws, m):
        yield np.where(rng.integers(0, 2, size=(m, count), dtype=np.int8), 1.0, -1.0)


def _inputs(X: npt.ArrayLike) -> Matrix:
    table = read_numbers(X, "X")
    if table.ndim != 2 or not table.size or np.isinf(table).any():
        raise ValueError(
            "X must be a table of finite or missing numbers with a row and a column at least; "
            f"found shape {table.shape}{' with infinity' if np.isinf(table).any() else ''}."
        )
    return table


def _estimate(suprema: Vector) -> RademacherEstimate:
    n = len(suprema)
    error = float(suprema.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return RademacherEstimate(float(suprema.mean()), error, n)
