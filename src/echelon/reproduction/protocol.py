"""The protocol of the benchmark tables: labels, random splits, scaled inputs.

The target of the whole set is cut into bins. Split s is a random order of the rows, drawn from
the table's seed and s alone, of which the first `training` rows train and all others test. Inputs
are standardised by the mean and standard deviation of the training part: [CK07] says "normalized
to zero mean and unit variance, coordinate-wise" and not over which rows, and the training part is
all that a model may know.

A set that is drawn from a distribution has no rows to split: split s then draws rows of its own,
from the table's seed and s alone, and its inputs are standardised in the same way.

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
    seed: int
    binning: str = "quantile"
    ties: str = "split"


@dataclass(frozen=True)
class Dataset:
    """Inputs and labels of a whole benchmark set, and all its labels in ascending order."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    classes: tuple[Any, ...]

    def parts(self, training: int, *, seed: int, index: int) -> Split:
        """Training and test part of a split, inputs as they are; all other rows test."""
        train, test = split_rows(len(self.y), training, seed=seed, index=index)
        return Split(self.X[train], self.y[train], self.X[test], self.y[test])


@dataclass(frozen=True)
class Population:
    """A distribution that every split draws from, by a generator of `echelon.datasets`."""

    generator: str
    test: int
    classes: tuple[Any, ...]

    def parts(self, training: int, *, seed: int, index: int) -> Split:
        """Training and test part, drawn for this split alone, inputs as they are."""
        from echelon import datasets

        state = int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
        X, y = getattr(datasets, self.generator)(training + self.test, random_state=state)
        return Split(X[:training], y[:training], X[training:], y[training:])


@dataclass(frozen=True)
class Split:
    """One training and test part."""

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


def draw_split(data: Dataset | Population, training: int, *, seed: int, index: int) -> Split:
    """Draw a split and standardise its inputs by the training part."""
    parts = data.parts(training, seed=seed, index=index)
    scaler = StandardScaler().fit(parts.X_train)
    return replace(
        parts, X_train=scaler.transform(parts.X_train), X_test=scaler.transform(parts.X_test)
    )


def tuning_part(split: Split) -> Split:
    """Leave the first `QUICK_ROWS` rows of the training part; their order is random already."""
    return replace(split, X_train=split.X_train[:QUICK_ROWS], y_train=split.y_train[:QUICK_ROWS])
