"""Single columns of inputs as numbers or as positions among levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Vector
from ..ordinal.columns import is_missing
from .table import Table


@dataclass(frozen=True, eq=False)
class Feature:
    """One column, taken apart.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "category", "date"}
    numbers : ndarray of shape (n,)
        The values; positions among the levels for a category, days since 1970 for a date; NaN
        where missing.
    levels : list
        Of a category or a boolean, those that occur; empty otherwise.
    """

    name: str
    kind: str
    numbers: Vector
    levels: list[Any]

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Rows that have a value."""
        return ~np.isnan(self.numbers)


def read_features(table: Table) -> list[Feature]:
    """All columns of a table."""
    names = table.names
    return [
        read_feature(name, table.column(j), table.kinds.get(name)) for j, name in enumerate(names)
    ]


def read_feature(name: str, column: Any, stated: str | None = None) -> Feature:
    """Take a column of any supported type apart.

    Parameters
    ----------
    name : str
    column : ndarray or column of a data frame
    stated : str, optional
        What a column of numbers is: "boolean" for 0 and 1, "date" for days since 1970.
    """
    kind, values = _kind_and_values(column)
    if kind == "number" and stated == "date":
        return Feature(name, stated, values, [])
    if kind == "number" and stated == "boolean":
        return _truths(name, values)
    if kind == "date":
        days = values.astype("datetime64[us]")
        numbers = days.astype(np.int64) / 86_400e6
        return Feature(name, kind, np.where(np.isnat(days), np.nan, numbers), [])
    if kind == "number":
        return Feature(name, kind, values, [])
    return _levelled(name, kind, values, _listed_levels(column))


def _kind_and_values(column: Any) -> tuple[str, npt.NDArray[Any]]:
    if isinstance(column, np.ndarray):
        return _kind_of_array(column)
    import narwhals as nw

    series = nw.from_native(column, series_only=True)
    if series.dtype.is_temporal() and series.dtype not in (nw.Duration, nw.Time):
        if getattr(series.dtype, "time_zone", None):
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return "date", np.asarray(series.to_numpy(), dtype="datetime64[us]")
    if series.dtype.is_numeric():
        return "number", _as_floats(series)
    if series.dtype == nw.Boolean:
        return "boolean", np.array(series.to_list(), dtype=object)
    if series.dtype == nw.Object or series.dtype == nw.Unknown:
        return _kind_of_array(np.array(series.to_list(), dtype=object))
    return "category", np.array([*series.to_list(), None], dtype=object)[:-1]


def _as_floats(series: Any) -> Vector:
    import narwhals as nw

    if series.is_null().any():
        values = series.cast(nw.Float64).to_list()
        return np.array([np.nan if is_missing(value) else value for value in values], np.float64)
    return series.to_numpy().astype(np.float64)


def _kind_of_array(values: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    if values.dtype.kind in "iuf":
        return "number", values.astype(np.float64)
    if values.dtype.kind == "M":
        return "date", values
    if values.dtype.kind == "b":
        return "boolean", values.astype(object)
    if values.dtype.kind != "O":
        return "category", values.astype(object)
    held = [value for value in values.tolist() if not is_missing(value)]
    if held and all(isinstance(value, bool | np.bool_) for value in held):
        return "boolean", values
    if held and all(isinstance(value, int | float | np.number) for value in held):
        numbers = [np.nan if is_missing(value) else float(value) for value in values.tolist()]
        return "number", np.array(numbers)
    return "category", values


def _listed_levels(column: Any) -> list[Any] | None:
    """Levels that the type of the column lists, in its order."""
    dtype = getattr(column, "dtype", None)
    categories = getattr(dtype, "categories", None)
    return None if categories is None else list(categories)


def _truths(name: str, values: Vector) -> Feature:
    seen = np.unique(values[~np.isnan(values)])
    numbers = np.where(np.isnan(values), np.nan, np.searchsorted(seen, values))
    return Feature(name, "boolean", numbers, [bool(value) for value in seen])


def _levelled(name: str, kind: str, values: npt.NDArray[Any], listed: list[Any] | None) -> Feature:
    place: dict[Any, int] = {}
    found = [
        -1 if is_missing(value) else place.setdefault(value, len(place))
        for value in values.tolist()
    ]
    seen = list(place)
    levels = sorted(seen, key=str) if listed is None else [v for v in listed if v in place]
    order = {level: position for position, level in enumerate(levels)}
    numbers = np.array([*(order[level] for level in seen), np.nan])[found]
    return Feature(name, kind, numbers, levels)
