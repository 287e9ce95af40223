"""The linear ranker of the largest margin, by linear programming."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .._utils.messages import require_choice, warn_caller
from ..base.estimator import BaseEstimator
from ..base.validation import RankingData
from ..ordinal.arrays import require_count, require_positive
from ..solvers.ranking.margin_lp import MarginResult, maximise_margin
from .mixins import LinearRankerMixin


class MarginLPRanker(LinearRankerMixin, BaseEstimator):
    """Linear ranker of the largest margin under an L1 or L∞ norm, by linear programming.

    Parameters
    ----------
    nu : float, default=0.8
        Share of the pairs, by weight, whose mean margin is maximised: those with the least margins.
        At most this share has a margin below ``margin_``. Zero maximises the least margin, for
        pairs that can all be ranked correctly. If the share is too small for pairs that cannot,
        nothing beats ``coef_ = 0``: with margins of a normal distribution 0.5 needs weights that
        rank 79 % of the pairs correctly, and 0.8 needs 64 %. Below one.
    norm : {"l1", "linf"}, default="l1"
        Norm of the weights, which is at most one. With "l1" few weights differ from zero; with
        "linf" most are −1 or 1.
    tol : float, default=1e-4
        Largest gap between the bounds of the optimum, in units of the objective for ``nu=1``.
    max_iter : int, default=1000
        Most steps of the cutting plane method.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of norm one, or zeros. Zero for constant inputs.
    margin_ : float
        ρ below; for ``nu=0`` the least margin of all training pairs.
    objective_ : float
        Mean margin of the worst share `nu` of the pairs.
    duality_gap_ : float
        Certificate: no weights have an objective greater by more than this.
    n_constraints_ : int
        Linear constraints that were made, where the whole programme has one for each pair.
    n_iter_ : int
    converged_ : bool

    Warns
    -----
    ConvergenceWarning
        If the gap stayed above `tol`, or if no weights have a positive objective.

    See Also
    --------
    RankPerceptron : Some weights that rank all pairs correctly, where there are any.

    Notes
    -----
    [MRT18] exercise 10.6. With margins m_p = coef·(x_winner − x_loser), weights c_p of the pairs
    and their sum P, the programme is

        max ρ − Σ_p c_p ξ_p / (nu·P)   subject to m_p ≥ ρ − ξ_p, ξ ≥ 0, ‖coef‖ ≤ 1.

    Under the L1 norm m_p is the margin by the L∞ distance, the one that boosting is about: if the
    inputs are the outputs of base rankers, this is the best that RankBoost's margins can become.

    Pairs from labels are never listed. See ``echelon.solvers.ranking.margin_lp`` for the cutting
    planes; hundreds of inputs take many of them. The norm is in the units of `X`, so scale the
    inputs alike.

    Examples
    --------
    >>> from echelon.ranking import MarginLPRanker
    >>> X = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [4.0, 1.0]]
    >>> model = MarginLPRanker(nu=0.0).fit(X, [0, 1, 2, 3])
    >>> model.coef_, model.margin_
    (array([1., 0.]), 1.0)
    """

    def __init__(
        self,
        nu: float = 0.8,
        *,
        norm: str = "l1",
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.nu = nu
        self.norm = norm
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, data: RankingData) -> None:
        result = maximise_margin(
            data.X,
            data.pairs,
            nu=float(self.nu),
            norm=self.norm,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self.coef_ = result.coef
        self.margin_ = result.margin
        self.objective_ = result.value
        self.duality_gap_ = max(0.0, result.upper - result.value)
        self.n_constraints_ = result.n_cuts
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self._report_trouble(result)

    def _check_parameters(self) -> None:
        nu: Any = self.nu
        if not isinstance(nu, Real) or not 0.0 <= float(nu) < 1.0:
            raise ValueError(f"nu must be a number from 0 to below 1; found {nu!r}.")
        require_choice("norm", self.norm, ("l1", "linf"))
        require_positive("tol", self.tol)
        require_count("max_iter", self.max_iter)

    def _report_trouble(self, result: MarginResult) -> None:
        if not result.converged:
            warn_caller(
                f"The cutting plane method stopped after {result.n_iter} steps with a gap of "
                f"{self.duality_gap_:.2g}, above tol={self.tol:g} in units of "
                f"{result.scale:.2g}; raise max_iter or tol, or scale X.",
                ConvergenceWarning,
            )
        elif not self.coef_.any():
            trouble = "rank all pairs correctly"
            if self.nu > 0.0:
                trouble = f"have a positive mean margin on the worst {self.nu:g} of the pairs"
            warn_caller(
                f"No weights {trouble}, so coef_ is zero and ranks nothing; raise nu.",
                ConvergenceWarning,
            )
