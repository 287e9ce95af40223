"""Columns of labels as callers pass them: plain arrays, or categories of a data-frame library.

Data-frame libraries are recognised by their objects and never imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes, Mask

HOW_TO_ORDER = (
    "give the order from lowest to highest, as classes=[...], a pandas ordered Categorical, "
    "a polars Enum or an ordered pyarrow dictionary"
)


@dataclass(frozen=True)
class LabelColumn:
    """A label column taken apart.

    Parameters
    ----------
    labels : ndarray
        The labels row by row, or the categories if there are `positions`.
    positions : ndarray of int, optional
        For a category column: each row's category, −1 where the label is missing.
    container : {"numpy", "pandas", "polars", "pyarrow"}
        Where the categories came from.
    ordered : bool
        Whether the type of the column states the order of its categories.
    """

    labels: npt.NDArray[Any]
    positions: Codes | None = None
    container: str = "numpy"
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.labels if self.positions is None else self.positions)

    @property
    def stated_order(self) -> npt.NDArray[Any] | None:
        """Labels from lowest to highest where the type of the column states them."""
        return self.labels if self.ordered else None

    @cached_property
    def values(self) -> npt.NDArray[Any]:
        """The labels row by row, of a column without missing ones."""
        return self.labels if self.positions is None else self.labels[self.positions]

    def refuse_missing(self, name: str) -> None:
        """Raise an error that counts the missing labels, if there are any."""
        missing = _missing(self.labels) if self.positions is None else self.positions < 0
        if missing.any():
            raise ValueError(
                f"{name} has {int(missing.sum())} missing labels (NaN), the first in row "
                f"{int(np.argmax(missing))}; drop those rows or fill them."
            )

    def refuse_unordered(self, name: str) -> None:
        """Raise an error if the column has categories without an order."""
        if self.positions is not None and not self.ordered:
            raise ValueError(
                f"{name} is an unordered category of {self.container}, which has no order of "
                f"labels; {HOW_TO_ORDER}."
            )


def read_column(y: Any, name: str = "y") -> LabelColumn:
    """Take a label column of any supported type apart."""
    if isinstance(y, LabelColumn):
        return y
    module = type(y).__module__.partition(".")[0]
    reader = {"pandas": _read_pandas, "polars": _read_polars, "pyarrow": _read_pyarrow}.get(module)
    column = reader(y) if reader else LabelColumn(plain_array(y))
    if column.labels.ndim != 1:
        raise ValueError(
            f"{name} must be one column of labels; found an array of shape {column.labels.shape}."
        )
    return column


def plain_array(labels: Any) -> npt.NDArray[Any]:
    """Labels as a NumPy array of numbers, text or objects; None where they are masked."""
    if np.ma.is_masked(labels):
        mask, labels = np.ma.getmaskarray(labels), labels.data.astype(object)
        labels[mask] = None
    values = np.asarray(labels)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # as objects, nanoseconds are whole numbers
    listed = isinstance(labels, (list, tuple)) and values.dtype.kind == "f"
    if listed and all(isinstance(label, Integral) for label in labels):
        # NumPy rounds whole numbers to doubles where some of them need more than 63 bits.
        fits = all(0 <= label < 2**64 for label in labels)
        values = np.array(labels, dtype=np.uint64 if fits else object)
    return values if values.dtype.kind in "USObiuf" else values.astype(object)


def _read_pandas(y: Any) -> LabelColumn:
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = y.iloc[:, 0]
    dtype: Any = getattr(y, "dtype", None)
    if not hasattr(dtype, "categories"):
        return LabelColumn(plain_array(y))
    positions = y.cat.codes if hasattr(y, "cat") else y.codes
    return LabelColumn(
        plain_array(dtype.categories),
        np.asarray(positions, dtype=np.intp),
        "pandas",
        bool(dtype.ordered),
    )


def _read_polars(y: Any) -> LabelColumn:
    if hasattr(y, "get_columns"):
        if y.width != 1:
            return LabelColumn(np.asarray(y))
        y = y.get_columns()[0]
    kind = type(y.dtype).__name__
    if kind not in ("Enum", "Categorical"):
        return LabelColumn(plain_array(y.to_list() if y.null_count() else y.to_numpy()))
    if kind == "Categorical":
        categories = y.drop_nulls().unique().cast(str).sort()
        place = {label: position for position, label in enumerate(categories.to_list())}
        positions = np.array([place.get(label, -1) for label in y.to_list()], dtype=np.intp)
        return LabelColumn(plain_array(categories.to_list()), positions, "polars")
    positions = y.to_physical().cast(int).fill_null(-1).to_numpy().astype(np.intp)
    return LabelColumn(plain_array(y.dtype.categories.to_list()), positions, "polars", True)


def _read_pyarrow(y: Any) -> LabelColumn:
    if not hasattr(y.type, "index_type"):
        if y.null_count:
            return LabelColumn(np.asarray(y.to_pylist(), dtype=object))
        flat = {"zero_copy_only": False} if hasattr(y, "buffers") else {}
        return LabelColumn(plain_array(y.to_numpy(**flat)))
    if hasattr(y, "unify_dictionaries"):
        y = y.unify_dictionaries().combine_chunks()
    indices = y.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return LabelColumn(
        plain_array(y.dictionary.to_pylist()),
        indices.astype(np.intp),
        "pyarrow",
        bool(y.type.ordered),
    )


def _missing(values: npt.NDArray[Any]) -> Mask:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a label is None, NaN (unequal to itself) or pandas' NA (equal to nothing)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
