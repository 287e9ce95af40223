"""Class probabilities from the scores of a model that gives none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..ordinal.labels import Codes
from ..ordinal.likelihoods import get_link
from ..ordinal.thresholds import Vector, all_levels, exponential_sides
from ..pairs.exponential import LevelSums
from .cumulative_link import CumulativeLinkProblem, solve_cumulative_link
from .design import StandardizedDesign

# Penalty on the slope for scores of unit variance, in units of one row: scores that separate the
# classes would otherwise get an infinite slope.
_PENALTY = 1.0


# Largest difference of two scores after scaling: beyond it probabilities are next to 0 or 1 anyway.
_WIDEST = 100.0


class Calibration(NamedTuple):
    """P(y ≤ k) = F(thresholds[k] − slope·score) with F logistic."""

    slope: float
    thresholds: Vector


def calibrate(scores: Vector, codes: Codes, n_classes: int, weights: Vector) -> Calibration:
    """Cumulative logit model of the labels given a score, with a slight penalty on its slope.

    The scores should come from a model that has not seen the rows. A class without rows gets
    probability zero. Scores that fall as labels rise, or are all equal, get the slope zero.
    """
    observed, present = np.unique(codes, return_inverse=True)
    design = StandardizedDesign(scores[:, None], weights)
    mean_weight = weights.mean()
    problem = CumulativeLinkProblem(
        design=design,
        codes=present,
        n_classes=len(observed),
        weights=weights / mean_weight,
        offset=np.zeros(len(scores)),
        ridge=np.full(design.shape[1], _PENALTY),
        link=get_link("logit"),
    )
    result = solve_cumulative_link(problem)
    slope, shift = design.to_original(result.coef, 1)
    thresholds = result.thresholds + shift
    if slope[0] < 0.0:
        return calibrate(np.zeros(len(scores)), codes, n_classes, weights)
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
