"""A model to be put inside another: told the scale, and fitted with weights.

Pipelines and searches are looked through to the model at their end, so that a whole preparation can
sit inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._utils.types import Codes, Vector
from ..ordinal.labels import OrdinalScale
from .reading import FittedModel, answering_model
from .validation import OrdinalData, validate_ordinal_fit


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
    estimator: Any, data: OrdinalData, rows: Codes | None = None, *, weighted: bool
) -> FittedModel:
    """A copy of the estimator fitted on some or all rows, whose labels are their codes."""
    X, codes, weights = data.X, data.codes, data.sample_weight
    if rows is not None:
        X, codes, weights = _safe_indexing(X, rows), codes[rows], weights[rows]
    model = fresh(estimator, classes=np.arange(data.n_classes))
    if is_classifier(model) and len(np.unique(codes[weights > 0])) < 2:
        raise ValueError(
            "Rows that are held out leave only one class to learn from; at least two classes need "
            "two rows or more."
        )
    model.fit(X, codes, **_weight_argument(model, weights) if weighted else {})
    return FittedModel(model, OrdinalScale(np.arange(data.n_classes)))


def validate_around_fitted(
    outer: Any, fitted: Any, X: Any, y: Any, sample_weight: Any
) -> OrdinalData:
    """Check data around a model that is fitted already; its scale is taken over if it has one."""
    check_is_fitted(fitted)
    scale = getattr(answering_model(fitted), "_scale", None)
    if outer.classes is not None or not isinstance(scale, OrdinalScale):
        return validate_ordinal_fit(outer, X, y, sample_weight, convert=False)
    reader = clone(outer).set_params(classes=scale.classes)
    data = validate_ordinal_fit(reader, X, y, sample_weight, convert=False)
    for name in ("n_features_in_", "feature_names_in_"):
        outer.__dict__.pop(name, None)
        if hasattr(reader, name):
            setattr(outer, name, getattr(reader, name))
    return OrdinalData(data.X, data.codes, scale, data.sample_weight)


def _path(estimator: Any) -> str:
    """Prefix of the names of parameters of the model at the end of pipelines and searches."""
    if isinstance(estimator, Pipeline):
        name, step = estimator.steps[-1]
        return f"{name}__{_path(step)}"
    if isinstance(estimator, BaseSearchCV):
        return f"estimator__{_path(estimator.estimator)}"
    return ""


def _weight_argument(model: Any, weights: Vector) -> dict[str, Vector]:
    """Weights under the name by which ``fit`` hands them to the last model."""
    last = answering_model(model)
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} does not accept sample_weight; choose an estimator that does, "
            "or leave the weights out."
        )
    return {f"{_fit_path(model)}sample_weight": weights}


def _fit_path(estimator: Any) -> str:
    """The same prefix for arguments of ``fit``, which a search passes on as they are."""
    if isinstance(estimator, Pipeline):
        name, step = estimator.steps[-1]
        return f"{name}__{_fit_path(step)}"
    return _fit_path(estimator.estimator) if isinstance(estimator, BaseSearchCV) else ""
