"""A table with a target: inputs, labels, their order, and what was done to get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .faults import TableError
from .formats import LABEL
from .interpretation import TableReading, read_columns
from .options import StatedOptions, TableOptions
from .reading import FileOptions, open_reader, whole_table
from .schema import Schema
from .schema_file import read_schema_file
from .sources import is_svmlight

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
        Sentences on what was left out or guessed, with arguments as Python writes them.
    weights : ndarray of shape (n,), optional
        What each row counts.
    groups : ndarray of int of shape (n,), optional
        What each row belongs to: rows of one group have the same number.
    times : ndarray of shape (n,), optional
        When each row was taken: days since 1970, or numbers such as years and waves.
    owners : mapping from str to ndarray of int
        The same as groups for columns that nobody has stated anything of, which were left out
        because rows seem to belong together by them.
    """

    X: pd.DataFrame
    y: Any
    classes: list[Any]
    target: str
    schema: Schema
    notes: tuple[str, ...] = ()
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    owners: Mapping[str, np.ndarray] = field(default_factory=dict)


def read_labelled_table(
    source: str | Path,
    target: str | None = None,
    order: str | None = None,
    *,
    schema: str | Path | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    **stated: Unpack[StatedOptions],
) -> LabelledTable:
    """Read a table and split off its target.

    Parameters
    ----------
    source, format, delimiter, encoding, sheet
        As for `read_table`.
    target, order, schema, **stated
        As for `labelled_table`.
    """
    file = FileOptions(format, delimiter, encoding, sheet)
    known, frame, name = open_labelled(source, target, order, schema, file, stated)
    return _labelled(read_columns(frame, known, name), name, own=True)


def labelled_table(
    frame: pd.DataFrame,
    target: str | None = None,
    order: str | None = None,
    *,
    schema: str | Path | None = None,
    source: str = "the table",
    **stated: Unpack[StatedOptions],
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
    schema : str or Path, optional
        A schema file, which states what the other arguments do not.
    source : str
        What the table is called in errors.
    **stated
        Any other parameter of `TableOptions`.

    Raises
    ------
    TableError
        A sentence for everything that is wrong, each of which says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "grade": ["low", "high", "low"]})
    >>> table = labelled_table(frame, "grade", "low<high")
    >>> table.classes, table.schema.names
    (['low', 'high'], ['size'])
    """
    known = known_options(target, order, schema, stated)[0]
    return _labelled(read_columns(frame, known, source), source)


def _labelled(reading: TableReading, source: str, own: bool = False) -> LabelledTable:
    if reading.problems:
        raise TableError.joined(source, reading.problems)
    return LabelledTable(
        reading.schema.apply(reading.frame, source, own),
        target=reading.roles["target"],
        schema=reading.schema,
        notes=tuple(reading.notes),
        **reading.found,
    )


def known_options(
    target: str | None, order: str | None, schema: str | Path | None, stated: StatedOptions
) -> tuple[TableOptions, FileOptions]:
    """What is stated of a table, by arguments and then by a schema file."""
    known = TableOptions(target=target, order=order, **stated)
    if schema is None:
        return known, FileOptions()
    options, file = read_schema_file(schema)
    return known.over(options), file


def open_labelled(
    source: str | Path,
    target: str | None,
    order: str | None,
    schema: str | Path | None,
    file: FileOptions,
    stated: StatedOptions,
) -> tuple[TableOptions, pd.DataFrame, str]:
    """All that is stated of a table, its rows, and what it is called."""
    known, of_file = known_options(target, order, schema, stated)
    file = file.over(of_file)
    with open_reader(source, file) as reader:
        if known.target is None and is_svmlight(source, file.format):
            known = known.over(TableOptions(target=LABEL))
        columns = known.resolve(reader.names(), reader.source.name)
        label = next((name for name, c in columns.items() if c.role == "target"), None)
        ordered = [n for n, c in columns.items() if c.kind == "ordered" and c.levels is None]
        inputs = [name for name, c in columns.items() if c.role in (None, "input")]
        frame = whole_table(reader, label, None, known.has_marks, ordered, inputs)
        return known, frame, reader.source.name
