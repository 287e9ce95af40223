"""Cohen's kappa: agreement beyond what the two marginal distributions give by chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.choices import require_choice
from .._utils.types import LabelsLike, Vector, VectorLike
from ..ordinal.costs import check_cost_matrix
from ._labels import LabelPairs, read_labels

KAPPA_WEIGHTS = ("quadratic", "linear", "unweighted")


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


def quadratic_weighted_kappa(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
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
    return weighted_kappa(
        y_true, y_pred, weights="quadratic", classes=classes, sample_weight=sample_weight
    )


def linear_weighted_kappa(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
) -> float:
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
    return weighted_kappa(
        y_true, y_pred, weights="linear", classes=classes, sample_weight=sample_weight
    )


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
    require_choice("weights", weights, KAPPA_WEIGHTS, "a matrix")
    return pairs.mean(pairs.distance > 0), float(p @ _others(q))


def _marginal(pairs: LabelPairs, codes: npt.NDArray[np.intp]) -> Vector:
    mass = np.bincount(codes, pairs.weights, minlength=pairs.scale.n_classes)
    return mass / mass.sum()


def _others(p: Vector) -> Vector:
    """Probability of all classes but each one, as sums, so that a certain class leaves none."""
    before = np.concatenate([[0.0], np.cumsum(p)[:-1]])
    after = np.concatenate([np.cumsum(p[::-1])[-2::-1], [0.0]])
    return before + after
