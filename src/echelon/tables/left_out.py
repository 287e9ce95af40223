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
    r"(patient|user|subj(ect)?|resp(ondent)?|customer|client|participant|person|student|pupil|"
    r"teacher|employee|family|household|animal|rater|judge|reviewer|store|shop|school|site|centre|"
    r"center|clinic|hospital|case)([\W_]?(id|no|nr|num|number|code))?|(.*[\W_])?id(s|no)?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(.*[\W_])?(date|time|year|month|week|day|hour|minute|wave|visit|session|round|period|"
    r"occasion)",
    re.IGNORECASE,
)
_SURVEY_WEIGHT = re.compile(
    r"(^|[\W_])(pw|wgt\w*|wtmec\w*|wtint\w*|wtss\w*|w_f\w*wt|weighting|[afdp]weight|pspwght)"
    r"\d*([\W_]|$)|(survey|sample|sampling|person|post|design|final|case)[\W_]?we?i?gh?t",
    re.IGNORECASE,
)
# Of rows, of a body, of a parcel: the cells tell.
_ANY_WEIGHT = re.compile(r"(^|[\W_])(weight|wt)s?\d*([\W_]|$)", re.IGNORECASE)
_PLAIN_WEIGHT = re.compile(r"\W*(weight|wt)s?\W*", re.IGNORECASE)
# Weights of rows are usually scaled to a mean of one.
_NEAR_ONE = 0.01


def left_out_reason(
    name: str, series: Any, column: Column, with_roles: bool = True
) -> Sentence | None:
    """Why a column is no input unless that is stated, in a sentence; or None."""
    stated = Argument("keep", [name])
    reason = _weight_reason(name, series) if with_roles and column.kind == "number" else None
    if reason is not None:
        return Sentence(
            f"Column {name!r} left out, because {reason}: give ",
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


def maybe_roles(name: str, series: Any, column: Column) -> list[Sentence]:
    """Notes on an input that may be a weight of rows, what they belong to, or their time."""
    found = []
    if column.kind == "number" and (
        _PLAIN_WEIGHT.fullmatch(name) or _SURVEY_WEIGHT.search(column.label)
    ):
        found.append(("it is a survey weight", "weight"))
    if _is_owner(name) and column.kind in ("number", "category") and _is_shared(series):
        found.append(("rows of one value belong together", "group"))
    if column.kind == "date" or (column.kind == "number" and _TIME.fullmatch(name)):
        found.append(("the model is for later rows", "time"))
    return [
        Sentence(f"Column {name!r} is an input; if {reason}, give ", Argument(role, name), ".")
        for reason, role in found
    ]


def _identifier_reason(name: str, series: Any, column: Column) -> str | None:
    if name == "qid":
        return "it names queries"
    if len(series) < _FEWEST_ROWS or column.kind not in ("number", "category"):
        return None
    if _is_owner(name) and _repeats(series):
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


def _is_owner(name: str) -> bool:
    return bool(_OWNER.fullmatch(name) or _CAMEL_ID.search(name))


def _is_whole(number: Any) -> bool:
    import pandas as pd

    return number is not pd.NA and number % 1 == 0


def _repeats(series: Any) -> bool:
    return _is_shared(series) and series.nunique() > _FEWEST_ROWS


def _is_shared(series: Any) -> bool:
    """Whether whole numbers or texts, three or more, have rows in common."""
    if series.dtype.kind == "f" and (series.dropna() % 1 != 0).any():
        return False
    return 3 <= series.nunique() <= 0.8 * len(series)


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


def _weight_reason(name: str, series: Any) -> str | None:
    """Why a number looks like a weight of rows.

    Examples
    --------
    >>> import pandas as pd
    >>> _weight_reason("WTMEC2YR", pd.Series([4291.8, 32189.1]))
    'its name is that of a survey weight'
    >>> _weight_reason("weight", pd.Series([0.6, 1.4]))
    'its name is that of a weight and its mean is about one'
    >>> _weight_reason("shell_weight", pd.Series([0.24, 0.31])) is None
    True
    """
    if _SURVEY_WEIGHT.search(name):
        return "its name is that of a survey weight"
    if not _ANY_WEIGHT.search(name):
        return None
    values = np.asarray(series, dtype=np.float64)
    values = values[np.isfinite(values)]
    usual = len(values) and values.min() >= 0.0 and abs(values.mean() - 1.0) <= _NEAR_ONE
    return "its name is that of a weight and its mean is about one" if usual else None
