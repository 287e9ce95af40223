"""The ordinal decision stump of least cost, exactly, over all features and both directions.

A stump is r(x) = #{k : q·x_j > θ_k} with q = ±1 and θ ascending ([LL09] section 5.1 prints the
rule wrongly). Given signed weights V (`ordinal.reduction.signed_weights`) it minimises

    Σ_ik |V_ik|·[sign V_ik ≠ sign(r(x_i) − k − ½)],

which for V-shaped costs is the total cost. For a feature in bins, cut k at bin g costs P_k[g], the
sum of V_ik over the rows in the first g bins, more than holding every row above k. The cuts must
ascend, so the least total is a running minimum over bins and thresholds: O(nK) per feature once
the inputs are in bins. All constant rankers are stumps, with θ at ±∞, so a stump never costs
more than half of all weight.

Rows with a missing value take the rank that costs least among them; a feature that had no missing
value gives such rows the rank that costs least among all.

A stump looks at one feature, so an ensemble of them is a sum of step functions, one for each
feature: Σ_t v_t·h_t(x) = Σ_j T_j[#{cuts c of feature j : x_j > c}]. A row then costs one search per
feature however many stumps there are, and the tables show the effect of each feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._native._stumps import least_costs, sum_sides, trace_cuts
from ..._utils.state import are_indices, is_ascending, require_state
from ..._utils.types import Codes, Matrix, Vector
from .bins import BinnedInputs, BinSums, share_features

# Costs closer than this, as a share of all weight, are equal up to rounding.
_ROUNDING = 1e-12
# Rows that are handled at a time.
_BLOCK = 2**16


@dataclass(frozen=True)
class Stump:
    """A stump and what it costs.

    Parameters
    ----------
    feature : int
    direction : int
        q: +1 if ranks rise with the feature, −1 if they fall.
    thresholds : ndarray of shape (K−1,)
        θ, ascending, on the scale of q·x.
    missing_rank : int
        Rank of rows whose feature is missing.
    cost : float, optional
        Weight of the sides that the stump gets wrong.
    """

    feature: int
    direction: int
    thresholds: Vector
    missing_rank: int
    cost: float = np.nan

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, make no stump."""
        require_state(is_ascending(self.thresholds), "the thresholds of a stump do not ascend")
        require_state(type(self.direction) is int and abs(self.direction) == 1, "no direction")
        K = len(self.thresholds) + 1
        rank = are_indices([self.missing_rank], K)
        require_state(rank, "the rank of missing values is none")

    def ranks(self, X: npt.NDArray[np.float64]) -> Codes:
        """Ranks of rows of inputs."""
        scores = self.direction * X[:, self.feature]
        ranks = np.searchsorted(self.thresholds, scores, side="left")
        return np.where(np.isnan(scores), self.missing_rank, ranks)


class StumpSearch:
    """Search over the same inputs for many weights, as boosting needs it.

    Parameters
    ----------
    bins : BinnedInputs
    n_classes : int
        K.
    n_threads : int, default=1
        Threads over features; the stump does not depend on their number.

    Examples
    --------
    >>> from echelon.solvers.boosting.bins import bin_inputs
    >>> search = StumpSearch(bin_inputs(np.array([[0.0], [1.0], [2.0]])), 2)
    >>> stump, ranks = search.find(np.array([[-1.0], [1.0], [1.0]]))
    >>> stump.thresholds, ranks
    (array([0.5]), array([0, 1, 1]))
    """

    def __init__(self, bins: BinnedInputs, n_classes: int, n_threads: int = 1) -> None:
        self.bins = bins
        shares, self._pool = share_features(len(bins.edges), n_threads)
        self._workers = [_Worker(bins, n_classes - 1, share) for share in shares]

    def find(self, V: Matrix) -> tuple[Stump, Codes]:
        """The stump of least cost for signed weights V (n, K−1), and its ranks of the rows.

        Among equal costs the first feature wins, and the rising direction.
        """
        above, below = side_weights(V)
        slack = _ROUNDING * float(above.sum() + below.sum())
        run = map if self._pool is None else self._pool.map
        costs = np.concatenate(list(run(lambda each: each.search(V, slack), self._workers))).ravel()
        feature, falling = divmod(int(np.argmax(costs <= costs.min() + slack)), 2)
        direction = -1 if falling else 1
        cuts, missing = self._workers[0].cuts(V, feature, direction > 0, slack)
        rank = cheapest_rank(missing if missing.any() else above - below)
        cost = float(below.sum()) + float(costs[2 * feature + falling])
        stump = Stump(feature, direction, self._thresholds(feature, direction, cuts), rank, cost)
        return stump, self._ranks(stump, cuts)

    def _thresholds(self, feature: int, direction: int, cuts: Codes) -> Vector:
        framed = np.concatenate([[-np.inf], self.bins.edges[feature], [np.inf]])
        if direction > 0:
            return framed[cuts]
        # Held above are the rows with x ≤ edge, and −x > θ must say the same.
        finite = np.isfinite(framed)
        framed[finite] = np.nextafter(framed[finite], np.inf)
        return -framed[cuts]

    def _ranks(self, stump: Stump, cuts: Codes) -> Codes:
        n_bins = len(self.bins.edges[stump.feature]) + 1
        passed = np.cumsum(np.bincount(cuts, minlength=n_bins + 1))
        table = passed if stump.direction > 0 else len(cuts) - passed
        table[n_bins] = stump.missing_rank
        codes = self.bins.codes[stump.feature]
        ranks = np.empty(len(codes), dtype=np.intp)
        # In pieces, as indexing makes long integers of all codes at once.
        for start in range(0, len(codes), _BLOCK):
            ranks[start : start + _BLOCK] = table[codes[start : start + _BLOCK]]
        return ranks


class _Worker:
    """One thread's share of the features and its memory."""

    def __init__(self, bins: BinnedInputs, n_thresholds: int, features: Codes) -> None:
        self._sums = BinSums(bins, n_thresholds, features)
        self._work = np.empty(3 * n_thresholds)

    def search(self, V: Matrix, slack: float) -> Matrix:
        """Costs of a rising and a falling stump on each feature, above the highest rank for all."""
        limit = np.full(1, np.inf)
        costs = []
        for first, sums in self._sums.by_group(V):
            costs.append(np.empty((len(first) - 1, 2)))
            least_costs(sums, first, limit, slack, costs[-1], self._work)
        return np.concatenate(costs)

    def cuts(self, V: Matrix, feature: int, rising: bool, slack: float) -> tuple[Codes, Vector]:
        """Number of bins before each cut, and the sums of V over rows with a missing value."""
        sums = self._sums.of(V, feature)
        n_bins = len(sums) - 1
        at = np.empty((V.shape[1], n_bins + 1), dtype=np.int32)
        cuts = np.empty(V.shape[1], dtype=np.intp)
        trace_cuts(sums, 0, n_bins, rising, slack, at, self._work, cuts)
        return cuts, sums[n_bins].copy()


@dataclass(frozen=True)
class StepTable:
    """What the stumps on one feature add up to.

    Parameters
    ----------
    feature : int
    cuts : ndarray of shape (m,)
        Ascending.
    values : ndarray of shape (m+2, q)
        Row g: the q sums where g cuts lie below x; the last row is for missing values.
    """

    feature: int
    cuts: Vector
    values: Matrix


def tabulate_steps(
    features: Codes, cuts: Matrix, rising: Codes, missing: Matrix, weights: Vector
) -> list[StepTable]:
    """Tables of all features that occur.

    Parameters
    ----------
    features : ndarray of shape (T,)
        The feature of each stump.
    cuts : ndarray of shape (T, q)
        Where the q answers of a stump change between 0 and 1; ±∞ where they do not.
    rising : ndarray of shape (T,)
        1 for answers [x > cut], −1 for [x ≤ cut].
    missing : ndarray of shape (T, q)
        Answers for a missing value.
    weights : ndarray of shape (T,)

    Examples
    --------
    >>> cuts, missing = np.array([[1.5], [0.5]]), np.array([[0.0], [0.5]])
    >>> (table,) = tabulate_steps(
    ...     np.array([0, 0]), cuts, np.array([1, -1]), missing, np.array([2.0, 1.0])
    ... )
    >>> table.cuts, table.values[:, 0]
    (array([0.5, 1.5]), array([1. , 0. , 2. , 0.5]))
    """
    chosen = [np.flatnonzero(features == feature) for feature in np.unique(features)]
    return [
        _table(int(features[t[0]]), cuts[t], rising[t, None], missing[t], weights[t, None])
        for t in chosen
    ]


def _table(feature: int, at: Matrix, rising: Codes, missing: Matrix, weights: Vector) -> StepTable:
    cuts = np.unique(at[np.isfinite(at)])
    # Rising answers begin after their cut, falling ones end there.
    place = np.searchsorted(cuts, at, side="left") + 1
    place[at == -np.inf] = 0
    values = np.zeros((len(cuts) + 2, at.shape[1]))
    column = np.broadcast_to(np.arange(at.shape[1]), at.shape)
    np.add.at(values, (place, column), np.broadcast_to(rising * weights, at.shape))
    values = np.cumsum(values, axis=0)
    values[:-1] += (weights * (rising < 0)).sum()
    values[-1] = (missing * weights).sum(axis=0)
    return StepTable(feature, cuts, values)


def sum_steps(tables: Sequence[StepTable], X: Matrix, width: int) -> Matrix:
    """Sums of the step functions for each row, (n, width)."""
    sums = np.zeros((len(X), width))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        for table in tables:
            column = np.ascontiguousarray(rows[:, table.feature])
            place = np.searchsorted(table.cuts, column, side="left")
            place[np.isnan(column)] = len(table.cuts) + 1
            sums[start : start + _BLOCK] += table.values[place]
    return sums


def tabulate(stumps: Sequence[Stump], weights: Vector) -> list[StepTable]:
    """The weight of the votes above each threshold, as a step function of every feature."""
    rising = np.array([stump.direction for stump in stumps], dtype=np.intp)
    cuts = rising[:, None] * np.array([stump.thresholds for stump in stumps])
    # A falling stump holds x < −θ to be above, which is x ≤ the float before it.
    falling = (rising[:, None] < 0) & np.isfinite(cuts)
    cuts = np.where(falling, np.nextafter(cuts, -np.inf), cuts)
    features = np.array([stump.feature for stump in stumps], dtype=np.intp)
    ranks = np.array([stump.missing_rank for stump in stumps])
    missing = (ranks[:, None] > np.arange(cuts.shape[1])).astype(np.float64)
    return tabulate_steps(features, cuts, rising, missing, weights)


def side_weights(V: Matrix) -> Matrix:
    """Weight of the rows above each threshold, and of those not above, (2, K−1)."""
    sums = np.empty((2, V.shape[1]))
    sum_sides(V, sums)
    return sums


def cheapest_rank(sums: Vector) -> int:
    """Rank of least cost for rows with these sums of V, the lowest among equals."""
    # Rank r is not above the thresholds from r on, which costs their sums.
    suffix = np.concatenate([np.cumsum(sums[::-1])[::-1], [0.0]])
    return int(np.argmin(suffix))
