"""Rows as text, column by column: the joined cells of a part are the bytes of the file."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._native._table_text import place_cells, write_shares
from .faults import TableError

_LONGEST_SHARE = 16


def delimited_rows(batch: Any, delimiter: str, shares: Collection[str] = ()) -> memoryview:
    """Rows of a pyarrow batch as delimited text, with quotation marks where they are needed.

    `shares` are columns of numbers from 0 to 1, which get six significant digits.
    """
    leads = [b"", *[delimiter.encode()] * (batch.num_columns - 1)]
    columns = [
        (name in shares and _short_cells(column)) or _Cells.of(_cells(column, delimiter))
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return _joined(columns, leads, b"\n")


def delimited_header(names: list[str], delimiter: str) -> bytes:
    """The first line of delimited text."""
    import pyarrow as pa

    cells = _quoted(pa.array(names), delimiter)
    return (delimiter.join(cells.to_pylist()) + "\n").encode()


def json_rows(batch: Any, shares: Collection[str] = ()) -> memoryview:
    """Rows of a pyarrow batch as JSON objects, one on a line; `shares` as for `delimited_rows`."""
    leads, columns = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        leads.append(f"{',' if leads else '{'}{json.dumps(name, ensure_ascii=False)}:".encode())
        short = name in shares and _short_cells(column)
        columns.append(short or _Cells.of(_json_values(name, column)))
    return _joined(columns, leads, b"}\n")


@dataclass(frozen=True)
class _Cells:
    """Texts one after another, and where each begins."""

    offsets: np.ndarray
    text: np.ndarray

    @classmethod
    def of(cls, texts: Any) -> _Cells:
        import pyarrow.compute as pc

        if texts.null_count:
            texts = pc.fill_null(texts, "")
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
        return cls(ends, np.frombuffer(data or b"", dtype=np.uint8))


def _short_cells(column: Any) -> _Cells | None:
    """Numbers from 0 to 1 with six significant digits; None for a column of anything else."""
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype != np.float64 or not ((values >= 0.0) & (values <= 1.0)).all():
        return None
    offsets = np.empty(len(values) + 1, dtype=np.int32)
    text = np.empty(_LONGEST_SHARE * len(values), dtype=np.uint8)
    write_shares(np.ascontiguousarray(values), offsets, text)
    return _Cells(offsets, text)


def _joined(columns: Sequence[_Cells], leads: Sequence[bytes], end: bytes) -> memoryview:
    """The bytes of rows: before each cell its lead, and the end after the last."""
    n = len(columns[0].offsets) - 1
    widths = np.full(n, sum(map(len, leads)) + len(end), dtype=np.intp)
    for cells in columns:
        widths += np.diff(cells.offsets)
    ends = np.cumsum(widths)
    places = ends - widths
    rows = np.empty(int(ends[-1]) if n else 0, dtype=np.uint8)
    for cells, lead in zip(columns, leads, strict=True):
        place_cells(lead, cells.offsets, cells.text, places, rows)
    place_cells(end, np.zeros(n + 1, dtype=np.int32), np.zeros(0, dtype=np.uint8), places, rows)
    return memoryview(rows)


def _cells(column: Any, delimiter: str) -> Any:
    import pyarrow.types as pt

    if pt.is_dictionary(column.type):
        return _cells(column.dictionary, delimiter).take(column.indices)
    return _quoted(column, delimiter) if pt.is_string(column.type) else _texts(column)


def _texts(column: Any) -> Any:
    """Values as texts; moments that are all midnight are days."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        if days.cast(column.type).equals(column):
            column = days
    return column.cast(pa.string())


def _quoted(column: Any, delimiter: str) -> Any:
    import pyarrow.compute as pc

    needs = pc.match_substring_regex(column, f'["\r\n{delimiter}]')
    if not pc.any(needs, min_count=0).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    marked = pc.binary_join_element_wise('"', doubled, '"', "")
    return pc.if_else(needs, marked, column)


def _json_values(name: str, column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    if pt.is_floating(column.type):
        if pc.any(pc.is_inf(column), min_count=0).as_py():
            raise TableError(f"Column {name!r} has an infinite number, which JSON cannot hold.")
        texts = column.cast(pa.string())
    elif pt.is_integer(column.type) or pt.is_boolean(column.type):
        texts = column.cast(pa.string())
    else:
        texts = _json_texts(_texts(column))
    return pc.fill_null(texts, "null")


def _json_texts(column: Any) -> Any:
    """Texts as JSON writes them; each distinct one is written once."""
    import pyarrow as pa

    encoded = column.dictionary_encode()
    written = [json.dumps(text, ensure_ascii=False) for text in encoded.dictionary.to_pylist()]
    return pa.array(written, pa.string()).take(encoded.indices)
