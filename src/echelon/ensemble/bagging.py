"""Bagging of any learner of ordered labels; with trees, an ordinal random forest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from .._utils.messages import warn_caller
from .._utils.state import are_indices, require_state
from .._utils.types import (
    ClassWeightLike,
    CostLike,
    EstimatorLike,
    Index,
    LabelsLike,
    Matrix,
    RandomStateLike,
    Vector,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import CostSensitiveMixin, ProbabilityMixin, SignedLearnerMixin, squeeze_margins
from ..base.nested import (
    clone_or,
    fit_weighted,
    inherit_input_tags,
    know_all_levels,
    member_ranks,
    seed,
)
from ..base.reading import proper_probabilities
from ..ordinal.arrays import LARGEST_SEED, count_of, require_count
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import VoteTally, decode
from ..solvers.boosting.bins import BinnedInputs, bin_inputs, check_max_bins
from ..solvers.boosting.ordinal_tree import TreeLearner
from ..tree.tree import ORTree

# Rows that one thread sends through all trees.
_BLOCK = 2**14


class OrdinalBagging(CostSensitiveMixin, ProbabilityMixin, BaseEstimator):
    """Many rankers, each fitted on rows drawn at random, that vote for the median rank.

    With trees, the default, this is a random forest for ordered labels.

    Parameters
    ----------
    estimator : estimator, default=ORTree(max_features=0.5)
        The ranker: any ordinal estimator, classifier or regressor. It is fitted on ranks 0 … K−1;
        the predictions of a regressor are rounded. It is given the inputs as they are, and must
        accept ``sample_cost`` if ``fit`` is given it. Class probabilities are the mean of the
        rankers'; a ranker without any votes for one class.
    n_estimators : int, default=100
        Number of rankers.
    max_samples : int or float, default=1.0
        Rows drawn for each ranker: so many, or such a share of the rows that have weight.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement, in proportion to their weight. Otherwise each is
        drawn at most once, any row as likely as any other, and keeps its weight.
    max_features : int or float, default=1.0
        Columns drawn for each ranker: so many, or such a share.
    oob_score : bool, default=False
        Whether to predict each row by the rankers that were fitted without it.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost. It replaces that of a ranker that has a parameter of this name.
    class_weight : "balanced" or dict from label to weight, optional
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.
    n_jobs : int, optional
        Threads for trees, and what joblib takes for other rankers; results do not depend on it.
    verbose : int, default=0
        Above zero, print how many rankers are fitted now and then.
    random_state : int, RandomState instance, optional
        For the rows and columns and the rankers' own ``random_state``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    estimators_ : list
        The rankers; their labels are ranks 0 … K−1.
    estimators_features_ : list of ndarray
        The columns of each ranker.
    feature_importances_ : ndarray of shape (d,)
        Mean of the rankers' importances, where all have them.
    oob_score_ : float
        Negative mean cost of the predictions of rows by rankers fitted without them; this and the
        next two only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n, K−1), or (n,) for two classes
        Margins of these predictions; NaN for a row that every ranker was fitted with.
    oob_probabilities_ : ndarray of shape (n, K)
        Probabilities of these predictions.

    Warns
    -----
    UserWarning
        If `oob_score` is set and some row was drawn for every ranker; the others make the score.

    Notes
    -----
    The label lies above threshold k if at least half of the rankers say so, which is the (upper)
    median of their ranks: (6) and (7) of [LL09], equal by its theorem 4. For two classes this is
    the vote of the majority. Probabilities are means of the rankers', or shares of the votes where
    a ranker has none, and their median may differ from the prediction.

    Drawing in proportion to the weights makes their unit irrelevant. It also means that a weight of
    two is like two rows only on average.

    Trees on the same inputs are grown from one table of bins. Cuts lie in the middle of the values
    of all training rows, not only of those drawn.

    Examples
    --------
    >>> from echelon import OrdinalBagging
    >>> from echelon.datasets import load_lev
    >>> X, y = load_lev(return_X_y=True)
    >>> forest = OrdinalBagging(oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > -0.45)
    True
    """

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        n_estimators: int = 100,
        *,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        max_features: float = 1.0,
        oob_score: bool = False,
        cost: CostLike = "absolute",
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.oob_score = oob_score
        self.cost = cost
        self.class_weight = class_weight
        self.classes = classes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require_count("n_estimators", self.n_estimators)
        # Only trees share inputs that were checked once.
        self._reads_numbers = self.estimator is None or type(self.estimator) is ORTree

    def _learn(self, data: OrdinalData, sample_cost: Any) -> None:
        # What an earlier fit left and this one may not set.
        for name in ("oob_score_", "oob_decision_function_", "oob_probabilities_"):
            self.__dict__.pop(name, None)
        ranker = clone_or(self.estimator, lambda: ORTree(max_features=0.5))
        draws = self._draws(data)
        if "cost" in ranker.get_params(deep=False):
            ranker.set_params(cost=self.cost)
        task: Any
        if self._reads_numbers:
            # The weights of a draw come in place of the sample weights.
            unit = replace(data, sample_weight=np.ones(len(data.codes)))
            task = _TreeTask(ranker, data, unit.signed_weights(self.cost, sample_cost))
        else:
            costs = data.costs(self.cost, sample_cost)
            task = _MemberTask(ranker, data, None if sample_cost is None else costs)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(LARGEST_SEED, size=self.n_estimators).tolist()
        members = self._fit_all(task, draws, seeds)
        self.estimators_, self.estimators_features_ = map(list, zip(*members, strict=True))
        if self.oob_score:
            self._score_out_of_bag(data, data.costs(self.cost, sample_cost), draws, seeds)

    def _draws(self, data: OrdinalData) -> Draws:
        n = int(np.count_nonzero(data.sample_weight))
        draws = Draws(
            data.sample_weight,
            count_of("max_samples", self.max_samples, n, above=self.bootstrap),
            self.bootstrap,
            self.n_features_in_,
            count_of("max_features", self.max_features, self.n_features_in_),
        )
        if self.oob_score and not self.bootstrap and draws.n_rows == n:
            raise ValueError(
                "oob_score needs rows that are left out; set bootstrap=True or lower max_samples."
            )
        return draws

    def _fit_all(self, task: Any, draws: Draws, seeds: list[int]) -> Iterator[Any]:
        # Trees release the interpreter's lock and share one table of bins.
        require = "sharedmem" if self._reads_numbers else None
        parallel = Parallel(n_jobs=self.n_jobs, require=require, return_as="generator")
        step = max(1, self.n_estimators // 10)
        members = parallel(delayed(task)(draws, number) for number in seeds)
        for done, member in enumerate(members, start=1):
            if self.verbose > 0 and done % step == 0:
                print(f"OrdinalBagging: {done} of {self.n_estimators} fitted", flush=True)
            yield member

    def _score_out_of_bag(
        self, data: OrdinalData, costs: Matrix, draws: Draws, seeds: list[int]
    ) -> None:
        X = _indexable(data.X)
        tally = VoteTally(len(data.codes), data.n_classes)
        probabilities = np.zeros((len(data.codes), data.n_classes))
        for member, number in zip(self.estimators_, seeds, strict=True):
            draw = draws.draw(number)
            rows = np.flatnonzero(draw.weights == 0.0)
            inputs = _columns(_safe_indexing(X, rows), draw.columns, draws.n_inputs)
            tally.mass[rows, member_ranks(member, inputs, data.n_classes)] += 1.0
            probabilities[rows] += _probabilities(member, inputs, data.n_classes)
        votes = tally.mass.sum(axis=1)
        margins, left_out = tally.margins(), votes > 0.0
        scored = np.flatnonzero(left_out & (data.sample_weight > 0.0))
        if len(scored) < np.count_nonzero(data.sample_weight):
            warn_caller(
                "Some rows were drawn for every ranker, so the out-of-bag score leaves them out; "
                "raise n_estimators.",
                UserWarning,
            )
        paid = costs[scored, decode(margins[scored])]
        weights = data.sample_weight[scored]
        self.oob_score_ = -float(np.average(paid, weights=weights)) if len(scored) else np.nan
        margins[~left_out] = np.nan
        self.oob_decision_function_ = squeeze_margins(margins)
        probabilities /= np.where(left_out, votes, np.nan)[:, None]
        self.oob_probabilities_ = probabilities

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if not hasattr(self, "estimators_"):
            return
        for member, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            of_inputs = isinstance(columns, np.ndarray) and are_indices(
                columns, self.n_features_in_
            )
            require_state(of_inputs, "one of its members looks at inputs that are none")
            # Their inputs are not looked at again when they are asked.
            if isinstance(member, SignedLearnerMixin):
                fits = member.n_features_in_ == len(columns)
                same = len(member.classes_) == len(self.classes_)
                require_state(fits and same, "one of its members is of other inputs or labels")

    def _margins(self, X: Any) -> Matrix:
        return np.concatenate(self._in_blocks(_vote, X))

    def _probabilities(self, X: Any) -> Matrix:
        return np.concatenate(self._in_blocks(_mean_probabilities, X))

    def _in_blocks(self, answer: Callable[..., Matrix], X: Any) -> list[Matrix]:
        """Answers of all rankers for blocks of rows; only trees are read in blocks."""
        X = self._inputs(X)
        members = list(zip(self.estimators_, self.estimators_features_, strict=True))
        width, n_classes = self.n_features_in_, len(self.classes_)
        if not self._reads_numbers:
            return [answer(members, X, width, n_classes)]
        blocks: list[Matrix] = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(answer)(members, X[at : at + _BLOCK], width, n_classes)
            for at in range(0, len(X), _BLOCK)
        )
        return blocks

    @property
    def feature_importances_(self) -> Matrix:
        """Mean of the rankers' importances, where all have them."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for member, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            total[columns] += member.feature_importances_
        return total / len(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        return inherit_input_tags(super().__sklearn_tags__(), self.estimator, ORTree)


@dataclass(frozen=True)
class Draw:
    """What one member gets.

    ``weights`` says for every row how often it was drawn, or its own weight; ``columns`` ascend;
    ``seed`` is for the member itself.
    """

    weights: Vector
    columns: Index
    seed: int


@dataclass(frozen=True)
class Draws:
    """How rows and columns are drawn; the same seed gives the same draw again.

    Parameters
    ----------
    sample_weight : ndarray of shape (n,)
        Rows without weight are never drawn.
    n_rows : int
        Rows to draw.
    bootstrap : bool
        With replacement, in proportion to the weights; else each row at most once, whatever its
        weight, which it keeps.
    n_inputs, n_columns : int
        Number of columns, and how many to draw.
    """

    sample_weight: Vector
    n_rows: int
    bootstrap: bool
    n_inputs: int
    n_columns: int

    def draw(self, seed: int) -> Draw:
        """The draw of a seed."""
        rng = np.random.default_rng(seed)
        weights = self._repeats(rng) if self.bootstrap else self._part(rng)
        columns = np.arange(self.n_inputs)
        if self.n_columns < self.n_inputs:
            columns = np.sort(rng.permutation(self.n_inputs)[: self.n_columns])
        return Draw(weights, columns, int(rng.integers(LARGEST_SEED)))

    def _repeats(self, rng: np.random.Generator) -> Vector:
        n = len(self.sample_weight)
        if (self.sample_weight == self.sample_weight[0]).all():
            rows = rng.integers(n, size=self.n_rows)
        else:
            mass = np.cumsum(self.sample_weight)
            rows = np.searchsorted(mass, mass[-1] * rng.random(self.n_rows), side="right")
        return np.bincount(rows, minlength=n).astype(np.float64)

    def _part(self, rng: np.random.Generator) -> Vector:
        weights = np.zeros_like(self.sample_weight)
        rows = rng.permutation(np.flatnonzero(self.sample_weight))[: self.n_rows]
        weights[rows] = self.sample_weight[rows]
        return weights


class _TreeTask:
    """Grow one of the trees on inputs that were put into bins once."""

    def __init__(self, ranker: ORTree, data: OrdinalData, V: Matrix) -> None:
        self._ranker = ranker
        self._data = data
        self._V = V
        self._bins = bin_inputs(data.X, check_max_bins(ranker.max_bins), data.sample_weight)
        self._learner = TreeLearner(self._bins, ranker._limits(len(self._bins.edges)))

    def __call__(self, draws: Draws, number: int) -> tuple[ORTree, Index]:
        data, draw, learner = self._data, draws.draw(number), self._learner
        if len(draw.columns) < draws.n_inputs:
            edges = tuple(self._bins.edges[j] for j in draw.columns)
            bins = BinnedInputs(self._bins.codes[draw.columns], edges)
            learner = TreeLearner(bins, self._ranker._limits(len(edges)))
        tree, leaves = learner.grow(self._V * draw.weights[:, None], draw.seed)
        rows = np.flatnonzero(draw.weights)
        if (leaves[rows] < 0).any():
            leaves = tree.apply_codes(learner.bins)
        weights = draw.weights[rows]
        tree = tree.count_classes(leaves[rows], data.codes[rows], weights, data.n_classes)
        return self._ranker._adopted(tree, data.n_classes, len(draw.columns)), draw.columns


class _MemberTask:
    """Fit one of the rankers that read their inputs themselves."""

    def __init__(self, ranker: Any, data: OrdinalData, sample_cost: Matrix | None) -> None:
        if sample_cost is not None and not has_fit_parameter(ranker, "sample_cost"):
            raise ValueError(
                f"{type(ranker).__name__} does not accept sample_cost; choose an estimator that "
                "does, or leave sample_cost out."
            )
        self._ranker = know_all_levels(ranker, data.n_classes)
        self._data = replace(data, X=_indexable(data.X))
        self._sample_cost = sample_cost

    def __call__(self, draws: Draws, number: int) -> tuple[Any, Index]:
        draw = draws.draw(number)
        rows = np.flatnonzero(draw.weights)
        weights = draw.weights[rows]
        if draws.bootstrap and not has_fit_parameter(self._ranker, "sample_weight"):
            rows = np.repeat(rows, weights.astype(np.intp))
            weights = np.ones(len(rows))
        inputs = _columns(_safe_indexing(self._data.X, rows), draw.columns, draws.n_inputs)
        return self._fit(inputs, rows, weights, draw.seed), draw.columns

    def _fit(self, X: Any, rows: Any, weights: Any, number: int) -> Any:
        codes = self._data.codes[rows]
        member = seed(clone(self._ranker), np.random.RandomState(number))
        if len(np.unique(codes)) < 2 and not is_regressor(member):
            # A classifier needs two classes; of one there is nothing to learn.
            return DummyClassifier(strategy="most_frequent").fit(np.zeros((len(rows), 1)), codes)
        if self._sample_cost is not None:
            costs = self._sample_cost[rows]
            return member.fit(X, codes, sample_weight=weights, sample_cost=costs)
        return fit_weighted(member, X, codes, None if (weights == 1.0).all() else weights)


def _indexable(X: Any) -> Any:
    """Inputs whose rows can be taken; frames and lists stay what they are."""
    if sp.issparse(X):
        return X.tocsr()
    return X if isinstance(X, list) or hasattr(X, "columns") else np.asarray(X)


def _columns(X: Any, columns: Index, n_inputs: int) -> Any:
    if len(columns) == n_inputs:
        return X
    X = np.asarray(X) if isinstance(X, list) else _indexable(X)
    return _safe_indexing(X, columns, axis=1)


def _probabilities(member: Any, X: Any, n_classes: int) -> Matrix:
    """Class probabilities of one ranker, or its vote."""
    if type(member) is ORTree:
        return member.tree_.probabilities(X)
    probabilities = np.zeros((_num_samples(X), n_classes))
    if hasattr(member, "predict_proba"):
        answers = proper_probabilities(np.asarray(member.predict_proba(X)), member)
        probabilities[:, np.asarray(member.classes_, dtype=np.intp)] = answers
    else:
        probabilities[np.arange(len(probabilities)), member_ranks(member, X, n_classes)] = 1.0
    return probabilities


def _vote(members: list[Any], X: Any, n_inputs: int, n_classes: int) -> Matrix:
    tally = VoteTally(_num_samples(X), n_classes)
    for member, columns in members:
        tally.add(member_ranks(member, _columns(X, columns, n_inputs), n_classes), 1.0)
    return tally.margins()


def _mean_probabilities(members: list[Any], X: Any, n_inputs: int, n_classes: int) -> Matrix:
    total = np.zeros((_num_samples(X), n_classes))
    for member, columns in members:
        total += _probabilities(member, _columns(X, columns, n_inputs), n_classes)
    return total / len(members)
