"""The perceptron on pairs of rows."""

from __future__ import annotations

import numpy as np

from .._utils.types import RandomStateLike, Vector
from ..base.estimator import BaseEstimator
from ..base.validation import RankingData
from ..ordinal.arrays import require_count
from ..solvers.ranking.online import PairPerceptron, solve_rank_perceptron
from ..solvers.ranking.pair_draws import PairSampler
from .mixins import LinearRankerMixin, StreamedRankerMixin


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
    O(n log n): the worst partner of every row is found. If the draws met no mistake and
    there is one, these pairs are presented. So an epoch makes an update or is the last one.

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

    def _store(self, state: PairPerceptron, coef: Vector) -> None:
        self._perceptron = state
        self.coef_ = np.array(coef)
        self.n_updates_ = state.n_updates
        self.radius_ = state.radius


def _print_epoch(epoch: int, updates: int, margin: float) -> None:
    print(f"epoch {epoch}: {updates} updates, least margin {margin:.4g}")
