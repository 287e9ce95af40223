"""Numbers that callers pass: one per row, finite, weights not negative; or one alone."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from .._utils.entries import without_mask
from .._utils.types import Array, Mask, Vector

#: Seeds are drawn below this, which every generator accepts.
LARGEST_SEED = int(np.iinfo(np.int32).max)


def read_numbers(values: Any, name: str) -> Array:
    """Array of floats, of any shape and content; NaN where it is masked."""
    try:
        return np.asarray(without_mask(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold numbers; found {type(values).__name__} that does not convert."
        ) from None


def finite_vector(values: Any, n: int, name: str) -> Vector:
    """As many finite numbers as asked for, such as one per row."""
    vector = read_numbers(values, name)
    if vector.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},); found {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must hold finite numbers; found NaN or infinity.")
    return vector


def are_whole(values: Vector) -> Mask:
    """Which numbers are whole, of those that floats hold exactly and integers can be."""
    return np.asarray((values == np.rint(values)) & (np.abs(values) <= 2.0**53))


def check_weights(sample_weight: Any, n: int) -> Vector:
    """One finite weight per row, none negative and not all zero; ones by default.

    Examples
    --------
    >>> check_weights(None, 2)
    array([1., 1.])
    """
    if sample_weight is None:
        return np.ones(n)
    weights = finite_vector(sample_weight, n, "sample_weight")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative; found {weights.min():g}.")
    if not weights.any():
        raise ValueError("sample_weight must have a positive entry; found all zeros.")
    return weights


def moderate_weights(weights: Vector) -> Vector:
    """Weights over a power of two, so that the largest is below 2, where only ratios matter.

    Examples
    --------
    >>> moderate_weights(np.array([2.0**-1000, 2.0**-1002]))
    array([1.  , 0.25])
    """
    return np.ldexp(weights, 1 - int(np.frexp(weights.max())[1]))


def require_positive(name: str, value: Any) -> None:
    """Raise unless a parameter is a finite number above zero."""
    if not isinstance(value, Real) or value is True or not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number; found {value!r}.")


def require_count(name: str, value: Any, least: int = 1) -> None:
    """Raise unless a parameter is an integer of at least `least`."""
    if not isinstance(value, Integral) or value is True or int(value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}; found {value!r}.")


def count_of(name: str, value: Any, n: int, *, above: bool = False) -> int:
    """A parameter that is a number, or a share of n; a number above n only if asked."""
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return max(1, int(value * n))
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and value >= 1 and (above or value <= n):
        return int(value)
    raise ValueError(
        f"{name} must be a share above 0 and at most 1.0, or an integer of at least 1"
        f"{'' if above else f' and at most {n}'}; found {value!r}."
    )
