"""The Newton step of a threshold model: eliminate w, then step in b without breaking its order.

With H the curvature of the objective in (w, b) the step minimises the quadratic model

    gᵀs + ½·sᵀHs   subject to   b + s_b ascending.

H_ww = I + XᵀDX is always positive definite. Solving it for the slope and for the border H_wb
together leaves the Schur complement in b, a problem with one unknown for each threshold. When its
free minimiser descends somewhere, the problem in the gaps between thresholds is one of least
squares without negative unknowns, and the gaps at zero are the ties.

At a width h the rounded problem is solved by Newton steps with an exact line search. Between
changes in the set of rows with curvature, its solution is linear in h, so the next width starts
from where that line leads. If that goes badly the path is taken up again with a shorter step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from ..._utils.types import Matrix, Vector
from .svor_pass import (
    Evaluation,
    ThresholdLoss,
    curvature_product,
    dual_sums,
    dual_value,
    evaluate,
    flat_intervals,
    ratio,
    row_curvatures,
    slopes_along,
)

Solve = Callable[[Matrix], Matrix]

# A threshold with little curvature is moved at most about so far, in units of the margin.
_LONGEST_MOVE = 4.0


class Step(NamedTuple):
    """A direction, and half of the fall of the objective that its slope promises."""

    w: Vector
    b: Vector
    decrement: float


def ordered_minimiser(schur: Matrix, gradient: Vector, b: Vector) -> Vector:
    """Minimiser of gradientᵀs + ½·sᵀ·schur·s for which b + s ascends."""
    size = np.sqrt(np.diagonal(schur))
    # R with RᵀR = schur of unit diagonal, which rounding may have made slightly indefinite.
    values, vectors = scipy.linalg.eigh(schur / np.multiply.outer(size, size))
    roots = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
    root, back = roots[:, None] * vectors.T, vectors / roots
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
    # Rounding can leave less than the one that was added.
    size = np.sqrt(np.maximum(np.diagonal(matrix), 1.0))
    matrix /= np.multiply.outer(size, size)
    try:
        factor = scipy.linalg.cho_factor(matrix, check_finite=False)
        if np.diagonal(factor[0]).min(initial=np.inf) > 1e-7:
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
            length = ratio(size, np.einsum("ij,ij->j", direction, image))
            Y += length * direction
            residual -= length * image
            ahead = scale * residual
            before, size = size, np.einsum("ij,ij->j", residual, ahead)
            if (size <= accuracy**2 * start).all():
                break
            direction = ahead + ratio(size, before) * direction
        return Y

    return solve


def joint_minimiser(
    system: JointSystem, slope_w: Vector, slope_b: Vector, accuracy: float, max_iter: int
) -> tuple[Vector, Vector]:
    """Minimiser of the quadratic model over w and b at once, by conjugate gradients.

    ``accuracy`` is the residual relative to the slope in the norm of the preconditioner.
    """
    d = len(slope_w)
    scale = np.concatenate([1.0 / (1.0 + system.diagonal), 1.0 / system.curvature_b])
    residual = -np.concatenate([slope_w, slope_b])
    found = np.zeros_like(residual)
    ahead = scale * residual
    direction = ahead.copy()
    size = start = float(residual @ ahead)
    for _ in range(max_iter):
        image = system.times(direction)
        bend = float(direction @ image)
        if not bend > 0.0:
            break
        length = size / bend
        found += length * direction
        residual -= length * image
        ahead = scale * residual
        before, size = size, float(residual @ ahead)
        if size <= accuracy**2 * start:
            break
        direction = ahead + (size / before) * direction
    return found[:d], found[d:]


class JointSystem(NamedTuple):
    """Curvature of the objective in w and b.

    ``product`` multiplies the curvature by w of the loss by columns, ``diagonal`` is its diagonal.
    """

    product: Callable[[Matrix], Matrix]
    diagonal: Vector
    border: Matrix
    curvature_b: Vector

    def times(self, v: Vector) -> Vector:
        """Product with a vector."""
        w, b = v[: len(self.diagonal)], v[len(self.diagonal) :]
        by_w = w + self.product(w[:, None])[:, 0] + self.border @ b
        return np.concatenate([by_w, self.border.T @ w + self.curvature_b * b])


Progress = Callable[[int, float, float, float], None]

# Up to so many columns the d×d curvature is formed; beyond it only multiplied.
DIRECT_COLUMNS = 1000
# Every row has curvature in a hinge of this width at the start, where no t exceeds 2.
_FIRST_WIDTH = 4.0
_SMALLEST_RATIO = 0.1
_MOST_STEPS_AT_A_WIDTH = 30
_MOST_REFUSALS = 12
_MOST_PRODUCTS = 100
# Of the weight at a threshold, below which its own curvature says little of where it goes.
_LEAST_CURVATURE = 1e-3
_LENGTHS = 4.0 ** np.arange(-16.0, 5.0)


@dataclass
class Point:
    """An iterate and all that was evaluated there.

    ``h`` is the width of the rounding; rows within ``spread`` of it lend curvature too.
    """

    w: Vector
    b: Vector
    h: float
    spread: float
    terms: Evaluation

    @property
    def value(self) -> float:
        """The rounded objective."""
        return 0.5 * float(self.w @ self.w) + self.terms.value

    @property
    def objective(self) -> float:
        """The objective itself."""
        return 0.5 * float(self.w @ self.w) + self.terms.exact

    @property
    def slope(self) -> tuple[Vector, Vector]:
        """Slope of the rounded objective by w and by b."""
        return self.w + self.terms.slope_w, self.terms.slope_b


class NewtonPath:
    """The iteration: Newton steps at a width h, and smaller widths when a width is solved.

    ``mass`` is the total weight of the rows at each threshold, and ``best`` the point with the
    lowest objective so far.
    """

    best: Point

    def __init__(
        self,
        loss: ThresholdLoss,
        mass: Vector,
        max_iter: int,
        tol: float,
        progress: Progress | None,
    ) -> None:
        self.loss = loss
        self.mass = mass
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress
        self.full_gram = len(loss.centre) <= DIRECT_COLUMNS
        self.hinge = loss.kinked
        self.accuracy = 1e-2
        self.anchor: tuple[Point, Solve] | None = None
        # The point whose rows' curvatures are at hand.
        self.curved: tuple[Point, list[Vector]] | None = None
        self.ratio = _SMALLEST_RATIO
        self.steps_here = 0
        self.bound = 0.0

    def run(self, w: Vector, b: Vector) -> int:
        """Iterate to the goal or to the limit; the number of steps."""
        point = self.at(w, b, _FIRST_WIDTH if self.hinge else 0.5)
        n_iter = refusals = 0
        while True:
            solve = self.solver(point)
            step = self.free_step(point, point.slope) or self.step(solve, point, point.slope)
            goal, rounding = self.goal(point), point.terms.rounding
            if self.progress is not None:
                self.progress(n_iter, point.objective, rounding + step.decrement, point.h)
            exact = point.spread == 0.0
            near = exact and rounding + step.decrement <= 0.6 * goal
            last = n_iter >= self.max_iter or refusals >= _MOST_REFUSALS
            if near or last:
                self.raise_bound(point, step)
                if last or self.best.objective - self.bound <= goal:
                    # This costs one pass more and comes far nearer to the optimum.
                    self.at(point.w + step.w, point.b + step.b, point.h)
                    return n_iter
                refusals += 1
            # A gap that the rounding does not explain needs better balance, so more steps here.
            solved = exact and step.decrement <= 0.3 * max(rounding, goal)
            if self.hinge and solved and (not near or refusals % 4 == 0):
                moved: Point | None = self.narrow(point, solve)
            else:
                moved = self.search(point, step) or self.retreat()
            if moved is None:
                self.raise_bound(point, step)
                return n_iter
            self.accuracy = float(np.clip(np.sqrt(step.decrement / goal) * 1e-4, 1e-6, 1e-2))
            point = moved
            n_iter += 1

    def settle(self) -> Point:
        """The best point, with thresholds in the middle of their minimisers if these are many."""
        best = self.best
        if self.loss.margin_loss.ramp is None:
            return best
        flat, middle = flat_intervals(self.loss, best.w, best.b, best.h)
        b = np.where(flat, middle, best.b)
        if not flat.any() or (np.diff(b) < 0.0).any():
            return best
        settled = self.at(best.w, b, best.h)
        return settled if settled.objective <= best.objective + 0.01 * self.goal(best) else best

    def goal(self, point: Point) -> float:
        """Largest accepted gap."""
        return self.tol * (1.0 + abs(point.objective))

    def at(self, w: Vector, b: Vector, h: float, spread: float = 0.0) -> Point:
        """Evaluate a point, in one pass; the thresholds ascend up to rounding, here exactly."""
        b = np.maximum.accumulate(b)
        terms = evaluate(self.loss, w, b, h, spread, full_gram=self.full_gram)
        point = Point(w, b, h, spread, terms)
        if not hasattr(self, "best") or point.objective < self.best.objective:
            self.best = point
        return point

    def solver(self, point: Point) -> Solve:
        """Solver of linear systems in the curvature by w."""
        if self.full_gram:
            return direct_solver(point.terms.gram)
        product = self.product(point)
        return iterative_solver(product, point.terms.gram, self.accuracy, _MOST_PRODUCTS)

    def product(self, point: Point) -> Solve:
        """Multiplies the curvature by w of the loss by columns."""

        def times(V: Matrix) -> Matrix:
            if self.curved is None or self.curved[0] is not point:
                at = (point.w, point.b, point.h, point.spread)
                self.curved = point, row_curvatures(self.loss, *at)
            return curvature_product(self.loss, self.curved[1], V)

        return times

    def free_step(self, point: Point, slope: tuple[Vector, Vector]) -> Step | None:
        """The step if the thresholds stay in order without a constraint, at a fraction of the cost.

        None if they do not, or if one of them has next to no curvature.
        """
        terms = point.terms
        if self.full_gram or (terms.curvature_b <= _LEAST_CURVATURE * self.mass).any():
            return None
        system = JointSystem(self.product(point), terms.gram, terms.border, terms.curvature_b)
        w, b = joint_minimiser(system, *slope, self.accuracy, _MOST_PRODUCTS)
        if (np.diff(point.b + b) < 0.0).any() or np.abs(b).max() > _LONGEST_MOVE:
            return None
        return Step(w, b, max(0.0, -0.5 * float(slope[0] @ w + slope[1] @ b)))

    def step(self, solve: Solve, point: Point, slope: tuple[Vector, Vector]) -> Step:
        """Minimiser of the quadratic model of a point, for a slope, under the thresholds' order."""
        border, (slope_w, slope_b) = point.terms.border, slope
        solution = solve(np.column_stack([slope_w, border]))
        along_slope, along_border = solution[:, 0], solution[:, 1:]
        schur = np.diag(point.terms.curvature_b) - border.T @ along_border
        schur = 0.5 * (schur + schur.T)
        gradient = slope_b - border.T @ along_slope
        # A threshold without curvature gets a little: none may be left by rounding alone.
        least = np.maximum(1e-10 * self.mass, np.abs(_net(gradient, point.b)) / _LONGEST_MOVE)
        schur[np.diag_indices_from(schur)] += np.maximum(0.0, least - np.diagonal(schur))
        step_b = ordered_minimiser(schur, gradient, point.b)
        step_w = -along_slope - along_border @ step_b
        decrement = -0.5 * float(slope_w @ step_w + slope_b @ step_b)
        return Step(step_w, step_b, max(0.0, decrement))

    def narrow(self, point: Point, solve: Solve) -> Point:
        """Step along the path of solutions to a smaller width."""
        enough = 0.15 * self.goal(point) / max(point.terms.rounding, 1e-300)
        self.ratio = min(0.7, max(self.ratio**2, _SMALLEST_RATIO, enough))
        self.anchor = point, solve
        return self.along_path()

    def retreat(self) -> Point | None:
        """The last solved width again, and a shorter step from there."""
        self.ratio = float(np.sqrt(self.ratio))
        return self.along_path() if self.anchor is not None and self.ratio < 0.99 else None

    def along_path(self) -> Point:
        """The point at ``ratio`` times the anchor's width to which the path leads straight on."""
        assert self.anchor is not None
        self.steps_here = 0
        point, solve = self.anchor
        share = 1.0 - self.ratio
        slope_w, slope_b = point.slope
        slope = slope_w + share * point.terms.drift_w, slope_b + share * point.terms.drift_b
        step, h = self.step(solve, point, slope), self.ratio * point.h
        trial = self.at(point.w + step.w, point.b + step.b, h)
        # The loss of any width lies below the exact one.
        if trial.value <= point.objective:
            return trial
        length = self.best_length(point, step, h)
        return self.at(point.w + length * step.w, point.b + length * step.b, h, h)

    def search(self, point: Point, step: Step) -> Point | None:
        """The full step if it falls enough, else the best length on a grid that is refined."""
        self.steps_here += 1
        if self.anchor is not None and self.steps_here > _MOST_STEPS_AT_A_WIDTH:
            return None
        blur = 1e-14 * max(1.0, abs(point.value))
        if point.spread == 0.0:
            trial = self.at(point.w + step.w, point.b + step.b, point.h)
            if trial.value <= point.value - 2e-4 * step.decrement + blur:
                return trial
        length = self.best_length(point, step, point.h)
        unsolved = step.decrement > 0.3 * max(point.terms.rounding, self.goal(point))
        spread = point.spread if unsolved else 0.0
        if self.hinge and length < 0.3:
            # A short step met kinks that the quadratic model does not know of; let it know more.
            spread = max(10.0 * point.spread, point.h)
        moved = self.at(point.w + length * step.w, point.b + length * step.b, point.h, spread)
        return moved if moved.value < point.value - blur else None

    def best_length(self, point: Point, step: Step, h: float) -> float:
        """Minimiser of the loss of width h along a step that keeps the order, by two grids."""
        closing = np.diff(step.b)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(closing < 0.0, -np.diff(point.b) / closing, np.inf)
        longest = max(1.0, float(room.min(initial=np.inf)))
        lengths = np.array([0.0, *(length for length in _LENGTHS if length <= longest)])
        for _ in range(2):
            slopes = slopes_along(self.loss, (point.w, point.b), (step.w, step.b), h, lengths)
            slopes += point.w @ step.w + lengths * (step.w @ step.w)
            up = int(np.argmax(np.append(slopes, 1.0) > 0.0))
            if up in (0, len(lengths)):
                return float(lengths[min(up, len(lengths) - 1)])
            low, high = lengths[up - 1], lengths[up]
            cut = low + (high - low) * slopes[up - 1] / (slopes[up - 1] - slopes[up])
            lengths = np.sort(np.append(np.linspace(low, high, 9), cut))
        return float(cut)

    def raise_bound(self, point: Point, step: Step) -> None:
        """Bound the minimum by dual points: of the model after the step, and of the point."""
        still = np.zeros_like(point.w), np.zeros_like(point.b)
        for move in ((step.w, step.b), still):
            sums = dual_sums(self.loss, (point.w, point.b), move, point.h)
            self.bound = max(self.bound, dual_value(sums))
            if self.best.objective - self.bound <= self.goal(point):
                return
