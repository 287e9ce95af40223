"""Entries of arrays that callers pass: masked ones are missing, and none may be out of range."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Inputs, weights and costs are at most this large, so that their products stay finite.
LARGEST_NUMBER = 1e50


def without_mask(values: Any) -> Any:
    """A masked array as doubles with NaN where it is masked; anything else as it is.

    Examples
    --------
    >>> without_mask(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    return np.ma.filled(values.astype(np.float64), np.nan)


def require_moderate(
    values: Any, name: str, advice: str = "scale them", most: float = LARGEST_NUMBER
) -> None:
    """Raise where a number is too large in size to compute with; NaN is left to others."""
    if not values.size:
        return
    largest = float(max(np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None)))
    if largest > most:
        found = "infinity" if np.isinf(largest) else f"{largest:g}"
        raise ValueError(
            f"{name} must hold numbers of at most {most:g} in size; found {found}: {advice}."
        )
