"""Labels whose order is all that matters, as numbers: relevance grades and ordered categories."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Vector
from .arrays import finite_vector
from .columns import LabelColumn, read_column
from .labels import read_scale


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
        return finite_vector(column.labels, len(column), name)
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
