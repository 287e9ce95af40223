"""Tables written part by part, whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import sys
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from echelon._utils.files import whole_file

from .._utils.packages import require_extra
from .faults import TableError
from .formats import TEXT_FORMATS, output_format

if TYPE_CHECKING:
    import pandas as pd

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
    raw : bool, default=False
        Whether CSV and TSV have all texts as they are. Otherwise ``'`` stands before those that
        begin with one of = + - @ or a control character and are no numbers, because spreadsheets
        run them as formulas.

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
        self,
        path: str | Path,
        format: str | None = None,
        shares: Collection[str] = (),
        *,
        raw: bool = False,
    ) -> None:
        require_extra("Tables need", "cli", "pandas", "pyarrow")
        self.path = path
        self.shares = frozenset(shares)
        self.raw = raw
        self.format = output_format(path, format)
        self._delimiter = "\t" if self.format == "tsv" else ","
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
        from .rendering import delimited_rows, json_rows

        table = self._table(frame)
        if self._batches is not None:
            self._batches.write_table(table)
            return
        # Texts of one part together have at most 2³¹ bytes.
        for batch in table.combine_chunks().to_batches(max_chunksize=_ROWS):
            if self.format == "jsonl":
                self._file.write(json_rows(batch, self.shares))
            else:
                text = delimited_rows(batch, self._delimiter, self.shares, raw=self.raw)
                self._file.write(text)

    def _open(self, stack: ExitStack) -> BinaryIO:
        if str(self.path) == "-":
            if sys.stdout is None:
                raise OSError(errno.EBADF, "it is closed", "Standard output")
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

        from .rendering import arrow_table

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

        from .rendering import delimited_header

        self._schema = schema
        if self.format in ("csv", "tsv"):
            self._file.write(delimited_header(schema.names, self._delimiter, raw=self.raw))
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
