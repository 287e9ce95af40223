"""Class probabilities from the scores of a model that gives none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..ordinal.labels import Codes
from ..ordinal.likelihoods import get_link
from ..ordinal.thresholds import Vector, all_levels
from .cumulative_link import CumulativeLinkProblem, solve_cumulative_link
from .design import StandardizedDesign

# Penalty on the slope for scores of unit variance, in units of one row: scores that separate the
# classes would otherwise get an infinite slope.
_PENALTY = 1.0


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
