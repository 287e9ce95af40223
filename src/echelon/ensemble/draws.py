"""Rows and columns drawn at random for the members of an ensemble, and rows dealt into folds."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ordinal.arrays import LARGEST_SEED


@dataclass(frozen=True)
class Draw:
    """What one member gets.

    ``weights`` says for every row how often it was drawn, or its own weight; ``columns`` ascend;
    ``seed`` is for the member itself.
    """

    weights: npt.NDArray[np.float64]
    columns: npt.NDArray[np.intp]
    seed: int


@dataclass(frozen=True)
class Draws:
    """How rows and columns are drawn; the same seed gives the same draw again.

    Parameters
    ----------
    sample_weight : ndarray of shape (n,)
        Rows without weight are never drawn.
    n_rows : int
        Rows to draw.
    bootstrap : bool
        With replacement, in proportion to the weights; else each row at most once, whatever its
        weight, which it keeps.
    n_inputs, n_columns : int
        Number of columns, and how many to draw.
    """

    sample_weight: npt.NDArray[np.float64]
    n_rows: int
    bootstrap: bool
    n_inputs: int
    n_columns: int

    def draw(self, seed: int) -> Draw:
        """The draw of a seed."""
        rng = np.random.default_rng(seed)
        weights = self._repeats(rng) if self.bootstrap else self._part(rng)
        columns = np.arange(self.n_inputs)
        if self.n_columns < self.n_inputs:
            columns = np.sort(rng.permutation(self.n_inputs)[: self.n_columns])
        return Draw(weights, columns, int(rng.integers(LARGEST_SEED)))

    def _repeats(self, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        n = len(self.sample_weight)
        if (self.sample_weight == self.sample_weight[0]).all():
            rows = rng.integers(n, size=self.n_rows)
        else:
            mass = np.cumsum(self.sample_weight)
            rows = np.searchsorted(mass, mass[-1] * rng.random(self.n_rows), side="right")
        return np.bincount(rows, minlength=n).astype(np.float64)

    def _part(self, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        weights = np.zeros_like(self.sample_weight)
        rows = rng.permutation(np.flatnonzero(self.sample_weight))[: self.n_rows]
        weights[rows] = self.sample_weight[rows]
        return weights


def count_of(name: str, value: Any, n: int, *, above: bool = False) -> int:
    """A parameter that is a number, or a share of n; a number above n only if asked."""
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return max(1, int(value * n))
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and value >= 1 and (above or value <= n):
        return int(value)
    raise ValueError(
        f"{name} must be a share above 0 and at most 1.0, or an integer of at least 1"
        f"{'' if above else f' and at most {n}'}; found {value!r}."
    )
