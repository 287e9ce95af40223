"""Estimators inside estimators: cloning, seeding, telling them the scale, fitting with weights.

Pipelines and searches are looked through to the model at their end, so that a whole preparation can
sit inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import has_fit_parameter

from .._utils.types import Codes
from ..ordinal.arrays import LARGEST_SEED
from ..ordinal.data import OrdinalData
from ..ordinal.labels import OrdinalScale
from .mixins import SignedLearnerMixin
from .reading import FittedModel
from .row_design import RowDesign
from .wrappers import final_estimator


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


def is_frozen(estimator: Any) -> bool:
    """Whether an estimator is fitted already and says so."""
    return isinstance(estimator, FrozenEstimator)


def fresh(estimator: Any, **told: Any) -> Any:
    """A copy of an estimator whose model is told the values of parameters that it has.

    With ``classes`` it knows the whole scale, also where rows lack a class. None is not told.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from echelon import PRank
    >>> fresh(make_pipeline(StandardScaler(), PRank()), classes=[1, 2], colour="red")[-1]
    PRank(classes=[1, 2])
    """
    copy = clone(estimator)
    path, known = _path(copy), copy.get_params()
    told = {f"{path}{name}": value for name, value in told.items() if value is not None}
    return copy.set_params(**{name: value for name, value in told.items() if name in known})


def knows_order(estimator: Any) -> bool:
    """Whether the model at the end of an estimator can be told the labels' order."""
    return f"{_path(estimator)}classes" in estimator.get_params()


def fit_on_codes(
    estimator: Any, data: OrdinalData, rows: Codes | None = None, design: RowDesign | None = None
) -> FittedModel:
    """A copy of the estimator fitted on some or all rows, whose labels are their codes.

    Groups and times of the rows go to a model that holds rows out itself.
    """
    X, codes, weights = data.X, data.codes, data.sample_weight
    if rows is not None:
        X, codes, weights = _safe_indexing(X, rows), codes[rows], weights[rows]
    model = fresh(estimator, classes=np.arange(data.n_classes))
    if is_classifier(model) and len(np.unique(codes[weights > 0])) < 2:
        raise ValueError(
            "Rows that are held out leave only one class to learn from; at least two classes need "
            "two rows or more."
        )
    design = RowDesign() if design is None else design
    design = replace(
        design if rows is None else design.take(rows), weights=weights if data.weighted else None
    )
    model.fit(X, codes, **fit_arguments(model, design))
    return FittedModel(model, OrdinalScale(np.arange(data.n_classes)))


def _path(estimator: Any, search: str = "estimator__") -> str:
    """Prefix of the names of parameters of the model at the end of pipelines and searches.

    Arguments of ``fit`` have the same one, but that a `search` passes them on as they are.
    """
    if isinstance(estimator, Pipeline):
        name, step = estimator.steps[-1]
        return f"{name}__{_path(step, search)}"
    if isinstance(estimator, BaseSearchCV):
        return f"{search}{_path(estimator.estimator, search)}"
    return ""


def fit_arguments(model: Any, design: RowDesign) -> dict[str, Any]:
    """Arguments of ``fit`` that hand what is known of rows to the model at the end.

    Groups and times are for models that hold rows out themselves; weights must be accepted.
    """
    last = final_estimator(model)
    if design.weights is not None and not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} does not accept sample_weight; choose an estimator that does, "
            "or leave the weights out."
        )
    known = {"sample_weight": design.weights, "groups": design.groups, "time": design.times}
    path = _path(model, search="")
    return {
        f"{path}{name}": values
        for name, values in known.items()
        if values is not None and has_fit_parameter(last, name)
    }
