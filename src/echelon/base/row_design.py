"""What is known of rows beside inputs and labels, and which of them are held out together.

Rows of one group, such as the visits of a patient, are alike, so that a model that has seen some of
them looks better on the others than on new groups; and a model that is used on later rows must be
tried on later rows. So whole groups are held out, and nothing is learnt from rows that are later
than those held out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from .._utils.types import Codes, Index, KeysLike, Mask, Vector, VectorLike
from ..ordinal.arrays import check_weights, count_of, finite_vector, require_count
from ..ordinal.data import OrdinalData
from ..pairs.queries import query_codes
from .folds import dealt_parts, in_order_of_appearance, random_part

#: Rows to learn from, and rows held out.
Split = tuple[Index, Index]


@dataclass(frozen=True, eq=False)
class RowDesign:
    """Weights, groups and times of rows; None for what is not known.

    Parameters
    ----------
    weights : ndarray of shape (n,), optional
        What each row counts, with mean one.
    groups : ndarray of int of shape (n,), optional
        Group of each row, 0, 1, ….
    times : ndarray of shape (n,), optional
        When each row was taken.
    gap : float
        Time that must lie between the rows of a fold that are learnt from and those held out.
    """

    weights: Vector | None = None
    groups: Codes | None = None
    times: Vector | None = None
    gap: float = 0.0

    @classmethod
    def of(
        cls,
        n: int,
        weights: VectorLike | None = None,
        groups: KeysLike | None = None,
        time: VectorLike | None = None,
        gap: float = 0.0,
    ) -> RowDesign:
        """Check what is stated of n rows.

        Examples
        --------
        >>> RowDesign.of(3, weights=[1, 2, 3], groups=["b", "a", "b"]).groups
        array([0, 1, 0])
        """
        if not _is_stretch(gap):
            raise ValueError(f"gap must be a number that is not negative; found {gap!r}.")
        if gap and time is None:
            raise ValueError("gap is a stretch of time, so that time must be given with it.")
        found = None if weights is None else check_weights(weights, n)
        return cls(
            None if found is None else found / found.mean(),
            None if groups is None else _group_codes(groups, n),
            None if time is None else _times(time, n),
            float(gap),
        )

    def take(self, rows: Index) -> RowDesign:
        """The same of some rows, without groups or times if these rows have one only."""
        weights = None if self.weights is None else self.weights[rows]
        return RowDesign(weights, _varied(self.groups, rows), _varied(self.times, rows), self.gap)

    @property
    def is_plain(self) -> bool:
        """Whether any row may be held out without any other."""
        return self.groups is None and self.times is None

    def counted(self, n: int) -> Index:
        """Rows, of n, that have a positive weight."""
        return np.arange(n) if self.weights is None else np.flatnonzero(self.weights > 0)

    def folds(
        self, labels: Codes, n_folds: int, rng: np.random.RandomState | None = None
    ) -> list[Split]:
        """Parts of the rows that are held out in turn, and what is learnt from for each.

        Groups are dealt out whole, so that every part has about the same share of every label. With
        times the later rows fall into as many windows of about the same size, each held out once
        for a model of what lies before it. With both, every window is tested on one part of the
        groups for a model of the others. Fewer groups or times give fewer parts, and a part is left
        out if what would be learnt from has a single label.

        Examples
        --------
        >>> labels, times = np.array([0, 1, 0, 1, 0, 1]), [1, 1, 2, 2, 3, 3]
        >>> [(a.tolist(), b.tolist()) for a, b in RowDesign.of(6, time=times).folds(labels, 2)]
        [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
        >>> design = RowDesign.of(6, groups=[0, 0, 1, 1, 2, 2])
        >>> [test.tolist() for _, test in design.folds(labels, 3)]
        [[0, 1], [2, 3], [4, 5]]
        """
        if self.is_plain:
            return list(dealt_parts(labels, n_folds, rng))
        found = [
            (np.flatnonzero(inside), np.flatnonzero(outside))
            for inside, outside in self._parts(labels, n_folds, rng)
        ]
        usable = [s for s in found if len(s[1]) and len(np.unique(labels[s[0]])) > 1]
        if not usable:
            known = {"groups": self.groups, "times": self.times, "a gap": self.gap or None}
            stated = " and ".join(name for name, value in known.items() if value is not None)
            raise ValueError(
                f"{stated.capitalize()} leave nothing to learn from: no rows held out have rows of "
                "two labels before or beside them. Give more rows, or leave some of that out."
            )
        return usable

    def folds_as_far(
        self, labels: Codes, n_folds: int, rng: np.random.RandomState | None = None
    ) -> list[Split]:
        """The same for a search or a calibration inside, which can do with less.

        Where times leave nothing to learn from, and then where groups do, it is without them.
        """
        for known in (self, replace(self, times=None), replace(self, groups=None)):
            try:
                return known.folds(labels, n_folds, rng)
            except ValueError:
                continue
        return replace(self, groups=None, times=None).folds(labels, n_folds, rng)

    def part(self, labels: Codes, size: int, rng: np.random.RandomState) -> Index:
        """About so many rows in their order: whole groups, or a like share of every label.

        From one state of `rng`, a smaller part is a part of a larger one. All rows are a part too.

        Examples
        --------
        >>> RowDesign().part(np.tile([0, 0, 1], 4), 6, np.random.RandomState(0)).tolist()
        [1, 2, 4, 6, 10, 11]
        """
        if size >= len(labels):
            return np.arange(len(labels))
        if self.groups is not None:
            return np.flatnonzero(_drawn_groups(self.groups, size, rng))
        order = rng.permutation(len(labels))
        place = np.empty(len(labels))
        for label in np.unique(labels):
            own = order[labels[order] == label]
            place[own] = np.arange(len(own)) / len(own)
        return np.sort(order[np.argsort(place[order], kind="stable")[:size]])

    def _parts(
        self, labels: Codes, n_folds: int, rng: np.random.RandomState | None
    ) -> Iterator[tuple[Mask, Mask]]:
        if self.groups is None:
            yield from self._windows(n_folds)
            return
        fold = deal_groups(labels, self.groups, n_folds, rng)
        if self.times is None:
            for number in range(int(fold.max()) + 1):
                yield fold != number, fold == number
            return
        for number, (before, inside) in enumerate(self._windows(n_folds)):
            held = fold == number % (int(fold.max()) + 1)
            yield before & ~held, inside & held

    def _windows(self, n: int) -> Iterator[tuple[Mask, Mask]]:
        """What lies before each of the windows of later rows, and the windows."""
        assert self.times is not None
        ascending = np.sort(self.times)
        # Rows of one time are on one side.
        starts = ascending[len(ascending) * np.arange(1, n + 1) // (n + 1)]
        starts = np.unique(starts[starts > ascending[0]])
        if not len(starts):
            starts = _distinct_times(ascending)[0][1:2]
        for start, end in zip(starts, [*starts[1:], math.inf], strict=True):
            yield self._before(start), (self.times >= start) & (self.times < end)

    def _before(self, start: float) -> Mask:
        assert self.times is not None
        return (self.times < start) & (self.times <= start - self.gap)

    def held_out(
        self,
        labels: Codes,
        share: float,
        rng: np.random.RandomState,
        *,
        by_class: bool = False,
        name: str = "share",
    ) -> Split:
        """About that share of the rows held out once: at random, whole groups, or the latest.

        With groups and times the latest rows of some groups are held out, and what lies before
        them in the other groups is learnt from. The labels are not looked at unless `by_class`.
        """
        n = len(labels)
        if self.is_plain:
            codes = in_order_of_appearance(labels) if by_class else np.zeros_like(labels)
            outside = random_part(codes, count_of(name, share, n), rng)
            return np.delete(np.arange(n), outside), outside
        size = count_of(name, share, n)
        if self.groups is not None and self.times is not None:
            size = max(1, round(math.sqrt(size * n)))
        inside, outside = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
        if self.groups is not None:
            held = _drawn_groups(self.groups, size, rng)
            inside, outside = inside & ~held, outside & held
        if self.times is not None:
            start = _last_start(self.times, size)
            inside, outside = inside & self._before(start), outside & (self.times >= start)
        return np.flatnonzero(inside), np.flatnonzero(outside)


def held_out_splits(
    cv: Any,
    data: OrdinalData,
    rng: np.random.RandomState | None,
    design: RowDesign,
    *,
    by_class: bool,
) -> Iterator[Split]:
    """Rows to fit on and rows of positive weight that are held out, fold by fold.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
    data : OrdinalData
    rng : RandomState or None
        Deals rows at random, or in their order.
    design : RowDesign
        Which rows an int holds out together; a splitter is handed its groups.
    by_class : bool
        Whether an int deals the rows of every class evenly, or without a look at the classes.
        Groups are always dealt by class.
    """
    counted = data.sample_weight > 0
    for inside, outside in _splits(cv, data, np.flatnonzero(counted), rng, design, by_class):
        if counted[outside].any():
            yield inside, outside[counted[outside]]


def _splits(
    cv: Any,
    data: OrdinalData,
    rows: Codes,
    rng: np.random.RandomState | None,
    design: RowDesign,
    by_class: bool,
) -> Iterator[Split]:
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, data.codes, classifier=True)
        for inside, outside in splitter.split(data.X, data.codes, design.groups):
            yield np.asarray(inside), np.asarray(outside)
        return
    require_count("cv", cv, 2)
    codes, of_rows = data.codes[rows], design.take(rows)
    if of_rows.is_plain:
        codes = in_order_of_appearance(codes) if by_class else np.zeros_like(codes)
    for inside, outside in of_rows.folds_as_far(codes, min(int(cv), len(rows)), rng):
        yield rows[inside], rows[outside]


def deal_groups(
    labels: Codes, groups: Codes, n_folds: int, rng: np.random.RandomState | None = None
) -> Index:
    """Fold of each row, whole groups together and every label spread evenly.

    Groups are dealt out one by one, those that matter most first. With S[f, k] the share of label
    k's rows that fold f has, and c[k] what the group has of them, Σ_fk S² rises by
    Σ_k (2·S[f, k]·c[k] + c[k]²) if the group goes to fold f: it goes where S·c is least.

    Examples
    --------
    >>> deal_groups(np.array([0, 1, 0, 1, 1]), np.array([0, 0, 1, 2, 2]), 2)
    array([1, 1, 0, 0, 0])
    """
    _, unit = np.unique(groups, return_inverse=True)
    n_groups = int(unit.max()) + 1
    if n_groups < 2:
        raise ValueError("groups must be two or more, so that some can be held out; found one.")
    n_folds = min(n_folds, n_groups)
    counts = np.zeros((n_groups, int(labels.max()) + 1))
    np.add.at(counts, (unit, labels), 1.0)
    shares = counts / np.maximum(counts.sum(axis=0), 1.0)
    order = np.arange(n_groups) if rng is None else rng.permutation(n_groups)
    order = order[np.argsort(-(shares[order] ** 2).sum(axis=1), kind="stable")]
    filled, rows = np.zeros((n_folds, counts.shape[1])), np.zeros(n_folds)
    fold, sizes = np.empty(n_groups, dtype=np.intp), counts.sum(axis=1)
    for group in order:
        rise = filled @ shares[group]
        # Among folds that are equal but for rounding, the one with the fewest rows.
        equal = np.flatnonzero(rise <= rise.min() + 1e-12)
        best = equal[np.argmin(rows[equal])]
        fold[group] = best
        filled[best] += shares[group]
        rows[best] += sizes[group]
    return fold[unit]


def _drawn_groups(groups: Codes, size: int, rng: np.random.RandomState) -> Mask:
    """Rows of groups drawn one by one until they have so many rows; one group at least is left."""
    _, unit, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError("groups must be two or more, so that some can be held out; found one.")
    order = rng.permutation(len(sizes))
    needed = 1 + int(np.searchsorted(np.cumsum(sizes[order]), size))
    return np.isin(unit, order[: min(needed, len(sizes) - 1)])


def _last_start(times: Vector, size: int) -> float:
    """Time from which on there are about so many rows, and before which there are some."""
    values, counts = _distinct_times(times)
    later = counts[::-1].cumsum()[::-1]
    return float(values[1 + np.argmin(np.abs(later[1:] - size))])


def _distinct_times(times: Vector) -> tuple[Vector, Index]:
    """Times in ascending order, two at least, and how many rows each has."""
    values, counts = np.unique(times, return_counts=True)
    if len(values) < 2:
        raise ValueError(f"time must have two values or more; found only {values[0]:g}.")
    return values, counts


def _varied(known: Any, rows: Index) -> Any:
    """What is known of these rows; None where it is the same for all."""
    return None if known is None or len(np.unique(known[rows])) < 2 else known[rows]


def _is_stretch(gap: Any) -> bool:
    return isinstance(gap, Real) and 0.0 <= float(gap) < math.inf


def _group_codes(groups: Any, n: int) -> Codes:
    codes, ids = query_codes(groups, n, name="groups")
    if len(ids) < 2:
        raise ValueError(f"groups must be two or more; found only {ids[0]!r}.")
    return codes


def _times(time: Any, n: int) -> Vector:
    values = np.asarray(time)
    if values.dtype.kind == "M":
        # Days, as tables have them.
        days = values.astype("datetime64[us]").astype(np.int64) / 86_400_000_000.0
        values = np.where(np.isnat(values), np.nan, days)
    found = finite_vector(values, n, "time")
    _distinct_times(found)
    return found
