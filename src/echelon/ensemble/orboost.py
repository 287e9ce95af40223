"""ORBoost: thresholded ensembles of weak learners, and their sibling on pairs, RankBoost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._utils.messages import require_choice
from .._utils.state import are_indices, require_state
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    LabelsLike,
    Matrix,
    RandomStateLike,
    Vector,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin
from ..base.rounds import check_weighted, take_rows
from ..base.validation import validate_inputs
from ..ordinal.arrays import LARGEST_SEED, require_count
from ..ordinal.costs import adjacent_weights, cost_matrix, threshold_weights
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import ProbabilityLink, decode, untilted_probabilities
from ..ordinal.thresholds import margins
from ..solvers.boosting.bins import bin_inputs, check_max_bins
from ..solvers.boosting.orboost import (
    Learner,
    Objective,
    PairObjective,
    Round,
    ThresholdObjective,
    boost,
)
from ..solvers.boosting.stumps import StepTable, sum_steps, tabulate
from ..solvers.boosting.weak_learners import (
    LinearMember,
    LinearSearch,
    StumpLearner,
    StumpMember,
    linear_scores,
)
from .staged_costs import StagedCostMixin

_CHOICES = {
    "variant": ("all", "left_right", "pairs"),
    "base": ("perceptron", "sigmoid", "stump"),
}


class ORBoost(StagedCostMixin, ThresholdModelMixin, BaseEstimator):
    """Boosting of perceptrons, sigmoids or stumps into one score with thresholds.

    Parameters
    ----------
    n_estimators : int, default=200
        Most rounds.
    variant : {"all", "left_right", "pairs"}, default="all"
        The exponential loss to descend: at all thresholds, weighted by `cost` (ORBoost-All); at
        the two thresholds next to the label (ORBoost-LR); or over all pairs of rows of different
        classes, with thresholds of least `cost` for the score that results (RankBoost-AE).
        "left_right" knows no costs, so that ``fit`` takes no `sample_cost` with it.
    base : {"perceptron", "sigmoid", "stump"}, default="perceptron"
        What to boost: planes through the inputs whose two sides say ±1, the same with a gradual
        passage from −1 to 1, or cuts of single inputs. Stumps accept missing values.
    learning_rate : float, default=1.0
        Factor of every weight, at most 1.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost that the loss bounds with "all", that the thresholds minimise with "pairs",
        and that ``score`` reports in every case.
    search_steps : int, default=50
        Directions that the search for a plane goes along; more make stronger learners.
    max_bins : int, optional
        Most bins of an input for stumps, 2 to 255; by default every cut is tried.
    n_iter_no_change : int, optional
        Stop when the cost on held-out rows has not fallen for so many rounds, and keep the rounds
        up to its least value; by default all rows train.
    validation_fraction : float, default=0.1
        Share of the rows to hold out; whole groups, or the latest rows, where `fit` is given groups
        or times.
    tol : float, default=0.0
        Least fall of the held-out cost that counts.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`. It may name levels that `y`
        lacks.
    n_jobs : int, optional
        Threads for stumps, as in joblib; results do not depend on it.
    verbose : int, default=0
        Above zero, print the loss now and then.
    random_state : int, RandomState or None, default=None
        For the directions of the search and for held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    estimators_ : list
        The T weak learners; each has ``predict(X)`` with values h in [−1, 1].
    estimator_weights_ : ndarray of shape (T,)
        v, not negative.
    thresholds_ : ndarray of shape (K−1,)
        Ascending; −∞ or +∞ where a class is never predicted.
    loss_ : ndarray of shape (T,)
        Loss after every round: the mean over rows of Σ_k W·exp(−margin), or the mean over pairs.
        It never rises. With "all" it is at least the mean cost on the training rows.
    feature_importances_ : ndarray of shape (d,)
        By weight v, the mean of each learner's shares: the input of a stump, or |w_j| times the
        standard deviation of input j.
    validation_costs_ : ndarray
        Mean cost on the held-out rows after every round that was run; only with
        `n_iter_no_change`.

    Notes
    -----
    The score is f = Σ_t v_t·h_t. With weights s of the rows and Z_ik = +1 where y_i lies above
    threshold k, −1 elsewhere, "all" and "left_right" minimise over f and ascending b

        Σ_i s_i Σ_k W[y_i, k] exp(−Z_ik (f(x_i) − b_k)),

    with W[y, k] = |cost[y, k+1] − cost[y, k]|, or 1 next to y and 0 elsewhere; "pairs" minimises
    Σ_{y_i > y_j} s_i·s_j·exp(−(f(x_i) − f(x_j))), in time linear in the rows. Each round takes the
    gradient in f, searches h along it, and steps to the least loss along h; thresholds have a
    closed form. See ``echelon.solvers.boosting`` (`orboost`, `weak_linear`).

    Planes are sought with inputs of mean 0 and variance 1, so the units of `X` do not matter.

    Probabilities are the link of the exponential loss, P(y > k) = 1/(1 + exp(−2(f − b_k))),
    corrected for the weights W; with "pairs", b are then the thresholds of the exponential loss for
    the final score. They grow too sure of themselves over many rounds.

    References
    ----------
    H.-T. Lin and L. Li, Large-Margin Thresholded Ensembles for Ordinal Regression: Theory and
    Practice, Algorithmic Learning Theory, 2006.
    L. Li, Perceptron Learning with Random Coordinate Descent, 2005.

    Examples
    --------
    >>> from echelon import ORBoost
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = ORBoost(100, random_state=0).fit(X, y)
    >>> bool(-model.score(X, y) <= model.loss_[-1] <= model.loss_[0])
    True
    """

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        variant: str = "all",
        base: str = "perceptron",
        learning_rate: float = 1.0,
        cost: CostLike = "absolute",
        search_steps: int = 50,
        max_bins: int | None = None,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 0.0,
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.variant = variant
        self.base = base
        self.learning_rate = learning_rate
        self.cost = cost
        self.search_steps = search_steps
        self.max_bins = max_bins
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.class_weight = class_weight
        self.classes = classes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(
        self, data: OrdinalData, sample_cost: Any, groups: Any = None, time: Any = None
    ) -> None:
        costs = self._read_costs(data, sample_cost)
        rng = check_random_state(self.random_state)
        rows, held = self._hold_out(data, rng, groups, time)
        held_out = None if held is None else _held_out_cost(take_rows(data, held), costs[held])
        train = take_rows(data, rows)
        costs = costs if rows is None else costs[rows]
        objective = self._objective(train, costs, by_row=sample_cost is not None)
        learner = self._learner(train)
        draws = np.random.default_rng(rng.randint(LARGEST_SEED))
        n, T, rate = len(train.codes), self.n_estimators, self.learning_rate
        found = boost(objective, learner, n, n_rounds=T, learning_rate=rate, rng=draws)
        rounds = self._grow(found, held_out, _figures)
        self._keep(rounds, objective, learner, train)

    def _check_parameters(self) -> None:
        self._check_rounds()
        require_count("search_steps", self.search_steps)
        if self.learning_rate > 1.0:
            raise ValueError(f"learning_rate must be at most 1; found {self.learning_rate!r}.")
        for name, choices in _CHOICES.items():
            require_choice(name, getattr(self, name), choices)
        check_max_bins(self.max_bins)

    def _read_costs(self, data: OrdinalData, sample_cost: Any) -> Matrix:
        if self.variant != "left_right":
            return data.costs(self.cost, sample_cost)
        if sample_cost is not None:
            raise ValueError(
                "sample_cost must be None with variant='left_right', whose loss knows no costs; "
                "choose 'all' or 'pairs'."
            )
        return cost_matrix(self.cost, data.n_classes)[data.codes]

    def _objective(self, data: OrdinalData, costs: Matrix, *, by_row: bool) -> Objective:
        if self.variant == "pairs":
            return PairObjective(data.codes, costs, data.sample_weight)
        if by_row:
            weights = threshold_weights(costs)
        elif self.variant == "all":
            weights = threshold_weights(cost_matrix(self.cost, data.n_classes))
        else:
            weights = adjacent_weights(data.n_classes)
        return ThresholdObjective(data.codes, weights, data.sample_weight, by_row=by_row)

    def _learner(self, data: OrdinalData) -> Learner:
        if self.base == "stump":
            bins = bin_inputs(data.X, check_max_bins(self.max_bins), data.sample_weight)
            return StumpLearner(bins, effective_n_jobs(self.n_jobs))
        return LinearSearch(
            data.X, data.sample_weight, steps=self.search_steps, soft=self.base == "sigmoid"
        )

    def _keep(
        self, rounds: list[Round], objective: Objective, learner: Learner, data: OrdinalData
    ) -> None:
        self.estimators_ = [found.member for found in rounds]
        self.estimator_weights_ = np.array([found.weight for found in rounds])
        self.loss_ = np.exp([found.log_loss for found in rounds])
        self._staged_thresholds = [found.thresholds for found in rounds]
        nothing = np.zeros(len(data.codes))
        self.thresholds_ = (rounds[-1] if rounds else objective.at(nothing)).thresholds
        shares = np.zeros(self.n_features_in_)
        for member, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            shares += weight * learner.importances(member)
        self.feature_importances_ = shares / max(self.estimator_weights_.sum(), 1e-300)
        self.__dict__.pop("_tables", None)
        self._link_thresholds = objective.link_thresholds(self._scores(data.X))
        self._link_weights = objective.link_weights()

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if not hasattr(self, "estimators_"):
            return
        check_weighted(self.estimators_, self.estimator_weights_)
        for member in self.estimators_:
            require_state(isinstance(member, LinearMember | StumpMember), "a member is none")
            if isinstance(member, StumpMember):
                of_inputs = are_indices([member.stump.feature], self.n_features_in_)
                require_state(of_inputs, "one of its members looks at a feature that is none")

    @cached_property
    def _tables(self) -> list[StepTable] | None:
        """The score as a step function of each input; None unless all members are stumps."""
        if not all(isinstance(member, StumpMember) for member in self.estimators_):
            return None
        return tabulate([member.stump for member in self.estimators_], self.estimator_weights_)

    def _scores(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self._tables is None:
            return linear_scores(self.estimators_, self.estimator_weights_, X)
        votes = sum_steps(self._tables, X, 1)[:, 0]
        return np.asarray(2.0 * votes - self.estimator_weights_.sum())

    def _latent(self, X: Any) -> npt.NDArray[np.float64]:
        return self._scores(validate_inputs(self, X))

    def _probabilities(self, X: Any) -> Matrix:
        above = expit(2.0 * margins(self._latent(X), self._link_thresholds))
        return untilted_probabilities(above, self._link_weights)

    def _staged_codes(self, X: Any) -> Iterator[Codes]:
        check_is_fitted(self)
        add = _stages(validate_inputs(self, X))
        rounds = zip(
            self.estimators_, self.estimator_weights_, self._staged_thresholds, strict=True
        )
        for member, weight, thresholds in rounds:
            yield add(member, weight, thresholds)

    def step_tables(self) -> list[StepTable] | None:
        """The model as a step function of each input; None unless it is made of stumps."""
        check_is_fitted(self)
        return self._tables

    def probability_link(self) -> ProbabilityLink:
        """How latent scores become probabilities, see `predict_proba`."""
        check_is_fitted(self)
        return ProbabilityLink(self._link_weights, self._link_thresholds)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.base == "stump"
        return tags


def _figures(rounds: list[Round]) -> str:
    return f"loss {np.exp(rounds[-1].log_loss):.6g}"


def _stages(X: Matrix) -> Callable[[Any, float, Vector], Codes]:
    """Adds a member with its weight to the score of rows; their codes by the new thresholds."""
    scores = np.zeros(len(X))

    def add(member: Any, weight: float, thresholds: Vector) -> Codes:
        np.add(scores, weight * member.predict(X), out=scores)
        return decode(margins(scores, thresholds))

    return add


def _held_out_cost(data: OrdinalData, costs: Matrix) -> Callable[[Round], float]:
    """The mean cost on held-out rows with one more member."""
    add = _stages(data.X)

    def cost(found: Round) -> float:
        codes = add(found.member, found.weight, found.thresholds)
        paid = costs[np.arange(len(codes)), codes]
        return float(np.average(paid, weights=data.sample_weight))

    return cost
