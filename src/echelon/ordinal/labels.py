"""Ordered labels as codes 0 … K−1, and labels whose order is all that matters as numbers.

A scale is a finite list of labels from the lowest to the highest. It comes, in this order,
from the ``classes`` that the user states, from an ordered data-frame category (pandas ordered
``Categorical``, polars ``Enum``, ordered pyarrow dictionary), or from sorting the labels seen.
An order that was stated is never sorted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.messages import warn_caller
from .._utils.types import ClassesLike, Codes, LabelsLike, Vector
from .arrays import finite_vector
from .columns import HOW_TO_ORDER, LabelColumn, plain_array, read_column

__all__ = ["Codes", "LabelOrderWarning", "OrdinalScale", "read_scale"]

CONTAINERS = ("numpy", "pandas", "polars", "pyarrow")
# Integer labels that span no more than this are looked up in a table.
_TABLE_SPAN = 1 << 16
# Doubles hold every whole number up to this one.
_LARGEST_EXACT = 2.0**53


class LabelOrderWarning(UserWarning):
    """The order of text labels was assumed to be alphabetical."""


@dataclass(frozen=True)
class OrdinalScale:
    """Labels in ascending order and the container that predictions come back in.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        The labels from lowest to highest, without repeats.
    container : {"numpy", "pandas", "polars", "pyarrow"}
        ``"numpy"`` for plain arrays, else the library whose ordered category came in.

    Examples
    --------
    >>> scale, codes = read_scale(["low", "high", "low"], classes=["low", "mid", "high"])
    >>> codes
    array([0, 2, 0])
    >>> scale.decode([1, 2])
    array(['mid', 'high'], dtype='<U4')
    """

    classes: npt.NDArray[Any]
    container: str = "numpy"

    @property
    def n_classes(self) -> int:
        """Number of levels K, observed or not."""
        return len(self.classes)

    def encode(self, y: Any, *, name: str = "y") -> Codes:
        """Codes of labels; a label outside the scale is an error."""
        return _encode(read_column(y, name), self.classes, name)

    def decode(self, codes: npt.ArrayLike) -> Any:
        """Labels of codes, in the type that the scale was read from."""
        positions = np.asarray(codes, dtype=np.intp)
        if self.container == "pandas":
            import pandas as pd

            dtype = pd.CategoricalDtype(self.classes, ordered=True)
            return pd.Categorical.from_codes(positions, dtype=dtype)
        if self.container == "polars":
            import polars as pl

            return pl.Series(self.classes[positions].tolist(), dtype=pl.Enum(self.classes.tolist()))
        if self.container == "pyarrow":
            import pyarrow as pa

            indices = pa.array(positions.astype(np.int32))
            return pa.DictionaryArray.from_arrays(indices, self.classes.tolist(), ordered=True)
        return self.classes[positions]


def read_scale(
    y: LabelsLike | LabelColumn, classes: LabelsLike | None = None, *, name: str = "y"
) -> tuple[OrdinalScale, Codes]:
    """Scale of a label column and the codes of its rows.

    Parameters
    ----------
    y : array-like or data-frame column of labels
    classes : sequence, optional
        The labels from lowest to highest; it may name levels that `y` lacks.
    name : str
        The argument's name for error messages.

    Returns
    -------
    scale : OrdinalScale
    codes : ndarray of int

    Warns
    -----
    LabelOrderWarning
        If the labels are text and nothing states their order.
    """
    column = read_column(y, name)
    column.refuse_missing(name)
    container = "numpy"
    if classes is not None:
        levels = _stated_classes(classes)
    elif column.stated_order is not None:
        levels, container = column.stated_order, column.container
    else:
        column.refuse_unordered(name)
        levels = _sorted_classes(column.labels, name)
    return OrdinalScale(levels, container), _encode(column, levels, name)


def _stated_classes(classes: LabelsLike) -> npt.NDArray[Any]:
    levels = plain_array(classes)
    if levels.ndim != 1 or len(levels) < 2:
        raise ValueError(
            f"classes must list at least two labels from lowest to highest; found {classes!r}."
        )
    if len(set(levels.tolist())) != len(levels):
        raise ValueError(f"classes must not repeat a label; found {levels.tolist()!r}.")
    return levels


def _sorted_classes(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if len(values) == 0:
        raise ValueError(f"{name} must have at least one label; found none.")
    if values.dtype.kind == "O":
        values = _common_type(values, name)
    levels = _distinct_sorted(values)
    many = len(levels) > 20 and 4 * len(levels) > len(values)
    if levels.dtype.kind == "f" and many and (levels % 1 != 0).any():
        raise ValueError(
            f"{name} looks continuous: {len(levels)} distinct fractional values in {len(values)} "
            "rows; cut it into ordered classes, or list them as classes=[...]."
        )
    if levels.dtype.kind in "US":
        warn_caller(
            f"{name} holds text without an order, so the alphabetical order {_shown(levels)} is "
            f"assumed; to set it, {HOW_TO_ORDER}.",
            LabelOrderWarning,
        )
    return levels


def _distinct_sorted(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= _TABLE_SPAN:
            seen = np.flatnonzero(np.bincount(_offsets(values, low)))
            return np.asarray([low + int(step) for step in seen], dtype=values.dtype)
    return np.unique(values)


def _offsets(values: npt.NDArray[Any], low: int) -> Codes:
    """How far whole numbers lie above one that is near to them, whatever their size."""
    # Only a type of 64 bits holds every difference of its own numbers below the span.
    wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)
    return np.asarray((wide - wide.dtype.type(low)).astype(np.intp))


def _common_type(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    kinds = {"text" if isinstance(value, str) else "number" for value in values.tolist()}
    if len(kinds) > 1:
        raise ValueError(f"{name} mixes text and numbers as labels; {HOW_TO_ORDER}.")
    common = plain_array(values.tolist())
    if common.dtype.kind not in "USbiuf":
        raise ValueError(
            f"Unknown label type: {name} holds objects of type {type(values[0]).__name__}; "
            "labels are text, booleans or numbers of at most 64 bits."
        )
    return common


def _encode(column: LabelColumn, classes: npt.NDArray[Any], name: str) -> Codes:
    column.refuse_missing(name)
    codes = _look_up(column.labels, classes)
    if column.positions is not None:
        codes = codes[column.positions]
    unknown = codes < 0
    if unknown.any():
        unseen = sorted({str(label) for label in column.values[unknown].tolist()})
        raise ValueError(
            f"{name} has labels outside the scale: {', '.join(unseen[:5])}"
            f"{' …' if len(unseen) > 5 else ''}; the scale is {_shown(classes)}."
        )
    return codes


def _look_up(values: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Codes:
    """Position of each value among the classes, −1 where it is not one of them."""
    if values.dtype.kind in "iu" and classes.dtype.kind in "iu":
        low, high = int(classes.min()), int(classes.max())
        if high - low <= _TABLE_SPAN:
            return _look_up_in_table(values, classes, low, high)
    if values.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        order = np.argsort(classes, kind="stable")
        found = np.minimum(np.searchsorted(classes[order], values), len(classes) - 1)
        return np.where(classes[order[found]] == values, order[found], -1)
    place = {label: code for code, label in enumerate(classes.tolist())}
    if values.dtype.kind == "O":
        return np.array([place.get(label, -1) for label in values.tolist()], dtype=np.intp)
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([place.get(label, -1) for label in distinct.tolist()], dtype=np.intp)[inverse]


def _look_up_in_table(
    values: npt.NDArray[Any], classes: npt.NDArray[Any], low: int, high: int
) -> Codes:
    table = np.full(high - low + 1, -1, dtype=np.intp)
    table[_offsets(classes, low)] = np.arange(len(classes))
    limits = np.iinfo(values.dtype)
    first, last = max(low, int(limits.min)), min(high, int(limits.max))
    if first > last:
        return np.full(len(values), -1, dtype=np.intp)
    clipped = np.clip(values, first, last)
    return np.where(clipped == values, table[_offsets(clipped, first) + (first - low)], -1)


def _shown(classes: npt.NDArray[Any]) -> str:
    labels = [str(label) for label in classes[:12].tolist()]
    return " < ".join(labels) + (" < …" if len(classes) > 12 else "")


def read_relevance(y: Any, name: str = "y") -> Vector:
    """Numbers as they are, labels of an ordered type as their ranks.

    Unlike a scale, relevance may have any number of values, so real numbers are welcome.

    Parameters
    ----------
    y : array-like or data-frame column of shape (n,)
    name : str
        The argument's name for error messages.

    Returns
    -------
    relevance : ndarray of shape (n,)

    Examples
    --------
    >>> read_relevance([0.5, 3, 0.5])
    array([0.5, 3. , 0.5])
    """
    column = read_column(y, name)
    column.refuse_missing(name)
    if column.positions is None and _are_numbers(column.labels):
        relevance = finite_vector(column.labels, len(column), name)
        if column.labels.dtype.kind in "iu" and (np.abs(relevance) > _LARGEST_EXACT).any():
            raise ValueError(
                f"{name} must hold whole numbers of at most 2**53 in size, which doubles tell "
                f"apart; found {np.abs(relevance).max():.0f}."
            )
        return relevance
    if column.stated_order is None:
        raise ValueError(
            f"{name} must hold numbers or an ordered category (a pandas Categorical with "
            f"ordered=True, a polars Enum, an ordered pyarrow dictionary); found {_kind(column)}, "
            "which has no order."
        )
    _, codes = read_scale(column, name=name)
    return codes.astype(np.float64)


def _kind(column: LabelColumn) -> str:
    if column.positions is not None:
        return f"an unordered category of {column.container}"
    return f"{type(column.labels.tolist()[0]).__name__}" if len(column) else "nothing"


def _are_numbers(labels: npt.NDArray[Any]) -> bool:
    if labels.dtype.kind == "O":
        return all(isinstance(label, Real) for label in labels.tolist())
    return labels.dtype.kind in "iufb"


def counted_from(labels: ClassesLike) -> tuple[int, str]:
    """Where expected ranks start for a reader, and what they are then called.

    Labels that are whole numbers one after another are counted as they are, others from 1.

    Examples
    --------
    >>> counted_from([3, 4, 5]), counted_from(["poor", "fair"])
    ((3, 'expected label'), (1, 'expected rank (from 1)'))
    """
    names = list(labels)
    whole = all(
        isinstance(x, int | float | np.number) and not isinstance(x, bool) and float(x).is_integer()
        for x in names
    )
    if names and whole and all(b - a == 1 for a, b in pairwise(names)):
        return int(names[0]), "expected label"
    return 1, "expected rank (from 1)"
