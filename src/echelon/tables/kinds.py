"""Kinds of columns, told from all cells and never from the first ones only.

Cells are pyarrow arrays of text, so that a cell means the same whether a file is read whole or in
parts, and whether its column was parsed fast or cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .faults import MISSING_MARKS, wrong_cell

# What a column of a file holds. "empty" has no value; "text" keeps cells as they are written.
# "label" is a target: text, or numbers where all cells are, and nothing else is guessed.
NUMERIC = ("integer", "number")
FAST_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
#: texts that repeat, each kept once
CODED = pa.dictionary(pa.int32(), pa.string())
_YES = ("true", "yes")
_NO = ("false", "no")
_NOTHING = pa.scalar(None, pa.string())
_MANY, _FEW = 512, 16
#: digits that a whole number, and signs that another number, is surely made of
_DIGITS, _DECIMAL = r"^-?\d{1,18}$", r"^-?\d{1,18}(\.\d{1,18})?$"

Converter = Callable[[Any], Any]


def _spellings(words: tuple[str, ...]) -> list[str]:
    """Words in lower case, capitalised and in capitals."""
    return [form for word in words for form in (word, word.capitalize(), word.upper())]


TRUE_WORDS = _spellings(_YES)
FALSE_WORDS = _spellings(_NO)


def without_marks(text: Any) -> Any:
    """Text without spaces around it, null where it is a mark of a missing value."""
    trimmed = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(trimmed, value_set=pa.array(MISSING_MARKS))
    return pc.if_else(missing, _NOTHING, trimmed)


def _numbers_of(type: Any) -> Converter:
    """A function from text to numbers; ArrowInvalid if some cell is none."""
    return lambda text: pc.cast(without_marks(text), type)


def truths(text: Any) -> Any:
    """Text as truth values; ArrowInvalid if some cell is none."""
    lower = pc.utf8_lower(without_marks(text))
    true = pc.is_in(lower, value_set=pa.array([*_YES, "1"]))
    known = pc.or_(true, pc.is_in(lower, value_set=pa.array([*_NO, "0"])))
    if not pc.all(pc.or_(known, pc.is_null(lower)), min_count=0).as_py():
        raise pa.ArrowInvalid("not a truth value")
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def words_of_truth(text: Any) -> Any:
    """Text as truth values where it is written in words; ArrowInvalid if some cell is none."""
    if pc.any(pc.is_in(text, value_set=pa.array(["0", "1"])), min_count=0).as_py():
        raise pa.ArrowInvalid("a number")
    return truths(text)


def dates(text: Any) -> Any:
    """Text as dates or times in ISO form, in UTC where a zone is stated; else ArrowInvalid."""
    plain = without_marks(text)
    if isinstance(plain, pa.ChunkedArray):
        plain = plain.combine_chunks()
    naive, zoned = pa.timestamp("us"), pa.timestamp("us", tz="UTC")
    try:
        return pc.cast(plain, naive)
    except pa.ArrowInvalid:
        has_zone = pc.match_substring_regex(plain, r"\d:\d\d.*(Z|[+-]\d\d(:?\d\d)?)$")
        with_zone = pc.cast(pc.if_else(has_zone, plain, _NOTHING), zoned)
        without = pc.cast(pc.if_else(has_zone, _NOTHING, plain), naive)
        return pc.coalesce(without, pc.cast(with_zone, naive))


_CONVERTERS = {
    "integer": _numbers_of(pa.int64()),
    "number": _numbers_of(pa.float64()),
    "boolean": truths,
    "date": dates,
}
# In the order in which they are tried; 0 and 1 are numbers unless a column is known to hold truths.
_GUESSES = {**_CONVERTERS, "boolean": words_of_truth}


def accepts(convert: Converter, text: Any) -> bool:
    """Whether a converter takes all cells, of which the first ones are tried first."""
    try:
        if len(text) > _MANY:
            convert(text.slice(0, _FEW))
        convert(text)
    except pa.ArrowInvalid:
        return False
    return True


def joined_kind(one: str, other: str) -> str:
    """Kind of a column that is of one kind in some rows and of another in others."""
    if one == other:
        return one
    kinds = {one, other} - {"empty"}
    # Whole numbers with gaps are numbers: no integer stands for a missing one.
    return "number" if kinds <= set(NUMERIC) else kinds.pop() if len(kinds) == 1 else "text"


def kind_of_text(text: Any) -> str:
    """Kind of a part of a column, given as text."""
    plain = without_marks(text)
    if plain.null_count == len(plain):
        return "empty"
    tried = (kind for kind in _GUESSES if kind != "integer" or not plain.null_count)
    return next((kind for kind in tried if accepts(_GUESSES[kind], plain)), "text")


def kinds_of_texts(columns: Sequence[Any]) -> list[str]:
    """Kinds of parts of columns, each as `kind_of_text` has it, all at once as far as they go.

    Plainly written numbers, which many columns of a wide table are, are told from all cells of all
    columns together.
    """
    n = len(columns[0])
    cells = without_marks(pa.concat_arrays(columns))
    held = _flags(pc.is_valid(cells)).reshape(-1, n)
    whole, decimal = (
        (_flags(pc.match_substring_regex(cells, form)).reshape(-1, n) | ~held).all(axis=1)
        for form in (_DIGITS, _DECIMAL)
    )
    some, every = held.any(axis=1), held.all(axis=1)
    found = np.select([~some, whole & every, decimal], ["empty", "integer", "number"], "").tolist()
    pairs = zip(found, columns, strict=True)
    return [kind or kind_of_text(column) for kind, column in pairs]


def _flags(found: Any) -> np.ndarray:
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False))


def kind_with(
    known: str, text: Any, begun: bool, kind_of: Callable[[Any], str] = kind_of_text
) -> str:
    """Kind of a column of which some cells are known to be of a kind, with more of its cells."""
    if known == "text":
        return known
    guessed = kind_of is kind_of_text and known in ("number", "boolean", "date")
    if guessed and accepts(_GUESSES[known], text):
        return known
    return joined_kind(known, kind_of(text)) if begun else kind_of(text)


def kind_of_labels(text: Any) -> str:
    """Kind of a part of a target: a cell is missing where it is empty."""
    filled = pc.filter(text, pc.and_kleene(pc.is_valid(text), pc.not_equal(text, "")))
    if not len(filled):
        return "empty"
    if without_marks(filled).null_count:
        return "text"
    found = kind_of_text(filled)
    if found not in NUMERIC:
        return "text"
    return found if len(filled) == len(text) else "number"


def typed(kinds: Mapping[str, str], dates: bool = False) -> dict[str, Any]:
    """Types by which a file's columns are parsed at once; texts, and dates unless wanted, by none.

    With such types fewer cells are accepted than as text, and those that are mean the same.
    """
    fast = {**FAST_TYPES, "date": pa.timestamp("us")} if dates else FAST_TYPES
    return {name: fast.get(kind, pa.string()) for name, kind in kinds.items()}


def as_if_known(table: Any, kinds: Mapping[str, str], target: str | None) -> Any:
    """A table parsed by the kinds of its first rows, as if the kinds of all had been known.

    A column that is "empty" in these is text here, and of the kind that all its cells show.
    """
    columns = []
    for name, column in zip(kinds, table.columns, strict=True):
        kind = kinds[name]
        if kind == "empty":
            kind = (kind_of_labels if name == target else kind_of_text)(column)
        if pa.types.is_dictionary(column.type):
            column = _without_empty_text(column)
        elif pa.types.is_string(column.type):
            column = column_of_text(column, kind, "", name, 0)
        elif kind == "integer" and column.null_count:
            column = pc.cast(column, pa.float64(), safe=False)
        columns.append(column)
    return pa.table(columns, names=list(kinds))


def _without_empty_text(coded: Any) -> Any:
    """Texts with one dictionary, null where they are empty."""
    coded = coded.unify_dictionaries()
    texts = coded.chunk(0).dictionary
    empty = pc.index(texts, "").as_py()
    if empty < 0:
        return coded
    absent = pa.scalar(None, CODED.index_type)
    codes = (pc.if_else(pc.equal(c.indices, empty), absent, c.indices) for c in coded.chunks)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c, texts) for c in codes], CODED)


def columns_of_text(table: Any, kinds: Mapping[str, str], where: str, first_row: int) -> Any:
    """A table with its columns of text as their kinds."""
    columns = [
        column_of_text(column, kinds.get(name, "text"), where, name, first_row)
        if pa.types.is_string(column.type)
        else column
        for name, column in zip(table.schema.names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.schema.names)


def column_of_text(text: Any, kind: str, where: str, name: str, first_row: int) -> Any:
    """A column of text as its kind, or an error that names the first cell that is not of it."""
    if kind == "empty":
        return pa.nulls(len(text), pa.float64())
    if kind == "text":
        empty = pc.equal(text, "")
        return pc.if_else(empty, _NOTHING, text) if pc.any(empty).as_py() else text
    try:
        return _CONVERTERS[kind](text)
    except pa.ArrowInvalid:
        position = _first_refused(text, _CONVERTERS[kind])
        found = text[position].as_py()
        raise wrong_cell(where, name, kind, found, first_row + position) from None


def _first_refused(text: Any, convert: Converter) -> int:
    """Position of the first cell that a converter refuses, found by halving."""
    start, stop = 0, len(text)
    while stop - start > 1:
        middle = (start + stop) // 2
        if accepts(convert, text.slice(start, middle - start)):
            start = middle
        else:
            stop = middle
    return start
