"""From a table to a model that can be taken away."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.parallel import Parallel, delayed

from .._utils.types import CostLike, LabelsLike, MatrixLike
from ..base.nested import fresh, knows_order
from ..base.wrappers import final_estimator
from ..meta.calibration import OrdinalCalibrator
from ..meta.conformal import ConformalOrdinal
from ..metrics import Summary
from ..metrics.measures import Need, measure_responses
from ..metrics.probability import row_ranked_probability_scores
from ..model_selection.preparation import prepare, searched_settings, tune
from ..model_selection.roster import Candidate, find_candidate
from ..model_selection.splitters import stratified_folds
from ..ordinal.labels import read_scale
from ..tables import LabelledTable, RankingTable, labelled_table, rows_digest
from ..tables.faults import lasting
from ..tables.options import StatedOptions
from .model import TrainedModel, plain
from .ranking import train_ranker

#: Measures that a trained model keeps, as far as it gives what they need.
KEPT = ("mae", "zero_one", "qwk", "rps", "interval_coverage", "interval_width")
_FOLDS = 5
# Seconds after which no further fold is measured.
_PATIENCE = 120.0
# Folds of what is fitted several times inside: the scores that probabilities are learnt from.
_SCORE_FOLDS = 3
# Rows on which a model's own probabilities are weighed against calibrated ones.
_WEIGHING_ROWS = 1500


def train(
    X: LabelledTable | RankingTable | MatrixLike,
    y: LabelsLike | None = None,
    model: str | Candidate | Any = None,
    *,
    target: str | None = None,
    order: str | None = None,
    cost: CostLike | None = None,
    confidence: float = 0.9,
    random_state: int = 0,
    evaluate: bool = True,
    n_jobs: int | None = None,
    **stated: Unpack[StatedOptions],
) -> TrainedModel:
    """Tune a model, fit it to all rows, and give it probabilities, intervals and figures.

    ``train(X, y)`` takes inputs and labels, ``train(frame, target="grade")`` a data frame that has
    both, and ``train(table)`` or ``train(table, model)`` a table that was read.

    Parameters
    ----------
    X : LabelledTable, RankingTable, data frame or array-like of shape (n, d)
        As `echelon.tables.read_labelled_table` and `read_ranking_table` give them; or inputs,
        with labels in `y` or in the column `target`.
    y : array-like of shape (n,), optional
        The labels of X; with a table, which has its own, the model may stand here.
    model : str, Candidate or estimator, optional
        Name of a candidate of `echelon.model_selection.candidates`, or one, or any unfitted
        estimator that predicts labels; one that is not a pipeline gets the usual preparation of
        columns. ``"ProportionalOdds logit"`` by default. For a ranking table one of the rankers of
        `echelon.trained.ranking.train_ranker`, LinearRankSVM by default.
    target : str, optional
        Column of X with the labels.
    order : str, optional
        The labels from lowest to highest, as ``"poor<fair<good"``; needed where they are text
        without an order.
    cost : str or array-like of shape (K, K), optional
        What a wrong label costs; the absolute difference of ranks by default.
    confidence : float
        Share of rows whose label a prediction interval shall hold.
    random_state : int
        Seed of folds and models.
    evaluate : bool
        Whether to measure the model by cross-validation, with the settings fixed that were
        searched on all rows: the figures are slightly optimistic, unlike those of `run_contest`.
    n_jobs : int, optional
        Processes, as in joblib.
    **stated
        What is known of the columns of a data frame, as for `echelon.tables.labelled_table`.

    Returns
    -------
    model : TrainedModel

    Notes
    -----
    Probabilities are those of the model unless it has none, or unless `OrdinalCalibrator` gives
    clearly better ones on held-out rows. Intervals are those of `ConformalOrdinal`. A ranking has
    neither, and `order`, `cost` and `confidence` do not concern it.

    Examples
    --------
    >>> from echelon.datasets import load_dataset
    >>> frame = load_dataset("esl", as_frame=True).frame
    >>> trained = train(frame, target="y", evaluate=False)
    >>> trained.name, trained.predict_frame(frame.head(3)).columns[0]
    ('ProportionalOdds logit', 'predicted')
    """
    if isinstance(X, LabelledTable | RankingTable):
        if model is None:
            model, y = y, None
        if not (y is None and target is None and order is None and not stated):
            raise TypeError(
                "A table has its labels and columns already, so leave y, target, order and what is "
                "stated of columns out."
            )
        table = X
    else:
        table = _labelled(X, y, target, order, stated)
    if isinstance(table, RankingTable):
        return train_ranker(
            table,
            "LinearRankSVM" if model is None else model,
            random_state=random_state,
            evaluate=evaluate,
            n_jobs=n_jobs,
        )
    model = "ProportionalOdds logit" if model is None else model
    return _train_labels(table, model, cost, confidence, random_state, evaluate, n_jobs)


def _labelled(
    X: Any, y: Any, target: str | None, order: str | None, stated: StatedOptions
) -> LabelledTable:
    """A table of inputs and labels, from one data frame or from both apart."""
    import pandas as pd

    if (y is None) == (target is None):
        raise TypeError(
            "Give the labels of X as y, or name their column of X as target, or give a "
            "LabelledTable, as echelon.tables.labelled_table makes it of a data frame."
        )
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(frame, pd.DataFrame):
        rows = np.asarray(frame)
        if rows.ndim != 2:
            raise ValueError(f"X must have two dimensions; found {rows.ndim}.")
        frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    if y is None:
        return labelled_table(frame, target, order, **stated)
    labels = pd.Series(y.to_pandas() if hasattr(y, "to_pandas") else y)
    check_consistent_length(frame, labels)
    name = str(labels.name or "target")
    if name in frame.columns:
        raise ValueError(f"y must not have the name of a column of X; found {name!r}.")
    whole = frame.assign(**{name: labels.set_axis(frame.index)})
    others = {stated.get(role) for role in ("weight", "group", "time")} | {*stated.get("drop", ())}
    if "keep" not in stated:
        stated["keep"] = [n for n in map(str, frame.columns) if n not in others]
    return labelled_table(whole, name, order, **stated)


def _train_labels(
    table: LabelledTable,
    model: Any,
    cost: Any,
    confidence: float,
    random_state: int,
    evaluate: bool,
    n_jobs: int | None,
) -> TrainedModel:
    X, y, classes = table.X, table.y, list(table.classes)
    if isinstance(model, str):
        model = find_candidate(model, random_state)
    _require_labels(model)
    name, pipeline = _tuned(model, table, cost, n_jobs, random_state)
    notes = lasting(table.notes)
    inside: Any = pipeline
    # Labels stay those of the model, which are what a leaderboard has measured.
    calibrated = OrdinalCalibrator(
        pipeline,
        cv=_SCORE_FOLDS,
        decision="inner",
        cost="absolute" if cost is None else cost,
        classes=classes,
        random_state=random_state,
    )
    if _needs_calibration(pipeline, calibrated, table, random_state):
        inside = calibrated
        notes.append("The probabilities are those of OrdinalCalibrator.")
    blank = TrainedModel(
        estimator=None,
        schema=table.schema,
        classes=[plain(label) for label in classes],
        target=table.target,
        name=name,
        extra={
            "rows": len(X),
            "confidence": confidence,
            "cost": cost if cost is None or isinstance(cost, str) else np.asarray(cost).tolist(),
            "settings": _settings(model, pipeline, table),
            "random_state": random_state,
            "rows_digest": rows_digest(X, read_scale(y, classes)[1]),
        },
    )
    fit = partial(_fit, blank, inside)
    if evaluate:
        folds = stratified_folds(read_scale(y, classes)[1], _FOLDS, random_state)
        blank.metrics, measured = cross_validated(
            partial(_fit_and_measure, fit, X, y, cost), folds, patience=_PATIENCE, n_jobs=n_jobs
        )
        if measured < _FOLDS:
            notes.append(f"The figures are means over {measured} of {_FOLDS} folds.")
    trained = fit(X, y)
    by_class = trained.intervals.coverage_by_class_.tolist()
    trained.extra["interval_coverage_by_label"] = {
        str(label): None if np.isnan(share) else round(share, 4)
        for label, share in zip(classes, by_class, strict=True)
    }
    return replace(trained, notes=tuple(notes))


def _fit(blank: TrainedModel, estimator: Any, X: Any, y: Any) -> TrainedModel:
    """The model of all these rows, and its intervals."""
    intervals = ConformalOrdinal(
        clone(estimator),
        blank.extra["confidence"],
        classes=blank.classes,
        random_state=blank.extra["random_state"],
    )
    return replace(blank, estimator=clone(estimator).fit(X, y), intervals=intervals.fit(X, y))


def _fit_and_measure(
    fit: Callable[[Any, Any], TrainedModel], X: Any, y: Any, cost: Any, train: Any, test: Any
) -> dict[str, float]:
    """Figures on the test rows of a model of the training rows."""
    # What there is to warn of shows in the fit to all rows.
    with warnings.catch_warnings(action="ignore"):
        fitted = fit(_safe_indexing(X, train), _safe_indexing(y, train))
        return measure(fitted, _safe_indexing(X, test), _safe_indexing(y, test), cost)


def _tuned(
    model: Any, table: LabelledTable, cost: Any, n_jobs: int | None, random_state: int
) -> tuple[str, Pipeline]:
    """Name of the model, and an unfitted pipeline."""
    if isinstance(model, Candidate):
        return model.name, tune(
            model,
            table.X,
            table.y,
            schema=table.schema,
            classes=table.classes,
            cost=cost,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    last = fresh(model, classes=list(table.classes), cost=cost)
    if not isinstance(last, Pipeline):
        last = Pipeline([("prepare", prepare(table.schema)), ("model", last)])
    return type(final_estimator(last)).__name__, last


def _require_labels(model: Any) -> None:
    estimator = model.estimator if isinstance(model, Candidate) else model
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            "model must be the name of a candidate, a Candidate or an estimator; found "
            f"{estimator!r}."
        )
    if not is_classifier(estimator):
        raise ValueError(
            f"model must predict labels; {type(final_estimator(estimator)).__name__} predicts "
            "numbers: put a regressor into RoundedRegressor, and a ranker into ThresholdedRanker."
        )


def _needs_calibration(
    pipeline: Any, calibrated: OrdinalCalibrator, table: LabelledTable, random_state: int
) -> bool:
    """Whether the model has no probabilities, or clearly worse ones than calibration gives.

    Those of a classifier that knows no order have columns in an order of their own.
    """
    if not (hasattr(pipeline, "predict_proba") and knows_order(pipeline)):
        return True
    X, y = table.X, table.y
    codes = read_scale(y, list(table.classes))[1]
    rows = np.random.default_rng(random_state).permutation(len(codes))[:_WEIGHING_ROWS]
    inside, outside = (rows[part] for part in stratified_folds(codes[rows], 3, random_state)[0])
    X_inside, y_inside = _safe_indexing(X, inside), _safe_indexing(y, inside)
    own, other = (
        row_ranked_probability_scores(
            codes[outside],
            clone(model).fit(X_inside, y_inside).predict_proba(_safe_indexing(X, outside)),
        )
        for model in (pipeline, calibrated)
    )
    gain = own - other
    return float(gain.mean()) > 2.0 * float(gain.std()) / np.sqrt(len(gain))


def _settings(model: Any, pipeline: Pipeline, table: LabelledTable) -> dict[str, Any]:
    """Values of the searched parameters, as JSON can hold them."""
    if not isinstance(model, Candidate):
        return {}
    found = pipeline.get_params()
    searched = searched_settings(model, table.schema, table.X)
    return {name.removeprefix("model__"): plain(found[name]) for name in searched}


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
