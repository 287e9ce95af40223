"""AdaBoost.OR: boosting of any learner of ordered labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._utils.messages import warn_caller
from .._utils.state import require_state
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    EstimatorLike,
    LabelsLike,
    Matrix,
    RandomStateLike,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import SignedLearnerMixin
from ..base.nested import clone_or, inherit_input_tags, know_all_levels, member_ranks
from ..base.rounds import check_weighted, take_rows
from ..base.validation import validate_inputs
from ..ordinal.arrays import require_positive
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import (
    ProbabilityLink,
    VoteTally,
    decode,
    untilted_probabilities,
    vote_margins,
)
from ..solvers.boosting.adaboost_or import Learner, Round, boost, share_of_wrong_sides
from ..solvers.boosting.stumps import StepTable, cheapest_rank, side_weights, sum_steps, tabulate
from ..tree import ORStump
from .cost_learner import (
    ConstantRanker,
    Setting,
    choose_conversion,
    cost_member,
    signed_member,
    weakest_good_one,
)
from .staged_costs import StagedCostMixin

_BLOCK = 2**16


class AdaBoostOR(StagedCostMixin, BaseEstimator):
    """Boosting for ordered labels: rankers trained on costs, joined by a weighted median [LL09].

    Parameters
    ----------
    estimator : estimator, default=ORStump()
        The ranker to boost: any ordinal estimator, classifier or regressor. It is fitted on ranks
        0 … K−1, and reads the inputs as they are.
    n_estimators : int, default=100
        Most rounds.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost to minimise. Only ratios of its entries matter.
    learning_rate : float, default=1.0
        Factor of every ranker's weight.
    conversion : {"auto", "cost", "weight", "resample"}, default="auto"
        How costs reach the ranker: as ``sample_cost``; as ``sample_weight``, where an example
        weighs as much as its greatest cost; or by drawing examples with these weights. "auto" is
        the first of them that the ranker's ``fit`` accepts.
    capacity : dict, optional
        One parameter of the ranker and its values from weak to strong, as ``{"C": [0.01, 1.0]}``.
        Each round takes the first value whose error is at most `target_error`, or else the value
        of least error. [LL09] chooses the C of a support vector machine like this.
    target_error : float, default=0.3
        Error ε that is good enough with `capacity`.
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
        The labels from lowest to highest; by default read from `y`.
    n_jobs : int, optional
        Threads for stumps and trees, as in joblib; results do not depend on it.
    verbose : int, default=0
        Above zero, print the error and the bound now and then.
    random_state : int, RandomState or None, default=None
        For held-out rows, drawn examples and the ranker's own ``random_state``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    estimators_ : list
        The rankers; their labels are ranks 0 … K−1.
    estimator_errors_ : ndarray of shape (T,)
        ε of every round: the share of the cost, under the costs of that round, that the ranker
        pays of what both ends of the scale would pay together.
    estimator_weights_ : ndarray of shape (T,)
        v of every round.
    bound_ : ndarray of shape (T,)
        Certificate, theorem 6: the training cost of the first t rankers is at most ``bound_[t-1]``
        times the cost Σ (c[1] + c[K]) of both ends of the scale.
    feature_importances_ : ndarray of shape (d,)
        Mean of the rankers' importances by weight, where they have any.
    validation_costs_ : ndarray
        Mean cost on the held-out rows after every round that was run; only with
        `n_iter_no_change`.

    Warns
    -----
    ConvergenceWarning
        If already the first ranker is worse than the best constant one, which then stands alone.

    Notes
    -----
    Algorithm 2 of [LL09], in the reduced form of ``echelon.solvers.boosting.adaboost_or``. Boosting
    ends early when a ranker makes no error, and then this ranker decides, or when its error
    reaches ½.

    Probabilities are the link of the exponential loss that boosting descends: with
    F_k = Σ_t v_t·(±1 for votes above and not above k), P(y > k) = 1/(1 + exp(−2F_k)), corrected for
    the weights that a cost other than the absolute one gives to the thresholds. They grow too sure
    of themselves over many rounds.

    An ensemble of stumps is a sum of step functions of single features and is evaluated as such.

    Examples
    --------
    >>> from echelon import AdaBoostOR
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = AdaBoostOR(n_estimators=50).fit(X, y)
    >>> cost_of_ends = len(y) * (len(model.classes_) - 1)
    >>> bool(-model.score(X, y) * len(y) <= model.bound_[-1] * cost_of_ends)
    True
    """

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        n_estimators: int = 100,
        *,
        cost: CostLike = "absolute",
        learning_rate: float = 1.0,
        conversion: str = "auto",
        capacity: Mapping[str, Sequence[Any]] | None = None,
        target_error: float = 0.3,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 0.0,
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.cost = cost
        self.learning_rate = learning_rate
        self.conversion = conversion
        self.capacity = capacity
        self.target_error = target_error
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
        ranker = clone_or(self.estimator, ORStump)
        rng = check_random_state(self.random_state)
        train, held = self._hold_out(data, rng, groups, time)
        # Inputs are prepared before the weights exist: both at once would take more memory.
        know_all_levels(ranker, data.n_classes)
        kept = take_rows(data, train)
        learn = self._learner(ranker, kept, rng)
        V = data.signed_weights(self.cost, sample_cost)
        self._link_weights = data.link_weights(self.cost, sample_cost)
        held_out = None if held is None else _held_out_cost(take_rows(data, held), V[held])
        rounds = self._boost(learn, kept, V if train is None else V[train], held_out)
        self.estimators_ = [r.ranker for r in rounds]
        self.estimator_errors_ = np.array([r.error for r in rounds])
        self.estimator_weights_ = np.array([r.weight for r in rounds])
        self.bound_ = np.array([r.bound for r in rounds])
        self.__dict__.pop("_tables", None)
        # Made here, so that a prediction leaves the model as it is.
        self.step_tables()

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if not hasattr(self, "estimators_"):
            return
        check_weighted(self.estimators_, self.estimator_weights_)
        K, width = len(self.classes_), self.n_features_in_
        for member in self.estimators_:
            # Their inputs are not looked at again when they are asked.
            if isinstance(member, SignedLearnerMixin):
                fits = member.n_features_in_ == width and len(member.classes_) == K
                require_state(fits, "one of its members is of other inputs or labels")

    @cached_property
    def _tables(self) -> list[StepTable] | None:
        """The votes as a step function of each input; None unless all members are stumps."""
        if not all(isinstance(member, ORStump) for member in self.estimators_):
            return None
        return tabulate([member._stump for member in self.estimators_], self.estimator_weights_)

    def _check_parameters(self) -> None:
        self._check_rounds()
        require_positive("target_error", self.target_error)
        if self.capacity is not None and not _is_capacity(self.capacity):
            raise ValueError(
                "capacity must be a dict with one parameter of the estimator and its values from "
                f"weak to strong; found {self.capacity!r}."
            )
        # A ranker that learns from signed weights is given inputs that were checked once.
        ranker = clone_or(self.estimator, ORStump)
        self._reads_numbers = (
            isinstance(ranker, SignedLearnerMixin)
            and choose_conversion(self.conversion, ranker) == "cost"
            and (self.capacity is None or set(self.capacity) <= ranker._free_parameters)
        )

    def _learner(self, ranker: Any, data: OrdinalData, rng: np.random.RandomState) -> Learner:
        settings: list[Setting] = [{}]
        if self.capacity is not None:
            ((name, values),) = self.capacity.items()
            settings = [{name: value} for value in values]
        if self._reads_numbers:
            fit = signed_member(ranker, data, effective_n_jobs(self.n_jobs), rng)
        else:
            fit = cost_member(ranker, data, choose_conversion(self.conversion, ranker), rng)
        return lambda V: weakest_good_one(fit, settings, V, self.target_error)

    def _boost(
        self,
        learn: Learner,
        data: OrdinalData,
        V: Matrix,
        held_out: Callable[[Round], float] | None,
    ) -> list[Round]:
        total = float(side_weights(V).sum())
        if total == 0.0:
            # Nothing costs anything, so the weighted median of the labels is as good as any rank.
            mass = np.bincount(data.codes, data.sample_weight, minlength=data.n_classes)
            rank = int(np.searchsorted(np.cumsum(mass), 0.5 * mass.sum()))
            middle = Round(ConstantRanker(rank), 0.0, 1.0, 0.0)
            return self._grow([middle], None, _figures)
        # The mean of the weights does not depend on the unit of the costs.
        V *= float(data.sample_weight.sum()) * V.shape[1] / total
        found = boost(
            learn,
            V,
            n_rounds=self.n_estimators,
            learning_rate=self.learning_rate,
            n_threads=effective_n_jobs(self.n_jobs),
        )
        return self._grow(found, held_out, _figures) or self._only_a_constant(V)

    def _only_a_constant(self, V: Matrix) -> list[Round]:
        rank = cheapest_rank(V.sum(axis=0))
        constant = ConstantRanker(rank), np.full(len(V), rank)
        warn_caller(
            "The first ranker was no better than giving all rows to one end of the scale, so the "
            "best constant rank stands alone; choose a stronger estimator.",
            ConvergenceWarning,
        )
        return list(boost(lambda _: constant, V, n_rounds=1)) or [Round(constant[0], 0.5, 1.0, 1.0)]

    def _margins(self, X: Any) -> npt.NDArray[np.float64]:
        if self._tables is None:
            *_, tally = self._tallies(self._inputs(X))
            return tally.margins()
        margins = sum_steps(self._tables, validate_inputs(self, X), len(self.classes_) - 1)
        total = self.estimator_weights_.sum()
        # In pieces and in place, for the memory of many rows.
        for start in range(0, len(margins), _BLOCK):
            block = margins[start : start + _BLOCK]
            block[:] = vote_margins(block, total)
        return margins

    def _tallies(self, X: Any) -> Iterator[VoteTally]:
        """The votes after each round; the same object every time."""
        tally = VoteTally(_num_samples(X), len(self.classes_))
        for member, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            tally.add(member_ranks(member, X, len(self.classes_)), weight)
            yield tally

    def _staged_codes(self, X: Any) -> Iterator[Codes]:
        check_is_fitted(self)
        for tally in self._tallies(self._inputs(X)):
            yield decode(tally.margins())

    def _probabilities(self, X: Any) -> Matrix:
        votes = self._margins(X) * self.estimator_weights_.sum()
        # Votes above k fall in k; sums of votes can miss that by rounding.
        above = np.minimum.accumulate(expit(2.0 * votes), axis=1)
        return untilted_probabilities(above, self._link_weights)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Mean of the rankers' importances by weight."""
        check_is_fitted(self)
        importances = [member.feature_importances_ for member in self.estimators_]
        return np.average(importances, axis=0, weights=self.estimator_weights_)

    def step_tables(self) -> list[StepTable] | None:
        """The model as a step function of each input; None unless it is made of stumps."""
        check_is_fitted(self)
        return self._tables

    def probability_link(self) -> ProbabilityLink:
        """How votes become probabilities, see `predict_proba`."""
        check_is_fitted(self)
        return ProbabilityLink(self._link_weights, np.zeros(len(self.classes_) - 1))

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, ORStump)


def _figures(rounds: list[Round]) -> str:
    return f"error {rounds[-1].error:.4f}, bound {rounds[-1].bound:.4f}"


def _held_out_cost(data: OrdinalData, V: Matrix) -> Callable[[Round], float]:
    """The mean cost on held-out rows with the votes of one more ranker."""
    unit = float(side_weights(V).sum() / data.sample_weight.sum())
    n_classes = V.shape[1] + 1
    tally = VoteTally(len(V), n_classes)

    def cost(found: Round) -> float:
        tally.add(member_ranks(found.ranker, data.X, n_classes), found.weight)
        return share_of_wrong_sides(V, decode(tally.margins())) * unit

    return cost


def _is_capacity(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    (values,) = value.values()
    return hasattr(values, "__len__") and len(values) > 0
