"""Pairs held out to decide when boosting should stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...pairs.pair_set import LevelPairs, PairSet


def hold_out(
    pairs: PairSet, fraction: float, rng: np.random.RandomState
) -> tuple[PairSet, PairSet]:
    """Pairs that train, and pairs held out.

    Held out are whole queries where there are several, rows spread over all levels where there is
    one, and stated pairs at random.

    Examples
    --------
    >>> pairs = PairSet.from_labels([0, 1, 0, 1, 0, 1], qid=["a", "a", "b", "b", "c", "c"])
    >>> train, held = hold_out(pairs, 0.3, np.random.RandomState(0))
    >>> train.n_pairs, held.n_pairs
    (2, 1)
    """
    train, held = PairSet(pairs.n_items), PairSet(pairs.n_items)
    if pairs.implied is not None:
        out = _rows_out(pairs.implied, fraction, rng)
        train += _part(pairs.implied, ~out, pairs.n_items)
        held += _part(pairs.implied, out, pairs.n_items)
    if pairs.listed is not None:
        stated = pairs.listed
        chosen = np.zeros(len(stated.winners), dtype=bool)
        count = min(max(1, round(fraction * len(chosen))), len(chosen) - 1)
        chosen[rng.permutation(len(chosen))[:count]] = True
        both = np.stack([stated.winners, stated.losers], axis=1)
        train += PairSet.from_pairs(both[~chosen], pairs.n_items, stated.weights[~chosen])
        held += PairSet.from_pairs(both[chosen], pairs.n_items, stated.weights[chosen])
    if train.kind == "empty" or held.kind == "empty":
        raise ValueError(
            f"validation_fraction={fraction!r} leaves no pair to train or none to judge by; pass "
            "more rows, another fraction, or n_iter_no_change=None."
        )
    return train, held


def _rows_out(
    part: LevelPairs, fraction: float, rng: np.random.RandomState
) -> npt.NDArray[np.bool_]:
    """Which of the rows of implied pairs are held out."""
    if part.n_queries > 1:
        count = min(max(1, round(fraction * part.n_queries)), part.n_queries - 1)
        queries = np.zeros(part.n_queries, dtype=bool)
        queries[rng.permutation(part.n_queries)[:count]] = True
        return np.asarray(queries[part.row_queries])
    # Every so many rows, in order of their levels and at random within each.
    m = len(part.rows)
    order = np.lexsort((rng.random_sample(m), part.segments))
    count = min(max(2, round(fraction * m)), m)
    out = np.zeros(m, dtype=bool)
    out[order[((np.arange(count) + rng.random_sample()) * m / count).astype(np.intp)]] = True
    return out


def _part(part: LevelPairs, kept: npt.NDArray[np.bool_], n_items: int) -> PairSet:
    """The pairs among some of the rows."""
    rows, queries = part.rows[kept], part.row_queries[kept]
    present = np.unique(queries)
    found = PairSet.from_labels(
        part.levels[part.segments[kept]], queries, part.weights[kept], part.scales[present]
    ).implied
    if found is None:
        return PairSet(n_items)
    ids = part.ids[present[found.ids]]
    return PairSet(n_items, implied=replace(found, rows=rows[found.rows], ids=ids))
