"""Moments of the latent value of new rows, from what inference left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from ..._utils.types import Matrix, Vector
from .evidence import Evidence
from .prior import DenseFactor, whiten


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
