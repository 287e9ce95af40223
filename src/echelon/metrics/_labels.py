"""From what callers pass to what metrics use: codes on one scale, scores, probabilities, weights.

Rows of weight zero are dropped here, so that a metric never meets them: they count as absent, and
an infinite loss in one of them does not matter.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes, LabelsLike, Matrix, Vector, VectorLike
from ..ordinal.arrays import check_weights, read_numbers
from ..ordinal.columns import LabelColumn, read_column
from ..ordinal.labels import OrdinalScale, read_scale

# Wide enough for probabilities that were computed in single precision.
SUM_TOLERANCE = 1e-5


@dataclass(frozen=True)
class LabelPairs:
    """Codes of the true and the predicted labels on one scale, and positive weights."""

    truth: Codes
    predicted: Codes
    weights: Vector
    scale: OrdinalScale

    @property
    def distance(self) -> npt.NDArray[np.intp]:
        """How many ranks each prediction is off."""
        return np.abs(self.predicted - self.truth)

    def mean(self, values: npt.ArrayLike) -> float:
        """Weighted mean over the rows."""
        return weighted_mean(values, self.weights)


def weighted_mean(values: npt.ArrayLike, weights: Vector) -> float:
    """Mean of one value per row."""
    return float(np.average(np.asarray(values, dtype=np.float64), weights=weights))


def class_sums(codes: Codes, values: Vector, n_classes: int = 0) -> Vector:
    """Sum of one value per row over the rows of each class."""
    return np.asarray(np.bincount(codes, values, minlength=n_classes), dtype=np.float64)


def read_labels(y_true: Any, y_pred: Any, classes: Any, sample_weight: Any) -> LabelPairs:
    """Put two label columns on one scale.

    The scale is `classes` if given, else the order that the type of `y_true` states, else the
    one that the type of `y_pred` states, else the sorted labels of both.
    """
    truth, predicted = _present_column(y_true, "y_true"), _present_column(y_pred, "y_pred")
    n = len(truth)
    require_length(len(predicted), n, "y_pred")
    weights = check_weights(sample_weight, n)
    kept = weights > 0
    if classes is None and truth.stated_order is None and predicted.stated_order is None:
        truth.refuse_unordered("y_true")
        predicted.refuse_unordered("y_pred")
        labels = _joined(truth.values[kept], predicted.values[kept])
        scale, codes = read_scale(labels, name="y_true (with y_pred)")
        half = len(codes) // 2
        return LabelPairs(codes[:half], codes[half:], weights[kept], scale)
    if classes is None and truth.stated_order is None and predicted.stated_order is not None:
        scale = OrdinalScale(predicted.stated_order)
        codes = scale.encode(truth, name="y_true")
    else:
        scale, codes = read_scale(truth, classes, name="y_true")
    other = scale.encode(predicted, name="y_pred")
    return LabelPairs(codes[kept], other[kept], weights[kept], scale)


Result = TypeVar("Result", covariant=True)


class LabelMetric(Protocol[Result]):
    """A function of true and predicted labels."""

    __name__: str

    def __call__(
        self,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        *,
        classes: LabelsLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Result:
        """Read the labels and apply the formula."""


def label_metric(formula: Callable[[LabelPairs], Result]) -> LabelMetric[Result]:
    """Make a metric of labels from a function of `LabelPairs`."""

    @functools.wraps(formula)
    def metric(y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> Any:
        return formula(read_labels(y_true, y_pred, classes, sample_weight))

    call, own = inspect.signature(LabelMetric.__call__), inspect.signature(formula)
    metric.__signature__ = call.replace(  # type: ignore[attr-defined]
        parameters=list(call.parameters.values())[1:], return_annotation=own.return_annotation
    )
    return metric


def read_scores(
    y_true: Any, scores: Any, classes: Any, sample_weight: Any
) -> tuple[Codes, Vector, Vector]:
    """Codes of the true labels, one score per row, and positive weights."""
    _, codes = read_scale(_present_column(y_true, "y_true"), classes, name="y_true")
    values = read_score_vector(scores, "scores")
    require_length(len(values), len(codes), "scores")
    weights = check_weights(sample_weight, len(codes))
    kept = weights > 0
    return codes[kept], values[kept], weights[kept]


def read_score_vector(scores: Any, name: str) -> Vector:
    """One score per row, without NaN."""
    values = read_numbers(scores, name)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one number per row; found shape {values.shape}.")
    if np.isnan(values).any():
        raise ValueError(f"{name} must not hold NaN; found {int(np.isnan(values).sum())}.")
    return values


def read_probabilities(
    y_true: Any, proba: Any, classes: Any, sample_weight: Any
) -> tuple[Codes, Matrix, Vector]:
    """Codes of the true labels, checked class probabilities, and positive weights."""
    scale, codes = read_scale(_present_column(y_true, "y_true"), classes, name="y_true")
    p = read_numbers(proba, "proba")
    if p.ndim != 2:
        raise ValueError(
            f"proba must have a row per example and a column per class; found shape {p.shape}."
        )
    require_length(len(p), len(codes), "proba")
    if p.shape[1] != scale.n_classes:
        raise ValueError(
            f"proba must have one column per class; found {p.shape[1]} columns for "
            f"{scale.n_classes} classes, and classes=[...] names classes that y_true lacks."
        )
    _check_distributions(p)
    weights = check_weights(sample_weight, len(codes))
    kept = weights > 0
    return codes[kept], p[kept], weights[kept]


def stated_order(y: Any, name: str = "y_true") -> npt.NDArray[Any] | None:
    """Labels from lowest to highest if the column's type states them."""
    return read_column(y, name).stated_order


def plain_labels(y: Any, name: str = "y_true") -> npt.NDArray[Any]:
    """Labels of a column as an array without missing values."""
    return _present_column(y, name).values


def require_fraction(name: str, value: float) -> None:
    """Raise an error unless a level or probability lies between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1; found {value!r}.")


def require_length(found: int, n: int, name: str) -> None:
    """Raise an error unless an argument has as many rows as y_true."""
    if found != n:
        raise ValueError(
            f"{name} must have as many rows as y_true; found {found} rows for {n} labels."
        )


def _present_column(y: Any, name: str) -> LabelColumn:
    column = read_column(y, name)
    if not len(column):
        raise ValueError(f"{name} must have at least one label; found none.")
    column.refuse_missing(name)
    return column


def _joined(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # NumPy would silently turn numbers into text; as objects they stay what they are, and
    # labels.py refuses the mixture.
    if (first.dtype.kind in "US") != (second.dtype.kind in "US"):
        first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


def _check_distributions(p: Matrix) -> None:
    if not np.isfinite(p).all():
        raise ValueError("proba must hold finite numbers; found NaN or infinity.")
    if (p < 0).any():
        raise ValueError(f"proba must not be negative; found {p.min():g}.")
    sums = p.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > SUM_TOLERANCE:
        raise ValueError(
            f"proba must sum to one in every row, within {SUM_TOLERANCE:g}; row {worst} sums to "
            f"{sums[worst]:g}."
        )
