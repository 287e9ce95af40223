import errno
import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from support.data import ordinal_data
from support.simulated import Deadly

from echelon import (
    LinearSVOR,
    OrdinalCalibrator,
    OrdinalReduction,
    ProportionalOdds,
    RankRules,
    RoundedRegressor,
)
from echelon._utils.files import AppendLog
from echelon.base.mixins import ThresholdModelMixin
from echelon.base.row_design import RowDesign
from echelon.metrics import cost_scorer, get_scorer
from echelon.model_selection import (
    Candidate,
    candidate_pipeline,
    candidates,
    default_models,
    find_candidate,
    run_contest,
    tune,
    workers,
)
from echelon.model_selection.contest import make_experiment
from echelon.model_selection.experiment import Entry, Experiment, TooSlowError, run_fold, time_limit
from echelon.model_selection.preparation import searched_settings
from echelon.model_selection.schedule import FoldTask, Schedule, Step
from echelon.model_selection.settings_search import inner_splits
from echelon.model_selection.worker_processes import WorkerProcesses
from echelon.tables import labelled_table

ODDS = Candidate("odds", ProportionalOdds(alpha=1.0))
RIDGE = Candidate("ridge", RoundedRegressor(Ridge()))
SEARCHED = Candidate("searched", LinearSVOR(), {"C": (1e-4, 1.0)})
SKEWED = [[0, 1, 9, 9], [1, 0, 9, 9], [1, 1, 0, 1], [1, 1, 1, 0]]


def roster(*entries):
    return {entry.name: entry for entry in entries}


@pytest.fixture
def table():
    """A table with a category and missing numbers."""
    X, codes = ordinal_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::9, "b"] = np.nan
    frame["colour"] = ["red", "blue", "blue"] * 40
    frame["grade"] = codes + 1
    return labelled_table(frame)


def test_figures_are_those_of_scikit_learn(table):
    board = run_contest(table, candidates=roster(ODDS, RIDGE), folds=3, repeats=2, random_state=4)
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=4)
    rows = {row.model: row for row in board.rows}
    for candidate in (ODDS, RIDGE):
        model = candidate_pipeline(candidate, table.schema, classes=table.classes)
        for measure, name, sign in (
            ("mae", "neg_mean_absolute_rank_error", -1),
            ("zero_one", "neg_zero_one_error", -1),
            ("qwk", "quadratic_weighted_kappa", 1),
        ):
            by_hand = cross_val_score(model, table.X, table.y, cv=cv, scoring=get_scorer(name))
            np.testing.assert_allclose(rows[candidate.name].folds[measure], sign * by_hand)
    assert board.planned == 6
    assert board.sizes == (80, 40)
    assert rows["odds"].n_folds == 6


class OnlyKnown(ClassifierMixin, BaseEstimator):
    """A model that refuses rows of a group that it has learnt from, or that are no later."""

    def __init__(self, classes=None):
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.asarray(self.classes)
        self.groups_, self.last_ = set(X[:, 0].tolist()), X[:, 1].max()
        self.weights_ = sample_weight
        return self

    def predict(self, X):
        assert not self.groups_ & set(X[:, 0].tolist())
        assert self.last_ < X[:, 1].min()
        assert self.weights_ is not None and (self.weights_ > 0).all()
        return np.full(len(X), self.classes_[0])


def test_groups_times_and_weights_shape_every_fold_and_every_search():
    rng = np.random.default_rng(0)
    groups, times = rng.integers(0, 30, 300), rng.integers(0, 20, 300)
    X = np.c_[groups, times, rng.normal(size=300)]
    y, weights = rng.integers(1, 4, 300), rng.integers(0, 3, 300)
    known = Candidate("known", OnlyKnown())
    board = run_contest(X, y, candidates=roster(known, ODDS), folds=4, **_known(X, weights))
    assert not board.failures and board.how == (
        "8 parts of later rows of groups that are not learnt from"
    )
    held = board.predictions_["odds"]
    assert (weights[held.rows] > 0).all() and held.repeat.max() == 1
    by_hand = np.average(
        np.abs(held.truth - held.codes)[held.fold + 4 * held.repeat == 0],
        weights=weights[held.rows][held.fold + 4 * held.repeat == 0],
    )
    assert board.find("odds").folds["mae"][0] == pytest.approx(by_hand)
    scaled = run_contest(X, y, candidates=roster(ODDS), folds=4, **_known(X, weights * 16.0))
    np.testing.assert_array_equal(scaled.find("odds").folds["mae"], board.find("odds").folds["mae"])


def _known(X, weights):
    return {"groups": X[:, 0], "time": X[:, 1], "sample_weight": weights}


def test_search_of_settings_holds_whole_groups_out():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(24), 5)
    X = np.c_[groups, np.arange(120.0)]
    y = rng.integers(1, 4, 120)
    design = RowDesign.of(120, groups=groups)
    for inside, outside in inner_splits(y - 1, design, 3, 0):
        assert not set(groups[inside]) & set(groups[outside])
    board = run_contest(
        X, y, candidates=roster(SEARCHED), folds=3, repeats=1, sample_weight=np.ones(120)
    )
    alike = run_contest(X, y, candidates=roster(SEARCHED), folds=3, repeats=1)
    np.testing.assert_array_equal(board.rows[0].folds["mae"], alike.rows[0].folds["mae"])
    assert board.rows[0].settings == alike.rows[0].settings


@pytest.mark.parametrize(
    ("cv", "n_splits", "words"),
    [
        (3, 3, "3 folds"),
        (GroupKFold(4), 4, "4 splits as given"),
        ([(np.arange(80), np.arange(80, 120))], 1, "1 splits as given"),
    ],
)
def test_folds_of_a_splitter(cv, n_splits, words):
    X, codes = ordinal_data()
    groups = np.arange(120) // 4 if isinstance(cv, GroupKFold) else None
    board = run_contest(X, codes, candidates=roster(ODDS), cv=cv, groups=groups)
    assert (board.planned, board.how) == (n_splits, words)
    if groups is not None:
        held = board.predictions_["odds"]
        assert all(len(set(held.fold[groups[held.rows] == g])) == 1 for g in range(30))


def test_out_of_fold_predictions_are_those_of_models_of_the_other_rows(table):
    board = run_contest(table, candidates=roster(ODDS, RIDGE), folds=3, repeats=2)
    held = board.predictions_["odds"]
    assert sorted(held.rows[held.repeat == 0].tolist()) == list(range(120))
    fold = (held.repeat == 1) & (held.fold == 2)
    rest = np.setdiff1d(np.arange(120), held.rows[fold])
    model = candidate_pipeline(ODDS, table.schema, classes=table.classes)
    model.fit(table.X.iloc[rest], table.y[rest])
    expected = model.predict_proba(table.X.iloc[held.rows[fold]])
    np.testing.assert_allclose(held.probabilities[fold], expected, atol=1e-6)
    # A model without probabilities is given some.
    assert np.isfinite(board.find("ridge").mean("rps"))
    assert board.best_ == board.rows[0].model
    figures = board.figures("odds", 0.9)
    assert figures["mae"] == board.find("odds").mean("mae")
    low, high = held.intervals(0.9)
    assert figures["interval_coverage"] == pytest.approx(
        ((low <= held.truth) & (held.truth <= high)).mean(), abs=0.02
    )


def test_settings_are_searched_on_the_training_part_of_each_fold(table):
    board = run_contest(table, candidates=roster(SEARCHED), folds=3, repeats=1)
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0)
    scorer = get_scorer("neg_mean_absolute_rank_error")
    [row] = board.rows
    for fold, (training, test) in enumerate(cv.split(table.X, table.y)):
        X, y = table.X.iloc[training], table.y[training]
        model = tune(SEARCHED, X, y, schema=table.schema, classes=table.classes)
        assert row.settings[fold] == {"model__C": model["model"].C}
        by_hand = -scorer(model.fit(X, y), table.X.iloc[test], table.y[test])
        assert row.folds["mae"][fold] == pytest.approx(by_hand)


def test_the_search_takes_the_better_setting(table):
    model = tune(SEARCHED, table.X, table.y, schema=table.schema, classes=table.classes)
    assert model["model"].C == 1.0
    same = tune(ODDS, table.X, table.y, schema=table.schema, classes=table.classes)
    assert same["model"].alpha == 1.0


def test_arrays_and_frames_of_any_library():
    polars = pytest.importorskip("polars")
    X, y = ordinal_data(n=80)
    X[::7, 1] = np.nan
    frame = polars.DataFrame(X, schema=["a", "b", "c"]).fill_nan(None)
    boards = [
        run_contest(data, y, candidates=roster(ODDS), folds=2, repeats=1) for data in (X, frame)
    ]
    first, second = (board.best.folds["mae"] for board in boards)
    np.testing.assert_allclose(first, second)
    with pytest.raises(ValueError, match="y must hold the labels"):
        run_contest(frame)


def count_runs(monkeypatch):
    ran = []

    def counting(experiment, task, *clock):
        ran.append((task.model, task.fold))
        return run_fold(experiment, task, *clock)

    monkeypatch.setattr(workers, "run_fold", counting)
    return ran


def interrupt_after(n):
    def show(progress):
        if progress.done == n:
            raise KeyboardInterrupt

    return show


def test_an_interruption_keeps_what_is_done_and_a_second_run_does_the_rest(
    monkeypatch, table, tmp_path
):
    options = {
        "candidates": roster(ODDS, RIDGE, SEARCHED),
        "folds": 3,
        "repeats": 1,
        "store": tmp_path / "cache" / "tasks.jsonl",
    }
    part = run_contest(table, on_progress=interrupt_after(4), **options)
    assert part.interrupted
    assert sorted(row.n_folds for row in part.rows) == [1, 1, 2]
    ran = count_runs(monkeypatch)
    resumed = run_contest(table, **options)
    assert not resumed.interrupted
    assert len(ran) == 5
    assert all(fold > 0 for _, fold in ran)
    options["store"] = None
    whole = run_contest(table, **options)
    assert [row.model for row in resumed.rows] == [row.model for row in whole.rows]
    for ours, theirs in zip(resumed.rows, whole.rows, strict=True):
        np.testing.assert_array_equal(ours.folds["mae"], theirs.folds["mae"])
        assert ours.settings == theirs.settings


@pytest.mark.parametrize("change", ["labels", "inputs", "seed", "folds", "model", "cost"])
def test_a_store_of_something_else_is_not_used(monkeypatch, tmp_path, change):
    X, y = ordinal_data()
    options = {"candidates": roster(RIDGE), "folds": 2, "repeats": 1}
    options["store"] = tmp_path / "tasks.jsonl"
    run_contest(X, y, **options)
    if change == "labels":
        y = np.roll(y, 1)
    elif change == "inputs":
        X = X + 1e-12
    elif change == "model":
        options["candidates"] = roster(Candidate("ridge", RoundedRegressor(Ridge(2.0))))
    elif change == "cost":
        options["cost"] = SKEWED
    else:
        options[{"seed": "random_state", "folds": "folds"}[change]] = 3
    ran = count_runs(monkeypatch)
    board = run_contest(X, y, **options)
    assert len(ran) == board.planned


def test_a_torn_last_line_is_dropped(monkeypatch, tmp_path):
    X, y = ordinal_data()
    store = tmp_path / "tasks.jsonl"
    options = {"candidates": roster(RIDGE), "folds": 3, "repeats": 1, "store": store}
    run_contest(X, y, **options)
    whole = store.read_bytes()
    store.write_bytes(whole[:-30])
    ran = count_runs(monkeypatch)
    run_contest(X, y, **options)
    assert ran == [("ridge", 2)]
    lines = store.read_bytes().splitlines()
    assert [json.loads(line)["outcome"]["fold"] for line in lines] == [0, 1, 2]


def test_lines_that_are_not_ours_are_left_alone(monkeypatch, tmp_path):
    X, y = ordinal_data()
    store = tmp_path / "tasks.jsonl"
    foreign = (
        b"\xff\n\n[]\n7\n{}\n" + b'{"outcome": {"model": [1], "fold": 0}}\n{"outcome": {"a": 1}}\n'
    )
    store.write_bytes(foreign)
    options = {"candidates": roster(RIDGE), "folds": 2, "repeats": 1, "store": store}
    run_contest(X, y, **options)
    assert store.read_bytes().startswith(foreign)
    ran = count_runs(monkeypatch)
    assert run_contest(X, y, **options).best.n_folds == 2
    assert ran == []


def test_a_store_that_cannot_be_used_is_a_warning(tmp_path):
    X, y = ordinal_data()
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="cannot be kept in .*tasks: "):
        board = run_contest(
            X, y, candidates=roster(RIDGE), folds=2, repeats=1, store=tmp_path / "file" / "tasks"
        )
    assert board.best.n_folds == 2


def test_a_disk_that_fills_up_loses_nothing(monkeypatch, tmp_path):
    X, y = ordinal_data()
    appended, append = [], AppendLog.append

    def fill_up(self, content, **options):
        if len(appended) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        appended.append(content)
        append(self, content, **options)

    monkeypatch.setattr(AppendLog, "append", fill_up)
    store = tmp_path / "store"
    options = {"candidates": roster(RIDGE, ODDS), "folds": 3, "repeats": 1, "store": store}
    with pytest.warns(RuntimeWarning, match="cannot be kept in .*: No space left on device"):
        board = run_contest(X, y, racing=False, **options)
    assert {row.n_folds for row in board.rows} == {3}
    monkeypatch.setattr(AppendLog, "append", append)
    ran = count_runs(monkeypatch)
    again = run_contest(X, y, racing=False, **options)
    assert len(ran) == 4
    for ours, theirs in zip(again.rows, board.rows, strict=True):
        np.testing.assert_array_equal(ours.folds["mae"], theirs.folds["mae"])


def test_a_cost_ranks_the_models_and_is_handed_to_those_that_take_one(table):
    rules = Candidate("rules", RankRules(20, random_state=0))
    board = run_contest(
        table, candidates=roster(ODDS, RIDGE, rules), folds=3, repeats=1, cost=SKEWED
    )
    assert board.measure == "cost"
    means = [row.mean("cost") for row in board.rows]
    assert means == sorted(means)
    assert board.measures[0] == "cost"
    assert "cost_se" in board.records()[0]
    by_name = {row.model: row for row in board.rows}
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0)
    scorer = cost_scorer(SKEWED)
    with_cost = candidate_pipeline(
        ODDS, table.schema, classes=table.classes, cost=np.array(SKEWED, dtype=float)
    )
    by_hand = -cross_val_score(with_cost, table.X, table.y, cv=cv, scoring=scorer)
    np.testing.assert_allclose(by_name["odds"].folds["cost"], by_hand)
    without = candidate_pipeline(ODDS, table.schema, classes=table.classes)
    other = -cross_val_score(without, table.X, table.y, cv=cv, scoring=scorer)
    assert other.mean() > by_hand.mean()
    with pytest.raises(ValueError, match="one row and one column per class"):
        run_contest(table, candidates=roster(ODDS), cost=[[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"groups": np.zeros(120)}, "groups must be two or more; found only 0"),
        ({"time": np.zeros(120)}, "time must have two values or more"),
        ({"time": np.full(120, np.nan)}, "time must hold finite numbers"),
        ({"time": np.arange(120), "gap": 500}, "Times and a gap leave nothing to learn from"),
        ({"sample_weight": np.zeros(120)}, "sample_weight must have a positive entry"),
        ({"sample_weight": np.arange(120) < 1}, "two classes among the rows of positive weight"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"budget": -1}, "budget must be a positive number of seconds"),
    ],
)
def test_rows_that_no_folds_can_be_made_of(stated, message):
    X, codes = ordinal_data()
    with pytest.raises(ValueError, match=message):
        run_contest(X, codes, candidates=roster(ODDS), **stated)


def test_what_is_scarce_gives_fewer_folds_and_is_said():
    X, codes = ordinal_data()
    for stated, words in (
        ({"groups": np.arange(120) % 3}, "3 folds of whole groups"),
        ({"groups": codes}, "folds of whole groups"),
        ({"time": np.arange(120) // 60}, "1 window of time"),
    ):
        board = run_contest(X, codes, candidates=roster(ODDS), repeats=1, **stated)
        assert words in board.how
        assert board.best.n_folds == board.planned


def test_a_class_without_weight_is_a_level_that_nobody_has():
    X, codes = ordinal_data()
    weights = np.where(codes == codes.max(), 0.0, 1.0)
    board = run_contest(
        X, codes, candidates=roster(ODDS), folds=3, repeats=1, sample_weight=weights
    )
    assert codes.max() not in board.predictions_["odds"].y_pred
    assert not np.isin(board.predictions_["odds"].rows, np.flatnonzero(weights == 0)).any()


def test_a_model_that_fails_does_not_stop_the_others(table):
    not_v_shaped = [[0, 5, 1, 2], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    board = run_contest(
        table, candidates=roster(ODDS, SEARCHED), folds=2, repeats=1, cost=not_v_shaped
    )
    assert [row.model for row in board.rows] == ["odds"]
    assert "must be V-shaped" in board.failures["searched"]


def test_no_candidates(table):
    with pytest.raises(ValueError, match="at least one model"):
        run_contest(table, candidates={})


def test_processes_find_the_same_figures(monkeypatch, table):
    # This process waits instead of taking the first tasks.
    monkeypatch.setattr(workers._WorkerPool, "is_ready", lambda self: True)
    options = {"candidates": roster(ODDS, SEARCHED), "folds": 4, "repeats": 2, "budget": 600.0}
    seen = []
    board = run_contest(table, n_jobs=2, on_progress=seen.append, **options)
    alone = run_contest(table, **options)
    assert [p.done for p in seen] == list(range(17))
    assert all(p.total == 16 for p in seen)
    for ours, theirs in zip(board.rows, alone.rows, strict=True):
        np.testing.assert_array_equal(ours.folds["mae"], theirs.folds["mae"])


def test_folds_run_while_processes_start_are_counted_by_processor_time(monkeypatch, table):
    """Else quick models look slow, because processes that start hold this one up."""
    experiment = make_experiment(
        table, candidates=roster(Candidate("idle", Idle())), folds=2, repeats=1
    )
    monkeypatch.setattr(workers._WorkerPool, "is_ready", lambda self: False)
    monkeypatch.setattr(workers._WorkerPool, "_start_workers", lambda self: None)
    steps = [Step(0), Step(1)]
    outcomes = [
        outcome for _, outcome in workers.run_tasks(experiment, Schedule(["idle"], steps, jobs=2))
    ]
    assert [outcome.error for outcome in outcomes] == ["", ""]
    for outcome in outcomes:
        assert outcome.seconds < Idle.NAP <= outcome.fit_seconds
    assert run_fold(experiment, FoldTask("idle", 0)).seconds >= Idle.NAP


class Idle(RoundedRegressor):
    """A model that waits while it learns."""

    NAP = 0.3

    def fit(self, X, y):
        time.sleep(self.NAP)
        return super().fit(X, y)


class Endless(ThresholdModelMixin, BaseEstimator):
    """A model that never ends to learn, except with the given patience."""

    def __init__(self, patience=0.0, classes=None):
        self.patience = patience
        self.classes = classes

    def fit(self, X, y):
        while self.patience < 1.0:
            time.sleep(0.01)
        self.model_ = RoundedRegressor(classes=self.classes).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def experiment_of(candidate, settings):
    X, y = ordinal_data(n=40)
    splits = [(np.arange(30), np.arange(30, 40))]
    return Experiment(X, y, [0, 1, 2, 3], splits, {"m": Entry("m", candidate, settings)})


def test_a_fold_that_takes_too_long_is_given_up():
    outcome = run_fold(experiment_of(Endless(), {}), FoldTask("m", 0, limit=0.2))
    assert outcome.error.startswith("One fold took more than")
    assert not outcome.figures


def test_after_a_search_that_takes_too_long_the_models_own_settings_are_used():
    ticks = iter([0.0, 10.0, 13.0])
    experiment = experiment_of(Endless(1.0), {"patience": (0.0, 1.0)})
    outcome = run_fold(experiment, FoldTask("m", 0, limit=0.4), lambda: next(ticks))
    assert outcome.search_given_up
    assert outcome.seconds == 3.0
    assert outcome.settings == {}
    assert math.isfinite(outcome.figures["mae"])


def test_a_time_limit_that_is_not_reached_leaves_nothing_behind():
    with time_limit(0.05):
        pass
    time.sleep(0.1)
    with pytest.raises(TooSlowError), time_limit(0.01):
        time.sleep(5.0)


class BrokenPool(Executor):
    """An executor that breaks with one model, or as soon as it is asked."""

    def __init__(self, fatal):
        self.fatal = fatal

    def submit(self, function, source, task):
        if self.fatal is None:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = Future()
        if task.model == self.fatal:
            future.set_exception(BrokenProcessPool("A process has died."))
        else:
            future.set_result(function(source, task))
        return future


@pytest.mark.parametrize("fatal", ["odds", None])
def test_an_executor_that_breaks_is_replaced(monkeypatch, table, fatal):
    monkeypatch.setattr(workers, "WorkerProcesses", Inside)
    with pytest.warns(RuntimeWarning, match="The executor broke .*; what is left runs in proc"):
        board = run_contest(
            table, candidates=roster(ODDS, RIDGE), folds=2, repeats=1, n_jobs=2,
            executor=BrokenPool(fatal), racing=False,
        )  # fmt: skip
    assert not board.failures
    assert {row.n_folds for row in board.rows} == {2}


class Inside(Executor):
    """Worker processes that are none."""

    def __init__(self, n, folder):
        pass

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


def test_a_pool_of_threads(table):
    options = {"candidates": roster(ODDS, SEARCHED), "folds": 3, "repeats": 1}
    filters = list(warnings.filters)
    with ThreadPoolExecutor(2) as executor:
        board = run_contest(table, executor=executor, n_jobs=2, **options)
        # It is the user's, and can be used again.
        assert executor.submit(int).result() == 0
    alone = run_contest(table, **options)
    for ours, theirs in zip(board.rows, alone.rows, strict=True):
        np.testing.assert_array_equal(ours.folds["mae"], theirs.folds["mae"])
    assert list(warnings.filters) == filters


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_process_that_dies_costs_its_model_only(monkeypatch, table):
    # This process waits instead of taking the first tasks.
    monkeypatch.setattr(workers._WorkerPool, "is_ready", lambda self: True)
    deadly = Candidate("deadly", Deadly(Ridge()))
    board = run_contest(table, candidates=roster(deadly, RIDGE), folds=2, repeats=1, n_jobs=2)
    assert "ended unexpectedly" in board.failures["deadly"]
    assert [(row.model, row.n_folds) for row in board.rows] == [("ridge", 2)]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_processes_do_not_hear_ctrl_c_while_they_start_and_end_with_the_pool(table):
    pool = workers._WorkerPool(
        make_experiment(table, candidates=roster(RIDGE), folds=2, repeats=1), 1
    )
    try:
        [process] = pool._own.processes
        with open(f"/proc/{process.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        masks = [int(lines[name], 16) for name in ("SigBlk", "SigIgn")]
        assert (masks[0] | masks[1]) >> (signal.SIGINT - 1) & 1
    finally:
        pool.close()
    assert process.returncode is not None


SCRIPT = """
import os, sys
from sklearn.linear_model import Ridge
from echelon import RoundedRegressor
from echelon.datasets import load_esl
from echelon.model_selection import Candidate, run_contest, workers

class Own(RoundedRegressor):
    "A class of the script, that prints where answers go."
    def fit(self, X, y):
        os.write(1, b"fitted ")
        return super().fit(X, y)

workers._WorkerPool.is_ready = lambda self: True
X, y = load_esl(return_X_y=True)
show = lambda p: print("pids", os.getpid(), flush=True) if sys.argv[1:] and p.done == 2 else None
board = run_contest(X, y, candidates={"own": Candidate("own", Own(Ridge()))}, n_jobs=2,
                    folds=5, repeats=500 if sys.argv[1:] else 1, on_progress=show)
print(board.best_, board.best.n_folds)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_script_needs_no_guard_and_its_workers_end_with_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "own 5\n")
    assert set(run.stderr.split()) == {"fitted"}
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, script, "long"], env=environment, **streams) as parent:
        assert parent.stdout.readline().startswith("pids")
        parent.kill()
        # The workers write to this stream too, which ends when they have ended.
        assert "Traceback" not in parent.stderr.read()
    assert not list(tmp_path.glob("echelon-*"))


def test_what_is_no_executor(table):
    with pytest.raises(TypeError, match="executor must be an executor of concurrent"):
        run_contest(table, candidates=roster(RIDGE), executor=4)


def test_a_worker_says_what_cannot_be_handed_over(tmp_path):
    pool = WorkerProcesses(1, tmp_path / "folder")
    try:
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 7, 0).result()
        # A generator cannot be pickled.
        with pytest.raises(TypeError, match="cannot pickle"):
            pool.submit(eval, "(i for i in [])").result()
        with pytest.raises(BrokenExecutor, match="ended unexpectedly"):
            pool.submit(os._exit, 3).result()
        assert pool.submit(max, 1, 2).result() == 2
    finally:
        pool.shutdown()
    with pytest.raises(RuntimeError, match="have ended"):
        pool.submit(max, 1, 2)


def test_without_lightgbm_there_is_no_such_candidate(monkeypatch):
    from echelon.model_selection import roster as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert not [name for name in candidates() if "LightGBM" in name]
    assert "HistGradientBoosting calibrated" in candidates()


def test_the_roster():
    found = candidates(3)
    groups = {candidate.group for candidate in found.values()}
    assert groups == {"ordinal", "outsider", "baseline"}
    for name, candidate in found.items():
        known = candidate.estimator.get_params()
        assert candidate.name == name
        assert candidate.about.endswith(".")
        for setting, values in candidate.settings.items():
            assert setting in known
            assert len(values) >= 2
        for grid in (candidate.settings, candidate.large):
            assert math.prod(map(len, grid.values())) <= 6
            assert grid.keys() <= known.keys()
        seeds = [v for k, v in known.items() if k.endswith("random_state") and v is not None]
        assert set(seeds) <= {3}
    assert list(default_models(3)) == list(found)


def test_a_large_table_has_a_grid_of_its_own(monkeypatch, table):
    from echelon.model_selection import roster as module

    chosen = Candidate(
        "large", ProportionalOdds(), {"alpha": (1.0, 2.0)}, large={"alpha": (3.0, 4.0)}
    )
    assert searched_settings(chosen, table.schema, table.X)["model__alpha"] == (1.0, 2.0)
    monkeypatch.setattr(module, "LARGE", len(table.X))
    assert searched_settings(chosen, table.schema, table.X)["model__alpha"] == (3.0, 4.0)


def test_thresholds_learnt_out_of_fold_decide_where_a_candidate_says_so(table):
    calibrated = Candidate("calibrated", RIDGE.estimator, decision="cost")
    board = run_contest(table, candidates=roster(calibrated, RIDGE), folds=3, repeats=1)
    known = {"classes": list(table.classes), "cv": 3, "random_state": 0}
    for name, decision in (("calibrated", "cost"), ("ridge", "inner")):
        for rows, codes, p in board.find(name).predictions:
            inside = np.setdiff1d(np.arange(len(table.y)), rows)
            pipeline = candidate_pipeline(RIDGE, table.schema, classes=table.classes)
            model = OrdinalCalibrator(pipeline, decision=decision, **known)
            model.fit(table.X.iloc[inside], np.asarray(table.y)[inside])
            new = table.X.iloc[rows]
            np.testing.assert_array_equal(np.asarray(table.classes)[codes], model.predict(new))
            np.testing.assert_allclose(p, model.predict_proba(new), atol=1e-6)


def test_the_log_loss_is_finite_for_a_model_that_holds_labels_impossible(table):
    sure = Candidate("sure", OrdinalReduction(DecisionTreeClassifier(random_state=0)))
    board = run_contest(table, candidates=roster(sure), folds=3, repeats=1)
    row = board.best
    for fold, (rows, codes, p) in enumerate(row.predictions):
        m, truth = len(table.y) - len(rows), np.asarray(table.y)[rows] - 1
        of_truth = p[np.arange(len(rows)), truth].astype(float)
        assert (of_truth == 0.0).any()
        expected = -np.log((m * of_truth + 0.25) / (m + 1)).mean()
        assert row.folds["log_loss"][fold] == pytest.approx(expected, abs=1e-5)
        assert codes.max() <= 3


@pytest.mark.parametrize("name", ["SVOR implicit", "svor-implicit", "SVOR_IMPLICIT", "svorimpl"])
def test_names_are_forgiving(name):
    assert find_candidate(name).name == "SVOR implicit"


@pytest.mark.parametrize(
    ("name", "message"),
    [("svor", "beginning of several models: SVOR implicit, SVOR explicit"), ("xyz", "there are")],
)
def test_unknown_names_list_the_known(name, message):
    with pytest.raises(ValueError, match=message):
        find_candidate(name)


class Counted(RoundedRegressor):
    """A model that remembers the rows of its fits."""

    sizes: list[int] = []  # noqa: RUF012 - shared on purpose

    def fit(self, X, y, sample_weight=None):
        Counted.sizes.append(len(X))
        return super().fit(X, y)


def test_settings_are_searched_on_a_part_of_many_rows():
    X, y = ordinal_data(n=9000)
    searched = Candidate("counted", Counted(Ridge()), {"regressor__alpha": (1.0, 10.0)})
    Counted.sizes.clear()
    tune(searched, X, y, classes=[0, 1, 2, 3])
    # Six fits to two thirds of a part see as many rows as there are.
    assert sum(Counted.sizes) == pytest.approx(9000, abs=6) and len(Counted.sizes) == 6
    Counted.sizes.clear()
    tune(searched, X[:1500], y[:1500], classes=[0, 1, 2, 3])
    assert Counted.sizes == [1000] * 6
