"""Rows held out: by class without a look at which end of the scale is up, and at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes, Index


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
