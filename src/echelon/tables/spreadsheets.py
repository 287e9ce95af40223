"""Sheets of Excel and OpenDocument files: a header, found below titles, and typed cells."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from itertools import compress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import python_calamine as calamine

from .blocks import TwoPassReader
from .column import level_text
from .faults import Argument, Sentence, TableError, listed, refuse_header
from .formats import OLE_MAGIC
from .kinds import NUMERIC, column_of_text, kind_of_labels, kind_of_text, without_marks
from .sources import Source

_ROWS = 65_536
_PROTECTED = "EncryptedPackage".encode("utf-16-le")

Row = Sequence[Any]


class SheetReader(TwoPassReader):
    """A sheet of a spreadsheet as pyarrow tables.

    Parameters
    ----------
    source : Source
    sheet : str, optional
        Its name, or its number from 1 on; needed where several have rows.
    """

    why_empty = (
        ", where errors such as #REF! and formulas without a stored value, which a spreadsheet "
        "program computes and saves, count as empty"
    )

    def __init__(self, source: Source, sheet: str | None = None) -> None:
        super().__init__(source)
        self._sheet = sheet
        self._columns: dict[str, Any] = {}

    def names(self) -> list[str]:
        """Names of the columns."""
        if self._names is None:
            self._read()
            self._names = list(self._columns)
        return self._names

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all its cells."""
        found = {}
        for name in self.names():
            column = self._columns[name]
            if name in self.numeric:
                found[name] = "integer" if pa.types.is_integer(column.type) else "number"
            else:
                found[name] = (kind_of_labels if name == target else kind_of_text)(column)
        return found

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts."""
        wanted = [name for name in self.names() if keep is None or name in keep]
        rows = len(next(iter(self._columns.values())))
        for start in range(0, rows, _ROWS):
            parts = {name: self._columns[name].slice(start, _ROWS) for name in wanted}
            columns = [
                self._as_kind(part, kinds.get(name, "text"), name, start)
                for name, part in parts.items()
            ]
            yield pa.table(columns, names=wanted)

    def _as_kind(self, part: Any, kind: str, name: str, start: int) -> Any:
        if name not in self.numeric and kind == "text":
            return part
        if name not in self.numeric:
            return column_of_text(part, kind, self.source.name, name, start)
        if kind in NUMERIC:
            return part.cast(pa.int64() if kind == "integer" else pa.float64())
        text = pa.array([_text(cell) for cell in part.to_pylist()], pa.string())
        return column_of_text(text, kind, self.source.name, name, start)

    def _read(self) -> None:
        sheet = self._chosen()
        rows = [
            (place, row)
            for place, row in enumerate(sheet.to_python(skip_empty_area=False))
            if any(not _is_empty(cell) for cell in row)
        ]
        where = f"Sheet {sheet.name!r} of {self.source.name}"
        if not rows:
            raise TableError(f"{where} is empty.")
        header = _header(rows)
        names, used = _names_of(rows, header)
        self._tell(sheet, where, rows, header)
        refuse_header(where, names)
        if header + 1 == len(rows):
            raise TableError(f"{where} has a header and no rows.")
        cells = zip(*(compress(row, used) for _, row in rows[header + 1 :]), strict=True)
        for name, column in zip(names, cells, strict=True):
            self._columns[name] = self._typed(name, column)

    def _typed(self, name: str, cells: Row) -> Any:
        """Cells as numbers where they are nothing else, otherwise as a text file has them."""
        filled = [cell for cell in cells if not _is_empty(cell)]
        numbers = [type(cell) in (int, float) for cell in filled]
        if filled and all(numbers):
            self.numeric.add(name)
            column = pa.array([None if _is_empty(cell) else float(cell) for cell in cells])
            whole = not column.null_count and all(float(cell).is_integer() for cell in filled)
            return pc.cast(column, pa.int64(), safe=False) if whole else column
        if any(isinstance(cell, time | timedelta) for cell in filled):
            self.notes.append(Sentence(f"Column {name!r} holds times of day, read as seconds."))
        texts = pa.array([_text(cell) for cell in cells], pa.string())
        if 2 * sum(numbers) > len(numbers) and kind_of_text(texts) == "text":
            others = (c for c, is_number in zip(filled, numbers, strict=True) if not is_number)
            plain = without_marks(pa.array([_text(cell) for cell in others], pa.string()))
            odd = next(text for text in plain.to_pylist() if text is not None)
            self.notes.append(
                Sentence(
                    f"Column {name!r} has numbers and others, such as {odd!r}, and is read as "
                    "text; if that stands for a missing value, give ",
                    Argument("missing", f"{name}: {odd}"),
                    ".",
                )
            )
        return texts

    def _tell(self, sheet: Any, where: str, rows: Sequence[tuple[int, Row]], header: int) -> None:
        """Refuse merged cells in the header; say what is passed over, and other merged cells."""
        first = rows[header][0]
        following = rows[header + 1][0] if header + 1 < len(rows) else first + 1
        below = []
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
            area = f"{_column_letters(left)}{top + 1}:{_column_letters(right)}{bottom + 1}"
            if top <= first <= bottom and (right > left or bottom >= following):
                raise TableError(
                    f"{where} has merged cells in its header, {area}; give every column a name of "
                    "its own in one row."
                )
            below += [area] if bottom > first else []
        if below:
            self.notes.append(
                Sentence(
                    f"{where} has merged cells, {listed(below, 3)}, of which only the first has a "
                    "value; the others are missing."
                )
            )
        if header:
            self.notes.append(
                Sentence(f"{where} has its header in row {first + 1}; what is above is left out.")
            )

    def _chosen(self) -> Any:
        """The sheet that is named, or the only one with rows."""
        book = self._book()
        try:
            if self._sheet is not None:
                return book.get_sheet_by_name(self._named(book.sheet_names, self._sheet))
            kinds = (calamine.SheetTypeEnum.WorkSheet, calamine.SheetTypeEnum.MacroSheet)
            metadata = [entry for entry in book.sheets_metadata if entry.typ in kinds]
            for shown in (True, False):
                names = [
                    entry.name
                    for entry in metadata
                    if (entry.visible == calamine.SheetVisibleEnum.Visible) == shown
                ]
                filled = [s for s in map(book.get_sheet_by_name, names) if s.height]
                if filled:
                    return self._only(filled)
        except calamine.CalamineError as error:
            raise self._damaged(error) from None
        raise TableError(f"{self.source.name} has no sheet with rows.")

    def _only(self, filled: Sequence[Any]) -> Any:
        if len(filled) == 1:
            return filled[0]
        raise TableError(
            f"{self.source.name} has {len(filled)} sheets with rows, "
            f"{listed(repr(sheet.name) for sheet in filled)}; name one with ",
            Argument("sheet", filled[0].name),
            ".",
        )

    def _named(self, names: Sequence[str], sheet: str) -> str:
        if sheet in names:
            return sheet
        if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
            return names[int(sheet) - 1]
        raise TableError(
            f"{self.source.name} has no sheet {sheet!r}; it has {listed(map(repr, names), 20)}."
        )

    def _book(self) -> Any:
        self.source.keep()
        with self.source.open() as stream:
            content = stream.read()
        if content.startswith(OLE_MAGIC) and _PROTECTED in content:
            raise self._protected()
        try:
            return calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        except calamine.PasswordError:
            raise self._protected() from None
        except calamine.CalamineError as error:
            raise self._damaged(error) from None

    def _protected(self) -> TableError:
        return TableError(
            f"{self.source.name} is protected by a password; save it without one to read it."
        )

    def _damaged(self, error: Exception) -> TableError:
        reason = (str(error).strip().splitlines() or ["it is damaged"])[0].rstrip(".")
        return TableError(f"{self.source.name} cannot be read as a spreadsheet: {reason}.")


def _is_empty(cell: Any) -> bool:
    return type(cell) is str and not cell.strip()


def _text(cell: Any) -> str | None:
    """A cell as a text file has it; None if it is empty."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, time):
        return level_text((cell.hour * 60 + cell.minute) * 60.0 + cell.second)
    if isinstance(cell, timedelta):
        return level_text(cell.total_seconds())
    return None if cell is None or _is_empty(cell) else level_text(cell)


def _header(rows: Sequence[tuple[int, Row]]) -> int:
    """Place of the header: the first row that fills half of the table's width, below titles."""
    filled = [sum(not _is_empty(cell) for cell in row) for _, row in rows]
    width = max(filled)
    enough = max(min(2, width), (width + 1) // 2)
    return next(place for place, count in enumerate(filled) if count >= enough)


def _names_of(rows: Sequence[tuple[int, Row]], header: int) -> tuple[list[str], list[bool]]:
    """Names of the columns in use, and which of all columns these are."""
    head = [(_text(cell) or "").strip() for cell in rows[header][1]]
    columns = zip(*(row for _, row in rows[header:]), strict=True)
    used = [not all(map(_is_empty, column)) for column in columns]
    names = [name or f"column {place}" for place, name in enumerate(head, 1)]
    return list(compress(names, used)), used


def _column_letters(place: int) -> str:
    """Name of a column as spreadsheets have it.

    Examples
    --------
    >>> _column_letters(0), _column_letters(27)
    ('A', 'AB')
    """
    return (_column_letters(place // 26 - 1) if place >= 26 else "") + chr(65 + place % 26)
