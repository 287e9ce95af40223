"""How alike two columns order the rows: rank correlations and the concordance index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.types import LabelsLike, Vector, VectorLike
from ..pairs.concordance import count_pairs
from ._labels import class_sums, read_labels, read_scores


def kendall_tau_b(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Kendall's rank correlation with the correction for ties.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels of any ordered type: numbers, text, booleans, pandas ordered ``Categorical``,
        polars ``Enum``, ordered pyarrow dictionary.
    classes : sequence, optional
        The labels from lowest to highest. By default the order that the type of `y_true` states,
        else that of `y_pred`, else the sorted labels of both.
    sample_weight : array-like of shape (n,), optional
        A pair of rows weighs the product of their weights.

    Returns
    -------
    tau : float
        From −1 to 1; NaN, without a warning, if either column holds one label only.

    Notes
    -----
    τ_b = (C − D) / √((C + D + T_pred)(C + D + T_true)) with C and D the concordant and discordant
    pairs, and T_pred and T_true those tied in one column only. O(n log n).

    Examples
    --------
    >>> kendall_tau_b([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    pairs = read_labels(y_true, y_pred, classes, sample_weight)
    counts = count_pairs(pairs.truth, pairs.predicted, pairs.weights)
    return _correlation(
        counts.concordant - counts.discordant, counts.differing_in_a, counts.differing_in_b
    )


def spearman_correlation(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Spearman's rank correlation: Pearson's of the mid-ranks.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels, as in `kendall_tau_b`.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional
        The mid-rank of a label is the weight of the lower labels plus half its own.

    Returns
    -------
    rho : float
        From −1 to 1; NaN, without a warning, if either column holds one label only.

    Examples
    --------
    >>> spearman_correlation([1, 2, 3], [1, 3, 2])
    0.5
    """
    pairs = read_labels(y_true, y_pred, classes, sample_weight)
    u = _centred_midranks(pairs.truth, pairs.weights)
    v = _centred_midranks(pairs.predicted, pairs.weights)
    return _correlation(pairs.mean(u * v), pairs.mean(u * u), pairs.mean(v * v))


def concordance_index(
    y_true: LabelsLike,
    scores: npt.ArrayLike,
    *,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Fraction of the pairs with different labels that the scores order right.

    A tie in score counts one half. With two classes this is the area under the ROC curve.

    Parameters
    ----------
    y_true : array-like or data-frame column of shape (n,)
        Labels, as in `kendall_tau_b`.
    scores : array-like of shape (n,)
        Numbers that should grow with the label; infinities are allowed.
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional
        A pair of rows weighs the product of their weights.

    Returns
    -------
    index : float
        From 0 to 1, one half for constant scores; NaN, without a warning, if all labels are equal
        and no pair can be compared.

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> concordance_index([1, 1, 2, 3], [0.1, 0.4, 0.4, 0.9])
    0.9
    """
    codes, values, weights = read_scores(y_true, scores, classes, sample_weight)
    # Labels have few distinct values, so the counting tree over them is small.
    counts = count_pairs(values, codes, weights)
    comparable = counts.differing_in_b
    if comparable == 0:
        return float("nan")
    return (counts.concordant + 0.5 * counts.tied_in_a) / comparable


def _centred_midranks(codes: npt.NDArray[np.intp], weights: Vector) -> Vector:
    """Mid-ranks less their mean, as a share of the whole weight; zeros for a constant column."""
    mass = class_sums(codes, weights)
    mass /= mass.sum()
    # The mean of the mid-ranks is one half: Σ_c m_c (Σ_{d<c} m_d + m_c / 2) = (Σ_c m_c)² / 2.
    midranks = np.cumsum(mass) - 0.5 * mass - 0.5
    return midranks[codes]


def _correlation(product: float, square_a: float, square_b: float) -> float:
    """Product over the root of the two squares; NaN if one of them is zero."""
    if square_a == 0 or square_b == 0:
        return float("nan")
    # In this form two equal squares cancel exactly, so a perfect correlation is 1 to the last
    # digit; the clip is for the last digit of the others.
    return float(np.clip(product / square_a * np.sqrt(square_a / square_b), -1.0, 1.0))
