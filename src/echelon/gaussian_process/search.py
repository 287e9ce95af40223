"""Maximise a log evidence over its hyperparameters, from one start or several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._utils.types import Matrix, Vector
from ..ordinal.arrays import finite_vector

ValueAndGradient = Callable[[Vector], tuple[float, Vector]]

#: Largest entry of the projected gradient that a maximum may have, per unit of |value| above one.
_FLAT = 1e-3
_GRADIENT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Maximum:
    """Best point found, and its value as the search saw it; NaN where there was no search."""

    theta: Vector
    value: float
    n_iter: int
    converged: bool


def maximise(
    objective: ValueAndGradient,
    starts: list[Vector],
    bounds: Matrix,
    optimizer: Any,
    max_iter: int,
    tol: float,
) -> Maximum:
    """Best of the maxima from several starts.

    L-BFGS-B stops when an iteration gains less than `tol` of the value. `optimizer` is
    "fmin_l_bfgs_b" or a function of an objective to minimise, the start and the bounds that returns
    the best point and its value, as scikit-learn has it.
    """
    if isinstance(optimizer, str):
        found = [_lbfgs(objective, start, bounds, max_iter, tol) for start in starts]
    else:
        found = [_users_search(objective, start, bounds, optimizer) for start in starts]
    return max(found, key=lambda maximum: maximum.value)


def projected_norm(theta: Vector, gradient: Vector, bounds: Matrix) -> float:
    """Largest entry of the gradient of an ascent that may not leave the bounds."""
    step = np.clip(theta + gradient, bounds[:, 0], bounds[:, 1]) - theta
    return float(np.abs(step).max(initial=0.0))


def _lbfgs(
    objective: ValueAndGradient, start: Vector, bounds: Matrix, max_iter: int, tol: float
) -> Maximum:
    worst: float | None = None

    def negative(theta: Vector) -> tuple[float, Vector]:
        nonlocal worst
        try:
            value, gradient = objective(theta)
        except np.linalg.LinAlgError:
            # Past the start, hyperparameters that defy arithmetic are only worse than the others.
            if worst is None:
                raise
            return worst + 1e3 * (1.0 + abs(worst)), np.zeros(len(theta))
        worst = -value if worst is None else max(worst, -value)
        return -value, -gradient

    result = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iter, "ftol": tol, "gtol": _GRADIENT_TOLERANCE},
    )
    norm = projected_norm(result.x, -result.jac, bounds)
    converged = bool(result.success) or norm <= _FLAT * max(1.0, abs(float(result.fun)))
    return Maximum(result.x, -float(result.fun), int(result.nit), converged)


def _users_search(
    objective: ValueAndGradient, start: Vector, bounds: Matrix, optimizer: Any
) -> Maximum:
    n_calls = 0

    def negative(theta: Vector, eval_gradient: bool = True) -> Any:
        nonlocal n_calls
        n_calls += 1
        value, gradient = objective(np.asarray(theta, dtype=np.float64))
        return (-value, -gradient) if eval_gradient else -value

    theta, _ = optimizer(negative, start, bounds=bounds)
    theta = finite_vector(theta, len(start), "The theta that optimizer returns")
    # A search of the user's own is converged when it says so by returning.
    return Maximum(theta, objective(theta)[0], n_calls, True)
