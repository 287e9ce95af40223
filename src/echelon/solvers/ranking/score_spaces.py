"""A kernel matrix as a product of a thin factor with itself, from few of its columns.

Cholesky's method with pivots drawn at random: the next row is drawn in proportion to what its
diagonal entry still lacks, so rows far from those chosen are preferred, and equal rows are not
chosen twice.

A solver for losses of scores needs little of a model: the scores of an element (coefficients of
inputs, or of kernel rows), the gradient as an element, from a derivative in the scores, and a norm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..._utils.types import Index, Matrix, Vector
from ...kernels import Kernel, Precomputed
from ...kernels.cache import apply_kernel
from ...pairs.pair_set import PairSet
from ..linear.svor_path import direct_solver
from .pair_draws import PairSampler

# What is left of a diagonal entry below this share of the largest is a rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class KernelFactor:
    """K ≈ F·Fᵀ, exact in the rows and columns ``pivots``."""

    pivots: Index
    factor: Matrix

    def coefficients(self, w: Vector) -> Vector:
        """β over the pivots for which K[:, pivots]·β equals F·w."""
        corner = self.factor[self.pivots]
        return np.asarray(scipy.linalg.solve_triangular(corner, w, trans="T", lower=True))


def factor_kernel(
    column: Callable[[int], Vector], diagonal: Vector, rank: int, rng: np.random.RandomState
) -> KernelFactor:
    """Factor of a kernel matrix with at most `rank` columns.

    Parameters
    ----------
    column : callable
        Gives a column of K.
    diagonal : ndarray of shape (n,)
        Of K.
    rank : int
        Most columns; fewer where the matrix has a lower rank.
    rng : RandomState

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> K = X @ X.T
    >>> found = factor_kernel(lambda i: K[:, i], K.diagonal(), 3, np.random.RandomState(0))
    >>> found.factor.shape, bool(np.allclose(found.factor @ found.factor.T, K))
    ((3, 1), True)
    """
    left = diagonal.astype(np.float64, copy=True)
    floor = _ROUNDING * float(left.max(initial=0.0))
    rank = min(rank, len(left))
    factor = np.zeros((len(left), rank), order="F")
    pivots: list[int] = []
    for number in range(rank):
        weight = np.where(left > floor, left, 0.0)
        total = weight.sum()
        if total <= 0.0:
            break
        pivot = int(rng.choice(len(left), p=weight / total))
        rest = column(pivot) - factor[:, :number] @ factor[pivot, :number]
        factor[:, number] = rest / np.sqrt(rest[pivot] if rest[pivot] > 0.0 else left[pivot])
        left -= factor[:, number] ** 2
        left[pivot] = 0.0
        factor[pivots, number] = 0.0
        pivots.append(pivot)
    return KernelFactor(np.array(pivots, dtype=np.intp), factor[:, : len(pivots)])


# From an element r to the preconditioned z, the scores of z where they are at hand, and ⟨r, z⟩.
Precondition = Callable[[Vector], tuple[Vector, Vector | None, float]]

# Up to so many columns the curvature of drawn pairs is factored; beyond it only its diagonal.
_FACTORED_COLUMNS = 200
_DRAWN_PER_COLUMN = 400
_FEWEST_DRAWN, _MOST_DRAWN = 2_000, 20_000
_FACTORED_PER_COLUMN = 100
_FEWEST_CURVED_PER_COLUMN = 3


class LinearSpace:
    """Scores X·w with the norm ‖w‖, for dense or CSR rows, which are not copied.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    pairs : PairSet
        Some pairs are drawn by their weights and stand for all: their curvature preconditions, and
        their solution is a start. So the draw changes no solution.

    Attributes
    ----------
    differences : ndarray or CSR matrix of shape (m, d)
        Winner less loser of the drawn pairs.
    """

    def __init__(self, X: Any, pairs: PairSet) -> None:
        self._X = X
        self.size = int(X.shape[1])
        count = np.clip(_DRAWN_PER_COLUMN * self.size, _FEWEST_DRAWN, _MOST_DRAWN)
        count = min(count, max(_FEWEST_DRAWN, X.shape[0] // 4))
        winners, losers = PairSampler(pairs).draw(int(count), np.random.default_rng(0))
        self.differences = X[winners] - X[losers]
        # A draw may have an order, so a part of it is taken in strides.
        stride = slice(None, None, max(1, int(count) // (_FACTORED_PER_COLUMN * max(1, self.size))))
        self._winners, self._losers = winners[stride], losers[stride]
        self._few_differences = self.differences[stride]

    def scores(self, element: Vector) -> Vector:
        """X·w."""
        return np.asarray(self._X @ element)

    def gradient(self, in_scores: Vector) -> Vector:
        """Xᵀg: its product with another element is the slope along that one."""
        return np.asarray(self._X.T @ in_scores)

    def product(self, a: Vector, b: Vector, scores_b: Vector | None) -> float:
        """Inner product of coefficients."""
        return float(a @ b)

    def preconditioner(self, weight: float, scores: Vector, width: float) -> Precondition:
        """Inverse of I + weight·(mean of δδᵀ over drawn curved pairs), or of its diagonal.

        Parameters
        ----------
        weight : float
            Total curvature of the loss over all pairs.
        scores : ndarray of shape (n,)
        width : float
            Pairs have curvature whose margin lies between 1 − width and 1.
        """
        slack = 1.0 - (scores[self._winners] - scores[self._losers])
        outside = np.maximum(0.0, np.maximum(-slack, slack - width))
        few = min(len(slack), _FEWEST_CURVED_PER_COLUMN * self.size)
        # Where next to no drawn pair has any, the nearest ones are taken.
        limit = np.partition(outside, few - 1)[few - 1]
        curved = self._few_differences[np.flatnonzero(outside <= limit)]
        scale = weight / curved.shape[0]
        if self.size <= _FACTORED_COLUMNS:
            rows = curved.toarray() if sp.issparse(curved) else curved
            solve = direct_solver(scale * (rows.T @ rows))
        else:
            squares = curved.multiply(curved) if sp.issparse(curved) else curved**2
            diagonal = 1.0 + scale * np.asarray(squares.sum(axis=0)).ravel()

            def solve(r: Vector) -> Vector:
                return np.asarray(r / diagonal)

        def precondition(r: Vector) -> tuple[Vector, Vector | None, float]:
            z = solve(r)
            return z, None, float(r @ z)

        return precondition


class KernelSpace:
    """Scores K·β with the norm of the kernel's Hilbert space, √(βᵀKβ).

    Parameters
    ----------
    times : callable
        Product of K with a vector.
    diagonal : ndarray of shape (n,)
        Of K.
    """

    def __init__(self, times: Callable[[Vector], Vector], diagonal: Vector) -> None:
        self._times = times
        self.size = len(diagonal)
        self._largest = float(np.abs(diagonal).max(initial=0.0))

    def scores(self, element: Vector) -> Vector:
        """K·β."""
        return self._times(element)

    def gradient(self, in_scores: Vector) -> Vector:
        """The derivative in the scores itself: ⟨g, β⟩ = gᵀKβ."""
        return in_scores

    def product(self, a: Vector, b: Vector, scores_b: Vector | None) -> float:
        """aᵀKb; the scores of b are given if they are known."""
        return float(a @ (self.scores(b) if scores_b is None else scores_b))

    def preconditioner(self, weight: float, scores: Vector, width: float) -> Precondition:
        """The identity: in this norm the curvature differs from it by few large directions."""

        def precondition(r: Vector) -> tuple[Vector, Vector | None, float]:
            image = self.scores(r)
            size = float(r @ image)
            if size < -1e-8 * self._largest * float(r @ r):
                raise ValueError(
                    "kernel must have no negative eigenvalues; found a function of negative norm."
                )
            return r, image, max(0.0, size)

        return precondition


#: A space of score functions on the training rows, with its norm.
ScoreSpace = LinearSpace | KernelSpace


def kernel_space(kernel: Kernel, X: Any, cache_size: float) -> KernelSpace:
    """Products with the kernel matrix, held if it fits into so many megabytes."""
    n = X.shape[0]
    if 8.0 * n * n <= 1e6 * cache_size or isinstance(kernel, Precomputed):
        gram = kernel.block(X)
        return KernelSpace(lambda coef: np.asarray(gram @ coef), gram.diagonal())

    def times(coef: Vector) -> Vector:
        used = np.flatnonzero(coef)
        return apply_kernel(kernel, X, X[used], coef[used])

    return KernelSpace(times, kernel.diagonal(X))
