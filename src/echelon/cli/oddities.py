"""What is easily overlooked in new tables: columns without a value, and categories never seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from echelon.tables import Schema

_MOST_CATEGORIES = 100


class Oddities:
    """Columns of a model's inputs that have had no value so far, and texts that it does not know.

    Parameters
    ----------
    schema : Schema
    """

    def __init__(self, schema: Schema) -> None:
        from echelon.tables.faults import MISSING_MARKS

        # A column of sentences has new ones in every row, of which there is nothing to say.
        self._known = {
            column.name: set(column.levels or ())
            for column in schema.columns
            if column.kind == "category" and len(column.levels or ()) <= _MOST_CATEGORIES
        }
        self._missing = {
            column.name: {*MISSING_MARKS, *column.missing} for column in schema.columns
        }
        self._empty = dict.fromkeys(schema.names)
        self._new: dict[str, str] = {}
        self._rows: dict[str, int] = dict.fromkeys(self._known, 0)

    def watch(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """The pieces of a table as they are."""
        from echelon.tables.column import level_text

        for frame in pieces:
            for name in [name for name in self._empty if frame[name].notna().any()]:
                del self._empty[name]
            for name, known in self._known.items():
                for value, count in frame[name].value_counts().items():
                    text = level_text(value)
                    if count and text not in known and text.strip() not in self._missing[name]:
                        self._new.setdefault(name, text)
                        self._rows[name] += count
            yield frame

    def notes(self, data: str) -> list[str]:
        """A sentence for each column without a value, then for each with new or rare texts."""
        from echelon.tables.schema import FEWEST_ROWS

        return [f"No row of {data} has a value in column {name!r}." for name in self._empty] + [
            f"Column {name!r} has categories of fewer than {FEWEST_ROWS} training rows, or of "
            f"none, such as {text!r}, in {self._rows[name]:,} "
            f"{'row' if self._rows[name] == 1 else 'rows'}."
            for name, text in self._new.items()
        ]
