"""How the columns of a table are read: roles, kinds, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ordinal.arrays import are_whole
from ..ordinal.labels import read_scale
from .column import without_values
from .faults import (
    Argument,
    Sentence,
    TableError,
    columns_phrase,
    counted,
    inside,
    opening,
    refuse_repeated,
)
from .guessing import (
    Guess,
    edge_codes,
    guess_column,
    notes_on_guesses,
)
from .labels import absent_levels, ordered_labels
from .left_out import left_out_reason, maybe_roles
from .options import StatedColumn, TableOptions
from .roles import group_codes, row_times, row_weights
from .schema import Schema
from .target_copies import copy_notes

if TYPE_CHECKING:
    import pandas as pd

_ROLES = {"weight": row_weights, "group": group_codes, "time": row_times}


@dataclass
class Inputs:
    """Input columns as they are read, and what is left out.

    Parameters
    ----------
    guesses : dict of str to Guess
        Of the inputs, in the order of the table.
    left_out : dict of str to Sentence
        Columns that look like no inputs, and why.
    notes : list of str
        What is said aloud.
    problems : list of TableError
        What has to be stated or mended before the columns can be used.
    """

    guesses: dict[str, Guess] = field(default_factory=dict)
    left_out: dict[str, Sentence] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[TableError] = field(default_factory=list)

    @property
    def schema(self) -> Schema:
        """The columns, without roles."""
        return Schema(tuple(guess.column for guess in self.guesses.values()))


@dataclass
class TableReading:
    """A labelled table as it is read.

    Parameters
    ----------
    frame : DataFrame
        The rows with a label.
    stated : dict of str to StatedColumn
        What is stated of every column.
    roles : dict of str to str
        Columns by role, the target among them.
    inputs : Inputs
    found : dict
        Labels, their order, weights, groups and times, as far as they could be read, and owners:
        numbers of groups by columns that were left out because they look like groups.
    notes : list of str
    problems : list of TableError
    """

    frame: pd.DataFrame
    stated: dict[str, StatedColumn]
    roles: dict[str, str]
    inputs: Inputs
    found: dict[str, Any]
    notes: list[str]
    problems: list[TableError]

    @property
    def schema(self) -> Schema:
        """The inputs, and what other columns are for."""
        others = {role: name for role, name in self.roles.items() if role in _ROLES}
        return Schema(self.inputs.schema.columns, others)


def read_columns(frame: pd.DataFrame, known: TableOptions, source: str) -> TableReading:
    """Read every column by what is stated and else by guesses, and gather all problems.

    Parameters
    ----------
    frame : DataFrame
        Its ``attrs["labels"]`` may say what columns are about.
    known : TableOptions
    source : str
        What the table is called.
    """
    where = opening(source)
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    refuse_repeated(where, names)
    stated = known.resolve(names, where)
    roles = {column.role: name for name, column in stated.items() if column.role is not None}
    if not len(frame):
        raise TableError(f"{where} has no rows.")
    target = roles["target"]
    problems: list[TableError] = []
    notes: list[str] = []
    found: dict[str, Any] = {}
    with _gathered(problems):
        frame, notes = labelled_rows(frame, target, known.drop_unlabelled, where, stated[target])
        found["y"], found["classes"] = _labels(frame[target], target, known)
        if known.order is not None:
            notes += absent_levels(found["y"], found["classes"])
    inputs = read_inputs(frame, stated, known, where, f"besides the target {target!r}")
    problems += inputs.problems
    for role, convert in _ROLES.items():
        if role in roles:
            with _gathered(problems):
                name = roles[role]
                found[f"{role}s"] = convert(frame[name], name, stated, known)
    if "y" in found:
        codes = read_scale(found["y"], found["classes"])[1]
        guessed = [name for name in inputs.guesses if stated[name].role is None]
        inputs.notes += copy_notes(frame, guessed, codes)
    found["owners"] = {}
    for name, reason in inputs.left_out.items():
        if "group" in reason.arguments:
            # Rows without an owner make it no group that could be stated.
            with suppress(TableError):
                found["owners"][name] = group_codes(frame[name], name, stated, known)
    return TableReading(frame, stated, roles, inputs, found, [*notes, *inputs.notes], problems)


@contextmanager
def _gathered(problems: list[TableError]) -> Iterator[None]:
    """Put an error among the problems, so that the others are found too."""
    try:
        yield
    except TableError as error:
        problems += error.problems


def _labels(series: Any, target: str, known: TableOptions) -> tuple[Any, list[Any]]:
    """Labels and their order; numbers beyond a short scale must be stated."""
    if known.order is None and series.dtype.kind in "iuf":
        codes = edge_codes(series.to_numpy(dtype=np.float64))
        if codes:
            values = ",".join(f"{code:g}" for code in codes)
            raise TableError(
                f"The target {target!r} holds {values.replace(',', ' and ')} far beyond its other "
                "labels; if that stands for a missing label, give ",
                Argument("missing", f"{target}: {values}"),
                " and ",
                Argument("drop_unlabelled", True),
                ", else name all labels in ",
                Argument("order"),
                ".",
            )
    return ordered_labels(series, known.order, target)


def labelled_rows(
    frame: pd.DataFrame,
    target: str,
    drop_unlabelled: bool,
    where: str,
    stated: StatedColumn | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Rows with a label, and a note on the others."""
    if stated is not None and stated.missing:
        frame = frame.assign(**{target: without_values(frame[target], stated.missing)})
    missing = frame[target].isna()
    count = int(missing.sum())
    if not count:
        return frame, []
    rows = counted(count)
    if count == len(frame):
        raise TableError(f"The target {target!r} of {inside(where)} has no labels at all.")
    if not drop_unlabelled:
        raise TableError(
            f"The target {target!r} of {inside(where)} has {rows} without a label; leave such rows "
            "out with ",
            Argument("drop_unlabelled", True),
            ".",
        )
    frame = frame[~missing].reset_index(drop=True)
    labels = frame[target]
    if labels.dtype.kind == "f" and are_whole(labels.to_numpy(np.float64)).all():
        # Whole numbers became floats only because some were missing.
        frame[target] = labels.astype("int64")
    return frame, [f"{rows} without a label left out."]


def read_inputs(
    frame: pd.DataFrame,
    stated: Mapping[str, StatedColumn],
    known: TableOptions,
    where: str,
    purpose: str,
    with_roles: bool = True,
) -> Inputs:
    """Read the columns that are inputs or look like it.

    Parameters
    ----------
    frame : DataFrame
    stated : mapping from str to StatedColumn
        Of every column.
    known : TableOptions
    where, purpose : str
        What the table is called, and what inputs are wanted for.
    with_roles : bool
        Whether columns may be weights and groups of rows.
    """
    where, inputs = opening(where), Inputs(notes=list(frame.attrs.get("notes", [])))
    names = [name for name, column in stated.items() if column.role in (None, "input")]
    if not names:
        inputs.problems.append(TableError(f"{where} has no column {purpose}."))
        return inputs
    _leave_out_unanswered(inputs, [n for n in names if stated[n].role is None], frame)
    names = [name for name in names if name not in inputs.left_out]
    inputs_of = frame if len(names) == frame.shape[1] else frame[names]
    empty = inputs_of.isna().all().pipe(lambda all: all.index[all].tolist())
    if empty:
        them = "it" if len(empty) == 1 else "them"
        why = frame.attrs.get("why_empty", "")
        sentence = f"{where} has no value in {columns_phrase(empty)}{why}; leave {them} out with "
        inputs.problems.append(TableError(sentence, Argument("drop", empty), "."))
    labels = frame.attrs.get("labels", {})
    for name, series in inputs_of.items():
        label = labels.get(name, "")
        _read_input(inputs, str(name), series, stated[str(name)], known, label, with_roles)
    if not inputs.guesses:
        inputs.problems.append(
            TableError(
                f"{where} has no input: {columns_phrase(list(inputs.left_out))} would be left out, "
                "unless named in ",
                Argument("keep"),
                ".",
            )
        )
    inputs.notes += notes_on_guesses(inputs.guesses.values(), len(frame))
    return inputs


def _leave_out_unanswered(inputs: Inputs, names: Sequence[str], frame: pd.DataFrame) -> None:
    """Leave out columns that a file describes and has no value of."""
    asked = frame.attrs.get("unanswered", ())
    found = [name for name in names if name in asked]
    if found:
        them = columns_phrase(found)
        told = "left out, because no row has a value there"
        inputs.left_out.update({name: Sentence(f"Column {name!r} {told}.") for name in found})
        inputs.notes.append(Sentence(f"{them[0].upper()}{them[1:]} {told}."))


def _read_input(
    inputs: Inputs,
    name: str,
    series: Any,
    stated: StatedColumn,
    known: TableOptions,
    label: str,
    with_roles: bool,
) -> None:
    guess = guess_column(name, series, stated, known, label)
    if guess.problem is not None:
        inputs.problems.append(TableError(*guess.problem.parts))
    notes = list(guess.notes)
    if guess.problem is None and stated.role is None:
        reason = left_out_reason(name, series, guess.column, with_roles)
        if reason is not None:
            inputs.left_out[name] = reason
            inputs.notes.append(reason)
            return
        if with_roles:
            notes += maybe_roles(name, series, guess.column)
    inputs.notes += notes
    inputs.guesses[name] = guess
