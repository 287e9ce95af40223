"""Inputs that are the target in other words, and so make every model look good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._utils.types import Codes
from .faults import Argument, Sentence

_FEWEST_ROWS = 20
# Rows that are looked at first: they rule nearly every column out.
_FIRST = 1000


def copy_notes(frame: Any, names: Iterable[str], codes: Codes) -> list[Sentence]:
    """A note on every column whose cells tell the label of every row."""
    return [
        Sentence(
            f"Column {name!r} tells the label of every row; if it is the target in other words, "
            "give ",
            Argument("drop", [name]),
            ".",
        )
        for name in names
        if tells_label(frame[name], codes)
    ]


def tells_label(series: Any, codes: Codes) -> bool:
    """Whether equal cells have equal labels, or labels rise or fall with numbers.

    Cells that hardly repeat tell nothing unless they are numbers, and neither do few rows.

    Examples
    --------
    >>> import pandas as pd
    >>> codes = np.arange(30) % 3
    >>> tells_label(pd.Series(["c", "a", "b"] * 10), codes)
    True
    >>> tells_label(pd.Series(codes + np.linspace(0, 0.9, 30)), codes)
    True
    >>> tells_label(pd.Series(["c", "a"] * 15), codes)
    False
    """
    if len(codes) < _FEWEST_ROWS or codes.min() == codes.max():
        return False
    first = slice(_FIRST)
    varied = len(codes) > _FIRST and codes[first].min() < codes[first].max()
    if varied and not _tells(series.iloc[first], codes[first]):
        return False
    return _tells(series, codes)


def _tells(series: Any, codes: Codes) -> bool:
    import pandas as pd

    values, distinct = pd.factorize(series, use_na_sentinel=False)
    if not len(distinct):
        return False
    # Equal cells have equal labels if the least and the greatest of them agree.
    low = np.full(len(distinct), codes.max())
    np.minimum.at(low, values, codes)
    if (low[values] != codes).any():
        return False
    if 2 * len(distinct) <= len(codes):
        return True
    if series.dtype.kind not in "iufM" or series.isna().any():
        return False
    steps = np.diff(codes[np.argsort(series.to_numpy(), kind="stable")])
    return bool((steps >= 0).all() or (steps <= 0).all())
