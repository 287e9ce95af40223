"""What an approximation of the posterior returns: the evidence, and how to differentiate it.

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
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..._utils.types import Matrix, Vector
from .likelihood import ParameterGradient
from .prior import DenseFactor, Factor, SparseFactor, add_outer


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
