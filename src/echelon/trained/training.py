"""From a table to a model that can be taken away."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length

from .._utils.types import CostLike, LabelsLike, MatrixLike
from ..base.nested import fit_arguments, fresh
from ..base.row_design import RowDesign
from ..base.wrappers import final_estimator
from ..meta.conformal import ConformalOrdinal
from ..meta.stack import OrdinalStack
from ..model_selection.experiment import Entry, Experiment
from ..model_selection.experiment_run import ExperimentRun
from ..model_selection.leaderboard import Leaderboard
from ..model_selection.preparation import prepare, searched_settings, tune, with_probabilities
from ..model_selection.roster import Candidate
from ..model_selection.splitters import contest_splits
from ..model_selection.stack import board_candidate
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import read_scale
from ..tables import LabelledTable, RankingTable, RowMarks, labelled_table
from ..tables.faults import lasting
from ..tables.options import StatedOptions
from .model import TrainedModel, plain
from .ranking import train_ranker

_FOLDS = 5
# Seconds after which no further fold is waited for, if one was measured.
_PATIENCE = 120.0


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
    leaderboard: Leaderboard | None = None,
    gap: float = 0.0,
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
        columns. ``"Stack"`` is the mixture of the finalists of a contest, whose leaderboard it
        needs. ``"ProportionalOdds logit"`` by default. For a ranking table one of the rankers of
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
        Weights, groups and times of the table count there as they do in the fit.
    leaderboard : Leaderboard, optional
        Of a contest on the same table, whose figures of the model are taken over.
    gap : float
        Time between the rows of a fold and those learnt from, as for `run_contest`.
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
    how = _Evaluation(evaluate, leaderboard, gap, n_jobs)
    return _train_labels(table, model, cost, confidence, random_state, how)


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
    evaluation: _Evaluation,
) -> TrainedModel:
    X, y, classes = table.X, table.y, list(table.classes)
    known = table.weights, table.groups, table.times
    design = RowDesign.of(len(X), *known, 0.0 if table.times is None else evaluation.gap)
    if isinstance(model, str):
        model = board_candidate(
            evaluation.known,
            model,
            table.schema,
            classes=classes,
            cost=cost,
            random_state=random_state,
        )
    _require_labels(model)
    name, pipeline = _tuned(model, table, cost, evaluation.n_jobs, random_state)
    notes = lasting(table.notes)
    decision = model.decision if isinstance(model, Candidate) else "inner"
    inside = with_probabilities(
        pipeline, classes=classes, cost=cost, random_state=random_state, decision=decision
    )
    if inside is not pipeline:
        notes.append("The probabilities are those of OrdinalCalibrator.")
    blank = TrainedModel(
        estimator=None,
        schema=table.schema.without_rare_levels(X),
        classes=[plain(label) for label in classes],
        target=table.target,
        name=name,
        extra={
            "rows": len(X),
            "confidence": confidence,
            "cost": cost if cost is None or isinstance(cost, str) else np.asarray(cost).tolist(),
            "settings": _settings(model, pipeline, table),
            **_weights(pipeline),
            "random_state": random_state,
            "fitted_to": RowMarks.of(X, read_scale(y, classes)[1]).to_dict(),
        },
    )
    entry = Entry(name, pipeline, calibrated=True, decision=decision)
    board = evaluation.leaderboard(entry, table, design, cost, random_state)
    if board is not None:
        blank.metrics, blank.leaderboard = board.figures(name, confidence), board
        row = board.find(name)
        if row is not None:
            # Folds of a contest have settings of their own.
            searched = board is evaluation.known or not blank.extra["settings"]
            fixed = "" if searched else ", with its settings fixed"
            blank.extra["evaluated"] = f"{board.how_of(row)}{fixed}"
        notes += [f"{model} could not be measured: {e}" for model, e in board.failures.items()]
    trained = _fit(blank, inside, X, y, design)
    by_class = trained.intervals.coverage_by_class_.tolist()
    trained.extra["interval_coverage_by_label"] = {
        str(label): None if np.isnan(share) else round(share, 4)
        for label, share in zip(classes, by_class, strict=True)
    }
    return replace(trained, notes=tuple(notes))


@dataclass(frozen=True)
class _Evaluation:
    """How a model is measured: not at all, as a contest has done it, or in folds of its own."""

    wanted: bool
    known: Leaderboard | None
    gap: float
    n_jobs: int | None

    def leaderboard(
        self, entry: Entry, table: LabelledTable, design: RowDesign, cost: Any, random_state: int
    ) -> Leaderboard | None:
        """Figures of an entry on rows that it has not seen."""
        if self.known is not None and self.known.find(entry.name) is not None:
            return self.known
        if not self.wanted:
            return None
        X, y, classes = table.X, table.y, list(table.classes)
        codes = read_scale(y, classes)[1]
        cost = None if cost is None else cost_matrix(cost, len(classes))
        splits, how = contest_splits(codes, design, _FOLDS, 1, random_state)
        entries = {entry.name: entry}
        run = ExperimentRun(
            Experiment(X, y, classes, splits, entries, cost, random_state, design=design, how=how)
        )
        with closing(run.run(n_jobs=self.n_jobs)) as steps:
            for progress in steps:
                if progress.done and progress.elapsed > _PATIENCE:
                    break
        return run.board()


def _fit(blank: TrainedModel, estimator: Any, X: Any, y: Any, design: RowDesign) -> TrainedModel:
    """The model of all these rows, and its intervals."""
    intervals = ConformalOrdinal(
        clone(estimator),
        blank.extra["confidence"],
        classes=blank.classes,
        random_state=blank.extra["random_state"],
    )
    fitted = clone(estimator).fit(X, y, **fit_arguments(estimator, design))
    intervals.fit(X, y, **fit_arguments(intervals, design))
    return replace(blank, estimator=fitted, intervals=intervals)


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
            sample_weight=table.weights,
            groups=table.groups,
            time=table.times,
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


def _weights(pipeline: Pipeline) -> dict[str, dict[str, float]]:
    """Share of each model in a stack whose shares are given; nothing of any other model."""
    last = final_estimator(pipeline)
    if not isinstance(last, OrdinalStack) or last.weights is None:
        return {}
    names = [name for name, _ in last.estimators or ()]
    return {"weights": dict(zip(names, np.asarray(last.weights).tolist(), strict=True))}


def _settings(model: Any, pipeline: Pipeline, table: LabelledTable) -> dict[str, Any]:
    """Values of the searched parameters, as JSON can hold them."""
    if not isinstance(model, Candidate):
        return {}
    found = pipeline.get_params()
    searched = searched_settings(model, table.schema, table.X)
    return {name.removeprefix("model__"): plain(found[name]) for name in searched}
