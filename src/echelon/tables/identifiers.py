"""Columns that name rows and say nothing about others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_FEWEST_ROWS = 20
_LONG_DIGITS = 9
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|uuid|guid|index|key|rownames?|row)$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")


def identifier_reason(name: str, column: Any, kind: str) -> str | None:
    """Why a column looks like an identifier, or None.

    Parameters
    ----------
    name : str
    column : Series
        Of numbers, or of text.
    kind : str
        The column's kind in a schema.
    """
    if name == "qid":
        return "it names queries"
    if len(column) < _FEWEST_ROWS or column.isna().any() or not column.is_unique:
        return None
    if kind == "category":
        return "its text differs in every row"
    return _reason_of_numbers(name, column.to_numpy()) if kind == "number" else None


def _reason_of_numbers(name: str, values: Any) -> str | None:
    values = np.asarray(values, dtype=np.float64)
    if not (values % 1 == 0).all():
        return None
    if (np.diff(values) == 1).all() and values[0] in (0, 1):
        return "it counts the rows"
    if _ID_NAME.search(name) or _CAMEL_ID.search(name):
        return "its name and its distinct whole numbers are those of an identifier"
    digits = {len(str(int(value))) for value in (values.min(), values.max())}
    if values.min() > 0 and len(digits) == 1 and digits.pop() >= _LONG_DIGITS:
        return "its long whole numbers differ in every row"
    return None
