"""What a contest keeps of its folds, and goes on from."""

import errno
import json
import os

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from support.contests import ODDS, RIDGE, SEARCHED, SKEWED, roster
from support.data import ordinal_data

from echelon import (
    RoundedRegressor,
)
from echelon._utils.files import AppendLog
from echelon.model_selection import (
    Candidate,
    run_contest,
    workers,
)
from echelon.model_selection.experiment import run_fold


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
