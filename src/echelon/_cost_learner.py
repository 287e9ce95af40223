"""Any estimator as a learner from costs: by costs, by weights, or by drawing examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from ._members import member_ranks, seed
from ._validation import OrdinalData
from .ordinal.costs import Matrix
from .ordinal.labels import Codes
from .ordinal.reduction import reverse_reduce, side_matrix
from .solvers.adaboost_or import share_of_wrong_sides

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


class CostLearner:
    """Fits copies of an estimator that knows nothing of signed weights."""

    def __init__(
        self,
        ranker: Any,
        data: OrdinalData,
        conversion: str,
        capacity: dict[str, Any] | None,
        target_error: float,
        rng: np.random.RandomState,
    ) -> None:
        self._ranker = ranker
        self._data = data
        self._sides = side_matrix(data.codes, data.n_classes)
        self._conversion = conversion
        self._target = target_error
        self._rng = rng
        self._settings: list[dict[str, Any]] = [{}]
        if capacity is not None:
            ((name, values),) = capacity.items()
            self._settings = [{name: value} for value in values]

    def __call__(self, V: Matrix) -> tuple[Any, Codes]:
        _, costs = reverse_reduce(self._sides, np.abs(V))
        best: tuple[float, Any, Codes] | None = None
        for setting in self._settings:
            member, ranks = self._fit(setting, costs)
            error = share_of_wrong_sides(V, ranks)
            if best is None or error < best[0]:
                best = error, member, ranks
            if error <= self._target:
                break
        assert best is not None
        return best[1], best[2]

    def _fit(self, setting: dict[str, Any], costs: Matrix) -> tuple[Any, Codes]:
        member = seed(clone(self._ranker), self._rng).set_params(**setting)
        X, codes = self._data.X, self._data.codes
        fit_on_costs(member, X, codes, costs, self._conversion, self._rng)
        return member, member_ranks(member, X, self._data.n_classes)
