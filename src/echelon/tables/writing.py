"""Tables written whole or not at all, and values as text."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from .._utils.files import whole_file
from .._utils.packages import require_extra
from .._utils.types import Vector
from .formats import TEXT_FORMATS, TableError, output_format

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 6
# Powers of ten up to this one are doubles, so that one rounded division gives the shortest text.
_MOST_POWER = 22


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """A data frame as a table with columns of types that all formats hold."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    names = [str(name) for name in table.column_names]
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


def delimited_rows(batch: Any, delimiter: str, shares: Collection[str] = ()) -> memoryview:
    """Rows of a pyarrow batch as delimited text, with quotation marks where they are needed.

    `shares` are columns of numbers from 0 to 1, which get six significant digits.
    """
    parts: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        cells = _short_cells(column) if name in shares else None
        parts += [delimiter] if parts else []
        parts.append(_cells(column, delimiter) if cells is None else cells)
    return _joined([*parts, "\n"], missing="")


def delimited_header(names: list[str], delimiter: str) -> bytes:
    """The first line of delimited text."""
    cells = _quoted(pa.array(names), delimiter)
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


def _cells(column: Any, delimiter: str) -> Any:
    if pt.is_dictionary(column.type):
        return _cells(column.dictionary, delimiter).take(column.indices)
    return _quoted(column, delimiter) if pt.is_string(column.type) else _texts(column)


def _texts(column: Any) -> Any:
    """Values as texts; moments that are all midnight are days."""
    if pt.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        if days.cast(column.type).equals(column):
            column = days
    return column.cast(pa.string())


def _quoted(column: Any, delimiter: str) -> Any:
    needs = pc.match_substring_regex(column, f'["\r\n{delimiter}]')
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


_GZIP_LEVEL = 4
_ROWS = 65_536


class TableWriter:
    """Write data frames one after another to a table that appears at a clean end only.

    Parameters
    ----------
    path : str or Path
        Where the table goes; ``"-"`` for standard output. Text formats are gzipped if the name
        ends in ``.gz``.
    format : {"csv", "tsv", "parquet", "arrow", "jsonl"}, optional
        By default as the name shows; CSV on standard output.
    shares : collection of str
        Columns of numbers from 0 to 1, such as probabilities: text has six significant digits of
        them. Parquet and Arrow files hold numbers as they are.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "grades.csv"
    ...     with TableWriter(path) as writer:
    ...         writer.write(pd.DataFrame({"grade": ["good", "fair"]}))
    ...         writer.write(pd.DataFrame({"grade": ["poor"]}))
    ...     path.read_text().split()
    ['grade', 'good', 'fair', 'poor']
    """

    def __init__(
        self, path: str | Path, format: str | None = None, shares: Collection[str] = ()
    ) -> None:
        require_extra("Tables need", "cli", "pandas", "pyarrow")
        self.path = path
        self.shares = frozenset(shares)
        self.format = output_format(path, format)
        self._zipped = str(path).lower().endswith(".gz")
        if self._zipped and self.format not in TEXT_FORMATS:
            raise TableError(f"A table of format {self.format} is not gzipped; found {path}.")
        self._schema: Any = None
        self._batches: Any = None
        self._stack = ExitStack()

    def __enter__(self) -> TableWriter:
        with ExitStack() as stack:
            self._file = _Tap(self._open(stack))
            stack.push(self._finish)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *failure: Any) -> bool | None:
        return self._stack.__exit__(*failure)

    def write(self, frame: pd.DataFrame) -> None:
        """Add the rows of a data frame; its index is not written."""
        table = self._table(frame)
        if self._batches is not None:
            self._batches.write_table(table)
            return
        # Texts of one part together have at most 2³¹ bytes.
        for batch in table.combine_chunks().to_batches(max_chunksize=_ROWS):
            if self.format == "jsonl":
                self._file.write(json_rows(batch, self.shares))
            else:
                self._file.write(delimited_rows(batch, self._delimiter, self.shares))

    @property
    def _delimiter(self) -> str:
        return "\t" if self.format == "tsv" else ","

    def _open(self, stack: ExitStack) -> BinaryIO:
        if str(self.path) == "-":
            stack.callback(sys.stdout.buffer.flush)
            return sys.stdout.buffer
        file = stack.enter_context(whole_file(Path(self.path)))
        if not self._zipped:
            return file
        # Without a time and a name the same rows give the same bytes.
        zipped = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
        return stack.enter_context(zipped)  # type: ignore[return-value]

    def _table(self, frame: pd.DataFrame) -> Any:
        """The frame as a pyarrow table with the columns and types of the first one."""
        import pyarrow as pa

        table = arrow_table(frame)
        if self._schema is None:
            self._begin(table.schema)
        if table.column_names != self._schema.names:
            raise TableError(
                f"All parts of a table have the same columns, {', '.join(self._schema.names)}; "
                f"found {', '.join(table.column_names)}."
            )
        try:
            return table.cast(self._schema)
        except pa.ArrowInvalid as error:
            reason = str(error).splitlines()[0]
            raise TableError(f"A column's type changed from part to part: {reason}.") from None

    def _begin(self, schema: Any) -> None:
        import pyarrow as pa

        self._schema = schema
        if self.format in ("csv", "tsv"):
            self._file.write(delimited_header(schema.names, self._delimiter))
        elif self.format == "parquet":
            import pyarrow.parquet as pq

            self._batches = pq.ParquetWriter(self._file, schema)
        elif self.format == "arrow":
            self._batches = pa.ipc.new_file(self._file, schema)

    def _finish(self, *failure: Any) -> None:
        """Write what comes last, or nothing after a failure."""
        self._file.shut = failure[0] is not None
        if self._schema is None and self.format in ("parquet", "arrow"):
            import pyarrow as pa

            self._begin(pa.schema([]))
        if self._batches is not None:
            try:
                self._batches.close()
            finally:
                self._file.shut = True


class _Tap(io.RawIOBase):
    """A file that takes nothing more once it is shut: Arrow's writers add an end even then."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.shut = False

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if not self.shut:
            self.file.write(content)
        return len(memoryview(content).cast("B"))
