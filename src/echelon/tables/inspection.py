"""How a table would be read: roles and kinds of its columns, guesses, and all problems at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._utils.frames import aligned
from .column import Column, texts_of
from .faults import Argument, Sentence, TableError
from .guessing import Guess
from .interpretation import TableReading, read_columns
from .labelled import known_options, open_labelled
from .options import StatedOptions, TableOptions
from .reading import FileOptions
from .schema_file import schema_text
from .terms import words_of

if TYPE_CHECKING:
    import pandas as pd

_SHOWN_LEVELS = 4
_WIDEST = 48


@dataclass(frozen=True)
class ColumnView:
    """One line of an inspection.

    Parameters
    ----------
    name, role, kind : str
        The kind is empty for columns that are not read.
    values : str
        Levels or range in words.
    missing : int
        Rows without a value.
    why : str
        What was guessed and from what; empty if it is plain or stated.
    label : str
        What the column is about, in words of the file.
    """

    name: str
    role: str
    kind: str
    values: str
    missing: int
    why: str = ""
    label: str = ""


@dataclass(frozen=True)
class TableInspection:
    """How a table would be read.

    Parameters
    ----------
    source : str
        What the table is called.
    rows : int
        Those with a label.
    columns : tuple of ColumnView
    notes : tuple of str
        What is said aloud when the table is read.
    problems : tuple of TableError
        What has to be stated or mended before it can be.
    stated : dict
        What is known of the table and its file, for a schema file.
    entries : dict of str to dict
        What a schema file has of each column.
    """

    source: str
    rows: int
    columns: tuple[ColumnView, ...]
    notes: tuple[str, ...]
    problems: tuple[TableError, ...]
    stated: dict[str, Any]
    entries: dict[str, dict[str, Any]]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, write: Callable[[Argument], str] = str) -> list[str]:
        """What is printed; `write` words the arguments that notes and problems name."""
        head = ["Column", "role", "kind", "values", "missing", "why"]
        lines = [
            [_short(c.name), c.role, c.kind, _short(c.values), str(c.missing or ""), c.why]
            for c in self.columns
        ]
        if any(column.label for column in self.columns):
            head.insert(-1, "label")
            for line, column in zip(lines, self.columns, strict=True):
                line.insert(-1, _short(column.label))
        said = [f"{self.source}: {self.rows:,} rows, {len(self.columns)} columns"]
        said += aligned([head, *lines], words=(0, 1, 2, 3, 5, 6))
        problems = [problem.sentence for problem in self.problems]
        for title, sentences in (("Notes", self.notes), ("Problems", problems)):
            worded = [s.worded(write) if isinstance(s, Sentence) else s for s in sentences]
            said += ["", f"{title}:", *(f"- {text}" for text in worded)] if worded else []
        return said

    def to_toml(self) -> str:
        """A schema file that states what is shown here, to be edited."""
        return schema_text(self.stated, self.entries)


def inspect(
    source: str | Path | pd.DataFrame,
    target: str | None = None,
    order: str | None = None,
    *,
    schema: str | Path | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    **stated: Unpack[StatedOptions],
) -> TableInspection:
    """Show how a table would be read, and all that is wrong with it.

    Parameters
    ----------
    source : str, Path or DataFrame
        A table, or the file of one.
    target, order, schema, format, delimiter, encoding, sheet, **stated
        As for `read_labelled_table`.

    Returns
    -------
    inspection : TableInspection
        Printed, a line for every column, then notes and problems.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"answer": ["no", "yes", "maybe"] * 2, "grade": [1, 2, 3] * 2})
    >>> print(inspect(frame).columns[0])
    ColumnView(name='answer', role='input', kind='ordered', values='no < maybe < yes', missing=0, \
why='its answers have a known order', label='')
    """
    file = FileOptions(format, delimiter, encoding, sheet)
    if isinstance(source, str | Path):
        known, frame, name = open_labelled(source, target, order, schema, file, stated)
    else:
        known, frame, name = known_options(target, order, schema, stated)[0], source, "the table"
    reading = read_columns(frame, known, name)
    views = {str(n): _view(str(n), frame[n], reading) for n in frame.columns}
    return TableInspection(
        name,
        len(reading.frame),
        tuple(views.values()),
        tuple(reading.notes),
        tuple(reading.problems),
        _stated(known, file, reading),
        {n: _entry(view, reading) for n, view in views.items()},
    )


def _view(name: str, series: Any, reading: TableReading) -> ColumnView:
    stated = reading.stated[name]
    label = reading.frame.attrs.get("labels", {}).get(name, "")
    guess = reading.inputs.guesses.get(name)
    # Of inputs also the cells are missing that are marked so, as "NA" is.
    written = guess is not None and series.dtype.kind not in "biufM"
    cells = texts_of(series, stated.missing) if stated.missing or written else series
    missing = int(cells.isna().sum())
    if guess is not None:
        values = _input_values(series, guess.column)
        return ColumnView(name, "input", guess.column.kind, values, missing, _why(guess), label)
    reason = reading.inputs.left_out.get(name)
    role = stated.role or "left out"
    kind = "ordered" if role == "target" else ""
    classes = reading.found.get("classes", ()) if role == "target" else ()
    values = " < ".join(map(str, classes)) or f"{series.nunique():,} different"
    why = "" if reason is None else _because(reason)
    return ColumnView(name, role, kind, values, missing, why, label)


def _input_values(series: Any, column: Column) -> str:
    if column.kind == "ordered":
        return " < ".join(column.levels or ())
    if column.levels is not None:
        more = f" … ({len(column.levels):,})" if len(column.levels) > _SHOWN_LEVELS else ""
        return ", ".join(column.levels[:_SHOWN_LEVELS]) + more
    if column.kind == "text":
        return _text_values(column.converted(series, "the table").dropna())
    values = column.converted(series, "the table")
    if np.isnan(values).all():
        return ""
    low, high = np.nanmin(values), np.nanmax(values)
    if column.kind == "date":
        days = (np.datetime64(int(np.floor(day)), "D") for day in (low, high))
        return " to ".join(map(str, days))
    return f"{low:g} to {high:g}"


def _text_values(texts: Any) -> str:
    """How long texts are; none of their words."""
    if not len(texts):
        return ""
    lengths = texts.map(lambda text: len(words_of(text)))
    return f"{texts.nunique():,} texts, median {lengths.median():.0f} words"


def _why(guess: Guess) -> str:
    if guess.known_scale:
        return "its answers have a known order"
    if guess.column.kind == "text" and guess.notes:
        return "its cells are sentences"
    return "" if guess.column.notation is None else guess.column.notation.words


def _because(reason: Sentence) -> str:
    """The reason in a sentence on why a column is left out."""
    words = str(reason.parts[0]).rstrip(".")
    for start in (" because ", ": "):
        if start in words:
            return words.partition(start)[2].partition(", so that")[0].partition(": give")[0]
    return words


def _stated(known: TableOptions, file: FileOptions, reading: TableReading) -> dict[str, Any]:
    found = {name: value for name, value in asdict(file).items() if value is not None}
    classes = reading.found.get("classes")
    order = known.order
    # Labels of a file that states their order may hold the sign themselves.
    if order is None and classes is not None and not any("<" in str(c) for c in classes):
        order = "<".join(map(str, classes))
    texts = {"target": reading.roles["target"], "order": order, "decimal": known.decimal}
    texts |= {"thousands": known.thousands, "date_format": known.date_format}
    found |= {name: value for name, value in texts.items() if value is not None}
    if known.stop_words:
        found["stop_words"] = list(known.stop_words)
    return {**found, "drop_unlabelled": True} if known.drop_unlabelled else found


def _entry(view: ColumnView, reading: TableReading) -> dict[str, Any]:
    role = "left out" if view.role == "id" else view.role
    entry: dict[str, Any] = {"role": role}
    guess = reading.inputs.guesses.get(view.name)
    if guess is not None:
        entry["kind"] = guess.column.kind
        if guess.column.kind == "ordered":
            entry["levels"] = list(guess.column.levels or ())
    missing = reading.stated[view.name].missing
    return {**entry, "missing": list(missing)} if missing else entry


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
