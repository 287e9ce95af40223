"""Any estimator as a learner from costs: by costs, by weights, or by drawing examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from .._utils.types import Codes, Matrix
from ..base.estimator import BaseEstimator
from ..base.members import member_ranks, seed
from ..base.validation import OrdinalData
from ..ordinal.reduction import reverse_reduce, side_matrix
from ..solvers.boosting.adaboost_or import share_of_wrong_sides

CONVERSIONS = ("auto", "cost", "weight", "resample")


def choose_conversion(conversion: str, estimator: Any) -> str:
    """What ``"auto"`` stands for, and whether the estimator can do what was asked."""
    if conversion not in CONVERSIONS:
        raise ValueError(
            f"conversion must be one of {', '.join(CONVERSIONS)}; found {conversion!r}."
        )
    needed = {"cost": "sample_cost", "weight": "sample_weight"}
    if conversion == "auto":
        able = (way for way, name in needed.items() if has_fit_parameter(estimator, name))
        return next(able, "resample")
    if conversion in needed and not has_fit_parameter(estimator, needed[conversion]):
        raise ValueError(
            f"conversion={conversion!r} needs an estimator whose fit accepts "
            f"{needed[conversion]}; {type(estimator).__name__} does not."
        )
    return conversion


def fit_on_costs(
    member: Any, X: Any, codes: Codes, costs: Matrix, conversion: str, rng: np.random.RandomState
) -> Any:
    """Fit on costs per example, or on weights or a sample that stand for them.

    An example weighs as much as its greatest cost, max_k c[k], as [LL09] section 5.2 has it.
    """
    if conversion == "cost":
        return member.fit(X, codes, sample_cost=costs)
    weights = costs.max(axis=1)
    if conversion == "weight":
        return member.fit(X, codes, sample_weight=weights)
    drawn = rng.choice(_num_samples(X), size=_num_samples(X), p=weights / weights.sum())
    if len(np.unique(codes[drawn])) < 2:
        # Too few for any classifier: the two heaviest classes stand beside the sample.
        heaviest = np.argsort(-np.bincount(codes, weights))[:2]
        drawn[:2] = [np.argmax(np.where(codes == level, weights, -1.0)) for level in heaviest]
    return member.fit(_safe_indexing(X, drawn), codes[drawn])


class ConstantRanker(BaseEstimator):
    """One rank for all rows: what is left when no ranker is better."""

    def __init__(self, rank: int = 0) -> None:
        self.rank = rank

    def predict(self, X: Any) -> Codes:
        """The rank, once for each row."""
        return np.full(_num_samples(X), self.rank, dtype=np.intp)


class SignedLearner:
    """Asks an estimator that learns from signed weights, one parameter of it from weak to strong.

    Parameters
    ----------
    ranker : estimator
        Not fitted; its parameter is set in place.
    data : OrdinalData
    settings : list of dict
        Settings of the parameter; one empty setting to leave all as it is.
    target_error : float
    n_threads : int
    rng : RandomState
    """

    def __init__(
        self,
        ranker: Any,
        data: OrdinalData,
        settings: list[dict[str, Any]],
        target_error: float,
        n_threads: int,
        rng: np.random.RandomState,
    ) -> None:
        self._ranker = ranker
        self._find = ranker._signed_learner(data, n_threads, rng)
        self._shape = data.n_classes, data.X.shape[1]
        self._settings = settings
        self._target = target_error

    def __call__(self, V: Matrix) -> tuple[Any, Codes]:
        def fit(setting: dict[str, Any]) -> tuple[Any, Codes]:
            if setting:
                self._ranker.set_params(**setting)
            result, ranks = self._find(V)
            return self._ranker._adopted(result, *self._shape), ranks

        return _weakest_good_one(fit, self._settings, V, self._target)


class CostLearner:
    """Fits copies of an estimator that knows nothing of signed weights."""

    def __init__(
        self,
        ranker: Any,
        data: OrdinalData,
        conversion: str,
        settings: list[dict[str, Any]],
        target_error: float,
        rng: np.random.RandomState,
    ) -> None:
        self._ranker = ranker
        self._data = data
        self._sides = side_matrix(data.codes, data.n_classes)
        self._conversion = conversion
        self._target = target_error
        self._rng = rng
        self._settings = settings

    def __call__(self, V: Matrix) -> tuple[Any, Codes]:
        _, costs = reverse_reduce(self._sides, np.abs(V))
        return _weakest_good_one(
            lambda setting: self._fit(setting, costs), self._settings, V, self._target
        )

    def _fit(self, setting: dict[str, Any], costs: Matrix) -> tuple[Any, Codes]:
        member = seed(clone(self._ranker), self._rng).set_params(**setting)
        X, codes = self._data.X, self._data.codes
        fit_on_costs(member, X, codes, costs, self._conversion, self._rng)
        return member, member_ranks(member, X, self._data.n_classes)


def _weakest_good_one(
    fit: Callable[[dict[str, Any]], tuple[Any, Codes]],
    settings: list[dict[str, Any]],
    V: Matrix,
    target_error: float,
) -> tuple[Any, Codes]:
    """The first member whose error is at most the target, or else the one of least error."""
    if len(settings) == 1:
        return fit(settings[0])
    best: tuple[float, Any, Codes] | None = None
    for setting in settings:
        member, ranks = fit(setting)
        error = share_of_wrong_sides(V, ranks)
        if best is None or error < best[0]:
            best = error, member, ranks
        if error <= target_error:
            return member, ranks
    assert best is not None
    return best[1:]
