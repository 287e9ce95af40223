"""Checks of the kernels' parameters, each with its sentence."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt


def read_rates(gamma: npt.ArrayLike) -> float | tuple[float, ...]:
    """γ of the Gaussian: a float, or a tuple with one per feature."""
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma must be a number or one per feature; found {gamma!r}, which get_kernel "
            "resolves from data."
        )
    rates = np.asarray(gamma, dtype=np.float64)
    if rates.ndim > 1 or not rates.size:
        raise ValueError(
            f"gamma must be one number or one per feature; found an array of shape {rates.shape}."
        )
    if not np.isfinite(rates).all() or (rates < 0).any():
        raise ValueError(f"gamma must be finite and not negative; found {gamma!r}.")
    return tuple(rates.tolist()) if rates.ndim else float(rates)


def check_degree(degree: Any) -> None:
    """Raise unless the degree is a whole number of at least 1."""
    if not isinstance(degree, Integral) or int(degree) < 1:
        raise ValueError(f"degree must be an integer of at least 1; found {degree!r}.")


def check_finite(name: str, value: Any) -> None:
    """Raise unless the value is a finite number."""
    if not isinstance(value, Real) or not isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number; found {value!r}.")


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless the value is a finite number of at least zero."""
    if not isinstance(value, Real) or not isfinite(float(value)) or float(value) < 0:
        raise ValueError(f"{name} must be a finite number that is not negative; found {value!r}.")
