"""How scores order the pairs of a set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._native._pair_windows import ranked_weights
from .._utils.types import Vector
from .pair_set import LevelPairs, ListedPairs, PairSet
from .score_order import ScoreSorter


@dataclass(frozen=True)
class PairTotals:
    """Weight of the pairs by how the scores of winner and loser compare.

    Parameters
    ----------
    concordant, tied, discordant : float
        The winner scores higher, the same, or lower.
    """

    concordant: float
    tied: float
    discordant: float

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        return self.concordant + self.tied + self.discordant

    @property
    def accuracy(self) -> float:
        """Share of the pairs in the right order, where a tie counts one half."""
        return (self.concordant + 0.5 * self.tied) / self.total


def misranked(pairs: PairSet, scores: npt.ArrayLike) -> PairTotals:
    """Weigh the pairs of a set that scores put in the right order, tie, and put in the wrong one.

    Parameters
    ----------
    pairs : PairSet
    scores : array-like of shape (n_items,)
        Numbers without NaN; infinite ones compare as usual.

    Returns
    -------
    totals : PairTotals
        Sums of terms that are not negative: exact for whole weights below 2^53.

    Notes
    -----
    O(n log n) for implied pairs, one comparison for each stated pair.

    Examples
    --------
    >>> misranked(PairSet.from_labels([2, 0, 1, 0]), [0.5, 0.5, 0.7, 0.1])
    PairTotals(concordant=3.0, tied=1.0, discordant=1.0)
    """
    f = np.asarray(scores, dtype=np.float64)
    if f.shape != (pairs.n_items,) or np.isnan(f).any():
        raise ValueError(
            f"scores must be {pairs.n_items} numbers; found shape {f.shape}"
            f"{'' if f.shape != (pairs.n_items,) else ' with NaN'}."
        )
    totals = np.zeros(3)
    if pairs.implied is not None:
        totals += pairs.implied.scales @ misranked_by_query(pairs.implied, f)
    if pairs.listed is not None:
        totals += _listed_totals(pairs.listed, f)
    return PairTotals(*totals.tolist())


def misranked_by_query(pairs: LevelPairs, scores: Vector) -> Vector:
    """Weight of the concordant, tied and discordant pairs of each query, before its factor.

    Returns an array of shape (Q, 3).
    """
    order = ScoreSorter(pairs).sort(scores)
    totals = np.empty((pairs.n_queries, 3))
    ranked_weights(
        order.bounds,
        order.n_levels,
        order.levels,
        order.scores,
        order.weights,
        np.empty((3, order.most_levels + 1)),
        totals,
    )
    return totals


def _listed_totals(pairs: ListedPairs, scores: Vector) -> Vector:
    won, lost = scores[pairs.winners], scores[pairs.losers]
    kind = np.where(won > lost, 0, np.where(won == lost, 1, 2))
    return np.asarray(np.bincount(kind, pairs.weights, 3), dtype=np.float64)
