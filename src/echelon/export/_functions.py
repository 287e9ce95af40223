"""Functions that models need and onnxruntime lacks in double precision.

Each is a polynomial on a short interval, found here by interpolation at Chebyshev's points, and
evaluated by Horner's rule.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from ._graph import Value

Coefficients = npt.NDArray[np.float64]

# Of the map from [0, ∞) to [−1, 1] that makes e^{a²}·erfc(a) nearly a polynomial.
_CENTRE = 3.75
_DEGREE_ERFCX = 28
_DEGREE_ATAN = 16
# tan(π/8): where |z| ≤ 1 has half the angle.
_WIDTH = np.tan(np.pi / 8.0)
# Beyond this the normal tail is zero in double precision.
_FAR = 38.6


@cache
def _erfcx_polynomial() -> Coefficients:
    def mapped(t: Coefficients) -> Coefficients:
        with np.errstate(divide="ignore"):
            a = _CENTRE * (1.0 + t) / (1.0 - t)
        # At infinity a·erfcx(a) is 1/√π; (a + c)·erfcx(a) is smooth on all of [−1, 1].
        return np.where(t < 1.0, (np.minimum(a, 1e8) + _CENTRE) * erfcx(np.minimum(a, 1e8)), 0.0)

    return chebyshev.cheb2poly(chebyshev.chebinterpolate(mapped, _DEGREE_ERFCX))


@cache
def _atan_polynomial() -> Coefficients:
    def mapped(t: Coefficients) -> Coefficients:
        root = np.sqrt(np.maximum(0.5 * (t + 1.0), 1e-300)) * _WIDTH
        return np.arctan(root) / root

    return chebyshev.cheb2poly(chebyshev.chebinterpolate(mapped, _DEGREE_ATAN))


def _horner(coefficients: Coefficients, t: Any) -> Any:
    result = t * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result = result * t + coefficient
    return result


def normal_tail(a: Value) -> Value:
    """1 − Φ(a) for a ≥ 0, with relative accuracy."""
    a = a.clip(0.0, _FAR)
    half = a * np.sqrt(0.5)
    smooth = _horner(_erfcx_polynomial(), (half - _CENTRE) / (half + _CENTRE)) / (half + _CENTRE)
    return smooth * (a * a * -0.5).apply("Exp") * 0.5


def normal_cdf(z: Value) -> Value:
    """Φ(z), with relative accuracy in the lower tail."""
    tail = normal_tail(z.apply("Abs"))
    return (z < 0.0).where(tail, 1.0 - tail)


def arctangent(z: Value) -> Value:
    """Arc tangent, also of ±∞."""
    size = z.apply("Abs")
    inner = size.at_most(1.0 / size.at_least(1e-300))
    halved = inner / (1.0 + (1.0 + inner * inner).apply("Sqrt"))
    t = halved * halved * (2.0 / _WIDTH**2) - 1.0
    angle = 2.0 * halved * _horner(_atan_polynomial(), t)
    angle = (size > 1.0).where(0.5 * np.pi - angle, angle)
    return angle * z.apply("Sign")
