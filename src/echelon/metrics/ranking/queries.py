"""From what callers of ranking metrics pass to rows that lie query after query, best score first.

This is the one place that sorts rows for these metrics. Queries are sorted many at a time: those of
like size are the rows of a matrix, so that no loop runs over queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..._utils.messages import require_choice
from ..._utils.types import Codes, Vector
from ...ordinal.arrays import check_weights, finite_vector, read_numbers
from ...ordinal.labels import read_relevance
from ...pairs.queries import by_id, query_codes
from .._labels import read_score_vector, require_length

Block = tuple[Codes, "npt.NDArray[np.bool_] | None"]


@dataclass(frozen=True)
class QueryRows:
    """Rows with labels and scores, query after query, in the order they were passed otherwise.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Where each row stood in what was passed.
    relevance, scores, weights : ndarray of shape (n,)
    starts : ndarray of shape (Q + 1,)
        First row of each query, and n; every query has a row.
    ids : tuple of length Q
        The queries' ids, by first appearance.
    query_weights : ndarray of shape (Q,)
    """

    rows: Codes
    relevance: Vector
    scores: Vector
    weights: Vector
    starts: Codes
    ids: tuple[Any, ...]
    query_weights: Vector

    @cached_property
    def sizes(self) -> Codes:
        """Rows of each query."""
        return np.diff(self.starts)

    @cached_property
    def blocks(self) -> list[Block]:
        """The queries as matrices, see `padded_queries`."""
        return list(padded_queries(self.starts))

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum of a number per row over each query."""
        return np.add.reduceat(values, self.starts[:-1])


@dataclass(frozen=True)
class Ranking:
    """The rows of `QueryRows` from best to worst in each query.

    Parameters
    ----------
    order : ndarray of shape (n,)
        Rows, query after query, best first.
    positions : ndarray of shape (n,)
        Position of each place of `order` in its query, from 0.
    groups : ndarray of shape (G + 1,), or None
        First place of each run of equal scores, and n, where their order is left open; None where
        no place is shared.
    """

    order: Codes
    positions: Codes
    groups: Codes | None

    def shared(self, values: Vector) -> Vector:
        """A number per place, replaced by its mean over the places that tied rows share."""
        if self.groups is None:
            return values
        sizes = np.diff(self.groups)
        tied = sizes > 1
        first, sizes = self.groups[:-1][tied], sizes[tied]
        # Most places are shared by nobody: the others are taken out, averaged and put back.
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(first - starts, sizes) + np.arange(sizes.sum())
        result = values.copy()
        result[places] = np.repeat(np.add.reduceat(values[places], starts) / sizes, sizes)
        return result


def by_query(
    y_true: Any, y_score: Any, qid: Any = None, sample_weight: Any = None, query_weight: Any = None
) -> QueryRows:
    """Check labels, scores, queries and weights, and bring the rows of each query together.

    Parameters
    ----------
    y_true : array-like or data-frame column of shape (n,)
        Numbers, or labels of a type that states its order, which count as 0 … K−1.
    y_score : array-like of shape (n,)
        Numbers, higher is better; infinities are allowed.
    qid : sequence of shape (n,), optional
        Hashable ids in any order; all rows are one query by default.
    sample_weight : array-like of shape (n,), optional
    query_weight : mapping or array-like, optional
        As for `read_query_weights`.

    Returns
    -------
    view : QueryRows

    Examples
    --------
    >>> view = by_query([0, 1, 2], [0.1, 0.2, 0.3], qid=["b", "a", "b"])
    >>> view.rows.tolist(), view.starts.tolist(), view.ids
    ([0, 2, 1], [0, 2, 3], ('b', 'a'))
    """
    relevance, scores = read_label_column(y_true), read_score_vector(y_score, "y_score")
    n = len(relevance)
    require_length(len(scores), n, "y_score")
    weights = check_weights(sample_weight, n)
    rows, starts, ids = _together(qid, n)
    if rows is None:
        rows = np.arange(n)
    else:
        relevance, scores, weights = relevance[rows], scores[rows], weights[rows]
    of_queries = read_query_weights(query_weight, rows, starts, ids)
    return QueryRows(rows, relevance, scores, weights, starts, tuple(ids), of_queries)


def rank_rows(view: QueryRows, ties: str, gains: Vector, doc_id: Any = None) -> Ranking:
    """Put the rows of each query in order, best score first.

    Parameters
    ----------
    view : QueryRows
    ties : {"average", "input", "best", "worst", "doc_id"}
        Rows of equal score share their places; or stand as they were passed, by falling gain, by
        rising gain, or by falling document id.
    gains : ndarray of shape (n,)
        What "best" and "worst" look at.
    doc_id : sequence of shape (n,), optional
        Numbers or texts, as passed by the caller.

    Returns
    -------
    ranking : Ranking
    """
    before = _order_of_ties(view, ties, gains, doc_id)
    keys = -view.scores if before is None else -view.scores[before]
    order = order_within(keys, view.blocks, stable=ties != "average")
    if before is not None:
        order = before[order]
    positions = np.arange(len(order)) - np.repeat(view.starts[:-1], view.sizes)
    groups = _tied_groups(view.scores[order], view.starts) if ties == "average" else None
    return Ranking(order, positions, groups)


def order_within(keys: Vector, blocks: Iterable[Block], *, stable: bool = True) -> Codes:
    """Rows by rising key within each query of `padded_queries`."""
    kind: Literal["stable"] | None = "stable" if stable else None
    result = np.empty(len(keys), dtype=np.intp)
    # NaN sorts behind everything, but NumPy sorts much faster without it.
    behind = np.inf if len(keys) and keys.max() < np.inf else np.nan
    for places, present in blocks:
        if present is None:
            order = np.argsort(keys.reshape(places.shape), axis=1, kind=kind)
            np.add(order, places[:, :1], out=result.reshape(places.shape))
        else:
            block = np.where(present, keys[places], behind)
            order = np.argsort(block, axis=1, kind=kind)
            order += places[:, :1]
            result[places[present]] = order[present]
    return result


def fall_within(values: Vector, blocks: Iterable[Block]) -> Vector:
    """Finite numbers in falling order within each query of `padded_queries`."""
    result = -values
    for places, present in blocks:
        if present is None:
            result.reshape(places.shape).sort(axis=1)
        else:
            block = np.where(present, result[places], np.inf)
            block.sort(axis=1)
            result[places[present]] = block[present]
    return np.negative(result, out=result)


def padded_queries(starts: Codes) -> Iterator[Block]:
    """Places of the rows of queries of like size, a matrix with a line per query.

    Sizes of one matrix are within a factor of 2^¼, so that less than a sixth of it is padding. With
    each comes a mask of the entries that are rows, and padding names any place. If all queries have
    one size, there is one matrix of all places in turn, and None for its mask.
    """
    sizes = np.diff(starts)
    if len(sizes) and (sizes == sizes[0]).all():
        yield np.arange(starts[0], starts[-1]).reshape(len(sizes), -1), None
        return
    steps = np.floor(4.0 * np.log2(sizes)).astype(np.intp)
    for step in np.unique(steps):
        chosen = steps == step
        column = np.arange(sizes[chosen].max())
        present = column < sizes[chosen][:, None]
        places = starts[:-1][chosen][:, None] + column
        yield np.minimum(places, starts[-1] - 1, out=places), present


def read_label_column(y_true: Any) -> Vector:
    """Labels of a ranking as numbers, one at least."""
    labels = read_relevance(y_true, "y_true")
    if not len(labels):
        raise ValueError("y_true must have at least one label; found none.")
    return labels


def read_query_weights(query_weight: Any, rows: Codes, starts: Codes, ids: list[Any]) -> Vector:
    """Weight of each query; ones by default.

    It may be passed by id, in the order of the queries' first rows, or once per row: that is how
    scikit-learn cuts metadata into folds.
    """
    if query_weight is None:
        return np.ones(len(ids))
    if isinstance(query_weight, Mapping):
        query_weight = by_id(query_weight, ids, "query_weight")
    weights = read_numbers(query_weight, "query_weight")
    if weights.shape == rows.shape and len(rows) > len(ids):
        by_row, weights = weights[rows], weights[rows[starts[:-1]]]
        if not np.array_equal(np.repeat(weights, np.diff(starts)), by_row, equal_nan=True):
            raise ValueError(
                "query_weight with one entry per row must be the same in all rows of a query; "
                "found a query with two weights."
            )
    weights = finite_vector(weights, len(ids), "query_weight")
    if (weights < 0).any():
        raise ValueError(f"query_weight must not be negative; found {weights.min():g}.")
    if not weights.any():
        raise ValueError("query_weight must have a positive entry; found all zeros.")
    return weights


def _together(qid: Any, n: int) -> tuple[Codes | None, Codes, list[Any]]:
    """Rows by query, None if they lie together already; where queries start; and their ids."""
    if isinstance(qid, np.ndarray) and qid.shape == (n,) and qid.dtype.kind in "iuUS":
        heads = np.concatenate([[0], np.flatnonzero(qid[1:] != qid[:-1]) + 1])
        _, ids = query_codes(qid[heads], len(heads))
        if len(ids) == len(heads):
            return None, np.append(heads, n), ids
    codes, ids = query_codes(qid, n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    if (codes[1:] >= codes[:-1]).all():
        return None, starts, ids
    # NumPy sorts numbers of 16 bits by counting, in linear time.
    few = len(ids) <= 1 << 16
    return np.argsort(codes.astype(np.uint16) if few else codes, kind="stable"), starts, ids


def _order_of_ties(view: QueryRows, ties: str, gains: Vector, doc_id: Any) -> Codes | None:
    """Order of the rows before they are sorted by score; None for the order they are in."""
    require_choice("ties", ties, ("average", "input", "best", "worst", "doc_id"))
    if ties == "doc_id":
        if doc_id is None:
            raise ValueError("doc_id must be given for ties='doc_id'; found none.")
        return order_within(-_document_ranks(doc_id, len(view.rows))[view.rows], view.blocks)
    if doc_id is not None:
        raise ValueError(f"doc_id must go with ties='doc_id'; found ties={ties!r}.")
    if ties in ("best", "worst"):
        return order_within(-gains if ties == "best" else gains, view.blocks)
    return None


def _document_ranks(doc_id: Any, n: int) -> Vector:
    ids = np.asarray(doc_id)
    if ids.shape != (n,):
        raise ValueError(f"doc_id must have one entry per row, {n}; found shape {ids.shape}.")
    try:
        return np.unique(ids, return_inverse=True)[1].astype(np.float64)
    except TypeError:
        raise ValueError("doc_id must hold numbers or texts; found a mixture.") from None


def _tied_groups(scores: Vector, starts: Codes) -> Codes | None:
    fresh = np.concatenate([[True], scores[1:] != scores[:-1]])
    fresh[starts[:-1]] = True
    return None if fresh.all() else np.append(np.flatnonzero(fresh), len(scores))
