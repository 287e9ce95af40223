"""Predicted probabilities of an event against how often it happened, in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .._utils.types import Vector


@dataclass(frozen=True)
class CalibrationBins:
    """Bins that have rows, by rising probability.

    Parameters
    ----------
    predicted, observed : ndarray
        Mean probability, and share of rows with the event.
    low, high : ndarray
        Wilson's interval for the share.
    counts : ndarray
        Weight of the rows.
    """

    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector
    counts: Vector


def calibration_bins(
    happened: npt.ArrayLike,
    probability: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    n_bins: int = 10,
    strategy: str = "quantile",
    confidence: float = 0.9,
) -> CalibrationBins:
    """Put rows into bins of their probability.

    Parameters
    ----------
    happened : array-like of shape (n,)
        Whether the event happened.
    probability : array-like of shape (n,)
    weights : array-like of shape (n,), optional
    n_bins : int
    strategy : {"quantile", "uniform"}
        Bins of about equal numbers of rows, with equal probabilities in one bin, or of equal width.
    confidence : float
        Level of the intervals. With weights they rest on (Σw)²/Σw² rows.

    Returns
    -------
    bins : CalibrationBins

    Examples
    --------
    >>> bins = calibration_bins([0, 1, 0, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> bins.predicted, bins.observed, bins.counts
    (array([0.15, 0.85]), array([0.5, 0.5]), array([2., 2.]))
    """
    p = np.asarray(probability, dtype=np.float64)
    y = np.asarray(happened, dtype=np.float64)
    w = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    inner = np.arange(1, n_bins) / n_bins
    edges = _quantiles(p, w, inner) if strategy == "quantile" else inner
    number = np.searchsorted(edges, p, side="left")
    total, squares = (np.bincount(number, part, minlength=n_bins) for part in (w, w * w))
    has = total > 0
    total, squares = total[has], squares[has]
    predicted, observed = (
        np.bincount(number, w * part, minlength=n_bins)[has] / total for part in (p, y)
    )
    low, high = wilson_interval(observed, total**2 / squares, confidence)
    return CalibrationBins(predicted, observed, low, high, total)


def wilson_interval(share: Vector, n: Vector, confidence: float) -> tuple[Vector, Vector]:
    """Wilson's interval for the probability behind a share of n independent rows.

    Examples
    --------
    >>> low, high = wilson_interval(np.array([0.5]), np.array([10.0]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.2366]), array([0.7634]))
    """
    z = float(ndtri(0.5 + 0.5 * confidence))
    centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2) / (1.0 + z * z / n)
    # Rounding must not leave the share, or the unit interval, outside.
    return np.minimum(np.maximum(centre - half, 0.0), share), np.maximum(
        np.minimum(centre + half, 1.0), share
    )


def _quantiles(p: Vector, w: Vector, levels: Vector) -> Vector:
    """Least probabilities below or at which shares of the weight lie."""
    order = np.argsort(p, kind="stable")
    reached = np.cumsum(w[order])
    found = np.searchsorted(reached, levels * reached[-1] * (1.0 - 1e-12))
    return p[order][np.minimum(found, len(p) - 1)]
