"""Comma- and tab-separated text, parsed block by block with pyarrow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

from . import cells
from .blocks import text_blocks
from .faults import TableError, columns_phrase, listed
from .formats import delimiter_name, likely_delimiter
from .kinds import column_of_text, joined_kind, kind_of_labels, kind_of_text
from .numbers import number_table
from .sources import Source

_LONGEST_HEADER = 1 << 22
_SVMLIGHT_LINE = re.compile(r"\S+( qid:\d+)?( \d+:\S+)+\s*(#.*)?$")


class DelimitedReader:
    """A delimited file as pyarrow tables.

    Parameters
    ----------
    source : Source
    delimiter : str
        The one character between columns.
    """

    def __init__(self, source: Source, delimiter: str) -> None:
        self.source = source
        self.delimiter = delimiter
        self._names: list[str] | None = None

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all its cells."""
        self.source.keep()
        kinds: dict[str, str] = {}
        for names, block, line in self._blocks():
            table = self._guessed(names, block, line, target)
            for name, column in zip(names, table.columns, strict=True):
                kind = _kind(column, name == target)
                kinds[name] = joined_kind(kinds[name], kind) if name in kinds else kind
        if not kinds:
            raise TableError(f"{self.source.name} has a header and no rows.")
        return kinds

    def tables(self, kinds: Mapping[str, str], keep: Any = None) -> Iterator[Any]:
        """The table in parts, of pyarrow or `NumberTable`; columns without a kind stay text.

        Parameters
        ----------
        kinds : mapping from column to kind
        keep : collection of str, optional
            Columns to read; all by default.
        """
        row = 0
        for names, block, line in self._blocks():
            wanted = [name for name in names if keep is None or name in keep]
            table = None
            if wanted and all(kinds.get(name) == "number" for name in wanted):
                table = number_table(block, self.delimiter, names, wanted)
            if table is None:
                table = self._parsed(names, wanted, block, line, kinds, row)
            row += table.num_rows
            yield table

    def names(self) -> list[str]:
        """Names of the columns, for a source that can be read again."""
        if self._names is None:
            self.source.keep()
            with closing(self._blocks()) as blocks:
                next(blocks, None)
        assert self._names is not None
        return self._names

    def _blocks(self) -> Generator[tuple[list[str], memoryview, int], None, None]:
        """Names, rows and number of the first line, block by block."""
        names: list[str] | None = None
        with self.source.open() as stream:
            for block, line in text_blocks(stream, self.source.name, self.delimiter):
                if names is None:
                    names, length = self._header(bytes(block[:_LONGEST_HEADER]))
                    line += bytes(block[:length]).count(b"\n")
                    block = block[length:]
                if block:
                    yield names, block, line
        if names is None:
            raise TableError(f"{self.source.name} is empty.")

    def _header(self, block: bytes) -> tuple[list[str], int]:
        """Names in the header, and how many bytes it takes with blank lines before it."""
        lead = len(block) - len(block.lstrip(b"\r\n"))
        start = block[lead:].decode("utf-8", "ignore")
        text = io.StringIO(start, newline="")
        raw = next(csv.reader(text, delimiter=self.delimiter), [])
        names = [cell.strip() or f"column {place + 1}" for place, cell in enumerate(raw)]
        if not any(cell.strip() for cell in raw):
            raise TableError(f"{self.source.name} is empty.")
        self._refuse_header(names)
        self._names = names
        return names, lead + len(start[: text.tell()].encode())

    def _refuse_header(self, names: list[str]) -> None:
        where = self.source.name
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise TableError(f"{where} has more than one {columns_phrase(repeated)}.")
        if _all_numbers(names):
            raise TableError(
                f"{where} begins with numbers, {listed(map(repr, names), 3)}, where names of "
                "columns are expected."
            )
        if len(names) == 1 and _SVMLIGHT_LINE.match(names[0]):
            raise TableError(f"{where} looks like an svmlight file; give --format svmlight.")
        if len(names) == 1:
            likely = likely_delimiter(names[0], self.delimiter)
            if likely is not None:
                raise TableError(
                    f"{where} has one column only, {names[0]!r}; it looks separated by "
                    f"{delimiter_name(likely)}, so give --delimiter {delimiter_name(likely)}."
                )

    def _guessed(self, names: list[str], block: memoryview, line: int, target: str | None) -> Any:
        import pyarrow as pa

        types = {target: pa.string()} if target in names else {}
        return self._read(names, block, line, _conversion(types))

    def _parsed(
        self,
        names: list[str],
        wanted: list[str],
        block: memoryview,
        line: int,
        kinds: Mapping[str, str],
        row: int,
    ) -> Any:
        import pyarrow as pa

        types = {name: _fast_type(kinds.get(name, "text")) for name in names}
        conversion = _conversion(types, include_columns=wanted)
        try:
            table = self._read_fast(names, block, conversion)
        except pa.ArrowInvalid:
            texts = _conversion(dict.fromkeys(names, pa.string()), include_columns=wanted)
            table = self._read(names, block, line, texts)
        columns = [
            column_of_text(column, kinds.get(name, "text"), self.source.name, name, row)
            if pa.types.is_string(column.type)
            else column
            for name, column in zip(wanted, table.columns, strict=True)
        ]
        return pa.table(columns, names=wanted)

    def _read(self, names: list[str], block: memoryview, line: int, conversion: Any) -> Any:
        import pyarrow as pa

        try:
            return self._read_fast(names, block, conversion)
        except pa.ArrowInvalid as error:
            raise self._ragged(names, block, line, error) from None

    def _read_fast(self, names: list[str], block: memoryview, conversion: Any) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(block)),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=conversion,
        )

    def _ragged(
        self, names: list[str], block: memoryview, line: int, error: Exception
    ) -> TableError:
        """The error for the first row whose number of cells is not that of the header."""
        text = io.StringIO(str(block, "utf-8"), newline="")
        rows = csv.reader(text, delimiter=self.delimiter)
        before = 0
        for cells_found in rows:
            if cells_found and len(cells_found) != len(names):
                return TableError(
                    f"{self.source.name} has {len(cells_found)} cells in line {line + before}, "
                    f"where the header has {len(names)}."
                )
            before = rows.line_num
        reason = str(error).splitlines()[0]
        return TableError(f"{self.source.name} cannot be read as a table: {reason}.")


def _all_numbers(names: list[str]) -> bool:
    """Whether a header is a row of values; whole numbers alone may be names."""
    try:
        return not all(float(name).is_integer() for name in names)
    except (ValueError, OverflowError):
        return False


def _conversion(types: Mapping[str, Any], **options: Any) -> Any:
    from pyarrow import csv as arrow_csv

    return arrow_csv.ConvertOptions(
        column_types=types,
        null_values=list(cells.MISSING_MARKS),
        true_values=cells.TRUE_WORDS,
        false_values=cells.FALSE_WORDS,
        **options,
    )


def _fast_type(kind: str) -> Any:
    """Type that pyarrow parses a kind as; dates and text pass through text."""
    import pyarrow as pa

    types = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    return types.get(kind, pa.string())


def _kind(column: Any, is_target: bool) -> str:
    import pyarrow.types as pt

    if is_target:
        return kind_of_labels(column)
    if column.null_count and pt.is_integer(column.type):
        return "number"
    known = (
        (pt.is_null, "empty"),
        (pt.is_integer, "integer"),
        (pt.is_floating, "number"),
        (pt.is_boolean, "boolean"),
        (pt.is_date, "date"),
        (pt.is_timestamp, "date"),
    )
    for matches, kind in known:
        if matches(column.type):
            return kind
    return kind_of_text(column) if pt.is_string(column.type) else "text"
