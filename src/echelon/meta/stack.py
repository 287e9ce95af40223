"""A mixture of the probabilities of several models, with shares learnt on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from .._utils.messages import warn_caller
from .._utils.state import require_state
from .._utils.types import (
    Codes,
    CostLike,
    EstimatorLike,
    LabelsLike,
    Matrix,
    RandomStateLike,
    SplitsLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.held_out_fit import HoldsRowsOutMixin
from ..base.mixins import ProbabilityMixin
from ..base.nested import fit_on_codes
from ..base.reading import FittedModel
from ..base.row_design import RowDesign, held_out_splits
from ..base.wrappers import final_estimator
from ..linear.linear_svor import LinearSVOR
from ..linear.proportional_odds import ProportionalOdds
from ..ordinal.arrays import check_weights
from ..ordinal.costs import cost_matrix, minimum_cost_codes
from ..ordinal.data import OrdinalData
from ..ordinal.labels import OrdinalScale
from ..ordinal.likelihoods import with_one_more_row
from ..ordinal.reduction import decode, exceedance
from ..solvers.linear.mixture import few_weights
from .calibration import OrdinalCalibrator

#: Models with a smaller share are left out of a mixture.
LEAST_SHARE = 0.02

Members = Sequence[tuple[str, EstimatorLike]]


class OrdinalStack(ProbabilityMixin, HoldsRowsOutMixin, BaseEstimator):
    """Several models as one: a weighted mean of their class probabilities.

    Parameters
    ----------
    estimators : list of (str, estimator), optional
        Names and models, each with class probabilities; `OrdinalCalibrator` gives them to one that
        has none. They are fitted on ranks 0 … K−1 and given the inputs as they are. By default a
        `ProportionalOdds` and a calibrated `LinearSVOR`.
    weights : array-like of shape (m,), optional
        Share of each model, of which only ratios matter. By default they are learnt.
    cv : int, splitter or iterable of splits, default=5
        The rows that shares are learnt on are held out from the models that speak of them, each
        fold in turn; then the models with a share are fitted to all rows. An int deals the rows of
        every class evenly into so many folds, whole groups together, or later rows after earlier
        ones, where `fit` is given groups or times.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        Cost of predicting label r, a column, for label y, a row: ``predict`` gives the label of
        least expected cost.
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`.
    n_jobs : int, optional
        Fits at a time, as in joblib.
    random_state : int, RandomState instance, optional
        Deals the rows into folds at random; by default in their order.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    names_ : list of str
        Of the models that have a share.
    estimators_ : list of estimators
        These models, fitted to all rows.
    weights_ : ndarray
        Their shares, which sum to one.
    loss_ : float
        Log loss of the mixture on held-out rows; NaN if `weights` are given.
    gap_ : float
        Certificate: no other shares of these models have a log loss lower than ``loss_ − gap_``.

    Warns
    -----
    ConvergenceWarning
        If rounding leaves a gap; the message states it.

    See Also
    --------
    OrdinalCalibrator : Probabilities for a model that has none.

    Notes
    -----
    Minimises −Σ_i a_i ln Σ_j w_j p_j(y_i | x_i) over shares w that are not negative and sum to one,
    where a are the sample weights and p_j comes from models that have not seen row i. The problem
    is convex. So that the logarithm is finite every p is (n·p + 1/K)/(n + 1) here, as one more row
    changes it that speaks for all labels evenly. Models with a share below 0.02 are left out, the
    smallest first, and the others' shares are found again.

    ``decision_function`` gives P(y > k) − ½.

    Examples
    --------
    >>> from echelon import OrdinalBagging, OrdinalStack, ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> members = [("odds", ProportionalOdds()), ("trees", OrdinalBagging(random_state=0))]
    >>> stack = OrdinalStack(members, random_state=0).fit(X, y)
    >>> stack.names_, round(float(stack.weights_.sum()), 6)
    (['odds', 'trees'], 1.0)
    """

    _reads_numbers = False
    # The models inside know.
    _one_thread = False

    def __init__(
        self,
        estimators: Members | None = None,
        *,
        weights: VectorLike | None = None,
        cv: SplitsLike = 5,
        cost: CostLike = "absolute",
        classes: LabelsLike | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv
        self.cost = cost
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _members(self) -> Members:
        if self.estimators is None:
            machine = OrdinalCalibrator(LinearSVOR(), cv=3)
            return [("odds", ProportionalOdds(alpha=1.0)), ("machine", machine)]
        return self.estimators

    def _check_parameters(self) -> None:
        members = self._members
        listed = isinstance(members, list | tuple) and len(members) > 0
        if not listed or not all(isinstance(m, list | tuple) and len(m) == 2 for m in members):
            raise ValueError(
                f"estimators must be a list of pairs of a name and a model; found {members!r}."
            )
        names = [name for name, _ in members]
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError(f"Names in estimators must be distinct texts; found {names}.")
        for name, model in members:
            if not hasattr(model, "predict_proba"):
                raise ValueError(
                    f"Models in estimators must have class probabilities; {name!r}, a "
                    f"{type(final_estimator(model)).__name__}, has none: put it into "
                    "OrdinalCalibrator."
                )

    def _learn(self, data: OrdinalData, groups: Any = None, time: Any = None) -> None:
        cost_matrix(self.cost, data.n_classes)
        design = RowDesign.of(len(data.codes), groups=groups, time=time)
        shares = self._shares(data, design)
        kept = np.flatnonzero(shares)
        members = [self._members[int(j)] for j in kept]
        self.names_ = [name for name, _ in members]
        self.weights_ = shares[kept] / shares.sum()
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_on_codes)(model, data, None, design) for _, model in members
        )
        self.estimators_ = [reader.model for reader in fitted]

    def _shares(self, data: OrdinalData, design: RowDesign) -> Vector:
        """Share of every model: the given ones, or those of least log loss on held-out rows."""
        if self.weights is not None:
            self.loss_ = self.gap_ = np.nan
            return _given_shares(self.weights, len(self._members))
        rows, p = self._unseen_probabilities(data, design)
        found = few_weights(p, data.sample_weight[rows], LEAST_SHARE)
        self.loss_, self.gap_ = found.loss, found.gap
        if not found.converged:
            warn_caller(
                f"Rounding leaves the shares of the models with a gap of {found.gap:.2g} to the "
                "least log loss.",
                ConvergenceWarning,
            )
        return found.weights

    def _unseen_probabilities(self, data: OrdinalData, design: RowDesign) -> tuple[Codes, Matrix]:
        """Rows that were held out, and what models without them give their labels, (n, m)."""
        data = replace(data, X=indexable(data.X)[0])
        rng = None if self.random_state is None else check_random_state(self.random_state)
        parts = list(held_out_splits(self.cv, data, rng, design, by_class=True))
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_of_true_labels)(model, data, design, inside, outside)
            for inside, outside in parts
            for _, model in self._members
        )
        m = len(self._members)
        p = [np.stack(found[at : at + m], axis=1) for at in range(0, len(found), m)]
        return np.concatenate([outside for _, outside in parts]), np.concatenate(p)

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if not hasattr(self, "estimators_"):
            return
        shares, members = self.weights_, self.estimators_
        require_state(
            isinstance(shares, np.ndarray)
            and shares.shape == (len(members),) == (len(self.names_),)
            and bool((shares >= 0.0).all())
            and abs(float(shares.sum()) - 1.0) < 1e-6,
            "its shares are not those of its models",
        )
        answers = all(hasattr(member, "predict_proba") for member in members)
        require_state(answers, "one of its models has no probabilities")

    def _probabilities(self, X: Any) -> Matrix:
        X = self._inputs(X)
        scale = OrdinalScale(np.arange(len(self.classes_)))
        mixed = sum(
            share * _probabilities(FittedModel(member, scale), X)
            for share, member in zip(self.weights_, self.estimators_, strict=True)
        )
        return np.asarray(mixed / np.sum(mixed, axis=1, keepdims=True))

    def _margins(self, X: Any) -> Matrix:
        return exceedance(self._probabilities(X)) - 0.5

    def _codes(self, X: Any, **params: Any) -> Codes:
        return mixture_codes(self._probabilities(X), self.cost)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = [get_tags(model).input_tags for _, model in self._members]
        tags.input_tags.sparse = all(inner.sparse for inner in known)
        tags.input_tags.allow_nan = all(inner.allow_nan for inner in known)
        return tags


def mixture_codes(probabilities: Matrix, cost: CostLike) -> Codes:
    """Ranks of least expected cost, which is the median under the absolute one."""
    if isinstance(cost, str) and cost == "absolute":
        return decode(exceedance(probabilities) - 0.5)
    return minimum_cost_codes(probabilities, cost_matrix(cost, probabilities.shape[1]))


def _given_shares(weights: VectorLike, m: int) -> Vector:
    try:
        return check_weights(weights, m)
    except ValueError as error:
        raise ValueError(str(error).replace("sample_weight", "weights")) from None


def _of_true_labels(
    model: Any, data: OrdinalData, design: RowDesign, inside: Codes, outside: Codes
) -> Vector:
    """Probabilities that a model of the rows inside gives to the labels of those outside."""
    fitted = fit_on_codes(model, data, inside, design)
    found = _probabilities(fitted, _safe_indexing(data.X, outside))
    p = with_one_more_row(found, len(inside))
    return np.asarray(p[np.arange(len(outside)), data.codes[outside]])


def _probabilities(reader: FittedModel, X: Any) -> Matrix:
    found = reader.probabilities(X)
    assert found is not None
    return found
