"""Measures of class probabilities and of label intervals."""

from __future__ import annotations

import numpy as np

from .._utils.types import Codes, LabelsLike, Matrix, MatrixLike, Vector, VectorLike
from ..ordinal.arrays import check_weights, require_count
from ..ordinal.labels import read_scale
from ..ordinal.likelihoods import with_one_more_row
from ._labels import read_probabilities, weighted_mean


def ranked_probability_score(
    y_true: LabelsLike,
    proba: MatrixLike,
    *,
    normalize: bool = True,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Mean squared distance between the predicted and the true cumulative distribution.

    Parameters
    ----------
    y_true : array-like or data-frame column of shape (n,)
        Labels of any ordered type: numbers, text, booleans, pandas ordered ``Categorical``,
        polars ``Enum``, ordered pyarrow dictionary.
    proba : array-like of shape (n, K)
        Class probabilities, columns from the lowest class to the highest.
    normalize : bool, default=True
        Whether to divide by K−1, so that the score lies between 0 and 1 whatever K is.
    classes : sequence, optional
        The labels from lowest to highest; needed if `y_true` lacks one of them and its type does
        not state them.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as two rows, a weight of 0 as none.

    Returns
    -------
    score : float
        Zero if every true class has probability one; also zero if there is one class only.

    Notes
    -----
    RPS = mean_i Σ_{k=1}^{K−1} (P(Y ≤ k | x_i) − [y_i ≤ k])², a proper score that charges more for
    probability that lies further from the truth.

    Examples
    --------
    >>> p = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    >>> ranked_probability_score(["low", "high"], p, classes=["low", "mid", "high"])
    0.125
    """
    codes, p, weights = read_probabilities(y_true, proba, classes, sample_weight)
    score = weighted_mean(row_ranked_probability_scores(codes, p), weights)
    n_thresholds = p.shape[1] - 1
    return score / n_thresholds if normalize and n_thresholds else score


def row_ranked_probability_scores(codes: Codes, p: Matrix) -> Vector:
    """Σ_k (P(Y ≤ k) − [y ≤ k])² of every row."""
    cumulative = np.cumsum(p[:, :-1], axis=1)
    cumulative -= codes[:, None] <= np.arange(p.shape[1] - 1)
    return np.einsum("ik,ik->i", cumulative, cumulative)


def ordinal_log_loss(
    y_true: LabelsLike,
    proba: MatrixLike,
    *,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
    training_rows: int | None = None,
) -> float:
    """Mean negative logarithm of the probability of the true class.

    Parameters
    ----------
    y_true : array-like or data-frame column of shape (n,)
        Labels, as in `ranked_probability_score`.
    proba : array-like of shape (n, K)
        Class probabilities, columns from the lowest class to the highest.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional
    training_rows : int, optional
        How many rows m the model has learnt from, for a loss that is always finite: every
        probability p becomes (m·p + 1/K)/(m + 1), as one more row changes it that speaks for all
        K labels evenly.

    Returns
    -------
    loss : float
        Without `training_rows` the exact logarithm: if a true class has probability zero, the loss
        is infinite. With it a zero costs ln(K(m + 1)).

    Examples
    --------
    >>> ordinal_log_loss([1, 2], [[1.0, 0.0], [0.0, 1.0]])
    0.0
    >>> ordinal_log_loss([1, 2], [[1.0, 0.0], [1.0, 0.0]])
    inf
    >>> ordinal_log_loss([1, 2], [[1.0, 0.0], [1.0, 0.0]], training_rows=49)
    2.307610260920796
    """
    codes, p, weights = read_probabilities(y_true, proba, classes, sample_weight)
    if training_rows is not None:
        require_count("training_rows", training_rows)
        p = with_one_more_row(p, training_rows)
    return weighted_mean(row_log_losses(codes, p), weights)


def row_log_losses(codes: Codes, p: Matrix) -> Vector:
    """−ln P(Y = y) of every row, infinite where that is zero."""
    with np.errstate(divide="ignore"):
        # Subtracting from zero keeps −0.0 out of a perfect score.
        return np.asarray(0.0 - np.log(p[np.arange(len(codes)), codes]))


Ends = tuple[LabelsLike, LabelsLike]


def interval_coverage(
    y_true: LabelsLike, ends: Ends, *, classes: LabelsLike, sample_weight: VectorLike | None = None
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
    y_true: LabelsLike, ends: Ends, *, classes: LabelsLike, sample_weight: VectorLike | None = None
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
