"""Pair sets over fewer rows, with other weights of queries, or written out pair by pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._utils.types import Codes
from .pair_set import LevelPairs, ListedPairs, PairSet


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
    implied: LevelPairs | None = None
    listed: ListedPairs | None = None
    if pairs.implied is not None:
        implied = replace(pairs.implied, rows=np.searchsorted(rows, pairs.implied.rows))
    if pairs.listed is not None:
        winners, losers = (
            np.searchsorted(rows, side) for side in (pairs.listed.winners, pairs.listed.losers)
        )
        listed = ListedPairs(winners, losers, pairs.listed.weights)
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
    return float(pairs.implied.weights.sum()) + n_rows - len(pairs.implied.rows)
