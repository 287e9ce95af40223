"""Parameters that are one of some names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def require_choice(name: str, value: Any, accepted: Iterable[Any], *others: str) -> None:
    """Raise unless a parameter is one of the accepted values, which are mostly names.

    ``others`` say in words what else is accepted, which the caller has dealt with before.

    Examples
    --------
    >>> require_choice("ties", "best", ("half", "error"))
    Traceback (most recent call last):
    ValueError: ties must be 'half' or 'error'; found 'best'.
    >>> require_choice("cost", 3, ("absolute", "squared"), "a matrix")
    Traceback (most recent call last):
    ValueError: cost must be 'absolute', 'squared' or a matrix; found 3.
    """
    values = list(accepted)
    if any(type(value) is type(one) and value == one for one in values):
        return
    *first, last = [*map(repr, values), *others]
    listed = f"{', '.join(first)} or {last}" if first else last
    raise ValueError(f"{name} must be {listed}; found {value!r}.")
