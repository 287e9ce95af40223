"""What is wrong with a table, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class TableError(ValueError):
    """A table that cannot be used; the text is one whole sentence for the user."""


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


def no_such_column(where: str, name: str, names: Sequence[str]) -> TableError:
    """The error for a column that a user named and the table does not have."""
    meant = nearest(name, names)
    if meant is not None:
        return TableError(f"{where} has no column {name!r}; did you mean {meant!r}?")
    return TableError(f"{where} has no column {name!r}; it has {listed(names, 20)}.")
