"""Convex losses of scores with their curvature, for fitting many responses at once.

Each is a function of the scores f of n rows that does not change when all scores move together:

- `LogPairLoss`         ln of the mean exponential loss over pairs, `pairs.exponential`;
- `LogThresholdLoss`    ln of min over b of the mean Σ_k exp(−Z_ik(f_i − b_k)), `solvers.orboost`;
- `SmoothAbsoluteLoss`  min over c of the mean of √((y_i − f_i − c)² + δ²), near the absolute error.

The second derivative of all three is a diagonal plus a matrix of low rank, which `Curvature` holds.
For the first two it comes from the sums of each level: with u_c = ln Σ w·e^{−f} and
v_c = ln Σ w·e^f over the rows of level c, the loss is some Ψ(u, v), each row has its share p of the
sum of its level, and

    ∇²L = diag(D) + P(Ψ″ − diag Ψ′)Pᵀ,   D = Ψ′_u·p⁻ + Ψ′_v·p⁺,

where P has the columns −p⁻ and p⁺ of each level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.optimize
import scipy.sparse

from ..._utils.types import Codes, Index, Matrix, Vector
from ...pairs.exponential import ExponentialPairLoss, LevelSums
from ..boosting.orboost import ThresholdObjective

# δ of the absolute error, from smooth to sharp; each problem starts from the solution of the last.
_SMOOTHINGS = (0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Curvature:
    """∇²L = diag(diagonal) + factors · core · factorsᵀ.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    factors : sparse array of shape (n, q)
    core : ndarray of shape (q, q)
    """

    diagonal: Vector
    factors: Any
    core: Matrix


@dataclass(frozen=True)
class _LevelLoss:
    codes: Codes
    n_levels: int
    weights: Vector

    def __post_init__(self) -> None:
        if len(np.unique(self.codes[self.weights > 0.0])) < 2:
            raise ValueError("codes must hold two levels or more among rows of positive weight.")

    def stages(self) -> tuple[Self, ...]:
        """Losses from smooth to sharp, each of which helps to solve the next: here itself alone."""
        return (self,)

    def take(self, rows: Index, times: Vector) -> Self:
        """The same loss of some rows only, with weights multiplied."""
        return replace(self, codes=self.codes[rows], weights=self.weights[rows] * times)

    @cached_property
    def _sums(self) -> LevelSums:
        return LevelSums(self.codes, self.n_levels)

    @cached_property
    def _log_weights(self) -> Vector:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights))

    def curvature(self, scores: Vector) -> Curvature:
        """Second derivative in the scores."""
        u, minus = self._sums.softmax(self._log_weights - scores)
        v, plus = self._sums.softmax(self._log_weights + scores)
        slope, curvature = self._outer(u, v)
        K, codes = self.n_levels, self.codes
        n = len(codes)
        columns = np.column_stack([codes, codes + K]).ravel()
        shares = np.column_stack([-minus, plus]).ravel()
        starts = np.arange(0, 2 * n + 1, 2)
        return Curvature(
            slope[:K][codes] * minus + slope[K:][codes] * plus,
            scipy.sparse.csr_array((shares, columns, starts), shape=(n, 2 * K)),
            curvature - np.diag(slope),
        )

    def _outer(self, u: Vector, v: Vector) -> tuple[Vector, Matrix]:
        """Ψ′ and Ψ″ in (u, v)."""
        raise NotImplementedError


@dataclass(frozen=True)
class LogPairLoss(_LevelLoss):
    """ln R(f) − ln R(0), with R the exponential loss over pairs of rows of different levels.

    Parameters
    ----------
    codes : ndarray of shape (n,)
    n_levels : int
        K.
    weights : ndarray of shape (n,)
        None negative.
    count : {"once", "per_threshold"}, default="once"
        Whether a pair weighs 1 or the number of thresholds between its levels.

    Examples
    --------
    >>> loss = LogPairLoss(np.array([0, 1]), 2, np.ones(2))
    >>> loss.at(np.array([0.0, 3.0]))
    (-3.0, array([ 1., -1.]))
    """

    count: str = "once"

    @cached_property
    def _pairs(self) -> ExponentialPairLoss:
        return ExponentialPairLoss(self.codes, self.n_levels, self.weights, count=self.count)

    def at(self, scores: Vector) -> tuple[float, Vector]:
        """The loss and its gradient."""
        shares = self._pairs.at(scores)
        return shares.log_loss - float(np.log(self._pairs.total)), shares.gradient

    def _outer(self, u: Vector, v: Vector) -> tuple[Vector, Matrix]:
        steps = np.subtract.outer(np.arange(self.n_levels), np.arange(self.n_levels))
        times = np.maximum(steps, 0) if self.count == "per_threshold" else steps > 0
        with np.errstate(divide="ignore"):
            shares = _softmax((np.log(times.astype(np.float64)) + u[:, None] + v).ravel())
        shares = shares.reshape(times.shape)
        slope = np.concatenate([shares.sum(axis=1), shares.sum(axis=0)])
        curvature = np.diag(slope) - np.outer(slope, slope)
        curvature[: self.n_levels, self.n_levels :] += shares
        curvature[self.n_levels :, : self.n_levels] += shares.T
        return slope, curvature


@dataclass(frozen=True)
class LogThresholdLoss(_LevelLoss):
    """ln of the mean exponential loss at the K−1 thresholds, which are the best for the scores.

    With K = 2 it is the exponential loss of a binary problem with a free intercept.

    Parameters
    ----------
    codes : ndarray of shape (n,)
    n_levels : int
        K.
    weights : ndarray of shape (n,)
        Positive; rows without weight are for ``take`` to leave out.

    Examples
    --------
    >>> loss = LogThresholdLoss(np.array([0, 1]), 2, np.ones(2))
    >>> loss.at(np.array([0.0, 4.0]))
    (-2.0, array([ 0.5, -0.5]))
    """

    @cached_property
    def _objective(self) -> ThresholdObjective:
        ones = np.ones((self.n_levels, self.n_levels - 1))
        return ThresholdObjective(self.codes, ones, self.weights)

    def at(self, scores: Vector) -> tuple[float, Vector]:
        """The loss and its gradient."""
        point = self._objective.at(scores)
        return point.log_loss, -point.negative_gradient

    def _outer(self, u: Vector, v: Vector) -> tuple[Vector, Matrix]:
        # The loss at threshold k is 2·√(Σ_{c>k} e^u · Σ_{c≤k} e^v) once b_k is the best.
        K = self.n_levels
        above = np.arange(K) > np.arange(K - 1)[:, None]
        sides = np.where(np.hstack([above, ~above]), np.concatenate([u, v]), -np.inf)
        halves = sides.reshape(K - 1, 2, K)
        within = np.array([[_softmax(half) for half in pair] for pair in halves])
        terms = 0.5 * np.logaddexp.reduce(halves, axis=2).sum(axis=1)
        q = _softmax(terms)
        rise = 0.5 * within.reshape(K - 1, 2 * K)
        slope = q @ rise
        curvature = (rise.T * q) @ rise - np.outer(slope, slope) + np.diag(slope)
        for side, block in ((0, slice(0, K)), (1, slice(K, 2 * K))):
            curvature[block, block] -= 0.5 * (within[:, side].T * q) @ within[:, side]
        return slope, curvature


@dataclass(frozen=True)
class SmoothAbsoluteLoss:
    """The smoothed absolute error of scores plus the best constant, in classes.

    It lies between the mean absolute error and that plus δ.

    Parameters
    ----------
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        None negative, not all zero.
    smoothing : float
        δ.

    Examples
    --------
    >>> loss = SmoothAbsoluteLoss(np.array([1, 3]), np.ones(2))
    >>> round(loss.shift(np.array([0.0, 2.0])), 9), round(loss.at(np.array([0.0, 2.0]))[0], 9)
    (1.0, 0.01)
    """

    codes: Codes
    weights: Vector
    smoothing: float = _SMOOTHINGS[-1]

    def at(self, scores: Vector) -> tuple[float, Vector]:
        """The loss and its gradient."""
        residuals, lengths, mass = self._parts(scores)
        return float(mass @ lengths), -mass * residuals / lengths

    def curvature(self, scores: Vector) -> Curvature:
        """Second derivative, with the constant following the scores."""
        _, lengths, mass = self._parts(scores)
        curvature = mass * self.smoothing**2 / lengths**3
        core = np.array([[-1.0 / float(curvature.sum())]])
        return Curvature(curvature, scipy.sparse.csr_array(curvature[:, None]), core)

    def take(self, rows: Index, times: Vector) -> Self:
        """The same loss of some rows only, with weights multiplied."""
        return type(self)(self.codes[rows], self.weights[rows] * times, self.smoothing)

    def stages(self) -> tuple[Self, ...]:
        """Losses with ever smaller δ, down to this one's."""
        rougher = [delta for delta in _SMOOTHINGS if delta > self.smoothing]
        deltas = (*rougher, self.smoothing)
        return tuple(type(self)(self.codes, self.weights, delta) for delta in deltas)

    def shift(self, scores: Vector) -> float:
        """The constant c that is best for these scores."""
        residuals = self.codes - scores

        def slope(c: float) -> float:
            r = residuals - c
            return float(self.weights @ (r / np.hypot(r, self.smoothing)))

        low, high = float(residuals.min()), float(residuals.max())
        if not low < high:
            return low
        return float(scipy.optimize.brentq(slope, low, high, xtol=1e-14, rtol=1e-14))

    def _parts(self, scores: Vector) -> tuple[Vector, Vector, Vector]:
        """Residuals, their smoothed lengths, and the share of each row in all weight."""
        residuals = self.codes - scores - self.shift(scores)
        return residuals, np.hypot(residuals, self.smoothing), self.weights / self.weights.sum()


#: A convex loss of scores that stays the same when all of them move together.
RefitLoss = LogPairLoss | LogThresholdLoss | SmoothAbsoluteLoss


def _softmax(logs: Vector) -> Vector:
    """exp(logs) over their sum; zeros if all are −∞."""
    top = float(logs.max())
    if top == -np.inf:
        return np.zeros_like(logs)
    raised = np.exp(logs - top)
    return np.asarray(raised / raised.sum())
