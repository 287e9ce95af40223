"""The likelihood of ordered labels given latent values, as inference sees it.

P(y = k | f) = F((b_k − f)/σ) − F((b_{k−1} − f)/σ) with noise σ, thresholds b and weights w of the
rows. With u and l for the two ends and D = ∂/∂u + ∂/∂l (see `ordinal.latent`),

    ∂ℓ/∂f = −Dℓ/σ,   ∂²ℓ/∂f² = D²ℓ/σ²,   ∂³ℓ/∂f³ = −D³ℓ/σ³,

and the derivatives of these in b_{y−1}, b_y and ln σ follow from ∂u/∂b_y = 1/σ, ∂u/∂ln σ = −u.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._utils.types import Codes, Vector
from ...ordinal.latent import ShiftTerms, shift_terms
from ...ordinal.likelihoods import Link


@dataclass(frozen=True)
class ParameterGradient:
    """Derivatives of an objective in the thresholds b and in ln σ."""

    thresholds: Vector
    log_noise: float


@dataclass(frozen=True)
class RowGradient:
    """Derivatives of a sum over rows in b_{y−1}, b_y and ln σ, row by row."""

    lower: Vector
    upper: Vector
    log_noise: Vector

    def combine(self, codes: Codes, n_thresholds: int) -> ParameterGradient:
        """Sum over the rows by the thresholds that bound their classes."""
        by_upper = np.bincount(codes, self.upper, minlength=n_thresholds + 1)[:-1]
        by_lower = np.bincount(codes, self.lower, minlength=n_thresholds + 1)[1:]
        total = np.asarray(by_upper + by_lower, dtype=np.float64)
        return ParameterGradient(total, float(self.log_noise.sum()))


@dataclass(frozen=True)
class OrdinalLikelihood:
    """Labels of n rows with the noise and thresholds that explain them."""

    link: Link
    codes: Codes
    thresholds: Vector
    noise: float
    weights: Vector

    @cached_property
    def lower(self) -> Vector:
        """b_{y−1} of every row."""
        return np.concatenate([[-np.inf], self.thresholds])[self.codes]

    @cached_property
    def upper(self) -> Vector:
        """b_y of every row."""
        return np.concatenate([self.thresholds, [np.inf]])[self.codes]

    def at(self, latent: Vector) -> LatentTerms:
        """Log-likelihood and its derivatives at latent values."""
        ends = (self.lower - latent) / self.noise, (self.upper - latent) / self.noise
        # The width from the thresholds: the ends' difference has the rounding of the latent value.
        width = (self.upper - self.lower) / self.noise
        return LatentTerms(self, *ends, shift_terms(self.link, *ends, width))

    def value(self, latent: Vector) -> float:
        """Σ w ln P alone."""
        return self.at(latent).value


@dataclass(frozen=True)
class LatentTerms:
    """Derivatives of Σ w ln P in the latent values and in the parameters."""

    likelihood: OrdinalLikelihood
    lower: Vector
    upper: Vector
    shift: ShiftTerms

    @property
    def value(self) -> float:
        """Σ w ln P."""
        return float(self.likelihood.weights @ self.shift.log_p)

    @property
    def gradient(self) -> Vector:
        """First derivative in f."""
        return np.asarray(self.likelihood.weights * -self.shift.d1 / self.likelihood.noise)

    @property
    def curvature(self) -> Vector:
        """Less the second derivative in f; never negative."""
        return np.asarray(self.likelihood.weights * -self.shift.d2 / self.likelihood.noise**2)

    @property
    def curvature_slope(self) -> Vector:
        """Derivative of the curvature in f."""
        return np.asarray(self.likelihood.weights * self.shift.d3 / self.likelihood.noise**3)

    def parameters(self, gradient_factor: Vector, curvature_factor: Vector) -> ParameterGradient:
        """Derivative of Σ (wℓ + gradient_factor·∂wℓ/∂f + curvature_factor·curvature) in b, ln σ.

        The factors are held fixed.
        """
        s, sigma = self.shift, self.likelihood.noise
        g, c = -gradient_factor / sigma, -curvature_factor / sigma**2
        weights = self.likelihood.weights
        by_lower = s.d_lower + g * s.d1_lower + c * s.d2_lower
        by_upper = s.d_upper + g * s.d1_upper + c * s.d2_upper
        by_noise = -_times(self.lower, by_lower) - _times(self.upper, by_upper)
        by_noise -= g * s.d1 + 2.0 * c * s.d2
        rows = RowGradient(
            weights * by_lower / sigma, weights * by_upper / sigma, weights * by_noise
        )
        return rows.combine(self.likelihood.codes, len(self.likelihood.thresholds))


def _times(end: Vector, derivative: Vector) -> Vector:
    """Product that is zero at an infinite end, where every derivative is zero."""
    return np.where(np.isfinite(end), end, 0.0) * derivative
