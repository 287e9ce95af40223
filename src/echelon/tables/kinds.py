"""Kinds of columns, told from all cells and never from the first ones only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import cells
from .faults import TableError, inside

# What a column of a file holds. "empty" has no value; "text" keeps cells as they are written.
# "label" is a target: text, or numbers where all cells are, and nothing else is guessed.
NUMERIC = ("integer", "number")
_CONVERTERS = {
    "integer": cells.integers,
    "number": cells.numbers,
    "boolean": cells.truths,
    "date": cells.dates,
}
_WANTED = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": f"one of {cells.TRUTH_IN_WORDS}",
    "date": "a date such as 2024-01-31",
}


def joined_kind(one: str, other: str) -> str:
    """Kind of a column that is of one kind in some rows and of another in others."""
    if one == other:
        return one
    kinds = {one, other} - {"empty"}
    # Whole numbers with gaps are numbers: no integer stands for a missing one.
    return "number" if kinds <= set(NUMERIC) else kinds.pop() if len(kinds) == 1 else "text"


def kind_of_text(text: Any) -> str:
    """Kind of a part of a column, given as text."""
    plain = cells.without_marks(text)
    if plain.null_count == len(plain):
        return "empty"
    whole = () if plain.null_count else (("integer", cells.integers),)
    for kind, convert in (
        *whole,
        ("number", cells.numbers),
        ("boolean", cells.words_of_truth),
        ("date", cells.dates),
    ):
        if cells.accepts(convert, plain):
            return kind
    return "text"


def kind_with(
    known: str, text: Any, begun: bool, kind_of: Callable[[Any], str] = kind_of_text
) -> str:
    """Kind of a column of which some cells are known to be of a kind, with more of its cells."""
    if known == "text":
        return known
    if kind_of is kind_of_text and known in ("number", "boolean", "date"):
        convert = cells.words_of_truth if known == "boolean" else _CONVERTERS[known]
        if cells.accepts(convert, text):
            return known
    return joined_kind(known, kind_of(text)) if begun else kind_of(text)


def kind_of_labels(text: Any) -> str:
    """Kind of a part of a target: a cell is missing where it is empty."""
    import pyarrow.compute as pc

    filled = pc.filter(text, pc.and_kleene(pc.is_valid(text), pc.not_equal(text, "")))
    if not len(filled):
        return "empty"
    if cells.without_marks(filled).null_count:
        return "text"
    found = kind_of_text(filled)
    if found not in NUMERIC:
        return "text"
    return found if len(filled) == len(text) else "number"


def column_of_text(text: Any, kind: str, where: str, name: str, first_row: int) -> Any:
    """A column of text as its kind, or an error that names the first cell that is not of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "empty":
        return pa.nulls(len(text), pa.float64())
    if kind == "text":
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    convert = _CONVERTERS[kind]
    try:
        return convert(text)
    except pa.ArrowInvalid:
        position = cells.first_refused(text, convert)
        found = text[position].as_py()
        raise wrong_cell(where, name, kind, found, first_row + position) from None


def wrong_cell(where: str, name: str, kind: str, found: object, row: int) -> TableError:
    """The error for a cell that is not of its column's kind; rows count from 0."""
    return TableError(
        f"Column {name!r} of {inside(where)} holds {found!r} in row {row + 1}, where "
        f"{_WANTED[kind]} is expected."
    )
