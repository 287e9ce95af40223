"""Gaussian priors over latent values, and what follows when sites with given precisions are added.

A prior has a covariance Σ. With site precisions T ≥ 0 (a diagonal matrix) the posterior covariance
is A = (Σ⁻¹ + T)⁻¹, and all that inference needs is

    R = (Σ + T⁻¹)⁻¹ = T^½ B⁻¹ T^½,   B = I + T^½ Σ T^½,   ln|I + ΣT| = ln|B|,   A = Σ − ΣRΣ.

B has eigenvalues of at least one, so its Cholesky factor always exists; Σ and T are never inverted
and may be singular.

`DensePrior` holds Σ. `SparsePrior` holds Σ = D + VᵀV with V of m rows and D diagonal: the prior of
inducing points Z with V = L⁻¹K(Z, X), K(Z, Z) = LLᵀ and D = diag(K(X, X) − VᵀV), which keeps the
variances of the full prior ("fully independent training conditional"). With E = T/(1 + TD) and
C = I + VEVᵀ, an m×m matrix,

    R = E − EVᵀC⁻¹VE,   |B| = |C|·Π(1 + T_i D_i),   A = PD + PVᵀC⁻¹VP,   P = 1/(1 + TD).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dger, dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dtrtri

from ..._utils.types import Matrix, Vector

#: Below this T·Σ_ii a posterior variance is not taken from the diagonal of B⁻¹, where it cancels.
_SMALL_PRECISION = 1e-4
_COLUMNS = 256
#: Relative to the mean variance of the inducing points.
_JITTER = 1e-8
_INDEFINITE = (
    "kernel must be positive semidefinite on X to the last digits; found a covariance that is not, "
    "as kernels are where inputs are large beside the noise: scale X."
)


class DensePrior:
    """A prior given by its covariance matrix, n²/3·n operations for each set of precisions."""

    def __init__(self, covariance: Matrix) -> None:
        self.covariance = covariance
        self.variances = np.ascontiguousarray(np.diagonal(covariance))

    def multiply(self, values: Vector) -> Vector:
        """Σ·values."""
        return np.asarray(self.covariance @ values)

    def factor(self, precision: Vector) -> DenseFactor:
        """Add site precisions."""
        return DenseFactor(self, precision)


class DenseFactor:
    """Cholesky factor of B, the only n×n matrix besides Σ that is kept."""

    def __init__(self, prior: DensePrior, precision: Vector) -> None:
        self.prior = prior
        self.precision = precision
        self.root = np.sqrt(precision)
        B = prior.covariance * self.root
        B *= self.root[:, None]
        B.flat[:: len(B) + 1] += 1.0
        # B is symmetric, so its transpose is the same matrix in the order that LAPACK wants.
        self.lower, info = dpotrf(B.T, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError(_INDEFINITE)
        self.log_det = 2.0 * float(np.log(np.diagonal(self.lower)).sum())

    def shrink_shift(self, values: Vector) -> Vector:
        """(I + TΣ)⁻¹·values; as T^½B⁻¹T^-½ where T is large, which does not cancel."""
        large = self.precision * self.prior.variances > 1.0
        rest = np.where(large, 0.0, values)
        inner = np.where(large, values, 0.0) / np.where(large, self.root, 1.0)
        inner -= self.root * self.prior.multiply(rest)
        solved = cho_solve((self.lower, True), inner, check_finite=False)
        return np.asarray(rest + self.root * solved)

    def posterior_variances(self) -> Vector:
        """Diagonal of A, from the diagonal of B⁻¹: A_ii = (1 − B⁻¹_ii)/T_i."""
        inverse, _ = dtrtri(self.lower, lower=1)
        return self._variances(np.einsum("ij,ij->j", inverse, inverse))

    def response(self) -> tuple[Matrix, Vector]:
        """R in full, and the diagonal of A."""
        inverse, _ = dpotri(self.lower, lower=1)
        variances = self._variances(np.diagonal(inverse))
        inverse *= self.root
        inverse *= self.root[:, None]
        return _symmetric_from_lower(inverse), variances

    def posterior_covariance(self) -> Matrix:
        """A in full."""
        half = whiten(self.lower, self.root, self.prior.covariance)
        explained = half.T @ half
        return np.subtract(self.prior.covariance, explained, out=explained)

    def _variances(self, inverse_diagonal: Vector) -> Vector:
        prior = self.prior.variances
        small = self.precision * prior < _SMALL_PRECISION
        variances = (1.0 - inverse_diagonal) / np.where(small, 1.0, self.precision)
        chosen = np.flatnonzero(small)
        for start in range(0, len(chosen), _COLUMNS):
            columns = chosen[start : start + _COLUMNS]
            half = whiten(self.lower, self.root, self.prior.covariance[:, columns])
            variances[columns] = prior[columns] - np.einsum("ij,ij->j", half, half)
        return np.clip(variances, 0.0, prior)


class SparsePrior:
    """A prior through m inducing points, m²·n operations for each set of precisions.

    Parameters
    ----------
    inducing : array of shape (m, m)
        K(Z, Z).
    cross : array of shape (m, n)
        K(Z, X); in Fortran order it is not copied.
    variances : array of shape (n,)
        Diagonal of K(X, X).
    """

    def __init__(self, inducing: Matrix, cross: Matrix, variances: Vector) -> None:
        self.variances = variances
        self.lower = _jittered_cholesky(inducing)
        self.V = solve_triangular(self.lower, cross, lower=True, check_finite=False)
        self.D = np.maximum(variances - np.einsum("ij,ij->j", self.V, self.V), 0.0)

    def multiply(self, values: Vector) -> Vector:
        """Σ·values."""
        return np.asarray(self.D * values + (self.V @ values) @ self.V)

    def factor(self, precision: Vector) -> SparseFactor:
        """Add site precisions."""
        return SparseFactor(self, precision)

    def to_inducing(self, values: Matrix) -> Matrix:
        """L⁻ᵀ·values: with V it gives K(Z, Z)⁻¹K(Z, X)."""
        return np.asarray(
            solve_triangular(self.lower, values, lower=True, trans=1, check_finite=False)
        )


class SparseFactor:
    """Cholesky factor of C."""

    def __init__(self, prior: SparsePrior, precision: Vector) -> None:
        self.prior = prior
        self.precision = precision
        self.shrink = 1.0 / (1.0 + precision * prior.D)
        self.E = precision * self.shrink
        scaled = prior.V * np.sqrt(self.E)
        C = dsyrk(1.0, scaled, lower=1)
        C.flat[:: len(C) + 1] += 1.0
        self.lower, info = dpotrf(C, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError(_INDEFINITE)
        self.log_det = 2.0 * float(np.log(np.diagonal(self.lower)).sum())
        self.log_det -= float(np.log(self.shrink).sum())

    def posterior_variances(self) -> Vector:
        """Diagonal of A."""
        return self.variances_from(self.half())

    def variances_from(self, half: Matrix) -> Vector:
        """Diagonal of A, from `half`."""
        explained = np.einsum("ij,ij->j", half, half)
        return np.asarray(self.shrink * (self.prior.D + self.shrink * explained))

    def half(self) -> Matrix:
        """H with HᵀH = VᵀC⁻¹V."""
        return np.asarray(
            solve_triangular(self.lower, self.prior.V, lower=True, check_finite=False)
        )

    def shrink_shift(self, values: Vector) -> Vector:
        """(I + TΣ)⁻¹·values."""
        shrunk = self.shrink * values
        inner = cho_solve((self.lower, True), self.prior.V @ shrunk)
        return np.asarray(shrunk - self.E * (inner @ self.prior.V))


Prior: TypeAlias = DensePrior | SparsePrior
"""A Gaussian prior with mean zero over n latent values."""
Factor: TypeAlias = DenseFactor | SparseFactor
"""A prior with site precisions T added."""


def whiten(lower: Matrix, root: Vector, values: Matrix) -> Matrix:
    """H·values with HᵀH = R, from the Cholesky factor of B and the square roots of T."""
    scaled = root[:, None] * values
    return np.asarray(solve_triangular(lower, scaled, lower=True, check_finite=False))


def add_outer(target: Matrix, left: Vector, right: Vector, factor: float) -> Matrix:
    """Target + factor·left·rightᵀ, in place for a matrix in Fortran order."""
    return np.asarray(dger(factor, left, right, a=target, overwrite_a=1))


def _symmetric_from_lower(values: Matrix) -> Matrix:
    """Copy the lower triangle of a matrix to the upper one, block by block, in place."""
    n = len(values)
    for start in range(0, n, _COLUMNS):
        stop = min(start + _COLUMNS, n)
        values[start:stop, stop:] = values[stop:, start:stop].T
        block = values[start:stop, start:stop]
        block[...] = np.tril(block) + np.tril(block, -1).T
    return values


def _jittered_cholesky(covariance: Matrix) -> Matrix:
    """Lower Cholesky factor with the least jitter, of growing size, that makes one exist."""
    scale = float(np.diagonal(covariance).mean()) or 1.0
    for power in range(6):
        shifted = covariance.copy()
        shifted.flat[:: len(shifted) + 1] += _JITTER * 10.0**power * scale
        lower, info = dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
        if info == 0:
            return np.asarray(lower)
    raise np.linalg.LinAlgError(_INDEFINITE)
