"""Any estimator as a learner from costs: by costs, by weights, or by drawing examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from .._utils.messages import require_choice
from .._utils.types import Codes, Matrix
from ..base.estimator import BaseEstimator
from ..base.mixins import SignedLearnerMixin
from ..base.nested import member_ranks, seed
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import reverse_reduce, side_matrix
from ..solvers.boosting.adaboost_or import share_of_wrong_sides

Setting = dict[str, Any]
#: Fits an estimator with a parameter set to signed weights, and gives its ranks of the rows.
Fitter = Callable[[Matrix, Setting], tuple[Any, Codes]]


def choose_conversion(conversion: str, estimator: Any) -> str:
    """What ``"auto"`` stands for, and whether the estimator can do what was asked."""
    require_choice("conversion", conversion, ("auto", "cost", "weight", "resample"))
    needed = {"cost": "sample_cost", "weight": "sample_weight"}
    if conversion == "auto":
        able = (kind for kind, name in needed.items() if has_fit_parameter(estimator, name))
        return next(able, "resample")
    if conversion in needed and not has_fit_parameter(estimator, needed[conversion]):
        raise ValueError(
            f"conversion={conversion!r} needs an estimator whose fit accepts "
            f"{needed[conversion]}; {type(estimator).__name__} does not."
        )
    return conversion


def _fit_on_costs(
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
        # Too few for any classifier: the two classes of greatest weight stand beside the sample.
        greatest = np.argsort(-np.bincount(codes, weights))[:2]
        drawn[:2] = [np.argmax(np.where(codes == level, weights, -1.0)) for level in greatest]
    return member.fit(_safe_indexing(X, drawn), codes[drawn])


class ConstantRanker(BaseEstimator):
    """One rank for all rows: what is left when no ranker is better."""

    def __init__(self, rank: int = 0) -> None:
        self.rank = rank

    def predict(self, X: Any) -> Codes:
        """The rank, once for each row."""
        return np.full(_num_samples(X), self.rank, dtype=np.intp)


def signed_member(
    ranker: SignedLearnerMixin, data: OrdinalData, n_threads: int, rng: np.random.RandomState
) -> Fitter:
    """An estimator that learns from signed weights, with its inputs prepared once."""
    find = ranker._signed_learner(data, n_threads, rng)

    def fit(V: Matrix, setting: Setting) -> tuple[Any, Codes]:
        if setting:
            ranker.set_params(**setting)
        result, ranks = find(V)
        return ranker._adopted(result, data.n_classes, data.X.shape[1]), ranks

    return fit


def cost_member(
    ranker: Any, data: OrdinalData, conversion: str, rng: np.random.RandomState
) -> Fitter:
    """An estimator that knows nothing of signed weights and learns from the costs behind them."""
    sides = side_matrix(data.codes, data.n_classes)

    def fit(V: Matrix, setting: Setting) -> tuple[Any, Codes]:
        _, costs = reverse_reduce(sides, np.abs(V))
        member = seed(clone(ranker), rng).set_params(**setting)
        _fit_on_costs(member, data.X, data.codes, costs, conversion, rng)
        return member, member_ranks(member, data.X, data.n_classes)

    return fit


def weakest_good_one(
    fit: Fitter,
    settings: list[Setting],
    V: Matrix,
    target_error: float,
) -> tuple[Any, Codes]:
    """The first member whose error is at most the target, or else the one of least error."""
    if len(settings) == 1:
        return fit(V, settings[0])
    best: tuple[float, Any, Codes] | None = None
    for setting in settings:
        member, ranks = fit(V, setting)
        error = share_of_wrong_sides(V, ranks)
        if error <= target_error:
            return member, ranks
        if best is None or error < best[0]:
            best = error, member, ranks
    assert best is not None
    return best[1:]
