"""Models compared by repeated cross-validation: within a budget, and to be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _num_samples

from .._utils.types import CostLike, KeysLike, LabelsLike, MatrixLike, SplitsLike, VectorLike
from ..base.nested import fresh
from ..base.row_design import RowDesign
from ..metrics.best_comparison import MARGIN
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import read_scale
from ..tables import LabelledTable, Schema
from .experiment import Entry, Experiment
from .experiment_run import ContestProgress, ExperimentRun
from .leaderboard import Leaderboard, LeaderboardRow, Preference
from .preparation import candidate_pipeline, searched_settings
from .roster import Candidate
from .roster import candidates as all_candidates
from .splitters import contest_splits
from .stack import with_stack


def run_contest(
    table: Any,
    y: LabelsLike | None = None,
    *,
    candidates: Mapping[str, Candidate] | None = None,
    classes: LabelsLike | None = None,
    budget: float | None = None,
    folds: int = 5,
    repeats: int = 2,
    cost: CostLike | None = None,
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    time: VectorLike | None = None,
    gap: float = 0.0,
    cv: SplitsLike | None = None,
    racing: bool = True,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    random_state: int = 0,
    margin: float = MARGIN,
    prefer: Preference = "best",
    store: Path | str | None = None,
    on_progress: Callable[[ContestProgress], None] | None = None,
) -> Leaderboard:
    """Compare candidates by repeated stratified cross-validation within a time budget.

    Preparation, the search of settings (3 folds of the training part) and the fit see the training
    part of a fold only. Every model gets its first fold before any gets its second, and stops when
    it is clearly behind the best on the folds that they have in common. Large tables are looked at
    through growing parts of their rows first. With groups whole groups are held out, with times
    rows later than those learnt from, in the search of settings too.

    Parameters
    ----------
    table : LabelledTable, data frame or array-like of shape (n, d)
        A labelled table has labels and their order with it.
    y : array-like of shape (n,), optional
        Labels, where `table` has none.
    candidates : mapping from name to Candidate, optional
        `candidates()`, all of them, by default.
    classes : sequence, optional
        The labels from lowest to highest.
    budget : float, optional
        Seconds. No fold is started that would not fit but the very first, and one that takes
        longer than its model's share of the budget is given up; what has not ended at 1.1 times
        the budget is abandoned.
    folds, repeats : int
        Folds of each cross-validation, and cross-validations.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), optional
        Row y, column r: the cost of predicting r when the truth is y. It ranks the models, and
        those that take a cost learn with it.
    sample_weight : array-like of shape (n,), optional
        What each row counts, in every fit and every measure; only ratios matter. A labelled table
        may have weights, groups and times with it.
    groups : array-like of shape (n,), optional
        What each row belongs to, such as a patient.
    time : array-like of shape (n,), optional
        When each row was taken, as numbers or dates. The later rows fall into `folds` windows of
        about the same size, each predicted once from what lies before it; with groups too, from
        other groups, `repeats` times.
    gap : float
        Time, in days where `time` holds dates, between a window and what is learnt from.
    cv : int, splitter or iterable of splits, optional
        In place of `folds` and `repeats`; a splitter is handed the groups.
    racing : bool
        Whether models that are clearly behind stop early: a model stops where its loss on the rows
        that it and the best have predicted is more by 2.5 standard errors of the difference.
    n_jobs : int, optional
        Processes with one thread each, as in joblib; with one, all runs in this process.
    executor : concurrent.futures.Executor, optional
        What runs the folds in place of processes of its own: a pool of processes or threads, or of
        a cluster; `n_jobs` is the number of tasks that are handed over at a time, by default one
        for each processor of this machine. In threads no fold can be given up while it runs. One
        that breaks is replaced, with a warning.
    random_state : int
        Seed of the folds.
    margin : float
        Largest difference between equivalent models, as a share of the best one's figure.
    prefer : {"best", "simple", "fast"}
        What is the leaderboard's `chosen`: the best model, or the simplest or fastest of those that
        are equivalent to it.
    store : path, optional
        File in which finished folds are kept. Those of the same data, folds, seed, cost, models
        and versions are not run again.
    on_progress : callable, optional
        Called with a `ContestProgress` at the start and after every fold.

    Returns
    -------
    leaderboard : Leaderboard
        A contest ended by Ctrl-C gives what is done, with ``interrupted`` set.

    Examples
    --------
    >>> from echelon.datasets import load_esl
    >>> from echelon.model_selection import candidates, run_contest
    >>> X, y = load_esl(return_X_y=True)
    >>> few = {name: candidates()[name] for name in ("median label", "LinearSVOR")}
    >>> board = run_contest(X, y, candidates=few, folds=3, repeats=1)
    >>> board.best_, board.with_verdict("worse")
    ('LinearSVOR', ('median label',))
    """
    # Refused before the work.
    empty = Leaderboard((), margin=margin, prefer=prefer)
    experiment = make_experiment(
        table,
        y,
        candidates,
        classes,
        folds,
        repeats,
        cost,
        random_state=random_state,
        sample_weight=sample_weight,
        groups=groups,
        time=time,
        gap=gap,
        cv=cv,
        racing=racing,
    )
    contest = ExperimentRun(experiment, store)
    board = finish(
        contest, budget=budget, n_jobs=n_jobs, executor=executor, on_progress=on_progress
    )
    return replace(board, margin=empty.margin, prefer=empty.prefer)


def compare_models(
    models: Mapping[str, Any],
    X: MatrixLike,
    y: LabelsLike,
    *,
    classes: LabelsLike | None = None,
    folds: int = 5,
    repeats: int = 2,
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    time: VectorLike | None = None,
    gap: float = 0.0,
    cv: SplitsLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    on_row: Callable[[LeaderboardRow], None] | None = None,
) -> Leaderboard:
    """Cross-validate models on the same folds, repeated and stratified by default.

    Parameters
    ----------
    models : mapping from name to estimator
        Ordinal estimators, or pipelines that end in one.
    X : array-like or data frame of shape (n, d)
    y : array-like of shape (n,)
    classes : sequence, optional
        The labels from lowest to highest.
    folds, repeats : int
        Folds of each cross-validation, and cross-validations.
    sample_weight, groups, time, gap, cv
        As for `run_contest`.
    n_jobs : int, optional
        Processes, as in joblib.
    random_state : int
        Seed of the folds.
    on_row : callable, optional
        Called with each finished row, to show progress.

    Returns
    -------
    leaderboard : Leaderboard

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> board = compare_models({"odds": ProportionalOdds(alpha=1.0)}, X, y, repeats=1)
    >>> board.rows[0].mean("mae") < 0.4
    True
    """
    if not models:
        raise ValueError("models must name at least one model.")
    scale, codes = read_scale(y, classes)
    known = scale.classes.tolist()
    entries = {n: Entry(n, fresh(model, classes=known)) for n, model in models.items()}
    design = RowDesign.of(len(codes), sample_weight, groups, time, gap)
    counted = np.unique(codes[design.counted(len(codes))])
    if len(counted) < 2:
        of_weight = "" if design.weights is None else " among the rows of positive weight"
        raise ValueError(
            f"y must have at least two classes{of_weight}; found {known[counted[0]]!r}."
        )
    splits, how = contest_splits(codes, design, folds, repeats, random_state, cv, X)
    experiment = Experiment(
        X, y, known, splits, entries, None, random_state, strict=True, design=design, how=how
    )
    contest = ExperimentRun(experiment)
    with closing(contest.run(n_jobs=n_jobs)) as steps:
        for progress in steps:
            row = None if progress.latest is None else contest.row(progress.latest.model)
            if row is not None and on_row is not None:
                on_row(row)
    return contest.board()


def finish(
    contest: ExperimentRun,
    *,
    budget: float | None = None,
    n_jobs: int | None = None,
    reserve: Callable[[float], float] | None = None,
    executor: Executor | None = None,
    on_progress: Callable[[ContestProgress], None] | None = None,
) -> Leaderboard:
    """Run a contest to its end or to Ctrl-C, and give its table, with the stack if that wins."""
    interrupted, started = False, time.monotonic()
    try:
        running = contest.run(budget=budget, n_jobs=n_jobs, reserve=reserve, executor=executor)
        with closing(running) as steps:
            for progress in steps:
                if on_progress is not None:
                    on_progress(progress)
    except KeyboardInterrupt:
        interrupted = True
    left = None if budget is None else budget - (time.monotonic() - started)
    board = with_stack(contest.board(), contest.experiment, left)
    return replace(board, interrupted=interrupted)


def make_experiment(
    table: Any,
    y: Any = None,
    candidates: Mapping[str, Candidate] | None = None,
    classes: Any = None,
    folds: int = 5,
    repeats: int = 2,
    cost: Any = None,
    *,
    random_state: int = 0,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    gap: float = 0.0,
    cv: Any = None,
    racing: bool = True,
) -> Experiment:
    """Data, folds and candidates of a contest, checked; parameters as for `run_contest`."""
    if isinstance(table, LabelledTable):
        sample_weight = table.weights if sample_weight is None else sample_weight
        groups = table.groups if groups is None else groups
        time = table.times if time is None else time
    X, y, classes, schema = _read(table, y, classes)
    scale, codes = read_scale(y, classes)
    known = scale.classes.tolist()
    if _num_samples(X) != len(codes):
        raise ValueError(
            f"y must have a label for every row; found {len(codes)} labels for {_num_samples(X)} "
            "rows."
        )
    if cost is not None:
        cost = cost_matrix(cost, len(known))
    roster = all_candidates(random_state) if candidates is None else candidates
    if not isinstance(roster, Mapping) or not roster:
        raise ValueError(
            "candidates must be a mapping from the name of at least one model to its Candidate."
        )
    entries = {
        name: Entry(
            name,
            candidate_pipeline(candidate, schema, classes=known, cost=cost),
            searched_settings(candidate, schema, X),
            candidate.group,
            calibrated=True,
            complexity=candidate.complexity,
            decision=candidate.decision,
        )
        for name, candidate in roster.items()
    }
    design = RowDesign.of(len(codes), sample_weight, groups, time, gap)
    counted = np.unique(codes[design.counted(len(codes))])
    if len(counted) < 2:
        of_weight = "" if design.weights is None else " among the rows of positive weight"
        raise ValueError(
            f"y must have at least two classes{of_weight}; found {known[counted[0]]!r}."
        )
    splits, how = contest_splits(codes, design, folds, repeats, random_state, cv, X)
    return Experiment(
        X, y, known, splits, entries, cost, random_state, design=design, how=how, racing=racing
    )


def _read(table: Any, y: Any, classes: Any) -> tuple[Any, Any, Any, Any]:
    """Inputs, labels, order and columns of whatever holds them."""
    if isinstance(table, LabelledTable):
        return table.X, table.y, table.classes, table.schema
    if y is None:
        raise ValueError("y must hold the labels, unless the table has them with it.")
    if not hasattr(table, "columns"):
        return table, y, classes, None
    frame = nw.from_native(table, eager_only=True).to_pandas()
    schema = Schema.of(frame)
    return schema.apply(frame), y, classes, schema
