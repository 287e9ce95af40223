"""Small linear rankers: the perceptron on pairs, and the largest margin by linear programming."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.choices import require_choice
from .._utils.types import RandomStateLike
from .._utils.warnings import warn_caller
from ..base.estimator import BaseEstimator
from ..base.validation import RankingData
from ..ordinal.arrays import require_count, require_positive
from ..solvers.ranking.margin_lp import MarginResult, maximise_margin
from ..solvers.ranking.pair_draws import PairSampler
from ..solvers.ranking.rank_perceptron import PairPerceptron, solve_rank_perceptron
from .linear_scores import LinearRankerMixin, StreamedRankerMixin


class RankPerceptron(StreamedRankerMixin, LinearRankerMixin, BaseEstimator):
    """Perceptron on pairs of rows, by many random pairs or online.

    Parameters
    ----------
    n_epochs : int, default=50
        Most epochs of ``fit``; it stops earlier once all pairs are ranked correctly. An epoch draws
        as many pairs as there are distinct rows and stated pairs.
    averaged : bool, default=True
        Whether ``coef_`` is the average of the weights over all pairs presented, which does better
        where pairs contradict each other, or the last weights. If these rank all training pairs
        correctly and the average does not, they are taken.
    verbose : int, default=0
        Above zero, print a line for each epoch.
    random_state : int, RandomState or None, default=None
        For the draws of pairs.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the score x·coef_.
    n_updates_ : int
        Pairs that were not ranked correctly when they were presented, since the last ``fit`` began.
    radius_ : float
        R, the length of the longest x_winner − x_loser among these.
    margin_ : float
        After ``fit``: ρ, the least (x_winner − x_loser)·w over all training pairs with
        w = coef_/‖coef_‖. It is above zero exactly if all are ranked correctly.
    mistake_bound_ : float
        After ``fit``: (R/ρ)², which ``n_updates_`` does not exceed; infinite if ρ is not above
        zero.
    n_iter_ : int
        After ``fit``: epochs done.

    See Also
    --------
    MarginLPRanker : Weights of the largest margin.

    Notes
    -----
    A pair is presented as x_winner − x_loser; if w·(x_winner − x_loser) ≤ 0 then w moves by it
    ([MRT18] exercise 10.5). If any unit vector ranks all pairs with margin ρ, there are at most
    (R/ρ)² updates in whatever order the pairs come: after m of them w has a component of mρ at
    least along that vector, and a length of R·√m at most. ``mistake_bound_`` is this bound for the
    margin of the weights found; the largest margin gives a smaller one.

    Pairs are drawn by weight and never listed. All of them are looked at after each epoch, in
    O(n log n): by then each row knows its worst partner. If the draws found no mistake and this
    does, these pairs are presented. So an epoch makes an update or is the last one.

    For a given `random_state` the fit does not depend on the order of rows, and integer weights
    equal repeated rows. A step has no rate, since from zero another rate scales the weights and
    changes no order; scale the inputs alike instead.

    Examples
    --------
    >>> from echelon.ranking import RankPerceptron
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [4.0, 1.0]]
    >>> model = RankPerceptron(random_state=0).fit(X, [0, 1, 1, 2])
    >>> bool(model.margin_ > 0)
    True
    >>> bool(model.n_updates_ <= model.mistake_bound_)
    True
    """

    def __init__(
        self,
        n_epochs: int = 50,
        *,
        averaged: bool = True,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.averaged = averaged
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require_count("n_epochs", self.n_epochs)

    def _learn(self, data: RankingData) -> None:
        self._rng = self._new_generator()
        result = solve_rank_perceptron(
            data.X,
            data.pairs,
            n_epochs=int(self.n_epochs),
            averaged=bool(self.averaged),
            rng=self._rng,
            progress=_print_epoch if self.verbose > 0 else None,
        )
        self._store(result.state, result.coef)
        self.margin_ = result.margin
        self.mistake_bound_ = result.mistake_bound
        self.n_iter_ = result.n_epochs

    def _learn_chunk(self, data: RankingData) -> None:
        """Draw one epoch of pairs among the rows."""
        before = getattr(self, "_perceptron", None)
        if before is None:
            before = PairPerceptron.fresh(data.X.shape[1])
            self._rng = self._new_generator()
        if data.pairs.n_pairs:
            drawn = PairSampler(data.pairs, data.X).round(self._rng)
            before = before.presented(data.X, *drawn)
        self._forget("margin_", "mistake_bound_", "n_iter_")
        self._store(before, before.average if self.averaged else before.coef)

    def _store(self, state: PairPerceptron, coef: Any) -> None:
        self._perceptron = state
        self.coef_ = np.array(coef)
        self.n_updates_ = state.n_updates
        self.radius_ = state.radius


def _print_epoch(epoch: int, updates: int, margin: float) -> None:
    print(f"epoch {epoch}: {updates} updates, least margin {margin:.4g}")


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
        if not isinstance(self.nu, Real) or not 0.0 <= float(self.nu) < 1.0:
            raise ValueError(f"nu must be a number from 0 to below 1; found {self.nu!r}.")
        require_choice("norm", self.norm, ("l1", "linf"))
        require_positive("tol", self.tol)
        require_count("max_iter", self.max_iter)

    def _report_trouble(self, result: MarginResult) -> None:
        if not result.converged:
            warn_caller(
                f"The cutting plane method stopped after {result.n_iter} steps with a gap of "
                f"{self.duality_gap_:.2g}, above tol={self.tol:g} in units of "
                f"{result.scale:.2g}; raise max_iter or tol.",
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
