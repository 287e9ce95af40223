"""Races between made-up models: outcomes are drawn, no model is fitted and no time passes."""

import os
from itertools import pairwise

import numpy as np
import pytest
from support.simulated import Clock, drive

from echelon.base.row_design import RowDesign
from echelon.datasets import load_dataset
from echelon.model_selection import candidates, run_contest
from echelon.model_selection.experiment import (
    Entry,
    Experiment,
    Outcome,
    OutcomeStore,
    held_out_rows,
    test_figures,
    training_rows,
)
from echelon.model_selection.experiment_run import ExperimentRun
from echelon.model_selection.racing import Race, mean_difference
from echelon.model_selection.schedule import Schedule, Step
from echelon.model_selection.splitters import contest_splits
from echelon.tables import labelled_table

# pytest takes it for a test.
test_figures.__test__ = False


def experiment_of(models, n=600, repeats=2, folds=5, groups=None, baseline="median"):
    y = np.random.default_rng(0).integers(0, 4, n)
    design = RowDesign.of(n, groups=groups)
    splits, how = contest_splits(y, design, folds, repeats, 0)
    entries = {m: Entry(m, None, group="baseline" if m == baseline else "") for m in models}
    X = np.zeros((n, 1))
    return Experiment(X, y, [0, 1, 2, 3], splits, entries, design=design, how=how, racing=True)


def draw(experiment, error, task):
    """An outcome of a model that is wrong so often, or as often as a function of rows says."""
    test = held_out_rows(experiment, task.step)
    seed = [*task.model.encode(), task.fold, task.rows or 0]
    # Models err on the same rows for the most part, as real ones do.
    hard = np.random.default_rng([task.fold, 7]).permuted(np.linspace(0.0, 1.0, len(test)))
    rng = np.random.default_rng(seed)
    rate = error(len(training_rows(experiment, task.step))) if callable(error) else error
    wrong = hard + 0.1 * rng.normal(size=len(test)) < rate
    truth = np.asarray(experiment.y)[test]
    codes = np.where(wrong, (truth + 1) % 4 if rate > 0.6 else np.abs(truth - 1), truth)
    figures = test_figures(experiment, test, codes, None, len(training_rows(experiment, task.step)))
    return Outcome(task.model, task.fold, figures, 0.1, 1.0, codes=codes, rows=task.rows)


def race(experiment, errors, jobs=1, speeds=(), budget=None, run=None, end=None):
    """Run a contest of made-up models; its table and the tasks that were started."""
    clock = Clock()
    run = ExperimentRun(experiment) if run is None else run
    schedule = Schedule(
        list(errors), run._race.steps, budget, jobs, run._outcomes, clock=clock,
        training_rows=len(experiment.splits[0][0]),
    )  # fmt: skip
    for outcome in run._outcomes.values():
        run._race.record(outcome)
    run._settle(schedule)
    seen = []

    def collect(task):
        if end is not None and len(seen) == end:
            raise InterruptedError
        seen.append(task)
        outcome = draw(experiment, errors[task.model], task)
        run._keep(outcome)
        run._race.record(outcome)
        run._settle(schedule)

    speed = dict(speeds)
    tasks = drive(
        schedule, clock, jobs, lambda t: speed.get(t.model, 1.0) * (t.rows or 2000) / 2000, collect
    )
    run._has_ended = True
    return run.board(), [(task.model, task.step) for task in tasks]


ERRORS = {"median": 0.7, "good": 0.3, "equal": 0.3, "near": 0.34, "bad": 0.5, "worse": 0.6}


def test_models_that_cannot_win_stop_and_the_others_have_all_folds():
    board, tasks = race(experiment_of(ERRORS), ERRORS)
    rows = {row.model: row for row in board.rows}
    assert board.best_ in ("good", "equal")
    assert [rows[m].n_folds for m in ("good", "equal", "bad", "worse")] == [10, 10, 1, 1]
    # The baseline has all folds, and its place in the table all the same.
    assert rows["median"].n_folds == 10
    assert board.rows[-1].model == "median"
    assert rows["bad"].note == f"Stopped after 1 fold: behind by {rows['bad'].behind:.3f}."
    assert rows["bad"].behind == pytest.approx(0.2, abs=0.06)
    assert tasks.count(("bad", Step(1))) == 0


def test_a_stopped_model_is_never_first_however_lucky_its_folds_were():
    experiment = experiment_of(ERRORS)
    board, _ = race(experiment, ERRORS)
    means = [row.mean("mae") if row.behind is None else np.inf for row in board.rows]
    assert np.argmin(means) == 0
    assert board.best.behind is None
    whole = [row for row in board.rows if row.behind is None]
    assert all(a.mean("mae") <= b.mean("mae") for a, b in pairwise(whole))


@pytest.mark.parametrize("jobs", [2, 3, 7])
def test_the_order_in_which_outcomes_come_decides_nothing(jobs):
    alone, _ = race(experiment_of(ERRORS), ERRORS)
    rng = np.random.default_rng(jobs)
    for _ in range(3):
        speeds = {model: rng.exponential() for model in ERRORS}
        board, _ = race(experiment_of(ERRORS), ERRORS, jobs, speeds)
        assert board.to_csv() == alone.to_csv()


def test_no_process_is_idle_for_long():
    speeds = dict(zip(ERRORS, (0.1, 3.0, 0.5, 2.0, 6.0, 0.2), strict=True))
    clock = Clock()
    experiment = experiment_of(ERRORS)
    schedule = Schedule(list(ERRORS), Race(experiment).steps, jobs=2, clock=clock)
    tasks = drive(schedule, clock, 2, lambda task: speeds[task.model])
    assert sum(speeds[task.model] for task in tasks) > 0.9 * 2 * clock.now


def test_kills_and_resumption_change_nothing(tmp_path):
    experiment = experiment_of(ERRORS)
    undisturbed, tasks = race(experiment, ERRORS)
    rng = np.random.default_rng(0)
    for number in range(20):
        store, done = tmp_path / f"{number}.jsonl", False
        while not done:
            # As after a kill, all that is known is in the file; a line may be torn.
            run = ExperimentRun(experiment, store)
            speeds = {model: rng.exponential() for model in ERRORS}
            jobs, end = int(rng.integers(1, 4)), int(rng.integers(1, 12))
            try:
                board, _ = race(experiment, ERRORS, jobs, speeds, run=run, end=end)
                done = True
            except InterruptedError:
                if rng.random() < 0.3:
                    os.truncate(store, store.stat().st_size - 9)
        assert board.to_csv() == undisturbed.to_csv()
    assert len(tasks) < 60


def test_a_model_that_needs_many_rows_is_not_stopped_by_a_look_at_few():
    def slow(n):
        return 0.2 + 8.0 / n**0.5

    def flat(n):
        return 0.3

    errors = {"median": 0.7, "flat": flat, "learns": slow, "hopeless": lambda n: 0.5 + 1.0 / n}
    experiment = experiment_of(errors, n=40_000)
    board, tasks = race(experiment, errors, jobs=2)
    assert [step.rows for m, step in tasks if m == "learns"][:3] == [2000, 8000, None]
    rows = {row.model: row for row in board.rows}
    # At 2,000 rows it is behind by 0.08.
    assert board.best_ == "learns"
    assert rows["hopeless"].note.startswith("Stopped after a look at 8,000 rows: behind by 0.2")
    assert rows["hopeless"].n_folds == 1
    [(tested, codes, _)] = rows["hopeless"].predictions
    assert len(tested) == len(codes) == 8000


def test_looks_are_nested_stratified_and_keep_groups_whole():
    groups = np.random.default_rng(1).integers(0, 900, 30_000)
    for known in (None, groups):
        experiment = experiment_of(["a"], n=30_000, groups=known)
        race_ = Race(experiment)
        looks = [step for step in race_.steps if step.rows is not None]
        assert looks[0].rows >= 1000 and len(looks) == 2
        parts = [training_rows(experiment, step) for step in looks]
        training = experiment.splits[looks[0].fold][0]
        assert set(parts[0]) < set(parts[1]) < set(training)
        assert all((np.diff(part) > 0).all() for part in parts)
        if known is None:
            assert [len(part) for part in parts] == [step.rows for step in looks]
            shares = np.bincount(experiment.y[parts[0]]) / len(parts[0])
            expected = np.bincount(experiment.y[training]) / len(training)
            np.testing.assert_allclose(shares, expected, atol=2e-3)
        else:
            outside = np.setdiff1d(training, parts[0])
            assert not set(groups[parts[0]]) & set(groups[outside])


def test_with_times_the_look_is_at_the_last_window():
    n = 12_000
    y = np.random.default_rng(0).integers(0, 4, n)
    design = RowDesign.of(n, time=np.arange(n))
    splits, _ = contest_splits(y, design, 5)
    entries = {"a": Entry("a", None)}
    experiment = Experiment(np.zeros((n, 1)), y, [0, 1, 2, 3], splits, entries, design=design,
                            racing=True)  # fmt: skip
    steps = Race(experiment).steps
    assert steps[0].fold == 4 and steps[0].rows == 2500
    assert [step.fold for step in steps[1:]] == [4, 0, 1, 2, 3]
    assert training_rows(experiment, steps[0]).max() < splits[4][1].min()


def test_the_budget_keeps_the_best_and_says_so():
    errors = {"median": 0.7, "good": 0.25, "dear": 0.27, "fair": 0.28}
    speeds = {"median": 0.01, "good": 4.0, "dear": 20.0, "fair": 2.0}
    experiment = experiment_of(errors)
    board, _ = race(experiment, errors, 1, speeds, budget=90.0)
    rows = {row.model: row for row in board.rows}
    assert "the budget has no time for more" in rows["dear"].note
    assert rows["dear"].n_folds == 1 and rows["good"].n_folds >= 5
    small, _ = race(experiment, errors, 1, speeds, budget=0.5)
    assert [row.model for row in small.rows] == ["good", "median"]
    assert small.failures["dear"] == "The budget ended before its first fold."


def test_differences_by_rows_and_by_groups():
    rng = np.random.default_rng(0)
    values = rng.normal(size=300)
    rows = np.arange(300)
    plain = mean_difference(values, rows, RowDesign(), 10**9, 1.0)
    assert plain.clear == pytest.approx(values.std(ddof=1) / 300**0.5, rel=0.02)
    # Copies are one row to those who know it.
    copied = RowDesign.of(600, groups=np.tile(rows, 2))
    twice = mean_difference(np.tile(values, 2), np.arange(600), copied, 10**9, 1.0)
    assert twice == pytest.approx(plain)
    weights = rng.integers(1, 4, 300)
    weighted = RowDesign.of(300, weights)
    found = mean_difference(values, rows, weighted, 10**9, 1.0)
    assert found.mean == pytest.approx(np.average(values, weights=weights))
    # Folds that share what they learn from tell less than their rows would alone.
    shared = mean_difference(values, rows, RowDesign(), 300, 1.0)
    assert shared.clear == pytest.approx(plain.clear * 2**0.5)


@pytest.mark.parametrize("name", ["esl", "swd"])
def test_a_race_has_the_winner_of_the_contest_without_one(name):
    table = labelled_table(load_dataset(name, as_frame=True).frame)
    names = ("median label", "RoundedRegressor ridge", "ProportionalOdds logit", "PRank")
    few = {n: candidates()[n] for n in names}
    raced, whole = (
        run_contest(table, candidates=few, folds=4, repeats=1, racing=racing)
        for racing in (True, False)
    )
    assert raced.best_ == whole.best_
    np.testing.assert_array_equal(raced.best.folds["mae"], whole.best.folds["mae"])
    assert {row.n_folds for row in whole.rows} == {4}
    ended = {row.model for row in raced.rows if row.behind is not None}
    assert not ended & {whole.best_, *whole.with_verdict("equivalent")}


def test_a_look_that_is_kept_is_found_again(tmp_path):
    experiment = experiment_of(["a"], n=9000)
    [look, fold, *_] = Race(experiment).steps
    store = OutcomeStore(tmp_path / "store", experiment)
    for step in (look, fold):
        codes = np.zeros(len(held_out_rows(experiment, step)), dtype=np.int16)
        store.append(Outcome("a", step.fold, {"mae": 1.0}, codes=codes, rows=step.rows))
    assert [outcome.step for outcome in store.read()[0]] == [look, fold]


def test_the_table_says_who_stopped():
    board, _ = race(experiment_of(ERRORS), ERRORS)
    cells = {line[0]: line for line in board.lines()}
    ended = [row for row in board.rows if row.behind is not None]
    assert {row.model for row in ended} >= {"bad", "worse"} and board.stopped
    for row in ended:
        if row.model in board.stopped:
            assert cells[row.model][2:4] == [f"{row.behind:.3f}", "stopped"]
        else:
            assert cells[row.model][3] == "worse"
    assert not {"good", "equal"} & set(board.stopped)
