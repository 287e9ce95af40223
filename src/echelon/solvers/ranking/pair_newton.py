"""The hinge over pairs, smoothed so that Newton's method can work on it, and the squared hinge.

Smoothed over a width h the hinge is a difference of two squared hinges, with t = 1 − margin:

    φ_h(t) = (max(t, 0)² − max(t − h, 0)²) / 2h.

The problem, over functions f of a space with a norm and pairs (winner, loser) with weights c_p:

    min ½‖f‖² + C Σ_p c_p φ(1 − m_p),   m_p = f(winner) − f(loser),

with φ(t) = max(t, 0) or its square. A step needs a few products of scores and of derivatives with
the rows, and sums over pairs, which are never listed. The scores along a step are known once it is
found, so its length is searched exactly without another product.

The squared hinge is solved as it is. The hinge is smoothed over a width h, see `smoothed_hinge`,
solved, and followed as h → 0. The dual variables
α_p = C·c_p·φ_h'(1 − m_p) lie in the box of the hinge whatever h, and with v = Σ α_p·(k_winner −
k_loser) and e_p = α_p·(1 − m_p) for short the duality gap of a point is

    ½‖f − v‖² + Σ_p (C·c_p·φ(1 − m_p) − e_p)                (hinge)
    ½‖f − v‖²                                               (squared hinge, with α_p = 2C·c_p·t),

where f − v is the gradient of the objective: gaps need no sum beyond those of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict, Unpack

import numpy as np
import scipy.sparse as sp

from ..._utils.types import Vector
from ...pairs.losses import LossPoint, pair_loss
from ...pairs.pair_set import PairSet
from .score_spaces import LinearSpace, ScoreSpace


@dataclass(frozen=True)
class HingeTerms:
    """C times the loss of width h at some scores.

    Parameters
    ----------
    parts : tuple of LossPoint
        The squared hinge of margin 1, and for the hinge that of margin 1 − h.
    factor : float
        Of their difference.
    value, exact : float
        The smoothed loss and the loss itself.
    excess : float
        What smoothing adds to the duality gap, Σ C·c·φ(t) − α·t with α = C·c·φ_h'(t).
    gradient : ndarray of shape (n,)
        Of the smoothed loss, in the scores.
    """

    parts: tuple[LossPoint, ...]
    factor: float
    value: float
    exact: float
    excess: float
    gradient: Vector

    def curvature(self, v: Vector) -> Vector:
        """Hessian in the scores times v."""
        first, *second = self.parts
        product = first.curvature(v)
        for part in second:
            product = product - part.curvature(v)
        return self.factor * product

    def total_curvature(self) -> float:
        """Sum over pairs of the second derivative of their loss."""
        first, *second = (float(part.curvature_diagonal().sum()) for part in self.parts)
        return max(0.0, 0.5 * self.factor * (first - sum(second)))


class SmoothedHinge:
    """C Σ c·φ over a set of pairs, with the hinge smoothed over a width."""

    def __init__(self, pairs: PairSet, C: float, squared: bool) -> None:
        self.pairs = pairs
        self.C = C
        self.squared = squared
        self._outer = pair_loss("squared_hinge", pairs, 1.0)
        self._inner = self._outer
        self._width = 0.0

    def at(self, scores: Vector, h: float) -> HingeTerms:
        """Value and derivatives at some scores; the width plays no part in the squared hinge."""
        outer = self._outer.at(scores)
        if self.squared:
            value = self.C * outer.value
            return HingeTerms((outer,), self.C, value, value, 0.0, self.C * outer.gradient)
        if h != self._width:
            self._inner, self._width = pair_loss("squared_hinge", self.pairs, 1.0 - h), h
        inner = self._inner.at(scores)
        factor = 0.5 * self.C / h
        gradient = factor * (outer.gradient - inner.gradient)
        # The slope of the squared hinge, Σ 2c·t, is twice the hinge.
        exact = 0.5 * self.C * outer.slope
        earned = factor * (outer.slope - inner.slope) + float(gradient @ scores)
        value = factor * (outer.value - inner.value)
        return HingeTerms((outer, inner), factor, value, exact, max(0.0, exact - earned), gradient)


Progress = Callable[[int, float, float, float], None]


class SolverSettings(TypedDict, total=False):
    """How to solve, for the primal and the dual."""

    squared: Required[bool]
    tol: float
    max_iter: int
    progress: Progress | None


_FIRST_WIDTH, _NEXT_WIDTH = 1.0, 0.1
_SMALLEST_RATIO = 0.1
_LARGEST_RATIO = 0.5
_MOST_PRODUCTS = 500
_MOST_TRIALS = 30
_MOST_STALLS = 3
# The solution for drawn pairs is as far from that for all, so no nearer to its own is of use.
_ROUGH = 1e-3


@dataclass(frozen=True)
class PairSolution:
    """Solution with its certificate.

    ``duality_gap`` bounds how far the objective lies above its minimum, and ½‖f − f*‖² too.
    ``gradient`` is the derivative of C times the loss in the scores, ``-alpha`` summed by row.
    """

    coef: Vector
    scores: Vector
    gradient: Vector
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class _Point:
    """An element with its scores, and the objective of width h there."""

    coef: Vector
    scores: Vector
    half_norm: float
    h: float
    terms: HingeTerms
    gradient: Vector
    half_square: float  # ½‖gradient‖²

    @property
    def value(self) -> float:
        return self.half_norm + self.terms.value

    @property
    def objective(self) -> float:
        return self.half_norm + self.terms.exact

    @property
    def gap(self) -> float:
        return self.half_square + self.terms.excess


@dataclass(frozen=True)
class _Step:
    coef: Vector
    scores: Vector
    descent: float
    square: float


def solve_pairs(
    space: ScoreSpace,
    pairs: PairSet,
    C: float,
    *,
    squared: bool,
    start: Vector | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: Progress | None = None,
) -> PairSolution:
    """Minimise to a duality gap of `tol` times the objective.

    Parameters
    ----------
    space : ScoreSpace
    pairs : PairSet
        At least one pair, over the rows of the space.
    C : float
        Weight of the loss.
    squared : bool
        Whether the hinge is squared.
    start : ndarray, optional
        Coefficients to start from; zeros by default.
    tol : float
    max_iter : int
        Most Newton steps.
    progress : callable, optional
        Called with the number of steps, the objective, the gap and the width h.
    """
    newton = _Newton(space, SmoothedHinge(pairs, C, squared), tol, max_iter, progress)
    n_iter = newton.run(np.zeros(space.size) if start is None else start)
    best = newton.best
    gap = max(0.0, best.objective - newton.bound)
    return PairSolution(
        coef=best.coef,
        scores=best.scores,
        gradient=best.terms.gradient,
        objective=best.objective,
        duality_gap=gap,
        n_iter=n_iter,
        converged=gap <= tol * best.objective,
    )


def solve_linear_pairs(
    X: Any,
    pairs: PairSet,
    C: float,
    *,
    start: Vector | None = None,
    **settings: Unpack[SolverSettings],
) -> PairSolution:
    """Minimise over linear scores of rows, from the solution for drawn pairs where rows are many.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    pairs : PairSet
    C : float
    start : ndarray of shape (d,), optional
    **settings
        As for `solve_pairs`.
    """
    space = LinearSpace(X, pairs)
    n_drawn = space.differences.shape[0]
    if start is None and X.shape[0] >= 2 * n_drawn and n_drawn >= 10 * space.size:
        zero = np.zeros((1, space.size))
        if sp.issparse(X):
            rows = sp.vstack([space.differences, zero], format="csr")
        else:
            rows = np.vstack([space.differences, zero])
        against_zero = np.column_stack([np.arange(n_drawn), np.full(n_drawn, n_drawn)])
        drawn = PairSet.from_pairs(against_zero, n_drawn + 1)
        weight = C * pairs.total_weight / n_drawn
        space_of_drawn = LinearSpace(rows, drawn)
        squared = settings["squared"]
        start = solve_pairs(space_of_drawn, drawn, weight, squared=squared, tol=_ROUGH).coef
    return solve_pairs(space, pairs, C, start=start, **settings)


def without_idle_rows(
    space: ScoreSpace,
    pairs: PairSet,
    C: float,
    solution: PairSolution,
    *,
    squared: bool,
    tol: float,
) -> PairSolution:
    """The solution less coefficients of rows in no pair that bears on it, if it is as good.

    For spaces with a coefficient for each row. At the optimum coefficients are those of the dual,
    and near it either these or the others with zeros put in are as good.
    """
    loss = pair_loss("squared_hinge" if squared else "hinge", pairs)
    bound = solution.objective - solution.duality_gap
    for coef in (-solution.gradient, np.where(solution.gradient != 0.0, solution.coef, 0.0)):
        scores = space.scores(coef)
        objective = 0.5 * space.product(coef, coef, scores) + C * loss.at(scores).value
        gap = max(0.0, objective - bound)
        if gap <= max(tol * objective, solution.duality_gap):
            return replace(solution, coef=coef, scores=scores, objective=objective, duality_gap=gap)
    return solution


class _Newton:
    """The iteration: Newton steps at a width h, and smaller widths when a width is solved."""

    best: _Point

    def __init__(
        self,
        space: ScoreSpace,
        loss: SmoothedHinge,
        tol: float,
        max_iter: int,
        progress: Progress | None,
    ) -> None:
        self.space = space
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress
        self.bound = -np.inf
        self.first_half_square = np.inf

    def run(self, coef: Vector) -> int:
        """Iterate to the goal or to the limit; the number of steps."""
        scores = self.space.scores(coef)
        half_norm = 0.5 * self.space.product(coef, coef, scores)
        # A start that is none needs a wide hinge, in which all pairs have curvature.
        h = _FIRST_WIDTH if half_norm == 0.0 else _NEXT_WIDTH
        point = self.keep(coef, scores, half_norm, h, self.loss.at(scores, h))
        self.first_half_square = max(point.half_square, 1e-300)
        n_iter = stalls = 0
        while True:
            if self.progress is not None:
                self.progress(n_iter, self.best.objective, self.gap(), point.h)
            if n_iter >= self.max_iter or stalls >= _MOST_STALLS:
                return n_iter
            if self.is_done(point, n_iter):
                return n_iter
            if n_iter > 0 and self.is_solved(point):
                point = self.narrow(point)
            moved = self.search(point, self.step(point))
            n_iter += 1
            # Rounding errors end the descent before the goal, if it is very near.
            stalls = stalls + 1 if moved.gap >= point.gap and moved.value >= point.value else 0
            point = moved

    def gap(self) -> float:
        return self.best.objective - self.bound

    def goal(self, point: _Point) -> float:
        return self.tol * point.objective

    def is_done(self, point: _Point, n_iter: int) -> bool:
        """Whether the goal is met; small coefficients must be right too, which the gap hardly sees.

        So one step is always taken, and more if the gradient is not small beside the coefficients.
        """
        right = point.half_square <= 1e-4 * point.half_norm
        return n_iter > 0 and right and self.gap() <= self.goal(point)

    def is_solved(self, point: _Point) -> bool:
        """Whether the width is, so that what is left of the gap comes from smoothing."""
        if self.loss.squared or self.gap() <= self.goal(point):
            return False
        return point.half_square <= max(0.5 * self.goal(point), 0.1 * point.terms.excess)

    def keep(
        self, coef: Vector, scores: Vector, half_norm: float, h: float, terms: HingeTerms
    ) -> _Point:
        """A point with its gradient; it is remembered if it is the best."""
        gradient = coef + self.space.gradient(terms.gradient)
        half_square = 0.5 * self.space.product(gradient, gradient, None)
        point = _Point(coef, scores, half_norm, h, terms, gradient, half_square)
        self.bound = max(self.bound, point.objective - point.gap)
        if not hasattr(self, "best") or point.objective <= self.best.objective:
            self.best = point
        return point

    def narrow(self, point: _Point) -> _Point:
        """The same element under a smaller width; the gap falls with the square of it."""
        ratio = np.sqrt(0.3 * self.goal(point) / max(point.terms.excess, 1e-300))
        h = point.h * float(np.clip(ratio, _SMALLEST_RATIO, _LARGEST_RATIO))
        terms = self.loss.at(point.scores, h)
        return self.keep(point.coef, point.scores, point.half_norm, h, terms)

    def step(self, point: _Point) -> _Step:
        """Newton's step by preconditioned conjugate gradients in the norm of the space."""
        space, terms = self.space, point.terms
        width = np.inf if self.loss.squared else point.h
        precondition = space.preconditioner(terms.total_curvature(), point.scores, width)
        r = -point.gradient
        z, image, size = precondition(r)
        first = size
        p, p_scores = z, space.scores(z) if image is None else image
        coef, scores = np.zeros_like(p), np.zeros_like(p_scores)
        # The nearer the optimum, the more digits of the step are right.
        accuracy = float(np.clip(point.half_square / self.first_half_square, 1e-8, 1e-2))
        enough = max(1e-2 * self.goal(point), accuracy * point.half_square)
        for _ in range(_MOST_PRODUCTS):
            q = p + space.gradient(terms.curvature(p_scores))
            curvature = space.product(q, p, p_scores)
            if curvature <= 0.0 or size <= 0.0:
                break
            length = size / curvature
            coef, scores = coef + length * p, scores + length * p_scores
            r = r - length * q
            z, image, after = precondition(r)
            if after <= accuracy * first and 0.5 * space.product(r, r, image) <= enough:
                break
            if after <= 1e-16 * first:
                break
            ratio, size = after / size, after
            p = z + ratio * p
            p_scores = (space.scores(z) if image is None else image) + ratio * p_scores
        descent = -space.product(point.gradient, coef, scores)
        return _Step(coef, scores, descent, space.product(coef, coef, scores))

    def search(self, point: _Point, step: _Step) -> _Point:
        """The full step if the objective falls enough, else the least value along the step."""
        along = self.space.product(point.coef, step.coef, step.scores)

        def at(length: float) -> tuple[HingeTerms, float]:
            terms = self.loss.at(point.scores + length * step.scores, point.h)
            return terms, along + length * step.square + float(terms.gradient @ step.scores)

        def half_norm(length: float) -> float:
            return point.half_norm + length * along + 0.5 * length**2 * step.square

        length = 1.0
        terms, slope = at(length)
        blur = 1e-13 * abs(point.value)
        fallen = half_norm(1.0) + terms.value <= point.value - 1e-3 * step.descent + blur
        if not fallen or abs(slope) > 0.9 * step.descent:
            length, terms = _least(at, step.descent, terms, slope)
        return self.keep(
            point.coef + length * step.coef,
            point.scores + length * step.scores,
            max(0.0, half_norm(length)),
            point.h,
            terms,
        )


def _least(
    at: Callable[[float], tuple[HingeTerms, float]], descent: float, terms: HingeTerms, slope: float
) -> tuple[float, HingeTerms]:
    """Length where the slope along a step is small, between bounds that enclose its zero."""
    low, low_slope = 0.0, -descent
    high, high_slope = 1.0, slope
    trials = 0
    while high_slope < -0.1 * descent and trials < _MOST_TRIALS:
        low, low_slope = high, high_slope
        high = 2.0 * high
        terms, high_slope = at(high)
        trials += 1
    length, slope = high, high_slope
    while abs(slope) > 0.1 * descent and trials < _MOST_TRIALS:
        # Where the straight line between the ends leads, but not too near to either.
        cut = low_slope / (low_slope - high_slope)
        length = low + float(np.clip(cut, 0.1, 0.9)) * (high - low)
        terms, slope = at(length)
        if slope < 0.0:
            low, low_slope = length, slope
        else:
            high, high_slope = length, slope
        trials += 1
    return length, terms
