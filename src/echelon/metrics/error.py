"""How far predicted labels are from the true ones, in ranks or in cost, also class by class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.types import LabelsLike, Vector, VectorLike
from ..ordinal.costs import cost_matrix
from ._labels import LabelPairs, class_sums, label_metric, read_labels


@label_metric
def mean_absolute_rank_error(pairs: LabelPairs) -> float:
    """Mean number of ranks between the predicted and the true label.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels of any ordered type: numbers, text, booleans, pandas ordered ``Categorical``,
        polars ``Enum``, ordered pyarrow dictionary.
    classes : sequence, optional
        The labels from lowest to highest. By default the order that the type of `y_true` states,
        else that of `y_pred`, else the sorted labels of both.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as two rows, a weight of 0 as none.

    Returns
    -------
    error : float
        From 0 to K−1.

    Examples
    --------
    >>> grades = ["poor", "fair", "good"]
    >>> mean_absolute_rank_error(["poor", "good"], ["poor", "poor"], classes=grades)
    1.0
    """
    return pairs.mean(pairs.distance)


@label_metric
def zero_one_error(pairs: LabelPairs) -> float:
    """Fraction of wrong labels.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels, as in `mean_absolute_rank_error`.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    error : float
        From 0 to 1.

    Examples
    --------
    >>> zero_one_error([1, 2, 3, 3], [1, 2, 3, 1])
    0.25
    """
    return pairs.mean(pairs.distance > 0)


@label_metric
def within_one_accuracy(pairs: LabelPairs) -> float:
    """Fraction of labels that are right or one rank off.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels, as in `mean_absolute_rank_error`.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    accuracy : float
        From 0 to 1.

    Examples
    --------
    >>> within_one_accuracy([1, 2, 3, 3], [1, 1, 3, 1])
    0.75
    """
    return pairs.mean(pairs.distance <= 1)


@label_metric
def macro_mean_absolute_error(pairs: LabelPairs) -> float:
    """Mean over the classes present in `y_true` of the mean rank error within the class.

    Every class counts the same, however rare it is. A class that `classes` names but `y_true`
    lacks (or holds with weight zero only) takes no part.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels, as in `mean_absolute_rank_error`.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    error : float
        From 0 to K−1.

    Examples
    --------
    >>> macro_mean_absolute_error([1, 1, 1, 3], [1, 1, 1, 1], classes=[1, 2, 3])
    1.0
    """
    return float(np.nanmean(error_by_class(pairs)))


@label_metric
def maximum_mean_absolute_error(pairs: LabelPairs) -> float:
    """Mean rank error of the class in `y_true` for which it is largest.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels, as in `mean_absolute_rank_error`.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    error : float
        From 0 to K−1.

    Examples
    --------
    >>> maximum_mean_absolute_error([1, 1, 1, 3], [1, 1, 1, 1], classes=[1, 2, 3])
    2.0
    """
    return float(np.nanmax(error_by_class(pairs)))


def mean_cost(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    cost: str | npt.ArrayLike = "absolute",
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Mean cost of the predictions under a cost matrix.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels, as in `mean_absolute_rank_error`.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        Row y, column r: the cost of predicting r when the truth is y, on the scale's order.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    cost : float

    Examples
    --------
    >>> mean_cost([1, 2, 3], [3, 2, 3], cost="squared")
    1.3333333333333333
    >>> mean_cost([1, 2, 3], [3, 2, 3], cost=[[0, 1, 9], [1, 0, 1], [1, 1, 0]])
    3.0
    """
    pairs = read_labels(y_true, y_pred, classes, sample_weight)
    matrix = cost_matrix(cost, pairs.scale.n_classes)
    return pairs.mean(matrix[pairs.truth, pairs.predicted])


def error_by_class(pairs: LabelPairs) -> Vector:
    """Mean rank error of each class of the scale; NaN for a class without rows."""
    return mean_by_class(pairs, pairs.distance)


def mean_by_class(pairs: LabelPairs, values: npt.ArrayLike) -> Vector:
    """Weighted mean of one value per row over the rows of each true class; NaN without rows."""
    n_classes = pairs.scale.n_classes
    products = pairs.weights * np.asarray(values, dtype=np.float64)
    sums = class_sums(pairs.truth, products, n_classes)
    return ratio(sums, class_sums(pairs.truth, pairs.weights, n_classes))


def ratio(numerator: Vector, denominator: Vector) -> Vector:
    """Quotients, NaN where the denominator is zero."""
    undefined = np.full(len(denominator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)
