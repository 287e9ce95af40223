"""Kinds and roles of columns, guessed from names and all cells where nobody has stated them.

Every guess that matters comes with a sentence that says how to overrule it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from .._utils.frames import cell_blocks
from .column import Column, absent_test, distinct_texts, level_text
from .faults import Argument, Sentence, columns_phrase, listed
from .labels import listed_labels, spelling_hint
from .notation import Ambiguous, find_notation
from .options import StatedColumn, TableOptions
from .scales import known_order

# More different texts than these are sentences or names; sentences have so many words on average,
# or letters of a script without blanks, and hardly repeat.
_SENTENCES = 50
_WORDS_OF_SENTENCE = 3.0
_LETTERS_OF_SENTENCE = 15.0
_SELDOM_REPEATED = 5
# Nothing so long is a number, a date or an answer.
_LETTERS_OF_LONG = 80
_WORDS_OF_LONG = 10.0
# Codes that questionnaires use for "refused", "does not know" and "not asked".
_EDGE_CODES = {
    s * c for c in (7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9999) for s in (1, -1)
}
_MOST_LEVELS_OF_SCALE = 11
_LONG_SCALE = 7
_FIRST = 500


@dataclass(frozen=True)
class Guess:
    """How a column is read.

    Parameters
    ----------
    column : Column
    notes : tuple of Sentence
        What is said aloud of it.
    problem : Sentence, optional
        What has to be stated before the column can be used.
    known_scale : bool
        Whether its order was read off its answers.
    codes : tuple of float
        Numbers at the edge of its scale that may stand for missing values.
    """

    column: Column
    notes: tuple[Sentence, ...] = ()
    problem: Sentence | None = None
    known_scale: bool = False
    codes: tuple[float, ...] = ()


def guess_column(
    name: str,
    series: Any,
    stated: StatedColumn | None = None,
    options: TableOptions | None = None,
    label: str = "",
    coded: bool = False,
) -> Guess:
    """The column as it is read, by what is stated and else by its type and all its cells.

    Parameters
    ----------
    name : str
    series : Series
    stated : StatedColumn, optional
    options : TableOptions, optional
        Marks in numbers and the format of dates.
    label : str
        What the column is about.
    coded : bool
        Whether categories are texts of a file, which states nothing of them.

    Examples
    --------
    >>> import pandas as pd
    >>> answers = pd.Series(["agree", "disagree", "neutral", "agree"])
    >>> guess_column("q1", answers).column.levels
    ('disagree', 'neutral', 'agree')
    """
    stated = StatedColumn() if stated is None else stated
    options = TableOptions() if options is None else options
    kind = stated.kind or (None if coded else kind_of_type(series))
    if kind == "ordered":
        return _ordered(name, series, stated, label)
    if series.dtype.kind in "biufM" and kind != "category":
        return _of_type(Column(name, kind or "number", None, stated.missing, None, label), series)
    if kind == "text":
        return Guess(_text(name, stated, options, label))
    if kind is None and _are_long_sentences(series, stated.missing):
        return _told_text(name, stated, options, label)
    levels = sorted(distinct_texts(series, stated.missing))
    if kind is None and are_sentences(levels, int(series.notna().sum())):
        return _text_or_marks(name, levels, stated, options, label)
    if kind is None or (kind in ("number", "date") and stated.kind is not None):
        guess = _by_levels(name, levels, stated, options, label)
        return (
            guess if kind in (None, guess.column.kind) else _unreadable(name, levels, stated, label)
        )
    kept = tuple(levels) if kind == "category" else None
    return Guess(Column(name, kind, kept, stated.missing, None, label))


def are_sentences(levels: Sequence[str], n: int) -> bool:
    """Whether the different texts of n cells are to be read by their words.

    Examples
    --------
    >>> are_sentences([f"the {k}th of my reviews" for k in range(60)], 70)
    True
    >>> are_sentences(["strongly agree with this", "neither of the two"], 70)
    False
    """
    if not _hardly_repeat(len(levels), n):
        return False
    if sum(len(level.split()) for level in levels) >= _WORDS_OF_SENTENCE * len(levels):
        return True
    # Some scripts have no blanks between words.
    letters = sum(sum(map(_is_unspaced, level)) for level in levels)
    return letters >= _LETTERS_OF_SENTENCE * len(levels)


def _are_long_sentences(series: Any, missing: Collection[str]) -> bool:
    """Whether texts are plainly to be read by their words, told without all of them in memory."""
    first = [cell for cell in next(cell_blocks(series), ()) if isinstance(cell, str)]
    if sum(map(len, first)) < _LETTERS_OF_LONG * max(len(first), 1):
        return False
    is_absent, known, n, words = absent_test(missing), set[int](), 0, 0
    for cell in chain.from_iterable(cell_blocks(series)):
        if isinstance(cell, str):
            n += 1
            if hash(cell) not in known and not is_absent(cell):
                known.add(hash(cell))
                words += len(cell.split())
    if n < series.notna().sum():
        return False
    return _hardly_repeat(len(known), n) and words >= _WORDS_OF_LONG * len(known)


def _hardly_repeat(distinct: int, n: int) -> bool:
    return distinct > _SENTENCES and distinct * _SELDOM_REPEATED > n


def _is_unspaced(letter: str) -> bool:
    """Whether a letter is of Thai, Lao, Khmer, Japanese or Chinese."""
    return (
        "\u0e00" <= letter <= "\u0eff"
        or "\u1780" <= letter <= "\u17ff"
        or "\u3040" <= letter <= "\u9fff"
    )


def kind_of_type(series: Any) -> str | None:
    """Kind that the type of a column states; None for texts and other objects."""
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return "boolean" if dtype.kind == "b" else "number"
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered" if dtype.ordered else "category"
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_numeric_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype):
        return "date"
    if isinstance(dtype, pd.StringDtype):
        return None
    found = types.infer_dtype(series, skipna=True)
    if found in ("boolean", "date", "datetime", "datetime64"):
        return "boolean" if found == "boolean" else "date"
    if found in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return "number" if found != "empty" or dtype.kind == "O" else "category"
    return None


def _by_levels(
    name: str,
    levels: Sequence[str],
    stated: StatedColumn,
    options: TableOptions,
    label: str,
) -> Guess:
    """A column of texts: written numbers or dates, answers in a known order, or categories."""
    import pyarrow as pa

    from .kinds import NUMERIC, kind_of_text

    column = partial(Column, name, missing=stated.missing, label=label)
    if stated.missing or options.has_marks:
        plain = kind_of_text(pa.array(levels, pa.string()))
        if plain in ("boolean", "date") or (plain in NUMERIC and not options.has_marks):
            return Guess(column("number" if plain in NUMERIC else plain))
    found = find_notation(levels, options.decimal, options.thousands, options.date_format)
    if isinstance(found, Ambiguous):
        either = [part for argument in found.arguments for part in (" or ", argument)][1:]
        problem = Sentence(
            f"Column {name!r} holds {found.what}, such as {found.example!r}, that can be read in "
            "two ways; give ",
            *either,
            ".",
        )
        return Guess(column("category", levels=tuple(levels)), problem=problem)
    if found is not None:
        told = Sentence(f"Column {name!r} is read as {found.words}, such as {levels[0]!r}.")
        stated_so = options.date_format if found.date else options.has_marks
        return Guess(column(found.kind, notation=found), () if stated_so else (told,))
    order = known_order(levels)
    if order is None:
        return Guess(column("category", levels=tuple(levels)))
    return Guess(column("ordered", levels=tuple(order)), known_scale=True)


def _text(name: str, stated: StatedColumn, options: TableOptions, label: str) -> Column:
    words = tuple(options.left_out_words)
    return Column(name, "text", None, stated.missing, None, label, words)


def _text_or_marks(
    name: str, levels: Sequence[str], stated: StatedColumn, options: TableOptions, label: str
) -> Guess:
    """Sentences, unless they are numbers or dates in words such as "12 March 2020"."""
    guess = _by_levels(name, levels, stated, options, label)
    if guess.column.kind != "category" or guess.problem is not None:
        return guess
    return _told_text(name, stated, options, label)


def _told_text(name: str, stated: StatedColumn, options: TableOptions, label: str) -> Guess:
    told = Sentence(
        f"Column {name!r} is read as text; if these are names or codes, leave it out with ",
        Argument("drop", [name]),
        ".",
    )
    return Guess(_text(name, stated, options, label), (told,))


def notes_on_guesses(guesses: Iterable[Guess], rows: int) -> list[Sentence]:
    """Sentences on what was guessed alike of several columns, and on texts taken for categories."""
    orders: dict[tuple[str, ...], list[str]] = {}
    codes: dict[tuple[float, ...], list[str]] = {}
    texts = []
    for guess in guesses:
        column = guess.column
        if guess.known_scale:
            orders.setdefault(column.levels or (), []).append(column.name)
        if guess.codes:
            codes.setdefault(guess.codes, []).append(column.name)
        if column.kind == "category" and len(column.levels or ()) > max(_SENTENCES, rows // 2):
            texts.append(column)
    return [
        *(_note_on_scale(order, names) for order, names in orders.items()),
        *(_note_on_codes(values, names) for values, names in codes.items()),
        *(_note_on_text(column, rows) for column in texts),
    ]


def _note_on_scale(order: tuple[str, ...], names: Sequence[str]) -> Sentence:
    shown = order if len(order) <= _LONG_SCALE else (*order[:3], "…", *order[-2:])
    return Sentence(
        f"{_columns(names)} {'is' if len(names) == 1 else 'are'} taken as ordered, "
        f"{' < '.join(shown)}; state another order with ",
        Argument("ordered", f"{', '.join(names)}: {'<'.join(order)}"),
        ".",
    )


def _note_on_codes(codes: tuple[float, ...], names: Sequence[str]) -> Sentence:
    values = [f"{code:g}" for code in codes]
    verb, other = ("holds", "its") if len(names) == 1 else ("hold", "their")
    return Sentence(
        f"{_columns(names)} {verb} {' and '.join(values)} far beyond {other} other values; if that "
        "stands for a missing value, give ",
        Argument("missing", f"{', '.join(names)}: {','.join(values)}"),
        ".",
    )


def _note_on_text(column: Column, rows: int) -> Sentence:
    return Sentence(
        f"Column {column.name!r} has {len(column.levels or ()):,} different texts in {rows:,} "
        "rows, of which models learn next to nothing; it may be better left out."
    )


def _columns(names: Sequence[str]) -> str:
    phrase = columns_phrase(names, _LONG_SCALE)
    return phrase[0].upper() + phrase[1:]


def _unreadable(name: str, levels: Sequence[str], stated: StatedColumn, label: str) -> Guess:
    """A column that is stated to hold numbers or dates, and does not."""
    import pyarrow as pa

    from .kinds import NUMERIC, kind_of_text

    readable = NUMERIC if stated.kind == "number" else (stated.kind,)
    others = (n for n in levels if kind_of_text(pa.array([n], pa.string())) not in readable)
    odd = next(others, levels[0])
    problem = Sentence(
        f"Column {name!r} is stated to be of kind {stated.kind} and holds {odd!r}; name what "
        "stands for a missing value with ",
        Argument("missing", f"{name}: {odd}"),
        ", or give it another kind.",
    )
    return Guess(Column(name, "category", tuple(levels), stated.missing, None, label), (), problem)


def _ordered(name: str, series: Any, stated: StatedColumn, label: str) -> Guess:
    """A column whose levels have an order: stated, of its type, of numbers, or known."""
    notes: tuple[Sentence, ...] = ()
    problem = None
    if stated.levels is not None:
        order = list(stated.levels)
        notes, problem = _against_stated(name, distinct_texts(series, stated.missing), order)
    elif getattr(series.dtype, "ordered", False):
        absent = set(stated.missing)
        order = [t for t in map(level_text, series.dtype.categories) if t not in absent]
    else:
        found = distinct_texts(series, stated.missing)
        order = known_order(sorted(found)) or _numeric_order(found) or []
    if len(order) < 2:
        order = sorted(distinct_texts(series, stated.missing))
        problem = Sentence(
            f"Column {name!r} has no order that its cells show; give it with ",
            Argument("ordered", f"{name}: lowest<…<highest"),
            ".",
        )
    return Guess(Column(name, "ordered", tuple(order), stated.missing, None, label), notes, problem)


def _against_stated(
    name: str, found: set[str], order: Sequence[str]
) -> tuple[tuple[Sentence, ...], Sentence | None]:
    """Notes on levels that no row has, and a problem with cells that the order does not name."""
    absent = [level for level in order if level not in found]
    shown = listed(map(repr, absent))
    told = Sentence(f"No row of column {name!r} has {shown}, which its stated order names.")
    notes = (told,) if absent else ()
    unknown = sorted(found - set(order))
    if not unknown:
        return notes, None
    return notes, Sentence(
        f"Column {name!r} has cells that its stated order does not name: "
        f"{listed_labels(unknown)}{spelling_hint(unknown, order)}; name them in ",
        Argument("ordered"),
        " or, if they stand for missing values, in ",
        Argument("missing", f"{name}: {unknown[0]}"),
        ".",
    )


def _numeric_order(found: set[str]) -> list[str] | None:
    try:
        return sorted(found, key=float)
    except ValueError:
        return None


def _of_type(column: Column, series: Any) -> Guess:
    """A column of numbers, truth values or dates, with a word on codes at the edge of a scale."""
    if column.kind != "number" or series.dtype.kind not in "iuf":
        return Guess(column)
    codes = edge_codes(series.to_numpy(dtype=np.float64), column.missing_numbers)
    return Guess(column, codes=tuple(codes))


def edge_codes(values: np.ndarray, known: Sequence[float] = ()) -> list[float]:
    """Values such as 99 or −9 beyond a short scale of whole numbers, which look like codes.

    Examples
    --------
    >>> edge_codes(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 99.0, 2.0]))
    [99.0]
    >>> edge_codes(np.array([97.0, 98.0, 99.0, 100.0]))
    []
    """
    most = _MOST_LEVELS_OF_SCALE + 4
    # Most numbers are no scale, as their first ones show.
    if len(np.unique(values[:_FIRST])) > most + len(known) + 1:
        return []
    values = values[~np.isnan(values)]
    if not len(values) or values[0] % 1:
        return []
    found = np.setdiff1d(np.unique(values), known)
    if len(found) > most or (found % 1).any():
        return []
    body = np.array([value for value in found if value not in _EDGE_CODES])
    if not 2 <= len(body) <= _MOST_LEVELS_OF_SCALE:
        return []
    length = max(body[-1] - body[0], 1.0)
    if length > _MOST_LEVELS_OF_SCALE:
        return []
    far = [value for value in found if value in _EDGE_CODES]
    gap = np.diff(body).max(initial=1.0)
    beyond = [v for v in far if v > body[-1] + gap or v < body[0] - gap]
    small = [v for v in beyond if 0 < v < 10]
    # A single 8 may be a count, but 8 and 9 after 1 to 5 are codes.
    if len(beyond) < len(far) or (small and (len(small) < 2 or body[0] < 1)):
        return []
    return [float(v) for v in beyond]
