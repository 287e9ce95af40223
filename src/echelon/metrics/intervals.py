"""Intervals of labels: how often they hold the truth, and how many labels they hold."""

from __future__ import annotations

import numpy as np

from .._utils.types import Codes, LabelsLike, Vector, VectorLike
from ..ordinal.arrays import check_weights
from ..ordinal.labels import read_scale
from ._labels import weighted_mean

Ends = tuple[LabelsLike, LabelsLike]


def interval_coverage(
    y_true: LabelsLike,
    ends: Ends,
    *,
    classes: LabelsLike,
    sample_weight: VectorLike | None = None,
) -> float:
    """Fraction of labels that lie in their intervals.

    Parameters
    ----------
    y_true : array-like or data-frame column of shape (n,)
    ends : two columns like `y_true`
        Lowest and highest label of each row's interval, both included.
    classes : sequence
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    coverage : float
        From 0 to 1.

    Examples
    --------
    >>> interval_coverage([1, 2, 3, 3], ([1, 1, 1, 1], [1, 2, 2, 3]), classes=[1, 2, 3])
    0.75
    """
    truth, low, high = (read_scale(part, classes)[1] for part in (y_true, *ends))
    return weighted_mean(row_coverage(truth, low, high), check_weights(sample_weight, len(truth)))


def interval_width(
    y_true: LabelsLike,
    ends: Ends,
    *,
    classes: LabelsLike,
    sample_weight: VectorLike | None = None,
) -> float:
    """Mean number of labels in an interval; the arguments are those of `interval_coverage`.

    Examples
    --------
    >>> interval_width([1, 2, 3, 3], ([1, 1, 1, 1], [1, 2, 2, 3]), classes=[1, 2, 3])
    2.0
    """
    low, high = (read_scale(part, classes)[1] for part in ends)
    return weighted_mean(row_widths(low, high), check_weights(sample_weight, len(low)))


def row_coverage(truth: Codes, low: Codes, high: Codes) -> Vector:
    """One for every row whose code lies in its interval, zero for the others."""
    return ((low <= truth) & (truth <= high)).astype(np.float64)


def row_widths(low: Codes, high: Codes) -> Vector:
    """Labels in the interval of every row."""
    return (high - low + 1).astype(np.float64)
