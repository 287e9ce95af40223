"""Rankers that learn pair by pair: the perceptron, and descent on a support vector objective.

A pair (winner, loser) is the example x_winner − x_loser, which should have a positive score. When
it is presented and w·(x_winner − x_loser) ≤ 0, w moves by this difference. Novikoff's argument
holds for any sequence of pairs: if a unit vector u has u·(x_winner − x_loser) ≥ ρ > 0 on all of
them, and the differences that were added are at most R long, then there are at most (R/ρ)² updates.

Pairs are presented in blocks. The margins of a block follow from the products of its differences
with each other, so that only updates take a step of Python, with the outcome of presenting the
pairs one by one.

The objective (10.9) as a mean over pairs p with weights c_p of sum P,

    ½·λ·‖w‖² + Σ_p c_p·ℓ(w·d_p) / P,   d_p = x_winner − x_loser,

where ℓ is the hinge max(0, 1 − m) or its square. Pairs drawn by weight give an unbiased slope g of
the sum, and a step is w ← (1 − ηλ)·w − η·g with a rate η that falls as 1/(λt), as in Pegasos. That
rate alone would make the first steps enormous where λ is small, so 1/η also has a constant L. For
the squared hinge it is the curvature 2‖d‖², on average over the pairs met and over those of the
step, whichever is more: then no step overshoots on its own pairs. The hinge has no curvature, and
¼‖d‖² does well.

The result is the average of the weights after each step t, with weight t, which forgets where the
steps began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.types import Codes, Vector
from ...pairs import PairSet
from .margin_lp import WorstPairs, worst_pairs
from .pair_draws import PairSampler, canonical_rows

Progress = Callable[[int, int, float], None]

_BLOCK = 64
# Scores of equal rows may differ by so much of the largest score; such pairs are not in order.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class PairPerceptron:
    """Weights that learn from one pair at a time.

    Parameters
    ----------
    coef : ndarray of shape (d,)
        The weights w.
    moment : ndarray of shape (d,)
        Σ_t t·Δw_t over the pairs presented, from which averages follow.
    n_presented : int
        Pairs presented.
    n_updates : int
        Those of them that were not ranked correctly.
    radius : float
        R, the length of the longest difference among these.
    """

    coef: Vector
    moment: Vector
    n_presented: int = 0
    n_updates: int = 0
    radius: float = 0.0

    @classmethod
    def fresh(cls, n_columns: int) -> PairPerceptron:
        """Begin at zero."""
        return cls(np.zeros(n_columns), np.zeros(n_columns))

    @property
    def average(self) -> Vector:
        """Mean of the weights after each pair presented."""
        T = max(self.n_presented, 1)
        return np.asarray(((T + 1) * self.coef - self.moment) / T)

    def presented(self, X: Any, winners: Codes, losers: Codes) -> PairPerceptron:
        """Present pairs of rows of X in their order, and learn from the mistakes."""
        state = self
        for first in range(0, len(winners), _BLOCK):
            part = slice(first, first + _BLOCK)
            state = state._after(X[winners[part]] - X[losers[part]])
        return state

    def _after(self, D: Any) -> PairPerceptron:
        products = D @ D.T
        if sp.issparse(products):
            products = products.toarray()
        margins = np.asarray(D @ self.coef)
        updates = _mistakes(margins, products)
        T = self.n_presented
        if not updates:
            return replace(self, n_presented=T + D.shape[0])
        added = D[updates]
        return PairPerceptron(
            coef=self.coef + np.asarray(added.sum(axis=0)).ravel(),
            moment=self.moment + added.T @ (T + 1.0 + np.array(updates)),
            n_presented=T + D.shape[0],
            n_updates=self.n_updates + len(updates),
            radius=max(self.radius, float(np.sqrt(products.diagonal()[updates].max()))),
        )


@dataclass(frozen=True)
class RankPerceptronResult:
    """Weights, what they were learnt by, and the least margin of w/‖w‖ over all pairs."""

    coef: Vector
    state: PairPerceptron
    margin: float
    n_epochs: int

    @property
    def mistake_bound(self) -> float:
        """(R/ρ)² with ρ the least margin; infinite where some pair is not ranked correctly."""
        return (self.state.radius / self.margin) ** 2 if self.margin > 0.0 else np.inf


def solve_rank_perceptron(
    X: Any,
    pairs: PairSet,
    *,
    n_epochs: int,
    averaged: bool,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> RankPerceptronResult:
    """Learn from random pairs until all pairs are ranked correctly.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    pairs : PairSet
    n_epochs : int
        Most epochs of as many draws as there are distinct rows and stated pairs.
    averaged : bool
        Whether the result is the average of the weights over all pairs presented, rather than the
        last weights; these are taken anyway if they rank all pairs correctly and the average
        does not.
    rng : numpy.random.Generator
    progress : callable, optional
        Called after every epoch with its number, all updates and the least margin.

    Notes
    -----
    After each epoch the least margin over all pairs is found in O(n log n). If the draws of an
    epoch led to no update while some pair is misranked, every row is presented with its worst
    partners, worst first. So each epoch makes an update or is the last, and pairs that can be
    separated with margin ρ are so after at most (R/ρ)² epochs, whatever the draws.
    """
    sampler = PairSampler(pairs, X)
    rows = canonical_rows(X)
    state = PairPerceptron.fresh(X.shape[1])
    for epoch in range(1, n_epochs + 1):
        before = state.n_updates
        state = state.presented(X, *sampler.round(rng))
        coef, margin = _chosen(X, pairs, state, averaged)
        if margin <= 0.0 and state.n_updates == before:
            worst = worst_pairs(pairs, rows.scores(state.coef), keys=sampler.keys)
            state = state.presented(X, *_misranked(worst, sampler.keys))
            coef, margin = _chosen(X, pairs, state, averaged)
        if progress is not None:
            progress(epoch, state.n_updates, margin)
        if margin > 0.0:
            break
    return RankPerceptronResult(coef, state, margin, epoch)


def unit_margin(X: Any, pairs: PairSet, coef: Vector) -> float:
    """Least margin of all pairs for w/‖w‖; zero for w = 0, and where it is mere rounding."""
    length = float(np.linalg.norm(coef))
    if length == 0.0:
        return 0.0
    scores = X @ (coef / length)
    margin = float(worst_pairs(pairs, scores, 1).margins[0])
    return margin if abs(margin) > _ROUNDING * np.abs(scores).max() else 0.0


def _chosen(X: Any, pairs: PairSet, state: PairPerceptron, averaged: bool) -> tuple[Vector, float]:
    """Weights that would be the result now, and their least margin."""
    last = unit_margin(X, pairs, state.coef)
    if not averaged:
        return state.coef, last
    mean = unit_margin(X, pairs, state.average)
    return (state.coef, last) if mean <= 0.0 < last else (state.average, mean)


def _misranked(worst: WorstPairs, keys: Vector) -> tuple[Codes, Codes]:
    """The pairs that are not ranked correctly, worst first, and once for all copies of a row."""
    wrong = np.flatnonzero(worst.margins <= max(0.0, float(worst.margins[0])))
    alike = np.c_[keys[worst.winners[wrong]], keys[worst.losers[wrong]]]
    first = np.sort(np.unique(alike, axis=0, return_index=True)[1])
    return worst.winners[wrong[first]], worst.losers[wrong[first]]


def _mistakes(margins: Vector, products: Vector) -> list[int]:
    """Places of the pairs that are wrong in their turn, with the updates before them made."""
    found: list[int] = []
    at = 0
    while at < len(margins):
        wrong = margins[at:] <= 0.0
        step = int(wrong.argmax())
        if not wrong[step]:
            break
        at += step
        found.append(at)
        margins = margins + products[at]
        at += 1
    return found


# L of each loss, in units of the mean ‖d‖².
_CURVATURES = {"hinge": 0.25, "squared_hinge": 2.0}
RATES = ("optimal", "inverse_sqrt", "constant")


@dataclass(frozen=True)
class PairSteps:
    """How steps are made: the penalty λ, the loss, pairs to a step, and the rate.

    ``initial_rate`` is the rate at the start; by default 1/L, see above.
    """

    alpha: float
    loss: str
    batch_size: int
    learning_rate: str
    initial_rate: float | None

    def rate(self, t: int, curvature: float) -> float:
        """Step length of step t = 1, 2, …"""
        first = self.initial_rate
        if first is None:
            first = 1.0 / curvature if curvature > 0.0 else 1.0
        if self.learning_rate == "constant":
            return first
        if self.learning_rate == "inverse_sqrt":
            return first / float(np.sqrt(t))
        return 1.0 / (self.alpha * t + 1.0 / first)


@dataclass(frozen=True)
class DescentState:
    """Weights at rest: what stochastic steps need to go on.

    Parameters
    ----------
    coef : ndarray of shape (d,)
        Weights after the last step.
    average : ndarray of shape (d,)
        Σ t·w_t / Σ t over the steps t.
    n_steps : int
    n_pairs : int
        Pairs met.
    squares : float
        Σ ‖d‖² over these.
    """

    coef: Vector
    average: Vector
    n_steps: int = 0
    n_pairs: int = 0
    squares: float = 0.0

    @classmethod
    def fresh(cls, n_columns: int) -> DescentState:
        """Begin at zero."""
        return cls(np.zeros(n_columns), np.zeros(n_columns))


def descend(
    X: Any, winners: Codes, losers: Codes, state: DescentState, steps: PairSteps
) -> DescentState:
    """Make steps on pairs of rows of X in their order, ``steps.batch_size`` to a step."""
    size = steps.batch_size
    # Differences of several steps at once: indexing rows takes longer than a step.
    block = size * max(1, 4096 // size)
    for first in range(0, len(winners), block):
        part = slice(first, first + block)
        D = X[winners[part]] - X[losers[part]]
        for row in range(0, D.shape[0], size):
            state = _step(D[row : row + size], state, steps)
    return state


def _step(D: Any, state: DescentState, steps: PairSteps) -> DescentState:
    own = float((D.multiply(D) if sp.issparse(D) else D * D).sum())
    size, n_pairs, squares = D.shape[0], state.n_pairs + D.shape[0], state.squares + own
    curvature = _CURVATURES[steps.loss] * max(squares / n_pairs, own / size)
    # The slope alone: steps are small and many, and the table's derivatives would come with more.
    short = np.maximum(1.0 - np.asarray(D @ state.coef), 0.0)
    slopes = 2.0 * short if steps.loss == "squared_hinge" else (short > 0.0).astype(np.float64)
    t = state.n_steps + 1
    rate = steps.rate(t, curvature)
    shrunk = max(0.0, 1.0 - rate * steps.alpha) * state.coef
    coef = shrunk + (rate / size) * np.asarray(D.T @ slopes)
    average = state.average + (2.0 / (t + 1)) * (coef - state.average)
    return DescentState(coef, average, t, n_pairs, squares)
