"""Models inside pipelines, searches and other models, and the way of the rows to them.

A model hands its rows on to another: a pipeline to its last step, a search to the best estimator, a
frozen estimator to the one it keeps, a `Wrapper` to the one whose predictions it refines. `layers`
goes this way from the outside in. A `TrainedModel`, which belongs to a table, stands before them
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy.typing as npt
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from ..ordinal.columns import plain_array


@runtime_checkable
class TrainedModel(Protocol):
    """A fitted estimator that belongs to a table; no estimator has both of these."""

    estimator: Any

    def inputs(self, X: Any) -> Any:
        """The columns that the estimator was fitted to, in their order and types."""


class Wrapper:
    """An estimator that refines what one fitted model inside, ``estimator_``, says of rows."""

    estimator_: Any


class Layer(NamedTuple):
    """A model, and the fitted transformers that rows pass on their way to it."""

    model: Any
    before: tuple[Any, ...]

    def rows(self, X: Any) -> Any:
        """Inputs as the model sees them."""
        return transformed(self.before, X)


def layers(model: Any) -> Iterator[Layer]:
    """A model and the models inside that it hands its rows on to, from the outside in.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from echelon import ProportionalOdds
    >>> whole = make_pipeline(StandardScaler(), ProportionalOdds())
    >>> [(type(model).__name__, len(before)) for model, before in layers(whole)]
    [('Pipeline', 0), ('ProportionalOdds', 1)]
    """
    before: tuple[Any, ...] = ()
    inner = inner_estimator(model)
    while inner is not None:
        yield Layer(inner, before)
        if isinstance(inner, Pipeline):
            steps = (step for _, step in inner.steps[:-1])
            before += tuple(step for step in steps if not _does_nothing(step))
        inner = _inside(inner)


def _does_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _inside(model: Any) -> Any:
    """The model that another hands rows on to; None if it answers by itself."""
    if isinstance(model, Wrapper):
        return getattr(model, "estimator_", None)
    if isinstance(model, FrozenEstimator):
        return model.estimator
    if isinstance(model, Pipeline):
        return model.steps[-1][1]
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    return model.estimator if isinstance(model, BaseSearchCV) else None


def inner_estimator(model: Any) -> Any:
    """The fitted estimator of a trained model; any other model as it is."""
    return model.estimator if isinstance(model, TrainedModel) else model


def known_inputs(model: Any, X: Any) -> Any:
    """Inputs with the columns that a trained model knows; as they are for any other model."""
    return model.inputs(X) if isinstance(model, TrainedModel) else X


def transformed(before: Sequence[Any], X: Any) -> Any:
    """Inputs after fitted transformers."""
    for step in before:
        X = step.transform(X)
    return X


def final_estimator(model: Any) -> Any:
    """The model at the end of pipelines, searches and frozen estimators, fitted or not.

    None for None, the default of estimators that take another.
    """
    return next((layer.model for layer in layers(model) if not is_passage(layer.model)), None)


def is_passage(model: Any) -> bool:
    """Whether a model only hands rows on, as pipelines, searches and frozen estimators do."""
    kinds = FrozenEstimator | Pipeline | BaseSearchCV
    return isinstance(model, kinds) or hasattr(model, "best_estimator_")


def last_step(model: Any) -> tuple[list[Any], Any]:
    """Fitted transformers before the innermost model, and that one, with nothing around it."""
    *_, (last, before) = layers(model)
    return list(before), last


def output_names(before: Sequence[Any]) -> list[str] | None:
    """Names of the columns that fitted transformers give; None if they do not say."""
    names = None
    for step in before:
        try:
            names = step.get_feature_names_out(names)
        except (AttributeError, ValueError):
            return None
    return None if names is None else [str(name) for name in names]


def opened(model: Any, X: Any, attribute: str) -> tuple[Any, Any] | None:
    """The outermost model that has an attribute, and the rows it sees; None if none has it.

    Rows may be None, and are then left so.
    """
    for layer in layers(model):
        if hasattr(layer.model, attribute):
            return layer.model, None if X is None else layer.rows(known_inputs(model, X))
    return None


def known_classes(model: Any) -> npt.NDArray[Any] | None:
    """Labels as a model lists them, fitted or not; None if it does not know them.

    A classifier that knows no order has sorted them.
    """
    for name in ("classes_", "classes"):
        found = getattr(model, name, None)
        if found is not None and len(found):
            return plain_array(found)
    return None
