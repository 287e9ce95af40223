"""Thresholds on a latent score: margins, the ordered parametrisation, and fitting b from scores.

A threshold model has margins G[i, k] = f_i − b_k with b_0 ≤ … ≤ b_{K−2}. Given scores f, codes y
and weights W the fits below solve

- exponential  min_b Σ_ik W_ik·exp(−Z_ik(f_i − b_k)); closed form
  b_k = ½ ln(Σ_{y≤k} W e^f / Σ_{y>k} W e^{−f}), the corrected [DK09] (8);
- hinge  min_b Σ_ik W_ik·max(0, 1 − Z_ik(f_i − b_k)); the middle of the interval of minimisers;
- cost  min_b Σ_i c_i[#{k : f_i > b_k}]; exact dynamic programme over the sorted scores.

The first two are separable in k and convex. With equal weights their minimisers ascend by
themselves; with other weights neighbours that would cross are pooled, which is the exact
solution under the order (isotonic regression with a general convex loss). A threshold with no
example on one side goes to ∓∞: that class is never predicted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from .._utils.types import Codes, Index, Matrix, Vector


def margins(scores: Vector, thresholds: Vector) -> Matrix:
    """G[i, k] = f_i − b_k."""
    return np.asarray(scores[:, None] - thresholds)


def midpoints(values: Vector) -> Vector:
    """Cuts between neighbours of ascending values; ``x > cut`` parts them exactly.

    Examples
    --------
    >>> midpoints(np.array([1.0, 2.0, 4.0]))
    array([1.5, 3. ])
    """
    # Halving before adding cannot overflow; the lower neighbour keeps x > cut exact where the
    # midpoint of two adjacent floats rounds up to the upper one.
    middle = 0.5 * values[:-1] + 0.5 * values[1:]
    return np.where(middle >= values[1:], values[:-1], middle)


def to_free(thresholds: Vector) -> Vector:
    """(b_1, ln Δ_2, …): free parameters of strictly ascending thresholds, [CG05] section 2."""
    return np.concatenate([thresholds[:1], np.log(np.diff(thresholds))])


def from_free(free: Vector) -> Vector:
    """Ascending thresholds of free parameters, the inverse of `to_free`."""
    return np.cumsum(np.concatenate([free[:1], np.exp(free[1:])]))


def chain_to_free(gradient: Vector, free: Vector) -> Vector:
    """Gradient in the free parameters of a function whose gradient in the thresholds is given."""
    suffix = np.cumsum(gradient[::-1])[::-1]
    return np.concatenate([suffix[:1], suffix[1:] * np.exp(free[1:])])


def level_of_threshold(observed: Codes, n_classes: int) -> Index:
    """Number of observed levels at or below each of the K−1 thresholds."""
    return np.searchsorted(observed, np.arange(n_classes - 1), side="right")


def all_levels(thresholds: Vector, observed: Codes, n_classes: int) -> Vector:
    """Thresholds of all levels from those between the observed ones.

    Examples
    --------
    >>> all_levels(np.array([0.5]), np.array([1, 3]), 5)
    array([-inf,  0.5,  0.5,  inf])
    """
    framed = np.concatenate([[-np.inf], thresholds, [np.inf]])
    return framed[level_of_threshold(observed, n_classes)]


def exponential_sides(log_lower: Vector, log_upper: Vector) -> tuple[Vector, Vector]:
    """Ln Σ_{c ≤ k} and ln Σ_{c > k} of sums by level, for the thresholds k.

    With the sums of w·e^f and of w·e^{−f}, half their difference is the threshold of least
    exponential loss, and half their sum the logarithm of half the loss that it leaves.

    Examples
    --------
    >>> below, above = exponential_sides(np.log([1.0, 2.0, 9.0]), np.log([9.0, 3.0, 1.0]))
    >>> np.exp(below).round(12), np.exp(above).round(12)
    (array([1., 3.]), array([4., 1.]))
    """
    below = np.logaddexp.accumulate(log_lower[:-1])
    return below, np.logaddexp.accumulate(log_upper[:0:-1])[::-1]


def fit_exponential(
    scores: Vector, codes: Codes, n_classes: int, weights: Matrix | None = None
) -> Vector:
    """Ordered thresholds that minimise the exponential threshold loss.

    Examples
    --------
    >>> fit_exponential(np.array([-1.0, 1.0]), np.array([0, 1]), 2)
    array([0.])
    """
    lower = codes[:, None] <= np.arange(n_classes - 1)
    with np.errstate(divide="ignore"):
        log_weights = np.zeros(lower.shape) if weights is None else np.log(weights)
    below = logsumexp(np.where(lower, log_weights + scores[:, None], -np.inf), axis=0)
    above = logsumexp(np.where(lower, -np.inf, log_weights - scores[:, None]), axis=0)

    def minimiser(first: int, last: int) -> float:
        ups, downs = logsumexp(below[first:last]), logsumexp(above[first:last])
        return 0.0 if ups == downs == -np.inf else float(0.5 * (ups - downs))

    return _pool_adjacent_violators(minimiser, n_classes - 1)


def fit_hinge(scores: Vector, codes: Codes, n_classes: int, weights: Matrix) -> Vector:
    """Ordered thresholds that minimise the hinge threshold loss."""
    lower = codes[:, None] <= np.arange(n_classes - 1)

    def minimiser(first: int, last: int) -> float:
        side = lower[:, first:last]
        block = weights[:, first:last]
        return _hinge_minimiser(
            scores + 1.0,
            np.where(side, block, 0.0).sum(axis=1),
            scores - 1.0,
            np.where(side, 0.0, block).sum(axis=1),
        )

    return _pool_adjacent_violators(minimiser, n_classes - 1)


def fit_cost(scores: Vector, costs: Matrix) -> Vector:
    """Ordered thresholds with the least total cost, exactly.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Equal scores share a rank.
    costs : ndarray of shape (n, K)
        Cost of each rank for each example, times its weight; any shape, V or not.

    Returns
    -------
    thresholds : ndarray of shape (K−1,)
        Midpoints between neighbouring scores; −∞ or +∞ beyond the ends.

    Notes
    -----
    With S_r[g] the cost of giving rank r to the first g distinct scores, the best cost M_r[g] of
    these with ranks up to r obeys M_r[g] = S_r[g] + min_{h ≤ g} (M_{r−1}[h] − S_r[h]), a running
    minimum: O(n log n + nK) in all.
    """
    values, group = np.unique(scores, return_inverse=True)
    n_classes = costs.shape[1]
    running = np.zeros((len(values) + 1, n_classes))
    for r in range(n_classes):
        running[1:, r] = np.cumsum(np.bincount(group, costs[:, r], minlength=len(values)))
    start = np.empty((n_classes, len(values) + 1), dtype=np.intp)
    start[0] = 0
    best = running[:, 0]
    for r in range(1, n_classes):
        gain = best - running[:, r]
        lowest = np.minimum.accumulate(gain)
        fresh = np.concatenate([[True], gain[1:] < lowest[:-1]])
        start[r] = np.maximum.accumulate(np.where(fresh, np.arange(len(gain)), 0))
        best = lowest + running[:, r]
    # Number of distinct scores below each threshold, from the last threshold to the first.
    cuts = np.empty(n_classes - 1, dtype=np.intp)
    end = len(values)
    for r in range(n_classes - 1, 0, -1):
        end = start[r, end]
        cuts[r - 1] = end
    return np.concatenate([[-np.inf], midpoints(values), [np.inf]])[cuts]


def _hinge_minimiser(up_at: Vector, up: Vector, down_at: Vector, down: Vector) -> float:
    """Middle of the minimisers of Σ up·max(0, up_at − b) + Σ down·max(0, b − down_at)."""
    if not up.any():
        return 0.0 if not down.any() else -np.inf
    if not down.any():
        return np.inf
    at = np.concatenate([up_at, down_at])
    jump = np.concatenate([up, down])
    order = np.argsort(at, kind="stable")
    at, slope = at[order], np.cumsum(jump[order]) - up.sum()
    tolerance = 1e-12 * jump.sum()
    first = int(np.argmax(slope >= -tolerance))
    if slope[first] > tolerance:
        return float(at[first])
    last = int(np.argmax(slope > tolerance))
    return float(0.5 * (at[first] + at[last]))


def _pool_adjacent_violators(minimiser: Callable[[int, int], float], size: int) -> Vector:
    """Ascending minimiser of a separable convex sum.

    ``minimiser(first, last)`` gives a minimiser of the sum of the terms first … last−1.
    """
    blocks: list[tuple[int, int, float]] = []
    for k in range(size):
        first, value = k, minimiser(k, k + 1)
        while blocks and blocks[-1][2] > value:
            first = blocks.pop()[0]
            value = minimiser(first, k + 1)
        blocks.append((first, k + 1, value))
    return np.concatenate([np.full(last - first, value) for first, last, value in blocks])
