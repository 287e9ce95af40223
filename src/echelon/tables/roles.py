"""Columns that are no inputs: weights of rows, what rows belong to, and when they were taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .column import texts_of
from .faults import Argument, TableError, counted
from .guessing import guess_column
from .options import StatedColumn, TableOptions


def row_weights(
    series: Any, name: str, columns: Mapping[str, StatedColumn], known: TableOptions
) -> np.ndarray:
    """Weights of rows: numbers, none negative, not all zero."""
    found = guess_column(name, series, columns[name], known).column
    if found.kind not in ("number", "boolean"):
        raise TableError(
            f"The weights {name!r} must be numbers; found {series.dropna().iloc[0]!r}."
        )
    values = np.asarray(found.converted(series, "the table"), dtype=np.float64)
    absent = int(np.isnan(values).sum())
    if absent:
        raise TableError(
            f"The weights {name!r} are missing in {counted(absent)}; give such rows a weight, or "
            "leave them out of the table."
        )
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise TableError(
            f"The weights {name!r} must not be negative; found {values[row]:g} in row {row + 1}."
        )
    if not values.any():
        raise TableError(f"The weights {name!r} are zero in all rows.")
    return values


def group_codes(
    series: Any, name: str, columns: Mapping[str, StatedColumn], known: TableOptions
) -> np.ndarray:
    """Numbers of groups, 0, 1, …, in the order in which they come."""
    import pandas as pd

    texts = texts_of(series, columns[name].missing)
    codes, levels = pd.factorize(texts)
    absent = int((codes < 0).sum())
    if absent:
        raise TableError(
            f"The groups {name!r} are missing in {counted(absent)}; name the group of every row."
        )
    if len(levels) < 2:
        raise TableError(f"The groups {name!r} are one group only, {levels[0]!r}.")
    if len(levels) == len(series):
        raise TableError(
            f"The groups {name!r} have one row each, so that nothing is grouped; leave ",
            Argument("group", name),
            " out.",
        )
    return np.asarray(codes, dtype=np.intp)


def row_times(
    series: Any, name: str, columns: Mapping[str, StatedColumn], known: TableOptions
) -> np.ndarray:
    """Times as days since 1970, or as the numbers that they are."""
    guess = guess_column(name, series, columns[name], known)
    if guess.problem is not None:
        raise TableError(*guess.problem.parts)
    if guess.column.kind not in ("date", "number"):
        example = texts_of(series).dropna().iloc[0]
        raise TableError(
            f"The times {name!r} must be dates or numbers; found {example!r}, of which ",
            Argument("date_format"),
            " may say how it is written.",
        )
    values = np.asarray(guess.column.converted(series, "the table"), dtype=np.float64)
    absent = int(np.isnan(values).sum())
    if absent:
        raise TableError(f"The times {name!r} are missing in {counted(absent)}.")
    return values


def read_roles(frame: Any, roles: Mapping[str, str]) -> dict[str, Any]:
    """Weights and groups of the rows of a table, as far as it has their columns.

    Parameters
    ----------
    frame : DataFrame
    roles : mapping from role to name
        As a schema has them.

    Returns
    -------
    found : dict
        ``sample_weight`` and ``groups``; a group may have one row here.
    """
    import pandas as pd

    found: dict[str, Any] = {}
    weight, group = (roles.get(role) for role in ("weight", "group"))
    if weight in frame.columns:
        columns = {str(weight): StatedColumn()}
        found["sample_weight"] = row_weights(frame[weight], str(weight), columns, TableOptions())
    if group in frame.columns and frame[group].notna().all() and frame[group].nunique() > 1:
        found["groups"] = pd.factorize(frame[group])[0]
    return found
