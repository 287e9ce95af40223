"""Tables read whole or in parts, by one parser, so that both give the same values."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .._utils.packages import require_extra
from .blocks import TwoPassReader
from .faults import TableError, require_named
from .formats import TEXT_FORMATS, checked_delimiter
from .sources import Source

if TYPE_CHECKING:
    import pandas as pd

    from .arrow_files import ArrowReader
    from .delimited import DelimitedReader
    from .schema import Schema

    Reader: TypeAlias = ArrowReader | DelimitedReader | TwoPassReader


@dataclass(frozen=True)
class FileOptions:
    """How a file is to be read, as far as that is not seen.

    Parameters
    ----------
    format, delimiter, encoding : str, optional
        As for `read_table`.
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None

    def over(self, other: FileOptions) -> FileOptions:
        """These options, and those of another where these say nothing."""
        return FileOptions(
            self.format or other.format,
            self.delimiter or other.delimiter,
            self.encoding or other.encoding,
        )


# Kinds of cells that may be written with other marks than those that were read.
NUMBERS = ("integer", "number")


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schema: Schema | None = None,
    target: str | None = None,
) -> pd.DataFrame:
    """Read a whole table as a pandas data frame.

    Parameters
    ----------
    source : str or Path
        A path, plain or gzipped, or ``"-"`` for standard input.
    format : {"csv", "tsv", "parquet", "arrow", "jsonl", "svmlight"}, optional
        By default as the file's name or, failing that, its first bytes show.
    delimiter : str, optional
        What separates the columns of a text table; a comma by default, a tab for ``"tsv"``.
    encoding : str, optional
        Encoding of a text table, such as ``"latin-1"``; UTF-8 by default, or UTF-16 where the file
        begins with its mark.
    schema : Schema, optional
        Kinds of columns that are known already, as those of a model's inputs: a category stays
        text, whatever its cells look like in this file.
    target : str, optional
        A column of labels: only an empty cell of it is missing, so that ``None`` can be a label,
        and words are never taken for truth values or dates.

    Returns
    -------
    DataFrame
        Numbers, truth values (``boolean``), dates and text, told from all cells of a column.

    Raises
    ------
    TableError
        One sentence that says what is wrong with the file.
    """
    with open_reader(source, FileOptions(format, delimiter, encoding)) as reader:
        return whole_table(reader, target, schema)


def whole_table(
    reader: Reader, target: str | None, schema: Schema | None = None, as_text: bool = False
) -> pd.DataFrame:
    """All rows of a reader's table; with `as_text`, cells of text are left as they are written."""
    from .delimited import DelimitedReader

    if schema is None and not as_text and isinstance(reader, DelimitedReader):
        found = reader.whole(target)
        if found is not None:
            return next(_frames([found]))
    kinds = reader.kinds(target)
    if as_text:
        kinds = {
            name: "text" if kind in NUMBERS and name != target else kind
            for name, kind in kinds.items()
        }
    if schema is not None:
        kinds = _with_stated(reader, kinds, schema)
    frame = next(_frames(reader.tables(kinds, None)), None)
    if frame is None:
        raise TableError(f"{reader.source.name} has no rows.")
    if schema is not None:
        schema.refuse_missing(frame.columns, reader.source.name)
    return frame


def read_chunks(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schema: Schema | None = None,
    target: str | None = None,
    keep: Collection[str] | None = None,
    rows: int = 65_536,
) -> Iterator[pd.DataFrame]:
    """Read a table in parts, in order and in bounded memory.

    Parameters
    ----------
    source, format, delimiter, encoding, target
        As for `read_table`.
    schema : Schema, optional
        Kinds of the columns, which the file is then read by in one pass; columns that it does not
        name are text as it is written. Without it the file is read twice, first for the kinds.
    keep : collection of str, optional
        Columns to read besides those of `schema`; all by default.
    rows : int
        The most rows of a part.

    Yields
    ------
    DataFrame
        The next rows; its index goes on counting.
    """
    with open_reader(source, FileOptions(format, delimiter, encoding)) as reader:
        opened = reader.source
        if schema is None:
            kinds = reader.kinds(target)
        elif isinstance(reader, TwoPassReader):
            kinds = _with_stated(reader, reader.kinds(target), schema)
        else:
            kinds = _stated(schema)
        wanted = None if keep is None else {*keep, *(schema.names if schema else ())}
        start = 0
        for frame in _frames(reader.tables(kinds, wanted), rows):
            if schema is not None and not start and not set(schema.names) <= set(frame.columns):
                # What a missing column may be called instead is among all names of the file.
                schema.refuse_missing(reader.names(), opened.name)
            if not start:
                lacking = [name for name in keep or () if name not in frame.columns]
                if lacking:
                    require_named(opened.name, lacking, reader.names())
            frame.index += start
            start += len(frame)
            yield frame
        if not start:
            raise TableError(f"{opened.name} has no rows.")


@contextmanager
def open_reader(source: str | Path, options: FileOptions) -> Iterator[Reader]:
    """The reader of a file, by its format."""
    with Source(source, options.encoding) as opened:
        yield _reader(opened, options)


def _reader(source: Source, options: FileOptions) -> Reader:
    require_extra("Tables need", "cli", "pandas", "pyarrow")
    from .arrow_files import ArrowReader
    from .delimited import DelimitedReader
    from .json_lines import JsonLinesReader
    from .svmlight import SvmlightReader

    format = source.format(options.format)
    if format in ("csv", "tsv"):
        return DelimitedReader(source, checked_delimiter(options.delimiter, format))
    if options.delimiter is not None:
        raise TableError(f"{source.name} is of format {format}, which has no delimiter.")
    if options.encoding is not None and format not in TEXT_FORMATS:
        raise TableError(f"{source.name} is of format {format}, which has no encoding.")
    if format == "jsonl":
        return JsonLinesReader(source)
    return SvmlightReader(source) if format == "svmlight" else ArrowReader(source, format)


def _with_stated(reader: Reader, kinds: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Kinds that a schema states in place of those that a file shows."""
    stated = _stated(schema)
    if isinstance(reader, TwoPassReader) and reader.absent_is_zero:
        return {**kinds, **stated}
    return {name: stated.get(name, kind) for name, kind in kinds.items()}


def _stated(schema: Schema) -> dict[str, str]:
    """Kinds of a file's columns; a cell that takes a closer look stays text."""
    return {
        column.name: "text"
        if column.is_text or column.notation or len(column.missing) > len(column.missing_numbers)
        else column.kind
        for column in schema.columns
    }


def _frames(tables: Iterable[Any], rows: float = inf) -> Generator[pd.DataFrame, None, None]:
    """Frames of so many rows, and a last one of those that remain; by default one of all rows."""
    import pandas as pd
    import pyarrow as pa

    dtypes = {pa.bool_(): pd.BooleanDtype()}
    waiting: list[Any] = []
    for table in tables:
        waiting += [table] if table.num_rows else []
        while sum(part.num_rows for part in waiting) >= rows:
            gathered = pa.concat_tables(waiting)
            yield gathered.slice(0, int(rows)).to_pandas(types_mapper=dtypes.get)
            waiting = [gathered.slice(int(rows))]
    if any(part.num_rows for part in waiting):
        yield pa.concat_tables(waiting).to_pandas(types_mapper=dtypes.get)
