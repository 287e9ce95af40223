"""Margin losses: value, slope and curvature as functions of the margin m = Z·G.

A loss is a decreasing convex bound on [m ≤ 0]. A *threshold loss* adds it over the thresholds,
Σ_i Σ_k W[i, k]·φ(Z[i, k]·G[i, k]), and so bounds the cost that W came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .._utils.types import Array

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class MarginLoss:
    """φ(m) with φ′(m) and φ″(m); at a kink, the right-hand derivative."""

    name: str
    value: Function
    gradient: Function
    curvature: Function

    def total(self, margins: Array, weights: Array) -> float:
        """Σ W·φ(m)."""
        return float(np.sum(weights * self.value(margins)))


HINGE = MarginLoss(
    "hinge",
    value=lambda m: np.maximum(0.0, 1.0 - m),
    gradient=lambda m: np.where(m < 1.0, -1.0, 0.0),
    curvature=np.zeros_like,
)
SQUARED_HINGE = MarginLoss(
    "squared_hinge",
    value=lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    gradient=lambda m: -2.0 * np.maximum(0.0, 1.0 - m),
    curvature=lambda m: np.where(m < 1.0, 2.0, 0.0),
)
LOGISTIC = MarginLoss(
    "logistic",
    value=lambda m: np.logaddexp(0.0, -m),
    gradient=lambda m: -expit(-m),
    curvature=lambda m: expit(m) * expit(-m),
)
EXPONENTIAL = MarginLoss(
    "exponential",
    value=lambda m: np.exp(-m),
    gradient=lambda m: -np.exp(-m),
    curvature=lambda m: np.exp(-m),
)

LOSSES = {loss.name: loss for loss in (HINGE, SQUARED_HINGE, LOGISTIC, EXPONENTIAL)}


def get_loss(name: str) -> MarginLoss:
    """Loss by its name.

    Examples
    --------
    >>> get_loss("hinge").value(np.array([-1.0, 2.0]))
    array([2., 0.])
    """
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; found {name!r}.")
    return LOSSES[name]
