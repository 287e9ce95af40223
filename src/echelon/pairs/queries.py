"""Queries: which rows are compared with each other, whatever the ids are and however they lie.

Also judgements on pairs of item ids, from any data frame or mapping of columns, and the reading of
weights, which all sets of pairs share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        found = f"shape {w.shape}"
    elif not (np.isfinite(w) & (w >= 0)).all():
        found = str(w[np.argmin(np.isfinite(w) & (w >= 0))])
    else:
        return w
    raise ValueError(f"{name} must be {n} finite numbers, none negative; found {found}.")


def judged_pairs(
    frame: Any,
    items: Any,
    left: str,
    right: str,
    label: str | None,
    weights: Any,
    zero: str | None,
) -> tuple[npt.NDArray[np.intp], int, Vector]:
    """Rows of winner and loser of each judgement, the number of items, and the weights.

    A tie has the weight 0. The arguments are those of ``PairSet.from_frame``.
    """
    place = _places(items)
    ours, theirs = (_item_rows(frame, name, place) for name in (left, right))
    if label is None:
        sign = np.ones(len(ours), dtype=np.intp)
    else:
        sign = _preference_signs(np.asarray(_frame_column(frame, label)), zero)
    if not len(ours) == len(theirs) == len(sign):
        raise ValueError(
            "Columns of frame must have equal lengths; found "
            f"{len(ours)}, {len(theirs)} and {len(sign)}."
        )
    w = _frame_column(frame, weights) if isinstance(weights, str) else weights
    pair_weights = checked_weights(w, len(sign), "weights") * (sign != 0)
    winners, losers = np.where(sign > 0, ours, theirs), np.where(sign > 0, theirs, ours)
    return np.stack([winners, losers], axis=1), len(place), pair_weights


def _frame_column(frame: Any, name: str) -> Any:
    try:
        return frame[name]
    except Exception as error:
        # A missing column is a KeyError in most libraries and an error of its own in polars.
        usual = isinstance(error, (LookupError, TypeError, ValueError))
        if not usual and "NotFound" not in type(error).__name__:
            raise
        raise ValueError(
            f"frame must have a column {name!r}; found none of that name; left, right, label and "
            "weights name others."
        ) from None


def _entries(values: Any) -> list[Any]:
    """Entries of a column as plain Python objects, whichever library it is from."""
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            entries: list[Any] = getattr(values, method)()
            return entries
    return list(values)


def _places(items: Any) -> dict[Any, int]:
    """Row of each item id."""
    ids = _entries(items)
    codes, _ = query_codes(ids, len(ids), name="items")
    repeated = np.flatnonzero(codes != np.arange(len(ids)))
    if len(repeated):
        raise ValueError(f"items must be distinct ids; found {ids[repeated[0]]!r} twice.")
    return {item: row for row, item in enumerate(ids)}


def _item_rows(frame: Any, name: str, place: dict[Any, int]) -> Codes:
    values = _entries(_frame_column(frame, name))
    try:
        return np.fromiter((place[value] for value in values), np.intp, len(values))
    except KeyError as unknown:
        raise ValueError(
            f"Column {name!r} must hold ids of items; found {unknown.args[0]!r}."
        ) from None
    except TypeError:
        raise ValueError(f"Column {name!r} must hold hashable ids of items.") from None


def _preference_signs(label: npt.NDArray[Any], zero: str | None) -> npt.NDArray[np.intp]:
    """Who is preferred: +1 left, −1 right, 0 nobody."""
    if zero not in (None, "tie", "right"):
        raise ValueError(f"zero must be 'tie' or 'right'; found {zero!r}.")
    if label.dtype.kind == "O":
        # Numbers and booleans of a column that could also be missing.
        label = np.asarray(label.tolist())
    if label.dtype.kind == "b":
        return np.where(label, 1, -1)
    if label.dtype.kind in "OUS":
        known = {"left": 1, "right": -1, "tie": 0}
        strange = sorted({str(entry) for entry in label.tolist()} - set(known))
        if strange:
            raise ValueError(
                f"Texts in 'label' must be 'left', 'right' or 'tie'; found {strange[0]!r}."
            )
        return np.array([known[str(entry)] for entry in label.tolist()], dtype=np.intp)
    if label.dtype.kind not in "iuf" or np.isnan(label.astype(float)).any():
        raise ValueError("'label' must hold numbers, booleans or texts, none missing.")
    sign = np.sign(label.astype(np.float64)).astype(np.intp)
    if zero is None and (sign == 0).any() and not (sign < 0).any():
        raise ValueError(
            "'label' holds 0 and numbers above it, so it is unclear whether 0 means a tie or that "
            "right wins; pass zero='tie' or zero='right'."
        )
    if zero == "right":
        sign[sign == 0] = -1
    return sign
