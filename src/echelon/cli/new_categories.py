"""Categories of new tables that a model has not seen, which are easily overlooked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from echelon.tables import Schema

_MOST_CATEGORIES = 100


class NewCategories:
    """Texts of columns that the model has not seen there.

    Parameters
    ----------
    schema : Schema
    """

    def __init__(self, schema: Schema) -> None:
        # A column of sentences has new ones in every row, of which there is nothing to say.
        self._known = {
            column.name: set(column.levels or ())
            for column in schema.columns
            if column.kind == "category" and len(column.levels or ()) <= _MOST_CATEGORIES
        }
        self._new: dict[str, str] = {}
        self._rows: dict[str, int] = dict.fromkeys(self._known, 0)

    def watch(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """The pieces as they are."""
        for frame in pieces:
            self.look_at(frame)
            yield frame

    def look_at(self, frame: Any) -> None:
        """Count the new texts of a table or a piece of it."""
        for name, known in self._known.items():
            self._count(name, known, frame[name].value_counts())

    def _count(self, name: str, known: set[str], counts: Any) -> None:
        from echelon.tables.faults import MISSING_MARKS
        from echelon.tables.schema import level_text

        for value, count in counts.items():
            text = level_text(value)
            if count and text not in known and text.strip() not in MISSING_MARKS:
                self._new.setdefault(name, text)
                self._rows[name] += count

    def notes(self) -> list[str]:
        """A sentence for each column with new texts."""
        return [
            f"Column {name!r} has categories that the model has not seen, such as {text!r}, in "
            f"{self._rows[name]:,} {'row' if self._rows[name] == 1 else 'rows'}."
            for name, text in self._new.items()
        ]
