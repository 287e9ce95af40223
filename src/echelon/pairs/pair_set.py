"""Which rows should be ranked above which: from labels, from stated preferences, or from both.

Labels within a query imply a pair for every two rows of different levels. There can be n² of them,
so they are never listed: the rows are kept sorted by query and level, and every sum over pairs is a
sum over these *segments*. Stated preferences are listed as they came.

The weight of an implied pair (i, j) is s_q·w_i·w_j with the weights of the rows and a factor of the
query, so an integer row weight equals repeated rows. The weight of a stated pair is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.entries import without_mask
from .._utils.types import Codes, FrameLike, KeysLike, Vector, VectorLike
from .judgements import judged_pairs
from .queries import by_id, checked_weights, query_codes

# A query with more levels than this is summed on its own.
_MANY_LEVELS = 64


@dataclass(frozen=True, eq=False)
class LevelPairs:
    """Implied pairs: every two rows of one query whose levels differ, the higher one wins.

    Only rows of positive weight in queries with two levels or more are kept, sorted by query and
    then by level. A *segment* is a run of rows of one query and one level.

    Parameters
    ----------
    rows : ndarray of shape (m,)
        Rows that take part in a pair, sorted by query and level.
    segments : ndarray of shape (m,)
        Segment of each of them, ascending from 0.
    starts : ndarray of shape (S + 1,)
        Where each segment begins in ``rows``, and m.
    queries : ndarray of shape (Q + 1,)
        Where each query begins among the segments, and S.
    weights : ndarray of shape (m,)
        Weight of each of the rows.
    scales : ndarray of shape (Q,)
        Factor of the pairs of each query.
    ids : ndarray of shape (Q,)
        Code of each query among those that the set was made from.
    """

    rows: Codes
    segments: Codes
    starts: Codes
    queries: Codes
    weights: Vector
    scales: Vector
    ids: Codes

    @property
    def n_segments(self) -> int:
        """S, the number of (query, level) cells with a row."""
        return len(self.starts) - 1

    @property
    def n_queries(self) -> int:
        """Q, the number of queries that have a pair."""
        return len(self.queries) - 1

    @property
    def segment_queries(self) -> Codes:
        """Query of each segment."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.queries))

    @property
    def row_queries(self) -> Codes:
        """Query of each of ``rows``."""
        return self.segment_queries[self.segments]

    @property
    def levels(self) -> Codes:
        """Level of each segment within its query, from 0."""
        return np.arange(self.n_segments) - np.repeat(self.queries[:-1], np.diff(self.queries))

    @property
    def most_levels(self) -> int:
        """Largest number of levels in a query."""
        return int(np.diff(self.queries).max())

    def below(self, totals: Vector) -> Vector:
        """Sum of a number per segment over the lower segments of the same query."""
        return exclusive_sums(totals, self.queries)


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """Stated pairs: row ``winners[p]`` is preferred to row ``losers[p]``, with a weight for each.

    Equal pairs may be listed more than once, and a preference may be stated both ways.
    """

    winners: Codes
    losers: Codes
    weights: Vector


@dataclass(frozen=True, eq=False)
class PairSet:
    """Pairs (winner, loser) of rows 0 … n−1, each with a weight.

    Make one by ``from_labels``, ``from_pairs`` or ``from_frame``; ``+`` unites two sets over the
    same rows.

    Parameters
    ----------
    n_items : int
        Number of rows.
    implied : LevelPairs, optional
        Pairs that follow from labels.
    listed : ListedPairs, optional
        Pairs that were stated.

    Examples
    --------
    >>> pairs = PairSet.from_labels([2, 0, 1, 1], qid=["a", "a", "b", "b"])
    >>> pairs.n_pairs, pairs.kind
    (1, 'bipartite')
    >>> (pairs + PairSet.from_pairs([[3, 2]], 4)).n_pairs
    2
    """

    n_items: int
    implied: LevelPairs | None = None
    listed: ListedPairs | None = None

    @classmethod
    def from_labels(
        cls,
        labels: npt.ArrayLike,
        qid: KeysLike | None = None,
        weights: npt.ArrayLike | None = None,
        query_scales: Mapping[Any, float] | npt.ArrayLike | None = None,
    ) -> PairSet:
        """All pairs of one query whose labels differ.

        Parameters
        ----------
        labels : array-like of shape (n,)
            Numbers, higher is better.
        qid : sequence of shape (n,), optional
            Query of each row: any hashable ids in any order.
        weights : array-like of shape (n,), optional
            Weights of the rows, none negative; ones by default.
        query_scales : mapping or array-like, optional
            Factor of the pairs of each query, none negative, by id, or in the order of the
            queries' first rows; ones by default.

        Returns
        -------
        pairs : PairSet
        """
        y = np.asarray(labels)
        if y.ndim != 1 or y.dtype.kind not in "iufb":
            raise ValueError(
                f"labels must be one column of numbers; found shape {y.shape} of {y.dtype}."
            )
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError("labels must not be missing; found NaN.")
        codes, ids = query_codes(qid, len(y))
        w = checked_weights(weights, len(y), "weights")
        if isinstance(query_scales, Mapping):
            query_scales = by_id(query_scales, ids, "query_scales")
        scales = checked_weights(query_scales, len(ids), "query_scales")
        return cls(len(y), implied=_level_pairs(y, codes, w, scales))

    @classmethod
    def from_pairs(
        cls, pairs: npt.ArrayLike, n_items: int, weights: VectorLike | None = None
    ) -> PairSet:
        """Stated preferences.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Row of the winner and row of the loser.
        n_items : int
            Number of rows.
        weights : array-like of shape (m,), optional
            Weights of the pairs, none negative; ones by default.

        Returns
        -------
        pairs : PairSet
        """
        listed = np.asarray(without_mask(pairs))
        if listed.size == 0:
            return cls(n_items)
        if listed.ndim != 2 or listed.shape[1] != 2 or listed.dtype.kind not in "iu":
            raise ValueError(
                "pairs must be whole numbers of shape (m, 2), the rows of winner and loser; found "
                f"shape {listed.shape} of {listed.dtype}."
            )
        if listed.min() < 0 or listed.max() >= n_items:
            raise ValueError(
                f"pairs must name rows 0 to {n_items - 1}; found {listed.min()} to {listed.max()}."
            )
        if (listed[:, 0] == listed[:, 1]).any():
            row = int(listed[np.argmax(listed[:, 0] == listed[:, 1]), 0])
            raise ValueError(f"pairs must join two different rows; found row {row} with itself.")
        w = checked_weights(weights, len(listed), "pair weights")
        kept = w > 0
        if not kept.any():
            return cls(n_items)
        winners, losers = listed[kept].astype(np.intp).T
        return cls(n_items, listed=ListedPairs(winners.copy(), losers.copy(), w[kept]))

    @classmethod
    def from_frame(
        cls,
        frame: FrameLike | Mapping[str, Any],
        items: KeysLike,
        *,
        left: str = "left",
        right: str = "right",
        label: str | None = "label",
        weights: str | VectorLike | None = None,
        zero: str | None = None,
    ) -> PairSet:
        """Judgements on pairs of item ids, a line for each.

        Parameters
        ----------
        frame : data frame or mapping
        items : sequence of shape (n,)
            Id of each row.
        left, right : str, default="left", "right"
            Columns of the ids that are compared.
        label : str or None, default="label"
            Column of the outcome: a number whose sign says who wins (above zero: left, below:
            right, zero: nobody), a boolean (left wins), or one of the texts "left", "right" and
            "tie". None for tables in which left has always won.
        weights : str or array-like, optional
            Weights of the judgements, or the name of the column that has them.
        zero : {"tie", "right"}, optional
            What zero means. It must be said where labels are 0 and above only.

        Returns
        -------
        pairs : PairSet

        Examples
        --------
        >>> judged = {"left": ["x", "y"], "right": ["z", "z"], "label": [1, -1]}
        >>> pairs = PairSet.from_frame(judged, items=["x", "y", "z"])
        >>> pairs.listed.winners.tolist(), pairs.listed.losers.tolist()
        ([0, 2], [2, 1])
        >>> games = {"winner": ["x", "z"], "loser": ["z", "y"]}
        >>> PairSet.from_frame(games, ["x", "y", "z"], left="winner", right="loser", label=None)
        PairSet(3 rows, 2 pairs, listed)
        """
        return cls.from_pairs(*judged_pairs(frame, items, left, right, label, weights, zero))

    def __repr__(self) -> str:
        return f"PairSet({self.n_items:,} rows, {self.n_pairs:,} pairs, {self.kind})"

    def __add__(self, other: PairSet) -> PairSet:
        """Unite with pairs over the same rows; at most one of the two may come from labels."""
        if not isinstance(other, PairSet):
            return NotImplemented
        if self.n_items != other.n_items:
            raise ValueError(
                f"Pair sets must be over the same rows; found {self.n_items} and {other.n_items}."
            )
        if self.implied is not None and other.implied is not None:
            raise ValueError("Only one of two pair sets may come from labels.")
        listed = [part for part in (self.listed, other.listed) if part is not None]
        columns = zip(*((p.winners, p.losers, p.weights) for p in listed), strict=True)
        joined = ListedPairs(*map(np.concatenate, columns)) if listed else None
        implied = self.implied if self.implied is not None else other.implied
        return PairSet(self.n_items, implied, joined)

    @property
    def n_pairs(self) -> int:
        """Number of pairs, as a whole number of any size."""
        total = 0 if self.listed is None else len(self.listed.winners)
        if self.implied is not None:
            sizes = np.diff(self.implied.starts)
            lower = exclusive_sums(sizes, self.implied.queries)
            total += sum((sizes.astype(object) * lower).tolist())
        return int(total)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all pairs."""
        total = 0.0 if self.listed is None else float(self.listed.weights.sum())
        if self.implied is not None:
            part = self.implied
            mass = np.add.reduceat(part.weights, part.starts[:-1])
            total += float(part.scales[part.segment_queries] @ (mass * part.below(mass)))
        return total

    @property
    def kind(self) -> str:
        """What the pairs come from.

        "bipartite" (two levels in every query), "k-partite", "listed", "mixed" or "empty".
        """
        if self.implied is None:
            return "empty" if self.listed is None else "listed"
        if self.listed is not None:
            return "mixed"
        return "bipartite" if self.implied.most_levels == 2 else "k-partite"

    def to_listed(self) -> ListedPairs:
        """All pairs written out, which takes memory for every one of them."""
        found = list(self.blocks())
        if not found:
            none = np.zeros(0, dtype=np.intp)
            return ListedPairs(none, none, np.zeros(0))
        return ListedPairs(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def blocks(self, size: int = 1 << 20) -> Iterator[tuple[Codes, Codes, Vector]]:
        """List all pairs as (winners, losers, weights), block by block of about `size` at most.

        For small sets and for checks: what is learnt from pairs never lists them.
        """
        if self.listed is not None:
            for first in range(0, len(self.listed.winners), size):
                part = slice(first, first + size)
                yield self.listed.winners[part], self.listed.losers[part], self.listed.weights[part]
        if self.implied is not None:
            yield from _implied_blocks(self.implied, size)


def _level_pairs(
    y: npt.NDArray[Any], codes: Codes, weights: Vector, scales: Vector
) -> LevelPairs | None:
    # NumPy sorts numbers of 16 bits by counting, in linear time.
    order = np.lexsort((y, codes.astype(np.uint16) if len(scales) <= 1 << 16 else codes))
    order = order[(weights[order] > 0) & (scales[codes[order]] > 0)]
    if not len(order):
        return None
    q, level = codes[order], y[order]
    new_query = np.r_[True, q[1:] != q[:-1]]
    new_segment = new_query | np.r_[True, level[1:] != level[:-1]]
    n_segments = np.add.reduceat(new_segment.astype(np.intp), np.flatnonzero(new_query))
    kept = np.repeat(n_segments > 1, np.diff(np.r_[np.flatnonzero(new_query), len(order)]))
    if not kept.any():
        return None
    rows, new_segment, new_query = order[kept], new_segment[kept], new_query[kept]
    starts = np.flatnonzero(new_segment)
    queries = np.flatnonzero(new_query[starts])
    ids = codes[rows[starts[queries]]]
    return LevelPairs(
        rows=rows,
        segments=np.cumsum(new_segment) - 1,
        starts=np.r_[starts, len(rows)],
        queries=np.r_[queries, len(starts)],
        weights=weights[rows],
        scales=scales[ids],
        ids=ids,
    )


def exclusive_sums(
    totals: npt.NDArray[Any], queries: Codes, add: np.ufunc = np.add
) -> npt.NDArray[Any]:
    """Sum of the entries before each one in its query; no differences of long running sums.

    Parameters
    ----------
    totals : ndarray of shape (S,)
        A number per segment.
    queries : ndarray of shape (Q + 1,)
        Where each query begins among the segments, and S.
    add : ufunc, default=numpy.add
        How to add: ``numpy.logaddexp`` sums numbers that are given as logarithms.
    """
    result = np.full_like(totals, -np.inf if add is np.logaddexp else 0)
    lengths = np.diff(queries)
    for q in np.flatnonzero(lengths > _MANY_LEVELS):
        first, last = queries[q], queries[q + 1] - 1
        add.accumulate(totals[first:last], out=result[first + 1 : last + 1])
    few = np.flatnonzero(lengths <= _MANY_LEVELS)
    for step in range(1, int(lengths[few].max(initial=0))):
        # The other queries advance by one level together: as many passes as levels.
        few = few[lengths[few] > step]
        at = queries[few] + step
        result[at] = add(result[at - 1], totals[at - 1])
    return result


def _implied_blocks(part: LevelPairs, size: int) -> Iterator[tuple[Codes, Codes, Vector]]:
    for q in range(part.n_queries):
        base = part.starts[part.queries[q]]
        for s in range(part.queries[q] + 1, part.queries[q + 1]):
            lower = np.arange(base, part.starts[s])
            step = max(1, size // len(lower))
            for first in range(part.starts[s], part.starts[s + 1], step):
                upper = np.arange(first, min(first + step, part.starts[s + 1]))
                i, j = np.repeat(upper, len(lower)), np.tile(lower, len(upper))
                w = part.scales[q] * part.weights[i] * part.weights[j]
                yield part.rows[i], part.rows[j], w


def weigh_queries_alike(pairs: PairSet) -> PairSet:
    """Pairs from labels with weights that sum to one in every query; stated ones as they are."""
    part = pairs.implied
    if part is None:
        raise ValueError(
            "query_weighting='queries' needs labels y; found pairs alone, which have no queries."
        )
    mass = np.add.reduceat(part.weights, part.starts[:-1])
    by_query = np.add.reduceat(mass * part.below(mass), part.queries[:-1])
    return PairSet(pairs.n_items, replace(part, scales=1.0 / by_query), pairs.listed)


def paired_rows(pairs: PairSet) -> Codes:
    """Rows that are in a pair, ascending."""
    return np.sort(laid_out_rows(pairs)[0])


def restrict_pairs(pairs: PairSet, rows: Codes) -> PairSet:
    """The same pairs over the ascending `rows` alone, which hold all that are in a pair."""
    implied, listed = pairs.implied, pairs.listed
    if implied is not None:
        implied = replace(implied, rows=np.searchsorted(rows, implied.rows))
    if listed is not None:
        winners, losers = (np.searchsorted(rows, side) for side in (listed.winners, listed.losers))
        listed = ListedPairs(winners, losers, listed.weights)
    return PairSet(len(rows), implied, listed)


def laid_out_rows(pairs: PairSet) -> tuple[Codes, Codes]:
    """Rows that are in a pair, those of implied pairs first and in their order; places of all rows.

    Without stated pairs, which alone need them, there are no places.
    """
    none = np.zeros(0, dtype=np.intp)
    rows = none if pairs.implied is None else pairs.implied.rows
    if pairs.listed is None:
        return rows, none
    stated = np.zeros(pairs.n_items, dtype=bool)
    stated[pairs.listed.winners] = stated[pairs.listed.losers] = True
    stated[rows] = False
    rows = np.concatenate([rows, np.flatnonzero(stated)])
    place = np.zeros(pairs.n_items, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    return rows, place


def row_weight(pairs: PairSet) -> float:
    """Total weight of the rows in pairs; a row that is in stated pairs alone counts once."""
    n_rows = len(laid_out_rows(pairs)[0])
    if pairs.implied is None:
        return float(n_rows)
    return float(pairs.implied.weights.sum()) + (n_rows - len(pairs.implied.rows))
