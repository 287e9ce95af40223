"""What a model expects of a table: names, order and kinds of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .faults import (
    MISSING_MARKS,
    TableError,
    columns_phrase,
    inside,
    listed,
    nearest,
    opening,
    wrong_cell,
)

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("number", "boolean", "category", "date")


@dataclass(frozen=True)
class Column:
    """An input column.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "category", "date"}
    levels : tuple of str, optional
        The categories seen; None for other kinds.
    """

    name: str
    kind: str
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Schema:
    """The input columns of a model, in order.

    Parameters
    ----------
    columns : tuple of Column

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2], "colour": ["red", "blue"], "sold": [True, False]})
    >>> schema = Schema.of(frame)
    >>> [(column.name, column.kind) for column in schema.columns]
    [('size', 'number'), ('colour', 'category'), ('sold', 'boolean')]
    >>> schema.apply(frame[["sold", "colour", "size"]]).columns.tolist()
    ['size', 'colour', 'sold']
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Schema:
        """Schema of a data frame's columns, by their types and all their values."""
        return cls(tuple(_column(str(name), frame[name]) for name in frame.columns))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def of_kind(self, *kinds: str) -> list[str]:
        """Names of the columns of some kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    def extra(self, frame: pd.DataFrame) -> list[str]:
        """Columns of a data frame that the schema does not name."""
        known = set(self.names)
        return [str(name) for name in frame.columns if str(name) not in known]

    def refuse_missing(self, names: Iterable[Any], where: str = "the table") -> None:
        """Raise an error that names the columns that are not there, and what may be meant."""
        found = [str(name) for name in names]
        missing = [name for name in self.names if name not in set(found)]
        if not missing:
            return
        spare = [name for name in found if name not in set(self.names)]
        meant = {name: nearest(name, spare) for name in missing}
        hints = [f"{close!r} for {name!r}" for name, close in meant.items() if close is not None]
        hint = f"; is it {listed(hints, 5)}?" if hints else "."
        raise TableError(f"{opening(where)} lacks {columns_phrase(missing)}{hint}")

    def apply(self, frame: pd.DataFrame, where: str = "the table") -> pd.DataFrame:
        """The columns in order, as models take them.

        Numbers, truth values (0 and 1) and dates (days since 1970) are floats with NaN where
        missing; categories are text with NaN where missing. Other columns are left out.

        Raises
        ------
        TableError
            If a column is missing, or a cell is not of its column's kind.
        """
        import pandas as pd

        if self._fits(frame):
            return frame
        self.refuse_missing(frame.columns, where)
        by_name = {str(name): name for name in frame.columns}
        columns = {
            column.name: _converted(frame[by_name[column.name]], column, where)
            for column in self.columns
        }
        return pd.DataFrame(columns, index=frame.index)

    def _fits(self, frame: pd.DataFrame) -> bool:
        """Whether a frame is as `apply` would make it, seen at a glance."""
        if frame.columns.tolist() != self.names or self.of_kind("category", "boolean"):
            return False
        if any(dtype != np.float64 for dtype in frame.dtypes):
            return False
        # An infinite number makes the sum infinite or NaN; so may others, which are looked at.
        return bool(np.isfinite(frame.to_numpy()).all())

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain lists and texts."""
        return {
            "columns": [
                {**asdict(column), "levels": None if column.levels is None else list(column.levels)}
                for column in self.columns
            ]
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Schema:
        """A schema from what `to_dict` gave."""
        columns = []
        for entry in stored["columns"]:
            texts = [entry["name"], *(entry["levels"] or ())]
            if not all(isinstance(text, str) for text in texts):
                raise TableError(f"A column's name and levels must be texts; found {texts!r}.")
            if entry["kind"] not in KINDS:
                raise TableError(
                    f"A column's kind must be one of {', '.join(KINDS)}; found {entry['kind']!r}."
                )
            levels = entry["levels"]
            columns.append(
                Column(entry["name"], entry["kind"], None if levels is None else tuple(levels))
            )
        return cls(tuple(columns))


def _column(name: str, series: Any) -> Column:
    kind = _kind(series)
    if kind != "category":
        return Column(name, kind)
    dtype = series.dtype
    if getattr(dtype, "ordered", False):
        # An order that the table states is kept.
        return Column(name, kind, tuple(level_text(label) for label in dtype.categories))
    return Column(name, kind, tuple(sorted(set(_texts(series).dropna()))))


def _kind(series: Any) -> str:
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_numeric_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype):
        return "date"
    found = types.infer_dtype(series, skipna=True)
    if found == "boolean":
        return "boolean"
    if found in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return "number" if found != "empty" or dtype.kind == "O" else "category"
    return "date" if found in ("date", "datetime", "datetime64") else "category"


def _converted(series: Any, column: Column, where: str) -> Any:
    """A column as texts or as numbers, by its kind."""
    from pandas.api import types

    if column.kind == "category":
        return _texts(series)
    if types.is_datetime64_any_dtype(series.dtype):
        if column.kind == "date":
            return _days(series)
        if column.kind == "number":
            raise wrong_cell(where, column.name, column.kind, str(series.iloc[0]), _row(series, 0))
    if not types.is_numeric_dtype(series.dtype):
        values = _parsed(series, column, where)
    else:
        values = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    _refuse_numbers(values, series, column, where)
    return values


def _refuse_numbers(values: np.ndarray, series: Any, column: Column, where: str) -> None:
    """Refuse infinite numbers, and truth values other than 0 and 1."""
    if column.kind == "date":
        return
    if column.kind == "boolean":
        wrong = ~(np.isnan(values) | (values == 0) | (values == 1))
    else:
        wrong = np.isinf(values)
    if not wrong.any():
        return
    place = int(np.argmax(wrong))
    row = _row(series, place)
    if column.kind == "boolean":
        raise wrong_cell(where, column.name, column.kind, series.iloc[place].item(), row)
    raise TableError(
        f"Column {column.name!r} of {inside(where)} holds an infinite number in row {row + 1}."
    )


def _days(series: Any) -> np.ndarray:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    times = series.to_numpy(dtype="datetime64[us]")
    return (times - np.datetime64(0, "us")) / np.timedelta64(1, "D")


def _parsed(series: Any, column: Column, where: str) -> np.ndarray:
    """Texts as numbers of the column's kind."""
    import pandas as pd
    import pyarrow as pa

    from .kinds import column_of_text

    texts = _texts(series, marks=False)
    array = pa.array([None if value is np.nan else value for value in texts], pa.string())
    found = column_of_text(array, column.kind, where, column.name, _row(series, 0))
    if column.kind == "date":
        return _days(pd.Series(found.to_numpy(zero_copy_only=False)))
    return np.asarray(found.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _texts(series: Any, marks: bool = True) -> Any:
    """A column as texts, NaN where a value is missing or, with `marks`, marked as such."""
    import pandas as pd

    levels = series.astype("category") if series.dtype != "category" else series
    texts: list[Any] = [level_text(label) for label in levels.cat.categories]
    if marks:
        texts = [np.nan if text.strip() in MISSING_MARKS else text for text in texts]
    table = np.array([*texts, np.nan], dtype=object)
    return pd.Series(table[levels.cat.codes.to_numpy()], index=series.index, dtype=object)


def level_text(value: Any) -> str:
    """A category's name; a whole number has no decimals, whatever type it passed through."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _row(series: Any, place: int) -> int:
    """Row of the whole table, which the index of a part goes on counting."""
    label = series.index[place] if len(series) else 0
    return int(label) if isinstance(label, int | np.integer) else place
