"""Linear ranking support vector machines, for pairs from labels, queries and statements."""

from __future__ import annotations

from ..base.estimator import BaseEstimator
from ..base.validation import RankingData
from ..solvers.ranking.pair_newton import solve_linear_pairs
from .mixins import LinearRankerMixin, RankSVMMixin


class LinearRankSVM(RankSVMMixin, LinearRankerMixin, BaseEstimator):
    """Linear ranking support vector machine for many rows [MRT18].

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty ½‖coef‖², which is in the units of `X`.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The squared hinge is smooth and takes a few Newton steps. The hinge is the loss of [MRT18]
        (10.9); it takes several times as many.
    normalize : bool, default=True
        Whether C weighs the mean loss of the pairs times the weight of the rows in pairs, so that
        it means what it means in scikit-learn's ``LinearSVC``, whatever the number of pairs. With
        False it weighs the sum over pairs, as (10.9) has it; that sum grows as n², and so does
        what C means.
    query_weighting : {"pairs", "queries"}, default="pairs"
        Whether every pair counts alike, so that queries with many rows dominate, or every query,
        whatever its size and the total weight of its rows. Stated pairs keep their weights.
    tol : float, default=1e-6
        Largest duality gap, relative to the objective.
    max_iter : int, default=500
        Most Newton steps.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last ``fit``.
    verbose : int, default=0
        Above zero, print a line for each step.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        A positive coefficient moves rows up.
    objective_ : float
        Value of the objective below at the solution.
    duality_gap_ : float
        Certificate: the objective lies at most so far above its minimum, and ½‖coef − optimum‖² is
        at most so much.
    n_iter_ : int
        Newton steps.
    converged_ : bool
        Whether the gap is small enough.

    Warns
    -----
    ConvergenceWarning
        If the duality gap stayed above `tol`; the message states it.

    Notes
    -----
    Minimises, over pairs p of a winner and a loser with weights c_p,

        ½‖coef‖² + C' Σ_p c_p φ(1 − coef·(x_winner − x_loser)),

    where φ(t) is max(0, t) or its square. A pair from labels weighs the product of the weights of
    its rows. C' is C, or with `normalize` C times the weight of all rows in pairs over that of all
    pairs. There is no intercept: it would not change an order.

    Newton's method runs on the primal and never lists pairs from labels. Its linear systems are
    preconditioned by drawn pairs, so the units of `X` matter to the penalty only, not to the speed.
    Memory beyond `X` is that of a few numbers for each row.

    References
    ----------
    [MRT18] M. Mohri, A. Rostamizadeh and A. Talwalkar, Foundations of Machine Learning, second
    edition, 2018, chapter 10.

    Examples
    --------
    >>> from echelon import LinearRankSVM
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = LinearRankSVM().fit(X, y)
    >>> bool(model.duality_gap_ <= 1e-6 * model.objective_)
    True
    >>> model.rank(X[:5]).shape
    (5,)
    >>> LinearRankSVM().fit([[0.0], [1.0], [3.0]], pairs=[[2, 0], [1, 0]]).coef_ > 0
    array([ True])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        normalize: bool = True,
        query_weighting: str = "pairs",
        tol: float = 1e-6,
        max_iter: int = 500,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.normalize = normalize
        self.query_weighting = query_weighting
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    def _learn(self, data: RankingData) -> None:
        last = getattr(self, "coef_", None) if self.warm_start else None
        problem = self._problem(data)
        solution = solve_linear_pairs(
            problem.X,
            problem.pairs,
            problem.C,
            start=last if last is not None and len(last) == problem.X.shape[1] else None,
            **self._settings(),
        )
        self.coef_ = solution.coef
        self._store_certificate(solution)
