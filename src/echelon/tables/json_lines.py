"""JSON lines: an object on every line, parsed block by block with pyarrow."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyarrow import json as arrow_json

from .blocks import TwoPassReader, line_blocks
from .faults import TableError
from .kinds import FAST_TYPES, accepts, columns_of_text, dates, joined_kind, without_marks


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


class JsonLinesReader(TwoPassReader):
    """A file of JSON objects as pyarrow tables.

    Parameters
    ----------
    source : Source
    """

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all its values."""
        self.source.keep()
        kinds: dict[str, str] = {}
        begun = False
        for block, line in self._blocks():
            found = self._kinds_in(block, line, target)
            for name in [*kinds, *(name for name in found if name not in kinds)]:
                # A column that begins late or ends early lacks values elsewhere.
                here = found.get(name, "empty")
                kinds[name] = joined_kind(kinds.get(name, "empty"), here) if begun else here
            begun = True
        if not kinds:
            raise TableError(f"{self.source.name} is empty.")
        self._names = list(kinds)
        return kinds

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts; columns that `kinds` does not name are left out."""
        wanted = [name for name in kinds if keep is None or name in keep]
        row = 0
        for block, line in self._blocks():
            table = self._parsed(block, line, {name: kinds[name] for name in wanted})
            yield columns_of_text(table, kinds, self.source.name, row)
            row += table.num_rows

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        with self.source.open() as stream:
            for block, line in line_blocks(stream, self.source.name):
                if block.strip():
                    yield block, line

    def _kinds_in(self, block: bytes, line: int, target: str | None) -> dict[str, str]:
        try:
            table = _read_fast(block, None)
            parts = {name: _kind_of_column(table[name]) for name in table.column_names}
        except (pa.ArrowInvalid, _NotPlainError):
            objects = list(self._objects(block, line))
            names = dict.fromkeys(name for row in objects for name in row)
            parts = {name: _kind_of_values([row.get(name) for row in objects]) for name in names}
        if target in parts and parts[target] in ("boolean", "date"):
            parts[target] = "text"
        return parts

    def _parsed(self, block: bytes, line: int, kinds: Mapping[str, str]) -> Any:
        types = {**FAST_TYPES, "empty": pa.float64()}
        schema = pa.schema([(name, types.get(kind, pa.string())) for name, kind in kinds.items()])
        try:
            return _read_fast(block, schema).select(list(kinds))
        except pa.ArrowInvalid:
            objects = list(self._objects(block, line))
            columns = [
                pa.array([_as_written(row.get(name)) for row in objects], pa.string())
                for name in kinds
            ]
            return pa.table(columns, names=list(kinds))

    def _objects(self, block: bytes, line: int) -> Iterator[dict[str, Any]]:
        """The objects of a block, with numbers as they are written."""
        for place, text in enumerate(block.split(b"\n"), start=line):
            if not text.strip():
                continue
            try:
                found = json.loads(
                    text, parse_int=_Digits, parse_float=_Digits, parse_constant=_Digits
                )
            except ValueError:
                found = None
            if not isinstance(found, dict):
                raise TableError(f"{self.source.name} has no JSON object in line {place}.")
            for name, value in found.items():
                if isinstance(value, dict | list):
                    raise TableError(
                        f"{self.source.name} has a nested value of {name!r} in line {place}; a "
                        "table has one number, text or truth value in a cell."
                    )
            yield found


class _NotPlainError(Exception):
    """A column that holds objects or lists."""


def _read_fast(block: bytes, schema: Any) -> Any:
    return arrow_json.read_json(
        pa.BufferReader(block),
        read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=schema,
            unexpected_field_behavior="infer" if schema is None else "ignore",
        ),
    )


def _kind_of_column(column: Any) -> str:
    if pt.is_integer(column.type):
        return "number" if column.null_count else "integer"
    for matches, kind in (
        (pt.is_null, "empty"),
        (pt.is_floating, "number"),
        (pt.is_boolean, "boolean"),
        (pt.is_timestamp, "date"),
    ):
        if matches(column.type):
            return kind
    if not pt.is_string(column.type):
        raise _NotPlainError
    return _kind_of_strings(column)


def _kind_of_strings(column: Any) -> str:
    """Texts stay texts, even of digits; dates have no other form in JSON."""
    plain = without_marks(column)
    if plain.null_count == len(plain):
        return "empty"
    return "date" if accepts(dates, plain) else "text"


def _kind_of_values(values: list[Any]) -> str:
    """Kind of a column by values that the fast parser refuses."""
    texts = [value for value in values if type(value) is str]
    kinds = {_kind_of_value(value) for value in values if type(value) is not str}
    if texts:
        kinds.add(_kind_of_strings(pa.array(texts, pa.string())))
    return reduce(joined_kind, kinds)


def _kind_of_value(value: _Digits | bool | None) -> str:
    if isinstance(value, _Digits):
        return "integer" if value.lstrip("-").isdigit() else "number"
    return "empty" if value is None else "boolean"


def _as_written(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else value
