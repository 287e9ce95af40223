"""Ranking support vector machines with kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._utils.messages import require_choice
from .._utils.types import RandomStateLike, Vector
from ..base.estimator import BaseEstimator
from ..base.kernel_machine import KernelMachineMixin
from ..base.validation import RankingData
from ..kernels import Kernel, Precomputed
from ..kernels.factory import make_kernel, take_inputs
from ..ordinal.arrays import require_count, require_positive
from ..pairs.pair_set import PairSet, paired_rows, restrict_pairs
from ..solvers.ranking.pair_dual import solve_pair_dual
from ..solvers.ranking.pair_newton import (
    PairSolution,
    solve_linear_pairs,
    solve_pairs,
    without_idle_rows,
)
from ..solvers.ranking.score_spaces import factor_kernel, kernel_space
from .mixins import RankProblem, RankSVMMixin

# So many stated pairs at most are solved in the dual unless the solver is chosen.
_FEW_PAIRS = 2_000


class RankSVM(KernelMachineMixin, RankSVMMixin, BaseEstimator):
    """Ranking support vector machine with kernels [MRT18].

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the smoothness of the score.
    kernel : str, callable or Kernel, default="rbf"
        "rbf" (or "gaussian"), "linear", "poly" (or "polynomial"), "sigmoid", "pearson" (which
        takes missing entries), "precomputed", a function of X and Y that gives their kernel
        matrix, or an object of ``echelon.kernels``. It must have no negative eigenvalues.
    gamma : {"scale", "auto"}, float or array-like of shape (d,), default="scale"
        γ of the Gaussian exp(−γ‖x − x′‖²), one for all features or one for each, and of the
        polynomial and sigmoid kernels. "scale" is 1 / (d·v) with v the variance of all entries of
        X, each row counted by its weight; "auto" is 1 / d.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    n_components : int, optional
        Number of rows whose kernel functions make up the score (Nyström's approximation). They are
        drawn so that they lie far from each other; memory is then n times this number, in place
        of n².
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    solver : {"auto", "primal", "dual"}, default="auto"
        "primal" is Newton's method, and never lists pairs from labels. "dual" solves [MRT18]
        (10.10) with a variable for each pair, and lists them all. "auto" takes the dual for the
        hinge over up to 2,000 stated pairs without labels, where it is the faster one. With
        `n_components` the primal is solved.
    normalize : bool, default=True
        Whether C weighs the mean loss of the pairs times the weight of the rows in pairs, or the
        sum over pairs as (10.9) has it, which grows as n².
    query_weighting : {"pairs", "queries"}, default="pairs"
        Whether every pair counts alike or every query. Stated pairs keep their weights.
    tol : float, default=1e-6
        Largest duality gap, relative to the objective.
    max_iter : int, default=500
        Most Newton steps of the primal, or passes over the pairs of the dual.
    cache_size : float, default=1000
        Megabytes for the kernel matrix. Where it needs more, the primal computes it anew in every
        product.
    verbose : int, default=0
        Above zero, print a line for each step.
    random_state : int, RandomState or None, default=None
        For the rows of `n_components`; nothing else is random.

    Attributes
    ----------
    support_ : ndarray of int
        Rows of the training data with a coefficient.
    support_vectors_ : ndarray or CSR matrix of shape (n_support, d)
        These rows; not for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_support,)
        Their coefficients β: the score is Σ β·k(x, ·).
    kernel_ : Kernel
        With γ as a number.
    objective_ : float
        Value of the objective below at the solution.
    duality_gap_ : float
        Certificate: the objective lies at most so far above its minimum, for the approximate
        kernel if `n_components` is given.
    n_iter_ : int
        Newton steps or passes.
    converged_ : bool
        Whether the gap is small enough.

    Warns
    -----
    ConvergenceWarning
        If the duality gap stayed above `tol`; the message states it.

    Notes
    -----
    Minimises ½‖f‖² + C' Σ_p c_p φ(1 − f(winner) + f(loser)) over functions of the kernel's space,
    with weights and C' as in `LinearRankSVM`, which it equals for the linear kernel.

    References
    ----------
    [MRT18] M. Mohri, A. Rostamizadeh and A. Talwalkar, Foundations of Machine Learning, second
    edition, 2018, chapter 10.

    Examples
    --------
    >>> from echelon import RankSVM
    >>> X = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> model = RankSVM(C=10.0).fit(X, [0, 1, 2, 1, 0])
    >>> int(model.rank(X)[0])
    2
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Kernel | Callable[..., Any] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        loss: str = "squared_hinge",
        solver: str = "auto",
        normalize: bool = True,
        query_weighting: str = "pairs",
        tol: float = 1e-6,
        max_iter: int = 500,
        cache_size: float = 1000.0,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.loss = loss
        self.solver = solver
        self.normalize = normalize
        self.query_weighting = query_weighting
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, data: RankingData) -> None:
        whole = self._problem(data)
        # Another order of entries would round the kernel differently.
        inputs = whole.X if sp.issparse(whole.X) else np.ascontiguousarray(whole.X)
        kernel = make_kernel(self, inputs, data.sample_weight)
        rows = paired_rows(whole.pairs)
        if len(rows) < inputs.shape[0]:
            inputs = take_inputs(kernel, inputs, rows, rows)
        problem = RankProblem(inputs, restrict_pairs(whole.pairs, rows), whole.C)
        coef, solution = self._solve(kernel, problem)
        self._store_support(kernel, inputs, rows, coef)
        self._store_certificate(solution)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("solver", self.solver, ("auto", "primal", "dual"))
        require_positive("cache_size", self.cache_size)
        if self.n_components is None:
            return
        require_count("n_components", self.n_components)
        if self.solver == "dual":
            raise ValueError(
                "solver must be 'auto' or 'primal' with n_components, which are coefficients of "
                "the primal; found 'dual'."
            )

    def _solve(self, kernel: Kernel, problem: RankProblem) -> tuple[Vector, PairSolution]:
        """Coefficients of the rows, and the certificate."""
        X, pairs, C, settings = problem.X, problem.pairs, problem.C, self._settings()
        if self.n_components is not None:
            return self._solve_on_few_rows(kernel, problem, self.n_components)
        if self._takes_dual(pairs):
            solution = solve_pair_dual(kernel.block(X), pairs.to_listed(), C, **settings)
            return solution.coef, solution
        space = kernel_space(kernel, X, self.cache_size)
        solution = solve_pairs(space, pairs, C, **settings)
        solution = without_idle_rows(
            space, pairs, C, solution, squared=settings["squared"], tol=self.tol
        )
        return solution.coef, solution

    def _solve_on_few_rows(
        self, kernel: Kernel, problem: RankProblem, n_components: int
    ) -> tuple[Vector, PairSolution]:
        X, pairs, C, settings = problem.X, problem.pairs, problem.C, self._settings()

        def column(row: int) -> Vector:
            if isinstance(kernel, Precomputed):
                return np.asarray(X[:, row], dtype=np.float64)
            return kernel.block(X, X[[row]])[:, 0]

        rng = check_random_state(self.random_state)
        found = factor_kernel(column, kernel.diagonal(X), n_components, rng)
        solution = solve_linear_pairs(found.factor, pairs, C, **settings)
        of_rows = np.zeros(X.shape[0])
        of_rows[found.pivots] = found.coefficients(solution.coef)
        return of_rows, solution

    def _takes_dual(self, pairs: PairSet) -> bool:
        if self.solver != "auto":
            return self.solver == "dual"
        few = pairs.kind == "listed" and pairs.n_pairs <= _FEW_PAIRS
        return few and self.loss == "hinge"
