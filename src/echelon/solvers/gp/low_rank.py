"""Approximation of low rank to a matrix of weighted entries, after Srebro and Jaakkola (2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..._utils.types import Array
from ...kernels.rows import chunks, squared_norms

# Least ridge in units of the largest variance of a score, where the residuals leave none.
_LEAST_RIDGE = 1e-10


class LowRankResult(NamedTuple):
    """The approximation U = offset + scores · components, whose components are orthogonal rows.

    A component has unit length, or zero where there is nothing left to approximate. `objectives`
    are the values Σ W (X − U)² that the steps reached, never rising. `movement` is how far the last
    step moved from where it started, relative to the length of U; 0 at a fixed point of the steps.
    """

    offset: Array
    scores: Array
    components: Array
    objectives: Array
    movement: float
    n_iter: int
    converged: bool

    @property
    def approximation(self) -> Array:
        """U of shape (n, d)."""
        return _expanded(self.offset, self.scores, self.components)


def approximate(
    X: Array, weights: Array, rank: int, *, max_iter: int = 500, tol: float = 1e-4
) -> LowRankResult:
    """Minimise Σ_ij W_ij (X_ij − U_ij)² for weights from 0 to 1 and U of low rank about an offset.

    U_ij = m_j + Σ_c A_ic B_cj with an offset m for each column. Each step fills what the weights
    leave open from the current U, W∘X + (1−W)∘U, and takes the best approximation of the filled
    matrix, which cannot raise the objective. The steps start somewhat ahead of U, in the direction
    of the last one, which saves many of them; one that raises the objective is taken back and
    repeated from U. The start is U = 0, so columns should have a mean of about zero. The objective
    may have several local minima where weights differ.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite numbers, also where the weight is zero.
    weights : ndarray of shape (n, d)
        W.
    rank : int
        Of the part besides the offset; at most the smaller one of n and d.
    max_iter : int, default=500
    tol : float, default=1e-4
        Steps end when one moves less than this, relative to the length of U.

    Returns
    -------
    result : LowRankResult

    Examples
    --------
    >>> X = np.outer([-2.0, -1.0, 1.0, 3.0], [1.0, -1.0, 0.5])
    >>> weights = np.ones((4, 3))
    >>> weights[3, 2] = 0.0
    >>> result = approximate(np.where(weights > 0.0, X, 0.0), weights, 1, tol=1e-8)
    >>> result.approximation.round(4)[3]
    array([ 3. , -3. ,  1.5])
    """
    n, d = X.shape
    factors = np.zeros(d), np.zeros((n, rank)), np.zeros((rank, d))
    current = before = np.zeros((n, d))
    objectives = [_objective(X, weights, current)]
    pace, movement, n_iter, converged = 1.0, np.inf, 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        next_pace = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        ahead = current + (pace - 1.0) / next_pace * (current - before)
        found = _best(ahead + weights * (X - ahead), rank)
        reached = _expanded(*found)
        objective = _objective(X, weights, reached)
        if objective > objectives[-1]:
            # A step from U itself rises by rounding alone, so there is nothing left to gain.
            converged = pace == 1.0
            movement = 0.0 if converged else movement
            pace, before = 1.0, current
            continue
        objectives.append(objective)
        length = float(np.linalg.norm(reached))
        movement = float(np.linalg.norm(reached - ahead)) / (length or 1.0)
        factors, before, current, pace = found, current, reached, next_pace
        converged = movement <= tol
    return LowRankResult(*_signed(*factors), np.array(objectives), movement, n_iter, converged)


def estimate_scores(
    X: Array, weights: Array, components: Array, variances: Array, noise: float
) -> Array:
    """Scores of rows whose weighted entries are known: a weighted ridge regression for each row.

    They minimise Σ_j w_ij (x_ij − Σ_c a_c B_cj)² + noise Σ_c a_c²/variances_c, which makes them the
    most probable ones where scores and entries vary as normal variables do with these variances;
    rows with fewer known entries than components are determined too. The ridge is never less than
    1e−10 of the largest variance.

    Parameters
    ----------
    X, weights : ndarray of shape (n, d)
        Finite numbers, also where the weight is zero.
    components : ndarray of shape (k, d)
        B.
    variances : ndarray of shape (k,)
        Those of the scores; a score of variance zero is zero.
    noise : float
        Variance of the entries about the approximation.

    Returns
    -------
    scores : ndarray of shape (n, k)

    Examples
    --------
    >>> components = np.array([[0.6, 0.8]])
    >>> known = np.array([[1.0, 0.0], [0.0, 0.0]])
    >>> estimate_scores(np.array([[3.0, 0.0], [0.0, 0.0]]), known, components, np.ones(1), 0.0)
    array([[5.],
           [0.]])
    """
    k, d = components.shape
    deviations = np.sqrt(variances)
    scaled = components * deviations[:, None]
    ridge = max(noise, _LEAST_RIDGE * variances.max(initial=0.0)) or 1.0
    products = (scaled[:, None, :] * scaled[None, :, :]).reshape(k * k, d).T
    scores = np.empty((len(X), k))
    for rows in chunks(len(X), k * k):
        normal = (weights[rows] @ products).reshape(-1, k, k)
        normal[:, range(k), range(k)] += ridge
        right = (weights[rows] * X[rows]) @ scaled.T
        scores[rows] = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
    scores *= deviations
    return scores


def _objective(X: Array, weights: Array, U: Array) -> float:
    residuals = X - U
    return float(np.einsum("ij,ij,ij->", weights, residuals, residuals))


def _expanded(offset: Array, scores: Array, components: Array) -> Array:
    product: Array = scores @ components
    product += offset
    return product


def _best(F: Array, rank: int) -> tuple[Array, Array, Array]:
    """Means of the columns, and the best approximation of some rank to the rest.

    It comes from the eigenvectors of the smaller one of both matrices of inner products.
    """
    means = F.mean(axis=0)
    F = F - means
    n, d = F.shape
    if n >= d:
        components = _leading(F.T @ F, rank).T
        return means, F @ components.T, components
    left = _leading(F @ F.T, rank)
    components = left.T @ F
    lengths = np.sqrt(squared_norms(components))
    components /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return means, left * lengths, components


def _leading(products: Array, rank: int) -> Array:
    """Eigenvectors of the largest eigenvalues, as columns from the largest on."""
    size = len(products)
    vectors: Array = eigh(products, subset_by_index=[size - rank, size - 1])[1]
    return vectors[:, ::-1]


def _signed(offset: Array, scores: Array, components: Array) -> tuple[Array, Array, Array]:
    """All of them, with the largest entry of each component positive."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.where(components[range(len(components)), largest] < 0.0, -1.0, 1.0)
    return offset, scores * signs, components * signs[:, None]
