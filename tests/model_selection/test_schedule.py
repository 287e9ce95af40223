"""Scheduling with a clock of the test's own; no time passes."""

import pytest

from echelon.model_selection.schedule import GRACE, LEAST_LIMIT, Schedule


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def simulate(speeds, n_folds=4, jobs=1, finished=(), **options):
    """Run a schedule on imagined workers; the order of starts, folds done, and the clock."""
    clock = Clock()
    schedule = Schedule(list(speeds), n_folds, jobs=jobs, clock=clock, finished=finished, **options)
    started, running = [], []
    done = dict.fromkeys(speeds, 0)
    while True:
        while len(running) < jobs and (task := schedule.next()) is not None:
            started.append((task.model, task.fold))
            limit = task.limit if task.limit is not None else float("inf")
            running.append((clock.now + min(speeds[task.model], limit), len(started), task))
        if not running:
            return started, done, clock.now, schedule
        running.sort(key=lambda entry: entry[:2])
        clock.now, _, task = running.pop(0)
        if task.limit is not None and speeds[task.model] > task.limit:
            schedule.drop(task)
        else:
            schedule.finish(task, speeds[task.model])
            done[task.model] += 1


def test_every_model_gets_its_first_fold_before_any_gets_its_second():
    started, done, _, _ = simulate({"a": 1.0, "b": 5.0, "c": 2.0})
    assert started[:3] == [("a", 0), ("b", 0), ("c", 0)]
    assert [fold for _, fold in started] == sorted(fold for _, fold in started)
    assert done == {"a": 4, "b": 4, "c": 4}


def test_from_the_second_round_on_quick_models_come_first():
    started, *_ = simulate({"a": 3.0, "b": 5.0, "c": 2.0})
    assert started[3:6] == [("c", 1), ("a", 1), ("b", 1)]


def test_the_budget_is_kept_and_shared_by_need():
    speeds = {"quick": 0.5, "middle": 2.0, "slow": 10.0}
    _, done, ended, _ = simulate(speeds, n_folds=10, budget=60.0)
    assert ended <= 60.0
    # 5 s and 20 s are less than a third of the budget; the rest of it, 35 s, is the slow one's.
    assert done == {"quick": 10, "middle": 10, "slow": 3}


def test_slow_models_share_equally():
    _, done, ended, _ = simulate({"a": 5.0, "b": 5.0, "c": 0.1}, n_folds=20, budget=61.0)
    # 29.5 s are five folds for each, and one more fits into what is left.
    assert sorted(done.values()) == [5, 6, 20]
    assert done["c"] == 20
    assert ended <= 61.0


def test_a_fold_beyond_its_share_is_given_up_and_its_model_dropped():
    speeds = {"quick": 1.0, "endless": 1e9, "late": 1.0}
    started, done, ended, _ = simulate(speeds, n_folds=3, budget=60.0)
    assert done == {"quick": 3, "endless": 0, "late": 3}
    assert started.count(("endless", 0)) == 1
    assert ended == pytest.approx(60.0 / 3 + 6.0)


def test_the_limit_is_the_share_but_never_tiny_nor_beyond_the_end():
    clock = Clock()
    schedule = Schedule(["a", "b", "c", "d"], 5, budget=100.0, jobs=2, clock=clock)
    assert schedule.next().limit == pytest.approx(50.0)
    clock.now = 95.0
    assert schedule.next().limit == pytest.approx(100.0 * (1 + GRACE) - 95.0)
    many = Schedule([str(k) for k in range(50)], 5, budget=60.0, clock=Clock())
    assert many.next().limit == LEAST_LIMIT


def test_without_a_budget_there_are_no_limits():
    schedule = Schedule(["a"], 2, clock=Clock())
    assert schedule.next().limit is None
    assert schedule.patience is None
    assert schedule.seconds_left is None


def test_a_unit_that_would_not_fit_is_not_started():
    clock = Clock()
    schedule = Schedule(["slow", "quick"], 3, budget=30.0, clock=clock)
    slow, quick = schedule.next(), schedule.next()
    clock.now = 12.0
    schedule.finish(slow, 12.0)
    schedule.finish(quick, 1.0)
    clock.now = 25.0
    assert schedule.next().model == "quick"
    assert schedule.next().model == "quick"
    assert schedule.next() is None


def test_only_missing_folds_are_run():
    started, _, _, schedule = simulate(
        {"a": 1.0, "b": 1.0}, n_folds=3, finished=[("a", 0), ("a", 1), ("a", 2), ("b", 1)]
    )
    assert started == [("b", 0), ("b", 2)]
    assert schedule.done == schedule.total == 6


def test_a_model_with_fewer_folds_catches_up_first():
    started, *_ = simulate({"a": 1.0, "b": 1.0}, n_folds=3, finished=[("a", 0), ("a", 1)])
    assert started == [("b", 0), ("b", 1), ("a", 2), ("b", 2)]


def test_time_left_is_the_work_over_the_workers():
    clock = Clock()
    schedule = Schedule(["a", "b"], 5, budget=1000.0, jobs=2, clock=clock)
    a, b = schedule.next(), schedule.next()
    assert schedule.total == 10
    schedule.finish(a, 4.0)
    schedule.finish(b, 6.0)
    assert schedule.seconds_left == pytest.approx((4 * 4.0 + 4 * 6.0) / 2)
    assert (schedule.done, schedule.total) == (2, 10)
    clock.now = 990.0
    assert schedule.seconds_left == pytest.approx(10.0)


def test_the_total_tells_what_the_budget_allows():
    clock = Clock()
    schedule = Schedule(["a"], 10, budget=35.0, clock=clock)
    task = schedule.next()
    clock.now = 10.0
    schedule.finish(task, 10.0)
    assert schedule.total == 3


def test_one_fold_that_was_held_up_does_not_spoil_the_estimate():
    clock = Clock()
    schedule = Schedule(["a"], 10, budget=100.0, clock=clock)
    for seconds in (30.0, 1.0, 1.0):
        schedule.finish(schedule.next(), seconds)
    assert schedule.seconds_left == pytest.approx(7.0)
    assert schedule.total == 10


def test_after_a_long_search_there_is_none():
    schedule = Schedule(["a"], 3, clock=Clock())
    assert schedule.next().search
    schedule.stop_searching("a")
    assert not schedule.next().search


def test_patience_ends_a_little_after_the_budget():
    clock = Clock()
    schedule = Schedule(["a"], 3, budget=100.0, clock=clock)
    clock.now = 60.0
    assert schedule.patience == pytest.approx(100.0 * (1 + GRACE) - 60.0)
    clock.now = 500.0
    assert schedule.patience == 0.0
