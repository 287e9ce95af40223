"""Covariance of the estimates of a cumulative link model that holds where the model does not.

With A the matrix of second derivatives of the objective and s_g the sum of w_i·∇ℓ_i over the rows
of group g, of which there are G (a row is a group of its own where nothing else is known), it is

    A⁻¹ · G/(G−1) · Σ_g (s_g − s̄)(s_g − s̄)ᵀ · A⁻¹.

It does not change where all weights are multiplied by one number. Under a penalty it is about the
spread of the penalised estimates around what they estimate, which is drawn towards zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.types import Codes, Matrix, Vector
from ...ordinal.likelihoods import Link, interval_terms


def row_scores(link: Link, thresholds: Vector, latent: Vector, codes: Codes, X: Any) -> Matrix:
    """∇ℓ of each row in the thresholds, then the coefficients."""
    n, K = len(codes), len(thresholds) + 1
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    # A level that was not seen at fit has no interval; its rows are no number then.
    with np.errstate(invalid="ignore"):
        terms = interval_terms(link, edges[codes] - latent, edges[codes + 1] - latent)
    by_edge = np.zeros((n, K + 1))
    by_edge[np.arange(n), codes] = terms.d_lower
    by_edge[np.arange(n), codes + 1] = terms.d_upper
    rows = X.toarray() if sp.issparse(X) else np.asarray(X)
    return np.hstack([by_edge[:, 1:K], -(terms.d_upper + terms.d_lower)[:, None] * rows])


def sandwich(inverse: Matrix, scores: Matrix, groups: Codes | None = None) -> Matrix:
    """The covariance, NaN where A⁻¹ is; scores are weighted already."""
    if groups is not None:
        sums = np.zeros((int(groups.max()) + 1, scores.shape[1]))
        np.add.at(sums, groups, scores)
        scores = sums
    G = len(scores)
    kept = np.flatnonzero(np.isfinite(np.diagonal(inverse)))
    centred = scores[:, kept] - scores[:, kept].mean(axis=0)
    spread = centred @ inverse[np.ix_(kept, kept)]
    found = np.full_like(inverse, np.nan)
    found[np.ix_(kept, kept)] = spread.T @ spread * (G / (G - 1.0) if G > 1 else np.nan)
    return found
