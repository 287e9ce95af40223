"""Comma- and tab-separated text, parsed in blocks by pyarrow's streaming reader."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from threading import Lock
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from . import blocks
from .faults import MISSING_MARKS, Argument, TableError, refuse_header
from .formats import delimiter_name, likely_delimiter
from .kinds import (
    CODED,
    FALSE_WORDS,
    TRUE_WORDS,
    as_if_known,
    columns_of_text,
    kind_of_labels,
    kind_of_text,
    kind_with,
    kinds_of_texts,
    typed,
)
from .sources import FIRST_BYTES, Source

LONGEST_ROW = 1 << 28
_LONGEST_HEADER = 1 << 22
#: bytes of the rows by which a file is read at once
_FIRST_ROWS, _MOST_FIRST = 1 << 20, 2_000
#: rows of a block, if they are about as long as the header
_FEWEST_IN_BLOCK = 64
#: columns that are read again because some cell is of another kind than those of the first rows
_MOST_ODD = 4
_SELDOM_REPEATED = 2
_COLUMN_NUMBER = re.compile(r"In CSV column #(\d+): ")
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
        self._header_bytes = 0
        self._quoted = False

    def names(self) -> list[str]:
        """Names of the columns."""
        if self._names is None:
            self._names = self._header()
        return self._names

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all its cells."""
        self.source.keep()
        kinds = dict.fromkeys(self.names(), "empty")
        rows = 0
        for batch in self._batches({}, None):
            for name, column in zip(kinds, batch.columns, strict=True):
                kind_of = kind_of_labels if name == target else kind_of_text
                kinds[name] = kind_with(kinds[name], column, rows > 0, kind_of)
            rows += batch.num_rows
        if not rows:
            raise TableError(f"{self.source.name} has a header and no rows.")
        return kinds

    def whole(self, target: str | None = None, coded: Collection[str] = ()) -> Any | None:
        """All rows, parsed by the kinds of the first ones; columns that have others are read again.

        None where too many have, for a small file, and for standard input, of which two passes are
        no longer.

        Parameters
        ----------
        target : str, optional
        coded : collection of str
            Columns whose texts may come as dictionaries, where they repeat.
        """
        first = self._first_rows()
        if first is None:
            return None
        kinds = dict(zip(self.names(), kinds_of_texts(first.columns), strict=True))
        if target in kinds:
            kinds[target] = kind_of_labels(first[target])
        repeated = [n for n in coded if kinds[n] == "text" and _is_repeated(first[n])]
        types = {**typed(kinds, dates=True), **dict.fromkeys(repeated, CODED)}
        for _ in range(_MOST_ODD):
            try:
                found = pa.Table.from_batches(self._batches(types, None, at_once=True))
            except _CellError as fault:
                odd = fault.column
            else:
                # What of a target is missing, and what is a label, shows in its text.
                if target not in kinds or not found[target].null_count:
                    return as_if_known(found, kinds, target)
                odd = target
            if odd is None:
                return None
            kinds[odd], types[odd] = "empty", pa.string()
        return None

    def _first_rows(self) -> Any | None:
        """Some whole rows as text; None where there are none or the file has no others."""
        names = self.names()
        size = max(_FIRST_ROWS, 4 * self._header_bytes)
        if not self.source.can_be_reopened:
            return None
        head = self.source.head(size)
        if len(head) < size:
            return None
        lines = io.BytesIO(head[self._header_bytes : head.rfind(b"\n") + 1])
        self._quoted |= b'"' in head
        options = self._parsing(names, lambda row: "skip"), self._converting(names, {})
        try:
            rows = arrow_csv.read_csv(lines, _block(names, size), *options)
        except pa.ArrowInvalid:
            return None
        # The last row may be the beginning of a longer one.
        whole = rows.slice(0, max(min(rows.num_rows - 1, _MOST_FIRST), 0)).combine_chunks()
        return whole.to_batches()[0] if whole.num_rows else None

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts; columns without a kind stay text.

        Parameters
        ----------
        kinds : mapping from column to kind
        keep : collection of str, optional
            Columns to read; all by default.
        """
        wanted = [name for name in self.names() if keep is None or name in keep]
        types = typed({name: kinds.get(name, "text") for name in wanted})
        row = 0
        # Some cell may be written in a way that takes a closer look; text goes on from there.
        for parsed in (types, {}) if self.source.can_be_reopened else ({},):
            try:
                for batch in self._batches(parsed, wanted, row):
                    yield columns_of_text(batch, kinds, self.source.name, row)
                    row += batch.num_rows
                return
            except _CellError:
                continue

    def _batches(
        self,
        types: Mapping[str, Any],
        wanted: list[str] | None,
        row: int = 0,
        at_once: bool = False,
    ) -> Iterator[Any]:
        """Batches from some row on, with columns of text but for those of some type.

        Read `at_once`, by all processors, the first comes when the last is known.
        """
        # Each block takes some time for each column, whatever its rows are.
        size = max(blocks.BLOCK_BYTES, min(_FEWEST_IN_BLOCK * self._header_bytes, LONGEST_ROW))
        # Ends of blocks are found in no time where no quotation holds the end of a line.
        self._quoted |= not self.source.can_be_reopened or b'"' in self.source.head()
        while True:
            passed = 0
            try:
                for batch in self._blocks(types, wanted, size, at_once):
                    part = batch.slice(max(row - passed, 0))
                    passed += batch.num_rows
                    if part.num_rows:
                        yield part
                        row = passed
                return
            except _QuotedError:
                self._quoted = True
            except _LongRowError as fault:
                size *= 2
                if size > LONGEST_ROW or not self.source.can_be_reopened:
                    raise fault.error from None

    def _blocks(
        self, types: Mapping[str, Any], wanted: list[str] | None, size: int, at_once: bool
    ) -> Iterator[Any]:
        """A batch for each block of text."""
        read = arrow_csv.read_csv if at_once else arrow_csv.open_csv
        names, end = self.names(), _End(len(self.names()), self.delimiter)
        with self.source.open() as stream:
            stream.read(self._header_bytes)
            rows = _Ended(stream, end.line, self._quoted)
            try:
                found = read(
                    rows,
                    _block(names, size),
                    self._parsing(names, end.look_at),
                    self._converting(names, types, wanted),
                    # Arrow's own gives memory back that the next block asks for again.
                    None if at_once else pa.system_memory_pool(),
                )
                yield from found.to_batches() if at_once else found
            except pa.ArrowInvalid as error:
                rows.stop()
                if types and "conversion error" in str(error):
                    raise _CellError(names, str(error)) from None
                if not self._quoted and _Ended.QUOTED in str(error):
                    raise _QuotedError from None
                fault = self._fault(error, end)
                raise _LongRowError(fault) if "straddl" in str(error) else fault from None
            finally:
                rows.stop()
        if not end.seen:
            raise self._fault(None, end)

    def _parsing(self, names: list[str], handler: Callable[[Any], str]) -> Any:
        return arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=self._quoted,
            ignore_empty_lines=len(names) > 1,
            invalid_row_handler=handler,
        )

    def _converting(
        self, names: list[str], types: Mapping[str, Any], wanted: list[str] | None = None
    ) -> Any:
        return arrow_csv.ConvertOptions(
            column_types={name: types.get(name, pa.string()) for name in names},
            include_columns=wanted,
            null_values=list(MISSING_MARKS),
            true_values=TRUE_WORDS,
            false_values=FALSE_WORDS,
        )

    def _header(self) -> list[str]:
        """Names in the header, which may have blank lines before it."""
        raw, length = self._first_row(self.source.head())
        if length is None:
            raw, length = self._first_row(self.source.head(_LONGEST_HEADER))
        names = [cell.strip() or f"column {place + 1}" for place, cell in enumerate(raw)]
        self._refuse_header(names)
        self._header_bytes = length or 0
        return names

    def _first_row(self, head: bytes) -> tuple[list[str], int | None]:
        """Cells of the first row, and how many bytes it takes, None if it may go on."""
        blocks.refuse_other_text(head, self.source.name)
        text = head.decode("utf-8", "surrogateescape")
        lead = len(text) - len(text.lstrip("\ufeff\r\n"))
        lines = io.StringIO(text[lead:], newline="")
        raw = next(csv.reader(lines, delimiter=self.delimiter), [])
        end = lead + lines.tell()
        if not any(cell.strip() for cell in raw):
            raise TableError(f"{self.source.name} is empty.")
        whole = end < len(text) or len(head) < FIRST_BYTES
        if whole and any("\udc80" <= letter <= "\udcff" for letter in text[:end]):
            raise blocks.not_utf8(self.source.name, "in its header ")
        length = len(text[:end].encode("utf-8", "surrogateescape"))
        return raw, length if whole else None

    def _refuse_header(self, names: list[str]) -> None:
        where = self.source.name
        refuse_header(where, names)
        if len(names) > 1:
            return
        if _SVMLIGHT_LINE.match(names[0]):
            advice = Argument("format", "svmlight")
            raise TableError(f"{where} looks like an svmlight file; give ", advice, ".")
        likely = likely_delimiter(names[0], self.delimiter)
        if likely is not None:
            raise TableError(
                f"{where} has one column only, {names[0]!r}; it looks separated by "
                f"{delimiter_name(likely)}, so give ",
                Argument("delimiter", "tab" if likely == "\t" else likely),
                ".",
            )

    def _fault(self, error: Exception | None, end: _End) -> TableError:
        """What is wrong with the text: pyarrow does not say in which line."""
        where, width = self.source.name, len(self.names())
        if self.source.can_be_reopened:
            with self.source.open() as stream:
                fault = _fault_of_rows(stream, where, width, self.delimiter)
            if fault is not None:
                return fault
        if end.odd_row is not None:
            found, text = end.odd_row
            return TableError(
                f"{where} has {found} cells in a row that begins with {text[:40]!r}, where the "
                f"header has {width}."
            )
        if error is None:
            return TableError(f"{where} has a quotation mark that is not closed.")
        if "UTF8" in str(error):
            return blocks.not_utf8(where)
        if "straddl" in str(error):
            return TableError(f"{where} has a very long row; is a quotation mark not closed?")
        return TableError(f"{where} cannot be read as a table: {str(error).splitlines()[0]}.")


def _block(names: list[str], size: int) -> Any:
    return arrow_csv.ReadOptions(column_names=names, block_size=size)


def _is_repeated(texts: Any) -> bool:
    """Whether so few texts are different that each is better kept once."""
    return len(texts.unique()) * _SELDOM_REPEATED <= len(texts)


class _CellError(Exception):
    """A cell that pyarrow does not convert by itself, of a column that it counts."""

    def __init__(self, names: list[str], message: str) -> None:
        found = _COLUMN_NUMBER.match(message)
        self.column = None if found is None else names[int(found[1])]


class _QuotedError(Exception):
    """The first quotation of a file, which may hold ends of lines."""


class _LongRowError(Exception):
    """A row that is longer than a block."""

    def __init__(self, error: TableError) -> None:
        self.error = error


class _End:
    """A line after the last one, with a cell too many: without it, a quotation is still open.

    Parameters
    ----------
    width : int
        Number of columns.
    delimiter : str
    """

    text = "end of the table"

    def __init__(self, width: int, delimiter: str) -> None:
        self.cells = [self.text, *[""] * width]
        self.line = f"{delimiter.join(self.cells)}\n".encode()
        self.seen = False
        self.odd_row: tuple[int, str] | None = None

    def look_at(self, row: Any) -> str:
        """Pass over this line, and keep a row with too many or too few cells for the error."""
        if f"{row.text}\n".encode() == self.line:
            self.seen = True
            return "skip"
        self.odd_row = (row.actual_columns, row.text)
        return "error"


class _Ended(io.RawIOBase):
    """A stream of UTF-8 with one more line at its end.

    Other bytes are refused before pyarrow sees them: of a row with too many or too few cells it
    would only print what went wrong. So is a quotation mark, unless there may be some.
    """

    QUOTED = "a quotation mark"

    def __init__(self, stream: BinaryIO, line: bytes, quoted: bool) -> None:
        self._stream, self._quoted = stream, quoted
        self._line: bytes | None = line
        self._last = b"\n"
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._reading, self._stopped = Lock(), False

    def stop(self) -> None:
        """Leave the stream to others: pyarrow reads ahead even after an error."""
        with self._reading:
            self._stopped = True

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with self._reading:
            return b"" if self._stopped else self._next(size)

    def _next(self, size: int) -> bytes:
        found = self._stream.read(size)
        try:
            # Most text is plain, and looked through in no time, unless a letter has begun.
            if not found.isascii() or not found or self._decoder.getstate()[0]:
                self._decoder.decode(found, final=not found)
        except UnicodeDecodeError:
            raise pa.ArrowInvalid("not UTF8") from None
        if not self._quoted and b'"' in found:
            raise pa.ArrowInvalid(self.QUOTED)
        if found:
            self._last = found[-1:]
            return found
        if self._line is None:
            return b""
        line, self._line = self._line, None
        return line if self._last in (b"\n", b"\r") else b"\n" + line


def _fault_of_rows(stream: BinaryIO, where: str, width: int, delimiter: str) -> TableError | None:
    """The error for the first row with too many or too few cells, or with an open quotation."""
    lines = (
        line
        for block, _ in blocks.line_blocks(stream, where)
        for line in io.StringIO(block.decode("utf-8"), newline="")
    )
    end = _End(width, delimiter)
    limit = csv.field_size_limit(LONGEST_ROW)
    before, rows = 0, csv.reader(chain(lines, ["\n", end.line.decode()]), delimiter=delimiter)
    try:
        for found in rows:
            if found and (len(found) != width or end.text in found[-1]):
                break
            before = rows.line_num
    except csv.Error:
        return TableError(
            f"{where} has a row of more than {LONGEST_ROW >> 20} MB from line {before + 1} "
            "on; is a quotation mark not closed?"
        )
    finally:
        csv.field_size_limit(limit)
    if found == end.cells:
        return None
    if any(end.text in cell for cell in found):
        return TableError(
            f"{where} has a quotation mark that is not closed in the row that begins in line "
            f"{before + 1}."
        )
    return TableError(
        f"{where} has {len(found)} cells in line {before + 1}, where the header has {width}."
    )
