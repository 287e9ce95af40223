"""The perceptron for ordered labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state

from .._utils.entries import require_moderate
from .._utils.state import require_state
from .._utils.types import (
    ClassWeightLike,
    Codes,
    CostLike,
    LabelsLike,
    MatrixLike,
    RandomStateLike,
    Vector,
    VectorLike,
)
from ..base.estimator import BaseEstimator
from ..base.mixins import CostSensitiveMixin, ThresholdModelMixin
from ..base.validation import all_or_nothing, one_column, validate_inputs
from ..ordinal.arrays import LARGEST_SEED, are_whole, check_weights, require_count
from ..ordinal.costs import cost_matrix, require_v_shaped
from ..ordinal.data import OrdinalData, class_factors
from ..ordinal.labels import OrdinalScale, read_scale
from ..solvers.linear.prank import (
    PerceptronState,
    PRankProblem,
    PRankResult,
    Progress,
    learn_online,
    prank_problem,
    solve_prank,
)

# Rows that one call of partial_fit presents: some minutes.
_MOST_PRESENTED = 1e9


class PRank(CostSensitiveMixin, ThresholdModelMixin, BaseEstimator):
    """Perceptron for ordered labels, by many random passes or online.

    Parameters
    ----------
    n_epochs : int, default=2000
        Most epochs of ``fit``; it stops earlier at a model without cost on the training rows. An
        epoch draws as many examples as there are distinct ones.
    averaged : bool, default=True
        Average weights and thresholds over the examples presented: with `pocket` over each epoch
        by itself, and the best of these averages is kept; otherwise over all of them. The
        perceptron of Crammer and Singer, and of [LL09], does not.
    pocket : bool, default=True
        Keep the model with the least training cost that ``fit`` has met; see Notes. Otherwise
        the last one is the result. It has no part in ``partial_fit``.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        V-shaped cost of predicting label r, a column, for label y, a row.
    class_weight : "balanced" or dict from label to weight, optional
        ``partial_fit`` takes a dict of whole numbers only.
    classes : sequence, optional
        The labels from lowest to highest; by default read from `y`. It may name levels that `y`
        lacks; the thresholds around a middle one are then equal.
    verbose : int, default=0
        Above zero, print the least training cost ten times during ``fit``.
    random_state : int, RandomState or None, default=None
        For the draws of ``fit``. ``partial_fit`` is not random.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels from lowest to highest.
    coef_ : ndarray of shape (d,)
        Weights of the score x·coef_; after ``fit`` zero for constant inputs.
    thresholds_ : ndarray of shape (K−1,)
        A label lies above level k where the score exceeds ``thresholds_[k]``. Ascending; whole
        numbers unless `averaged`.
    training_cost_ : float
        After ``fit``: mean cost of the predictions for the training rows, by their weights.
    n_iter_ : int
        After ``fit``: epochs done.
    n_mistakes_ : int
        After ``partial_fit``: examples that were answered wrongly when they were presented, by the
        weights of that moment and not by averages, over all calls since the last ``fit``. A score
        that equals a threshold counts as wrong.
    cumulative_cost_ : float
        After ``partial_fit``: the sum of the costs of these answers.

    See Also
    --------
    LinearSVOR : The linear model with the best margin, which does not depend on the order of rows.

    Notes
    -----
    When an example of class y is presented, every threshold k on whose wrong side its score lies
    (w·x ≤ b_k for k < y, or w·x ≥ b_k for k ≥ y) makes one step: w ← w ± x and b_k ← b_k ∓ 1 (K.
    Crammer and Y. Singer, *Pranking with ranking*, 2001). The thresholds ascend after every step.
    A step has no rate: from zero another rate scales the model and changes no answer. Scale the
    inputs alike instead.

    ``fit`` learns from nothing, and inputs may be sparse. It is the cost-sensitive form of [LL09]
    section 5.2: examples are drawn at random, an
    example by its weight times the most that it can cost, and the pocket with ratchet (S. Gallant,
    1990) keeps the best weights. A run of right answers marks weights worth a look. At the end of
    every epoch the weights with the longest run in this epoch replace the pocket if their cost on
    all training rows is less, counting a score that equals a threshold as wrong. Gallant lets the
    record run stand for good, and looks only when it is broken; on data that cannot be separated
    that stops after a few epochs, and the records of epochs give a lower cost in the same time.
    The pocket starts with the best constant label, so that no fit is worse than that. [LL09] used
    "the SiPrank variant" without saying what sets it apart; nothing here claims to be that.

    Equal rows with equal labels are merged and the rest are sorted before any draw, so for a given
    `random_state` a fit does not depend on the order of rows, integer weights equal repeated rows,
    and dense and sparse inputs give the same model.

    ``partial_fit`` presents the rows once, in their order. For data that some model separates with
    margin γ and |x| ≤ R, the sum of absolute costs over any number of calls is at most
    (K−1)·(R²+1)/γ².

    Examples
    --------
    >>> from echelon import PRank
    >>> from echelon.datasets import load_lev
    >>> X, y = load_lev(return_X_y=True)
    >>> model = PRank(n_epochs=50, random_state=0).fit(X, y)
    >>> bool(model.training_cost_ < 0.6)
    True
    >>> online = PRank().partial_fit(X[:500], y[:500], classes=[1, 2, 3, 4, 5])
    >>> online.partial_fit(X[500:], y[500:]).thresholds_.shape
    (4,)
    """

    _takes_sparse = True

    def __init__(
        self,
        n_epochs: int = 2000,
        *,
        averaged: bool = True,
        pocket: bool = True,
        cost: CostLike = "absolute",
        class_weight: ClassWeightLike = None,
        classes: LabelsLike | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.averaged = averaged
        self.pocket = pocket
        self.cost = cost
        self.class_weight = class_weight
        self.classes = classes
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require_count("n_epochs", self.n_epochs)

    def _learn(self, data: OrdinalData, sample_cost: Any) -> None:
        costs = data.costs(self.cost, sample_cost)
        problem = prank_problem(data.X, data.codes, costs, data.sample_weight)
        seed = check_random_state(self.random_state).randint(LARGEST_SEED)
        total = float(data.sample_weight.sum())
        result = solve_prank(
            problem,
            n_epochs=int(self.n_epochs),
            averaged=bool(self.averaged),
            pocket=bool(self.pocket),
            rng=np.random.default_rng(seed),
            progress=_printer(int(self.n_epochs), total) if self.verbose > 0 else None,
        )
        self._forget("n_mistakes_", "cumulative_cost_")
        self._store(problem, result, data.X.shape[1])
        self.training_cost_ = result.total_cost / total
        self.n_iter_ = result.n_epochs

    def _store(self, problem: PRankProblem, result: PRankResult, n_columns: int) -> None:
        def widen(values: Vector) -> Vector:
            wide = np.zeros(n_columns)
            wide[problem.active] = values
            return wide

        state = result.state
        self.coef_, self.thresholds_ = widen(result.coef), result.thresholds.copy()
        self._perceptron = PerceptronState(
            coef=widen(state.coef),
            thresholds=state.thresholds,
            moment_coef=widen(state.moment_coef),
            moment_thresholds=state.moment_thresholds,
            n_presented=state.n_presented,
        )

    @all_or_nothing
    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Present the rows once, in their order, and go on from what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : sequence, optional
            The labels from lowest to highest, needed at the first call if `y` lacks some and the
            parameter `classes` does not name them.
        sample_weight : array-like of shape (n,), optional
            Whole numbers: how many times in a row each example is presented, together at most 1e9.

        Returns
        -------
        self
        """
        rows, codes, scale = self._read_batch(X, y, classes)
        matrix = cost_matrix(self.cost, scale.n_classes)
        require_v_shaped(matrix)
        repeats = self._repeats(codes, scale, sample_weight)
        before = getattr(self, "_perceptron", None)
        if before is None:
            before = PerceptronState.fresh(np.zeros(rows.shape[1]), np.zeros(scale.n_classes - 1))
        state, mistakes, cost = learn_online(
            rows, codes, matrix[codes], repeats, before, averaged=bool(self.averaged)
        )
        self._forget("training_cost_", "n_iter_")
        self._store_scale(OrdinalData(rows, codes, scale, repeats.astype(np.float64)))
        self._perceptron = state
        self.coef_, self.thresholds_ = map(np.array, state.model(bool(self.averaged)))
        self.n_mistakes_ = getattr(self, "n_mistakes_", 0) + mistakes
        self.cumulative_cost_ = getattr(self, "cumulative_cost_", 0.0) + cost
        return self

    def _read_batch(self, X: Any, y: Any, classes: Any) -> tuple[Any, Codes, OrdinalScale]:
        if y is None:
            raise ValueError("PRank requires y to be passed, but the target y is None.")
        first = not hasattr(self, "classes_")
        X = validate_inputs(self, X, first=first)
        if first:
            scale, codes = read_scale(one_column(y), self.classes if classes is None else classes)
            if scale.n_classes < 2:
                raise ValueError(
                    f"y has one class only, {scale.classes[0]!r}; give all labels as classes=[...] "
                    "at the first call of partial_fit."
                )
        else:
            scale = self._scale
            if classes is not None and list(classes) != scale.classes.tolist():
                raise ValueError(
                    f"classes must be those of the first call, {scale.classes.tolist()!r}; found "
                    f"{list(classes)!r}."
                )
            codes = scale.encode(one_column(y))
        check_consistent_length(X, codes)
        return X, codes, scale

    def _repeats(self, codes: Codes, scale: OrdinalScale, sample_weight: Any) -> Codes:
        weights = check_weights(sample_weight, len(codes))
        require_moderate(weights, "sample_weight")
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight must be None or a dict for partial_fit, which does not know all "
                f"rows; found {self.class_weight!r}."
            )
        if self.class_weight is not None:
            weights = weights * class_factors(self.class_weight, codes, scale, weights)[codes]
        broken = ~are_whole(weights)
        if broken.any() or weights.sum() > _MOST_PRESENTED:
            found = f"{weights[broken][0]:g}" if broken.any() else f"a sum of {weights.sum():g}"
            raise ValueError(
                "sample_weight times class_weight must be whole numbers whose sum is at most "
                f"{_MOST_PRESENTED:g} for partial_fit, which presents a row that many times; "
                f"found {found}."
            )
        return weights.astype(np.intp)

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if hasattr(self, "_perceptron"):
            sizes = (len(self._perceptron.coef), len(self._perceptron.thresholds) + 1)
            fits = hasattr(self, "classes_") and sizes == (self.n_features_in_, len(self.classes_))
            require_state(fits, "its perceptron is of other inputs or labels")

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _latent(self, X: Any) -> Vector:
        return np.asarray(validate_inputs(self, X) @ self.coef_)


def _printer(n_epochs: int, total_weight: float) -> Progress:
    every = max(1, n_epochs // 10)

    def show(epoch: int, cost: float) -> None:
        if epoch % every == 0:
            print(f"epoch {epoch}: least training cost {cost / total_weight:.6g}")

    return show
