"""The protocol of the benchmark tables: labels, random splits, scaled inputs.

The target of the whole set is cut into bins. Split s is a random order of the rows, drawn from
the table's seed and s alone, of which the first `training` rows train and all others test. Inputs
are standardised by the mean and standard deviation of the training part: [CK07] says "normalized
to zero mean and unit variance, coordinate-wise" and not over which rows, and the training part is
all that a model may know.

A change here that alters any result must raise `PROTOCOL_VERSION`, so that cells measured before
are not mixed with cells measured after.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from .errors import ReproductionError

PROTOCOL_VERSION = 1
#: Most rows that the effort "quick" tunes on.
QUICK_ROWS = 1000


@dataclass(frozen=True)
class Protocol:
    """How labels are made and splits are drawn."""

    bins: int
    binning: str
    ties: str
    seed: int


@dataclass(frozen=True)
class Dataset:
    """Inputs and labels of a whole benchmark set, and all its labels in ascending order."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    classes: tuple[Any, ...]


@dataclass(frozen=True)
class Split:
    """One training and test part, inputs standardised by the training part."""

    X_train: npt.NDArray[np.float64]
    y_train: npt.NDArray[Any]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[Any]


def fetch(name: str, **options: Any) -> Any:
    """``fetch_benchmark`` with its failures as errors of this package."""
    from echelon.datasets import fetch_benchmark

    try:
        return fetch_benchmark(name, **options)
    except (OSError, ValueError) as error:
        raise ReproductionError(str(error)) from error


def load(name: str, protocol: Protocol) -> Dataset:
    """Fetch a benchmark set with its binned labels."""
    X, y = fetch(
        name,
        bins=protocol.bins,
        binning=protocol.binning,
        ties=protocol.ties,
        return_X_y=True,
    )
    labels = np.asarray(y)
    return Dataset(np.asarray(X, dtype=np.float64), labels, tuple(np.unique(labels).tolist()))


def split_rows(
    n: int, training: int, *, seed: int, index: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows of the training and the test part of a split.

    Examples
    --------
    >>> train, test = split_rows(6, 4, seed=0, index=0)
    >>> sorted([*train.tolist(), *test.tolist()])
    [0, 1, 2, 3, 4, 5]
    """
    if not 0 < training < n:
        raise ReproductionError(
            f"A training part of {training} rows leaves nothing to test in a set of {n} rows."
        )
    order = np.random.default_rng([seed, index]).permutation(n)
    return order[:training], order[training:]


def draw_split(data: Dataset, training: int, *, seed: int, index: int) -> Split:
    """Split a data set and standardise its inputs."""
    train, test = split_rows(len(data.y), training, seed=seed, index=index)
    scaler = StandardScaler().fit(data.X[train])
    return Split(
        scaler.transform(data.X[train]),
        data.y[train],
        scaler.transform(data.X[test]),
        data.y[test],
    )


def tuning_part(split: Split) -> Split:
    """Leave the first `QUICK_ROWS` rows of the training part; their order is random already."""
    return replace(split, X_train=split.X_train[:QUICK_ROWS], y_train=split.y_train[:QUICK_ROWS])
