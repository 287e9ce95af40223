"""Shares of models in a mixture of their probabilities, by maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from ..._utils.types import Matrix, Vector

_MOST_STEPS = 200
# Of the Hessian's mean diagonal; models that say the same leave it singular.
_RIDGE = 1e-10
# Of the objective, next to a minimum: a Newton step that is not seen in it still lowers the gap.
_ROUNDING = 1e-14


class MixtureResult(NamedTuple):
    """Shares of least loss, the loss, and a bound on how far it lies above the least one."""

    weights: Vector
    loss: float
    gap: float
    converged: bool


def mixture_weights(
    p: Matrix, row_weights: Vector, tol: float = 1e-8, start: Vector | None = None
) -> MixtureResult:
    """Shares w of m models that minimise the mean of −ln Σ_j w_j p[i, j] over the simplex.

    Parameters
    ----------
    p : ndarray of shape (n, m)
        Probability that each model gives to the true label of each row, all positive.
    row_weights : ndarray of shape (n,)
        What rows count; only ratios matter.
    tol : float
        Gap at which the solver stops.
    start : ndarray of shape (m,), optional
        Shares to begin with, by default even ones.

    Notes
    -----
    With f(w) = −Σ_i a_i ln (Pw)_i, Σ a = 1, and g = −∇f(w), any shares v satisfy
    f(w) − f(v) ≤ ln Σ_i a_i (Pv)_i / (Pw)_i = ln g·v ≤ ln max g, which is the gap. The minimum of
    f(w) + Σ w over w ≥ 0 lies on the simplex, and each Newton step for that is a non-negative least
    squares problem of m columns: with H = LLᵀ the Hessian, Hw = g, so that the model of the step is
    ½‖Lᵀv − L⁻¹(2g − 1)‖².

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    >>> mixture_weights(p, np.ones(3)).weights.round(4)
    array([0.7083, 0.2917])
    """
    share = row_weights / row_weights.sum()
    # A row's factor leaves the weights as they are and keeps quotients in range.
    scale = p.max(axis=1)
    ratios = p / scale[:, None]
    weights = np.full(p.shape[1], 1.0 / p.shape[1]) if start is None else start
    gap = np.inf
    for _ in range(_MOST_STEPS):
        quotients = ratios / (ratios @ weights)[:, None]
        gradient = share @ quotients
        gap = max(0.0, float(np.log(gradient.max())))
        if gap <= tol:
            break
        try:
            target = _newton_target(quotients, share, gradient)
        except (np.linalg.LinAlgError, RuntimeError):
            # Rounding leaves no factor, or non-negative least squares gives up: the gap says so.
            break
        moved = _line_search(ratios, share, weights, target, gradient)
        if moved is None:
            break
        weights = moved
    # Subtracting from zero keeps −0.0 out of a perfect loss.
    loss = 0.0 - float(share @ (np.log(ratios @ weights) + np.log(scale)))
    return MixtureResult(weights, loss, gap, gap <= tol)


def _newton_target(quotients: Matrix, share: Vector, gradient: Vector) -> Vector:
    """Where the quadratic model of f(w) + Σ w is least over w ≥ 0."""
    hessian = quotients.T @ (share[:, None] * quotients)
    hessian.flat[:: len(hessian) + 1] += _RIDGE * np.trace(hessian) / len(hessian)
    lower = cholesky(hessian, lower=True)
    found: Vector = nnls(lower.T, solve_triangular(lower, 2.0 * gradient - 1.0, lower=True))[0]
    return found


def _line_search(
    ratios: Matrix, share: Vector, weights: Vector, target: Vector, gradient: Vector
) -> Vector | None:
    """Shares with a smaller loss on the way to the target; None if rounding leaves none."""

    def objective(w: Vector) -> float:
        mixed = ratios @ w
        return float(w.sum() - share @ np.log(mixed)) if (mixed > 0.0).all() else np.inf

    start, step = objective(weights), 1.0
    slope = float((1.0 - gradient) @ (target - weights))
    allowed = start + _ROUNDING * (1.0 + abs(start))
    while step > 1e-10:
        there: Vector = weights + step * (target - weights)
        if objective(there) <= allowed + 1e-4 * step * slope:
            return np.asarray(there / there.sum())
        step *= 0.5
    return None


def few_weights(p: Matrix, row_weights: Vector, least: float) -> MixtureResult:
    """The same without models of a share below `least`, the smallest left out first.

    A mixture is as slow as all of its models, and a share of a hundredth changes next to nothing.
    """
    kept, start = np.arange(p.shape[1]), None
    while True:
        found = mixture_weights(p[:, kept], row_weights, start=start)
        # The largest share stays, whatever `least` is.
        small = np.flatnonzero(found.weights < min(least, found.weights.max()))
        if not len(small):
            weights = np.zeros(p.shape[1])
            weights[kept] = found.weights
            return found._replace(weights=weights)
        # Those of no share at all may go together.
        worst = small[found.weights[small] <= found.weights[small].min()]
        kept, start = np.delete(kept, worst), np.delete(found.weights, worst)
        start /= start.sum()
