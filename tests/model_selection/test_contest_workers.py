"""Folds in other processes, in executors and within time limits."""

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
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from support.contests import ODDS, RIDGE, SEARCHED, roster
from support.data import ordinal_data
from support.simulated import Deadly

from echelon import (
    RoundedRegressor,
)
from echelon.base.mixins import ThresholdModelMixin
from echelon.model_selection import (
    Candidate,
    run_contest,
    workers,
)
from echelon.model_selection.contest import make_experiment
from echelon.model_selection.experiment import Entry, Experiment, TooSlowError, run_fold, time_limit
from echelon.model_selection.schedule import FoldTask, Schedule, Step
from echelon.model_selection.worker_processes import WorkerProcesses


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
