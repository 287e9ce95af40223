"""Rows as text: the joined cells of a part are the bytes of the file."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from .._utils.escapes import FORMULA, NUMBER, TEXT_MARK
from .._utils.types import Vector
from .faults import TableError, refuse_repeated

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 6
# Powers of ten up to this one are doubles, so that one rounded division gives the shortest text.
_MOST_POWER = 22


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """A data frame as a table with columns of types that all formats hold."""
    names = [str(name) for name in frame.columns]
    refuse_repeated("The table to write", names)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.table([_written(column) for column in table.columns], names=names)


def _written(column: Any) -> Any:
    type = column.type
    if pt.is_dictionary(type):
        texts = pt.is_large_string(type.value_type)
        values = pa.string() if texts else type.value_type
        return column.cast(
            pa.dictionary(pa.int32(), values, ordered=True) if type.ordered else values
        )
    return column.cast(pa.string()) if pt.is_null(type) or pt.is_large_string(type) else column


def delimited_rows(
    batch: Any, delimiter: str, shares: Collection[str] = (), *, raw: bool = False
) -> memoryview:
    """Rows of a pyarrow batch as delimited text, with quotation marks where they are needed.

    `shares` are columns of numbers from 0 to 1, which get six significant digits. Unless `raw`,
    texts that a spreadsheet would run as formulas are marked as texts.
    """
    parts: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        cells = _short_cells(column) if name in shares else None
        parts += [delimiter] if parts else []
        parts.append(_cells(column, delimiter, raw) if cells is None else cells)
    return _joined([*parts, "\n"], missing="")


def delimited_header(names: list[str], delimiter: str, *, raw: bool = False) -> bytes:
    """The first line of delimited text."""
    cells = _cells(pa.array(names, pa.string()), delimiter, raw)
    return (delimiter.join(cells.to_pylist()) + "\n").encode()


def json_rows(batch: Any, shares: Collection[str] = ()) -> memoryview:
    """Rows of a pyarrow batch as JSON objects, one on a line; `shares` as for `delimited_rows`."""
    parts: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        cells = _short_cells(column) if name in shares else None
        parts.append(f"{',' if parts else '{'}{json.dumps(name, ensure_ascii=False)}:")
        parts.append(_json_values(name, column) if cells is None else cells)
    return _joined([*parts, "}\n"], missing="null")


def _joined(parts: list[Any], missing: str) -> memoryview:
    """The bytes of rows, from columns of cells and what stands between them."""
    rows = pc.binary_join_element_wise(
        *parts, "", null_handling="replace", null_replacement=missing
    )
    _, offsets, text = rows.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)
    first, last = int(ends[rows.offset]), int(ends[rows.offset + len(rows)])
    return memoryview(pa.py_buffer(b"") if text is None else text)[first:last]


def _short_cells(column: Any) -> Any:
    """Numbers from 0 to 1 with six significant digits; None for a column of anything else."""
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype != np.float64 or not ((values >= 0.0) & (values <= 1.0)).all():
        return None
    return pa.array(_rounded(values)).cast(pa.string())


def _rounded(values: Vector) -> Vector:
    with np.errstate(divide="ignore"):
        powers = (_DIGITS - 1) - np.floor(np.log10(values))
    tiny = powers > _MOST_POWER
    scale = 10.0 ** np.where(tiny, 0.0, powers)
    rounded = np.asarray(np.floor(values * scale + 0.5) / scale)
    rounded[tiny] = [float(f"{value:.{_DIGITS}g}") for value in values[tiny]]
    return rounded


def _cells(column: Any, delimiter: str, raw: bool) -> Any:
    if pt.is_dictionary(column.type):
        return _cells(column.dictionary, delimiter, raw).take(column.indices)
    if not pt.is_string(column.type):
        return _texts(column)
    return _quoted(column if raw else _inert(column), delimiter)


def _inert(column: Any) -> Any:
    """Texts, with a mark before those that a spreadsheet would run."""
    runs = pc.match_substring_regex(column, FORMULA)
    if not pc.any(runs, min_count=0).as_py():
        return column
    runs = pc.and_not(runs, pc.match_substring_regex(column, NUMBER))
    return pc.if_else(runs, pc.binary_join_element_wise(TEXT_MARK, column, ""), column)


def _texts(column: Any) -> Any:
    """Values as texts; moments that are all midnight are days."""
    if pt.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        if days.cast(column.type).equals(column):
            column = days
    return column.cast(pa.string())


def _quoted(column: Any, delimiter: str) -> Any:
    # At the start of a file the last of these would be taken for a mark of its encoding.
    needs = pc.match_substring_regex(column, f'["\r\n{delimiter}\ufeff]')
    if not pc.any(needs, min_count=0).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    marked = pc.binary_join_element_wise('"', doubled, '"', "")
    return pc.if_else(needs, marked, column)


def _json_values(name: str, column: Any) -> Any:
    if pt.is_floating(column.type) and pc.any(pc.is_inf(column), min_count=0).as_py():
        raise TableError(f"Column {name!r} has an infinite number, which JSON cannot hold.")
    plain = pt.is_floating(column.type) or pt.is_integer(column.type) or pt.is_boolean(column.type)
    return _texts(column) if plain else _json_texts(_texts(column))


def _json_texts(column: Any) -> Any:
    """Texts as JSON writes them; each distinct one is written once."""
    encoded = column.dictionary_encode()
    written = [json.dumps(text, ensure_ascii=False) for text in encoded.dictionary.to_pylist()]
    return pa.array(written, pa.string()).take(encoded.indices)
