"""The dual of a ranking support vector machine over listed pairs, [MRT18] (10.10).

With u_p = C·c_p and k_ij the kernel, the dual variables maximise

    Σ α − ½‖Σ α_p (k_winner − k_loser)‖²                 with 0 ≤ α ≤ u     (hinge)
    Σ α − Σ α²/(4u) − ½‖Σ α_p (k_winner − k_loser)‖²     with 0 ≤ α         (squared hinge).

Steps in one variable at a time keep the scores of all rows, and find out which variables lie
strictly between their bounds. Newton's step moves those together, each up to its bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ..._utils.types import Index, Matrix, Vector
from ...pairs.pair_set import ListedPairs
from .pair_newton import PairSolution, Progress

_LARGEST_SYSTEM = 2_000
_NEWTON_STEPS = 20
_HALVINGS = 10
# Free pairs, by the rank of the kernel, from which on a step in that rank is cheaper.
_MANY_PAIRS = 4


def solve_pair_dual(
    gram: Matrix,
    pairs: ListedPairs,
    C: float,
    *,
    squared: bool,
    tol: float = 1e-6,
    max_iter: int = 500,
    progress: Progress | None = None,
) -> PairSolution:
    """Maximise to a duality gap of `tol` times the primal objective.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel matrix.
    pairs : ListedPairs
        Pairs of its rows.
    C : float
        Weight of the loss.
    squared : bool
        Whether the hinge is squared.
    tol : float
    max_iter : int
        Most passes over the pairs.
    progress : callable, optional
        Called with the number of passes, the objective, the gap and zero.
    """
    # A pair of no weight at all would have an endless ridge.
    upper = np.maximum(C * pairs.weights, np.finfo(np.float64).tiny)
    dual = _PairDual(gram, pairs, upper, squared)
    rng = np.random.default_rng(0)
    n_iter = 0
    while True:
        dual.refresh()
        objective, gap = dual.objective_and_gap()
        if progress is not None:
            progress(n_iter, objective, gap, 0.0)
        if gap <= tol * objective or n_iter >= max_iter:
            break
        dual.single_steps(rng)
        dual.newton_steps()
        n_iter += 1
    return PairSolution(
        coef=dual.coef,
        scores=dual.scores,
        gradient=-dual.coef,
        objective=objective,
        duality_gap=max(0.0, gap),
        n_iter=n_iter,
        converged=gap <= tol * objective,
    )


@dataclass
class _PairDual:
    """The variables α, with the coefficients β and the scores K·β that belong to them."""

    gram: Matrix
    pairs: ListedPairs
    upper: Vector
    squared: bool

    def __post_init__(self) -> None:
        winners, losers = self.pairs.winners, self.pairs.losers
        diagonal = self.gram.diagonal()
        curvature = diagonal[winners] + diagonal[losers] - 2.0 * self.gram[winners, losers]
        self.ridge = 0.5 / self.upper if self.squared else np.zeros(len(self.upper))
        self.curvature = np.maximum(0.0, curvature) + self.ridge
        # Of two equal rows the scores cannot differ, and a tiny curvature is as good as none.
        self.curvature = np.maximum(self.curvature, 1e-14 * max(1.0, float(diagonal.max())))
        self.limit = np.full(len(self.upper), np.inf) if self.squared else self.upper
        self.alpha = np.zeros(len(self.upper))
        self.coef = np.zeros(len(self.gram))
        self.scores = np.zeros(len(self.gram))

    @cached_property
    def root(self) -> Matrix:
        """Rows whose products are the kernel, without what is negative of it."""
        values, vectors = scipy.linalg.eigh(self.gram)
        kept = values > 1e-15 * values[-1]
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))

    def refresh(self) -> None:
        """Coefficients and scores anew from α, so that rounding errors do not add up."""
        n = len(self.gram)
        won, lost = (
            np.bincount(side, self.alpha, n) for side in (self.pairs.winners, self.pairs.losers)
        )
        self.coef = np.asarray(won - lost, dtype=np.float64)
        self.scores = self.gram @ self.coef

    def slack(self) -> Vector:
        """1 − margin of every pair."""
        return np.asarray(1.0 - self.scores[self.pairs.winners] + self.scores[self.pairs.losers])

    def rise(self) -> Vector:
        """Slope of the dual objective in every variable."""
        return self.slack() - self.ridge * self.alpha

    def objective_and_gap(self) -> tuple[float, float]:
        """Primal objective of β, and how far the dual one lies below."""
        with np.errstate(over="ignore", invalid="ignore"):
            half_norm = 0.5 * float(self.coef @ self.scores)
            size = float(np.abs(self.coef) @ np.abs(self.scores))
        if not -1e-9 * size <= half_norm < np.inf:
            # Steps along an eigenvector of a negative eigenvalue have no end.
            raise ValueError(
                "The kernel must have no negative eigenvalues for solver='dual'; found "
                f"{2.0 * half_norm:.3g} as a squared norm: choose another kernel."
            )
        t = np.maximum(0.0, self.slack())
        primal = half_norm + float(self.upper @ (t**2 if self.squared else t))
        return primal, primal - self.dual_objective()

    def dual_objective(self) -> float:
        """What α maximises."""
        # Negative eigenvalues let it grow without end, which the certificate tells.
        with np.errstate(over="ignore", invalid="ignore"):
            charge = 0.5 * float(self.ridge @ self.alpha**2)
            return float(self.alpha.sum()) - charge - 0.5 * float(self.coef @ self.scores)

    def single_steps(self, rng: np.random.Generator) -> None:
        """One step in every variable that can rise the objective, in a random order."""
        rise = self.rise()
        can = ((rise > 0.0) & (self.alpha < self.limit)) | ((rise < 0.0) & (self.alpha > 0.0))
        winners, losers = self.pairs.winners, self.pairs.losers
        for p in rng.permutation(np.flatnonzero(can)):
            i, j, before = winners[p], losers[p], self.alpha[p]
            rise_p = 1.0 - self.scores[i] + self.scores[j] - self.ridge[p] * before
            after = min(max(0.0, before + rise_p / self.curvature[p]), self.limit[p])
            if after != before:
                self.alpha[p] = after
                self.scores += (after - before) * (self.gram[i] - self.gram[j])

    def newton_steps(self) -> None:
        """Newton's steps in the variables between their bounds, until no bound is met."""
        for _ in range(_NEWTON_STEPS):
            free = np.flatnonzero((self.alpha > 0.0) & (self.alpha < self.limit))
            if not 0 < len(free) <= _LARGEST_SYSTEM:
                return
            self.refresh()
            if not self._climb(free, self._newton_step(free, self.rise()[free])):
                return

    def _climb(self, free: Index, step: Vector) -> bool:
        """Go along a step, cut off at the bounds, where it leads highest; whether it was cut."""
        before, limit = self.alpha[free], self.limit[free]
        left = np.where(step > 0.0, limit - before, before)
        with np.errstate(divide="ignore", invalid="ignore"):
            longest = np.where(step != 0.0, left / np.abs(step), np.inf)
        # Up to the first bound the objective rises; beyond, halves of the step may lead higher.
        first = int(np.argmin(longest))
        shortest = min(1.0, float(longest[first]))
        ends = [np.clip(before + shortest * step, 0.0, limit)]
        if shortest < 1.0:
            ends[0][first] = limit[first] if step[first] > 0.0 else 0.0
            halves = 0.5 ** np.arange(_HALVINGS)
            ends += [np.clip(before + t * step, 0.0, limit) for t in halves[halves > shortest]]
        self.alpha[free] = max(ends, key=lambda values: self._height(free, values))
        return shortest < 1.0

    def _height(self, free: Index, values: Vector) -> float:
        """Dual objective with other values of some variables."""
        self.alpha[free] = values
        self.refresh()
        return self.dual_objective()

    def _newton_step(self, free: Index, rise: Vector) -> Vector:
        i, j = self.pairs.winners[free], self.pairs.losers[free]
        diagonal = self.curvature[free]
        # Pairs can depend on each other; the ridge lets the step run along such directions.
        ridge = self.ridge[free] + 1e-10 * diagonal
        if len(free) >= _MANY_PAIRS * len(self.gram):
            return _low_rank_step(self.root[i] - self.root[j], ridge, rise)
        rows = self.gram[i] - self.gram[j]
        system = rows[:, i] - rows[:, j]
        system[np.diag_indices_from(system)] += ridge
        size = 1.0 / np.sqrt(diagonal)
        scaled = system * np.multiply.outer(size, size)
        try:
            return np.asarray(size * scipy.linalg.solve(scaled, size * rise, assume_a="pos"))
        except scipy.linalg.LinAlgError:
            values, vectors = scipy.linalg.eigh(scaled)
            kept = np.maximum(values, 1e-10 * values[-1])
            return np.asarray(size * (vectors @ ((vectors.T @ (size * rise)) / kept)))


def _low_rank_step(features: Matrix, ridge: Vector, rise: Vector) -> Vector:
    """Solution of (FFᵀ + diag(ridge))·step = rise, for far fewer columns of F than rows.

    In units of the ridge the matrix is one on all that the singular vectors of F leave over.
    """
    size = 1.0 / np.sqrt(ridge)
    left, values, _ = scipy.linalg.svd(size[:, None] * features, full_matrices=False)
    scaled = size * rise
    along = left.T @ scaled
    rest = scaled - left @ along
    return np.asarray(size * (left @ (along / (1.0 + values**2)) + rest))
