"""Ranking support vector machines by stochastic steps on drawn pairs ([MRT18] exercise 10.2).

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

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.types import Codes, Vector

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
