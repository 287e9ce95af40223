"""Newton's method for responses of rules under an L1 penalty.

The problem is min_a L(Φa) + λ·Σ_j p_j·|a_j| + ½ρ·Σ_j p_j²·a_j² for a convex loss L of scores, the
coverage Φ of the rules and the deviations p_j of its columns. Responses are counted as
b_j = p_j·a_j, so that all gradients have the scale of λ. A step solves the quadratic model with its
penalty exactly and then searches along the way there, so that the objective falls; rules enter as
their gradients ask. The coverage stays in bytes; no more than a block of rows is ever held as
doubles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ..._utils.types import Index, Matrix, Vector
from .refit_losses import RefitLoss

Bytes = npt.NDArray[np.uint8]

# A rule that covers a millionth of the weight has ten times this. Below it, weights differ by so
# many orders that responses in units of the deviation would be beyond all bounds.
_LEAST_DEVIATION = 1e-4
# Where rounding has made a second derivative indefinite: its least eigenvalue, as a share of the
# largest.
_LEAST_EIGENVALUE = 1e-12
_NEWTON_STEPS = 200
_ROUNDS = 50
# Numbers of a block of rows that is held as doubles.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class RuleProblem:
    """L + ½ρ‖b‖² in b_j = p_j·a_j.

    Parameters
    ----------
    columns : ndarray of uint8, shape (n, m)
        Φ, in Fortran order.
    deviations : ndarray of shape (m,)
        p, positive.
    loss : RefitLoss
    ridge : float
        ρ, positive.
    """

    columns: Bytes
    deviations: Vector
    loss: RefitLoss
    ridge: float

    @classmethod
    def of(cls, columns: Bytes, loss: RefitLoss, ridge: float) -> RuleProblem:
        """The problem with the deviations that the weighted rows have, but none next to zero."""
        share = _sum_by_rule(columns, loss.weights) / float(loss.weights.sum())
        spread = np.sqrt(np.maximum(share * (1.0 - share), 0.0))
        return cls(columns, np.maximum(spread, _LEAST_DEVIATION), loss, ridge)

    def take(self, chosen: Index) -> RuleProblem:
        """The problem of some rules alone."""
        columns = np.asfortranarray(self.columns[:, chosen])
        return RuleProblem(columns, self.deviations[chosen], self.loss, self.ridge)

    def value(self, b: Vector) -> float:
        """The objective without the penalty."""
        return self.loss.at(self._scores(b))[0] + 0.5 * self.ridge * float(b @ b)

    def at(self, b: Vector) -> tuple[float, Vector]:
        """Value and gradient."""
        value, gradient = self.loss.at(self._scores(b))
        by_rule = _sum_by_rule(self.columns, gradient) / self.deviations
        return value + 0.5 * self.ridge * float(b @ b), by_rule + self.ridge * b

    def hessian(self, b: Vector) -> Matrix:
        """Second derivative, (m, m)."""
        curvature = self.loss.curvature(self._scores(b))
        gram = self.ridge * np.eye(len(b))
        means = np.zeros((len(curvature.core), len(b)))
        for rows in _blocks(self.columns):
            block = self.columns[rows] / self.deviations
            means += curvature.factors[rows].T @ block
            gram += block.T @ (curvature.diagonal[rows, None] * block)
        return np.asarray(gram + means.T @ curvature.core @ means)

    def _scores(self, b: Vector) -> Vector:
        """Φa."""
        used = np.flatnonzero(b)
        columns, responses = self.columns[:, used], b[used] / self.deviations[used]
        scores = np.empty(len(columns))
        for rows in _blocks(columns):
            scores[rows] = columns[rows].astype(np.float64) @ responses
        return scores


def violation(b: Vector, gradient: Vector, penalty: float) -> Vector:
    """Distance from zero of the subgradients of each coordinate."""
    at_zero = np.maximum(np.abs(gradient) - penalty, 0.0)
    return np.where(b == 0.0, at_zero, np.abs(gradient + penalty * np.sign(b)))


# ------------------------------------------------------------------------------------------ solve


def solve(problem: RuleProblem, b: Vector, penalty: float, tol: float) -> Vector:
    """Minimiser with penalty λ, from b, over rules that enter as their gradients ask."""
    for _ in range(_ROUNDS):
        wrong = violation(b, problem.at(b)[1], penalty)
        if wrong.max() <= tol:
            break
        inside = np.flatnonzero(b)
        # Few at a time: most gradients fall once the steepest rules are in.
        worst = np.argsort(-wrong, kind="stable")[: 10 + len(inside)]
        working = np.union1d(inside, worst[wrong[worst] > tol])
        b = b.copy()
        b[working] = newton(problem.take(working), b[working], penalty, 0.5 * tol)
    return b


def newton(problem: RuleProblem, b: Vector, penalty: float, tol: float) -> Vector:
    """Minimiser over all rules of a small problem."""
    value, gradient = problem.at(b)
    for _ in range(_NEWTON_STEPS):
        if violation(b, gradient, penalty).max() <= tol:
            break
        H = problem.hessian(b)
        aim = _penalised_quadratic(H, gradient - H @ b, penalty, b)
        moved = _search(problem, b, aim, value, gradient, penalty)
        if (moved == b).all():
            break
        b = moved
        value, gradient = problem.at(b)
    return b


def _search(
    problem: RuleProblem, b: Vector, aim: Vector, value: float, gradient: Vector, penalty: float
) -> Vector:
    """First point on the halving way back from `aim` to b where the objective falls enough."""
    step = aim - b
    promised = float(gradient @ step) + penalty * float(_longer(aim, b))
    if not promised < 0.0:
        return b
    if -promised <= 1e-13 * max(1.0, abs(value)):
        # Values cannot tell any more; Newton's step is as good as can be.
        return aim
    t = 1.0
    for _ in range(50):
        tried = aim if t == 1.0 else b + t * step
        change = problem.value(tried) - value + penalty * float(_longer(tried, b))
        if change <= 1e-4 * t * promised:
            return tried
        t *= 0.5
    return b


def _penalised_quadratic(H: Matrix, c: Vector, penalty: float, x: Vector) -> Vector:
    """Minimiser of ½xᵀHx + cᵀx + λ‖x‖₁ for positive definite H, from x.

    The quadratic is solved with the signs held; on the way there the best of the points where a
    coordinate meets zero, or the end, is taken; once the signs hold, the coordinate at zero with
    the steepest slope is let in. The objective falls in each step, so no signs come twice.
    """
    if penalty == 0.0:
        return _solve_positive(H, -c)
    rounding = 1e-13 * float(np.abs(c).max() + penalty)
    settled = False
    for _ in range(20 + 10 * len(c)):
        gradient = H @ x + c
        signs = np.sign(x)
        if settled:
            slopes = np.where(x == 0.0, np.abs(gradient) - penalty, 0.0)
            enters = int(np.argmax(slopes))
            if slopes[enters] <= rounding:
                break
            signs[enters] = -np.sign(gradient[enters])
        active = np.flatnonzero(signs)
        right = -(c[active] + penalty * signs[active])
        end = np.zeros_like(x)
        end[active] = _solve_positive(H[np.ix_(active, active)], right)
        following = _lowest_on_the_way(H, gradient, penalty, x, end)
        if following is None:
            if settled:
                break
            settled = True
        else:
            x = following
            settled = bool((np.sign(x) == signs).all() and (x == end).all())
    return x


def _solve_positive(H: Matrix, right: Vector) -> Vector:
    """H⁻¹·right for H that is positive definite but for rounding."""
    if not len(right):
        return right
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), right))
    except scipy.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(H)
        values = np.maximum(values, _LEAST_EIGENVALUE * float(values[-1]))
        return np.asarray(vectors @ ((right @ vectors) / values))


def _lowest_on_the_way(
    H: Matrix, gradient: Vector, penalty: float, x: Vector, end: Vector
) -> Vector | None:
    """Best of `end` and the points before it where a coordinate meets zero; None if none helps."""
    step = end - x
    crossing = np.flatnonzero(x * end < 0.0)
    places = np.append(-x[crossing] / step[crossing], 1.0)
    points = x + places[:, None] * step
    points[np.arange(len(crossing)), crossing] = 0.0
    moves = points - x
    change = moves @ gradient + 0.5 * ((moves @ H) * moves).sum(axis=1)
    change += penalty * _longer(points, x)
    best = int(np.argmin(change))
    return points[best] if change[best] < 0.0 else None


def _longer(points: Matrix, x: Vector) -> Vector:
    """‖p‖₁ − ‖x‖₁ of a point p or of each row, exact where p is next to x, unlike sums apart."""
    return np.asarray((np.abs(points) - np.abs(x)).sum(axis=-1))


def _blocks(columns: Bytes) -> list[slice]:
    """Blocks of rows that are small enough to be held as doubles."""
    n, m = columns.shape
    size = max(256, _BLOCK // max(1, m))
    return [slice(start, start + size) for start in range(0, n, size)]


def _sum_by_rule(columns: Bytes, values: Vector) -> Vector:
    """Φᵀv."""
    total = np.zeros(columns.shape[1])
    for rows in _blocks(columns):
        total += values[rows] @ columns[rows].astype(np.float64)
    return total
