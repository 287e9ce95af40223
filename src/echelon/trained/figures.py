"""How good a model is on rows that it has not seen: figures by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from ..metrics import Summary
from ..metrics.measures import Need, measure_responses
from .model import TrainedModel

#: Measures that a trained model keeps, as far as it gives what they need.
KEPT = ("mae", "zero_one", "qwk", "rps", "interval_coverage", "interval_width")


def measure(model: TrainedModel, X: Any, y: Any, cost: Any = None) -> dict[str, float]:
    """Figures that a model has on rows with labels, by the keys of the table of measures."""
    scale = {"classes": model.classes}
    responses: dict[Need, Any] = {"labels": model.predict(X)}
    if model.can("predict_proba"):
        responses["probabilities"] = model.predict_proba(X)
    if model.can("predict_interval"):
        responses["intervals"] = model.predict_interval(X)
    by_cost = {} if cost is None else measure_responses(["cost"], y, responses, cost=cost, **scale)
    return by_cost | measure_responses(KEPT, y, responses, **scale)


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
