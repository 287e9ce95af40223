"""Second derivatives of a cumulative link model: as a matrix, or as products where it is too large.

With s_i = −w_i ∂²ℓ_i/∂f_i², a line c_i for each row with −w_i ∂²ℓ_i/∂f_i∂θ, and T the second
derivatives by the thresholds, the Hessian over (θ, γ) is

    [ T      CᵀZ          ]
    [ ZᵀC    Zᵀ diag(s) Z + diag(ρ) ].

A product with it costs two products with Z. Newton's equations are then solved by conjugate
gradients, preconditioned by T and by the diagonal of the lower block.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, solve_banded
from scipy.sparse.linalg import LinearOperator, cg

from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.likelihoods import IntervalTerms
from .design import StandardizedDesign

# Of the gradient, that is left by a step: less the nearer it is to zero, which keeps convergence
# faster than linear.
_LEAST_LEFT = 0.1
_MOST_PRODUCTS = 500


class CumulativeHessian:
    """Hessian of the penalised negative log-likelihood at a point.

    Parameters
    ----------
    design : StandardizedDesign
    codes : ndarray of int
    n_classes : int
    weights, ridge : ndarray
    terms : IntervalTerms
        Derivatives of the rows' log-likelihoods.
    """

    def __init__(
        self,
        design: StandardizedDesign,
        codes: Codes,
        n_classes: int,
        weights: Vector,
        ridge: Vector,
        terms: IntervalTerms,
    ) -> None:
        w, t, K = weights, terms, n_classes
        self._design, self._ridge, self._n_thresholds = design, ridge, K - 1
        upper = np.bincount(codes, w * t.d2_upper, minlength=K)
        lower = np.bincount(codes, w * t.d2_lower, minlength=K)
        cross = np.bincount(codes, w * t.d2_cross, minlength=K)
        self._diagonal, self._beside = -(upper[:-1] + lower[1:]), -cross[1:-1]
        self._by_score = -w * (t.d2_upper + t.d2_lower + 2.0 * t.d2_cross)
        self._mixed = _score_threshold_terms(codes, n_classes, weights, terms)[:, 1:-1]

    def matrix(self) -> Matrix:
        """The Hessian as an array."""
        m, d = self._n_thresholds, self._design.shape[1]
        hessian = np.empty((m + d, m + d))
        hessian[:m, :m] = (
            np.diag(self._diagonal) + np.diag(self._beside, 1) + np.diag(self._beside, -1)
        )
        hessian[m:, m:] = self._design.gram(self._by_score) + np.diag(self._ridge)
        mixed = self._design.transpose_dot(self._mixed)
        hessian[m:, :m] = mixed
        hessian[:m, m:] = mixed.T
        return hessian

    def times(self, v: Vector) -> Vector:
        """Product with a vector."""
        thresholds, coef = v[: self._n_thresholds], v[self._n_thresholds :]
        scores = self._design.dot(coef)
        by_threshold = self._diagonal * thresholds + self._mixed.T @ scores
        by_threshold[:-1] += self._beside * thresholds[1:]
        by_threshold[1:] += self._beside * thresholds[:-1]
        pulled = self._by_score * scores + self._mixed @ thresholds
        return np.concatenate(
            [by_threshold, self._design.transpose_dot(pulled) + self._ridge * coef]
        )

    def newton_step(self, gradient: Vector, total: float) -> Vector:
        """A step that nearly solves Newton's equations, by conjugate gradients.

        Parameters
        ----------
        gradient : ndarray
        total : float
            Weight of all rows.
        """
        if not np.isfinite(self._lower_diagonal).all():
            return np.zeros(len(gradient))
        size = (len(gradient),) * 2
        left = min(_LEAST_LEFT, float(np.sqrt(np.linalg.norm(gradient) / total)))
        step, _ = cg(
            LinearOperator(size, matvec=self.times, dtype=np.float64),
            -gradient,
            rtol=left,
            maxiter=_MOST_PRODUCTS,
            M=LinearOperator(size, matvec=self._preconditioned, dtype=np.float64),
        )
        return np.asarray(step)

    @cached_property
    def _lower_diagonal(self) -> Vector:
        curvature = np.maximum(self._by_score, 0.0)
        return self._design.column_squares(curvature) + self._ridge

    def _preconditioned(self, v: Vector) -> Vector:
        m = self._n_thresholds
        bands = np.zeros((3, m))
        bands[0, 1:], bands[1], bands[2, :-1] = self._beside, self._diagonal, self._beside
        try:
            thresholds = solve_banded((1, 1), bands, v[:m])
        except LinAlgError:
            thresholds = v[:m] / np.maximum(np.abs(self._diagonal), np.finfo(float).tiny)
        return np.concatenate([thresholds, v[m:] / self._lower_diagonal])


def _score_threshold_terms(
    codes: Codes, n_classes: int, weights: Vector, t: IntervalTerms
) -> sp.csr_array:
    """−w·∂²ℓ/∂f∂θ_k for k = −1 … K−1, a line per row: only its own two thresholds are there."""
    n = len(codes)
    values = np.empty((n, 2))
    values[:, 0] = weights * (t.d2_lower + t.d2_cross)
    values[:, 1] = weights * (t.d2_upper + t.d2_cross)
    columns = codes[:, None] + np.array([0, 1])
    starts = np.arange(0, 2 * n + 1, 2)
    return sp.csr_array((values.ravel(), columns.ravel(), starts), shape=(n, n_classes + 1))
