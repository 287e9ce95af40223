"""The body of one rule, grown condition by condition while its measure improves.

For the pairs that a body Φ splits, W_> is the weight of those it orders rightly and W_< of the
others (for a loss over rows, the gradients of the covered rows that ask for more, and for less).
[DK09] derives four measures from the exponential loss e^{−α}·W_> + e^{α}·W_< + W_0; as printed they
have wrong signs. To be maximised are

- simultaneous       |√W_> − √W_<|, which is the least loss over α as well;
- gradient           |W_> − W_<|, the slope at α = 0;
- gradient_boosting  |W_> − W_<| / √(split pairs), the fit to the slope in least squares;
- constant_step      (1 − e^{−β})·W_right − (e^β − 1)·W_wrong, the loss that a step ±β saves.

A body starts with no condition; each step adds the one that gives the greatest measure, and the
body is finished when none gives more than there is. Among equal measures the first feature wins,
the lowest cut, and x ≤ s before x > s: the two split the same pairs as long as all rows are
covered, and preferring the smaller side instead made worse models, the larger one no better ones.
Numbers are cut between two values (x ≤ s or x > s), categories are taken one by one (=, ≠) or in
sets: those whose gradient is most to one side. Missing values satisfy no condition.

A step costs O(K) per covered row and feature, or per bin and feature after a pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from ..._native._rule_rows import cover
from ..._native._rules import RuleGrower, Scratch
from ..._utils.types import Index, Matrix, Vector
from ..boosting.bins import BinnedInputs, share_features
from .bodies import Body, Condition, Interval, Membership

TECHNIQUES = ("simultaneous", "gradient", "gradient_boosting", "constant_step")

# Rows times features that are worth a second thread.
_WORTH_A_THREAD = 200_000

# Gains this close may be ties, which the native search counts within a factor of 1 + 1e-9.
_NEAR_TIE = 1.0 + 1e-6

# Kinds of conditions, as the native search numbers them.
_AT_MOST, _ABOVE, _AMONG, _NOT_AMONG = range(4)

Inside = npt.NDArray[np.uint8]
Tables = dict[int, Inside]
# Gain, feature, kind, cut and members of a condition.
Candidate = tuple[float, int, int, int, list[int]]


@dataclass(frozen=True)
class Terms:
    """A loss at the current scores, as the search sees it.

    Parameters
    ----------
    levels : ndarray of int32, shape (n,)
    upper, lower : ndarray of shape (n,)
        To be multiplied by the factors of the level: u and v. Over rows, row i asks for
        a greater score with u_i and for a lower one with v_i; over pairs, a higher row i and a
        lower row j weigh m·u_i·v_j, times the decay of the levels between them.
    weights : ndarray of shape (n,)
    factors : ndarray of shape (2, K)
    decay : ndarray of shape (K,), optional
        For a loss over pairs.
    per_threshold : bool
        Whether m is the difference of the levels, or 1.
    """

    levels: npt.NDArray[np.int32]
    upper: Vector
    lower: Vector
    weights: Vector
    factors: Matrix
    decay: Vector | None = None
    per_threshold: bool = False


@dataclass(frozen=True)
class Found:
    """A body, the codes that its conditions allow by feature, and its measure on the drawn rows."""

    body: Body
    tables: Tables
    gain: float


class RuleSearch:
    """Search over the same inputs for many terms, as boosting needs it.

    Parameters
    ----------
    bins : BinnedInputs
    n_levels : int
        Most levels of the terms to come.
    technique : {"simultaneous", "gradient", "gradient_boosting", "constant_step"}
    step_gains : pair of float
        What a constant step saves on a unit of W_right, and loses on one of W_wrong.
    nominal : ndarray of bool, shape (d,), optional
        Features whose bins are categories.
    exact : bool, default=True
        Sweep sorted rows, which takes memory for the order of the rows on each feature, but no time
        for bins without covered rows; else sum by bin. Both find the same.
    max_conditions : int, optional
    n_threads : int, default=1
        Threads over features; the body does not depend on their number.
    """

    def __init__(
        self,
        bins: BinnedInputs,
        n_levels: int,
        technique: str,
        *,
        step_gains: tuple[float, float] = (0.0, 0.0),
        nominal: npt.NDArray[np.bool_] | None = None,
        exact: bool = True,
        max_conditions: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self.bins = bins
        d = len(bins.edges)
        self._nominal = np.zeros(d, dtype=bool) if nominal is None else nominal
        self._most = np.inf if max_conditions is None else max_conditions
        self._grower = RuleGrower(
            bins.codes,
            bins.n_bins,
            self._nominal.astype(np.uint8),
            bins.has_missing.astype(np.uint8),
            _sorted_rows(bins) if exact else None,
            n_levels,
            TECHNIQUES.index(technique),
            *step_gains,
        )
        summed = bins.n_bins[self._nominal] if exact else bins.n_bins
        most_bins = int(summed.max(initial=0)) + 1
        self._features = np.arange(d)
        self._shares, self._pool = share_features(d, n_threads)
        self._scratches = [Scratch(n_levels, most_bins) for _ in self._shares]

    def find(self, terms: Terms, drawn: Inside) -> Found | None:
        """The body grown on the drawn rows, or None if no condition improves on covering all."""
        start = self._grower.begin(
            drawn,
            terms.levels,
            terms.upper,
            terms.lower,
            terms.weights,
            terms.factors,
            np.ones(1) if terms.decay is None else terms.decay,
            terms.per_threshold,
            terms.decay is None,
        )
        gain, n_inside = max(start, 0.0), int(np.count_nonzero(drawn))
        tables: Tables = {}
        n_conditions = 0
        while n_conditions < self._most:
            found = self._best(gain, n_inside)
            if found is None:
                break
            gain, feature, kind, cut, members = found
            allowed = self._allowed(feature, kind, cut, members)
            if feature in tables:
                allowed &= tables[feature]
            tables[feature] = allowed
            n_conditions += 1
            n_inside = self._grower.restrict(feature, allowed)
        if not tables:
            return None
        body = tuple(self._condition(j, tables[j]) for j in sorted(tables))
        return Found(body, tables, gain)

    def cover(self, found: Found) -> Inside:
        """Which of all rows the body covers, 1 or 0."""
        inside = np.ones(self.bins.codes.shape[1], dtype=np.uint8)
        for feature, allowed in found.tables.items():
            cover(self.bins.codes, feature, allowed, inside)
        return inside

    def _best(self, least: float, n_inside: int) -> Candidate | None:
        """The first of the best conditions, as one scan over all features in turn finds it."""
        if self._pool is None or n_inside * len(self._nominal) < _WORTH_A_THREAD:
            return self._scan(self._scratches[0], self._features, least)
        by_share = self._pool.map(self._scan_each, self._scratches, self._shares, repeat(least))
        best: Candidate | None = None
        for found in chain.from_iterable(by_share):
            if found is None or found[0] <= least:
                continue
            if found[0] <= _NEAR_TIE * least:
                # Which of the cuts on the feature wins depends on the gain that it has to beat.
                feature = self._features[found[1] : found[1] + 1]
                found = self._scan(self._scratches[0], feature, least)
            if found is not None:
                best, least = found, found[0]
        return best

    def _scan(self, scratch: Scratch, features: Index, least: float) -> Candidate | None:
        self._grower.scan(scratch, features, least)
        found: Candidate = scratch.found()
        return found if found[1] >= 0 else None

    def _scan_each(self, scratch: Scratch, share: Index, least: float) -> list[Candidate | None]:
        return [self._scan(scratch, share[m : m + 1], least) for m in range(len(share))]

    def _allowed(self, feature: int, kind: int, cut: int, members: Sequence[int]) -> Inside:
        """Table of the codes that satisfy a condition; the last stands for a missing value."""
        size = int(self.bins.n_bins[feature])
        allowed = np.zeros(size + 1, dtype=np.uint8)
        if kind == _AT_MOST:
            allowed[: cut + 1] = 1
        elif kind == _ABOVE:
            allowed[cut + 1 : size] = 1
        else:
            allowed[members] = 1
            if kind == _NOT_AMONG:
                allowed[:size] = 1 - allowed[:size]
        return allowed

    def _condition(self, feature: int, allowed: Inside) -> Condition:
        codes = np.flatnonzero(allowed)
        size = int(self.bins.n_bins[feature])
        if self._nominal[feature]:
            # The shorter of two lists; the last bin is for categories that were not seen.
            inside = allowed[: size - 1].astype(bool)
            negated = bool(2 * np.count_nonzero(inside) > len(inside))
            return Membership(feature, tuple(np.flatnonzero(inside != negated).tolist()), negated)
        first, last, edges = codes[0], codes[-1], self.bins.edges[feature]
        lower = float(edges[first - 1]) if first > 0 else -np.inf
        upper = float(edges[last]) if last < size - 1 else np.inf
        return Interval(feature, lower, upper)


def _sorted_rows(bins: BinnedInputs) -> npt.NDArray[np.int32]:
    rows = np.empty(bins.codes.shape, dtype=np.int32)
    for j, codes in enumerate(bins.codes):
        rows[j] = np.argsort(codes, kind="stable")
    return rows
