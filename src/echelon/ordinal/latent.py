"""Derivatives of interval likelihoods along the latent function, to third order.

With the ends u = (b_y − f)/σ and l = (b_{y−1} − f)/σ and ℓ = ln(F(u) − F(l)), the latent function
moves both ends at once: ∂/∂f = −D/σ with D = ∂/∂u + ∂/∂l. Laplace's method needs D¹ℓ … D³ℓ, and
the slopes of ℓ, Dℓ and D²ℓ in each end.

Gaussian noise. Let z be standard normal, kept within [l, u], with mean μ, variance V and third
cumulant κ₃, and let A = φ(u)/P, B = φ(l)/P. Since ∂E[h]/∂u = A(h(u) − E h) and
∂E[h]/∂l = −B(h(l) − E h),

    Dℓ = A − B = −μ         ∂Dℓ/∂u = −A(u − μ)          ∂Dℓ/∂l = −B(μ − l)
    D²ℓ = V − 1             ∂D²ℓ/∂u = A((u − μ)² − V)   ∂D²ℓ/∂l = −B((μ − l)² − V)
    D³ℓ = −κ₃

The moments in closed form, such as V = 1 + lB − uA − (A − B)², lose all digits for a narrow
interval and in the tails. There the moments of t = u − z, whose density is proportional to
exp(ut − t²/2) on [0, u − l], come from Gauss–Legendre quadrature, which loses none.

Logistic noise. ℓ = ln F(u) + ln F(−l) + ln(1 − e^{−(u−l)}), whose last term D does not see, so
every derivative is a sum over the two ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.types import Array
from .likelihoods import Link, Logit, Probit

#: an interval without width counts as one of this width, so that nothing is infinite
LEAST_WIDTH = 1e-100
#: the moments are integrated where the whole interval is farther out than this
_TAIL = 3.0
#: e^{−40} of the mass may be left out
_LOG_NEGLIGIBLE = 40.0
_ROWS_AT_ONCE = 4096


#: nodes x on [0, 1], and the weights of ∫ x^j for j = 0 … 3 as columns
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(26)
_NODES = 0.5 * (_NODES + 1.0)
_MOMENTS = 0.5 * _WEIGHTS[:, None] * _NODES[:, None] ** np.arange(4)


@dataclass(frozen=True)
class ShiftTerms:
    """ℓ = ln(F(u) − F(l)) of each row with its derivatives; D = ∂/∂u + ∂/∂l.

    Attributes
    ----------
    log_p, d1, d2, d3 : ndarray
        ℓ, Dℓ, D²ℓ ≤ 0 and D³ℓ.
    d_lower, d_upper : ndarray
        ∂ℓ/∂l ≤ 0 and ∂ℓ/∂u ≥ 0.
    d1_lower, d1_upper, d2_lower, d2_upper : ndarray
        The same slopes of Dℓ and of D²ℓ.
    """

    log_p: Array
    d1: Array
    d2: Array
    d3: Array
    d_lower: Array
    d_upper: Array
    d1_lower: Array
    d1_upper: Array
    d2_lower: Array
    d2_upper: Array


def shift_terms(link: Link, lower: Array, upper: Array, width: Array | None = None) -> ShiftTerms:
    """Interval log-likelihood and its derivatives; every entry is finite.

    Parameters
    ----------
    link : Probit or Logit
        The noise.
    lower, upper : ndarray
        Ends l ≤ u in units of the noise, possibly infinite.
    width : ndarray, optional
        u − l, where it is known better than the difference of the rounded ends; it may be of any
        shape that broadcasts to theirs.

    Examples
    --------
    >>> terms = shift_terms(Logit(), np.array([-1.0]), np.array([1.0]))
    >>> terms.d1, terms.d2.round(6)
    (array([0.]), array([-0.393224]))
    """
    if width is None:
        width = np.where(np.isinf(lower) | np.isinf(upper), np.inf, 0.0)
        finite = width == 0.0
        width[finite] = upper[finite] - lower[finite]
    width = np.maximum(width, LEAST_WIDTH)
    if isinstance(link, Logit):
        return _logit_terms(lower, upper, width)
    if isinstance(link, Probit):
        return _probit_terms(link, lower, upper, np.broadcast_to(width, lower.shape))
    raise ValueError(f"link must be the probit or the logit; found {link.name}.")


def _logit_terms(lower: Array, upper: Array, width: Array) -> ShiftTerms:
    log_lower, below, density_lower, slope_lower = _logistic(lower)
    log_upper, above, density_upper, slope_upper = _logistic(-upper)
    outside, inside = np.exp(-width), -np.expm1(-width)
    log_inside = np.where(outside > 0.5, np.log(inside), np.log1p(-np.minimum(outside, 0.5)))
    narrowing = outside / inside
    return ShiftTerms(
        log_p=log_upper + log_lower + log_inside,
        d1=above - below,
        d2=-density_upper - density_lower,
        d3=slope_lower - slope_upper,
        d_lower=-below - narrowing * np.isfinite(lower),
        d_upper=above + narrowing * np.isfinite(upper),
        d1_lower=-density_lower,
        d1_upper=-density_upper,
        d2_lower=slope_lower,
        d2_upper=-slope_upper,
    )


def _logistic(z: Array) -> tuple[Array, Array, Array, Array]:
    """Ln F(−z), F(z), F′(z) and −F″(z) of the logistic distribution from one exponential."""
    decay = np.exp(-np.abs(z))
    major = 1.0 / (1.0 + decay)
    minor = decay * major
    density = minor * major
    return (
        -np.maximum(z, 0.0) - np.log1p(decay),
        np.where(z > 0.0, major, minor),
        density,
        density * np.copysign(major - minor, z),
    )


def _probit_terms(link: Probit, lower: Array, upper: Array, width: Array) -> ShiftTerms:
    with np.errstate(invalid="ignore"):
        flip = lower + upper > 0.0
    low, high = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    moments = _moments(link, low, high, width)
    log_p, ratio_low, ratio_high, mean, to_high, variance_less_one, variance, third = moments
    to_low = np.maximum(np.where(np.isfinite(width), width, 0.0) - to_high, 0.0)
    d1_high, d1_low = -ratio_high * to_high, -ratio_low * to_low
    d2_low = -ratio_low * (to_low**2 - variance)
    d2_high = ratio_high * (to_high**2 - variance)
    # An exponential tail has (u − μ)² = V; there the slope is what the other end leaves of D³ℓ.
    d2_high = np.where(ratio_low < 0.5 * ratio_high, -third - d2_low, d2_high)
    sign = np.where(flip, -1.0, 1.0)
    return ShiftTerms(
        log_p=log_p,
        d1=-sign * mean,
        d2=np.minimum(variance_less_one, 0.0),
        d3=-sign * third,
        d_lower=-np.where(flip, ratio_high, ratio_low),
        d_upper=np.where(flip, ratio_low, ratio_high),
        d1_lower=np.where(flip, d1_high, d1_low),
        d1_upper=np.where(flip, d1_low, d1_high),
        d2_lower=sign * np.where(flip, d2_high, d2_low),
        d2_upper=sign * np.where(flip, d2_low, d2_high),
    )


def _moments(link: Probit, low: Array, high: Array, width: Array) -> Array:
    """ℓ, B, A, μ, u − μ, V − 1, V and κ₃ of intervals that lean to the left, as rows."""
    centre = high - 0.5 * np.where(np.isfinite(width), width, 0.0)
    integrated = (width * np.maximum(1.0, np.abs(centre)) < 1.0) | (high < -_TAIL)
    if not integrated.any():
        return _closed_moments(link, low, high)
    columns = np.empty((8, *width.shape))
    columns[:, integrated] = _integrated_moments(link, high[integrated], width[integrated])
    closed = ~integrated
    if closed.any():
        columns[:, closed] = _closed_moments(link, low[closed], high[closed])
    return columns


def _closed_moments(link: Probit, low: Array, high: Array) -> Array:
    with np.errstate(invalid="ignore"):
        log_p = link.log_interval(low, high)
    b, a = np.exp(link.log_pdf(low) - log_p), np.exp(link.log_pdf(high) - log_p)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    mean = b - a
    end = low * b - high * a
    variance_less_one = end - mean**2
    third = low**2 * b - high**2 * a - mean * (1.0 + 3.0 * end - 2.0 * mean**2)
    variance = 1.0 + variance_less_one
    return np.stack([log_p, b, a, mean, high - mean, variance_less_one, variance, third])


def _integrated_moments(link: Probit, high: Array, width: Array) -> Array:
    # −ut + t²/2 = 40 at the end of what is integrated; u is below ½ here.
    reach = 2.0 * _LOG_NEGLIGIBLE / (np.sqrt(high**2 + 2.0 * _LOG_NEGLIGIBLE) - high)
    reach = np.minimum(width, reach)
    raw = np.empty((len(high), 4))
    for start in range(0, len(high), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        t = reach[block, None] * _NODES
        raw[block] = np.exp(t * (high[block, None] - 0.5 * t)) @ _MOMENTS
    mass, m1, m2, m3 = raw.T
    m1, m2, m3 = m1 / mass, m2 / mass, m3 / mass
    # z = u − t reverses the sign of the third cumulant.
    variance = reach**2 * (m2 - m1**2)
    third = -(reach**3) * (m3 - m1 * (3.0 * m2 - 2.0 * m1**2))
    to_high = reach * m1
    a = 1.0 / (reach * mass)
    b = a * np.exp(width * (high - 0.5 * width))
    log_p = link.log_pdf(high) - np.log(a)
    return np.stack([log_p, b, a, high - to_high, to_high, variance - 1.0, variance, third])
