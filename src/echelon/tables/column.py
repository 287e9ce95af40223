"""A column as a model knows it, and its cells as models take them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .._utils.frames import cell_blocks
from .faults import MISSING_MARKS, TableError, inside, wrong_cell
from .notation import Notation

KINDS = ("number", "ordered", "category", "boolean", "date", "text")
_STORED = {"name", "kind", "levels", "missing", "notation", "label", "stop_words"}


@dataclass(frozen=True)
class Column:
    """An input column.

    Parameters
    ----------
    name : str
    kind : {"number", "ordered", "category", "boolean", "date", "text"}
    levels : tuple of str, optional
        The categories seen, or the levels of an ordered column from lowest to highest; None for
        other kinds.
    missing : tuple of str
        Cells that stand for a missing value, besides empty ones and the usual marks.
    notation : Notation, optional
        How numbers or dates are written in texts, if not plainly.
    label : str
        What the column asks or measures, in words.
    stop_words : tuple of str
        Words of a text that models do not see.
    """

    name: str
    kind: str
    levels: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    notation: Notation | None = None
    label: str = ""
    stop_words: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether cells are texts for models, and not numbers."""
        return self.kind in ("ordered", "category", "text")

    @property
    def missing_numbers(self) -> list[float]:
        """Those of `missing` that are numbers."""
        return [number for number in map(_number, self.missing) if number is not None]

    def converted(self, series: Any, where: str, own: bool = False) -> Any:
        """Cells as models take them: floats, texts or an ordered Categorical, NaN where missing.

        Parameters
        ----------
        series : Series
        where : str
            What the table is called.
        own : bool
            Whether floats may be those of the series itself, which nobody else has.

        Raises
        ------
        TableError
            If a cell is not of the column's kind, or not on its scale.
        """
        from pandas.api import types

        if self.is_text:
            return self._texts(series, where)
        if types.is_datetime64_any_dtype(series.dtype):
            if self.kind == "date":
                return _days(series)
            if self.kind == "number":
                raise wrong_cell(where, self.name, self.kind, str(series.iloc[0]), _row(series, 0))
        if own and series.dtype == np.float64 and not self.missing:
            self._refuse_numbers(series.to_numpy(), series, where)
            return series
        if types.is_numeric_dtype(series.dtype):
            values = np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            values = self._parsed(series, where)
        if self.missing:
            values[np.isin(values, self.missing_numbers)] = np.nan
        self._refuse_numbers(values, series, where)
        return values

    def to_dict(self) -> dict[str, Any]:
        """The column as plain lists and texts; what is not there is left out."""
        found: dict[str, Any] = {"name": self.name, "kind": self.kind}
        found["levels"] = None if self.levels is None else list(self.levels)
        if self.missing:
            found["missing"] = list(self.missing)
        if self.notation is not None:
            found["notation"] = self.notation.to_dict()
        if self.stop_words:
            found["stop_words"] = list(self.stop_words)
        return {**found, "label": self.label} if self.label else found

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Column:
        """A column from what `to_dict` gave."""
        if not set(stored) <= _STORED:
            raise TableError(
                f"A column has entries that none has: {sorted(set(stored) - _STORED)}."
            )
        levels, missing = stored["levels"], stored.get("missing", [])
        left_out = stored.get("stop_words", [])
        texts = [stored["name"], stored.get("label", ""), *(levels or ()), *missing, *left_out]
        if not all(isinstance(text, str) for text in texts):
            raise TableError(f"A column's name and levels must be texts; found {texts!r}.")
        if stored["kind"] not in KINDS:
            raise TableError(
                f"A column's kind must be one of {', '.join(KINDS)}; found {stored['kind']!r}."
            )
        if stored["kind"] == "ordered" and len(set(levels or ())) != len(levels or ""):
            raise TableError(f"An ordered column must have distinct levels; found {levels!r}.")
        notation = stored.get("notation")
        return cls(
            stored["name"],
            stored["kind"],
            None if levels is None else tuple(levels),
            tuple(missing),
            None if notation is None else Notation.from_dict(notation),
            stored.get("label", ""),
            tuple(left_out),
        )

    def _texts(self, series: Any, where: str) -> Any:
        if self.kind == "text" and _is_string(series.dtype):
            return _without_absent(series, self.missing)
        if self.kind != "ordered":
            return texts_of(series, self.missing)
        import pandas as pd

        texts, places = _coded_texts(series, self.missing)
        dtype = pd.CategoricalDtype(self.levels, ordered=True)
        if series.dtype == dtype and texts[:-1] == [*dtype.categories]:
            return series
        known: dict[Any, int] = {level: code for code, level in enumerate(self.levels or ())}
        known[np.nan] = -1
        # Codes of texts that are not on the scale are −2.
        codes = np.array([known.get(text, -2) for text in texts], dtype=np.intp)[places]
        lost = codes == -2
        if lost.any():
            place = int(np.argmax(lost))
            raise TableError(
                f"Column {self.name!r} of {inside(where)} holds {texts[places[place]]!r} in row "
                f"{_row(series, place) + 1}, which is not on its scale "
                f"{' < '.join(self.levels or ())}."
            )
        found = pd.Categorical.from_codes(codes, dtype=dtype)
        return pd.Series(found, index=series.index, copy=False)

    def _parsed(self, series: Any, where: str) -> np.ndarray:
        """Texts as numbers of the column's kind."""
        import pandas as pd
        import pyarrow as pa

        from .kinds import column_of_text

        if self.notation is not None:
            return self._in_notation(series, where, self.notation)
        texts = texts_of(series, self.missing, marks=False)
        array = pa.array([None if value is np.nan else value for value in texts], pa.string())
        found = column_of_text(array, self.kind, where, self.name, _row(series, 0))
        if self.kind == "date":
            return _days(pd.Series(found.to_numpy(zero_copy_only=False)))
        return np.asarray(found.cast(pa.float64()).to_numpy(zero_copy_only=False)).copy()

    def _in_notation(self, series: Any, where: str, notation: Notation) -> np.ndarray:
        import pandas as pd

        texts = texts_of(series, self.missing).astype("category")
        levels = texts.cat.categories.tolist()
        if notation.date:
            values = _days(pd.Series(notation.times(levels)))
        else:
            values = notation.numbers(levels)
        codes = texts.cat.codes.to_numpy()
        wrong = np.isnan(values)
        if wrong.any():
            bad = wrong[codes] & (codes >= 0)
            place = int(np.argmax(bad))
            raise wrong_cell(where, self.name, self.kind, texts.iloc[place], _row(series, place))
        return np.asarray(np.append(values, np.nan)[codes])

    def _refuse_numbers(self, values: np.ndarray, series: Any, where: str) -> None:
        """Refuse infinite numbers, and truth values other than 0 and 1."""
        if self.kind == "date":
            return
        if self.kind == "boolean":
            wrong = ~(np.isnan(values) | (values == 0) | (values == 1))
        else:
            wrong = np.isinf(values)
        if not wrong.any():
            return
        place = int(np.argmax(wrong))
        row = _row(series, place)
        if self.kind == "boolean":
            raise wrong_cell(where, self.name, self.kind, series.iloc[place].item(), row)
        raise TableError(
            f"Column {self.name!r} of {inside(where)} holds an infinite number in row {row + 1}."
        )


def texts_of(series: Any, missing: Collection[str] = (), marks: bool = True) -> Any:
    """A column as texts, NaN where a value is missing or, with `marks`, marked as such."""
    import pandas as pd

    texts, places = _coded_texts(series, missing, marks)
    found = np.array(texts, dtype=object)[places]
    return pd.Series(found, index=series.index, dtype=object, copy=False)


def distinct_texts(series: Any, missing: Collection[str] = ()) -> set[str]:
    """Texts of a column without those that are missing."""
    texts, places = _coded_texts(series, missing)
    # Missing cells have the place −1.
    counts = np.bincount(places + 1, minlength=len(texts))[1:]
    return {t for t, count in zip(texts[:-1], counts, strict=True) if count and t is not np.nan}


def _coded_texts(
    series: Any, missing: Collection[str], marks: bool = True
) -> tuple[list[Any], np.ndarray]:
    """Distinct texts with NaN at the end, and the place of each cell's text among them."""
    import pandas as pd

    levels = series if isinstance(series.dtype, pd.CategoricalDtype) else series.astype("category")
    texts: list[Any] = [level_text(label) for label in levels.cat.categories]
    is_absent = absent_test(missing, marks)
    texts = [np.nan if is_absent(text) else text for text in texts]
    return [*texts, np.nan], levels.cat.codes.to_numpy()


def absent_test(missing: Collection[str], marks: bool = True) -> Callable[[str], bool]:
    """What tells whether a text stands for a missing value."""
    absent = {*missing, *(MISSING_MARKS if marks else ())}
    numbers = {number for number in map(_number, missing) if number is not None}
    return lambda text: text.strip() in absent or (bool(numbers) and _number(text) in numbers)


def _is_string(dtype: Any) -> bool:
    """Whether a column is of pandas' own texts, with NaN where there is none."""
    import pandas as pd

    return isinstance(dtype, pd.StringDtype) and dtype.na_value is np.nan


def _without_absent(series: Any, missing: Collection[str]) -> Any:
    """Long texts, of which no copy is made unless some stand for a missing value."""
    is_absent = absent_test(missing)
    cells = chain.from_iterable(cell_blocks(series))
    found = np.fromiter((type(cell) is str and is_absent(cell) for cell in cells), bool)
    return series.mask(found) if found.any() else series


def without_values(labels: Any, missing: Collection[str]) -> Any:
    """Labels of which some stand for none; texts that are left as numbers are numbers."""
    import pandas as pd

    absent = texts_of(labels, missing, marks=False).isna()
    kept = labels.mask(absent)
    if isinstance(labels.dtype, pd.CategoricalDtype):
        return kept.cat.remove_unused_categories() if absent.any() else labels
    if kept.dtype != object:
        return kept
    numbers = pd.to_numeric(kept, errors="coerce")
    return kept if (numbers.isna() & ~absent).any() else numbers


def level_text(value: Any) -> str:
    """A category's name; a whole number has no decimals, whatever type it passed through."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _days(series: Any) -> np.ndarray:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    times = series.to_numpy(dtype="datetime64[us]")
    return np.asarray((times - np.datetime64(0, "us")) / np.timedelta64(1, "D"))


def _row(series: Any, place: int) -> int:
    """Row of the whole table, which the index of a part goes on counting."""
    label = series.index[place] if len(series) else 0
    return int(label) if isinstance(label, int | np.integer) else place
