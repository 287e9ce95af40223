"""Scheduling with a clock of the test's own; no time passes."""

import pytest
from support.simulated import Clock, drive

from echelon.model_selection.schedule import GRACE, LEAST_LIMIT, Schedule, Step


def folds(n):
    return [Step(fold) for fold in range(n)]


def simulate(speeds, n_folds=4, jobs=1, finished=(), **options):
    """Starts, folds done, the clock at the end, and the schedule, for folds that take so long."""
    clock, done = Clock(), dict.fromkeys(speeds, 0)
    finished = [(model, Step(fold)) for model, fold in finished]
    schedule = Schedule(
        list(speeds), folds(n_folds), jobs=jobs, clock=clock, finished=finished, **options
    )

    def collect(task):
        done[task.model] += 1

    started = drive(schedule, clock, jobs, lambda task: speeds[task.model], collect)
    return [(task.model, task.fold) for task in started], done, clock.now, schedule


def test_every_model_gets_its_first_fold_before_any_gets_its_second():
    started, done, _, _ = simulate({"a": 1.0, "b": 5.0, "c": 2.0})
    assert started[:3] == [("a", 0), ("b", 0), ("c", 0)]
    assert [fold for _, fold in started] == sorted(fold for _, fold in started)
    assert done == {"a": 4, "b": 4, "c": 4}


def test_from_the_second_round_on_slow_models_come_first():
    started, *_ = simulate({"a": 3.0, "b": 5.0, "c": 2.0})
    assert started[3:6] == [("b", 1), ("a", 1), ("c", 1)]


def test_no_process_waits_for_a_step_of_others():
    speeds = {"quick": 1.0, "slow": 10.0}
    started, done, ended, _ = simulate(speeds, n_folds=5, jobs=2)
    assert done == {"quick": 5, "slow": 5}
    # While the slow one takes its first fold, the other process goes on with both.
    assert started[2:4] == [("quick", 1), ("slow", 1)]
    assert ended == 32.0


def test_models_that_are_not_likely_to_stay_do_not_run_ahead():
    clock = Clock()
    schedule = Schedule(["a", "b", "c"], folds(3), jobs=3, clock=clock)
    a, b, _ = schedule.next(), schedule.next(), schedule.next()
    schedule.finish(a, 1.0)
    schedule.finish(b, 1.0)
    schedule.likely = ["b"]
    assert (schedule.next().model, schedule.next().model) == ("b", "b")
    assert schedule.next() is None


def test_the_budget_is_kept_and_the_best_stay():
    clock = Clock()
    speeds = {"quick": 0.5, "middle": 2.0, "slow": 7.0, "slower": 7.5}
    schedule = Schedule(list(speeds), folds(10), budget=31.9, clock=clock)
    schedule.likely = ["slow", "quick", "slower", "middle"]
    started = [task.model for task in drive(schedule, clock, 1, lambda t: speeds[t.model])]
    assert clock.now <= 31.9
    # 14.9 s are left after the first fold, enough for one more of the first, but not of both.
    assert list(schedule.withdrawn) == ["slower"]
    assert started.count("slow") == 2 and started.count("slower") == 1


def test_models_without_time_for_a_few_folds_are_withdrawn():
    speeds = {"best": 2.0, "dear": 15.0, "cheap": 1.0}
    _, done, ended, schedule = simulate(speeds, n_folds=10, budget=60.0)
    assert schedule.withdrawn == {"dear": 15.0}
    assert done == {"best": 10, "dear": 1, "cheap": 10}
    assert ended == 45.0


def test_a_task_beyond_its_share_is_given_up_and_its_model_dropped():
    speeds = {"quick": 1.0, "endless": 1e9, "late": 1.0}
    started, done, ended, _ = simulate(speeds, n_folds=3, budget=60.0)
    assert done == {"quick": 3, "endless": 0, "late": 3}
    assert started.count(("endless", 0)) == 1
    assert ended == pytest.approx(60.0 / 3 + 6.0)


def test_the_limit_is_the_share_but_never_tiny_nor_beyond_the_end():
    clock = Clock()
    schedule = Schedule(["a", "b", "c", "d"], folds(5), budget=100.0, jobs=2, clock=clock)
    assert schedule.next().limit == pytest.approx(50.0)
    clock.now = 95.0
    assert schedule.next().limit == pytest.approx(100.0 * (1 + GRACE) - 95.0)
    clock.now = 109.0
    assert schedule.patience == pytest.approx(1.0)
    looks = Schedule(["a", "b"], [Step(0, 1000), *folds(5)], budget=100.0, clock=Clock())
    assert looks.next().limit == pytest.approx(12.5)
    many = Schedule([str(k) for k in range(50)], folds(5), budget=60.0, clock=Clock())
    assert many.next().limit == LEAST_LIMIT


def test_without_a_budget_there_are_no_limits():
    schedule = Schedule(["a"], folds(2), clock=Clock())
    assert schedule.next().limit is None
    assert schedule.patience is None
    assert schedule.seconds_left is None


@pytest.mark.parametrize("budget", [0, -1.0, float("nan"), "4m"])
def test_a_budget_is_positive(budget):
    with pytest.raises(ValueError, match="budget must be a positive number of seconds; found"):
        Schedule(["a"], folds(2), budget)


def test_the_first_model_is_measured_whatever_the_budget():
    _, done, _, _ = simulate({"a": 3.0, "b": 1.0}, budget=1e-9)
    assert done == {"a": 1, "b": 0}


def test_a_task_that_would_not_fit_is_not_started():
    clock = Clock()
    schedule = Schedule(["slow", "quick"], folds(3), budget=60.0, jobs=2, clock=clock)
    slow, quick = schedule.next(), schedule.next()
    clock.now = 12.0
    schedule.finish(slow, 12.0)
    schedule.finish(quick, 1.0)
    clock.now = 55.0
    assert (schedule.next().model, schedule.next().model) == ("quick", "quick")
    assert schedule.next() is None


def test_what_is_kept_for_later_is_not_spent():
    clock = Clock()
    schedule = Schedule(["a"], folds(9), budget=60.0, clock=clock)
    task = schedule.next()
    clock.now = 10.0
    schedule.finish(task, 10.0)
    schedule.reserve = 25.0
    assert schedule.seconds_left == pytest.approx(25.0)
    drive(schedule, clock, 1, lambda task: 10.0)
    assert clock.now == 30.0


def test_only_missing_folds_are_run():
    started, _, _, schedule = simulate(
        {"a": 1.0, "b": 1.0}, n_folds=3, finished=[("a", 0), ("a", 1), ("a", 2), ("b", 1)]
    )
    assert started == [("b", 0), ("b", 2)]
    assert schedule.done == schedule.total == 6


def test_a_model_with_fewer_folds_catches_up_first():
    started, *_ = simulate({"a": 1.0, "b": 1.0}, n_folds=3, finished=[("a", 0), ("a", 1)])
    assert started[:2] == [("b", 0), ("b", 1)]
    assert sorted(started[2:]) == [("a", 2), ("b", 2)]


def test_time_left_is_the_work_over_the_workers():
    clock = Clock()
    schedule = Schedule(["a", "b"], folds(5), budget=1000.0, jobs=2, clock=clock)
    assert schedule.seconds_left == 1000.0
    a, b = schedule.next(), schedule.next()
    assert schedule.total == 10
    schedule.finish(a, 4.0)
    schedule.finish(b, 6.0)
    assert schedule.seconds_left == pytest.approx((4 * 4.0 + 4 * 6.0) / 2)
    assert (schedule.done, schedule.total) == (2, 10)
    clock.now = 990.0
    assert schedule.seconds_left == pytest.approx(10.0)


def test_what_a_fold_takes_is_foretold_by_looks():
    clock = Clock()
    steps = [Step(0, 1000), Step(0, 4000), *folds(5)]
    schedule = Schedule(["a"], steps, training_rows=16_000, clock=clock)
    for seconds in (1.0, 8.0):
        task = schedule.next()
        clock.now += seconds
        schedule.finish(task, seconds)
    # Eight times as long for four times the rows, and twice that with probabilities.
    assert schedule.seconds_left == pytest.approx(5 * 2 * 64.0)


def test_a_look_is_taken_by_the_quick_and_by_the_best_of_the_slow():
    clock = Clock()
    steps = [Step(0, 1000), Step(0, 4000), *folds(5)]
    speeds = {"quick": 0.1, "slow": 4.0, "slower": 5.0, "best": 4.5}
    schedule = Schedule(list(speeds), steps, 100.0, training_rows=16_000, clock=clock)
    for _ in speeds:
        task = schedule.next()
        clock.now += speeds[task.model]
        schedule.finish(task, speeds[task.model])
    schedule.likely = ["best", "slow", "quick", "slower"]
    assert schedule.next().model == "best"
    # A quarter of the 86 s left pays for one of those that will take more than 6 s.
    assert sorted(schedule.withdrawn) == ["slow", "slower"]


@pytest.mark.parametrize("budget", [None, 150.0])
def test_the_total_never_rises_and_the_time_left_is_sane(budget):
    speeds = {f"m{k}": 0.2 * 1.4**k for k in range(12)}
    clock = Clock()
    schedule = Schedule(list(speeds), folds(8), budget, 2, clock=clock)
    seen = []

    def collect(task):
        if task.fold == 1 and int(task.model[1:]) % 3:
            schedule.stop(task.model)
        seen.append((clock.now, schedule.done, schedule.total, schedule.seconds_left))

    drive(schedule, clock, 2, lambda task: speeds[task.model], collect)
    totals = [total for _, _, total, _ in seen]
    assert totals == sorted(totals, reverse=True)
    assert [done for _, done, _, _ in seen] == list(range(1, len(seen) + 1))
    known = [(now + left, now) for now, _, _, left in seen if left is not None]
    # Nobody waits longer than was said, but for the task under way.
    assert all(end >= clock.now - max(speeds.values()) for end, _ in known)
    if budget is not None:
        assert all(end <= budget + 1e-9 or now > budget for end, now in known)


def test_one_fold_that_was_held_up_does_not_spoil_the_estimate():
    clock = Clock()
    schedule = Schedule(["a"], folds(10), budget=100.0, clock=clock)
    for seconds in (30.0, 1.0, 1.0):
        schedule.finish(schedule.next(), seconds)
    assert schedule.seconds_left == pytest.approx(7.0)
    assert schedule.total == 10


def test_after_a_long_search_there_is_none():
    schedule = Schedule(["a"], folds(3), clock=Clock())
    assert schedule.next().search
    schedule.stop_searching("a")
    assert not schedule.next().search


def test_patience_ends_a_little_after_the_budget():
    clock = Clock()
    schedule = Schedule(["a"], folds(3), budget=100.0, clock=clock)
    clock.now = 60.0
    assert schedule.patience == pytest.approx(100.0 * (1 + GRACE) - 60.0)
    clock.now = 500.0
    assert schedule.patience == 0.0
