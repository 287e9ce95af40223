"""Base rankers of boosting: estimators of the user, and what thresholds say of two rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from .._utils.types import Vector
from ..base.nested import fit_weighted, seed
from ..base.pair_explanations import PairTerm
from ..solvers.ranking.rank_boost_stumps import Answers, RankStump, read_answers


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
