"""Judgements on pairs of item ids, from any data frame or mapping of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes, Vector
from .queries import checked_weights, query_codes


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
