"""Maximum (penalised) likelihood of a cumulative link model by Newton's method.

The problem, for inputs z_i already centred and scaled, offsets o_i and weights w_i:

    min over θ_0 < … < θ_{K−2} and γ of   −Σ_i w_i ℓ_i + ½ Σ_j ρ_j γ_j²,
    ℓ_i = ln( F(θ_{y_i} − f_i) − F(θ_{y_i − 1} − f_i) ),   f_i = z_iᵀγ + o_i,

with θ_{−1} = −∞, θ_{K−1} = +∞. For log-concave noise the problem is convex in (θ, γ), so the
gradient certifies the global optimum. Each step solves with the exact Hessian; with many inputs
under a penalty, by conjugate gradients to a residual that falls with the gradient. Steps are halved
until the thresholds ascend strictly and the objective falls. Every class must be present.

The likelihood has no finite maximum exactly when some direction (δ, η) ≠ 0 never lowers any
row's interval probability: δ_{y_i} ≥ z_iᵀη ≥ δ_{y_i − 1} for every row, with a strict inequality
somewhere. That is a linear feasibility problem, solved here by maximising the total slack over
a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import linprog

from ..._utils.types import Codes, Index, Matrix, Vector
from ...ordinal.likelihoods import IntervalTerms, Link, interval_terms
from .cumulative_hessian import CumulativeHessian
from .design import StandardizedDesign

#: columns whose second derivatives are kept as a matrix; for more, under a penalty, only products
#: with it are taken
MOST_IN_MATRIX = 2000
# Beyond these such a matrix does not fit.
_MOST_COLUMNS = 20_000
# Of all weight, that a class has at the start.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class CumulativeLinkProblem:
    """Data of the problem; `ridge` holds ρ for the design's columns."""

    design: StandardizedDesign
    codes: Codes
    n_classes: int
    weights: Vector
    offset: Vector
    ridge: Vector
    link: Link


@dataclass(frozen=True)
class CumulativeLinkResult:
    """Solution with its certificate.

    ``hessian`` is None where there were too many columns for it. ``gradient_norm`` is the largest
    gradient entry divided by the total weight, and ``newton_decrement`` is gᵀH⁻¹g/2, which for the
    convex links estimates how far the objective lies above its minimum.
    """

    thresholds: Vector
    coef: Vector
    objective: float
    log_likelihood: float
    gradient_norm: float
    newton_decrement: float
    hessian: Matrix | None
    n_iter: int
    converged: bool


@dataclass
class _Point:
    """An iterate and all that was evaluated there."""

    parameters: Vector
    objective: float
    log_likelihood: float
    terms: IntervalTerms


def solve_cumulative_link(
    problem: CumulativeLinkProblem, *, max_iter: int = 100, tol: float = 1e-8
) -> CumulativeLinkResult:
    """Minimise by Newton's method with step halving.

    Parameters
    ----------
    problem : CumulativeLinkProblem
    max_iter : int
        Most Newton steps.
    tol : float
        Largest accepted gradient entry per unit of weight.
    """
    total = problem.weights.sum()
    # With a penalty on every coefficient the objective grows without bound in every direction.
    has_optimum = bool((problem.ridge > 0.0).all())
    d = problem.design.shape[1]
    by_products = d > MOST_IN_MATRIX and has_optimum and problem.link.log_concave
    if d > _MOST_COLUMNS and not by_products:
        raise ValueError(
            f"X must have at most {_MOST_COLUMNS:,} columns that vary, unless alpha is above 0 and "
            f"the link is another than cauchit; found {d:,} columns."
        )
    matrix: Matrix | None = None
    point = _evaluate(problem, _start(problem))
    n_iter = flat_steps = 0
    while True:
        gradient = _gradient(problem, point)
        hessian = _hessian(problem, point)
        if by_products:
            step = hessian.newton_step(gradient, total)
        else:
            matrix = hessian.matrix()
            step = _newton_step(matrix, gradient)
        settled = float(np.abs(gradient).max()) <= tol * total
        short = float(np.abs(step).max()) <= 1e-3
        # Steps stay long although the gradient vanishes where the maximum lies at infinity.
        flat_steps += settled and not short and not has_optimum
        if (settled and short) or flat_steps > 5 or n_iter >= max_iter:
            break
        moved = _search(problem, point, step, gradient)
        if moved is None:
            break
        point = moved
        n_iter += 1
    thresholds, coef = _split(problem, point.parameters)
    return CumulativeLinkResult(
        thresholds=thresholds,
        coef=coef,
        objective=point.objective,
        log_likelihood=point.log_likelihood,
        gradient_norm=float(np.abs(gradient).max() / total),
        newton_decrement=float(0.5 * gradient @ -step),
        hessian=matrix,
        n_iter=n_iter,
        converged=settled and short,
    )


def _start(problem: CumulativeLinkProblem) -> Vector:
    """Thresholds at the quantiles of the class shares, no effect of the inputs."""
    weight = np.bincount(problem.codes, problem.weights, minlength=problem.n_classes)
    # A class of hardly any weight would otherwise have no room between its thresholds.
    weight = np.maximum(weight, _LEAST_SHARE * weight.sum())
    share = np.cumsum(weight)[:-1] / weight.sum()
    middle = np.average(problem.offset, weights=problem.weights)
    thresholds = problem.link.quantile(share) + middle
    return np.concatenate([thresholds, np.zeros(problem.design.shape[1])])


def _split(problem: CumulativeLinkProblem, parameters: Vector) -> tuple[Vector, Vector]:
    return parameters[: problem.n_classes - 1], parameters[problem.n_classes - 1 :]


def _evaluate(problem: CumulativeLinkProblem, parameters: Vector) -> _Point:
    thresholds, coef = _split(problem, parameters)
    scores = problem.design.dot(coef) + problem.offset
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    lower, upper = edges[problem.codes] - scores, edges[problem.codes + 1] - scores
    terms = interval_terms(problem.link, lower, upper)
    # Far steps under large weights are endlessly bad, and no better than NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        log_likelihood = float(problem.weights @ terms.log_p)
        penalty = 0.5 * float(problem.ridge @ coef**2)
    return _Point(parameters, penalty - log_likelihood, log_likelihood, terms)


def _gradient(problem: CumulativeLinkProblem, point: _Point) -> Vector:
    w, terms, K = problem.weights, point.terms, problem.n_classes
    upper = np.bincount(problem.codes, w * terms.d_upper, minlength=K)
    lower = np.bincount(problem.codes, w * terms.d_lower, minlength=K)
    by_score = problem.design.transpose_dot(-w * (terms.d_upper + terms.d_lower))
    coef = point.parameters[K - 1 :]
    return -np.concatenate([upper[:-1] + lower[1:], by_score - problem.ridge * coef])


def _hessian(problem: CumulativeLinkProblem, point: _Point) -> CumulativeHessian:
    p = problem
    return CumulativeHessian(p.design, p.codes, p.n_classes, p.weights, p.ridge, point.terms)


def _newton_step(hessian: Matrix, gradient: Vector) -> Vector:
    if not np.isfinite(hessian).all():
        return np.zeros(len(gradient))
    # A penalty in the units of X may weigh columns very differently; a unit diagonal undoes that.
    diagonal = np.abs(np.diagonal(hessian))
    size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled, slope = hessian / np.multiply.outer(size, size), gradient / size
    try:
        factor = scipy.linalg.cho_factor(scaled)
        if np.diagonal(factor[0]).min() > 1e-7:
            return np.asarray(-scipy.linalg.cho_solve(factor, slope) / size)
    except scipy.linalg.LinAlgError:
        pass
    # Collinear inputs or a link that is not log-concave: step along the eigenvectors, downhill
    # in each, and not at all where neither slope nor curvature is left.
    values, vectors = scipy.linalg.eigh(scaled)
    curvature = np.abs(values)
    kept = curvature > 1e-12 * curvature.max()
    return np.asarray(-(vectors[:, kept] @ (vectors[:, kept].T @ slope / curvature[kept])) / size)


def _search(
    problem: CumulativeLinkProblem, point: _Point, step: Vector, gradient: Vector
) -> _Point | None:
    slope = float(gradient @ step)
    rounding = 1e-13 * max(1.0, abs(point.objective))
    length = 1.0
    for _ in range(60):
        parameters = point.parameters + length * step
        thresholds, _ = _split(problem, parameters)
        if (np.diff(thresholds) > 0.0).all():
            moved = _evaluate(problem, parameters)
            if moved.objective <= point.objective + 1e-4 * length * slope + rounding:
                return moved
        length *= 0.5
    return None


def parameter_covariance(
    result: CumulativeLinkResult, design: StandardizedDesign, n_columns: int
) -> Matrix | None:
    """Inverse Hessian in the units of X, for thresholds first and then all columns.

    Columns that were left out, and everything when the Hessian is singular, are NaN. None where
    there were too many columns for it.
    """
    if result.hessian is None:
        return None
    n_thresholds = len(result.thresholds)
    n_active = len(design.active)
    covariance = np.full((n_thresholds + n_columns,) * 2, np.nan)
    try:
        factor = scipy.linalg.cho_factor(result.hessian)
    except (scipy.linalg.LinAlgError, ValueError):
        return covariance
    transform = np.eye(n_thresholds + n_active)
    transform[:n_thresholds, n_thresholds:] = design.centre / design.scale
    transform[n_thresholds:, n_thresholds:] = np.diag(1.0 / design.scale)
    kept = np.concatenate([np.arange(n_thresholds), n_thresholds + design.active])
    with np.errstate(over="ignore", invalid="ignore"):
        found = transform @ scipy.linalg.cho_solve(factor, transform.T)
    if np.isfinite(found).all():
        covariance[np.ix_(kept, kept)] = found
    return covariance


def separating_columns(design: StandardizedDesign, codes: Codes, n_classes: int) -> Index:
    """Columns of X that take part in a separation of the classes; empty if there is none."""
    thresholds = n_classes - 1
    rows = sp.csr_array(design.raw_columns())
    below_top, above_bottom = codes < thresholds, codes > 0
    unit = sp.eye_array(thresholds, format="csr")
    # Slack of each inequality as a row over (δ, η): δ_y − zᵀη and zᵀη − δ_{y−1}.
    slacks = sp.vstack(
        [
            sp.hstack([unit[codes[below_top]], -rows[below_top]]),
            sp.hstack([-unit[codes[above_bottom] - 1], rows[above_bottom]]),
        ],
        format="csr",
    )
    total = np.asarray(slacks.sum(axis=0)).ravel()
    answer = linprog(
        -total / len(codes), A_ub=-slacks, b_ub=np.zeros(slacks.shape[0]), bounds=(-1, 1)
    )
    if answer.x is None or -answer.fun <= 1e-7:
        return np.empty(0, dtype=np.intp)
    return np.asarray(design.active[np.abs(answer.x[thresholds:]) > 1e-6])
