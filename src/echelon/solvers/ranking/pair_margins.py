"""The pairs that scores rank worst: for every row its worst partner, in O(n log n).

The margin of a pair is the score of its winner less that of its loser. Among the rows that a row
should beat, the one with the highest score has the least margin; a running maximum over the rows
sorted by level finds it for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._utils.types import Codes, Vector
from ...pairs import LevelPairs, PairSet


class WorstPairs(NamedTuple):
    """Pairs and their margins, least first; the first has the least margin of all pairs."""

    winners: Codes
    losers: Codes
    margins: Vector


def worst_pairs(
    pairs: PairSet, scores: Vector, limit: int | None = None, keys: Vector | None = None
) -> WorstPairs:
    """Pair every row with the partners of least margin, above and below it; add stated pairs.

    Parameters
    ----------
    pairs : PairSet
        At least one pair.
    scores : ndarray of shape (n,)
    limit : int, optional
        Most pairs to return.
    keys : ndarray of shape (n,), optional
        Decide between equal scores and margins, instead of the order of rows.

    Returns
    -------
    worst : WorstPairs
        No implied pair twice.

    Examples
    --------
    >>> pairs = PairSet.from_labels([0, 0, 1, 2])
    >>> worst_pairs(pairs, np.array([0.0, 3.0, 2.0, 5.0])).margins
    array([-1.,  2.,  2.,  3.])
    """
    if keys is None:
        keys = np.zeros(len(scores))
    winners, losers = _implied_worst(pairs.implied, scores, keys)
    if pairs.listed is not None:
        winners = np.concatenate([pairs.listed.winners, winners])
        losers = np.concatenate([pairs.listed.losers, losers])
    margins = scores[winners] - scores[losers]
    order = np.lexsort((keys[losers], keys[winners], margins))[:limit]
    return WorstPairs(winners[order], losers[order], margins[order])


def least_margin(pairs: PairSet, scores: Vector) -> float:
    """Least margin of all pairs; above zero where every pair is ranked correctly."""
    return float(worst_pairs(pairs, scores, 1).margins[0])


def _implied_worst(part: LevelPairs | None, scores: Vector, keys: Vector) -> tuple[Codes, Codes]:
    if part is None:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    values, keys, m = scores[part.rows], keys[part.rows], len(part.rows)
    segments, queries = part.segments, part.row_queries
    level_start, level_end = part.starts[segments], part.starts[segments + 1]
    query_start = part.starts[part.queries[queries]]
    query_end = part.starts[part.queries[queries + 1]]
    best_below = _running_best(values, keys, queries)
    beats = np.flatnonzero(level_start > query_start)
    loser = best_below[level_start[beats] - 1]
    # Upside down, the worst of the rows above is the best of those below.
    turned = _running_best(-values[::-1], keys[::-1], queries[-1] - queries[::-1])
    worst_above = (m - 1 - turned)[::-1]
    beaten = np.flatnonzero(level_end < query_end)
    winner = worst_above[level_end[beaten]]
    both = np.unique(np.r_[beats * m + loser, winner * m + beaten])
    return part.rows[both // m], part.rows[both % m]


def _running_best(values: Vector, keys: Vector, queries: Codes) -> Codes:
    """Place of the greatest value up to each entry within its query; queries ascend."""
    m = len(values)
    order = np.lexsort((keys, values))
    rank = np.empty(m, dtype=np.intp)
    rank[order] = np.arange(m)
    best = np.maximum.accumulate(rank + queries * m)
    return order[best - queries * m]
