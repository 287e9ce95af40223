"""Class probabilities from the scores of a model that gives none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression, minimize_scalar

from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.likelihoods import get_link
from ...ordinal.reduction import monotone_exceedance
from ...ordinal.thresholds import all_levels, exponential_sides, level_of_threshold
from ...pairs.exponential import LevelSums
from .cumulative_link import CumulativeLinkProblem, solve_cumulative_link
from .design import StandardizedDesign

# Penalty on the slope for scores of unit variance, in units of one row: scores that separate the
# classes would otherwise get an infinite slope.
_PENALTY = 1.0


# Largest difference of two scores after scaling: beyond it probabilities are next to 0 or 1 anyway.
_WIDEST = 100.0

# Probabilities closer than this are equal.
_ROUNDING = 1e-12


class Calibration(NamedTuple):
    """P(y ≤ k) = F(thresholds[k] − slope·score) with F logistic."""

    slope: float
    thresholds: Vector


def calibrate(
    scores: Vector,
    codes: Codes,
    n_classes: int,
    weights: Vector,
    row_weight: float | None = None,
) -> Calibration:
    """Cumulative logit model of the labels given a score, with a slight penalty on its slope.

    The scores should come from a model that has not seen the rows. A class without rows gets
    probability zero. Scores that fall as labels rise, or are all equal, get the slope zero.
    The penalty counts as one row, whose weight is `row_weight`, by default the mean weight.
    """
    observed, present = np.unique(codes, return_inverse=True)
    design = StandardizedDesign(scores[:, None], weights)
    unit = weights.mean() if row_weight is None else row_weight
    problem = CumulativeLinkProblem(
        design=design,
        codes=present,
        n_classes=len(observed),
        weights=weights / unit,
        offset=np.zeros(len(scores)),
        ridge=np.full(design.shape[1], _PENALTY),
        link=get_link("logit"),
    )
    result = solve_cumulative_link(problem)
    slope, shift = design.to_original(result.coef, 1)
    thresholds = result.thresholds + shift
    if slope[0] < 0.0:
        return calibrate(np.zeros(len(scores)), codes, n_classes, weights, row_weight)
    return Calibration(float(slope[0]), all_levels(thresholds, observed, n_classes))


def calibrate_by_exponential(
    scores: Vector, codes: Codes, n_classes: int, weights: Vector
) -> Calibration:
    """Slope and thresholds of least exponential threshold loss, and its link.

    Minimises Σ_i s_i Σ_k exp(−z_ik (a·f_i − b_k)) over a ≥ 0 and b, which is convex; given a the
    best b has a closed form, and Σ_k 2·√(Σ_{y ≤ k} s·e^{a·f} · Σ_{y > k} s·e^{−a·f}) is left. The
    link of the loss is P(y > k) = 1/(1 + exp(−2(a·f − b_k))). Only ratios of weights matter.

    Examples
    --------
    >>> scores, codes = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1])
    >>> weights = np.array([3.0, 1.0, 1.0, 3.0])
    >>> slope, thresholds = calibrate_by_exponential(scores, codes, 2, weights)
    >>> round(slope, 6), thresholds.round(6)
    (2.197225, array([1.098612]))
    """
    observed, present = np.unique(codes, return_inverse=True)
    sums = LevelSums(present, len(observed))
    log_weights = np.log(weights)
    centred = scores - 0.5 * (scores.min() + scores.max())

    def sides(slope: float) -> tuple[Vector, Vector]:
        return exponential_sides(
            sums.log_sums(log_weights + slope * centred),
            sums.log_sums(log_weights - slope * centred),
        )

    def log_loss(slope: float) -> float:
        below, above = sides(slope)
        return float(np.logaddexp.reduce(0.5 * (below + above)))

    width = float(np.ptp(scores))
    slope = 0.0
    if width > 0.0:
        bounds = (0.0, _WIDEST / width)
        found = minimize_scalar(log_loss, bounds=bounds, options={"xatol": 1e-12 * bounds[1]})
        slope = float(found.x)
    below, above = sides(slope)
    thresholds = 0.5 * (below - above) + slope * (scores.min() + scores.max()) / 2.0
    return Calibration(2.0 * slope, all_levels(2.0 * thresholds, observed, n_classes))


class IsotonicCalibration(NamedTuple):
    """A rising curve from score to P(y > k) for each class seen but the highest.

    ``curves`` are pairs of knots and heights: linear between knots, constant beyond them.
    ``observed`` are the classes that have rows, ``shares`` the shares of rows above each but the
    highest, and ``mass`` the weight of all rows.
    """

    curves: list[tuple[Vector, Vector]]
    observed: Codes
    shares: Vector
    mass: float


def calibrate_isotonic(
    scores: Matrix, codes: Codes, n_classes: int, weights: Vector
) -> IsotonicCalibration:
    """Curves of least squared error for each threshold.

    Parameters
    ----------
    scores : ndarray of shape (n, 1) or (n, K−1)
        One score for all thresholds, or one for each, of rows that the model has not seen.
    codes : ndarray of shape (n,)
    n_classes : int
        K.
    weights : ndarray of shape (n,)
        Positive; a weight of one is a row.

    Notes
    -----
    Each curve is the isotonic regression of [y > k] on its score, which is
    max_{a ≤ i} min_{b ≥ i} mean(z_a … z_b) over rows sorted by score. Means rise with z, so curves
    over one common score never cross: [y > k] ≥ [y > k+1] in every row.

    Examples
    --------
    >>> s, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> found = calibrate_isotonic(s, y, 2, np.ones(4))
    >>> isotonic_exceedance(found, np.array([[0.0], [1.5], [9.0]]), 2).round(6)
    array([[0.1],
           [0.5],
           [0.9]])
    """
    columns = np.broadcast_to(scores, (len(scores), n_classes - 1))
    observed = np.unique(codes)
    curves = [_isotonic_curve(columns[:, k], codes > k, weights) for k in observed[:-1]]
    shares = np.array([np.average(codes > k, weights=weights) for k in observed[:-1]])
    return IsotonicCalibration(curves, observed, shares, float(weights.sum()))


def _isotonic_curve(scores: Vector, above: Codes, weights: Vector) -> tuple[Vector, Vector]:
    values, place = np.unique(scores, return_inverse=True)
    mass = np.bincount(place, weights)
    means = np.bincount(place, weights * above) / mass
    heights = isotonic_regression(means, weights=mass).x
    # Only the ends of level stretches matter for what lies between.
    level = np.concatenate([[False], heights[1:] == heights[:-1], [False]])
    ends = ~(level[:-1] & level[1:])
    return values[ends], np.clip(heights[ends], 0.0, 1.0)


def isotonic_exceedance(calibration: IsotonicCalibration, scores: Matrix, n_classes: int) -> Matrix:
    """Valid P(y > k) of rows, (n, K−1); a class without rows gets probability zero.

    Notes
    -----
    Curves over scores of their own can cross in a row. The row is then replaced by the nearest
    sequence that falls in k. That set is convex and has in it the true sides ([y > k])_k of
    every label y, and the projection on a convex set comes no further from any of its points: the
    squared error summed over thresholds, which is the ranked probability score, falls or
    stays in every row, whatever its label. The shares of the classes then count as one more row,
    which keeps the order and leaves no class that was seen with probability zero.
    """
    columns = np.broadcast_to(scores, (len(scores), n_classes - 1))
    heights = [
        _on_curve(columns[:, k], *curve)
        for curve, k in zip(calibration.curves, calibration.observed[:-1], strict=True)
    ]
    framed = np.ones((len(scores), len(heights) + 2))
    framed[:, 1:-1] = _with_shares(calibration, monotone_exceedance(np.column_stack(heights)))
    framed[:, -1] = 0.0
    return np.asarray(framed[:, level_of_threshold(calibration.observed, n_classes)])


def _on_curve(scores: Vector, knots: Vector, heights: Vector) -> Vector:
    """Heights of a curve that is straight between its knots and level beyond them.

    NumPy's ``interp`` divides by the distance of two knots first, which may be as good as zero.
    """
    if len(knots) == 1:
        return np.full(len(scores), heights[0])
    left = np.clip(np.searchsorted(knots, scores, side="right") - 1, 0, len(knots) - 2)
    start, end = knots[left], knots[left + 1]
    part = (np.clip(scores, start, end) - start) / (end - start)
    return np.asarray(heights[left] + part * (heights[left + 1] - heights[left]))


def isotonic_thresholds(calibration: IsotonicCalibration, n_classes: int) -> Vector:
    """Where on one common score P(y > k) passes one half; ∓∞ if that is everywhere or nowhere."""
    crossings = [
        _crossing(knots, _with_shares(calibration, heights[:, None], j)[:, 0])
        for j, (knots, heights) in enumerate(calibration.curves)
    ]
    return all_levels(np.array(crossings), calibration.observed, n_classes)


def _with_shares(
    calibration: IsotonicCalibration, heights: Matrix, which: int | slice = slice(None)
) -> Matrix:
    shares = calibration.shares[which]
    return np.asarray((calibration.mass * heights + shares) / (calibration.mass + 1.0))


def _crossing(knots: Vector, heights: Vector, level: float = 0.5) -> float:
    """The value above which a curve is above a level; the middle of a stretch at the level."""
    first = int(np.searchsorted(heights, level - _ROUNDING))
    above = int(np.searchsorted(heights, level + _ROUNDING, side="right"))
    if first < above:
        return float(0.5 * (knots[first] + knots[above - 1]))
    if above == 0:
        return -np.inf
    if above == len(heights):
        return np.inf
    (x0, x1), (h0, h1) = knots[above - 1 : above + 1], heights[above - 1 : above + 1]
    return float(x0 + (x1 - x0) * (level - h0) / (h1 - h0))
