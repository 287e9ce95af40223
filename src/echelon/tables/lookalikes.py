"""Columns that are not what they look like: texts of numbers, dates or sentences, and ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .faults import Argument, TableError, columns_phrase, inside
from .schema import Schema

# A few texts such as 1,2 or 10% may be codes or categories.
_MOST_CODES = 10
_COMMA_NUMBER = re.compile(r"[+-]?\d+(,\d+)?")
_THOUSANDS_COMMAS = re.compile(r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?")
# Spaces that no line is broken at stand between thousands too.
_GROUPS = r"[+-]?\d{1,3}(?:[.' \u00a0\u202f]\d{3})+(?:,\d+)?"
_GROUPED = re.compile(_GROUPS)
_GROUPED_OR_SMALL = re.compile(rf"{_GROUPS}|[+-]?\d{{1,3}}(?:,\d+)?")
_SIGN = r"(?:[$€£¥₹%]|USD|EUR|GBP|CHF)"
_AMOUNT = r"[+-]?\d+(?:[.,' \u00a0\u202f]\d+)*"
_SIGNED = re.compile(rf"-?{_SIGN}\s*{_AMOUNT}|{_AMOUNT}\s*{_SIGN}")
_DATE = re.compile(r"\d{1,4}([./-])(\d{1,2}|[A-Za-z]{3})\1\d{2,4}(\s.*)?")
_SENTENCES = 50
_FEWEST_ROWS = 20
_LONG_DIGITS = 9
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|uuid|guid|index|key|rownames?|row)$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")


def refuse_written_numbers(schema: Schema, where: str) -> None:
    """Refuse numbers that would be taken for categories, and say how to write them.

    Parameters
    ----------
    schema : Schema
    where : str
        What the table is called.

    Raises
    ------
    TableError
    """
    faults = {
        column.name: _fault([level.strip() for level in column.levels or ()])
        for column in schema.columns
    }
    found = [name for name, fault in faults.items() if fault is not None]
    if not found:
        return
    first, *others = found
    more = f"; look at {columns_phrase(others)} too" if others else ""
    raise TableError(
        f"Column {first!r} of {inside(where)} holds numbers with {faults[first]}, or leave it out "
        "with ",
        Argument("drop", [first]),
        f"{more}.",
    )


def _fault(levels: Sequence[str]) -> str | None:
    """What stands in numbers that should not, an example, and what to do."""
    if len(levels) <= _MOST_CODES:
        return None
    commas = [level for level in levels if "," in level]
    if len(commas) > _MOST_CODES and _all_match(_THOUSANDS_COMMAS, levels):
        return (
            f"a comma, such as {commas[0]!r}; write them without it, or with a decimal point if "
            "that is what it stands for"
        )
    if len(commas) > _MOST_CODES and _all_match(_COMMA_NUMBER, levels):
        return f"a comma, such as {commas[0]!r}; write them with a decimal point"
    if _all_match(_SIGNED, levels):
        return f"signs, such as {levels[0]!r}; write plain numbers such as 1234.5"
    grouped = [level for level in levels if _GROUPED.fullmatch(level)]
    if len(grouped) > _MOST_CODES and _all_match(_GROUPED_OR_SMALL, levels):
        return f"marks of thousands, such as {grouped[0]!r}; write plain numbers such as 1234.5"
    return None


def _all_match(pattern: re.Pattern[str], levels: Sequence[str]) -> bool:
    return all(pattern.fullmatch(level) for level in levels)


def notes_on_texts(schema: Schema, rows: int) -> list[str]:
    """Sentences on dates and free texts that are taken for categories.

    Parameters
    ----------
    schema : Schema
    rows : int
        Number of rows of the table.

    Examples
    --------
    >>> from echelon.tables import Column
    >>> notes_on_texts(Schema((Column("day", "category", ("1/2/2024", "13/2/2024")),)), 10)
    ["Column 'day' is taken for categories; write dates such as '1/2/2024' as 2024-01-31."]
    """
    notes = []
    for column in schema.columns:
        levels = column.levels or ()
        if levels and _all_match(_DATE, levels):
            notes.append(
                f"Column {column.name!r} is taken for categories; write dates such as "
                f"{levels[0]!r} as 2024-01-31."
            )
        elif len(levels) > max(_SENTENCES, rows // 2):
            notes.append(
                f"Column {column.name!r} has {len(levels):,} different texts in {rows:,} rows, of "
                "which models learn next to nothing; it may be better left out."
            )
    return notes


def identifier_reason(name: str, column: Any, kind: str) -> str | None:
    """Why a column looks like an identifier, or None.

    Parameters
    ----------
    name : str
    column : Series
        Of numbers, or of text.
    kind : str
        The column's kind in a schema.
    """
    if name == "qid":
        return "it names queries"
    if len(column) < _FEWEST_ROWS or column.isna().any() or not column.is_unique:
        return None
    if kind == "category":
        return "its text differs in every row"
    if kind != "number":
        return None
    values = column.to_numpy(dtype=np.float64)
    if not (values % 1 == 0).all():
        return None
    if (np.diff(values) == 1).all() and values[0] in (0, 1):
        return "it counts the rows"
    if _ID_NAME.search(name) or _CAMEL_ID.search(name):
        return "its name and its distinct whole numbers are those of an identifier"
    digits = {len(str(int(value))) for value in (values.min(), values.max())}
    if values.min() > 0 and len(digits) == 1 and digits.pop() >= _LONG_DIGITS:
        return "its long whole numbers differ in every row"
    return None
