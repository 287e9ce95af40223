"""Tables read whole or in parts, by one parser, so that both give the same values."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .._utils.packages import require_extra
from .blocks import Notes, TwoPassReader
from .faults import TableError, listed, require_named
from .formats import ENCODED_FORMATS, SHEET_FORMATS, SURVEY_FORMATS, checked_delimiter
from .sources import Source, files_of

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
    sheet : str or int, optional
        As for `read_table`.
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None

    def over(self, other: FileOptions) -> FileOptions:
        """These options, and those of another where these say nothing."""
        both = zip(astuple(self), astuple(other), strict=True)
        return FileOptions(*(theirs if mine is None else mine for mine, theirs in both))


_WIDE = 1_000
# Kinds of cells that may be written with other marks than those that were read.
NUMBERS = ("integer", "number")


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    schema: Schema | None = None,
    target: str | None = None,
) -> pd.DataFrame:
    """Read a whole table as a pandas data frame.

    Parameters
    ----------
    source : str or Path
        A path, plain or gzipped, or ``"-"`` for standard input; or a folder or a pattern such as
        ``"in/*.csv"``, whose files of one format are read one after the other, sorted by name.
    format : str, optional
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arrow"``, ``"jsonl"``, ``"svmlight"``, ``"xlsx"``,
        ``"xls"``, ``"xlsb"``, ``"ods"``, ``"dta"``, ``"sav"`` or ``"por"``; by default as the
        file's name or, failing that, its first bytes show.
    delimiter : str, optional
        What separates the columns of a text table; a comma by default, a tab for ``"tsv"``.
    encoding : str, optional
        Encoding of a text table, such as ``"latin-1"``; UTF-8 by default, or UTF-16 where the file
        begins with its mark. For ``"dta"`` and ``"sav"`` that of texts, where the file is wrong
        about it.
    sheet : str or int, optional
        Name of the sheet of a spreadsheet, or its number from 1 on; by default the one with rows.
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
    with open_reader(source, FileOptions(format, delimiter, encoding, sheet)) as reader:
        return whole_table(reader, target, schema)


def whole_table(
    reader: Reader,
    target: str | None,
    schema: Schema | None = None,
    as_text: bool = False,
    ordered: Collection[str] = (),
    coded: Collection[str] = (),
) -> pd.DataFrame:
    """All rows of a reader's table, and what the file says of it in ``attrs``.

    Parameters
    ----------
    reader : reader
    target : str, optional
        As for `read_table`.
    schema : Schema, optional
    as_text : bool
        Whether numbers in texts are left as they are written.
    ordered : collection of str
        Columns that are ordered by their codes where they are categories.
    coded : collection of str
        Columns whose texts may come as a ``Categorical``; ``attrs["texts"]`` names those that do.
    """
    from .delimited import DelimitedReader

    if schema is None and not as_text and isinstance(reader, DelimitedReader):
        found = reader.whole(target, coded)
        if found is not None:
            return _with_coded_texts(found)
    passes = reader if isinstance(reader, TwoPassReader) else None
    if passes is not None:
        passes.load()
    kinds = _wanted_kinds(reader, target, as_text, ordered)
    if schema is not None:
        kinds = _with_stated(reader, kinds, schema)
    frame = next(_frames(reader.tables(kinds, None)), None)
    if frame is None:
        raise TableError(f"{reader.source.name} has no rows.")
    if schema is not None:
        schema.refuse_missing(frame.columns, reader.source.name)
    if passes is not None:
        frame.attrs.update(passes.said())
    return frame


def _with_coded_texts(table: Any) -> pd.DataFrame:
    import pyarrow as pa

    # Columns of a long table are not moved together, which takes fresh memory for all of them.
    frame = _frame(table, split=table.num_columns < _WIDE)
    coded = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    if coded:
        frame.attrs["texts"] = Notes(coded)
    return frame


def _wanted_kinds(
    reader: Reader, target: str | None, as_text: bool, ordered: Collection[str]
) -> dict[str, str]:
    """Kinds of a file's columns, some of them as text and some ordered."""
    kinds = reader.kinds(target)
    typed = reader.numeric if isinstance(reader, TwoPassReader) else ()
    for name, kind in kinds.items():
        if as_text and kind in NUMBERS and name != target and name not in typed:
            kinds[name] = "text"
        if kind == "category" and name in ordered:
            kinds[name] = "ordered"
    return kinds


def read_chunks(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    schema: Schema | None = None,
    target: str | None = None,
    keep: Collection[str] | None = None,
    rows: int = 65_536,
) -> Iterator[pd.DataFrame]:
    """Read a table in parts, in order and in bounded memory.

    Parameters
    ----------
    source, format, delimiter, encoding, sheet, target
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
    with open_reader(source, FileOptions(format, delimiter, encoding, sheet)) as reader:
        opened = reader.source
        if schema is None:
            kinds = reader.kinds(target)
        elif isinstance(reader, TwoPassReader) and reader.needs_kinds:
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
    """The reader of a file or of several, by their format."""
    require_extra("Tables need", "cli", "pandas", "pyarrow")
    files = None if str(source) == "-" else files_of(source)
    with ExitStack() as stack:
        paths = [source] if files is None else files
        opened = [stack.enter_context(Source(path, options.encoding)) for path in paths]
        formats = {each.format(options.format): each for each in opened}
        if len(formats) > 1:
            raise TableError(
                f"{source} has files of several formats: "
                f"{listed(f'{each.name} is {format}' for format, each in formats.items())}; read "
                "those of one format, by a pattern such as in/*.csv."
            )
        format = next(iter(formats))
        _refuse_options(opened[0], format, options)
        yield _reader(opened, format, options, str(source))


def _refuse_options(source: Source, format: str, options: FileOptions) -> None:
    """Refuse what is stated and has no meaning for the format."""
    for stated, known, lacks in (
        (options.delimiter, ("csv", "tsv"), "delimiter"),
        (options.encoding, ENCODED_FORMATS, "encoding"),
        (options.sheet, SHEET_FORMATS, "sheets"),
    ):
        if stated is not None and format not in known:
            raise TableError(f"{source.name} is of format {format}, which has no {lacks}.")


def _reader(opened: Sequence[Source], format: str, options: FileOptions, name: str) -> Reader:
    """The reader of files of one format."""
    from .many_files import FilesReader, named_source

    if format in SURVEY_FORMATS:
        require_extra(f"Files of format {format} need", "survey", "pyreadstat")
        from .survey_files import SurveyReader

        survey = SurveyReader(opened, format)
        if len(opened) > 1:
            survey.source = named_source(name)
        return survey
    readers = [_reader_of_one(source, format, options) for source in opened]
    return readers[0] if len(readers) == 1 else FilesReader(readers, name)


def _reader_of_one(source: Source, format: str, options: FileOptions) -> Reader:
    if format in ("csv", "tsv"):
        from .delimited import DelimitedReader

        return DelimitedReader(source, checked_delimiter(options.delimiter, format))
    if format in SHEET_FORMATS:
        require_extra("Spreadsheets need", "survey", "python_calamine")
        from .spreadsheets import SheetReader

        return SheetReader(source, None if options.sheet is None else str(options.sheet))
    if format == "jsonl":
        from .json_lines import JsonLinesReader

        return JsonLinesReader(source)
    if format == "svmlight":
        from .svmlight import SvmlightReader

        return SvmlightReader(source)
    from .arrow_files import ArrowReader

    return ArrowReader(source, format)


def _with_stated(reader: Reader, kinds: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Kinds that a schema states in place of those that a file shows."""
    stated = _stated(schema)
    if isinstance(reader, TwoPassReader):
        return reader.kinds_by(kinds, stated, schema)
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
    import pyarrow as pa

    waiting: list[Any] = []
    for table in tables:
        waiting += [table] if table.num_rows else []
        while sum(part.num_rows for part in waiting) >= rows:
            gathered = pa.concat_tables(waiting)
            yield _frame(gathered.slice(0, int(rows)))
            waiting = [gathered.slice(int(rows))]
    if any(part.num_rows for part in waiting):
        yield _frame(pa.concat_tables(waiting))


def _frame(table: Any, split: bool = False) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    dtypes = {pa.bool_(): pd.BooleanDtype()}
    return table.to_pandas(types_mapper=dtypes.get, split_blocks=split)
