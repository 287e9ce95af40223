"""What an object is made of: without what it only keeps to be fast, and checked when it is read."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


class StateError(ValueError):
    """Attributes that no fit can have left; the text goes on after "because"."""


def require_state(holds: Any, reason: str) -> None:
    """Raise `StateError` unless the condition holds, everywhere if it is an array."""
    if not (holds.all() if isinstance(holds, np.ndarray) else holds):
        raise StateError(reason)


def is_ascending(values: Any, length: int | None = None) -> bool:
    """Whether these are numbers in one row, that many if said, of which none is below the last.

    Examples
    --------
    >>> is_ascending(np.array([0.0, 0.0, np.inf]), 3), is_ascending(np.array([np.nan]))
    (True, False)
    """
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "f":
        return False
    if length is not None and len(values) != length:
        return False
    return bool(not np.isnan(values).any() and (values[1:] >= values[:-1]).all())


def are_indices(values: Any, size: int) -> bool:
    """Whether these are integers from 0 to below a size.

    Examples
    --------
    >>> are_indices(np.array([0, 2]), 3), are_indices(np.array([-1]), 3), are_indices([1.0], 3)
    (True, False, False)
    """
    found = np.asarray(values)
    if found.dtype.kind not in "iu" and found.size:
        return False
    return bool(((found >= 0) & (found < size)).all())


class WithoutCaches:
    """What a ``cached_property`` keeps is no part of the state that is copied, pickled or saved.

    Examples
    --------
    >>> class Square(WithoutCaches):
    ...     side = 2.0
    ...
    ...     @cached_property
    ...     def area(self) -> float:
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, square.__getstate__()
    (4.0, {})
    """

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__() or {}  # type: ignore[assignment]
        kind = type(self)
        return {
            name: value
            for name, value in state.items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }
