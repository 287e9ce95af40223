"""Estimators inside estimators: cloning, seeding, fitting on costs, and their ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from .._utils.types import Codes
from ..ordinal.arrays import LARGEST_SEED
from .mixins import SignedLearnerMixin


def clone_or(estimator: Any, default: Callable[[], Any]) -> Any:
    """A fresh copy of the estimator, or of the default where there is none."""
    return default() if estimator is None else clone(estimator)


def inherit_input_tags(tags: Any, inner: Any, default: Callable[[], Any]) -> Any:
    """Accept the inputs that the inner estimator accepts."""
    inherited = get_tags(default() if inner is None else inner).input_tags
    tags.input_tags.sparse = inherited.sparse
    tags.input_tags.allow_nan = inherited.allow_nan
    return tags


def seed(estimator: Any, rng: np.random.RandomState) -> Any:
    """Set every ``random_state`` of the estimator and of what it holds."""
    names = sorted(n for n in estimator.get_params() if n.split("__")[-1] == "random_state")
    if names:
        estimator.set_params(**{name: rng.randint(LARGEST_SEED) for name in names})
    return estimator


def know_all_levels(estimator: Any, n_classes: int) -> Any:
    """Tell an ordinal estimator that its labels are the codes 0 … K−1, seen or not."""
    if "classes" in estimator.get_params(deep=False):
        estimator.set_params(classes=np.arange(n_classes))
    return estimator


def fit_weighted(model: Any, X: Any, target: Any, weights: Any, **params: Any) -> Any:
    """Fit with weights where there are any, and say so where the model cannot take them."""
    if weights is None:
        return model.fit(X, target, **params)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"{type(model).__name__} does not accept sample_weight, which these weights or this "
            "cost need; choose an estimator that does."
        )
    return model.fit(X, target, sample_weight=weights, **params)


def member_ranks(member: Any, X: Any, n_classes: int) -> Codes:
    """Ranks that a member fitted on codes gives; numbers of a regressor are rounded."""
    if isinstance(member, SignedLearnerMixin) and _is_ready(X):
        return member._ranks(X)
    predicted: npt.NDArray[Any] = np.asarray(member.predict(X)).reshape(-1)
    if is_regressor(member):
        predicted = np.clip(np.rint(predicted), 0, n_classes - 1)
    return predicted.astype(np.intp)


def _is_ready(X: Any) -> bool:
    """Whether inputs are an array of doubles, which ensembles have checked already."""
    return isinstance(X, np.ndarray) and X.dtype == np.float64
