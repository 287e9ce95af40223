"""A table with a target: inputs, labels, their order, and what was done to get them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ordinal.arrays import are_whole
from .faults import (
    Argument,
    TableError,
    columns_phrase,
    counted,
    inside,
    opening,
    refuse_repeated,
    require_named,
)
from .formats import LABEL, is_svmlight
from .labels import absent_levels, ordered_labels
from .lookalikes import identifier_reason, notes_on_texts, refuse_written_numbers
from .reading import open_reader, whole_table
from .schema import Schema
from .sources import Source

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LabelledTable:
    """Inputs and ordered labels.

    Parameters
    ----------
    X : DataFrame
        Inputs as `schema` makes them: floats, and texts for categories, NaN where missing.
    y : ndarray or ordered Categorical
        The labels.
    classes : list
        The labels from lowest to highest, also those that no row has.
    target : str
        Name of the label column.
    schema : Schema
        Of the inputs.
    notes : tuple of str
        Sentences on what was left out.
    """

    X: pd.DataFrame
    y: Any
    classes: list[Any]
    target: str
    schema: Schema
    notes: tuple[str, ...] = ()


def read_labelled_table(
    source: str | Path,
    target: str | None = None,
    order: str | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    drop: Sequence[str] = (),
    keep: Collection[str] = (),
    drop_unlabelled: bool = False,
) -> LabelledTable:
    """Read a table and split off its target.

    Parameters
    ----------
    source, format, delimiter
        As for `read_table`.
    target, order, drop, keep, drop_unlabelled
        As for `labelled_table`.
    """
    with Source(source) as opened:
        reader = open_reader(opened, format, delimiter)
        names = reader.names()
        if target is None:
            target = LABEL if is_svmlight(source, format) else names[-1]
        frame = whole_table(reader, target)
    return labelled_table(
        frame,
        target,
        order,
        drop=drop,
        keep=keep,
        drop_unlabelled=drop_unlabelled,
        source=opened.name,
    )


def labelled_table(
    frame: pd.DataFrame,
    target: str | None = None,
    order: str | None = None,
    *,
    drop: Sequence[str] = (),
    keep: Collection[str] = (),
    drop_unlabelled: bool = False,
    source: str = "the table",
) -> LabelledTable:
    """Split a data frame into inputs and ordered labels.

    Parameters
    ----------
    frame : DataFrame
    target : str, optional
        Name of the label column; the last one by default.
    order : str, optional
        The labels from lowest to highest, as ``"poor<fair<good"``; needed where they are text
        without an order.
    drop : sequence of str
        Columns to leave out.
    keep : collection of str
        Columns to take as inputs even if they look like identifiers.
    drop_unlabelled : bool
        Leave out rows without a label instead of refusing them.
    source : str
        What the table is called in errors.

    Raises
    ------
    TableError
        One sentence that says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "grade": ["low", "high", "low"]})
    >>> table = labelled_table(frame, "grade", "low<high")
    >>> table.classes, table.schema.names
    (['low', 'high'], ['size'])
    """
    where = opening(source)
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    refuse_repeated(where, names)
    target = names[-1] if target is None else target
    require_named(where, [*drop, *keep, target], names)
    if target in drop:
        raise TableError(f"The target {target!r} cannot be left out.")
    if not len(frame):
        raise TableError(f"{where} has no rows.")
    frame, notes = labelled_rows(frame, target, drop_unlabelled, where)
    y, classes = ordered_labels(frame[target], order, target)
    if order is not None:
        notes += absent_levels(y, classes)
    inputs, schema, more = model_inputs(
        frame.drop(columns=[target, *drop]), keep, where, f"besides the target {target!r}"
    )
    X = schema.apply(inputs, source)
    notes += [*more, *notes_on_texts(schema, len(X))]
    return LabelledTable(X, y, classes, target, schema, tuple(notes))


def labelled_rows(
    frame: pd.DataFrame, target: str, drop_unlabelled: bool, where: str
) -> tuple[pd.DataFrame, list[str]]:
    """Rows with a label, and a note on the others."""
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


def model_inputs(
    frame: pd.DataFrame, keep: Collection[str], where: str, purpose: str
) -> tuple[pd.DataFrame, Schema, list[str]]:
    """Columns without those that only name rows, their schema, and notes on those left out."""
    where = opening(where)
    if not frame.shape[1]:
        raise TableError(f"{where} has no column {purpose}.")
    empty = [str(name) for name in frame.columns if frame[name].isna().all()]
    if empty:
        them = "it" if len(empty) == 1 else "them"
        raise TableError(
            f"{where} has no value in {columns_phrase(empty)}; leave {them} out with ",
            Argument("drop", empty),
            ".",
        )
    schema = Schema.of(frame)
    refuse_written_numbers(schema, where)
    reasons = {
        column.name: identifier_reason(column.name, frame[column.name], column.kind)
        for column in schema.columns
        if column.name not in keep
    }
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(left_out) == frame.shape[1]:
        raise TableError(
            f"{where} has no input besides {columns_phrase(list(left_out))}, which only names rows."
        )
    notes = [
        f"Column {name!r} left out as an identifier: {reason}." for name, reason in left_out.items()
    ]
    kept = tuple(column for column in schema.columns if column.name not in left_out)
    return frame.drop(columns=list(left_out)), Schema(kept), notes
