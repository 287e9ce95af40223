"""Base rankers that ask whether a feature lies above a threshold, and the search for the best.

A base ranker is h(x) = [x_j > θ] or [x_j ≤ θ], so it is 0 or 1. Its edge under weights D of pairs
is linear in the rows,

    r = Σ_pairs D·(h(winner) − h(loser)) = Σ_i π_i·h(x_i),

with π_i the weight of the pairs that row i wins less that of the pairs it loses. One sum of π per
bin of a feature thus gives the edges of all thresholds on it. As Σπ = 0, [x ≤ θ] has the opposite
edge of [x > θ]: one of the two directions always has an edge that is not negative.

A missing value either stands with the side that gives the larger edge, or halfway between the two,
h = ½. Where no row that was learnt from misses the feature, it is halfway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._native._rank_stumps import best_edges
from ..._utils.types import Index, Matrix, Vector
from ..boosting.bins import BinCodes, BinnedInputs, BinSums, bin_inputs, share_features
from ..boosting.stumps import StepTable, tabulate_steps

MISSING = ("best_side", "abstain")

# Numbers within this factor are equal up to rounding; of equal edges the first one wins.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RankStump:
    """[x > θ] for direction +1, [x ≤ θ] for −1.

    Parameters
    ----------
    feature : int
    threshold : float
        θ; −∞ asks whether the value is there at all.
    direction : int
    missing : float
        h of a missing value: 0, ½ or 1.
    """

    feature: int
    threshold: float
    direction: int
    missing: float

    def answers(self, X: Matrix) -> Vector:
        """Answers for rows of inputs.

        Examples
        --------
        >>> RankStump(0, 1.5, -1, 0.5).answers(np.array([[1.0], [2.0], [np.nan]]))
        array([1. , 0. , 0.5])
        """
        column = X[:, self.feature]
        above = column > self.threshold
        held = above if self.direction > 0 else ~above
        return np.where(np.isnan(column), self.missing, held)

    def condition(self, name: str) -> str:
        """The condition in words, the same for both directions.

        Examples
        --------
        >>> RankStump(0, 41.5, -1, 0.0).condition("age")
        'age > 41.5 or missing'
        """
        if self.threshold == -np.inf:
            return f"{name} is present"
        missing_above = self.missing == (1.0 if self.direction > 0 else 0.0)
        return f"{name} > {self.threshold:.6g}{' or missing' if missing_above else ''}"


@dataclass(frozen=True)
class FewAnswers:
    """What a base ranker with up to three values says of the rows.

    Parameters
    ----------
    codes : ndarray of uint8 or int32, shape (m,)
    classes : ndarray of uint8
        Class of every code.
    values : ndarray of shape (A,)
        h of every class.
    """

    codes: BinCodes
    classes: npt.NDArray[np.uint8]
    values: Vector

    @property
    def of_rows(self) -> Vector:
        """What h says of every row."""
        return np.asarray(self.values[self.classes][self.codes])

    @property
    def row_classes(self) -> npt.NDArray[np.uint8]:
        """Class of every row."""
        return self.classes[self.codes]

    def negated(self) -> FewAnswers:
        """The opposite of this base ranker."""
        return FewAnswers(self.codes, self.classes, -self.values)


@dataclass(frozen=True)
class ManyAnswers:
    """What a base ranker with many values says of the rows."""

    of_rows: Vector

    def negated(self) -> ManyAnswers:
        """The opposite of this base ranker."""
        return ManyAnswers(-self.of_rows)


Answers = FewAnswers | ManyAnswers


def read_answers(h: Vector) -> Answers:
    """Answers of any base ranker, with few values where it has few.

    Answers that differ by no more than rounding are all the same.

    Examples
    --------
    >>> read_answers(np.array([0.0, 1.0, 0.0])).values
    array([0., 1.])
    """
    if np.ptp(h) <= _ROUNDING * np.abs(h).max():
        h = np.zeros(len(h))
    if len(np.unique(h[:1000])) <= 3:
        values, codes = np.unique(h, return_inverse=True)
        if len(values) <= 3:
            classes = np.arange(len(values), dtype=np.uint8)
            return FewAnswers(codes.astype(np.uint8), classes, values)
    return ManyAnswers(h)


class RankStumpSearch:
    """The threshold of largest edge over the same rows for many weights.

    Parameters
    ----------
    bins : BinnedInputs
    missing : {"best_side", "abstain"}
        Where missing values stand.
    n_threads : int
        Threads over features; the result does not depend on it.
    """

    def __init__(self, bins: BinnedInputs, missing: str = "best_side", n_threads: int = 1) -> None:
        self.bins = bins
        self._two_sided = missing == "best_side"
        shares, self._pool = share_features(len(bins.edges), n_threads)
        self._shares = [BinSums(bins, 1, share) for share in shares]

    def __call__(self, weights: Vector) -> tuple[RankStump, FewAnswers]:
        """The base ranker of largest edge for weights π of the rows, and its answers.

        Among equal edges the first feature wins, then the least threshold. Where nothing has an
        edge it is a base ranker that says 0 of all rows.
        """
        run = map if self._pool is None else self._pool.map
        edges = np.concatenate(list(run(lambda share: self._edges(share, weights), self._shares)))
        if edges.max() == 0.0:
            classes = np.zeros(int(self.bins.n_bins[0]) + 1, dtype=np.uint8)
            answers = FewAnswers(self.bins.codes[0], classes, np.array([0.0, 1.0]))
            return RankStump(0, np.inf, 1, 0.0), answers
        feature = int(np.argmax(edges >= edges.max() * (1.0 - _ROUNDING)))
        stump, cut = self._locate(feature, weights)
        return stump, self._answers(stump, cut)

    def _edges(self, share: BinSums, weights: Vector) -> Vector:
        edges = []
        for first, sums in share.by_group(weights[:, None]):
            edges.append(np.empty(len(first) - 1))
            best_edges(sums, first, self._two_sided, edges[-1])
        return np.concatenate(edges)

    def _locate(self, feature: int, weights: Vector) -> tuple[RankStump, int]:
        """The first cut of largest edge on a feature, and the number of bins before it."""
        sums = self._shares[0].of(weights[:, None], feature)
        below = np.concatenate([[0.0], np.cumsum(sums[:-2, 0])])
        missing = float(sums[-1, 0])
        if self._two_sided:
            # Missing values with the lower side, or with the upper.
            edges = -np.stack([below + missing, below], axis=1)
        else:
            edges = -(below + 0.5 * missing)[:, None]
            edges[0] = 0.0
        sizes = np.abs(edges)
        place = int(np.argmax(sizes >= sizes.max() * (1.0 - _ROUNDING)))
        cut, with_upper = divmod(place, edges.shape[1])
        direction = 1 if edges[cut, with_upper] > 0 else -1
        held = 0.5
        if self._two_sided and self.bins.has_missing[feature]:
            held = float(with_upper if direction > 0 else 1 - with_upper)
        framed = np.concatenate([[-np.inf], self.bins.edges[feature]])
        return RankStump(feature, float(framed[cut]), direction, held), cut

    def _answers(self, stump: RankStump, cut: int) -> FewAnswers:
        n_bins = int(self.bins.n_bins[stump.feature])
        classes = np.empty(n_bins + 1, dtype=np.uint8)
        classes[:cut] = stump.direction < 0
        classes[cut:] = stump.direction > 0
        values = np.array([0.0, 1.0])
        if self.bins.has_missing[stump.feature]:
            classes[-1] = stump.missing if stump.missing != 0.5 else 2
            if stump.missing == 0.5:
                values = np.array([0.0, 1.0, 0.5])
        return FewAnswers(self.bins.codes[stump.feature], classes, values)


def bin_rows(
    X: Matrix, rows: Index, max_bins: int | None, weights: Vector | None = None
) -> BinnedInputs:
    """Some rows in bins, in the order given; the edges depend on these rows only.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    rows : ndarray of shape (m,)
    max_bins : int, optional
        As in `bin_inputs`.
    weights : ndarray of shape (n,), optional
        Weights of all rows of X.
    """
    seen = weights
    if len(rows) < len(X):
        seen = np.zeros(len(X))
        seen[rows] = 1.0 if weights is None else weights[rows]
    codes: BinCodes = np.empty((X.shape[1], len(rows)), dtype=np.uint8)
    edges: list[Vector] = []
    # Feature by feature, as all codes in both orders would take twice the memory.
    for j in range(X.shape[1]):
        part = bin_inputs(X[:, j : j + 1], max_bins, seen)
        if part.codes.dtype != codes.dtype and codes.dtype == np.uint8:
            codes = codes.astype(np.int32)
        codes[j] = part.codes[0][rows]
        edges.extend(part.edges)
    return BinnedInputs(codes, tuple(edges))


def tabulate_rankers(stumps: Sequence[RankStump], weights: Vector) -> list[StepTable]:
    """The sum of weighted base rankers, as a step function of every feature that occurs."""
    features = np.array([stump.feature for stump in stumps], dtype=np.intp)
    thresholds = np.array([[stump.threshold] for stump in stumps])
    directions = np.array([stump.direction for stump in stumps], dtype=np.intp)
    missing = np.array([[stump.missing] for stump in stumps])
    return tabulate_steps(features, thresholds, directions, missing, weights)
