"""Cells of text as numbers, truth values and dates, and the marks of missing ones.

Everything here works on pyarrow arrays of text, so that a cell means the same whether a file is
read whole or in parts, and whether its column was parsed fast or cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MISSING_MARKS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None")
_YES = ("true", "yes")
_NO = ("false", "no")


def spellings(words: tuple[str, ...]) -> list[str]:
    """Words in lower case, capitalised and in capitals."""
    return [form for word in words for form in (word, word.capitalize(), word.upper())]


TRUE_WORDS = spellings(_YES)
FALSE_WORDS = spellings(_NO)
TRUTH_IN_WORDS = "true, false, yes and no"

Converter = Callable[[Any], Any]


def without_marks(text: Any) -> Any:
    """Text without spaces around it, null where it is a mark of a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(trimmed, value_set=pa.array(MISSING_MARKS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def numbers(text: Any) -> Any:
    """Text as numbers; ArrowInvalid if some cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(without_marks(text), pa.float64())


def integers(text: Any) -> Any:
    """Text as whole numbers; ArrowInvalid if some cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(without_marks(text), pa.int64())


def truths(text: Any) -> Any:
    """Text as truth values; ArrowInvalid if some cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lower = pc.utf8_lower(without_marks(text))
    true = pc.is_in(lower, value_set=pa.array([*_YES, "1"]))
    known = pc.or_(true, pc.is_in(lower, value_set=pa.array([*_NO, "0"])))
    if not pc.all(pc.or_(known, pc.is_null(lower)), min_count=0).as_py():
        raise pa.ArrowInvalid("not a truth value")
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def words_of_truth(text: Any) -> Any:
    """Text as truth values where it is written in words; ArrowInvalid if some cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.any(pc.is_in(text, value_set=pa.array(["0", "1"])), min_count=0).as_py():
        raise pa.ArrowInvalid("a number")
    return truths(text)


def dates(text: Any) -> Any:
    """Text as dates or times in ISO form, in UTC where a zone is stated; else ArrowInvalid."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = without_marks(text)
    if isinstance(plain, pa.ChunkedArray):
        plain = plain.combine_chunks()
    naive, zoned = pa.timestamp("us"), pa.timestamp("us", tz="UTC")
    try:
        return pc.cast(plain, naive)
    except pa.ArrowInvalid:
        has_zone = pc.match_substring_regex(plain, r"\d:\d\d.*(Z|[+-]\d\d(:?\d\d)?)$")
        nothing = pa.scalar(None, pa.string())
        with_zone = pc.cast(pc.if_else(has_zone, plain, nothing), zoned)
        without = pc.cast(pc.if_else(has_zone, nothing, plain), naive)
        return pc.coalesce(without, pc.cast(with_zone, naive))


def first_refused(text: Any, convert: Converter) -> int:
    """Position of the first cell that a converter refuses, found by halving."""
    import pyarrow as pa

    start, stop = 0, len(text)
    while stop - start > 1:
        middle = (start + stop) // 2
        try:
            convert(text.slice(start, middle - start))
            start = middle
        except pa.ArrowInvalid:
            stop = middle
    return start


def accepts(convert: Converter, text: Any) -> bool:
    """Whether a converter takes all cells."""
    import pyarrow as pa

    try:
        convert(text)
    except pa.ArrowInvalid:
        return False
    return True
