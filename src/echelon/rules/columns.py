"""Input columns that hold categories, read as positions 0, 1, … of what was seen at ``fit``.

Frames say by the types of their columns what is a category; arrays say nothing, so their nominal
columns are listed. Data-frame libraries are reached through narwhals and never imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from .._utils.messages import require_choice
from ..ordinal.columns import LabelColumn, is_missing, plain_array, read_column

Categories = tuple[Any, ...]
Positions = npt.NDArray[np.float64]

_CATEGORY_TYPES = {"Boolean", "Categorical", "Enum", "Object", "String"}


@dataclass(frozen=True)
class InputColumns:
    """What ``fit`` learnt of the input columns.

    Parameters
    ----------
    categories : tuple of length d
        The categories of a nominal or ordered column in their order; None for a numeric one.
    ordered : tuple of bool
        Whether the order of the categories means something, so that a column is cut like a number.
    names : tuple of str, optional
        The names of the columns of a frame.
    """

    categories: tuple[Categories | None, ...]
    ordered: tuple[bool, ...]
    names: tuple[str, ...] | None = None

    @property
    def nominal(self) -> npt.NDArray[np.bool_]:
        """Columns whose categories have no order, (d,)."""
        pairs = zip(self.categories, self.ordered, strict=True)
        return np.array([known is not None and not order for known, order in pairs], dtype=bool)

    def shown_name(self, column: int) -> str:
        """How messages call a column."""
        return repr(self.names[column]) if self.names else str(column)


def learn_columns(X: Any, nominal: Any = "from_dtype") -> InputColumns:
    """Find the columns that hold categories, and which.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    nominal : "from_dtype", None, or list of column names or indices, or mask of shape (d,)
        With "from_dtype" the columns of a frame that are categories, text or booleans are nominal,
        and ordered categories (pandas ordered ``Categorical``, polars ``Enum``, ordered pyarrow
        dictionary) keep their order; columns of arrays are numbers. A list makes the columns
        it names nominal, whatever their type; ordered categories that it does not name keep
        their order. None takes every column as it is.

    Returns
    -------
    columns : InputColumns
        An ordered column has all categories that its type declares, a nominal one those that
        occur.

    Examples
    --------
    >>> columns = learn_columns(np.array([[3.5, 7], [4.5, 2], [1.5, 7]]), nominal=[1])
    >>> columns.categories
    (None, (2.0, 7.0))
    >>> as_positions(np.array([[3.5, 2], [4.5, 9], [1.5, np.nan]]), columns)
    array([[3.5, 0. ],
           [4.5, 2. ],
           [1.5, nan]])
    """
    if isinstance(nominal, str) or not isinstance(nominal, Iterable):
        choices = ("from_dtype", None)
        require_choice("nominal", nominal, choices, "a list of column names or indices")
    frame = None if nominal is None else _frame(X)
    columns: Sequence[LabelColumn | None] | None = None
    if frame is not None:
        columns = _frame_columns(frame)
    elif nominal is not None and not isinstance(nominal, str):
        columns = _array_columns(X)
    if columns is None:
        width = _width(X)
        return InputColumns((None,) * width, (False,) * width)
    names = () if frame is None else tuple(frame.columns)
    listed = None if isinstance(nominal, str) else _listed(nominal, len(columns), names)
    read = [_read(columns, j, frame, listed) for j in range(len(columns))]
    return InputColumns(
        tuple(known for known, _ in read),
        tuple(order for _, order in read),
        names if names and all(isinstance(name, str) for name in names) else None,
    )


def as_positions(X: Any, columns: InputColumns) -> Any:
    """Inputs with categories as positions, otherwise as they came.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
    columns : InputColumns

    Returns
    -------
    X : the same object if there is nothing to replace; else a frame of the same library, or for
        arrays an ndarray of float64
        A missing category is NaN. A category not seen at ``fit`` has the position after the last
        one; in an ordered column it is NaN too, for nobody knows its place in the order. Inputs
        whose columns are not those of ``fit`` are left to scikit-learn, which says how they differ.
    """
    replaced = [j for j, known in enumerate(columns.categories) if known is not None]
    if not replaced:
        return X
    frame = _frame(X)
    if frame is None:
        return _replace_in_array(X, columns, replaced)
    names = tuple(frame.columns)
    if len(names) != len(columns.categories) or (columns.names or names) != names:
        return X
    series = [
        nw.new_series(
            names[j],
            _positions(_native_column(frame, j), columns, j),
            nw.Float64,
            backend=frame.implementation,
        )
        for j in replaced
    ]
    return frame.with_columns(*series).to_native()


def _replace_in_array(X: Any, columns: InputColumns, replaced: list[int]) -> Any:
    if issparse(X):
        raise ValueError(
            f"X is sparse, where column {columns.shown_name(replaced[0])} is nominal; "
            "pass a dense array or a data frame."
        )
    read = _array_columns(X)
    if read is None or len(read) != len(columns.categories):
        return X
    result = np.empty((len(read[0].labels), len(read)))
    for j, column in enumerate(read):
        numeric = columns.categories[j] is None
        result[:, j] = column.labels if numeric else _positions(column, columns, j)
    return result


def _frame(X: Any) -> Any:
    """A data frame in memory as narwhals sees it, or None for anything else."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except ValueError:
        # Two columns of one name: scikit-learn decides what to do with it.
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def _native_column(frame: Any, j: int) -> LabelColumn:
    return read_column(frame[:, j].to_native(), "X")


def _frame_columns(frame: Any) -> list[LabelColumn | None]:
    """Columns that may hold categories; the others need not be read."""
    kinds = [type(frame[:, j].dtype).__name__ for j in range(frame.shape[1])]
    return [_native_column(frame, j) if k in _CATEGORY_TYPES else None for j, k in enumerate(kinds)]


def _array_columns(X: Any) -> list[LabelColumn] | None:
    """Columns of an array or of a list of rows; None if it has not two dimensions."""
    if issparse(X):
        return None
    try:
        # Rows of numbers and texts would all become texts without the type.
        values = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
    except ValueError:
        return None
    if values.ndim != 2 or values.shape[1] == 0:
        return None
    return [LabelColumn(plain_array(column)) for column in values.T]


def _width(X: Any) -> int:
    if not hasattr(X, "shape") and isinstance(X, Sequence):
        row = X[0] if len(X) else ()
        return len(row) if hasattr(row, "__len__") and not isinstance(row, str) else 0
    shape = getattr(X, "shape", None)
    shape = np.asarray(X).shape if shape is None else tuple(shape)
    return int(shape[1]) if len(shape) == 2 else 0


def _read(
    columns: Sequence[LabelColumn | None], j: int, frame: Any, listed: frozenset[int] | None
) -> tuple[Categories | None, bool]:
    """Categories of column j, None if it is numeric, and whether they are ordered."""
    column = columns[j]
    chosen = listed is not None and j in listed
    if column is None and not chosen:
        return None, False
    column = _native_column(frame, j) if column is None else column
    if column.ordered and not chosen:
        return tuple(column.labels.tolist()), True
    if not chosen and (listed is not None or not _looks_nominal(column)):
        return None, False
    return _categories(column), False


def _looks_nominal(column: LabelColumn) -> bool:
    """Whether a column of a frame holds categories, booleans, or texts alone."""
    if column.positions is not None or column.labels.dtype.kind == "b":
        return True
    return _kinds(_distinct(column)) in (set(), {"text"}, {"booleans"})


def _categories(column: LabelColumn) -> Categories:
    if column.positions is not None:
        seen = np.unique(column.positions)
        return tuple(column.labels[seen[seen >= 0]].tolist())
    found = _distinct(column)
    if column.labels.dtype.kind == "b" or (found and _kinds(found) == {"booleans"}):
        return (False, True)
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=lambda value: (type(value).__name__, str(value))))


def _distinct(column: LabelColumn) -> list[Any]:
    """Distinct values that are not missing, of a column without positions."""
    values = column.labels
    found = set(values.tolist()) if values.dtype.kind == "O" else np.unique(values).tolist()
    return [value for value in found if not is_missing(value)]


def _kinds(values: Iterable[Any]) -> set[str]:
    return {_kind(value) for value in values}


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "booleans"
    return "numbers" if isinstance(value, Number) else "objects"


def _positions(column: LabelColumn, columns: InputColumns, j: int) -> Positions:
    """Position of each row's category; NaN where missing, past the last where unseen."""
    categories = columns.categories[j] or ()
    unseen = np.nan if columns.ordered[j] else float(len(categories))
    place = {category: float(position) for position, category in enumerate(categories)}

    def position(value: Any) -> float:
        return np.nan if is_missing(value) else place.get(value, unseen)

    labels = column.labels
    if column.positions is not None:
        _refuse_other_kind(labels.tolist(), columns, j)
        return np.array([*map(position, labels.tolist()), np.nan])[column.positions]
    _refuse_other_kind(_distinct(column), columns, j)
    if labels.dtype.kind == "O":
        values = labels.tolist()
        table = {value: position(value) for value in set(values)}
        return np.array([table[value] for value in values], dtype=np.float64)
    distinct, inverse = np.unique(labels, return_inverse=True)
    return np.array([position(value) for value in distinct.tolist()])[inverse]


def _refuse_other_kind(found: list[Any], columns: InputColumns, j: int) -> None:
    """Numbers where texts were seen, or texts where numbers were: columns are mixed up."""
    categories = columns.categories[j] or ()
    # A boolean equals 0 or 1, so numbers may stand for booleans and the reverse.
    kinds = {"numbers" if kind == "booleans" else kind for kind in _kinds(found)}
    expected = {"numbers" if kind == "booleans" else kind for kind in _kinds(categories)}
    if found and categories and not kinds & expected:
        shown = ", ".join(map(repr, categories[:3])) + (", …" if len(categories) > 3 else "")
        raise ValueError(
            f"X holds {' and '.join(sorted(kinds))} in column {columns.shown_name(j)}, which had "
            f"the categories {shown} at fit."
        )


def _listed(nominal: Iterable[Any], width: int, names: tuple[Any, ...]) -> frozenset[int]:
    """Indices of the columns that a list of names or indices, or a mask, stands for."""
    entries = list(nominal)
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != width:
            raise ValueError(
                f"nominal must have one entry for each of the {width} columns of X if it is a "
                f"mask; found {len(entries)}."
            )
        return frozenset(np.flatnonzero(entries).tolist())
    return frozenset(_index(entry, width, names) for entry in entries)


def _index(entry: Any, width: int, names: tuple[Any, ...]) -> int:
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool) and 0 <= entry < width:
        return int(entry)
    if isinstance(entry, str) and entry in names:
        return names.index(entry)
    if isinstance(entry, str) and not names:
        held = "an array without column names"
    else:
        held = f"{width} columns" + (f", {', '.join(map(repr, names[:8]))}" if names else "")
        held += ", …" if len(names) > 8 else ""
    raise ValueError(f"nominal lists the column {entry!r}, which X does not have; X is {held}.")
