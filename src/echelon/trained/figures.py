"""How good a model is on rows that it has not seen: figures by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from .. import metrics
from ..metrics import Summary
from ..model_selection.leaderboard import LeaderboardRow
from ..ordinal.labels import read_scale
from .model import TrainedModel


def measure(model: TrainedModel, X: Any, y: Any, cost: Any = None) -> dict[str, float]:
    """The figures of `MEASURE_NAMES` that a model has on rows with labels."""
    scale: dict[str, Any] = {"classes": model.classes}
    predicted = model.predict(X)
    figures: dict[str, Any] = (
        {} if cost is None else {"cost": metrics.mean_cost(y, predicted, cost=cost, **scale)}
    )
    figures |= {
        "mae": metrics.mean_absolute_rank_error(y, predicted, **scale),
        "zero_one": metrics.zero_one_error(y, predicted, **scale),
        "qwk": metrics.quadratic_weighted_kappa(y, predicted, **scale),
    }
    if model.can("predict_proba"):
        figures["rps"] = metrics.ranked_probability_score(y, model.predict_proba(X), **scale)
    if model.can("predict_interval"):
        parts = (y, *model.predict_interval(X))
        truth, low, high = (read_scale(part, model.classes)[1] for part in parts)
        figures["interval_coverage"] = np.mean((low <= truth) & (truth <= high))
        figures["interval_width"] = np.mean(high - low + 1)
    return {name: float(value) for name, value in figures.items()}


def row_figures(row: LeaderboardRow) -> dict[str, float]:
    """The figures of a model on a leaderboard, as `cross_validated` gives them."""
    figures: dict[str, float] = {}
    for name in row.folds:
        summary = row.summary(name)
        if np.isfinite(summary.mean):
            figures |= {name: float(summary.mean), f"{name}_se": float(summary.se)}
    return figures


def cross_validated(
    fit_and_measure: Callable[[Any, Any], dict[str, float]],
    folds: Sequence[tuple[Any, Any]],
    *,
    patience: float,
    n_jobs: int | None,
) -> tuple[dict[str, float], int]:
    """Means and standard errors over folds, and how many folds there was time for.

    Parameters
    ----------
    fit_and_measure : callable
        From training and test rows to figures.
    folds : sequence of (training rows, test rows)
    patience : float
        No fold is begun after so many seconds; at least one is measured.
    n_jobs : int or None
        Folds at a time, as in joblib.

    Returns
    -------
    figures : dict of str to float
        Standard errors are called ``<name>_se``.
    measured : int
    """
    together = min(effective_n_jobs(n_jobs), len(folds))
    start = time.monotonic()
    found: list[dict[str, float]] = []
    for first in range(0, len(folds), together):
        if found and time.monotonic() - start > patience:
            break
        found += Parallel(n_jobs=together)(
            delayed(fit_and_measure)(train, test) for train, test in folds[first : first + together]
        )
    figures = {}
    for name in found[0]:
        summary = Summary.of([fold[name] for fold in found])
        figures[name] = summary.mean
        figures[f"{name}_se"] = summary.se
    return figures, len(found)
