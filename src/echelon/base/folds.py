"""Rows held out: by class without a look at which end of the scale is up, and at random."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from .._utils.types import Codes, Index
from ..ordinal.arrays import require_count
from ..ordinal.data import OrdinalData


def deal_folds(
    labels: npt.NDArray[Any], n_folds: int, rng: np.random.RandomState | None = None
) -> Index:
    """Fold of each row, dealt out by rising label, so that every label is spread evenly.

    Rows of one label are dealt out in their order, or at random.

    Examples
    --------
    >>> deal_folds(np.array([1, 0, 1, 0]), 2)
    array([0, 0, 1, 1])
    """
    order = np.arange(len(labels)) if rng is None else rng.permutation(len(labels))
    fold = np.empty(len(labels), dtype=np.intp)
    fold[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % n_folds
    return fold


def dealt_parts(
    labels: npt.NDArray[Any], n_folds: int, rng: np.random.RandomState | None = None
) -> Iterator[tuple[Codes, Codes]]:
    """Training and test rows of every fold of `deal_folds`.

    Examples
    --------
    >>> [test.tolist() for _, test in dealt_parts(np.array([1, 0, 1, 0]), 2)]
    [[0, 1], [2, 3]]
    """
    fold = deal_folds(labels, n_folds, rng)
    for number in range(n_folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def in_order_of_appearance(codes: Codes) -> Codes:
    """Classes renumbered in the order of their first rows.

    What is dealt out by these is the same if the scale is turned around.

    Examples
    --------
    >>> in_order_of_appearance(np.array([2, 0, 2, 1]))
    array([0, 1, 0, 2])
    """
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[place], dtype=np.intp)


def random_part(labels: Codes, size: int, rng: np.random.RandomState) -> Codes:
    """Positions of a part of so many rows, drawn from each label in the same proportion.

    Examples
    --------
    >>> len(random_part(np.zeros(8, dtype=int), 3, np.random.RandomState(0)))
    3
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    # The running number of drawn rows steps up at places that are spread evenly over the order.
    steps = np.arange(len(labels) + 1) * size // len(labels)
    return np.sort(order[np.diff(steps) > 0])


def folds(
    cv: Any, data: OrdinalData, rng: np.random.RandomState | None, *, by_class: bool
) -> Iterator[tuple[Codes, Codes]]:
    """Rows to fit on and rows of positive weight that are held out, fold by fold.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
    data : OrdinalData
    rng : RandomState or None
        Deals rows at random, or in their order.
    by_class : bool
        Whether an int deals the rows of every class evenly, or without a look at the classes.
    """
    counted = data.sample_weight > 0
    for inside, outside in _splits(cv, data, np.flatnonzero(counted), rng, by_class):
        if counted[outside].any():
            yield inside, outside[counted[outside]]


def _splits(
    cv: Any, data: OrdinalData, rows: Codes, rng: np.random.RandomState | None, by_class: bool
) -> Iterator[tuple[Codes, Codes]]:
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, data.codes, classifier=True)
        for inside, outside in splitter.split(data.X, data.codes):
            yield np.asarray(inside), np.asarray(outside)
        return
    require_count("cv", cv, 2)
    codes = data.codes[rows]
    labels = in_order_of_appearance(codes) if by_class else np.zeros_like(codes)
    for inside, outside in dealt_parts(labels, min(int(cv), len(rows)), rng):
        yield rows[inside], rows[outside]
