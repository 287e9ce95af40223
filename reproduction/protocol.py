"""The protocol of the benchmark tables: labels, random splits, scaled inputs.

The target of the whole set is cut into bins. Split s is a random order of the rows, drawn from
the table's seed and s alone, of which the first `training` rows train and all others test. Inputs
are standardised by the mean and standard deviation of the training part: [CK07] says "normalized
to zero mean and unit variance, coordinate-wise" and not over which rows, and the training part is
all that a model may know.

A set that is drawn from a distribution has no rows to split: split s then draws rows of its own,
from the table's seed and s alone, and its inputs are standardised in the same way.

Where the splits themselves are published, labels and training rows are theirs, and only the
inputs are made here, standardised in the same way.

A change here that alters any result must raise `PROTOCOL_VERSION`, so that cells measured before
are not mixed with cells measured after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    """How labels are made and splits are drawn.

    `splits` names a collection of `echelon.datasets.fetch_splits`, whose labels and splits are
    then the table's; `seed`, `binning` and `ties` say nothing there. None draws random splits.
    """

    bins: int
    seed: int = 0
    binning: str = "quantile"
    ties: str = "split"
    splits: str | None = None


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
    """A distribution that every split draws from, by a generator of `echelon.datasets`.

    `options` are the generator's own.
    """

    generator: str
    test: int
    classes: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def parts(self, training: int, *, seed: int, index: int) -> Split:
        """Training and test part, drawn for this split alone, inputs as they are."""
        from echelon import datasets

        state = int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
        draw = getattr(datasets, self.generator)
        X, y = draw(training + self.test, random_state=state, **self.options)
        return Split(X[:training], y[:training], X[training:], y[training:])


@dataclass(frozen=True)
class PublishedSplits:
    """Inputs and labels of a set with its published splits, one mask of training rows for each."""

    name: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    masks: npt.NDArray[np.bool_]
    classes: tuple[Any, ...]

    def parts(self, training: int, *, seed: int, index: int) -> Split:
        """Training and test part of a published split, inputs as they are; nothing is drawn."""
        if index >= len(self.masks):
            raise ReproductionError(
                f"{self.name} has {len(self.masks)} published splits; found split {index + 1}."
            )
        train = self.masks[index]
        if np.count_nonzero(train) != training:
            raise ReproductionError(
                f"The published splits of {self.name} train on {np.count_nonzero(train)} rows; "
                f"found {training}."
            )
        return Split(self.X[train], self.y[train], self.X[~train], self.y[~train])


#: What the splits of a set are made of.
Source = Dataset | Population | PublishedSplits


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


def load_splits(name: str, protocol: Protocol) -> PublishedSplits:
    """Fetch the published splits of a benchmark set with their labels."""
    from echelon.datasets import fetch_splits

    if protocol.splits is None:
        raise ValueError("protocol.splits is None; it must name a collection of splits.")
    title = f"{name}_{protocol.bins}bins"
    try:
        found = fetch_splits(protocol.splits, title)
    except (OSError, ValueError) as error:
        raise ReproductionError(str(error)) from error
    classes = tuple(found.classes.tolist())
    return PublishedSplits(title, found.data, found.target, found.train, classes)


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


def draw_split(data: Source, training: int, *, seed: int, index: int) -> Split:
    """Draw a split and standardise its inputs by the training part."""
    parts = data.parts(training, seed=seed, index=index)
    scaler = StandardScaler().fit(parts.X_train)
    return replace(
        parts, X_train=scaler.transform(parts.X_train), X_test=scaler.transform(parts.X_test)
    )


def tuning_part(split: Split) -> Split:
    """Leave the first `QUICK_ROWS` rows of the training part.

    The order of drawn rows is random already; published training parts are no larger than that.
    """
    return replace(split, X_train=split.X_train[:QUICK_ROWS], y_train=split.y_train[:QUICK_ROWS])
