"""What is wrong with a table, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

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


class TableError(ValueError):
    """A table that cannot be used; the text is one whole sentence for the user.

    Parameters
    ----------
    *parts : str or Argument
        The sentence; arguments are named as in Python, unless `worded` writes them otherwise.

    Examples
    --------
    >>> error = TableError("Leave it out with ", Argument("drop", ["id"]), ".")
    >>> str(error)
    "Leave it out with drop=['id']."
    >>> error.worded(lambda argument: f"--{argument.name}")
    'Leave it out with --drop.'
    """

    def __init__(self, *parts: str | Argument) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def worded(self, write: Callable[[Argument], str]) -> str:
        """The sentence with arguments as another interface than Python writes them."""
        return "".join(write(p) if isinstance(p, Argument) else p for p in self.parts)


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


def columns_phrase(names: Sequence[str]) -> str:
    """``column 'a'`` or ``columns 'a', 'b'``."""
    word = "column" if len(names) == 1 else "columns"
    return f"{word} {listed(repr(name) for name in names)}"


def refuse_repeated(where: str, names: Sequence[str]) -> None:
    """Refuse names that more than one column has."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(f"{where} has more than one {columns_phrase(repeated)}.")


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
    for name in wanted:
        if name in names:
            continue
        meant = nearest(name, names)
        hint = f"it has {listed(names, 20)}." if meant is None else f"did you mean {meant!r}?"
        raise TableError(f"{where} has no column {name!r}; {hint}")
