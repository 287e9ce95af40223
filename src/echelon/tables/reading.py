"""Tables read whole or in parts, by one parser, so that both give the same values."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .._utils.packages import require_extra
from .blocks import TwoPassReader
from .faults import TableError, require_named
from .formats import checked_delimiter
from .sources import Source

if TYPE_CHECKING:
    import pandas as pd

    from .arrow_files import ArrowReader
    from .delimited import DelimitedReader
    from .schema import Schema

    Reader: TypeAlias = ArrowReader | DelimitedReader | TwoPassReader


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
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
    with Source(source) as opened:
        return whole_table(open_reader(opened, format, delimiter), target, schema)


def whole_table(reader: Reader, target: str | None, schema: Schema | None = None) -> pd.DataFrame:
    """All rows of a reader's table."""
    kinds = reader.kinds(target)
    if schema is not None:
        kinds = _with_stated(reader, kinds, schema)
    frame = next(_frames(reader, kinds, None), None)
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
    schema: Schema | None = None,
    target: str | None = None,
    keep: Collection[str] | None = None,
    rows: int = 65_536,
) -> Iterator[pd.DataFrame]:
    """Read a table in parts, in order and in bounded memory.

    Parameters
    ----------
    source, format, delimiter, target
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
    with Source(source) as opened:
        reader = open_reader(opened, format, delimiter)
        if schema is None:
            kinds = reader.kinds(target)
        elif isinstance(reader, TwoPassReader):
            kinds = _with_stated(reader, reader.kinds(target), schema)
        else:
            kinds = _stated(schema)
        wanted = None if keep is None else {*keep, *(schema.names if schema else ())}
        start = 0
        for frame in _frames(reader, kinds, wanted, rows):
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


def open_reader(source: Source, format: str | None, delimiter: str | None) -> Reader:
    """The reader of a source's format."""
    require_extra("Tables need", "cli", "pandas", "pyarrow")
    from .arrow_files import ArrowReader
    from .delimited import DelimitedReader
    from .json_lines import JsonLinesReader
    from .svmlight import SvmlightReader

    format = source.format(format)
    if format in ("csv", "tsv"):
        return DelimitedReader(source, checked_delimiter(delimiter, format))
    if delimiter is not None:
        raise TableError(f"{source.name} is of format {format}, which has no delimiter.")
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
    return {
        column.name: "text" if column.kind == "category" else column.kind
        for column in schema.columns
    }


def _frames(
    reader: Reader, kinds: Mapping[str, str], keep: Collection[str] | None, rows: float = inf
) -> Generator[pd.DataFrame, None, None]:
    """Frames of so many rows, and a last one of those that remain; by default one of all rows."""
    import pandas as pd
    import pyarrow as pa

    dtypes = {pa.bool_(): pd.BooleanDtype()}
    waiting: list[Any] = []
    for table in reader.tables(kinds, keep):
        waiting += [table] if table.num_rows else []
        while sum(part.num_rows for part in waiting) >= rows:
            gathered = pa.concat_tables(waiting)
            yield gathered.slice(0, int(rows)).to_pandas(types_mapper=dtypes.get)
            waiting = [gathered.slice(int(rows))]
    if any(part.num_rows for part in waiting):
        yield pa.concat_tables(waiting).to_pandas(types_mapper=dtypes.get)
