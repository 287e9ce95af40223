"""A table and its columns, as inspection sees them, and a fitted model that reads them.

Shuffling a column, setting it to a value that occurs, and mixing two rows are all gathers. So the
types of columns, categories and dates among them, stay what they are for the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import _safe_indexing

from .._utils.frames import names_or_numbers
from .._utils.messages import require_choice
from .._utils.types import Codes, Index, LabelsLike, Vector
from ..base.reading import FittedModel, label_order, latent_scores
from ..base.wrappers import inner_estimator, known_classes, known_inputs, opened
from ..ordinal.arrays import require_count
from ..ordinal.columns import is_missing
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import expected_rank


@dataclass(frozen=True, eq=False)
class Feature:
    """One column, taken apart.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "category", "date", "text"}
    numbers : ndarray of shape (n,)
        The values; positions among the levels for a category and among the different texts, days
        since 1970 for a date; NaN where missing.
    levels : list
        Of a category or a boolean, those that occur; empty otherwise.
    ordered : bool
        Whether the levels ascend.
    """

    name: str
    kind: str
    numbers: Vector
    levels: list[Any]
    ordered: bool = False

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
        What a column of numbers is: "boolean" for 0 and 1, "date" for days since 1970; "text" for
        one of texts that differ.
    """
    kind, values = _kind_and_values(column)
    if kind == "date":
        days = values.astype("datetime64[us]")
        numbers = days.astype(np.int64) / 86_400e6
        return Feature(name, kind, np.where(np.isnat(days), np.nan, numbers), [])
    if kind == "number" and stated == "boolean":
        seen = np.unique(values[~np.isnan(values)])
        numbers = np.where(np.isnan(values), np.nan, np.searchsorted(seen, values))
        return Feature(name, stated, numbers, [bool(value) for value in seen])
    if kind == "number":
        return Feature(name, "date" if stated == "date" else kind, values, [])
    # Some types list their levels in an order.
    dtype = getattr(column, "dtype", None)
    listed = getattr(dtype, "categories", None)
    feature = _levelled(name, kind, values, None if listed is None else list(listed))
    if stated == "text":
        return replace(feature, kind=stated, levels=[])
    return replace(feature, ordered=getattr(dtype, "ordered", False) is True)


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
        if not series.is_null().any():
            return "number", series.to_numpy().astype(np.float64)
        values = series.cast(nw.Float64).to_list()
        return "number", np.array([np.nan if is_missing(v) else v for v in values], np.float64)
    if series.dtype == nw.Boolean:
        return "boolean", np.array(series.to_list(), dtype=object)
    if series.dtype == nw.Object or series.dtype == nw.Unknown:
        return _kind_of_array(np.array(series.to_list(), dtype=object))
    return "category", np.array([*series.to_list(), None], dtype=object)[:-1]


def _kind_of_array(values: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    if values.dtype.kind in "iuf":
        return "number", values.astype(np.float64)
    if values.dtype.kind != "O":
        return {"M": "date", "b": "boolean"}.get(values.dtype.kind, "category"), values
    held = [value for value in values.tolist() if not is_missing(value)]
    if held and all(isinstance(value, bool | np.bool_) for value in held):
        return "boolean", values
    if held and all(isinstance(value, int | float | np.number) for value in held):
        numbers = [np.nan if is_missing(value) else float(value) for value in values.tolist()]
        return "number", np.array(numbers)
    return "category", values


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


_READERS: dict[str, Callable[[float], Any]] = {
    "boolean": bool,
    "date": lambda days: date(1970, 1, 1) + timedelta(days=math.floor(days)),
}


class Table:
    """Inputs of any kind that estimators take, column by column.

    Parameters
    ----------
    X : data frame of pandas, polars or pyarrow, or array-like of shape (n, d)
        A sparse matrix becomes an array.
    kinds : mapping from str to str, optional
        What columns of numbers are, by name: "boolean" for 0 and 1, "date" for days since 1970.
    """

    def __init__(self, X: Any, kinds: Mapping[str, str] | None = None) -> None:
        if sparse.issparse(X):
            X = X.toarray()
        self.library = type(X).__module__.partition(".")[0]
        if self.library not in ("pandas", "polars", "pyarrow"):
            X, self.library = np.asarray(X), "numpy"
            if X.ndim != 2:
                raise ValueError(f"X must have rows and columns; found shape {X.shape}.")
        self.native = X
        self.n_rows = int(X.shape[0])
        self.n_columns = int(X.shape[1])
        self.kinds = dict(kinds or {})

    @property
    def names(self) -> list[str]:
        """Names of the columns, x0 … for those of an array."""
        known = "column_names" if self.library == "pyarrow" else "columns"
        return names_or_numbers(getattr(self.native, known, None), self.n_columns)

    def column(self, j: int) -> Any:
        """Column j as its library has it."""
        # scikit-learn reads pyarrow's tables only in its later versions.
        is_arrow = self.library == "pyarrow"
        return self.native.column(j) if is_arrow else _safe_indexing(self.native, j, axis=1)

    def cells(self, j: int, rows: Index) -> list[Any]:
        """Values of column j in some rows, as plain Python objects."""
        column = self.take(rows).column(j)
        name = next(n for n in ("tolist", "to_list", "to_pylist") if hasattr(column, n))
        values = list(getattr(column, name)())
        read = _READERS.get(self.kinds.get(self.names[j], ""))
        if read is None:
            return values
        return [read(v) if isinstance(v, float) and not math.isnan(v) else v for v in values]

    def take(self, rows: Index) -> Table:
        """Some rows, in the given order."""
        is_arrow = self.library == "pyarrow"
        X = self.native.take(rows) if is_arrow else _safe_indexing(self.native, rows)
        return Table(X, self.kinds)

    def replaced(self, j: int, cells: list[Any]) -> Table:
        """The table with other cells in column j."""
        if self.library == "numpy":
            X = self.native.copy()
            X[:, j] = cells
            return Table(X, self.kinds)
        if self.library == "pandas":
            return Table(self.native.assign(**{self.names[j]: cells}), self.kinds)
        import narwhals as nw

        frame = nw.from_native(self.native, eager_only=True)
        column = nw.new_series(self.names[j], cells, backend=frame.implementation)
        return Table(frame.with_columns(column).to_native(), self.kinds)

    def require_labels(self, codes: Codes) -> None:
        """Refuse labels of which there are not as many as rows."""
        if len(codes) != self.n_rows:
            raise ValueError(f"y must have as many rows as X, {self.n_rows}; found {len(codes)}.")

    def gather(self, rows: Index, other: dict[int, Index]) -> Any:
        """Rows with some columns taken from other rows, as the library's own table.

        Parameters
        ----------
        rows : ndarray of shape (m,)
            Where each new row comes from.
        other : dict from int to ndarray of shape (m,)
            Columns that come from elsewhere, and from where.

        Returns
        -------
        X : table of m rows of the same type
        """
        sources = [other.get(j, rows) for j in range(self.n_columns)]
        if self.library == "pandas":
            import pandas as pd

            cells = {j: self.column(j).array.take(source) for j, source in enumerate(sources)}
            frame = pd.DataFrame(cells)
            frame.columns = self.native.columns
            return frame
        if self.library == "polars":
            import polars as pl

            return pl.DataFrame([self.column(j)[source] for j, source in enumerate(sources)])
        if self.library == "pyarrow":
            parts = [self.column(j).take(source) for j, source in enumerate(sources)]
            return type(self.native).from_arrays(parts, names=self.names)
        X = self.native[rows]
        for j, source in other.items():
            X[:, j] = self.native[source, j]
        return X


def stacked(first: Table, second: Table) -> Table:
    """The rows of one table and then those of another with the same columns."""
    if first.names != second.names or first.library != second.library:
        raise ValueError(
            "rows and background must be tables of the same kind with the same columns; found "
            f"{_described(first)} and {_described(second)}."
        )
    if first.library == "pandas":
        import pandas as pd

        head = first.native.copy(deep=False)
        for name, dtype in second.native.dtypes.items():
            head[name] = _cast(head[name], dtype)
        whole: Any = pd.concat([head, second.native], ignore_index=True)
    elif first.library == "polars":
        import polars as pl

        whole = pl.concat([first.native, second.native], how="vertical_relaxed")
    elif first.library == "pyarrow":
        import pyarrow as pa

        whole = pa.concat_tables([first.native, second.native.cast(first.native.schema)])
    else:
        whole = np.concatenate([first.native, second.native])
    return Table(whole, first.kinds)


def _cast(column: Any, dtype: Any) -> Any:
    """A pandas column as another type, if that keeps what is missing and what is not."""
    levels = getattr(dtype, "categories", None)
    if column.dtype == dtype or (levels is not None and not column.dropna().isin(levels).all()):
        return column
    try:
        cast = column.astype(dtype)
    except (TypeError, ValueError):
        return column
    return cast if (cast.isna() == column.isna()).all() else column


def draw_rows(n: int, most: int | None, random_state: Any, name: str = "X") -> Index:
    """At most so many rows of a table, drawn without repeats and kept in their order."""
    if n == 0:
        raise ValueError(f"{name} must have at least one row; found none.")
    if most is not None:
        require_count("max_rows", most)
    if most is None or n <= most:
        return np.arange(n)
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n, most, replace=False))


def _described(table: Table) -> str:
    return f"{table.library} with {', '.join(table.names[:6])}{' …' if table.n_columns > 6 else ''}"


# Rows in one call of a model, so that kernel machines stay within bounds.
BATCH = 16_384


class Response(FittedModel):
    """A fitted model, read through its predictions.

    Parameters
    ----------
    model : fitted estimator, pipeline, or trained model
        Anything with ``predict`` and ``classes_``, or a trained model with ``classes``.
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.
    y : label column, optional
        Whose type may state the order.
    kinds : mapping from str to str, optional
        What columns of numbers are, see `Table`; by default as the schema of a trained model has
        it.
    """

    def __init__(
        self,
        model: Any,
        classes: LabelsLike | None = None,
        y: Any = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        inner = inner_estimator(model)
        if getattr(inner, "classes_", None) is None:
            raise ValueError(
                "model must be fitted and have classes_; found "
                f"{type(inner).__name__} without them."
            )
        known = known_classes(model)
        order = label_order(known, classes, y)
        super().__init__(inner, OrdinalScale(np.asarray(order)))
        self.scale.encode(known, name="The model's classes")
        self._outer = model
        self._kinds = stated_kinds(getattr(model, "schema", None)) if kinds is None else kinds

    def table(self, X: Any) -> Table:
        """Inputs with the columns that the model knows; a trained model leaves others out."""
        return Table(known_inputs(self._outer, X), self._kinds)

    def labelled(self, X: Any, y: LabelsLike) -> tuple[Table, Codes]:
        """Inputs as above, and the codes of as many labels."""
        table, truth = self.table(X), self.scale.encode(y)
        table.require_labels(truth)
        return table, truth

    @property
    def classes(self) -> npt.NDArray[Any]:
        """Labels from lowest to highest."""
        return self.scale.classes

    @property
    def has_score(self) -> bool:
        """Whether the model has one latent score per row."""
        return opened(self.model, None, "predict_latent") is not None

    def unit(self, value: str = "auto") -> str:
        """What `values` are counted in: "ranks", or "score" for a latent score."""
        require_choice("value", value, ("auto", "rank", "score"))
        if value == "score" and not self.has_score:
            raise ValueError("value must be 'rank' or 'auto' for a model without a latent score.")
        by_score = value == "auto" and not self.has_probabilities and self.has_score
        return "score" if value == "score" or by_score else "ranks"

    def values(self, X: Any, value: str = "auto") -> Vector:
        """One number per row that grows with the label.

        The expected rank Σ_k k·p_k, counted from 0, where there are probabilities; else the latent
        score; else the rank of the predicted label.
        """
        if self.unit(value) == "score":
            return np.asarray(latent_scores(self.model, X))
        p = self.probabilities(X)
        return self.codes(X).astype(np.float64) if p is None else expected_rank(p)

    def batched(
        self, table: Table, rows: Index, other: dict[int, Index], ask: Callable[[Any], Any]
    ) -> npt.NDArray[Any]:
        """What the model, asked for some rows at a time, says of a gathered table."""
        parts = []
        for start in range(0, len(rows), BATCH):
            part = slice(start, start + BATCH)
            X = table.gather(rows[part], {j: source[part] for j, source in other.items()})
            parts.append(ask(X))
        return np.concatenate(parts) if parts else np.zeros(0)


def stated_kinds(schema: Any) -> dict[str, str]:
    """Kind of each column by name, as a schema has it; nothing without one."""
    return {} if schema is None else {column.name: column.kind for column in schema.columns}


#: letters of a text that are shown of it
LONG_TEXT = 60


def shown_value(value: Any) -> str:
    """A cell as a reader would write it."""
    if is_missing(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.0f}" if 1e4 <= abs(float(value)) < 1e9 else f"{value:.4g}"
    text = str(value)
    if len(text) > LONG_TEXT:
        return f"“{text[:LONG_TEXT].rstrip()}…”"
    return text[:10] if text.endswith("00:00:00") else text
