"""What a user states about a table: columns by name, pattern or range, orders, missing values.

Whatever is not stated is guessed from the cells, and the guess is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any, Self, TypedDict

from .column import KINDS
from .faults import Argument, TableError, columns_phrase, gathered, require_named
from .labels import parse_order
from .notation import check_marks
from .terms import words_of

#: Roles of columns that are no inputs, each of at most one column.
SINGLE_ROLES = ("target", "weight", "group", "time")
ROLES = ("input", *SINGLE_ROLES, "id", "left out")


@dataclass(frozen=True)
class StatedColumn:
    """What is stated about one column.

    Parameters
    ----------
    role : str, optional
        One of `ROLES`.
    kind : str, optional
        One of `KINDS`.
    levels : tuple of str, optional
        The levels of an ordered column from lowest to highest.
    missing : tuple of str
        Cells that stand for a missing value.
    """

    role: str | None = None
    kind: str | None = None
    levels: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()


class StatedCells(TypedDict, total=False):
    """Parameters of `TableOptions` on inputs and their cells, as keyword arguments."""

    drop: Sequence[str]
    keep: Sequence[str]
    ordered: Sequence[str]
    text: Sequence[str]
    stop_words: Sequence[str]
    missing: Sequence[str]
    decimal: str | None
    thousands: str | None
    date_format: str | None
    drop_unlabelled: bool


class StatedOptions(StatedCells, total=False):
    """Parameters of `TableOptions` besides the target and its order, as keyword arguments."""

    weight: str | None
    group: str | None
    time: str | None


@dataclass(frozen=True)
class TableOptions:
    """How a table is to be read.

    Parameters
    ----------
    target : str, optional
        Name of the label column.
    order : str, optional
        The labels from lowest to highest, as ``"poor<fair<good"``.
    weight, group, time : str, optional
        Columns with weights of rows, with what rows belong to, and with when they were taken; they
        are no inputs.
    drop, keep : sequence of str
        Columns to leave out, and columns to take although they look like identifiers or weights.
    ordered : sequence of str
        Columns whose levels have an order, such as ``"Q1..Q9: never<sometimes<always"`` (a range
        of columns), ``"Q*: no<yes"`` (a pattern), or ``"stage"``: numbers in their own order.
    text : sequence of str
        Columns that are read by their words, by name, pattern or range.
    stop_words : sequence of str
        Words that are left out of texts; ``"english"`` stands for a list of common English ones.
    missing : sequence of str
        Cells that stand for missing values: ``"99, -99"`` everywhere, ``"income: -99"`` in one.
    decimal, thousands : str, optional
        Marks in numbers, by default as all cells of a column agree.
    date_format : str, optional
        How dates are written, such as ``"%d/%m/%Y"``.
    drop_unlabelled : bool
        Leave out rows without a label instead of refusing them.
    columns : dict of str to StatedColumn
        What a schema file states of single columns.

    Examples
    --------
    >>> options = TableOptions(ordered=("q1..q2: no<yes",), missing=("99",))
    >>> stated = options.resolve(["q1", "q2", "grade"])
    >>> stated["q2"].levels, stated["grade"].missing
    (('no', 'yes'), ('99',))
    """

    target: str | None = None
    order: str | None = None
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    ordered: Sequence[str] = ()
    text: Sequence[str] = ()
    stop_words: Sequence[str] = ()
    missing: Sequence[str] = ()
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    drop_unlabelled: bool = False
    columns: dict[str, StatedColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("drop", "keep", "ordered", "text", "stop_words", "missing"):
            value = getattr(self, name)
            # One text is one entry, not one for each of its letters.
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if self.has_marks:
            decimal = self.decimal or ("," if self.thousands == "." else ".")
            check_marks(decimal, self.thousands or "")

    @property
    def left_out_words(self) -> tuple[str, ...]:
        """The words of `stop_words`, in lower case."""
        found: dict[str, None] = {}
        for entry in self.stop_words:
            if entry.strip().lower() == "english":
                from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

                found |= dict.fromkeys(sorted(ENGLISH_STOP_WORDS))
            else:
                found |= dict.fromkeys(words_of(entry))
        return tuple(found)

    @property
    def has_marks(self) -> bool:
        """Whether the marks in numbers are stated, so that points do not speak for themselves."""
        return self.decimal is not None or self.thousands is not None

    def over(self, other: Self) -> Self:
        """These options, and those of another where these say nothing."""
        unlike = {f.name: getattr(self, f.name) for f in fields(self)}
        empty = {name for name, value in unlike.items() if value in (None, (), False, {})}
        return replace(self, **{name: getattr(other, name) for name in empty})

    def resolve(
        self, names: Sequence[str], where: str = "The table", with_target: bool = True
    ) -> dict[str, StatedColumn]:
        """What is stated of each column of a table; one of them is the target."""
        problems: list[TableError] = []
        there = set(names)
        lacking = [name for name in self.columns if name not in there]
        if lacking:
            problems += [TableError(f"{where} lacks {columns_phrase(lacking)} of the schema file.")]
        for name in dict.fromkeys(self._named()):
            with gathered(problems):
                require_named(where, [name], names)
        stated = {name: self.columns.get(name, StatedColumn()) for name in names}
        if not problems:
            with gathered(problems):
                self._state_roles(stated, with_target)
        for state, entries in (
            (self._state_order, self.ordered),
            (self._state_text, self.text),
            (self._state_missing, self.missing),
        ):
            for entry in entries:
                with gathered(problems):
                    state(stated, entry, where)
        if problems:
            raise TableError.joined(where, problems)
        return stated

    @staticmethod
    def _state_order(stated: dict[str, StatedColumn], entry: str, where: str) -> None:
        columns, levels = _split_order(entry)
        for name in matching([columns], list(stated), where):
            stated[name] = replace(stated[name], kind="ordered", levels=levels)

    @staticmethod
    def _state_text(stated: dict[str, StatedColumn], entry: str, where: str) -> None:
        for name in matching([entry], list(stated), where):
            if stated[name].levels is not None:
                raise TableError(
                    f"Column {name!r} cannot have an order of levels and be read as text."
                )
            stated[name] = replace(stated[name], kind="text")

    def _state_missing(self, stated: dict[str, StatedColumn], entry: str, where: str) -> None:
        meant, values = self._split_missing(entry, list(stated), where)
        for name in meant:
            stated[name] = replace(stated[name], missing=(*stated[name].missing, *values))

    def _named(self) -> list[str]:
        single = [getattr(self, role) for role in SINGLE_ROLES]
        return [*(n for n in single if n is not None), *self.drop, *self.keep]

    def _state_roles(self, stated: dict[str, StatedColumn], with_target: bool) -> None:
        for role in SINGLE_ROLES:
            self._state_role(stated, role)
        free = [name for name, column in stated.items() if column.role is None]
        if free and with_target and not any(column.role == "target" for column in stated.values()):
            stated[free[-1]] = replace(stated[free[-1]], role="target")
        for name in self.drop:
            if stated[name].role in SINGLE_ROLES:
                raise TableError(f"The {stated[name].role} {name!r} cannot be left out.")
            stated[name] = replace(stated[name], role="left out")
        for name in self.keep:
            if name in self.drop:
                raise TableError(f"Column {name!r} cannot be kept and left out.")
            if stated[name].role not in SINGLE_ROLES:
                stated[name] = replace(stated[name], role="input")

    def _state_role(self, stated: dict[str, StatedColumn], role: str) -> None:
        """Give a role to the column that is stated for it; an option is stronger than a file."""
        name = getattr(self, role)
        if name is None:
            return
        for other, column in stated.items():
            if column.role == role:
                stated[other] = replace(column, role=None)
        taken = stated[name].role
        if taken in SINGLE_ROLES:
            raise TableError(
                f"Column {name!r} cannot be the {taken} and the {role}; name two columns."
            )
        stated[name] = replace(stated[name], role=role)

    @staticmethod
    def _split_missing(
        entry: str, names: Sequence[str], where: str
    ) -> tuple[Sequence[str], tuple[str, ...]]:
        """Columns and values of an entry; without columns all of them."""
        start, colon, rest = entry.partition(":")
        columns: Sequence[str] = names
        if colon and rest.strip():
            columns = matching([start], names, where)
        values = tuple(v.strip() for v in (rest if colon and rest.strip() else entry).split(","))
        if not all(values):
            raise TableError(
                'Missing values are listed with commas between them, as in "99,-99" or '
                f'"income: -99"; found {entry!r}.'
            )
        return columns, values


def matching(entries: Iterable[str], names: Sequence[str], where: str = "The table") -> list[str]:
    """Columns that entries name: by their names, patterns such as ``Q*`` or ranges ``Q1..Q9``.

    Examples
    --------
    >>> matching(["q2..q4", "age"], ["age", "q1", "q2", "q3", "q4"])
    ['q2', 'q3', 'q4', 'age']
    """
    found: dict[str, None] = {}
    known = set(names)
    for entry in entries:
        # A name may hold commas and points, so that it is looked up before it is taken apart.
        parts = [entry.strip()] if entry.strip() in known else re.split(r"\s*,\s*", entry.strip())
        for part in parts:
            found.update(dict.fromkeys(_matching_one(part, names, known, where)))
    return list(found)


def _matching_one(part: str, names: Sequence[str], known: set[str], where: str) -> Iterable[str]:
    if part in known:
        return [part]
    first, dots, last = (end.strip() for end in part.partition(".."))
    if dots and first and last:
        require_named(where, [first, last], names)
        start, stop = names.index(first), names.index(last)
        if start > stop:
            raise TableError(f"Column {first!r} stands after {last!r}; turn {part!r} round.")
        return names[start : stop + 1]
    if any(sign in part for sign in "*?["):
        matched = [name for name in names if fnmatchcase(name, part)]
        if matched:
            return matched
        raise TableError(f"No column of {where[0].lower() + where[1:]} matches {part!r}.")
    require_named(where, [part], names)
    return [part]


def _split_order(entry: str) -> tuple[str, tuple[str, ...] | None]:
    """Columns and levels of an entry such as ``"Q1..Q3: no<yes"``."""
    before, less, _ = entry.partition("<")
    if not less:
        return entry.removesuffix(":"), None
    columns, colon, _ = before.rpartition(":")
    if not colon:
        raise TableError(
            "An order of levels needs its columns before it, as in ",
            Argument("ordered", f"Q1..Q9: {entry}"),
            f"; found {entry!r}.",
        )
    return columns, tuple(parse_order(entry[len(columns) + 1 :]))


def checked_column(name: str, stored: Any) -> StatedColumn:
    """A column of a schema file, or an error that says what it may state."""
    allowed = ("role", "kind", "levels", "missing")
    where = f"Column {name!r} of the schema file"
    if not isinstance(stored, dict) or not set(stored) <= set(allowed):
        raise TableError(f"{where} may state {', '.join(allowed)}; found {stored!r}.")
    for key, known in (("role", ROLES), ("kind", KINDS)):
        if stored.get(key, known[0]) not in known:
            raise TableError(
                f"{where} must have a {key} of {', '.join(known)}; found {stored[key]!r}."
            )
    lists = {key: stored.get(key, []) for key in ("levels", "missing")}
    for key, values in lists.items():
        if not isinstance(values, list) or not all(
            isinstance(v, str | int | float) for v in values
        ):
            raise TableError(f"{where} must list its {key}; found {values!r}.")
    levels = tuple(map(str, lists["levels"])) or None
    if levels is not None and stored.get("kind", "ordered") != "ordered":
        raise TableError(f"{where} has levels in an order, so its kind is ordered.")
    kind = "ordered" if levels is not None else stored.get("kind")
    return StatedColumn(stored.get("role"), kind, levels, tuple(map(str, lists["missing"])))
