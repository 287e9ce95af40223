"""What is wrong with a table, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

MISSING_MARKS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None")
_WANTED = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "one of true, false, yes and no",
    "date": "a date such as 2024-01-31",
}


@dataclass(frozen=True)
class Argument:
    """An argument that a message names, with the value to give for it if there is one.

    Examples
    --------
    >>> str(Argument("drop", ["id"])), str(Argument("order"))
    ("drop=['id']", '`order`')
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return f"`{self.name}`" if self.value is None else f"{self.name}={self.value!r}"


class Sentence(str):
    """A sentence that may name arguments, which another interface than Python writes otherwise.

    Parameters
    ----------
    *parts : str or Argument
        The sentence in pieces.

    Examples
    --------
    >>> sentence = Sentence("Leave it out with ", Argument("drop", ["id"]), ".")
    >>> sentence
    "Leave it out with drop=['id']."
    >>> sentence.worded(lambda argument: f"--{argument.name}")
    'Leave it out with --drop.'
    """

    parts: tuple[str | Argument, ...]

    def __new__(cls, *parts: str | Argument) -> Self:
        """Join the pieces."""
        self = super().__new__(cls, "".join(map(str, parts)))
        self.parts = parts
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.parts

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments that may be given."""
        return tuple(part.name for part in self.parts if isinstance(part, Argument))

    def worded(self, write: Callable[[Argument], str]) -> str:
        """The sentence with arguments as another interface than Python writes them."""
        return "".join(write(p) if isinstance(p, Argument) else p for p in self.parts)


def lasting(notes: Iterable[str]) -> list[str]:
    """Notes without those that name an argument, which concern a reader of the table alone."""
    return [str(note) for note in notes if not (isinstance(note, Sentence) and note.arguments)]


class TableError(ValueError):
    """A table that cannot be used; the text is one whole sentence for the user.

    Parameters
    ----------
    *parts : str or Argument
        The pieces of a `Sentence`.

    Attributes
    ----------
    sentence : Sentence
    problems : tuple of TableError
        All that is wrong, where it is more than one thing; else this error alone.

    Examples
    --------
    >>> str(TableError("Leave it out with ", Argument("drop", ["id"]), "."))
    "Leave it out with drop=['id']."
    """

    def __init__(self, *parts: str | Argument) -> None:
        self.sentence = Sentence(*parts)
        self.problems: tuple[TableError, ...] = (self,)
        super().__init__(self.sentence)

    @classmethod
    def joined(cls, where: str, errors: Sequence[TableError]) -> TableError:
        """One error for all that is wrong with a table, a line each."""
        if len(errors) == 1:
            return errors[0]
        parts: list[str | Argument] = [f"{opening(where)} has {len(errors)} problems:"]
        for error in errors:
            parts += ["\n- ", *error.sentence.parts]
        found = cls(*parts)
        found.problems = tuple(errors)
        return found


@contextmanager
def gathered(problems: list[TableError]) -> Iterator[None]:
    """Put an error among the problems, so that the others are found too."""
    try:
        yield
    except TableError as error:
        problems += error.problems


def opening(where: str) -> str:
    """What a table is called, at the start of a sentence; the name of a file stays as it is."""
    return {"the table": "The table", "standard input": "Standard input"}.get(where, where)


def inside(where: str) -> str:
    """What a table is called within a sentence."""
    return {"The table": "the table", "Standard input": "standard input"}.get(where, where)


def listed(names: Iterable[object], limit: int = 10) -> str:
    """Names with commas between them, cut where there are many."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant, whatever its case."""
    by_lower = {other.strip().lower(): other for other in names}
    close = get_close_matches(name.strip().lower(), list(by_lower), n=1, cutoff=0.75)
    return by_lower[close[0]] if close else None


def columns_phrase(names: Sequence[str], limit: int = 10) -> str:
    """``column 'a'`` or ``columns 'a', 'b'``."""
    word = "column" if len(names) == 1 else "columns"
    return f"{word} {listed((repr(name) for name in names), limit)}"


def refuse_repeated(where: str, names: Sequence[str]) -> None:
    """Refuse names that more than one column has."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise TableError(f"{where} has more than one {columns_phrase(repeated)}.")


def refuse_header(where: str, names: Sequence[str]) -> None:
    """Refuse names that repeat, and a row of values in their place."""
    refuse_repeated(where, names)
    if _all_numbers(names):
        raise TableError(
            f"{where} begins with numbers, {listed(map(repr, names), 3)}, where names of "
            "columns are expected."
        )


def _all_numbers(names: Sequence[str]) -> bool:
    """Whether a header is a row of values; whole numbers alone may be names."""
    try:
        return not all(float(name).is_integer() for name in names)
    except (ValueError, OverflowError):
        return False


def refuse_other_columns(
    name: str, found: Sequence[str], first: str, expected: Sequence[str]
) -> None:
    """Refuse a file that has other columns than the first of the same table."""
    lacking = [column for column in expected if column not in set(found)]
    more = [column for column in found if column not in set(expected)]
    if lacking:
        raise TableError(f"{name} lacks {columns_phrase(lacking)}, which {first} has.")
    if more:
        raise TableError(f"{name} has {columns_phrase(more)}, which {first} does not have.")


def counted(count: int) -> str:
    """``1 row`` or ``2 rows``."""
    return "1 row" if count == 1 else f"{count:,} rows"


def wrong_cell(where: str, name: str, kind: str, found: object, row: int) -> TableError:
    """The error for a cell that is not of its column's kind; rows count from 0."""
    return TableError(
        f"Column {name!r} of {inside(where)} holds {found!r} in row {row + 1}, where "
        f"{_WANTED[kind]} is expected."
    )


def require_named(where: str, wanted: Iterable[str], names: Sequence[str]) -> None:
    """Refuse columns that a user named and the table does not have."""
    known = set(names)
    for name in wanted:
        if name in known:
            continue
        meant = nearest(name, names)
        hint = f"it has {listed(names, 20)}." if meant is None else f"did you mean {meant!r}?"
        raise TableError(f"{where} has no column {name!r}; {hint}")
