"""The losses that rule ensembles descend, kept up to date rule by rule.

Three are exponential. With s the weights of the rows, z_ik = +1 where y_i > k and −1 elsewhere:

- rank       Σ_{y_i > y_j} m·s_i·s_j·exp(−(f_i − f_j)), m = 1 or y_i − y_j: RankRules;
- threshold  Σ_i s_i Σ_k exp(−z_ik (f_i − θ_k)), least over θ at all times: ORDER, and for two
             levels the binary problems of Ordinal ENDER;

and one is Σ_i s_i |y_i − f_i|: ENDER with the absolute error. Every row has an upper factor u =
s·e^{−f} and a lower factor v = s·e^{f}; the exponential losses need only the sums of both by level,
U_c and V_c, over the rows that a rule covers and over the others:

- rank       W_> = Σ_{c > c'} m·U_c(inside)·V_c'(outside), W_< with the sides exchanged;
- threshold  W_> = Σ_c U_c(inside)·Σ_{k < c} e^{θ_k}, W_< = Σ_c V_c(inside)·Σ_{k ≥ c} e^{−θ_k}.

A rule's response is α = ½ ln((W_> + ε)/(W_< + ε)), the minimiser of e^{−α}·W_> + e^{α}·W_< for ε =
0; with ε > 0 it is shorter and has the same sign, so the loss, convex in α, still falls. Thresholds
have the closed form θ_k = ½ ln(Σ_{c ≤ k} V_c / Σ_{c > k} U_c), which [DK09] (8) prints with the
classes exchanged; with weights that do not depend on k it ascends.

Scores may grow without end on data that rules can separate, so factors are stored divided by the
greatest of their level, sums are compared as logarithms, and levels meet only where pairs are
weighed, in units of the greatest pair, with a decay that moves a sum from one level's scale to the
next's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..._native._rule_rows import extremes, factors, raise_scores, sum_sides
from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.thresholds import exponential_sides
from .refit_losses import LogPairLoss, LogThresholdLoss, RefitLoss, SmoothAbsoluteLoss
from .search import Inside, Terms

# Factors are computed anew from the scores when the steps since then could have changed them by
# more than e to this, or after so many steps, as products of many factors gather rounding.
_MOST_DRIFT = 50.0
_MOST_STEPS = 64
_LARGEST_SPAN = 300.0


class LevelFactors:
    """Upper and lower factors of all rows, and their sums by level.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Levels 0 … K−1, each with a row of positive weight.
    n_levels : int
        K.
    weights : ndarray of shape (n,)
        None negative.

    Attributes
    ----------
    u, v : ndarray of shape (n,)
        s·exp(least_c − f) and s·exp(f − most_c), with the extremes of the scores of the row's level
        c as they were when the factors were last computed from the scores.
    least, most : ndarray of shape (K,)
    """

    def __init__(self, codes: Codes, n_levels: int, weights: Vector) -> None:
        self.levels = codes.astype(np.int32)
        self.weights = weights
        self.scores = np.zeros(len(codes))
        self.u = np.empty(len(codes))
        self.v = np.empty(len(codes))
        self.n_levels = n_levels
        self._sums = np.empty((4, n_levels))
        self.age = 0
        self._refresh()

    def _refresh(self) -> None:
        self.least = np.full(self.n_levels, np.inf)
        self.most = np.full(self.n_levels, -np.inf)
        extremes(self.scores, self.levels, self.least, self.most)
        factors(self.scores, self.weights, self.levels, self.least, self.most, self.u, self.v)
        self._drift, self._steps = 0.0, 0
        self.age += 1
        self.sums = self.sides(np.zeros(len(self.levels), dtype=np.uint8))[:2].copy()

    @property
    def codes(self) -> Codes:
        """Level of each row."""
        return self.levels.astype(np.intp)

    def sides(self, inside: Inside) -> Matrix:
        """U and V of the rows outside, then of those inside, (4, K); overwritten by the next."""
        sum_sides(inside, self.levels, self.u, self.v, self._sums)
        return self._sums

    def step(self, inside: Inside, step: float) -> None:
        """Add to the scores of some rows."""
        outside_u, outside_v, inside_u, inside_v = self.sides(inside)
        raise_scores(inside, step, self.scores, self.u, self.v)
        self._drift += abs(step)
        self._steps += 1
        if self._drift > _MOST_DRIFT or self._steps >= _MOST_STEPS:
            self._refresh()
            return
        self.sums[0] = outside_u + np.exp(-step) * inside_u
        self.sums[1] = outside_v + np.exp(step) * inside_v

    def log_sums(self) -> Matrix:
        """Logarithms of Σ s·e^{−f} and Σ s·e^{f} by level, (2, K)."""
        logs = np.log(self.sums)
        logs[0] -= self.least
        logs[1] += self.most
        return np.asarray(logs)

    def thresholds(self) -> Vector:
        """Least exponential threshold loss for the scores."""
        upper, lower = self.log_sums()
        below, above = exponential_sides(lower, upper)
        return np.asarray(0.5 * (below - above))


@dataclass(frozen=True)
class PairScales:
    """Factors of different levels brought to one scale, for extremes of the scores by level.

    Parameters
    ----------
    top : float
        ln of the greatest weight of a pair.
    pairs : ndarray of shape (K, K)
        Σ_{i of c, j of c'} s_i·s_j·e^{−(f_i − f_j)} = U_c·pairs[c, c']·V_c'·e^top for c > c'.
    factors : ndarray of shape (2, K)
    decay : ndarray of shape (K,)
        pairs[c, c'] = factors[0, c]·factors[1, c']·(product of the decay of the levels between).
    """

    top: float
    pairs: Matrix
    factors: Matrix
    decay: Vector

    @classmethod
    def of(cls, least: Vector, most: Vector) -> PairScales:
        """Scales for the least and the greatest score of each level."""
        K = len(least)
        # Greatest score below each level, and below the level after the last.
        greatest = np.concatenate([[-np.inf], np.maximum.accumulate(most)])
        top = float((greatest[1:K] - least[1:]).max())
        # One scale for all levels is faster, and enough while they are not far apart.
        near = greatest[K - 1] - greatest[1] < _LARGEST_SPAN
        under = np.full(K + 1, greatest[K - 1]) if near else greatest
        # The lowest level is never the higher row of a pair, nor the highest the lower one.
        factors = np.zeros((2, K))
        factors[0, 1:] = np.exp(under[1:K] - least[1:] - top)
        factors[1, :-1] = np.exp(most[:-1] - under[1:K])
        decay = np.zeros(K)
        decay[1:-1] = np.exp(under[1 : K - 1] - under[2:K])
        with np.errstate(over="ignore"):
            pairs = np.tril(np.exp(most - least[:, None] - top), -1)
        return cls(top, pairs, factors, decay)


class _ExponentialLoss:
    """What the exponential losses share: factors of the rows, and the response of a rule."""

    def __init__(self, codes: Codes, n_levels: int, weights: Vector, smoothing: float) -> None:
        self._factors = LevelFactors(codes, n_levels, weights)
        self._smoothing = smoothing

    @property
    def scores(self) -> Vector:
        """The score f of each row."""
        return self._factors.scores

    def split(self, inside: Inside) -> tuple[float, float]:
        """W_> and W_< of a rule, as shares of the loss."""
        raise NotImplementedError

    def _terms(self, *scales: Any) -> Terms:
        state = self._factors
        return Terms(state.levels, state.u, state.v, state.weights, *scales)

    def response(self, inside: Inside) -> float:
        """α."""
        right, wrong = self.split(inside)
        return float(0.5 * np.log((right + self._smoothing) / (wrong + self._smoothing)))

    def settle(self, scores: Vector) -> None:
        """Nothing: thresholds follow from the scores."""


class RankLoss(_ExponentialLoss):
    """The exponential loss over pairs.

    Parameters
    ----------
    codes, n_levels, weights
        As for `LevelFactors`.
    per_threshold : bool
        Whether a pair counts once for every threshold between its levels, or once.
    smoothing : float
        ε as a share of the loss.

    Examples
    --------
    >>> loss = RankLoss(np.array([0, 1, 2]), 3, np.ones(3), per_threshold=False, smoothing=0.0)
    >>> loss.value
    1.0
    >>> inside = np.array([0, 1, 0], dtype=np.uint8)
    >>> loss.response(inside)
    0.0
    """

    def __init__(
        self,
        codes: Codes,
        n_levels: int,
        weights: Vector,
        *,
        per_threshold: bool,
        smoothing: float,
    ) -> None:
        super().__init__(codes, n_levels, weights, smoothing)
        self._per_threshold = per_threshold
        steps = np.subtract.outer(np.arange(n_levels), np.arange(n_levels))
        self._counts = np.maximum(steps, 0) if per_threshold else (steps > 0).astype(np.intp)
        totals = np.bincount(codes, weights, n_levels)
        self._n_pairs = float(totals @ self._counts @ totals)
        self._scale()

    @property
    def thresholds(self) -> Vector:
        """Least exponential threshold loss for the scores."""
        return self._factors.thresholds()

    @property
    def value(self) -> float:
        """Mean over pairs."""
        shares = self._weigh(*self._factors.sums) / self._n_pairs
        return _exponential(self._scales.top + float(np.log(shares)))

    def _scale(self) -> None:
        self._scales = PairScales.of(self._factors.least, self._factors.most)
        self._scaled_at = self._factors.age

    def terms(self) -> Terms:
        """Pairs."""
        scales = self._scales
        return self._terms(scales.factors, scales.decay, self._per_threshold)

    def split(self, inside: Inside) -> tuple[float, float]:
        """W_> and W_< of a rule, as shares of the loss."""
        upper_out, lower_out, upper_in, lower_in = self._factors.sides(inside)
        total = self._weigh(upper_out + upper_in, lower_out + lower_in)
        return self._weigh(upper_in, lower_out) / total, self._weigh(upper_out, lower_in) / total

    def step(self, inside: Inside, step: float) -> None:
        """Add to the scores of these rows."""
        self._factors.step(inside, step)
        if self._factors.age != self._scaled_at:
            self._scale()

    def refit_loss(self) -> RefitLoss:
        """Ln of the mean over pairs."""
        state, count = self._factors, "per_threshold" if self._per_threshold else "once"
        return LogPairLoss(state.codes, state.n_levels, state.weights, count)

    def _weigh(self, upper: Vector, lower: Vector) -> float:
        return float(upper @ (self._counts * self._scales.pairs) @ lower)


class ThresholdLoss(_ExponentialLoss):
    """The exponential loss over rows and thresholds, with the best thresholds for the scores.

    Parameters
    ----------
    codes, n_levels, weights
        As for `LevelFactors`.
    smoothing : float
        ε as a share of the loss.
    """

    def __init__(self, codes: Codes, n_levels: int, weights: Vector, *, smoothing: float) -> None:
        super().__init__(codes, n_levels, weights, smoothing)
        self._mass = float(weights.sum())
        self._find_thresholds()

    @property
    def value(self) -> float:
        """Mean over rows."""
        return _exponential(self._log_value - float(np.log(self._mass)))

    def _find_thresholds(self) -> None:
        state = self._factors
        self.thresholds = theta = state.thresholds()
        shares = np.full((2, len(theta) + 1), -np.inf)
        shares[0, 1:] = np.logaddexp.accumulate(theta)
        shares[1, :-1] = np.logaddexp.accumulate(-theta[::-1])[::-1]
        self._log_value = float(logsumexp(shares + state.log_sums()))
        shares[0] -= state.least
        shares[1] += state.most
        self._shares = np.exp(shares - self._log_value)

    def terms(self) -> Terms:
        """Rows."""
        return self._terms(self._shares)

    def split(self, inside: Inside) -> tuple[float, float]:
        """W_> and W_< of a rule, as shares of the loss."""
        sums = self._factors.sides(inside)
        return float(sums[2] @ self._shares[0]), float(sums[3] @ self._shares[1])

    def step(self, inside: Inside, step: float) -> None:
        """Add to the scores of these rows."""
        self._factors.step(inside, step)
        self._find_thresholds()

    def refit_loss(self) -> RefitLoss:
        """Ln of the mean over rows."""
        state = self._factors
        return LogThresholdLoss(state.codes, state.n_levels, state.weights)


class AbsoluteLoss:
    """The absolute error of scores that are meant to be ranks.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Ranks 0 … K−1.
    n_levels : int
        K.
    weights : ndarray of shape (n,)
    technique : str, default="gradient"
        Of the search: "constant_step" looks at what a step saves, "gradient" at what a very short
        one saves (a row that is met exactly counts both ways), and "gradient_boosting" at the
        signs of the residuals.
    step_size : float, default=1.0
        Of a constant step.
    """

    def __init__(
        self,
        codes: Codes,
        n_levels: int,
        weights: Vector,
        *,
        technique: str = "gradient",
        step_size: float = 1.0,
    ) -> None:
        self._technique = technique
        self._step_size = step_size
        self._weights = weights
        self.scores = np.zeros(len(codes))
        self._cuts = np.arange(n_levels - 1, dtype=np.float64) + 0.5
        self._level = np.zeros(len(codes), dtype=np.int32)
        self._codes = codes
        self._residuals = codes.astype(np.float64)
        self.zero = 0.0
        self.settle(self.scores)

    @property
    def thresholds(self) -> Vector:
        """Midway between ranks."""
        return self._cuts - self.zero

    @property
    def value(self) -> float:
        """Mean over rows."""
        return float(np.average(np.abs(self._residuals), weights=self._weights))

    def terms(self) -> Terms:
        """Rows: what a step up or down saves on each, or their signs."""
        r, s = self._residuals, self._weights
        if self._technique == "constant_step":
            up = s * (np.abs(r) - np.abs(r - self._step_size))
            down = s * (np.abs(r) - np.abs(r + self._step_size))
        elif self._technique == "gradient":
            up, down = np.where(r > 0, s, -s), np.where(r < 0, s, -s)
        else:
            up, down = s * (r > 0), s * (r < 0)
        return Terms(self._level, up, down, s, np.ones((2, 1)))

    def response(self, inside: Inside) -> float:
        """Median residual of the covered rows."""
        rows = inside.astype(bool)
        return _median(self._residuals[rows], self._weights[rows])

    def step(self, inside: Inside, step: float) -> None:
        """Add to the scores of these rows."""
        self.scores += step * inside
        self._residuals -= step * inside

    def refit_loss(self) -> RefitLoss:
        """The mean over rows, smoothed."""
        return SmoothAbsoluteLoss(self._codes, self._weights)

    def settle(self, scores: Vector) -> None:
        """Let the score 0 mean the rank that is best for these scores."""
        rank = _median(self._codes - scores, self._weights)
        self._residuals += self.zero - rank
        self.zero = rank


#: What boosting descends.
RuleLoss = RankLoss | ThresholdLoss | AbsoluteLoss


def measure(loss: str, technique: str, beta: float) -> tuple[str, tuple[float, float]]:
    """The technique to search with, and what its step saves and loses on units of W.

    The terms of the absolute error are themselves what a step saves, but for gradient boosting.
    """
    if loss == "absolute" and technique != "gradient_boosting":
        return "constant_step", (1.0, 0.0)
    return technique, (float(-np.expm1(-beta)), float(np.expm1(beta)))


def _exponential(log: float) -> float:
    """e^log; 0 or infinite beyond the range of floats."""
    with np.errstate(over="ignore"):
        return float(np.exp(log))


def _median(values: Vector, weights: Vector) -> float:
    """Middle of the weighted medians."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    middle = np.searchsorted(mass, 0.5 * mass[-1], side="left")
    after = np.searchsorted(mass, 0.5 * mass[-1], side="right")
    return float(0.5 * (values[order[middle]] + values[order[min(after, len(order) - 1)]]))
