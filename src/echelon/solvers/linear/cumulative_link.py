"""Maximum (penalised) likelihood of a cumulative link model by Newton's method.

The problem, for inputs z_i already centred and scaled, offsets o_i and weights w_i:

    min over θ_0 < … < θ_{K−2} and γ of   −Σ_i w_i ℓ_i + ½ Σ_j ρ_j γ_j²,
    ℓ_i = ln( F(θ_{y_i} − f_i) − F(θ_{y_i − 1} − f_i) ),   f_i = z_iᵀγ + o_i,

with θ_{−1} = −∞, θ_{K−1} = +∞. For log-concave noise the problem is convex in (θ, γ), so the
gradient certifies the global optimum. Each step solves with the exact Hessian; steps are halved
until the thresholds ascend strictly and the objective falls. Every class must be present.

The likelihood has no finite maximum exactly when some direction (δ, η) ≠ 0 never lowers any
row's interval probability: δ_{y_i} ≥ z_iᵀη ≥ δ_{y_i − 1} for every row, with a strict inequality
somewhere. That is a linear feasibility problem, solved here by maximising the total slack over
a box.

With fewer rows than columns, n < d, and a penalty on all columns, √ρ·γ = Q·v at the optimum for
an orthonormal basis Q of the span of the rows z_i / √ρ, for any part outside costs and changes no
score. So the problem is solved in v ∈ ℝⁿ, at a cost of n²·d once, and n³ in each step in place of
d³. Its certificate is the gradient in γ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import linprog

from ..._utils.types import Codes, Index, Matrix, Vector
from ...ordinal.likelihoods import IntervalTerms, Link, interval_terms
from .design import RowCoordinates, StandardizedDesign

# Of all weight, that a class has at the start.
_LEAST_SHARE = 1e-9
# Columns whose curvatures are kept as a matrix.
_MOST_COLUMNS = 20_000


@dataclass(frozen=True)
class CumulativeLinkProblem:
    """Data of the problem; `ridge` holds ρ for the design's columns."""

    design: StandardizedDesign | RowCoordinates
    codes: Codes
    n_classes: int
    weights: Vector
    offset: Vector
    ridge: Vector
    link: Link


@dataclass(frozen=True)
class CumulativeLinkResult:
    """Solution with its certificate.

    ``gradient_norm`` is the largest gradient entry divided by the total weight, and
    ``newton_decrement`` is gᵀH⁻¹g/2, which for the convex links estimates how far the objective
    lies above its minimum. ``hessian`` is None after a solution in the span of the rows.
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
    n, d = problem.design.shape
    if isinstance(problem.design, StandardizedDesign):
        if n < d and (problem.ridge > 0.0).all():
            return _solve_in_span(problem, problem.design, max_iter, tol)
        if d > _MOST_COLUMNS:
            raise ValueError(
                f"X must have at most {_MOST_COLUMNS:,} columns that vary, or fewer rows than "
                f"columns and alpha above 0; found {d:,} columns and {n:,} rows."
            )
    total = problem.weights.sum()
    # With a penalty on every coefficient the objective grows without bound in every direction.
    has_optimum = bool((problem.ridge > 0.0).all())
    point = _evaluate(problem, _start(problem))
    n_iter = flat_steps = 0
    while True:
        gradient = _gradient(problem, point)
        hessian = _hessian(problem, point)
        step = _newton_step(hessian, gradient)
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
        hessian=hessian,
        n_iter=n_iter,
        converged=settled and short,
    )


def _solve_in_span(
    problem: CumulativeLinkProblem, design: StandardizedDesign, max_iter: int, tol: float
) -> CumulativeLinkResult:
    """Minimise over the span of the rows, which are fewer than the columns."""
    root = np.sqrt(problem.ridge)
    basis, triangle = scipy.linalg.qr(
        (design.rows() / root).T, mode="economic", overwrite_a=True, check_finite=False
    )
    reduced = replace(problem, design=RowCoordinates(triangle.T), ridge=np.ones(len(triangle)))
    found = solve_cumulative_link(reduced, max_iter=max_iter, tol=tol)
    coef = np.asarray(basis @ found.coef) / root
    point = _evaluate(problem, np.concatenate([found.thresholds, coef]))
    size = float(np.abs(_gradient(problem, point)).max() / problem.weights.sum())
    return replace(found, coef=coef, gradient_norm=size, hessian=None)


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


def _hessian(problem: CumulativeLinkProblem, point: _Point) -> Matrix:
    w, t, K = problem.weights, point.terms, problem.n_classes
    d = problem.design.shape[1]
    hessian = np.empty((K - 1 + d, K - 1 + d))
    upper = np.bincount(problem.codes, w * t.d2_upper, minlength=K)
    lower = np.bincount(problem.codes, w * t.d2_lower, minlength=K)
    cross = np.bincount(problem.codes, w * t.d2_cross, minlength=K)
    hessian[: K - 1, : K - 1] = -(
        np.diag(upper[:-1] + lower[1:]) + np.diag(cross[1:-1], 1) + np.diag(cross[1:-1], -1)
    )
    by_score = w * (t.d2_upper + t.d2_lower + 2.0 * t.d2_cross)
    hessian[K - 1 :, K - 1 :] = problem.design.gram(-by_score) + np.diag(problem.ridge)
    mixed = problem.design.transpose_dot(_score_threshold_terms(problem, t))[:, 1:-1]
    hessian[K - 1 :, : K - 1] = mixed
    hessian[: K - 1, K - 1 :] = mixed.T
    return hessian


def _score_threshold_terms(problem: CumulativeLinkProblem, t: IntervalTerms) -> sp.csr_array:
    """−w·∂²ℓ/∂f∂θ_k for k = −1 … K−1, a line per row: only its own two thresholds are there."""
    n, K = len(problem.codes), problem.n_classes
    values = np.empty((n, 2))
    values[:, 0] = problem.weights * (t.d2_lower + t.d2_cross)
    values[:, 1] = problem.weights * (t.d2_upper + t.d2_cross)
    columns = problem.codes[:, None] + np.array([0, 1])
    starts = np.arange(0, 2 * n + 1, 2)
    return sp.csr_array((values.ravel(), columns.ravel(), starts), shape=(n, K + 1))


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

    Columns that were left out, and everything when the Hessian is singular, are NaN. None if there
    is no Hessian.
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
