"""Weak learners of ±1 or of [−1, 1]: planes through the inputs, and ordinal stumps.

Planes maximise Σ_i u_i·sign(w·x_i + w_0) for given u, which is to minimise the error of
weights |u| and labels sign u, by going along random directions of weight space (random coordinate
descent; Li, 2005): the sum is a staircase along a line, whose best stair is found exactly. A
direction is one input plus a random multiple of the bias, so it costs O(n) and the first one gives
a stump. Directions are drawn for inputs of mean 0 and variance 1 and do not depend on the rows, so
units of inputs do not matter and an integer weight equals repeated rows.

The *perceptron* is h = sign(w·x + w_0). The *sigmoid* is h = tanh(γ(w·x + w_0)/m) of the same w,
with m the mean of |w·x + w_0|: rows near the plane have little say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._native._weak_linear import descend
from ..._utils.types import Matrix, Vector
from .bins import BinnedInputs
from .stumps import Stump, StumpSearch

#: γ: mean size of the argument of tanh.
SLOPE = 2.0
# Steps times rows of one native call, about a tenth of a second.
_CALL = 10**7
# Weights of inputs of a smaller range would overflow.
_LEAST_RANGE = 1e-100
# Numbers in a block of rows times learners.
_BLOCK = 2**20


@dataclass(frozen=True)
class LinearMember:
    """A perceptron, or a sigmoid if `soft`.

    Parameters
    ----------
    coef : ndarray of shape (d,)
    intercept : float
    soft : bool
    """

    coef: Vector
    intercept: float
    soft: bool

    def predict(self, X: Matrix) -> Vector:
        """Values h in [−1, 1]."""
        return _squash(X @ self.coef + self.intercept, self.soft)


class LinearSearch:
    """Search over the same inputs for many u, as boosting needs it.

    ``binary`` says whether all values are ±1, and ``deterministic`` whether the same u gives the
    same member.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
        Positive weights of the rows, for means and variances.
    steps : int
        Directions to go along.
    soft : bool
        Sigmoids rather than perceptrons.
    """

    deterministic = False

    def __init__(self, X: Matrix, weights: Vector, *, steps: int, soft: bool) -> None:
        self.binary = not soft
        self._X = X
        self._shares = weights / weights.sum()
        self._steps = steps
        # Constant inputs take no part, not even in the draws, nor those with endless weights.
        self._varying = np.flatnonzero(X.max(axis=0) - X.min(axis=0) > _LEAST_RANGE)
        self._centre = self._shares @ X[:, self._varying]
        columns = np.ascontiguousarray((X[:, self._varying] - self._centre).T)
        # The largest value first: squares of inputs in any units stay finite.
        self._scale = np.abs(columns).max(axis=1)
        columns /= self._scale[:, None]
        deviation = np.sqrt(columns**2 @ self._shares)
        columns /= deviation[:, None]
        self._scale *= deviation
        self._columns = columns
        cells = 1 << int(np.clip(len(X) // 4, 64, 2048)).bit_length()
        self._scratch = np.empty((2 * len(X), 2)), np.empty((2, cells + 1))

    def fit(self, u: Vector, rng: np.random.Generator) -> tuple[LinearMember, Vector]:
        """A member and its values of the rows; a constant one where no direction raises the sum."""
        coef = np.zeros(len(self._varying) + 1)
        coef[-1] = 1.0
        scores = np.ones(len(u))
        if len(self._varying):
            features = rng.integers(len(self._varying), size=self._steps)
            offsets = rng.standard_normal(self._steps)
            chunk = max(1, _CALL // len(u))
            for at in range(0, self._steps, chunk):
                part = slice(at, at + chunk)
                descend(
                    self._columns, u, features[part], offsets[part], coef, scores, *self._scratch
                )
        if not self.binary:
            coef *= SLOPE / float(self._shares @ np.abs(scores))
        weights = np.zeros(self._X.shape[1])
        weights[self._varying] = coef[:-1] / self._scale
        intercept = float(coef[-1] - weights[self._varying] @ self._centre)
        member = LinearMember(weights, intercept, not self.binary)
        h = member.predict(self._X)
        if u @ h < 0.0:
            # What raises the sum of signs can, rarely, lower that of sigmoids.
            return LinearMember(-member.coef, -member.intercept, member.soft), -h
        return member, h

    def importances(self, member: LinearMember) -> Vector:
        """Share of each input in the score: |w_j| times its standard deviation, summing to one."""
        shares = np.zeros(self._X.shape[1])
        shares[self._varying] = np.abs(member.coef[self._varying]) * self._scale
        return shares / max(float(shares.sum()), np.finfo(np.float64).tiny)


def linear_scores(members: Sequence[LinearMember], weights: Vector, X: Matrix) -> Vector:
    """Σ_t v_t·h_t(x) for each row, by blocks of rows.

    Examples
    --------
    >>> member = LinearMember(np.array([1.0]), -2.0, soft=False)
    >>> linear_scores([member, member], np.array([1.0, 0.5]), np.array([[1.0], [3.0]]))
    array([-1.5,  1.5])
    """
    scores = np.zeros(len(X))
    if not members:
        return scores
    coefs = np.ascontiguousarray(np.array([member.coef for member in members]).T)
    intercepts = np.array([member.intercept for member in members])
    size = max(1, _BLOCK // len(members))
    for at in range(0, len(X), size):
        values = X[at : at + size] @ coefs
        values += intercepts
        scores[at : at + size] = _squash(values, members[0].soft) @ weights
    return scores


def _squash(scores: npt.NDArray[np.float64], soft: bool) -> npt.NDArray[np.float64]:
    if soft:
        return np.asarray(np.tanh(scores, out=scores))
    return np.where(scores > 0.0, 1.0, -1.0)


@dataclass(frozen=True)
class StumpMember:
    """A stump that answers ±1."""

    stump: Stump

    def predict(self, X: Matrix) -> Vector:
        """Values ±1."""
        return np.asarray(2.0 * self.stump.ranks(X) - 1.0, dtype=np.float64)


class StumpLearner:
    """The stump of greatest Σ u_i·h(x_i), exactly."""

    binary = True
    deterministic = True

    def __init__(self, bins: BinnedInputs, n_threads: int = 1) -> None:
        self._search = StumpSearch(bins, 2, n_threads)
        self._width = len(bins.edges)

    def fit(self, u: Vector, rng: np.random.Generator) -> tuple[StumpMember, Vector]:
        """The stump and its values of the rows."""
        stump, ranks = self._search.find(u[:, None])
        return StumpMember(stump), np.asarray(2.0 * ranks - 1.0, dtype=np.float64)

    def importances(self, member: StumpMember) -> Vector:
        """One for the input of the stump."""
        shares = np.zeros(self._width)
        shares[member.stump.feature] = 1.0
        return shares
