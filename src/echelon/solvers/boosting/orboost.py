"""Boosting of weak learners h: x → [−1, 1] into a score f = Σ_t v_t·h_t for ordered labels.

ORBoost (Lin and Li, 2006) descends the exponential loss at the thresholds,

    L(f) = min over ascending b of Σ_ik w_i·W_ik·exp(−Z_ik(f_i − b_k)),

RankBoost the exponential loss over pairs (`pairs.exponential`). A round gives the learner the
negative gradient u = −∂L/∂f of every row, as a share of L; the learner looks for h with a great Σ
u_i·h(x_i); v minimises the loss along h with b held, in closed form if h is ±1 and by Newton's
method otherwise; then b is fitted anew. No part of a round raises the loss, nor does a learning
rate below one, as the loss is convex. Losses are kept as logarithms, so that any number of rounds
on data that can be separated perfectly stays finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.costs import mean_weights_by_class
from ...ordinal.reduction import reverse_reduce
from ...ordinal.thresholds import fit_cost, fit_exponential, margins
from ...pairs.exponential import ExponentialPairLoss, LevelSums
from .weak_learners import LinearSearch, StumpLearner

#: Trains weak learners on the same rows again and again.
Learner = LinearSearch | StumpLearner

#: Longest step along h; only an h that makes no error at all wants more.
LONGEST_STEP = 20.0
# Edges below this share of Σ|u| are rounding.
_NO_EDGE = 1e-12
# Share of all costs that decides between thresholds of equal cost.
_TIE_BREAK = 1e-9


@dataclass(frozen=True)
class Round:
    """One round: the member, its weight v, and loss and thresholds after it."""

    member: Any
    weight: float
    log_loss: float
    thresholds: Vector


def boost(
    objective: Objective,
    learner: Learner,
    n_rows: int,
    *,
    n_rounds: int,
    learning_rate: float,
    rng: np.random.Generator,
) -> Iterator[Round]:
    """Rounds of boosting, one after another; fewer than asked where nothing is left to gain.

    It ends where the best member has no edge, Σ u_i·h(x_i) ≤ 0, or where it makes no error and a
    further round could but give the same member again.
    """
    scores = np.zeros(n_rows)
    point: Any = objective.at(scores)
    for _ in range(n_rounds):
        member, h = learner.fit(point.negative_gradient, rng)
        u = point.negative_gradient
        if u @ h <= _NO_EDGE * float(np.abs(u).sum()):
            return
        longest = objective.step(scores, point, h, binary=learner.binary)
        weight = learning_rate * longest
        scores = scores + weight * h
        point = objective.at(scores)
        yield Round(member, weight, point.log_loss, point.thresholds)
        if longest >= LONGEST_STEP and learner.deterministic:
            return


@dataclass(frozen=True)
class ThresholdPoint:
    """The exponential threshold loss at its best thresholds, and each row's share of it.

    Parameters
    ----------
    log_loss : float
        ln L, of the mean over the weight of all rows.
    thresholds : ndarray of shape (K−1,)
    upper, lower : ndarrays of shape (n,)
        Share of L in terms that fall, and that rise, with the row's score; their sum is one.
    """

    log_loss: float
    thresholds: Vector
    upper: Vector
    lower: Vector

    @property
    def negative_gradient(self) -> Vector:
        """u: share that falls minus share that rises."""
        return self.upper - self.lower


class ThresholdObjective:
    """L(f) for fixed labels and weights.

    Rows of one group have the same label and the same W, so that sums over rows are taken by
    group: O(n + GK) time for G groups, which are the K classes or, with costs per row, all rows.

    Parameters
    ----------
    codes : ndarray of shape (n,)
    weights : ndarray of shape (K, K−1) or (n, K−1)
        W of each class, or of each row if `by_row`.
    sample_weight : ndarray of shape (n,)
        w, positive.
    by_row : bool, default=False

    Examples
    --------
    >>> objective = ThresholdObjective(np.array([0, 1]), np.ones((2, 1)), np.ones(2))
    >>> point = objective.at(np.array([-1.0, 1.0]))
    >>> point.thresholds, round(float(np.exp(point.log_loss)), 4), point.negative_gradient.round(4)
    (array([0.]), 0.3679, array([-0.5,  0.5]))
    """

    def __init__(
        self, codes: Codes, weights: Matrix, sample_weight: Vector, *, by_row: bool = False
    ) -> None:
        self._codes = codes
        self._by_row = by_row
        self._K = weights.shape[1] + 1
        groups = np.arange(len(codes)) if by_row else codes
        self._sums = LevelSums(groups, len(weights))
        self._weights = weights
        self._sample_weight = sample_weight
        self._log_row_weights = np.log(sample_weight)
        self._log_total = float(np.log(sample_weight.sum()))
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(weights)
        group_codes = codes if by_row else np.arange(len(weights))
        self._is_lower = group_codes[:, None] <= np.arange(self._K - 1)

    def at(self, scores: Vector) -> ThresholdPoint:
        """The point of these scores."""
        log_rise, rise = self._sums.softmax(self._log_row_weights + scores)
        log_fall, fall = self._sums.softmax(self._log_row_weights - scores)
        sides = np.where(self._is_lower, log_rise[:, None], log_fall[:, None]) + self._log_weights
        b = self._fit_thresholds(scores, sides)
        with np.errstate(invalid="ignore"):
            terms = sides + np.where(self._is_lower, -b, b)
        # No weight on the wrong side of an infinite threshold.
        terms[np.isnan(terms)] = -np.inf
        top = float(terms.max())
        if top == -np.inf:
            return ThresholdPoint(-np.inf, b, np.zeros_like(scores), np.zeros_like(scores))
        terms = np.exp(terms - top)
        total = float(terms.sum())
        terms /= total
        groups = self._sums.codes
        return ThresholdPoint(
            top + float(np.log(total)) - self._log_total,
            b,
            fall * np.where(self._is_lower, 0.0, terms).sum(axis=1)[groups],
            rise * np.where(self._is_lower, terms, 0.0).sum(axis=1)[groups],
        )

    def _fit_thresholds(self, scores: Vector, sides: Matrix) -> Vector:
        below = np.logaddexp.reduce(np.where(self._is_lower, sides, -np.inf), axis=0)
        above = np.logaddexp.reduce(np.where(self._is_lower, -np.inf, sides), axis=0)
        with np.errstate(invalid="ignore"):
            b = 0.5 * (below - above)
        if (b[1:] >= b[:-1]).all() and not np.isnan(b[0]):
            return np.asarray(b)
        weights = self._weights[self._sums.codes] * self._sample_weight[:, None]
        return fit_exponential(scores, self._codes, self._K, weights)

    def step(self, scores: Vector, point: ThresholdPoint, h: Vector, *, binary: bool) -> float:
        """The v ≥ 0 that minimises Σ upper·e^{−vh} + lower·e^{vh}."""
        upper, lower = point.upper, point.lower
        if binary:
            up = h > 0.0
            right = float(upper[up].sum() + lower[~up].sum())
            wrong = float(upper[~up].sum() + lower[up].sum())
            return _closed_step(right, wrong, 2.0)

        def derivatives(v: float) -> tuple[float, float]:
            decay = np.exp(-v * h)
            falling, rising = upper * decay, lower / decay
            return float(h @ (rising - falling)), float((h * h) @ (rising + falling))

        return newton_step(derivatives)

    def link_thresholds(self, scores: Vector) -> Vector:
        """Thresholds b with P(y > k) = 1/(1 + exp(−2(f − b_k))): those of least loss."""
        return self.at(scores).thresholds

    def link_weights(self) -> Matrix:
        """W of each class, or its mean over the rows of the class; ones for a class without."""
        if not self._by_row:
            return self._weights
        return mean_weights_by_class(self._weights, self._codes, self._sample_weight, self._K)


@dataclass(frozen=True)
class PairPoint:
    """Logarithm of the mean pair loss, thresholds of least cost, and u of the rows."""

    log_loss: float
    thresholds: Vector
    negative_gradient: Vector


class PairObjective:
    """The exponential pair loss, with thresholds of least cost.

    Parameters
    ----------
    codes : ndarray of shape (n,)
    costs : ndarray of shape (n, K)
        Cost of each rank for each row.
    sample_weight : ndarray of shape (n,)
        Positive.
    """

    def __init__(self, codes: Codes, costs: Matrix, sample_weight: Vector) -> None:
        K = costs.shape[1]
        # Only ratios matter, and products of weights in pairs must not vanish.
        unit = 2.0 ** np.floor(np.log2(sample_weight.max()))
        self._loss = ExponentialPairLoss(codes, K, sample_weight / unit)
        self._exponential = ThresholdObjective(codes, np.ones((K, K - 1)), sample_weight)
        self._sample_weight = sample_weight[:, None]
        self._costs = costs * self._sample_weight

    def at(self, scores: Vector) -> PairPoint:
        """The point of these scores."""
        shares = self._loss.at(scores)
        log_loss = shares.log_loss - float(np.log(self._loss.total))
        return PairPoint(log_loss, self._cheapest_thresholds(scores), -shares.gradient)

    def step(self, scores: Vector, point: PairPoint, h: Vector, *, binary: bool) -> float:
        """The v ≥ 0 that minimises R(f + v·h)."""
        if binary:
            # h_i − h_j is 2 or −2 where it is not 0.
            return _closed_step(*self._loss.ordered_by(scores, h), 4.0)

        def derivatives(v: float) -> tuple[float, float]:
            edge = self._loss.along(scores + v * h, h)
            return edge.slope, edge.curvature

        return newton_step(derivatives)

    def _cheapest_thresholds(self, scores: Vector) -> Vector:
        """Thresholds of least total cost, near those of the exponential loss among equals.

        Costs are often whole numbers, so that many cuts are equal; a rule that took the first would
        not give mirrored thresholds to mirrored labels.
        """
        b = np.clip(self.link_thresholds(scores), scores.min() - 1.0, scores.max() + 1.0)
        G = margins(scores, b)
        _, detour = reverse_reduce(np.where(G > 0.0, 1, -1).astype(np.int8), np.abs(G))
        detour *= self._sample_weight
        total = float(self._costs.sum())
        small = _TIE_BREAK * total / max(float(detour.sum()), 1e-200 * max(1.0, total))
        return fit_cost(scores, self._costs + small * detour)

    def link_thresholds(self, scores: Vector) -> Vector:
        """Thresholds of the exponential loss."""
        return self._exponential.link_thresholds(scores)

    def link_weights(self) -> Matrix:
        """Ones."""
        return self._exponential.link_weights()


#: A loss of scores that boosting can descend.
Objective = ThresholdObjective | PairObjective


def _closed_step(right: float, wrong: float, rate: float) -> float:
    """Minimiser of right·exp(−v·rate/2) + wrong·exp(v·rate/2), at most the longest step."""
    if wrong <= right * np.exp(-rate * LONGEST_STEP):
        return LONGEST_STEP
    return float(np.log(right / wrong) / rate)


def newton_step(
    derivatives: Callable[[float], tuple[float, float]], tolerance: float = 1e-10
) -> float:
    """Least point v ≥ 0 of a convex function that falls at 0, at most `LONGEST_STEP`.

    Newton's method on the first derivative, within a bracket that halves where it would leave.

    Parameters
    ----------
    derivatives : callable
        First and second derivative at v, both in any common unit.
    tolerance : float
        Relative precision of v.

    Examples
    --------
    >>> round(newton_step(lambda v: (v - 3.0, 1.0)), 6)
    3.0
    """
    low, high, v = 0.0, LONGEST_STEP, 0.0
    for _ in range(100):
        slope, curvature = derivatives(v)
        low, high = (v, high) if slope <= 0.0 else (low, v)
        aim = v - slope / curvature if curvature > 0.0 else np.inf
        if aim >= LONGEST_STEP > v and high == LONGEST_STEP:
            aim = LONGEST_STEP
        elif not low < aim < high:
            aim = 0.5 * (low + high)
        settled = abs(aim - v) <= tolerance * aim
        v = aim
        if settled:
            break
    return float(v)
