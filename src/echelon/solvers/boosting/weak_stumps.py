"""Weak learners of ±1 that cut one input: ordinal stumps of two classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.types import Matrix, Vector
from .bins import BinnedInputs
from .stumps import Stump, StumpSearch


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

    def fit(self, pull: Vector, rng: np.random.Generator) -> tuple[StumpMember, Vector]:
        """The stump and its values of the rows."""
        stump, ranks = self._search.find(pull[:, None])
        return StumpMember(stump), np.asarray(2.0 * ranks - 1.0, dtype=np.float64)

    def importances(self, member: StumpMember) -> Vector:
        """One for the input of the stump."""
        shares = np.zeros(self._width)
        shares[member.stump.feature] = 1.0
        return shares
