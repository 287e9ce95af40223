"""What ordinal estimators share, from margins to labels, and rankers, from scores to an order."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .. import metrics
from .._utils.frames import input_names
from .._utils.state import is_ascending, require_state
from .._utils.types import (
    Array,
    Codes,
    CostLike,
    Index,
    KeysLike,
    LabelArray,
    LabelsLike,
    Matrix,
    MatrixLike,
    Vector,
    VectorLike,
)
from ..ordinal.arrays import check_weights, require_count
from ..ordinal.costs import cost_matrix
from ..ordinal.data import OrdinalData
from ..ordinal.labels import CONTAINERS, OrdinalScale, read_relevance
from ..ordinal.likelihoods import class_probabilities, get_link
from ..ordinal.reduction import decode
from ..ordinal.thresholds import margins
from ..pairs import PairSet
from ..pairs.queries import query_codes
from ..solvers.linear.calibration import Calibration
from .estimator import ClassifierMixin, EstimatorMixin
from .pair_explanations import PairExplanation, PairTerm, explanation, shapley_terms
from .threads import suitable_threads
from .validation import (
    RankingData,
    all_or_nothing,
    one_column,
    two_rows,
    validate_inputs,
    validate_ordinal_fit,
    validate_ranking_fit,
)


class OrdinalClassifierMixin(ClassifierMixin):
    """Fitting, decoding, labels and scoring for estimators with margins G[i, k] at K−1 thresholds.

    A subclass gives ``_learn(data)`` for rows that were checked and ``_margins(X)`` of shape
    (n, K−1), and has ``fit``, ``decision_function``, ``predict`` and ``score`` from here. It may
    check its parameters in ``_check_parameters``. One that has an estimator inside that reads the
    inputs by itself sets ``_reads_numbers`` to False, and one that decides otherwise than by
    margins, for instance by expected cost, overrides ``_codes(X)``.
    """

    _reads_numbers: bool = True
    # Whether to learn with one thread of linear algebra; None leaves it to the inputs.
    _one_thread: bool | None = None
    _takes_sparse: bool = False
    _takes_missing: bool = False

    @all_or_nothing
    def fit(self, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Sparse, a data frame, with NaN where missing, or whatever an estimator inside reads, if
            the class takes such inputs.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Accepted where an estimator inside accepts it.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *others: Any) -> Self:
        """The frame of every ``fit``: `others` are what it takes besides, for ``_learn``."""
        self._check_parameters()
        data = self._validated(X, y, sample_weight)
        self._store_scale(data)
        with suitable_threads(data.X, one=self._one_thread):
            self._learn(data, *others)
        return self

    def _check_parameters(self) -> None:
        """Raise where a parameter makes no sense, before the data are looked at."""

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> OrdinalData:
        return validate_ordinal_fit(self, X, y, sample_weight, convert=self._reads_numbers)

    def _learn(self, data: OrdinalData, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def _inputs(self, X: Any) -> Any:
        """Inputs of ``predict`` and its like, checked against those of ``fit``."""
        return validate_inputs(self, X, convert=self._reads_numbers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def _store_scale(self, data: OrdinalData) -> None:
        self.classes_ = data.scale.classes
        self._label_container = data.scale.container

    @property
    def _scale(self) -> OrdinalScale:
        return OrdinalScale(self.classes_, self._label_container)

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        if not hasattr(self, "classes_"):
            return
        found = self.classes_
        listed = isinstance(found, np.ndarray) and found.ndim == 1
        distinct = listed and len(set(found.tolist())) == len(found) >= 2
        require_state(distinct, "its labels are not two or more distinct ones")
        known = getattr(self, "_label_container", None) in CONTAINERS
        require_state(known, "its labels came in no known container")
        width = getattr(self, "n_features_in_", None)
        require_state(type(width) is int and width > 0, "it has no number of inputs")

    def _margins(self, X: Any) -> Matrix:
        raise NotImplementedError

    def _codes(self, X: Any, **params: Any) -> Codes:
        return decode(self._margins(X, **params))

    def decision_function(self, X: MatrixLike) -> Array:
        """Margins at the thresholds: positive where the label is held to lie above.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        margins : ndarray of shape (n, K−1), or (n,) for two classes
        """
        check_is_fitted(self)
        return squeeze_margins(self._margins(X))

    def predict(self, X: MatrixLike) -> LabelArray:
        """Labels, in the type that came in at ``fit``.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        labels : array of shape (n,)
            A NumPy array, or the ordered category of the data-frame library that came in.
        """
        check_is_fitted(self)
        labels: LabelArray = self._scale.decode(self._codes(X))
        return labels

    def score(self, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None) -> float:
        """Negative mean cost, so that greater is better.

        The cost is the estimator's ``cost`` if it has one, else the absolute difference of ranks.
        """
        check_is_fitted(self)
        return -self._mean_cost(self._codes(X), y, sample_weight)

    def _mean_cost(self, predicted: Codes, y: Any, sample_weight: Any) -> float:
        truth = self._scale.encode(one_column(y))
        if len(truth) != len(predicted):
            raise ValueError(
                f"y must have as many rows as X, {len(predicted)}; found {len(truth)}."
            )
        cost = cost_matrix(getattr(self, "cost", "absolute"), len(self.classes_))
        weights = check_weights(sample_weight, len(truth))
        return float(np.average(cost[truth, predicted], weights=weights))


class CostSensitiveMixin(OrdinalClassifierMixin):
    """An ordinal estimator that learns from costs of its own for every row, if it is given them.

    They are the second argument of ``_learn``.
    """

    cost: CostLike

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: VectorLike | None = None,
        sample_cost: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Sparse, with NaN where missing, a kernel matrix, or whatever an estimator inside reads,
            if the class takes such inputs.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Accepted where an estimator inside accepts it.
        sample_cost : array-like of shape (n, K), optional
            Cost of every rank for every example, V-shaped around its label; replaces `cost`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, sample_cost)


class ProbabilityMixin(OrdinalClassifierMixin):
    """An ordinal estimator with class probabilities: a subclass gives ``_probabilities(X)``."""

    def _probabilities(self, X: Any) -> Matrix:
        raise NotImplementedError

    def predict_proba(self, X: MatrixLike) -> Matrix:
        """Class probabilities, a column per class from lowest to highest.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        probabilities : ndarray of shape (n, K)
            Rows sum to one and nothing is negative.
        """
        check_is_fitted(self)
        return self._probabilities(X)


class ThresholdModelMixin(OrdinalClassifierMixin):
    """An ordinal model with a latent score: G[i, k] = f(x_i) − b_k.

    A subclass gives ``_latent(X)`` and sets ``thresholds_``.
    """

    thresholds_: Vector

    @property
    def _orders_thresholds(self) -> bool:
        """Whether a fit leaves thresholds that ascend."""
        return True

    def check_state(self) -> None:
        """Raise an error if fitted attributes, as a file may hold them, do not fit together."""
        super().check_state()
        if hasattr(self, "classes_") and hasattr(self, "thresholds_"):
            found = self.thresholds_ if self._orders_thresholds else np.sort(self.thresholds_)
            ascend = is_ascending(found, len(self.classes_) - 1)
            require_state(ascend, "its thresholds do not ascend between its labels")

    def _latent(self, X: Any) -> Vector:
        raise NotImplementedError

    def _margins(self, X: Any) -> Matrix:
        return margins(self._latent(X), self.thresholds_)

    def predict_latent(self, X: MatrixLike) -> Vector:
        """Latent score f(x), on the scale of ``thresholds_``.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self._latent(X)


class CalibratedScoreMixin(ProbabilityMixin, ThresholdModelMixin):
    """A threshold model whose probabilities are those of a cumulative logit model of its score.

    A subclass sets ``_calibration`` if it fits such a model, and has ``predict_proba`` only then.
    """

    _calibration: Calibration

    def _probabilities(self, X: Any) -> Matrix:
        check_is_fitted(self, "_calibration")
        slope, thresholds = self._calibration
        return class_probabilities(get_link("logit"), slope * self._latent(X), thresholds)

    def calibration(self) -> Calibration | None:
        """Slope and thresholds of probabilities given the score; None where there are none."""
        check_is_fitted(self)
        return getattr(self, "_calibration", None)


class SignedLearnerMixin(CostSensitiveMixin, EstimatorMixin):
    """An ordinal estimator that learns from signed weights V, see ``ordinal.reduction``.

    Ensembles prepare the inputs once and ask it again and again for other weights. A subclass
    gives ``_signed_learner(data, n_threads, rng)``, a function from V to a result and its ranks of
    the rows; ``_adopt(result)``, which makes the estimator the fitted one of that result; and
    ``_ranks(X)``, the ranks of rows that were checked already. ``_free_parameters`` names what may
    be changed in the estimator between two calls of that function. A subclass that learns from V
    alone gives ``_fit_signed(data, V)``.
    """

    _free_parameters: frozenset[str] = frozenset()

    def _signed_learner(
        self, data: OrdinalData, n_threads: int, rng: np.random.RandomState
    ) -> Callable[[Matrix], tuple[Any, Codes]]:
        raise NotImplementedError

    def _adopt(self, result: Any) -> None:
        raise NotImplementedError

    def _fit_signed(self, data: OrdinalData, V: Matrix) -> None:
        raise NotImplementedError

    def _learn(self, data: OrdinalData, sample_cost: Any) -> None:
        self._fit_signed(data, data.signed_weights(self.cost, sample_cost))

    def _ranks(self, X: Matrix) -> Codes:
        raise NotImplementedError

    def _adopted(self, result: Any, n_classes: int, n_features: int) -> Any:
        """A copy of an estimator not yet fitted, with this result and the labels 0 … K−1."""
        member = copy(self)
        member._adopt(result)
        member.n_features_in_ = n_features
        member.classes_ = np.arange(n_classes)
        member._label_container = "numpy"
        return member


class RankerMixin(EstimatorMixin):
    """From scores to an order, for estimators that learn which rows stand above which.

    A subclass gives ``_check_parameters()``, ``_learn(data)`` and ``_scores(X)`` for inputs that
    were checked, and has ``fit``, ``predict``, ``rank``, ``score`` and ``explain_pair`` from here.
    A subclass whose score is a sum of parts overrides ``_pair_terms``.
    """

    # With metadata routing on, queries reach every ranker without being asked for.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - read by scikit-learn from the class
    __metadata_request__score = {"qid": True}  # noqa: RUF012 - the same

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _learn(self, data: RankingData) -> None:
        raise NotImplementedError

    def _scores(self, X: Any) -> Vector:
        raise NotImplementedError

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike | None = None,
        *,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
        pairs: npt.ArrayLike | PairSet | None = None,
        pair_weight: VectorLike | None = None,
    ) -> Self:
        """Learn from labels, from stated pairs, or from both.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Sparse, with NaN where missing, or a kernel matrix where the ranker takes them.
        y : array-like of shape (n,), optional
            Labels, higher is better. Rows of one query with different labels are pairs.
        qid : sequence of shape (n,), optional
            Query of each row, any hashable ids in any order; all rows are one query by default.
        sample_weight : array-like of shape (n,), optional
            A pair from labels weighs the product of the weights of its rows.
        pairs : array-like of shape (m, 2) or PairSet, optional
            Rows of winner and loser.
        pair_weight : array-like of shape (m,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        given: dict[str, Any] = {"qid": qid, "sample_weight": sample_weight}
        given |= {"pairs": pairs, "pair_weight": pair_weight}
        with suitable_threads(X):
            # No name here holds the data, so that a ranker can let go of what it has used.
            self._learn(validate_ranking_fit(self, X, y, **given))
        return self

    def predict(self, X: MatrixLike) -> Vector:
        """Scores; a row with a greater one is ranked higher.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self._scores(validate_inputs(self, X))

    def rank(self, X: MatrixLike, qid: KeysLike | None = None, top_k: int | None = None) -> Index:
        """Rows from best to worst.

        Parameters
        ----------
        X : array-like of shape (n, d)
        qid : sequence of shape (n,), optional
            Query of each row. Queries follow each other in the order of their first rows.
        top_k : int, optional
            Most rows of each query.

        Returns
        -------
        rows : ndarray
            Positions in X; rows of equal score stay in their order.
        """
        return best_first(self.predict(X), qid, top_k)

    def score(
        self,
        X: MatrixLike,
        y: LabelsLike,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """Share of the pairs of one query with different labels that are in the right order.

        A pair with equal scores counts one half. With two labels and one query it is the AUC.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels, higher is better.
        qid : sequence of shape (n,), optional
        sample_weight : array-like of shape (n,), optional
            A pair weighs the product of the weights of its rows.

        Returns
        -------
        score : float
        """
        scores = self.predict(X)
        relevance = read_relevance(one_column(y))
        return metrics.pairwise_accuracy(relevance, scores, qid=qid, sample_weight=sample_weight)

    def explain_pair(self, a: MatrixLike, b: MatrixLike) -> PairExplanation:
        """Take the difference of the scores of two rows apart.

        Parameters
        ----------
        a, b : array-like of shape (d,), or of one row
            The rows to compare.

        Returns
        -------
        explanation : PairExplanation
            Its terms sum to score(a) − score(b); ``print`` writes them as a table.
        """
        check_is_fitted(self)
        X = two_rows(self, a, b)
        scores = self._scores(X)
        first, second = np.asarray(X, dtype=np.float64)
        return explanation(float(scores[0]), float(scores[1]), self._pair_terms(first, second))

    def _pair_terms(self, a: Vector, b: Vector) -> list[PairTerm]:
        return shapley_terms(self._input_names(), self._scores, a, b)

    def _input_names(self) -> list[str]:
        return input_names(self)


def best_first(scores: Vector, qid: Any = None, top_k: int | None = None) -> Index:
    """Rows by query, and within each by falling score; at most `top_k` of each."""
    if top_k is not None:
        require_count("top_k", top_k)
    codes, _ = query_codes(qid, len(scores))
    order = np.lexsort((-scores, codes))
    if top_k is None:
        return order
    starts = np.searchsorted(codes[order], codes[order])
    return order[np.arange(len(order)) - starts < top_k]


def squeeze_margins(values: Array) -> Array:
    """One margin per row as a vector, as scikit-learn has it for two classes."""
    return values[:, 0] if values.shape[1] == 1 else values
