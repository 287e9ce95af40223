"""Interval likelihoods of cumulative links: P(y = k | f) = F(b_k − f) − F(b_{k−1} − f).

With the ends u = b_k − f and l = b_{k−1} − f (possibly ±∞) of the interval of the noise,
ℓ = ln(F(u) − F(l)). Writing p = F′, A = p(u)/P and B = p(l)/P,

    ∂ℓ/∂u = A          ∂²ℓ/∂u² = A·(ln p)′(u) − A²
    ∂ℓ/∂l = −B         ∂²ℓ/∂l² = −B·(ln p)′(l) − B²        ∂²ℓ/∂u∂l = A·B

and ∂/∂f = −(∂/∂u + ∂/∂l). P is never formed by subtracting two numbers near one: each link has
its interval in a form that keeps relative accuracy in both tails and for narrow intervals.
For every link but the cauchit ln p is concave, so ℓ is jointly concave in (u, l).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtri

from .._utils.messages import require_choice
from .._utils.types import Array

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG_PI = math.log(math.pi)
_LOG_2 = math.log(2.0)


class Link(ABC):
    """A continuous noise distribution F with the pieces that interval likelihoods need."""

    name: str
    #: F⁻¹(½): the score sits this far below a threshold when both sides are equally likely
    median: float = 0.0
    log_concave: bool = True

    @abstractmethod
    def log_pdf(self, z: Array) -> Array:
        """Log density ln p(z); −∞ at z = ±∞."""

    @abstractmethod
    def log_pdf_slope(self, z: Array) -> Array:
        """(ln p)′(z); finite, and of no consequence, at z = ±∞."""

    @abstractmethod
    def log_interval(self, lower: Array, upper: Array) -> Array:
        """ln(F(upper) − F(lower)) for lower < upper, either of which may be infinite."""

    def interval(self, lower: Array, upper: Array) -> Array:
        """F(upper) − F(lower), as exactly as its logarithm."""
        return np.exp(self.log_interval(lower, upper))

    @abstractmethod
    def quantile(self, q: Array) -> Array:
        """F⁻¹(q) for 0 < q < 1."""


class Logit(Link):
    """Logistic noise: proportional odds."""

    name = "logit"

    def log_pdf(self, z: Array) -> Array:
        return np.asarray(-np.abs(z) - 2.0 * np.log1p(np.exp(-np.abs(z))))

    def log_pdf_slope(self, z: Array) -> Array:
        return -np.tanh(0.5 * z)

    def log_interval(self, lower: Array, upper: Array) -> Array:
        # F(u) − F(l) = F(u)·(1 − F(l))·(1 − e^{−(u−l)})
        width = _log1mexp(np.minimum(lower - upper, 0.0))
        return np.asarray(log_expit(upper) + log_expit(-lower) + width)

    def interval(self, lower: Array, upper: Array) -> Array:
        return np.asarray(expit(upper) * expit(-lower) * -np.expm1(np.minimum(lower - upper, 0.0)))

    def quantile(self, q: Array) -> Array:
        return np.asarray(np.log(q) - np.log1p(-q))


class Probit(Link):
    """Gaussian noise."""

    name = "probit"

    def log_pdf(self, z: Array) -> Array:
        return np.asarray(-0.5 * z * z - _LOG_ROOT_2PI)

    def log_pdf_slope(self, z: Array) -> Array:
        return np.where(np.isfinite(z), -z, 0.0)

    def log_interval(self, lower: Array, upper: Array) -> Array:
        # Reflect intervals right of zero, so that the larger of two small tails is kept.
        flip = lower + upper > 0.0
        low = np.where(flip, -upper, lower)
        high = np.where(flip, -lower, upper)
        outer = log_ndtr(high)
        difference = log_ndtr(low) - outer
        wide = outer + _log1mexp(np.minimum(difference, 0.0))
        width = high - low
        narrow = width * np.maximum(1.0, np.abs(high)) < 1e-4
        if not narrow.any():
            return np.asarray(wide)
        # ∫ p over [c − h, c + h] = 2h·p(c)·(1 + (c² − 1)h²/6 + O(h⁴))
        centre = np.where(narrow, 0.5 * (low + high), 0.0)
        half = np.where(narrow, 0.5 * width, 1.0)
        with np.errstate(divide="ignore"):
            log_narrow = np.log(2.0 * half)
        correction = np.where(narrow, (centre**2 - 1.0) * half**2 / 6.0, 0.0)
        log_narrow = log_narrow + self.log_pdf(centre) + np.log1p(correction)
        return np.where(narrow, log_narrow, wide)

    def quantile(self, q: Array) -> Array:
        return np.asarray(ndtri(q))


class CLogLog(Link):
    """Smallest-extreme-value noise, F(z) = 1 − exp(−e^z): proportional hazards."""

    name = "cloglog"
    median = math.log(_LOG_2)

    def log_pdf(self, z: Array) -> Array:
        return np.where(np.isposinf(z), -np.inf, z) - _exp(z)

    def log_pdf_slope(self, z: Array) -> Array:
        return 1.0 - _exp(z)

    def log_interval(self, lower: Array, upper: Array) -> Array:
        # e^{−e^l} − e^{−e^u} = e^{−e^l}·(1 − e^{−r}) with r = e^u − e^l = e^u·(1 − e^{−(u−l)})
        log_rise = upper + _log1mexp(np.minimum(lower - upper, 0.0))
        # 1 − e^{−r} is r itself where r is small, which may be too small for a float.
        small = log_rise < -40.0
        risen = np.where(small, log_rise, _log1mexp(-_exp(np.where(small, 0.0, log_rise))))
        return risen - _exp(lower)

    def quantile(self, q: Array) -> Array:
        return np.log(-np.log1p(-q))


class LogLog(Link):
    """Largest-extreme-value noise, F(z) = exp(−e^{−z}): the mirror image of cloglog."""

    name = "loglog"
    median = -math.log(_LOG_2)

    _mirror = CLogLog()

    def log_pdf(self, z: Array) -> Array:
        return self._mirror.log_pdf(-z)

    def log_pdf_slope(self, z: Array) -> Array:
        return -self._mirror.log_pdf_slope(-z)

    def log_interval(self, lower: Array, upper: Array) -> Array:
        return self._mirror.log_interval(-upper, -lower)

    def quantile(self, q: Array) -> Array:
        return np.asarray(-np.log(-np.log(q)))


class Cauchit(Link):
    """Cauchy noise: tolerant of outliers, and not log-concave."""

    name = "cauchit"
    log_concave = False

    def log_pdf(self, z: Array) -> Array:
        # hypot does not overflow where z² would.
        return np.asarray(-2.0 * np.log(np.hypot(1.0, z)) - _LOG_PI)

    def log_pdf_slope(self, z: Array) -> Array:
        finite = np.where(np.isfinite(z), z, 0.0)
        return np.asarray(-2.0 * finite / (1.0 + finite * finite))

    def log_interval(self, lower: Array, upper: Array) -> Array:
        # atan u − atan l = atan2(u − l, 1 + u·l); an infinite end leaves atan2(1, ±other end).
        low, high = np.isfinite(lower), np.isfinite(upper)
        left, right = np.where(low, lower, 0.0), np.where(high, upper, 0.0)
        angle = np.where(
            low & high,
            np.arctan2(right - left, 1.0 + right * left),
            np.where(low, np.arctan2(1.0, left), np.where(high, np.arctan2(1.0, -right), np.pi)),
        )
        with np.errstate(divide="ignore"):
            return np.log(angle / np.pi)

    def quantile(self, q: Array) -> Array:
        return np.tan(np.pi * (q - 0.5))


LINKS: dict[str, Link] = {
    link.name: link for link in (Logit(), Probit(), CLogLog(), LogLog(), Cauchit())
}


def get_link(name: str) -> Link:
    """Link by its name."""
    require_choice("link", name, LINKS)
    return LINKS[name]


@dataclass(frozen=True)
class IntervalTerms:
    """ℓ = ln P of each row with its first and second derivatives in the ends l and u."""

    log_p: Array
    d_lower: Array
    d_upper: Array
    d2_lower: Array
    d2_upper: Array
    d2_cross: Array


def interval_terms(link: Link, lower: Array, upper: Array) -> IntervalTerms:
    """Interval log-likelihood and its derivatives; zero derivatives at infinite ends."""
    log_p = link.log_interval(lower, upper)
    # Where a probability is too small for a double, derivatives are not finite either.
    with np.errstate(over="ignore", invalid="ignore"):
        a = _ratio(link, upper, log_p)
        b = _ratio(link, lower, log_p)
        return IntervalTerms(
            log_p=log_p,
            d_lower=-b,
            d_upper=a,
            d2_lower=-b * _finite(link.log_pdf_slope(lower)) - b * b,
            d2_upper=a * _finite(link.log_pdf_slope(upper)) - a * a,
            d2_cross=a * b,
        )


def class_probabilities(link: Link, scores: Array, thresholds: Array) -> Array:
    """P(y = k | f) for every score and class; rows sum to one, nothing is negative.

    Examples
    --------
    >>> class_probabilities(get_link("logit"), np.array([0.0]), np.array([0.0]))
    array([[0.5, 0.5]])
    """
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    lower, upper = edges[:-1] - scores[:, None], edges[1:] - scores[:, None]
    empty = edges[:-1] == edges[1:]
    if empty.any():
        lower, upper = np.where(empty, -1.0, lower), np.where(empty, 1.0, upper)
    probability = np.where(empty, 0.0, link.interval(lower, upper))
    return np.asarray(probability / probability.sum(axis=1, keepdims=True))


def with_one_more_row(probabilities: Array, rows: int) -> Array:
    """(n·p + 1/K)/(n + 1): what n rows say, and one more that speaks for all K labels evenly.

    A model that has seen n rows cannot know that a label is impossible. The change is of the order
    1/n, and the smallest probability 1/(K(n + 1)), so that a logarithm is finite.

    Examples
    --------
    >>> with_one_more_row(np.array([[1.0, 0.0]]), 9)
    array([[0.95, 0.05]])
    """
    return np.asarray((rows * probabilities + 1.0 / probabilities.shape[1]) / (rows + 1))


def _ratio(link: Link, z: Array, log_p: Array) -> Array:
    return np.exp(
        np.where(np.isfinite(z), link.log_pdf(np.where(np.isfinite(z), z, 0.0)), -np.inf) - log_p
    )


def _finite(slope: Array) -> Array:
    # At a far end the ratio A or B is zero and the slope may overflow; their product is zero.
    return np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)


def _log1mexp(x: Array) -> Array:
    """ln(1 − e^x) for x ≤ 0 without cancellation."""
    with np.errstate(divide="ignore"):
        return np.where(x > -_LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _exp(z: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(z)
