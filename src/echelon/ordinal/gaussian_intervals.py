"""Interval likelihoods under a Gaussian latent function: evidence, expectation, prediction.

With f ~ N(m, v) and P(y|f) = F((b_y − f)/σ) − F((b_{y−1} − f)/σ), expectation propagation needs
ln Z = ln E[P^a] and its derivatives, a variational bound needs E[ln P], and a prediction E[P].

Gaussian noise with a = 1 stays Gaussian: Z is the likelihood of an interval with the noise
s = √(v + σ²). Everything else is integrated over t = (f − m)/√v. The integrand of Z is
log-concave, at least as sharply as e^{−t²/2}; its mode is found roughly, the interval outside
which it is negligible follows by Newton's method, which for a concave function approaches from
outside, and a mesh that is fine at the thresholds does the rest.

With g = ∂(a ln P)/∂f and expectations under the tilted density P^a·N/Z there are two forms,

    ∂ ln Z/∂m = E[g] = E[f − m]/v        −∂² ln Z/∂m² = −E[g′] − Var[g] = (1 − Var[f]/v)/v.

The first cancels where the likelihood outweighs the Gaussian and the second where it hardly
matters, so each row takes the one that keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from .._utils.types import Array, Index
from .latent import LEAST_WIDTH, ShiftTerms, shift_terms
from .likelihoods import Link, Probit
from .panels import MODE_GAP, build_panels, concave_support

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
#: the integrand is followed down to e^{−40} of its maximum
_DEPTH = 40.0
_DEVIATIONS = 10.0
_LEAST_RATIO = 1e-150
# Thresholds less than so far apart, in units of the noise, are one place to the likelihood.
_CLOSE = 4.0
_ROWS_AT_ONCE = 256

T = TypeVar("T", "TiltedTerms", "ExpectedTerms")

# The greatest double below one: of this share a quantile is finite.
_LARGEST_SHARE = 1.0 - 2.0**-53


@dataclass(frozen=True)
class TiltedTerms:
    """ln Z = ln ∫ P(y|f)^a N(f; m, v) df of each row with its derivatives.

    Attributes
    ----------
    log_z, d_mean, curvature : ndarray
        ln Z, ∂ ln Z/∂m and −∂² ln Z/∂m², the last in [0, 1/v).
    d_lower, d_upper, d_log_noise : ndarray
        ∂ ln Z/∂b_{y−1}, ∂ ln Z/∂b_y and ∂ ln Z/∂ ln σ.
    """

    log_z: Array
    d_mean: Array
    curvature: Array
    d_lower: Array
    d_upper: Array
    d_log_noise: Array


@dataclass(frozen=True)
class ExpectedTerms:
    """E[ln P(y|f)] for f ~ N(m, v) of each row with its derivatives.

    Attributes
    ----------
    value, d_mean, d_variance : ndarray
        The expectation and its derivatives in m and v.
    d_lower, d_upper, d_log_noise : ndarray
        Derivatives in b_{y−1}, b_y and ln σ.
    """

    value: Array
    d_mean: Array
    d_variance: Array
    d_lower: Array
    d_upper: Array
    d_log_noise: Array


@dataclass(frozen=True)
class _Rows:
    """Rows in units of the noise: ends as seen from the mean, and √v."""

    link: Link
    lower: Array
    upper: Array
    width: Array
    ratio: Array
    power: Array

    @property
    def near(self) -> Array:
        """Where the mode of the tilted density would be, if thresholds far apart were walls."""
        close = self.width < _CLOSE
        middle = np.where(close, 0.5 * (self.lower + self.upper), 0.0)
        low, high = np.where(close, middle, self.lower), np.where(close, middle, self.upper)
        return np.asarray(np.clip(0.0, low, high) / self.ratio)

    def take(self, *index: Index | slice | None) -> _Rows:
        numbers = (self.lower, self.upper, self.width, self.ratio, self.power)
        return _Rows(self.link, *(values[index] for values in numbers))

    def terms(self, t: Array) -> ShiftTerms:
        """Likelihood terms of each row at its t."""
        shift = self.ratio * t
        return shift_terms(self.link, self.lower - shift, self.upper - shift, self.width)

    def log_tilt_of(self, index: Index, t: Array) -> tuple[Array, Array, Array]:
        """Logarithm of the integrand of some rows at their t, with two derivatives."""
        rows = self.take(index)
        terms = rows.terms(t)
        return (
            rows.power * terms.log_p - 0.5 * t * t,
            -rows.power * rows.ratio * terms.d1 - t,
            rows.power * rows.ratio**2 * terms.d2 - 1.0,
        )


class _Integrals:
    """Likelihood terms at the nodes of the meshes of some rows, and a density over t."""

    def __init__(self, rows: _Rows, left: Array, right: Array) -> None:
        self.rows = rows
        # How far inside its thresholds P^power falls to a half, and on what scale.
        half = np.minimum(0.5 ** (1.0 / np.maximum(rows.power, 1.0)), _LARGEST_SHARE)
        edge = np.maximum(rows.link.quantile(half), 0.0)
        unit = 1.0 / np.maximum(edge, 1.0)
        self.panels = build_panels(
            left,
            right,
            (rows.lower + edge) / rows.ratio,
            (rows.upper - edge) / rows.ratio,
            unit / rows.ratio,
        )
        self.t = self.panels.nodes
        self.at = rows.take(self.panels.row, None)
        self.terms = self.at.terms(self.t)
        self.density = self.panels.weights

    def at_nodes(self, values: Array) -> Array:
        return values[self.panels.row, None]

    def weigh(self, log_density: Array) -> None:
        self.density = self.panels.weights * np.exp(log_density)

    def normalise(self) -> Array:
        """Divide the density by its mass, and return that."""
        # Rounding may leave none, and a density of zero, if the mode is narrower than its spacing.
        mass = np.maximum(self.panels.sums(self.density), np.finfo(np.float64).tiny)
        self.density /= self.at_nodes(mass)
        return mass

    def expect(self, values: Array) -> Array:
        return self.panels.sums(self.density * values)

    def expect_scale_slope(self) -> Array:
        shift = self.at.ratio * self.t
        low, high = self.at.lower - shift, self.at.upper - shift
        return self.expect(_scale_slope(self.terms, low, high, self.at.width))


def tilted_terms(
    link: Link,
    mean: Array,
    variance: Array,
    lower: Array,
    upper: Array,
    noise: float,
    power: Array | None = None,
) -> TiltedTerms:
    """Evidence of each row under a Gaussian latent value, and its derivatives.

    Parameters
    ----------
    link : Probit or Logit
        The noise.
    mean, variance : ndarray of shape (n,)
        The Gaussian before it meets the likelihood.
    lower, upper : ndarray of shape (n,)
        Thresholds b_{y−1} and b_y around each label, possibly infinite.
    noise : float
        Scale σ of the noise.
    power : ndarray of shape (n,), optional
        Exponents of the likelihoods, positive; ones unless given.

    Examples
    --------
    >>> one = np.ones(1)
    >>> terms = tilted_terms(Probit(), 0.0 * one, 3.0 * one, -np.inf * one, 2.0 * one, 1.0)
    >>> np.exp(terms.log_z).round(6)
    array([0.841345])
    """
    integrated = np.ones(len(mean), dtype=bool)
    if isinstance(link, Probit):
        integrated[:] = False if power is None else power != 1.0
    if not integrated.any():
        return _closed_form(link, mean, variance, lower, upper, noise)
    rows = _rows(link, mean, variance, lower, upper, noise, power)
    where = np.flatnonzero(integrated)
    part = _joined([_tilted_block(*tilted) for tilted in _tilted(rows.take(where))])
    curvature = _bounded(part.curvature / noise**2, variance[where])
    numerical = _in_latent_units(part, noise, curvature=curvature)
    if integrated.all():
        return numerical
    rest = np.flatnonzero(~integrated)
    closed = _closed_form(link, mean[rest], variance[rest], lower[rest], upper[rest], noise)
    order = np.argsort(np.concatenate([where, rest]))
    both = _joined([numerical, closed])
    return TiltedTerms(*(getattr(both, field.name)[order] for field in fields(both)))


def expected_terms(
    link: Link, mean: Array, variance: Array, lower: Array, upper: Array, noise: float
) -> ExpectedTerms:
    """Expected log-likelihood of each row under a Gaussian latent value, and its derivatives.

    Parameters are those of `tilted_terms`.

    Examples
    --------
    >>> one = np.ones(1)
    >>> terms = expected_terms(Probit(), 0.0 * one, 0.0 * one, -np.inf * one, 0.0 * one, 1.0)
    >>> np.exp(terms.value).round(6)
    array([0.5])
    """
    rows = _rows(link, mean, variance, lower, upper, noise, None)
    part = _joined([_expected_block(rows.take(block)) for block in _blocks(len(mean))])
    return _in_latent_units(part, noise, d_variance=part.d_variance / noise**2)


def predictive_probabilities(
    link: Link, mean: Array, variance: Array, thresholds: Array, noise: float
) -> Array:
    """Probability of every class for latent values f ~ N(mean, variance); rows sum to one.

    A level between equal thresholds, or beyond an infinite one, has probability zero.

    Examples
    --------
    >>> predictive_probabilities(Probit(), np.zeros(1), np.ones(1), np.zeros(1), 1.0)
    array([[0.5, 0.5]])
    """
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    levels = np.flatnonzero(edges[:-1] < edges[1:])
    n, k = len(mean), len(levels)
    log_z = _log_evidence(
        link,
        np.repeat(mean, k),
        np.repeat(variance, k),
        np.tile(edges[levels], n),
        np.tile(edges[levels + 1], n),
        noise,
    )
    probabilities = np.zeros((n, len(edges) - 1))
    probabilities[:, levels] = np.exp(log_z.reshape(n, k))
    return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))


def _log_evidence(
    link: Link, mean: Array, variance: Array, lower: Array, upper: Array, noise: float
) -> Array:
    if isinstance(link, Probit):
        return _closed_form(link, mean, variance, lower, upper, noise).log_z
    rows = _rows(link, mean, variance, lower, upper, noise, None)
    log_z = rows.terms(np.zeros(len(mean))).log_p
    uncertain = np.flatnonzero(variance > 0.0)
    if uncertain.size:
        log_z[uncertain] = np.concatenate([part for _, part in _tilted(rows.take(uncertain))])
    return log_z


def _rows(
    link: Link,
    mean: Array,
    variance: Array,
    lower: Array,
    upper: Array,
    noise: float,
    power: Array | None,
) -> _Rows:
    return _Rows(
        link=link,
        lower=(lower - mean) / noise,
        upper=(upper - mean) / noise,
        width=np.maximum((upper - lower) / noise, LEAST_WIDTH),
        ratio=np.maximum(np.sqrt(variance) / noise, _LEAST_RATIO),
        power=np.ones(len(mean)) if power is None else power,
    )


def _closed_form(
    link: Link, mean: Array, variance: Array, lower: Array, upper: Array, noise: float
) -> TiltedTerms:
    scale = np.hypot(np.sqrt(variance), noise)
    low, high = (lower - mean) / scale, (upper - mean) / scale
    width = np.maximum((upper - lower) / scale, LEAST_WIDTH)
    terms = shift_terms(link, low, high, width)
    return TiltedTerms(
        log_z=terms.log_p,
        d_mean=-terms.d1 / scale,
        curvature=_bounded(-terms.d2 / scale**2, variance),
        d_lower=terms.d_lower / scale,
        d_upper=terms.d_upper / scale,
        d_log_noise=(noise / scale) ** 2 * _scale_slope(terms, low, high, width),
    )


def _tilted(rows: _Rows) -> Iterator[tuple[_Integrals, Array]]:
    """Integrals under the tilted density, normalised, and ln Z, block by block."""
    top, left, right = concave_support(rows.log_tilt_of, len(rows.ratio), _DEPTH, rows.near)
    for block in _blocks(len(top)):
        integrals = _Integrals(rows.take(block), left[block], right[block])
        t = integrals.t
        log_tilt = integrals.at.power * integrals.terms.log_p - 0.5 * t * t
        # More than that above the top is rounding, of logarithms beyond 1e15.
        integrals.weigh(np.minimum(log_tilt - integrals.at_nodes(top[block]), MODE_GAP))
        yield integrals, top[block] + np.log(integrals.normalise()) - _LOG_ROOT_2PI


def _tilted_block(tilted: _Integrals, log_z: Array) -> TiltedTerms:
    """Terms in units of the noise."""
    power, ratio = tilted.rows.power, tilted.rows.ratio
    terms, expect = tilted.terms, tilted.expect
    centre, slope = expect(tilted.t), expect(terms.d1)
    spread = expect((tilted.t - tilted.at_nodes(centre)) ** 2)
    slope_spread = expect((terms.d1 - tilted.at_nodes(slope)) ** 2)
    flat_curvature = -power * expect(terms.d2) - power**2 * slope_spread
    sharp = spread < 0.5
    return TiltedTerms(
        log_z=log_z,
        d_mean=np.where(sharp, centre / ratio, -power * slope),
        curvature=np.where(sharp, (1.0 - spread) / ratio**2, flat_curvature),
        d_lower=power * expect(terms.d_lower),
        d_upper=power * expect(terms.d_upper),
        d_log_noise=power * tilted.expect_scale_slope(),
    )


def _expected_block(rows: _Rows) -> ExpectedTerms:
    """Terms in units of the noise."""
    reach = np.full(len(rows.ratio), _DEVIATIONS)
    gaussian = _Integrals(rows, -reach, reach)
    gaussian.weigh(-0.5 * gaussian.t**2 - _LOG_ROOT_2PI)
    terms, expect = gaussian.terms, gaussian.expect
    return ExpectedTerms(
        value=expect(terms.log_p),
        d_mean=-expect(terms.d1),
        d_variance=0.5 * expect(terms.d2),
        d_lower=expect(terms.d_lower),
        d_upper=expect(terms.d_upper),
        d_log_noise=gaussian.expect_scale_slope(),
    )


def _scale_slope(terms: ShiftTerms, low: Array, high: Array, width: Array) -> Array:
    """∂ℓ/∂ ln σ = −u·∂ℓ/∂u − l·∂ℓ/∂l of ends that are inversely proportional to σ."""
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    apart = -high * terms.d_upper - low * terms.d_lower
    # Between close ends the two slopes are large and nearly opposite; Dℓ is their sum.
    narrow = width < 1.0
    half = np.where(narrow, 0.5 * width, 0.0)
    together = -0.5 * (low + high) * terms.d1 - half * (terms.d_upper - terms.d_lower)
    return np.where(narrow, together, apart)


def _in_latent_units(terms: T, noise: float, **second: Array) -> T:
    first = {name: getattr(terms, name) / noise for name in ("d_mean", "d_lower", "d_upper")}
    return replace(terms, **first, **second)


def _bounded(curvature: Array, variance: Array) -> Array:
    with np.errstate(divide="ignore"):
        most = (1.0 - 1e-15) / variance
    return np.clip(curvature, 0.0, most)


def _blocks(n_rows: int) -> Iterator[slice]:
    # At least one block, so that no rows give terms without entries.
    for start in range(0, max(n_rows, 1), _ROWS_AT_ONCE):
        yield slice(start, start + _ROWS_AT_ONCE)


def _joined(parts: list[T]) -> T:
    kind = type(parts[0])
    names = [field.name for field in fields(kind)]
    return kind(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
