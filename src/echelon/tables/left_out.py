"""Columns that are no inputs unless that is stated: identifiers, owners of rows, survey weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .column import Column
from .faults import Argument, Sentence

# More different texts than these in half of the rows are names.
_NAMES = 50
_FEWEST_ROWS = 20
_LONG_DIGITS = 9
_FIRST = 500
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|uuid|guid|index|key|rownames?|row)$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
_OWNER = re.compile(
    r"(patient|user|subject|respondent|customer|client|participant|person|student|pupil|household|"
    r"rater|judge|reviewer|store|shop|school|site|centre|center|clinic|hospital)"
    r"([\W_]?(id|no|nr|num|number|code))?",
    re.IGNORECASE,
)
_SURVEY_WEIGHT = re.compile(
    r"(^|[\W_])(pw|wgt|wts?|wtmec\w*|wtint\w*|weights?|weighting|pweight|fweight|aweight)\d*([\W_]|$)"
    r"|(survey|sample|sampling|person|post|design|final|case)[\W_]?we?i?gh?t",
    re.IGNORECASE,
)
#: Names that may as well be of a body.
_ANY_WEIGHT = re.compile(r"(weight|wt)s?", re.IGNORECASE)


def left_out_reason(
    name: str, series: Any, column: Column, with_roles: bool = True
) -> Sentence | None:
    """Why a column is no input unless that is stated, in a sentence; or None."""
    stated = Argument("keep", [name])
    if with_roles and weight_name(name) == "weight" and column.kind == "number":
        return Sentence(
            f"Column {name!r} left out, because its name is that of a survey weight: give ",
            Argument("weight", name),
            " to use it as such, or ",
            stated,
            " for an input.",
        )
    reason = _identifier_reason(name, series, column)
    if reason is None:
        return None
    if not (with_roles and reason.startswith("it repeats")):
        return Sentence(f"Column {name!r} left out as an identifier: {reason}.")
    return Sentence(
        f"Column {name!r} left out as an identifier: {reason}, so that rows belong together; give ",
        Argument("group", name),
        ", or ",
        stated,
        " for an input.",
    )


def maybe_weight(name: str) -> Sentence:
    """A note on an input that may be a weight of rows."""
    return Sentence(
        f"Column {name!r} is an input; if it is a survey weight, give ",
        Argument("weight", name),
        ".",
    )


def _identifier_reason(name: str, series: Any, column: Column) -> str | None:
    if name == "qid":
        return "it names queries"
    if len(series) < _FEWEST_ROWS or column.kind not in ("number", "category"):
        return None
    if _OWNER.fullmatch(name) and _repeats(series):
        return f"it repeats, {series.nunique():,} values in {len(series):,} rows"
    if len(column.levels or ()) > max(_NAMES, len(series) // 2):
        return f"it has {len(column.levels or ()):,} different texts in {len(series):,} rows"
    # Measured numbers are told from counts by the first of them; it may be missing in any way.
    if column.kind == "number" and not (series.dtype.kind in "iuf" and _is_whole(series.array[0])):
        return None
    if column.levels is not None and len(column.levels) < len(series):
        return None
    # Most columns repeat themselves early.
    if not series.iloc[:_FIRST].is_unique or series.isna().any() or not series.is_unique:
        return None
    if column.kind == "category":
        return "its text differs in every row"
    return _counting_reason(
        {"name": name, "label": column.label}, series.to_numpy(dtype=np.float64)
    )


def _is_whole(number: Any) -> bool:
    import pandas as pd

    return number is not pd.NA and number % 1 == 0


def _repeats(series: Any) -> bool:
    if series.dtype.kind == "f" and (series.dropna() % 1 != 0).any():
        return False
    distinct = series.nunique()
    return distinct > _FEWEST_ROWS and distinct <= 0.8 * len(series)


def _counting_reason(called: Mapping[str, str], values: np.ndarray) -> str | None:
    if not (values % 1 == 0).all():
        return None
    if (np.diff(values) == 1).all() and values[0] in (0, 1):
        return "it counts the rows"
    for what, text in called.items():
        if _ID_NAME.search(text) or _CAMEL_ID.search(text):
            return f"its {what} and its distinct whole numbers are those of an identifier"
    digits = {len(str(int(value))) for value in (values.min(), values.max())}
    if values.min() > 0 and len(digits) == 1 and digits.pop() >= _LONG_DIGITS:
        return "its long whole numbers differ in every row"
    return None


def weight_name(name: str) -> str | None:
    """``"weight"`` for the name of a survey weight, ``"maybe"`` for one that may be, else None.

    Examples
    --------
    >>> weight_name("WTMEC2YR"), weight_name("weight"), weight_name("height")
    ('weight', 'maybe', None)
    """
    if _ANY_WEIGHT.fullmatch(name.strip()):
        return "maybe"
    return "weight" if _SURVEY_WEIGHT.search(name) else None
