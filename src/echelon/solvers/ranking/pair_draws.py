"""Pairs drawn at random by their weight, without listing those that labels imply.

The weight of an implied pair is a product, s_q·a_i·b_j for a winner i and a loser j of a lower
level of the same query. So a winner is drawn by s_q·a_i·Σ_j b_j over the rows below it, and then a
loser among these by b_j: two searches in running sums, O(log n) a pair.

Rows are put in an order of their own, by their projection on a fixed direction, within levels and
queries, and queries by a sum over their distinct rows. So what is drawn for given random numbers
depends neither on the order of the rows nor on whether a row is repeated or has a greater weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._utils.types import Codes, Vector
from ...pairs import LevelPairs, ListedPairs, PairSet
from ..linear.prank import FlatRows

Drawn = tuple[Codes, Codes]
Flags = npt.NDArray[np.bool_]


class PairSampler:
    """A source of random pairs of a set.

    Parameters
    ----------
    pairs : PairSet
    X : ndarray or CSR matrix of shape (n, d), optional
        The rows, for their order; by default they are drawn from as they stand.
    fresh : ndarray of bool of shape (n,), optional
        Draw only implied pairs with one of these rows at least; stated pairs are drawn anyway.

    Attributes
    ----------
    n_rows : int
        Distinct rows with an implied pair.
    n_listed : int
        Stated pairs.
    keys : ndarray of shape (n,)
        A number for each row, the same for equal rows.
    mass, listed_mass : float
        Sum of the weights of the pairs that can be drawn, and of the stated ones.
    """

    def __init__(self, pairs: PairSet, X: Any = None, fresh: Flags | None = None) -> None:
        self._sources: list[_Source] = []
        self.keys = np.arange(float(pairs.n_items)) if X is None else projections(X)
        self.n_rows = self.n_listed = 0
        self.listed_mass = 0.0
        if pairs.listed is not None:
            stated = _ListedSource(pairs.listed)
            self._sources.append(stated)
            self.n_listed = len(pairs.listed.winners)
            self.listed_mass = stated.mass
        if pairs.implied is not None:
            rows = _SortedRows(pairs.implied, self.keys[pairs.implied.rows])
            self._sources += rows.sources(fresh)
            self.n_rows = rows.n_distinct
        self._ends = np.cumsum([source.mass for source in self._sources])
        self.mass = float(self._ends[-1]) if self._sources else 0.0

    def round(self, rng: np.random.Generator) -> Drawn:
        """As many pairs as there are distinct rows and stated pairs."""
        return self.draw(self.n_rows + self.n_listed, rng)

    def draw(self, size: int, rng: np.random.Generator) -> Drawn:
        """`size` pairs with replacement, as rows of winners and of losers."""
        first, second = rng.random((2, size))
        target = first * self.mass
        chosen = _search(self._ends, target)
        winners, losers = np.empty((2, size), dtype=np.intp)
        for k, source in enumerate(self._sources):
            mine = np.flatnonzero(chosen == k)
            if len(mine):
                within = target[mine] - (self._ends[k - 1] if k else 0.0)
                winners[mine], losers[mine] = source.draw(within, second[mine])
        return winners, losers


def projections(X: Any) -> Vector:
    """One number per row, to the same bits for equal rows, that other rows hardly share."""
    direction = np.random.default_rng(0).normal(size=max(1, X.shape[1]))
    return canonical_rows(X).scores(direction)


def canonical_rows(X: Any) -> FlatRows:
    """Rows whose scores are the same to the bit for equal rows, wherever they stand."""
    if sp.issparse(X) and not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return FlatRows.of(X)


class _ListedSource:
    def __init__(self, listed: ListedPairs) -> None:
        self._listed = listed
        self._sums = np.cumsum(listed.weights)
        self.mass = float(self._sums[-1])

    def draw(self, target: Vector, uniform: Vector) -> Drawn:
        at = _search(self._sums, target)
        return self._listed.winners[at], self._listed.losers[at]


class _SortedRows:
    """Rows of implied pairs, sorted by query, level and key; queries by their fingerprints.

    ``query_start`` and ``level_start`` say where the query and the level of each row begin.
    """

    def __init__(self, part: LevelPairs, keys: Vector) -> None:
        place = _query_places(part, keys)
        queries = part.row_queries
        order = np.lexsort((keys, part.segments, place[queries]))
        self.rows = part.rows[order]
        self.weights = part.weights[order]
        self.scales = part.scales[queries[order]]
        new_segment, new_row = _first_of_kind(part.segments[order], keys[order])
        new_query = np.r_[True, np.diff(queries[order]) != 0]
        at = np.arange(len(order))
        self.query_start = np.maximum.accumulate(np.where(new_query, at, 0))
        self.level_start = np.maximum.accumulate(np.where(new_segment, at, 0))
        self.n_distinct = int(new_row.sum())

    def sources(self, fresh: Flags | None) -> list[_Source]:
        w = self.weights
        if fresh is None:
            return [_ImpliedSource(self, w, w)]
        new = fresh[self.rows]
        # A pair of two fresh rows is in the first source only.
        return [_ImpliedSource(self, w * new, w), _ImpliedSource(self, w * ~new, w * new)]


def _query_places(part: LevelPairs, keys: Vector) -> Codes:
    """Place of each query by its distinct rows; sums of whole numbers have no order."""
    order = np.lexsort((keys, part.segments))
    _, new_row = _first_of_kind(part.segments[order], keys[order])
    # Adding zero makes −0 the same as 0. Products of whole numbers go around at 2⁶⁴.
    marks = (keys[order] + 0.0).view(np.uint64) + part.levels[part.segments].astype(np.uint64)
    marks = (marks ^ (marks >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    marks ^= marks >> np.uint64(29)
    starts = part.starts[part.queries[:-1]]
    prints = np.add.reduceat(np.where(new_row, marks, np.uint64(0)), starts)
    masses = np.add.reduceat(part.weights[order], starts)
    place = np.empty(part.n_queries, dtype=np.intp)
    place[np.lexsort((masses, prints))] = np.arange(part.n_queries)
    return place


def _first_of_kind(segments: Codes, keys: Vector) -> tuple[Flags, Flags]:
    """Which of sorted rows are the first of their segment, and the first of equal ones in it."""
    new_segment = np.r_[True, segments[1:] != segments[:-1]]
    return new_segment, new_segment | np.r_[True, keys[1:] != keys[:-1]]


class _ImpliedSource:
    def __init__(self, rows: _SortedRows, winner_weights: Vector, loser_weights: Vector) -> None:
        self._rows = rows
        self._losers = np.r_[0.0, np.cumsum(loser_weights)]
        self._below = self._losers[rows.level_start] - self._losers[rows.query_start]
        self._winners = np.cumsum(rows.scales * winner_weights * self._below)
        self.mass = float(self._winners[-1])

    def draw(self, target: Vector, uniform: Vector) -> Drawn:
        rows = self._rows
        i = _search(self._winners, target)
        sought = self._losers[rows.query_start[i]] + uniform * self._below[i]
        j = np.searchsorted(self._losers, sought, side="right") - 1
        # Rounding may lead past the ends of what lies below.
        j = np.clip(j, rows.query_start[i], rows.level_start[i] - 1)
        return rows.rows[i], rows.rows[j]


_Source = _ListedSource | _ImpliedSource


def _search(sums: Vector, target: Vector) -> Codes:
    """First entry whose running sum exceeds the target, or the last one of any weight."""
    last = np.searchsorted(sums, sums[-1])
    return np.asarray(np.minimum(np.searchsorted(sums, target, side="right"), last))
