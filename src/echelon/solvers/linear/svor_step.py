"""The Newton step of a threshold model: eliminate w, then step in b without breaking its order.

With H the curvature of the objective in (w, b) the step minimises the quadratic model

    gᵀs + ½·sᵀHs   subject to   b + s_b ascending.

H_ww = I + XᵀDX is always positive definite. Solving it for the slope and for the border H_wb
together leaves the Schur complement in b, a problem with one unknown for each threshold. When its
free minimiser descends somewhere, the problem in the gaps between thresholds is one of least
squares without negative unknowns, and the gaps at zero are the ties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from ..._utils.types import Matrix, Vector

Solve = Callable[[Matrix], Matrix]

# A threshold with little curvature is moved at most about so far, in units of the margin.
_LONGEST_MOVE = 4.0


class Step(NamedTuple):
    """A direction, and half of the fall of the objective that its slope promises."""

    w: Vector
    b: Vector
    decrement: float


def newton_step(
    solve: Solve,
    border: Matrix,
    curvature_b: Vector,
    slope: tuple[Vector, Vector],
    b: Vector,
    mass: Vector,
) -> Step:
    """Minimiser of the quadratic model under the order of the thresholds.

    ``mass`` is the total weight of the rows at each threshold.
    """
    slope_w, slope_b = slope
    solution = solve(np.column_stack([slope_w, border]))
    along_slope, along_border = solution[:, 0], solution[:, 1:]
    schur = np.diag(curvature_b) - border.T @ along_border
    schur = 0.5 * (schur + schur.T)
    gradient = slope_b - border.T @ along_slope
    # A threshold without curvature gets a little: none may be left by rounding alone.
    least = np.maximum(1e-10 * mass, np.abs(_net(gradient, b)) / _LONGEST_MOVE)
    schur[np.diag_indices_from(schur)] += np.maximum(0.0, least - np.diagonal(schur))
    step_b = ordered_minimiser(schur, gradient, b)
    step_w = -along_slope - along_border @ step_b
    decrement = -0.5 * float(slope_w @ step_w + slope_b @ step_b)
    return Step(step_w, step_b, max(0.0, decrement))


def ordered_minimiser(schur: Matrix, gradient: Vector, b: Vector) -> Vector:
    """Minimiser of gradientᵀs + ½·sᵀ·schur·s for which b + s ascends."""
    size = np.sqrt(np.diagonal(schur))
    root, back = _square_root(schur / np.multiply.outer(size, size))
    # In terms of u = root·(size·s) the model is ½‖u − goal‖².
    goal = -(back.T @ (gradient / size))
    free = (back @ goal) / size
    if (np.diff(b + free) >= 0.0).all():
        return np.asarray(free)
    # b + s = first + sums of gaps, with the gaps not negative and the first threshold free.
    columns = (root * size) @ np.tril(np.ones((len(b), len(b))))
    goal = goal + (root * size) @ b
    first, gaps = columns[:, 0], columns[:, 1:]
    first = first / np.linalg.norm(first)
    rest = gaps - np.multiply.outer(first, first @ gaps)
    width, _ = nnls(rest, goal - first * (first @ goal), maxiter=100 * len(b))
    start = first @ (goal - gaps @ width) / np.linalg.norm(columns[:, 0])
    return np.asarray(start + np.concatenate([[0.0], np.cumsum(width)]) - b)


def _net(gradient: Vector, b: Vector) -> Vector:
    """Mean gradient over each run of tied thresholds, within which entries may rightly cancel."""
    run = np.concatenate([[0], np.cumsum(np.diff(b) > 0.0)])
    return np.asarray((np.bincount(run, gradient) / np.bincount(run))[run])


def direct_solver(gram: Matrix) -> Solve:
    """Solver of (I + gram)·Y = R by a Cholesky factor."""
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += 1.0
    # Inputs of any units: a unit diagonal keeps the factor accurate.
    size = np.sqrt(np.diagonal(matrix))
    matrix /= np.multiply.outer(size, size)
    try:
        factor = scipy.linalg.cho_factor(matrix, check_finite=False)
        if np.diagonal(factor[0]).min() > 1e-7:
            return lambda R: np.asarray((scipy.linalg.cho_solve(factor, (R.T / size).T).T / size).T)
    except scipy.linalg.LinAlgError:
        pass
    values, vectors = scipy.linalg.eigh(matrix)
    kept = np.maximum(values, 1e-15 * values[-1])
    return lambda R: np.asarray(((vectors @ ((vectors.T @ (R.T / size).T).T / kept).T).T / size).T)


def iterative_solver(
    product: Callable[[Matrix], Matrix], diagonal: Vector, accuracy: float, max_iter: int
) -> Solve:
    """Solver of (I + gram)·Y = R by conjugate gradients, all columns in the same passes.

    ``product`` multiplies gram by columns, ``diagonal`` is that of gram, and ``accuracy`` is the
    residual relative to R in the norm of the preconditioner.
    """
    scale = 1.0 / (1.0 + diagonal)[:, None]

    def solve(R: Matrix) -> Matrix:
        Y = np.zeros_like(R)
        residual, ahead = R.copy(), scale * R
        direction = ahead.copy()
        size = start = np.einsum("ij,ij->j", residual, ahead)
        for _ in range(max_iter):
            image = direction + product(direction)
            length = _ratio(size, np.einsum("ij,ij->j", direction, image))
            Y += length * direction
            residual -= length * image
            ahead = scale * residual
            before, size = size, np.einsum("ij,ij->j", residual, ahead)
            if (size <= accuracy**2 * start).all():
                break
            direction = ahead + _ratio(size, before) * direction
        return Y

    return solve


def _ratio(above: Vector, below: Vector) -> Vector:
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0.0))


def _square_root(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """R with RᵀR = matrix and its inverse, for a matrix that rounding made slightly indefinite."""
    values, vectors = scipy.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
    return roots[:, None] * vectors.T, vectors / roots
