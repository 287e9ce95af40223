"""How two columns order the pairs of their rows: agreeing, disagreeing or tied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._native._pair_counts import count_sorted_pairs
from .._utils.types import Vector


@dataclass(frozen=True)
class PairCounts:
    """Weight of the pairs of rows {i, j}, i ≠ j, by how the columns a and b order them.

    A pair weighs w_i·w_j, so with unit weights these are numbers of pairs.

    Parameters
    ----------
    concordant : float
        Pairs that a and b order alike.
    discordant : float
        Pairs that a and b order in opposite ways.
    tied_in_a, tied_in_b : float
        Pairs that are equal in that column and differ in the other.
    tied_in_both : float
        Pairs that are equal in both columns. A row is no pair with itself, so an integer weight
        equals repeated rows in every count but this one.
    """

    concordant: float
    discordant: float
    tied_in_a: float
    tied_in_b: float
    tied_in_both: float

    @property
    def differing_in_a(self) -> float:
        """Weight of the pairs whose entries of a differ."""
        return self.concordant + self.discordant + self.tied_in_b

    @property
    def differing_in_b(self) -> float:
        """Weight of the pairs whose entries of b differ."""
        return self.concordant + self.discordant + self.tied_in_a

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        return self.differing_in_a + self.tied_in_a + self.tied_in_both


def count_pairs(a: npt.ArrayLike, b: npt.ArrayLike, weights: Vector | None = None) -> PairCounts:
    """Count the pairs of rows of two columns by how the columns order them.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Anything that sorts, without NaN.
    weights : ndarray of shape (n,), optional
        Weights of the rows, none negative; ones by default.

    Returns
    -------
    counts : PairCounts

    Notes
    -----
    O(n log n) time and O(n) memory: one sort by (a, b), then a walk over the groups of equal a with
    a tree of weights over the distinct values of b. Counts are exact while the weights are integers
    and the total stays below 2^53, which is 134 million rows of weight one.

    Examples
    --------
    >>> counts = count_pairs([1, 2, 3, 3], [1, 3, 2, 2])
    >>> counts.concordant, counts.discordant, counts.tied_in_both
    (3.0, 2.0, 1.0)
    """
    ranks_a, n_distinct_a = _dense_ranks(a)
    ranks_b, n_distinct = _dense_ranks(b)
    n = len(ranks_a)
    if len(ranks_b) != n or (weights is not None and len(weights) != n):
        raise ValueError(
            "a, b and weights must have one entry per row; found lengths "
            f"{n}, {len(ranks_b)}{'' if weights is None else f', {len(weights)}'}."
        )
    cells = ranks_a * n_distinct + ranks_b
    if n_distinct_a * n_distinct <= 1 << 16:
        # NumPy sorts numbers of 16 bits by counting, in linear time.
        cells = cells.astype(np.uint16)
    order = np.argsort(cells, kind="stable")
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    leaves = 1 << max(n_distinct - 1, 0).bit_length()
    counts = np.zeros(5)
    count_sorted_pairs(ranks_a[order], ranks_b[order], w, np.zeros(2 * leaves), counts)
    return PairCounts(*counts.tolist())


def _dense_ranks(values: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], int]:
    """Rank of each entry among the distinct values, from 0, and how many of these there are."""
    column = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"Each column must be one-dimensional; found shape {column.shape}.")
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if low >= 0 and high <= len(column):
            # Codes: counting which ones occur is cheaper than sorting.
            codes = column.astype(np.intp, copy=False)
            occurs = np.bincount(codes) > 0
            return (np.cumsum(occurs) - 1)[codes], int(occurs.sum())
    distinct, ranks = np.unique(column, return_inverse=True)
    return ranks.astype(np.intp, copy=False), len(distinct)
