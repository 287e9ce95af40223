"""Files of one format that are read as one table: those in a folder, or that match a pattern."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from .arrow_files import ArrowReader
from .blocks import TwoPassReader
from .faults import TableError, refuse_other_columns
from .kinds import joined_kind

if TYPE_CHECKING:
    from .delimited import DelimitedReader
    from .sources import Source


def named_source(name: str) -> Source:
    """What stands for several sources where only their name is asked for."""
    return cast("Source", SimpleNamespace(name=name))


class FilesReader(TwoPassReader):
    """Tables of several files with the same columns, one after the other.

    Parameters
    ----------
    readers : sequence of readers
        Of one format.
    name : str
        What all files are called together.
    """

    def __init__(
        self, readers: Sequence[ArrowReader | DelimitedReader | TwoPassReader], name: str
    ) -> None:
        super().__init__(named_source(name))
        self._readers = readers
        parts = [reader for reader in readers if isinstance(reader, TwoPassReader)]
        self.needs_kinds = bool(parts)
        self.why_empty = parts[0].why_empty if parts else ""
        self.absent_is_zero = any(reader.absent_is_zero for reader in parts)

    def names(self) -> list[str]:
        """Names of the columns, in the order of the first file."""
        if self._names is None:
            first, *others = self._readers
            names = dict.fromkeys(first.names())
            for reader in others:
                if self.absent_is_zero:
                    names.update(dict.fromkeys(reader.names()))
                else:
                    refuse_other_columns(
                        reader.source.name, reader.names(), first.source.name, list(names)
                    )
            self._names = list(names)
        return self._names

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all files."""
        kinds: dict[str, str] = {}
        names = self.names()
        for reader in self._readers:
            for name, kind in reader.kinds(target).items():
                kinds[name] = joined_kind(kinds.get(name, kind), kind)
            if isinstance(reader, TwoPassReader):
                self.notes += reader.notes
        numeric = [r.numeric for r in self._readers if isinstance(r, TwoPassReader)]
        self.numeric = set.intersection(*numeric) if numeric else set()
        return {name: kinds[name] for name in names if name in kinds}

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The tables in parts, with the columns in one order and of one type."""
        wanted = [name for name in self.names() if keep is None or name in keep]
        types = self._types(wanted)
        levels: dict[str, Any] = {}
        for reader in self._readers:
            for table in reader.tables(kinds, keep):
                self._refuse_other_order(reader.source.name, table, levels)
                part = table.select(wanted)
                yield part if types is None else part.cast(types)

    def _types(self, wanted: Sequence[str]) -> Any:
        """Types of the columns that all files have, where files state types."""
        first, *others = self._readers
        if not isinstance(first, ArrowReader):
            return None
        types = first.types()
        for reader in others:
            assert isinstance(reader, ArrowReader)
            for name, found in reader.types().items():
                if name not in wanted:
                    continue
                joined = _joined_type(types[name], found)
                if joined is None:
                    raise TableError(
                        f"{reader.source.name} has values of type {found} in column {name!r}, "
                        f"where {first.source.name} has {types[name]}."
                    )
                types[name] = joined
        plain = {name: pa.float64() if pa.types.is_null(t) else t for name, t in types.items()}
        return pa.schema([(name, plain[name]) for name in wanted])

    def _refuse_other_order(self, name: str, table: Any, levels: dict[str, Any]) -> None:
        """Refuse ordered categories with other levels than in the first file."""
        for field in table.schema:
            if not pa.types.is_dictionary(field.type) or not field.type.ordered:
                continue
            for chunk in table.column(field.name).chunks:
                known = levels.setdefault(field.name, chunk.dictionary)
                if not known.equals(chunk.dictionary):
                    raise TableError(
                        f"{name} has other levels of the ordered column {field.name!r} than "
                        f"{self._readers[0].source.name}."
                    )


def _joined_type(one: Any, other: Any) -> Any:
    """Type that holds the values of both; None if there is none."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    return pa.float64() if {one, other} == {pa.int64(), pa.float64()} else None
