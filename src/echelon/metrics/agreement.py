"""Agreement and association between true and predicted labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from .._utils.types import LabelsLike, Vector, VectorLike
from ..ordinal.costs import check_cost_matrix
from ..pairs.misranking import count_pairs
from ._labels import LabelPairs, class_sums, label_metric, read_labels, read_scores


def weighted_kappa(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    weights: str | npt.ArrayLike = "quadratic",
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Cohen's weighted kappa.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
        Labels of any ordered type: numbers, text, booleans, pandas ordered ``Categorical``,
        polars ``Enum``, ordered pyarrow dictionary.
    weights : {"quadratic", "linear", "unweighted"} or array-like of shape (K, K)
        How much a disagreement counts: the squared or the absolute difference of ranks, one, or
        the entries of a matrix with zeros on its diagonal.
    classes : sequence, optional
        The labels from lowest to highest. By default the order that the type of `y_true` states,
        else that of `y_pred`, else the sorted labels of both.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as two rows, a weight of 0 as none.

    Returns
    -------
    kappa : float
        1 for perfect agreement, about 0 for independent labels, possibly negative. If every true
        and every predicted label is one and the same, chance agrees perfectly too and the quotient
        is 0/0; the agreement is perfect, and the value is 1.

    Notes
    -----
    κ = 1 − Σ_yr v[y, r] O[y, r] / Σ_yr v[y, r] E[y, r], with O the observed joint distribution
    of labels and predictions and E the product of its marginals. For the named weights no K×K
    matrix is formed.

    Examples
    --------
    >>> weighted_kappa([1, 2, 3, 4], [1, 2, 4, 3], weights="linear")
    0.6
    """
    pairs = read_labels(y_true, y_pred, classes, sample_weight)
    return kappa_of(pairs, weights)


@label_metric
def quadratic_weighted_kappa(pairs: LabelPairs) -> float:
    """Cohen's kappa with squared differences of ranks; see `weighted_kappa`.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> quadratic_weighted_kappa([1, 2, 3, 4], [1, 2, 4, 3])
    0.8
    """
    return kappa_of(pairs, "quadratic")


@label_metric
def linear_weighted_kappa(pairs: LabelPairs) -> float:
    """Cohen's kappa with absolute differences of ranks; see `weighted_kappa`.

    Parameters
    ----------
    y_true, y_pred : array-like or data-frame column of shape (n,)
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> linear_weighted_kappa([1, 2, 3, 4], [1, 2, 4, 3])
    0.6
    """
    return kappa_of(pairs, "linear")


def kappa_of(pairs: LabelPairs, weights: str | npt.ArrayLike) -> float:
    """Kappa of labels that are already on one scale."""
    observed, expected = _disagreement(pairs, weights)
    return 1.0 if expected == 0 else 1.0 - observed / expected


def _disagreement(pairs: LabelPairs, weights: str | npt.ArrayLike) -> tuple[float, float]:
    """Mean disagreement of the rows, and of independent draws from the two marginals."""
    p, q = _marginal(pairs, pairs.truth), _marginal(pairs, pairs.predicted)
    if not isinstance(weights, str):
        matrix = check_cost_matrix(weights, pairs.scale.n_classes)
        return pairs.mean(matrix[pairs.truth, pairs.predicted]), float(p @ matrix @ q)
    if weights == "quadratic":
        codes = np.arange(pairs.scale.n_classes)
        mean_p, mean_q = p @ codes, q @ codes
        spread = p @ (codes - mean_p) ** 2 + q @ (codes - mean_q) ** 2
        return pairs.mean(pairs.distance**2), float(spread + (mean_p - mean_q) ** 2)
    if weights == "linear":
        # E|Y − R| of independent Y and R: each threshold between them adds one.
        below_p, below_q = np.cumsum(p)[:-1], np.cumsum(q)[:-1]
        above_p, above_q = np.cumsum(p[::-1])[-2::-1], np.cumsum(q[::-1])[-2::-1]
        return pairs.mean(pairs.distance), float(below_p @ above_q + below_q @ above_p)
    require_choice("weights", weights, ("quadratic", "linear", "unweighted"), "a matrix")
    return pairs.mean(pairs.distance > 0), float(p @ _others(q))


def _marginal(pairs: LabelPairs, codes: npt.NDArray[np.intp]) -> Vector:
    mass = class_sums(codes, pairs.weights, pairs.scale.n_classes)
    return mass / mass.sum()


def _others(p: Vector) -> Vector:
    """Probability of all classes but each one, as sums, so that a certain class leaves none."""
    before = np.concatenate([[0.0], np.cumsum(p)[:-1]])
    after = np.concatenate([np.cumsum(p[::-1])[-2::-1], [0.0]])
    return before + after


@label_metric
def kendall_tau_b(pairs: LabelPairs) -> float:
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
    counts = count_pairs(pairs.truth, pairs.predicted, pairs.weights)
    return _correlation(
        counts.concordant - counts.discordant, counts.differing_in_a, counts.differing_in_b
    )


@label_metric
def spearman_correlation(pairs: LabelPairs) -> float:
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
    return count_pairs(values, codes, weights).concordance


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
