"""Parquet and Arrow files, whose columns have types already."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from .faults import TableError, inside, refuse_repeated
from .formats import ARROW_STREAM_MAGIC
from .sources import Source

_ROWS = 65_536


class ArrowReader:
    """A Parquet file, or an Arrow file, stream or Feather file, as pyarrow tables.

    Parameters
    ----------
    source : Source
    format : {"parquet", "arrow"}
    """

    def __init__(self, source: Source, format: str) -> None:
        self.source = source
        self.format = format

    def names(self) -> list[str]:
        """Names of the columns."""
        with closing(self._schema_and_batches()) as parts:
            return list(next(parts).names)

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Nothing: the file states the types of its columns."""
        return {}

    def types(self) -> dict[str, Any]:
        """Type that each column is read as, null where the file has no values."""
        with closing(self._schema_and_batches()) as parts:
            return {
                field.name: field.type if pt.is_null(field.type) else _plain_type(field.type)
                for field in next(parts)
            }

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts, with types that data frames have."""
        parts = self._schema_and_batches(keep)
        schema = next(parts)
        wanted = [name for name in schema.names if keep is None or name in keep]
        for batch in parts:
            table = pa.Table.from_batches([batch]).select(wanted)
            yield pa.table([_plain(column) for column in table.columns], names=wanted)

    def _schema_and_batches(
        self, keep: Collection[str] | None = None
    ) -> Generator[Any, None, None]:
        """The schema, then batches of rows with the columns to keep or more."""
        self.source.keep()
        read = _parquet if self.format == "parquet" else _arrow
        with self.source.open() as stream:
            try:
                parts = read(stream, self.source.head(), keep)
                schema = next(parts)
                self._refuse_schema(schema, keep)
                yield schema
                for batch in parts:
                    # A damaged file may point outside of itself, or hold text that is none.
                    batch.validate(full=True)
                    yield batch
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                reason = (str(error).strip().splitlines() or ["it is damaged"])[0].rstrip(".")
                raise TableError(
                    f"{self.source.name} cannot be read as {self.format.capitalize()}: {reason}."
                ) from None

    def _refuse_schema(self, schema: Any, keep: Collection[str] | None) -> None:
        where = self.source.name
        refuse_repeated(where, schema.names)
        for field in schema:
            if (keep is None or field.name in keep) and _plain_type(field.type) is None:
                raise TableError(
                    f"Column {field.name!r} of {inside(where)} holds values of type {field.type}; "
                    "numbers, text, truth values, dates and categories are read."
                )


def _parquet(stream: Any, head: bytes, keep: Collection[str] | None) -> Iterator[Any]:
    with pq.ParquetFile(stream) as file:
        names = file.schema_arrow.names
        yield file.schema_arrow
        columns = None if keep is None else [name for name in names if name in keep]
        yield from file.iter_batches(batch_size=_ROWS, columns=columns)


def _arrow(stream: Any, head: bytes, keep: Collection[str] | None) -> Iterator[Any]:
    if head.startswith(ARROW_STREAM_MAGIC):
        with pa.ipc.open_stream(stream) as batches:
            yield batches.schema
            yield from batches
        return
    with pa.ipc.open_file(stream) as file:
        yield file.schema
        for place in range(file.num_record_batches):
            yield file.get_batch(place)


def _plain_type(type: Any) -> Any:
    """Type that a column is read as; None for types that no table of inputs has."""
    if pt.is_dictionary(type):
        plain = _plain_type(type.value_type)
        return type if plain is not None and type.ordered else plain
    for matches, plain in (
        (lambda t: pt.is_uint64(t) or pt.is_decimal(t) or pt.is_floating(t), pa.float64()),
        (pt.is_integer, pa.int64()),
        (pt.is_boolean, pa.bool_()),
        (lambda t: pt.is_date(t) or pt.is_timestamp(t), pa.timestamp("us")),
        (lambda t: pt.is_string(t) or pt.is_large_string(t) or t == pa.string_view(), pa.string()),
        (pt.is_null, pa.float64()),
    ):
        if matches(type):
            return plain
    return None


def _plain(column: Any) -> Any:
    wanted = _plain_type(column.type)
    if pt.is_dictionary(column.type) and not pt.is_dictionary(wanted):
        column = column.cast(column.type.value_type)
    if pt.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
    return (
        column if column.type == wanted else column.cast(wanted, safe=not pt.is_timestamp(wanted))
    )
