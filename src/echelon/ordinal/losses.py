"""Margin losses: value, gradient and curvature as functions of the margin m = Z·G.

A loss is a decreasing convex bound on [m ≤ 0] that is nowhere negative. A *threshold loss* adds it
over the thresholds, Σ_i Σ_k W[i, k]·φ(Z[i, k]·G[i, k]), and so bounds the cost that W came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .._utils.messages import require_choice
from .._utils.types import Array

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Ramp:
    """A loss whose −φ′ is a ramp: 0 up to t = 0, t/width, and no more than cap, with t = 1 − m.

    Then φ = a·t − ½·width·a² with a = −φ′. A width of zero stands for the limit, a loss with a
    kink, which solvers round over a width that they shrink.
    """

    width: float
    cap: float


@dataclass(frozen=True)
class MarginLoss:
    """φ(m) with φ′(m) and φ″(m); at a kink, the right-hand derivative.

    A loss with a ``ramp`` is solved by closed forms. Any other must be smooth.
    """

    name: str
    value: Function
    gradient: Function
    curvature: Function
    ramp: Ramp | None = None


HINGE = MarginLoss(
    "hinge",
    value=lambda m: np.maximum(0.0, 1.0 - m),
    gradient=lambda m: np.where(m < 1.0, -1.0, 0.0),
    curvature=np.zeros_like,
    ramp=Ramp(width=0.0, cap=1.0),
)
SQUARED_HINGE = MarginLoss(
    "squared_hinge",
    value=lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    gradient=lambda m: -2.0 * np.maximum(0.0, 1.0 - m),
    curvature=lambda m: np.where(m < 1.0, 2.0, 0.0),
    ramp=Ramp(width=0.5, cap=np.inf),
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

LOSSES = {loss.name: loss for loss in (SQUARED_HINGE, HINGE, LOGISTIC, EXPONENTIAL)}


def get_loss(name: str) -> MarginLoss:
    """Loss by its name.

    Examples
    --------
    >>> get_loss("hinge").value(np.array([-1.0, 2.0]))
    array([2., 0.])
    """
    require_choice("loss", name, LOSSES)
    return LOSSES[name]
