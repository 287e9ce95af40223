"""Queries: which rows are compared with each other, whatever the ids are and however they lie.

Also the reading of weights, which all sets of pairs share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.entries import without_mask
from .._utils.types import Codes, Vector, VectorLike

# Whole numbers are looked up in a table of at most so many entries per row.
_TABLE_FACTOR = 4
_LARGEST = np.iinfo(np.intp).max


def query_codes(qid: Any, n: int, *, name: str = "qid") -> tuple[Codes, list[Any]]:
    """Query of each row as a code 0 … Q−1 by first appearance, and the ids in that order.

    Parameters
    ----------
    qid : sequence of shape (n,), or None
        Any hashable ids, in any order; None puts all rows into one query.
    n : int
        Number of rows.
    name : str, default="qid"
        What an error calls the argument.

    Returns
    -------
    codes : ndarray of shape (n,)
    ids : list
        The distinct ids.

    Examples
    --------
    >>> codes, ids = query_codes(["b", "a", "b"], 3)
    >>> codes.tolist(), ids
    ([0, 1, 0], ['b', 'a'])
    """
    if qid is None:
        return np.zeros(n, dtype=np.intp), [None] * min(n, 1)
    values = _column(qid, name)
    if len(values) != n:
        raise ValueError(f"{name} must have one entry per row, {n}; found {len(values)}.")
    if isinstance(values, np.ndarray):
        # Texts are hashed faster than sorted.
        if values.dtype.kind in "iubfmM":
            return _sorted_codes(values, name)
        values = values.tolist()
    return _hashed_codes(values, name)


def _column(qid: Any, name: str) -> Any:
    """Ids as an array where they are numbers, else as they came."""
    if isinstance(qid, (list, tuple)):
        # NumPy would turn a list of tuples into a matrix, and mixed ids into texts or fractions.
        kinds = {type(entry) for entry in qid}
        if len(kinds) != 1 or not kinds <= {int, float, bool}:
            return qid
        numbers = np.asarray(qid)
        return qid if numbers.dtype.kind == "f" and kinds == {int} else numbers
    if np.ma.is_masked(qid):
        raise ValueError(f"{name} must not be missing; found masked entries.")
    values = np.asarray(qid)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; found shape {values.shape}.")
    return values


def _sorted_codes(values: npt.NDArray[Any], name: str) -> tuple[Codes, list[Any]]:
    if values.dtype.kind in "fmM" and np.isnan(values).any():
        raise ValueError(f"{name} must not be missing; found NaN.")
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= _TABLE_FACTOR * len(values) and high <= _LARGEST:
            # Wide first: a difference of small integers can leave their range.
            wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
            return _looked_up_codes((wide - wide.min()).astype(np.intp), low, high - low + 1)
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    ids = distinct[order]
    # Dates would become plain counts of nanoseconds.
    return place[inverse], list(ids) if ids.dtype.kind in "mM" else ids.tolist()


def _looked_up_codes(offsets: Codes, low: int, length: int) -> tuple[Codes, list[Any]]:
    """Codes of whole numbers of small range, by a table instead of a sort."""
    n = len(offsets)
    first = np.full(length, n, dtype=np.intp)
    # Of equal places the last assignment stays, which is the first row.
    first[offsets[::-1]] = np.arange(n - 1, -1, -1)
    present = np.flatnonzero(first < n)
    present = present[np.argsort(first[present])]
    first[present] = np.arange(len(present))
    return first[offsets], (present + low).tolist()


def _hashed_codes(values: Sequence[Any], name: str) -> tuple[Codes, list[Any]]:
    place: dict[Any, int] = {}
    try:
        codes = np.fromiter(
            (place.setdefault(value, len(place)) for value in values), np.intp, len(values)
        )
    except TypeError:
        raise ValueError(f"{name} must hold hashable ids, such as numbers or texts.") from None
    if any(_is_missing(value) for value in place):
        raise ValueError(f"{name} must not be missing; found None or NaN.")
    return codes, list(place)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA has no truth, nor has it an order.
        return True


def by_id(numbers: Mapping[Any, float], ids: Sequence[Any], name: str) -> list[float]:
    """Numbers of queries in the order of their ids."""
    missing = [query for query in ids if query not in numbers]
    if missing:
        raise ValueError(
            f"{name} must have a number for every query; found none for {missing[0]!r}."
        )
    return [numbers[query] for query in ids]


def checked_weights(weights: VectorLike | None, n: int, name: str) -> Vector:
    """Weights as numbers, none negative; ones for None."""
    if weights is None:
        return np.ones(n)
    w = np.asarray(without_mask(weights), dtype=np.float64)
    if w.shape != (n,):
        found = f"shape {w.shape}"
    elif not (np.isfinite(w) & (w >= 0)).all():
        found = str(w[np.argmin(np.isfinite(w) & (w >= 0))])
    else:
        return w
    raise ValueError(f"{name} must be {n} finite numbers, none negative; found {found}.")
