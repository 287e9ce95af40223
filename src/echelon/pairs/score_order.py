"""Rows of implied pairs sorted by query and score, as the sweeps along the scores want them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._native._pair_windows import group_by_query
from .._utils.types import Codes, Vector
from .pair_set import LevelPairs

Levels = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ScoreOrder:
    """Rows of implied pairs, sorted by query and then by ascending score.

    Parameters
    ----------
    bounds : ndarray of shape (Q + 1,)
        Where each query begins, and m.
    n_levels : ndarray of shape (Q,)
        Number of levels of each query.
    rows : ndarray of shape (m,)
        Row of each place.
    levels : ndarray of shape (m,)
        Its level within its query, from 0.
    scores, weights : ndarray of shape (m,)
        Its score and its weight.
    factors : ndarray of shape (m,)
        Its weight times the factor of its query.
    """

    bounds: Codes
    n_levels: Levels
    rows: Codes
    levels: Levels
    scores: Vector
    weights: Vector
    factors: Vector

    @property
    def most_levels(self) -> int:
        """Largest number of levels in a query."""
        return int(self.n_levels.max())

    def scatter(self, values: Vector, n_items: int) -> Vector:
        """Give a number per place to the rows, and zero to all others."""
        return scatter(self.rows, values, n_items)


def scatter(rows: Codes, values: Vector, n: int) -> Vector:
    """The values at their rows, and zero elsewhere."""
    result = np.zeros(n)
    result[rows] = values
    return result


class ScoreSorter:
    """Sort the rows of implied pairs by any scores: O(n log n).

    Parameters
    ----------
    pairs : LevelPairs

    Examples
    --------
    >>> from echelon.pairs import PairSet
    >>> pairs = PairSet.from_labels([1, 0, 2, 0], qid=["a", "b", "b", "a"]).implied
    >>> order = ScoreSorter(pairs).sort(np.array([0.5, 0.1, 0.0, 0.9]))
    >>> order.rows.tolist(), order.levels.tolist()
    ([0, 3, 2, 1], [1, 0, 1, 0])
    """

    def __init__(self, pairs: LevelPairs) -> None:
        self.pairs = pairs
        self._bounds = pairs.starts[pairs.queries]
        self._n_levels = np.diff(pairs.queries).astype(np.int32)
        self._levels = pairs.levels.astype(np.int32)[pairs.segments]
        self._queries = pairs.row_queries
        self._factors = pairs.scales[self._queries] * pairs.weights

    def sort(self, scores: Vector) -> ScoreOrder:
        """Order at the scores of all items."""
        own = scores[self.pairs.rows]
        order = np.argsort(own)
        if self.pairs.n_queries > 1:
            grouped = np.empty_like(order)
            group_by_query(order, self._queries, self._bounds.copy(), grouped)
            order = grouped
        return ScoreOrder(
            bounds=self._bounds,
            n_levels=self._n_levels,
            rows=self.pairs.rows[order],
            levels=self._levels[order],
            scores=own[order],
            weights=self.pairs.weights[order],
            factors=self._factors[order],
        )
