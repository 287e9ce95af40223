"""RankBoost: boosting of thresholds on single inputs, or of any estimator, for rankings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from .._utils.messages import require_choice, warn_caller
from .._utils.state import are_indices, require_state
from .._utils.types import (
    EstimatorLike,
    Index,
    KeysLike,
    LabelsLike,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import RankerMixin
from ..base.nested import fit_weighted, seed
from ..base.pair_explanations import PairTerm
from ..base.rounds import HeldOutPairs, RoundsMixin, check_weighted, hold_out_pairs
from ..base.validation import RankingData, one_column, validate_inputs
from ..metrics.ranking import pairwise_accuracy
from ..metrics.scorers import as_ranking_scorer
from ..ordinal.labels import read_relevance
from ..pairs.pair_set import laid_out_rows
from ..solvers.boosting.bins import check_max_bins
from ..solvers.boosting.stumps import StepTable, sum_steps
from ..solvers.ranking.rank_boost import LOSSES, STEPS, Learner, Round, boost, objective
from ..solvers.ranking.rank_boost_stumps import (
    MISSING,
    Answers,
    RankStump,
    RankStumpSearch,
    bin_rows,
    read_answers,
    tabulate_rankers,
)

# Attributes that only some fits set.
_SOMETIMES = (
    "estimators_",
    "features_",
    "thresholds_",
    "directions_",
    "missing_values_",
    "smooth_margins_",
)


class RankBoost(RoundsMixin, RankerMixin, BaseEstimator):
    """Boosting for rankings: a weighted sum of base rankers [MRT18].

    A base ranker says 1 or 0 of a row: whether one input lies above a threshold, or not above it.
    Every round adds the one that best puts the pairs in order that are still in doubt.

    Parameters
    ----------
    n_estimators : int, default=100
        Most rounds.
    step : {"exact", "book"}, default="exact"
        How much weight α a base ranker h gets. "exact" minimises the loss along h; for h in {0, 1}
        that is [MRT18] figure 10.1, α = ½ ln(ε⁺/ε⁻) with the weights ε± of the pairs that h puts
        in order and in the wrong order. "book" is figure 10.2 as printed where every query has two
        labels: ½ ln(ε⁺/ε⁻) with ε± the means of h over winners and over losers, which is a shorter
        step; elsewhere it is the exact one.
    loss : {"exponential", "logistic", "smooth_margin"}, default="exponential"
        What is descended: Σ e^{−m} over pairs with m = f(winner) − f(loser), Σ ln(1 + e^{−m}), or,
        as soon as Σ e^{−m} < 1, the smooth margin −ln(Σ e^{−m})/Σ|α|, which is ascended. Weights of
        pairs with a mean below one are raised to a mean of one for it.
    max_bins : int or None, default=255
        Most bins of an input, 2 to 255; with None every threshold is tried.
    learning_rate : float, default=1.0
        Factor of every α.
    estimator : estimator, optional
        Base ranker to use instead of thresholds: a classifier or regressor whose ``fit`` takes
        ``sample_weight``. With π_i the weight of the pairs that row i wins less that of those it
        loses, it is fitted on the target [π_i > 0] with weights |π_i|; h(x) is its probability of
        1, or its decision value, or its prediction.
    missing : {"best_side", "abstain"}, default="best_side"
        What a threshold says of a missing input: 0 or 1, whichever is better for the pairs, or ½.
        An input that was never missing in ``fit`` gives ½ either way.
    n_iter_no_change : int, optional
        Stop when the score of held-out pairs has not risen for so many rounds, and keep the rounds
        up to its best; by default all pairs train.
    validation_fraction : float, default=0.1
        Share to hold out: of the queries where there are several, else of the rows; and of stated
        pairs.
    scoring : str or callable, optional
        Score of the rows held out: the name of a ranking scorer such as "ndcg@5", a metric
        ``scoring(y, scores, qid=qid)``, or a scorer by ``make_ranking_scorer``. By default the
        share of held-out pairs in order.
    tol : float, default=0.0
        Least rise of the held-out score that counts.
    n_jobs : int, optional
        Threads over inputs, as in joblib; results do not depend on it.
    random_state : int, RandomState or None, default=None
        For what is held out and for the ``random_state`` of `estimator`.
    verbose : int, default=0
        Above zero, print edge and bound now and then.

    Attributes
    ----------
    n_estimators_ : int
        T, the number of base rankers.
    features_, thresholds_, directions_, missing_values_ : ndarray of shape (T,)
        The base rankers: [x > θ] for direction 1, [x ≤ θ] for −1, and what is said of a missing
        input. θ = −∞ asks whether there is a value at all. Not with `estimator`.
    estimators_ : list
        The fitted base rankers; only with `estimator`.
    estimator_weights_ : ndarray of shape (T,)
        α of every round.
    edges_ : ndarray of shape (T,)
        ε⁺ − ε⁻ of every round under the weights of its pairs.
    normalizers_ : ndarray of shape (T,)
        Z of every round, the share of the loss that it leaves.
    bound_ : ndarray of shape (T,)
        Certificate, theorem 10.3: after t rounds the share of the training pairs in the wrong
        order or level is at most ``bound_[t-1]`` = Π Z.
    train_loss_ : ndarray of shape (T,)
        Mean loss of a training pair after every round.
    smooth_margins_ : ndarray of shape (T,)
        −ln(Σ e^{−m})/Σ|α| after every round, with the weights that `loss` speaks of; only with
        ``loss="smooth_margin"``.
    feature_importances_ : ndarray of shape (d,)
        Share of each input in the fall of the logarithm of the loss; not with `estimator`.
    validation_scores_ : ndarray
        Held-out score after every round that was run; only with `n_iter_no_change`.

    Warns
    -----
    ConvergenceWarning
        If no base ranker is better than none, so that all scores are zero.

    Notes
    -----
    Pairs that follow from labels are never listed: their weights are products of factors of rows,
    and a round takes time in proportion to rows times inputs whatever the number of labels.

    Boosting ends early at a base ranker that puts all pairs in order, which then gets more weight
    than all others together, and where none has an edge. A base ranker without error that leaves
    some pairs level would get an infinite α; it gets 11.5 instead, over the spread of its values.

    Examples
    --------
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = RankBoost(50).fit(X, y)
    >>> bool(1 - model.score(X, y) <= model.bound_[-1])
    True
    """

    _validation_figures = "validation_scores_"
    _greater_is_better = True

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        step: str = "exact",
        loss: str = "exponential",
        max_bins: int | None = 255,
        learning_rate: float = 1.0,
        estimator: EstimatorLike | None = None,
        missing: str = "best_side",
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        scoring: str | Callable[..., Any] | None = None,
        tol: float = 0.0,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.loss = loss
        self.max_bins = max_bins
        self.learning_rate = learning_rate
        self.estimator = estimator
        self.missing = missing
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, data: RankingData) -> None:
        rng = check_random_state(self.random_state)
        train, held = data.pairs, None
        if self.n_iter_no_change is not None:
            train, kept_back = hold_out_pairs(data.pairs, self.validation_fraction, rng)
            held = HeldOutPairs(data, kept_back, self.scoring)
        step = self.step if train.kind == "bipartite" else "exact"
        same = np.ptp(data.sample_weight) == 0.0
        inputs, weights = data.X, None if same else data.sample_weight
        # What is not needed any more is let go first: with many rows it is most of the memory.
        del data
        learn = self._learner(inputs, laid_out_rows(train)[0], weights, rng)
        del inputs, weights
        state = objective(self.loss, train)
        del train
        start = state.log_total
        found = boost(
            learn,
            state,
            n_rounds=self.n_estimators,
            loss=self.loss,
            step=step,
            learning_rate=self.learning_rate,
        )
        rounds = self._grow(found, None if held is None else _held_out_score(held), _figures)
        if not rounds:
            warn_caller(
                "No base ranker puts more pairs in order than in the wrong order, so all scores "
                "are zero; look for inputs that tell winners from losers.",
                ConvergenceWarning,
            )
        self._store(rounds, start)
        # Made here, so that a prediction leaves the model as it is.
        self.step_tables()

    def _learner(
        self,
        X: Any,
        rows: Index,
        weights: Vector | None,
        rng: np.random.RandomState,
    ) -> Learner:
        if self.estimator is not None:
            return BaseRankers(self.estimator, X, rows, rng)
        bins = bin_rows(X, rows, check_max_bins(self.max_bins), weights)
        return RankStumpSearch(bins, self.missing, effective_n_jobs(self.n_jobs))

    def _check_parameters(self) -> None:
        self._check_rounds()
        check_max_bins(self.max_bins)
        for name, known in (("step", STEPS), ("loss", LOSSES), ("missing", MISSING)):
            require_choice(name, getattr(self, name), known)
        if self.step == "book" and self.loss != "exponential":
            raise ValueError(
                f"step='book' belongs to loss='exponential'; found loss={self.loss!r}, which "
                "takes step='exact'."
            )
        if self.scoring is not None:
            if self.n_iter_no_change is None:
                raise ValueError(
                    "scoring decides when to stop and needs n_iter_no_change; found None there."
                )
            as_ranking_scorer(self.scoring)

    def _store(self, rounds: list[Round], log_start: float) -> None:
        for name in (*_SOMETIMES, "_rankers", "_tables"):
            self.__dict__.pop(name, None)
        rankers = [found.ranker for found in rounds]
        self.n_estimators_ = len(rounds)
        self.estimator_weights_ = np.array([found.weight for found in rounds])
        self.edges_ = np.array([found.edge for found in rounds])
        self.normalizers_ = np.array([found.normalizer for found in rounds])
        self.bound_ = np.cumprod(self.normalizers_)
        self.train_loss_ = self.bound_ * (np.log(2.0) if self.loss == "logistic" else 1.0)
        if self.loss == "smooth_margin":
            log_loss = log_start + np.cumsum(np.log(self.normalizers_))
            self.smooth_margins_ = -log_loss / np.cumsum(np.abs(self.estimator_weights_))
        if self.estimator is not None:
            self.estimators_ = rankers
            return
        columns = ("feature", "threshold", "direction", "missing")
        found = [[getattr(stump, name) for stump in rankers] for name in columns]
        self.features_ = np.array(found[0], dtype=np.intp)
        self.thresholds_ = np.array(found[1], dtype=np.float64)
        self.directions_ = np.array(found[2], dtype=np.intp)
        self.missing_values_ = np.array(found[3], dtype=np.float64)

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        if not hasattr(self, "estimator_weights_"):
            return
        check_weighted(self._rankers, self.estimator_weights_)
        if not hasattr(self, "estimators_"):
            of_inputs = are_indices(self.features_, self.n_features_in_)
            require_state(of_inputs, "one of its members looks at a feature that is none")

    @cached_property
    def _rankers(self) -> list[Any]:
        """The base rankers: thresholds on inputs, or fitted copies of `estimator`."""
        if hasattr(self, "estimators_"):
            return self.estimators_
        columns = (self.features_, self.thresholds_, self.directions_, self.missing_values_)
        return [RankStump(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]

    @cached_property
    def _tables(self) -> list[StepTable] | None:
        """The score as a step function of each input; None with `estimator`."""
        if hasattr(self, "estimators_"):
            return None
        return tabulate_rankers(self._rankers, self.estimator_weights_)

    def _scores(self, X: Any) -> Vector:
        if self._tables is not None:
            return sum_steps(self._tables, X, 1)[:, 0]
        last = deque(self._staged_scores(X), maxlen=1)
        return last[0] if last else np.zeros(X.shape[0])

    def staged_predict(self, X: MatrixLike) -> Iterator[Vector]:
        """Scores after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self)
        yield from self._staged_scores(validate_inputs(self, X))

    def _staged_scores(self, X: Any) -> Iterator[Vector]:
        scores = np.zeros(X.shape[0])
        for member, weight in zip(self._rankers, self.estimator_weights_, strict=True):
            scores = scores + weight * member_answers(member, X)
            yield scores

    def staged_score(
        self,
        X: MatrixLike,
        y: LabelsLike,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Iterator[float]:
        """Share of pairs in the right order after each round, as ``score`` has it.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        qid : sequence of shape (n,), optional
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        score : float
        """
        relevance = read_relevance(one_column(y))
        for scores in self.staged_predict(X):
            yield pairwise_accuracy(relevance, scores, qid=qid, sample_weight=sample_weight)

    def margin_bound(self, rho: float) -> Vector:
        """Bound on the share of training pairs with small margins, after each round.

        The margin of a pair is (f(winner) − f(loser))/Σ|α|. As for AdaBoost, a loss that falls with
        the margin bounds it ([MRT18] exercise 10.3): with the exponential loss the share of pairs
        whose margin is at most ρ is at most Π Z·e^{ρ|α|}, which is ``bound_`` for ρ = 0.

        Parameters
        ----------
        rho : float
            ρ, not negative.

        Returns
        -------
        bound : ndarray of shape (T,)
        """
        check_is_fitted(self)
        if not rho >= 0.0:
            raise ValueError(f"rho must be a number that is not negative; found {rho!r}.")
        reach = rho * np.cumsum(np.abs(self.estimator_weights_))
        if self.loss == "logistic":
            return self.train_loss_ / np.logaddexp(0.0, -reach)
        return np.exp(np.cumsum(np.log(self.normalizers_)) + reach)

    @property
    def feature_importances_(self) -> Vector:
        """Share of each input in the fall of the logarithm of the loss."""
        check_is_fitted(self)
        if self._tables is None:
            raise AttributeError(
                "feature_importances_ is there for thresholds on inputs only, not with estimator."
            )
        fall = np.zeros(self.n_features_in_)
        np.add.at(fall, self.features_, -np.log(self.normalizers_))
        total = fall.sum()
        return fall / total if total > 0.0 else fall

    def _pair_terms(self, a: Vector, b: Vector) -> list[PairTerm]:
        if self._tables is None:
            return super()._pair_terms(a, b)
        names = self._input_names()
        return stump_terms(self._rankers, self.estimator_weights_, names, a, b)

    def step_tables(self) -> list[StepTable] | None:
        """The score as a step function of each input; None with `estimator`."""
        check_is_fitted(self)
        return self._tables

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan = True if inner is None else inner.allow_nan
        tags.input_tags.sparse = False if inner is None else inner.sparse
        return tags


def _held_out_score(held: HeldOutPairs) -> Callable[[Round], float]:
    """The score of the held-out pairs with one more base ranker."""
    return lambda found: held.add(found.weight * member_answers(found.ranker, held.X))


def _figures(rounds: list[Round]) -> str:
    bound = float(np.prod([found.normalizer for found in rounds]))
    return f"edge {rounds[-1].edge:.4f}, bound {bound:.4g}"


class BaseRankers:
    """Fits an estimator to the weights π of rows: its target is [π > 0], its weights are |π|.

    Parameters
    ----------
    estimator : estimator
        Cloned for every round.
    X : array or sparse matrix of shape (n, d)
    rows : ndarray of shape (m,)
        Rows that have weights, in their order.
    rng : RandomState
        For the estimator's ``random_state``.
    """

    def __init__(
        self, estimator: Any, X: Any, rows: npt.NDArray[np.intp], rng: np.random.RandomState
    ) -> None:
        self._estimator = estimator
        self._X = _safe_indexing(X, rows)
        self._rng = rng

    def __call__(self, weights: Vector) -> tuple[Any, Answers]:
        """The estimator fitted to the weights, and its answers for the rows."""
        known = weights != 0.0
        X = self._X if known.all() else self._X[known]
        # The weights have a mean of one, as if no row had any.
        sizes = np.abs(weights[known])
        member = seed(clone(self._estimator), self._rng)
        fit_weighted(member, X, (weights[known] > 0).astype(np.intp), sizes / sizes.mean())
        return member, read_answers(member_answers(member, self._X))


def member_answers(member: Any, X: Any) -> Vector:
    """What a base ranker says of rows: a probability of 1, a decision value or a prediction."""
    if isinstance(member, RankStump):
        return member.answers(X)
    if is_classifier(member):
        if hasattr(member, "predict_proba"):
            probabilities = np.asarray(member.predict_proba(X), dtype=np.float64)
            return np.ascontiguousarray(probabilities[:, -1])
        if hasattr(member, "decision_function"):
            return np.asarray(member.decision_function(X), dtype=np.float64).reshape(-1)
    return np.asarray(member.predict(X), dtype=np.float64).reshape(-1)


def stump_terms(
    stumps: Sequence[RankStump], weights: Vector, names: list[str], a: Vector, b: Vector
) -> list[PairTerm]:
    """Parts of the difference of two scores, one for every condition that occurs."""
    parts: dict[str, PairTerm] = {}
    both = np.array([a, b])
    for stump, weight in zip(stumps, weights, strict=True):
        j = stump.feature
        name = stump.condition(names[j])
        of_a, of_b = stump.answers(both)
        before = parts[name].contribution if name in parts else 0.0
        part = before + float(weight * (of_a - of_b))
        parts[name] = PairTerm(name, part, float(a[j]), float(b[j]))
    return list(parts.values())
