"""Inputs as codes of bins, one row of codes per feature: what stumps, trees and rules search.

A feature with edges e_0 < e_1 < … has one bin more than edges, and x has the code
#{m : x > e_m}. In exact mode there is a bin per distinct value and every edge is a midpoint, so
a search over edges is a search over all ways to cut the feature. In binned mode there are at most
255 bins of about equal weight. A missing value (NaN) has the code after the last. Codes take a
byte where no feature has more than 255 bins, else four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..._native._stumps import code_column, sum_by_bin
from ..._utils.types import Index, Mask, Matrix, Vector
from ...ordinal.thresholds import midpoints

BinCodes = npt.NDArray[np.uint8] | npt.NDArray[np.int32]

MOST_BINS = 255
# Sums of all bins of a group of features should stay in the processor's second cache.
_GROUP_BYTES = 2**19


@dataclass(frozen=True)
class BinnedInputs:
    """Codes of all rows and what they mean.

    Parameters
    ----------
    codes : ndarray of uint8 or int32, shape (d, n)
        ``codes[j, i]`` is the number of edges of feature j below x_ij, or ``n_bins[j]`` if x_ij is
        missing.
    edges : tuple of d ascending vectors
        ``x > edge`` is exact for every value that was seen.
    """

    codes: BinCodes
    edges: tuple[Vector, ...]

    @cached_property
    def n_bins(self) -> npt.NDArray[np.intp]:
        """Number of bins of each feature, without the one for missing values."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.intp)

    @cached_property
    def has_missing(self) -> Mask:
        """Which features miss a value in some row."""
        each = zip(self.codes, self.n_bins, strict=True)
        return np.array([(codes == missing).any() for codes, missing in each], dtype=np.bool_)


def bin_inputs(
    X: npt.NDArray[np.float64],
    max_bins: int | None = None,
    weights: Vector | None = None,
    n_categories: Sequence[int] | None = None,
) -> BinnedInputs:
    """Codes and edges of the columns of X.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Missing values as NaN.
    max_bins : int, optional
        Most bins of a feature, 2 to 255; without it a bin per distinct value.
    weights : ndarray of shape (n,), optional
        The bins of a feature with more distinct values than `max_bins` have about equal weight;
        rows without weight make no bins.
    n_categories : sequence of d int, optional
        For a column that holds positions of categories, their number: such a column has a bin for
        each of them and one for others; 0 for a column of numbers.

    Examples
    --------
    >>> bins = bin_inputs(np.array([[1.0], [3.0], [np.nan], [1.0]]))
    >>> bins.edges
    (array([2.]),)
    >>> bins.codes
    array([[0, 1, 2, 0]], dtype=uint8)
    """
    kept = None if weights is None or weights.all() else np.flatnonzero(weights)
    edges: list[Vector] = []
    for j, column in enumerate(X.T):
        if n_categories is not None and n_categories[j]:
            edges.append(np.arange(n_categories[j], dtype=np.float64) + 0.5)
            continue
        seen = column if kept is None else column[kept]
        positive = weights if kept is None or weights is None else weights[kept]
        edges.append(_edges(seen, positive, max_bins))
    return BinnedInputs(code_inputs(X, edges), tuple(edges))


def code_inputs(X: npt.NDArray[np.float64], edges: Sequence[Vector]) -> BinCodes:
    """Codes of rows for given edges, shape (d, n)."""
    most = max((len(e) for e in edges), default=0) + 1
    dtype = np.uint8 if most <= MOST_BINS else np.int32
    codes = np.empty((len(edges), len(X)), dtype=dtype)
    for j, cuts in enumerate(edges):
        code_column(X[:, j], cuts, codes[j])
    return codes


def check_max_bins(max_bins: int | None) -> int | None:
    """Return the number of bins if it is one that codes of a byte can hold."""
    if max_bins is None:
        return None
    if isinstance(max_bins, bool) or not 2 <= max_bins <= MOST_BINS or max_bins != int(max_bins):
        raise ValueError(
            f"max_bins must be None or an integer from 2 to {MOST_BINS}; found {max_bins!r}."
        )
    return int(max_bins)


def _edges(column: Vector, weights: Vector | None, max_bins: int | None) -> Vector:
    present = ~np.isnan(column)
    if not present.all():
        column = column[present]
        weights = None if weights is None else weights[present]
    if max_bins is None or not len(column):
        return midpoints(np.unique(column))
    if weights is None or (weights == weights[0]).all():
        ranked, mass = np.sort(column), None
    else:
        order = np.argsort(column, kind="stable")
        ranked, mass = column[order], np.cumsum(weights[order])
    fresh = np.flatnonzero(ranked[1:] != ranked[:-1])
    middle = midpoints(ranked[np.concatenate([fresh, [len(ranked) - 1]])])
    if len(middle) < max_bins:
        return middle
    # Row fresh[m] is the last one below the m-th midpoint.
    below = fresh + 1.0 if mass is None else mass[fresh]
    total = float(len(ranked)) if mass is None else float(mass[-1])
    targets = total * np.arange(1, max_bins) / max_bins
    chosen = np.unique(np.minimum(np.searchsorted(below, targets), len(middle) - 1))
    return np.asarray(middle[chosen])


def share_features(
    n_features: int, n_threads: int
) -> tuple[list[Index], ThreadPoolExecutor | None]:
    """Runs of features for as many threads as are of use, and a pool where there are several."""
    n_threads = max(1, min(n_threads, n_features))
    shares = np.array_split(np.arange(n_features), n_threads)
    return shares, ThreadPoolExecutor(n_threads) if n_threads > 1 else None


class BinSums:
    """Sums of weights over the bins of features, a group of features after another.

    Parameters
    ----------
    bins : BinnedInputs
    width : int
        Weights of a row.
    features : ndarray
        Neighbouring features, one thread's share of them; the memory is for one thread.
    """

    def __init__(self, bins: BinnedInputs, width: int, features: Index) -> None:
        self._codes = bins.codes
        self._sizes = bins.n_bins + 1
        self._groups = self._grouped(features, max(1, _GROUP_BYTES // (8 * width)))
        largest = max(int(self._sizes[group.start : group.stop].sum()) for group in self._groups)
        self._sums = np.empty((max(largest, int(self._sizes.max())), width))

    def by_group(self, V: Matrix) -> Iterator[tuple[Index, Matrix]]:
        """For each group where the bins of its features begin, and their sums; overwritten."""
        for group in self._groups:
            yield self._sum(V, group), self._sums

    def of(self, V: Matrix, feature: int) -> Matrix:
        """Sums by bin of one feature, that of missing values last; overwritten by the next."""
        self._sum(V, range(feature, feature + 1))
        return self._sums[: int(self._sizes[feature])]

    def _sum(self, V: Matrix, group: range) -> Index:
        first = np.concatenate([[0], np.cumsum(self._sizes[group.start : group.stop])])
        sum_by_bin(self._codes, V, first, self._sums, group.start, group.stop)
        return first

    def _grouped(self, features: Index, most: int) -> list[range]:
        """Runs of features whose bins together number at most `most`."""
        groups: list[range] = []
        taken = 0
        for j in features.tolist():
            if groups and taken + self._sizes[j] <= most:
                groups[-1] = range(groups[-1].start, j + 1)
                taken += self._sizes[j]
            else:
                groups.append(range(j, j + 1))
                taken = self._sizes[j]
        return groups
