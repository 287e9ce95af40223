"""Ranking by a classifier of pairs and a sort by its preferences: [MRT18] section 10.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._utils.messages import require_choice
from .._utils.types import EstimatorLike, Index, KeysLike, MatrixLike, RandomStateLike, Vector
from ..base.estimator import BaseEstimator
from ..base.mixins import RankerMixin
from ..base.nested import clone_or, fit_weighted, inherit_input_tags, seed
from ..base.pair_explanations import PairExplanation, explanation, shapley_terms
from ..base.validation import RankingData, two_rows, validate_inputs
from ..ordinal.arrays import LARGEST_SEED, require_count
from ..pairs import ListedPairs, PairSet
from ..pairs.preference_order import DECISIONS, METHODS, OrderResult, order_by
from ..pairs.queries import query_codes
from ..solvers.ranking.pair_draws import PairSampler

# Numbers in the features of the pairs that are compared at a time.
_BLOCK = 1 << 20


class PreferenceRanker(RankerMixin, BaseEstimator):
    """Learn which of two rows is preferred, then order rows by these preferences.

    Stage one fits a classifier on features of pairs and makes it a preference function h with
    h(u, v) + h(v, u) = 1, which need not be transitive. Stage two sorts the rows of a query by h.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        It learns from pair features whether the first row is preferred. By default logistic
        regression without intercept.
    features : {"difference", "concatenation"} or callable, default="difference"
        Features of a pair (u, v): x_u − x_v, both rows side by side, or what
        ``features(X_u, X_v)`` makes of two matrices of as many rows.
    method : {"quicksort", "degree"}, default="quicksort"
        How ``rank`` sorts: `quicksort`, or `sort_by_degree`, which asks all pairs.
    decide : {"sample", "majority"}, default="majority"
        Whether QuickSort takes the side of a pivot that is more probable, or draws it.
    symmetrize : bool, default=True
        Whether h(u, v) = ½(p(u, v) + 1 − p(v, u)) with the classifier's p. False takes p as it is
        and halves the time; use it if features and classifier treat both directions alike.
    max_pairs : int, default=100_000
        If labels imply more pairs, so many are drawn by their weight, with replacement. Stated
        pairs are all used.
    n_reference : int, default=64
        Training rows that ``predict`` compares a row with, drawn by weight if there are more.
    random_state : int, RandomState instance, optional
        For drawn pairs and rows, the classifier's own ``random_state``, and pivots.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on both orientations of every pair; its classes are 0 and 1.
    reference_ : ndarray or sparse matrix of shape (r, d)
        Rows that ``predict`` compares with.
    reference_weight_ : ndarray of shape (r,)
        Their weights, which sum to 1.
    n_pairs_ : int
        Pairs that the classifier has learnt from.

    Notes
    -----
    Both orientations of a pair weigh half of it, so the classifier is neutral. Drawn pairs share
    the weight of all implied ones, so that a penalty counts as it would with all of them.

    ``predict`` gives mean preferences over fixed rows, so that the score of a row does not depend
    on the others. ``rank`` sorts by the preferences between the rows themselves, which need not be
    transitive; its pivots come from a seed drawn by ``fit``. Taking the more probable side has less
    loss than drawing it if probabilities are calibrated, since the loss (10.24) is linear in h. The
    guarantees (10.33) and (10.35) of [MRT18] hold either way, by majority for h rounded to 0 and 1.

    For matches or comparisons with features of their own, give each side of a match a row and state
    the pairs: ``fit(X, pairs=[[winner_row, loser_row], …])``.

    Examples
    --------
    >>> from echelon.ranking import PreferenceRanker
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> ranker = PreferenceRanker(random_state=0).fit(X, pairs=[[1, 0], [2, 1], [3, 2]])
    >>> ranker.rank(X).tolist()
    [3, 2, 1, 0]
    >>> bool(ranker.preference([X[3]], [X[0]])[0] > 0.9)
    True
    """

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        features: str | Callable[[Any, Any], Any] = "difference",
        method: str = "quicksort",
        decide: str = "majority",
        symmetrize: bool = True,
        max_pairs: int = 100_000,
        n_reference: int = 64,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.method = method
        self.decide = decide
        self.symmetrize = symmetrize
        self.max_pairs = max_pairs
        self.n_reference = n_reference
        self.random_state = random_state

    def _learn(self, data: RankingData) -> None:
        random = check_random_state(self.random_state)
        rng = np.random.default_rng(random.randint(LARGEST_SEED))
        model = seed(clone_or(self.estimator, _default_classifier), random)
        pairs = _training_pairs(data.pairs, self.max_pairs, rng)
        self.estimator_ = self._fit_both_ways(model, data.X, pairs)
        self.n_pairs_ = len(pairs.winners)
        self.reference_, self.reference_weight_ = _reference(data, self.n_reference, rng)
        self._order_seed = random.randint(LARGEST_SEED)

    def _fit_both_ways(self, model: Any, X: Any, pairs: ListedPairs) -> Any:
        """Fit a classifier to say whether the first row wins, on both orders of each pair."""
        first = np.r_[pairs.winners, pairs.losers]
        second = np.r_[pairs.losers, pairs.winners]
        target = np.repeat([1, 0], len(pairs.winners))
        halves: Vector | None = np.tile(0.5 * pairs.weights, 2)
        if not has_fit_parameter(model, "sample_weight") and np.ptp(pairs.weights) == 0.0:
            halves = None
        return fit_weighted(model, self._pair_features(X[first], X[second]), target, halves)

    def preference(self, U: MatrixLike, V: MatrixLike) -> Vector:
        """h(u, v): the probability that each row of U is preferred to the same row of V.

        Parameters
        ----------
        U, V : array-like or sparse matrix of shape (m, d)

        Returns
        -------
        probabilities : ndarray of shape (m,)
        """
        check_is_fitted(self)
        first, second = validate_inputs(self, U), validate_inputs(self, V)
        if first.shape[0] != second.shape[0]:
            raise ValueError(
                f"U and V must have as many rows; found {first.shape[0]} and {second.shape[0]}."
            )
        return self._preference(first, second)

    def rank(self, X: MatrixLike, qid: KeysLike | None = None, top_k: int | None = None) -> Index:
        """Rows from best to worst by the preferences between them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        qid : sequence of shape (n,), optional
            Query of each row. Queries follow each other in the order of their first rows.
        top_k : int, optional
            Most rows of each query.

        Returns
        -------
        rows : ndarray
            Positions in X.
        """
        return self.rank_with_calls(X, qid, top_k).order

    def rank_with_calls(
        self, X: MatrixLike, qid: KeysLike | None = None, top_k: int | None = None
    ) -> OrderResult:
        """Rank as by ``rank``, and count.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        qid : sequence of shape (n,), optional
        top_k : int, optional

        Returns
        -------
        result : OrderResult
            ``order`` as ``rank`` gives it, ``n_calls`` pairs that h was asked, ``n_batches``.
        """
        check_is_fitted(self)
        if top_k is not None:
            require_count("top_k", top_k)
        inputs = validate_inputs(self, X)
        groups, _ = query_codes(qid, inputs.shape[0])
        return order_by(
            self.method,
            lambda u, v: self._preference(inputs[u], inputs[v]),
            inputs.shape[0],
            groups=groups,
            top_k=top_k,
            decide=self.decide,
            batch_size=self._block_size,
            rng=self._order_seed,
        )

    def explain_pair(self, a: MatrixLike, b: MatrixLike) -> PairExplanation:
        """Take the preference for one of two rows apart by their features.

        Parameters
        ----------
        a, b : array-like of shape (d,), or of one row
            The rows to compare.

        Returns
        -------
        explanation : PairExplanation
            ``score_a`` is h(a, b) and ``score_b`` is h(b, a); the terms sum to their difference. A
            term is what exchanging this feature between the two rows adds on average (a Shapley
            value), so explaining (b, a) turns all signs around.
        """
        check_is_fitted(self)
        X = np.asarray(two_rows(self, a, b), dtype=np.float64)
        score_a, score_b = self._preference(X, X[::-1])

        def after_exchange(path: Vector) -> Vector:
            taken = (path == X[0]) | (np.isnan(path) & np.isnan(X[0]))
            return self._preference(path, np.where(taken, X[1], X[0]))

        return explanation(
            score_a, score_b, shapley_terms(self._input_names(), after_exchange, X[0], X[1])
        )

    def _check_parameters(self) -> None:
        if not callable(self.features):
            require_choice("features", self.features, ("difference", "concatenation"))
        require_choice("method", self.method, METHODS)
        require_choice("decide", self.decide, DECISIONS)
        require_count("max_pairs", self.max_pairs)
        require_count("n_reference", self.n_reference)
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                "estimator must be a classifier with predict_proba; found "
                f"{type(self.estimator).__name__}."
            )

    @property
    def _block_size(self) -> int:
        return max(1, _BLOCK // int(self.n_features_in_))

    def _scores(self, X: Any) -> Vector:
        n, r = X.shape[0], self.reference_.shape[0]
        scores = np.empty(n)
        step = max(1, self._block_size // r)
        for first in range(0, n, step):
            rows = np.arange(first, min(first + step, n))
            u, v = np.repeat(rows, r), np.tile(np.arange(r), len(rows))
            h = self._preference(X[u], self.reference_[v]).reshape(-1, r)
            scores[rows] = h @ self.reference_weight_
        return scores

    def _preference(self, U: Any, V: Any) -> Vector:
        if sp.issparse(U) != sp.issparse(V):
            U, V = sp.csr_matrix(U), sp.csr_matrix(V)
        straight = self._probability(U, V)
        linear = self.estimator is None and self.features == "difference"
        # The default treats both directions alike by itself.
        if linear or not self.symmetrize:
            return straight
        return 0.5 + 0.5 * (straight - self._probability(V, U))

    def _probability(self, U: Any, V: Any) -> Vector:
        if not U.shape[0]:
            return np.empty(0)
        # The classes are 0 and 1, in this order.
        return np.asarray(self.estimator_.predict_proba(self._pair_features(U, V))[:, 1])

    def _pair_features(self, U: Any, V: Any) -> Any:
        if callable(self.features):
            made = self.features(U, V)
            if getattr(made, "ndim", 0) != 2 or made.shape[0] != U.shape[0]:
                raise ValueError(
                    f"features must give a matrix with a row for each of {U.shape[0]} pairs; found "
                    f"shape {getattr(made, 'shape', None)}."
                )
            return made
        if self.features == "difference":
            return U - V
        return sp.hstack([U, V], format="csr") if sp.issparse(U) else np.hstack([U, V])

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, _default_classifier)


def _default_classifier() -> LogisticRegression:
    return LogisticRegression(fit_intercept=False, tol=1e-8, max_iter=1000)


def _training_pairs(pairs: PairSet, max_pairs: int, rng: np.random.Generator) -> ListedPairs:
    """Stated pairs, and implied ones: all of them, or as many as are wanted, by weight."""
    stated = PairSet(pairs.n_items, listed=pairs.listed)
    implied = PairSet(pairs.n_items, implied=pairs.implied)
    if implied.n_pairs > max_pairs:
        weights = np.full(max_pairs, implied.total_weight / max_pairs)
        drawn = PairSampler(implied).draw(max_pairs, rng)
        implied = PairSet(pairs.n_items, listed=ListedPairs(*drawn, weights))
    return (stated + implied).to_listed()


def _reference(data: RankingData, n: int, rng: np.random.Generator) -> tuple[Any, Vector]:
    """Training rows to compare with, and weights that sum to 1."""
    rows = np.flatnonzero(data.sample_weight > 0)
    weights = data.sample_weight[rows] / data.sample_weight[rows].sum()
    if len(rows) > n:
        rows = np.sort(rng.choice(rows, n, p=weights))
        weights = np.full(n, 1.0 / n)
    return data.X[rows], weights
