"""Parameters that are one of some names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def require_choice(name: str, value: Any, accepted: Iterable[str]) -> None:
    """Raise unless a parameter is one of the accepted names.

    Examples
    --------
    >>> require_choice("ties", "best", ("half", "error"))
    Traceback (most recent call last):
    ValueError: ties must be 'half' or 'error'; found 'best'.
    """
    names = list(accepted)
    if isinstance(value, str) and value in names:
        return
    *others, last = map(repr, names)
    listed = f"{', '.join(others)} or {last}" if others else last
    raise ValueError(f"{name} must be {listed}; found {value!r}.")
