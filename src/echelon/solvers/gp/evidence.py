"""Ordered labels as inference sees them, the evidence, and moments at new rows.

P(y = k | f) = F((b_k − f)/σ) − F((b_{k−1} − f)/σ) with noise σ, thresholds b and weights w of the
rows. With u and l for the two ends and D = ∂/∂u + ∂/∂l (see `ordinal.latent`),

    ∂ℓ/∂f = −Dℓ/σ,   ∂²ℓ/∂f² = D²ℓ/σ²,   ∂³ℓ/∂f³ = −D³ℓ/σ³,

and the derivatives of these in b_{y−1}, b_y and ln σ follow from ∂u/∂b_y = 1/σ, ∂u/∂ln σ = −u.

The gradient of the log evidence in a parameter of the prior is tr(M·∂Σ/∂θ) with

    M = ½(aaᵀ − R) + ½(raᵀ + arᵀ),

where a = Σ⁻¹·(posterior mean), R = (Σ + T⁻¹)⁻¹ for the site precisions T, and r carries what moves
with the mode in Laplace's approximation; it is zero for expectation propagation.
`dense_sensitivity` gives M; `sparse_sensitivity` gives what it becomes for a prior through inducing
points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.latent import ShiftTerms, shift_terms
from ...ordinal.likelihoods import Link
from .prior import DenseFactor, Factor, SparseFactor, add_outer, whiten


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


@dataclass(frozen=True)
class Gradient:
    """The vector r of M, and the derivatives in the likelihood's parameters."""

    r: Vector
    likelihood: ParameterGradient


@dataclass(frozen=True)
class Evidence:
    """A Gaussian approximation of the posterior.

    Parameters
    ----------
    log_evidence : float
        The objective: the approximate log evidence, or the bound of it that was asked for.
    a : array of shape (n,)
        Σ⁻¹·mean.
    mean : array of shape (n,)
        Posterior mean of the latent values.
    factor : Factor
        The prior with the precisions of the approximation.
    residual : float
        Certificate: Newton decrement of the mode, or largest mismatch of moments.
    converged : bool
    n_iter : int
    start : object
        What the next inference may start from.
    gradient : callable
        From the posterior variances to a `Gradient`.
    """

    log_evidence: float
    a: Vector
    mean: Vector
    factor: Factor
    residual: float
    converged: bool
    n_iter: int
    start: Any
    gradient: Callable[[Vector], Gradient]


@dataclass(frozen=True)
class SparseSensitivity:
    """Derivatives of the evidence in K(Z, Z), K(Z, X) and the diagonal of K(X, X)."""

    inducing: Matrix
    cross: Matrix
    variances: Vector


def dense_sensitivity(evidence: Evidence, factor: DenseFactor) -> tuple[Matrix, ParameterGradient]:
    """M in full, and the derivatives in the likelihood's parameters."""
    response, variances = factor.response()
    gradient = evidence.gradient(variances)
    response *= -0.5
    M = add_outer(response, evidence.a, 0.5 * (evidence.a + gradient.r), 1.0)
    return add_outer(M, gradient.r, evidence.a, 0.5), gradient.likelihood


def sparse_sensitivity(
    evidence: Evidence, factor: SparseFactor
) -> tuple[SparseSensitivity, ParameterGradient]:
    """M contracted to the blocks that a prior through inducing points is made of.

    Σ = diag(K(X, X) − Q) + Q with Q = K(X, Z)W, W = K(Z, Z)⁻¹K(Z, X) = L⁻ᵀV. With m = diag(M) and
    M′ = M − diag(m), the derivative in K(Z, X) is 2WM′, in K(Z, Z) −WM′Wᵀ, in diag K(X, X) m. From
    C = I + VEVᵀ follows VR = C⁻¹VE, and so

        VM′ = −½C⁻¹VE − V·diag(m) + ½V(aaᵀ + raᵀ + arᵀ).
    """
    prior = factor.prior
    half = factor.half()
    gradient = evidence.gradient(factor.variances_from(half))
    a, r = evidence.a, gradient.r
    m = 0.5 * (a * a - factor.E + factor.E**2 * np.einsum("ij,ij->j", half, half)) + r * a
    half *= -0.5 * factor.E
    product = np.asarray(
        solve_triangular(factor.lower, half, lower=True, trans=1, overwrite_b=True)
    )
    product -= prior.V * m
    product += np.outer(prior.V @ a, 0.5 * (a + r))
    product += np.outer(prior.V @ r, 0.5 * a)
    inducing = prior.to_inducing(prior.to_inducing(product @ prior.V.T).T)
    cross = prior.to_inducing(product)
    cross *= 2.0
    return SparseSensitivity(-0.5 * (inducing + inducing.T), cross, m), gradient.likelihood


@dataclass(frozen=True)
class DensePredictor:
    """Mean kᵀa and explained variance kᵀRk with R = T^½(LLᵀ)⁻¹T^½."""

    a: Vector
    root: Vector
    lower: Matrix

    def mean(self, cross: Matrix) -> Vector:
        """Posterior mean."""
        return np.asarray(self.a @ cross)

    def explained(self, cross: Matrix) -> Vector:
        """How much the data take from the prior variance."""
        half = whiten(self.lower, self.root, cross)
        return np.asarray(np.einsum("ij,ij->j", half, half))


@dataclass(frozen=True)
class SparsePredictor:
    """The same through inducing points: Wa and WRWᵀ with W = K(Z, Z)⁻¹K(Z, X)."""

    a: Vector
    response: Matrix

    def mean(self, cross: Matrix) -> Vector:
        """Posterior mean."""
        return np.asarray(self.a @ cross)

    def explained(self, cross: Matrix) -> Vector:
        """How much the data take from the prior variance."""
        return np.asarray(np.einsum("ij,ij->j", cross, self.response @ cross))


#: from covariances with the rows that are kept, (m, n), to moments of n new rows
Predictor = DensePredictor | SparsePredictor


def make_predictor(evidence: Evidence) -> Predictor:
    """Keep what prediction needs of a posterior."""
    factor = evidence.factor
    if isinstance(factor, DenseFactor):
        return DensePredictor(evidence.a, factor.root, factor.lower)
    prior, C = factor.prior, factor.lower
    # VR = C⁻¹VE and VRVᵀ = I − C⁻¹.
    response = np.eye(len(C)) - cho_solve((C, True), np.eye(len(C)))
    response = prior.to_inducing(prior.to_inducing(response).T)
    return SparsePredictor(prior.to_inducing(prior.V @ evidence.a), response)
