"""Named types: arrays inside the package, and what users may pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
Matrix: TypeAlias = npt.NDArray[np.float64]
Array: TypeAlias = npt.NDArray[np.float64]
"""Numbers of any shape."""
Codes: TypeAlias = npt.NDArray[np.intp]
"""Classes or levels as 0 … K−1, one per row."""
Index: TypeAlias = npt.NDArray[np.intp]
"""Positions of rows or columns."""
Mask: TypeAlias = npt.NDArray[np.bool_]


class FrameLike(Protocol):
    """A data frame of pandas or polars, or a table of pyarrow."""

    @property
    def columns(self) -> Any: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


class SparseLike(Protocol):
    """A sparse matrix or array of SciPy."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocsr(self) -> Any: ...


class SeriesLike(Protocol):
    """A column of a data frame."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any: ...


class EstimatorLike(Protocol):
    """An estimator of scikit-learn's kind."""

    def fit(self, X: Any, y: Any, /) -> Any: ...

    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


class SplitterLike(Protocol):
    """A splitter of scikit-learn's kind."""

    def split(self, X: Any, y: Any = ..., groups: Any = ...) -> Any: ...


MatrixLike: TypeAlias = npt.ArrayLike | FrameLike | SparseLike
"""Rows of inputs, as estimators take them."""
LabelsLike: TypeAlias = npt.ArrayLike | SeriesLike
"""Ordered labels, one per row: numbers, text, booleans, ordered categories."""
ClassesLike: TypeAlias = Sequence[Any] | npt.NDArray[Any]
"""The labels from lowest to highest, each once."""
VectorLike: TypeAlias = npt.ArrayLike | SeriesLike
"""Numbers, one per row: weights, scores."""
KeysLike: TypeAlias = npt.ArrayLike | SeriesLike
"""What rows belong to, one key per row: queries, groups."""
WeightsLike: TypeAlias = Mapping[Any, float] | npt.ArrayLike | SeriesLike
"""Weights of queries: by id, or in an order."""
CostLike: TypeAlias = str | npt.ArrayLike
"""The name of a cost, or a cost matrix."""
ClassWeightLike: TypeAlias = str | Mapping[Any, float] | None
"""``"balanced"``, or a weight for each label."""
LabelArray: TypeAlias = npt.NDArray[Any]
"""Predicted labels; a column of categories where the labels of `fit` were one."""
SplitsLike: TypeAlias = int | str | SplitterLike | Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]
"""Folds: how many, a splitter, or pairs of rows to fit on and rows that are held out."""
BoundsLike: TypeAlias = npt.ArrayLike
"""Lower and upper bound of a parameter in a search, or ``"fixed"``."""
RandomStateLike: TypeAlias = int | np.random.RandomState | None
