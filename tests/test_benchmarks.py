"""The arithmetic and the manners of the speed harness; no test here looks at a real time."""

import gc
import inspect
import json
import math
import os
import warnings

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import cases, memory, null_contests, registry, report, text_sets, timing
from benchmarks.cases import metrics as metric_cases
from benchmarks.cases import proportional_odds, svor
from benchmarks.environment import environment
from benchmarks.registry import Case, Judged, Peer, Row, Skip
from benchmarks.timing import Ratio, Timing
from echelon import metrics
from echelon.metrics.best_comparison import Comparison


class HandClock:
    """A clock that moves only when told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def toy_case(**changes):
    settings = {
        "name": "toy",
        "sizes": (10, 20),
        "quick_sizes": (5,),
        "build": lambda n: np.arange(n),
        "ours": np.sum,
        "rounds": 4,
    }
    return Case(**{**settings, **changes})


# ---------------------------------------------------------------------------------------- timing


def test_timing_and_ratio_figures():
    ours, peer = Timing((1.0, 4.0, 3.0)), Timing((2.0, 2.0, 12.0))
    assert (ours.best, ours.median) == (1.0, 3.0)
    quotient = timing.ratio(ours, peer)
    assert quotient.rounds == (0.5, 2.0, 0.25)
    # The median of the rounds' ratios, 0.5, is not the ratio of the medians, 1.5.
    assert (quotient.low, quotient.median, quotient.high) == (0.25, 0.5, 2.0)


def test_ratio_needs_the_same_rounds():
    with pytest.raises(ValueError, match="shorter"):
        timing.ratio(Timing((1.0, 2.0)), Timing((1.0,)))


def test_interleave_alternates():
    order = []

    def sampler(name, value):
        def sample():
            order.append(name)
            return value + len(order)

        return sample

    first, second = timing.interleave([sampler("ours", 0.0), sampler("peer", 100.0)], rounds=3)
    assert order == ["ours", "peer"] * 3
    assert first.seconds == (1.0, 3.0, 5.0)
    assert second.seconds == (102.0, 104.0, 106.0)


@pytest.mark.parametrize("was_on", [True, False])
def test_no_garbage_collection_while_timing(was_on):
    before = gc.isenabled()
    seen = []

    def sampler():
        seen.append(gc.isenabled())
        if len(seen) == 2:
            raise RuntimeError("stop")
        return 1.0

    try:
        gc.enable() if was_on else gc.disable()
        with pytest.raises(RuntimeError, match="stop"):
            timing.interleave([sampler], rounds=3)
        assert seen == [False, False]
        assert gc.isenabled() is was_on
    finally:
        gc.enable() if before else gc.disable()


def test_rounds_must_be_positive():
    with pytest.raises(ValueError, match=r"rounds must be at least 1; found 0\."):
        timing.interleave([lambda: 1.0], rounds=0)


@pytest.mark.parametrize(
    ("seconds", "calls"), [(1.0, 1), (0.02, 1), (0.019, 2), (0.004, 5), (0.0, 10_000)]
)
def test_calls_fill_a_round(seconds, calls):
    assert timing.calls_per_round(seconds) == calls


def test_short_functions_are_repeated_within_a_round():
    clock, calls = HandClock(), []

    def function():
        calls.append(len(calls))
        # The first call is slow, as one that imports is; the samples must not show it.
        clock.now += 0.015625 if len(calls) == 1 else 0.00390625
        return f"call {len(calls)}"

    warm = timing.warm_up(function, clock)
    assert warm.result == "call 1"
    assert len(calls) == 2
    assert warm.sampler() == 0.00390625
    assert len(calls) == 2 + math.ceil(0.02 / 0.00390625)


def test_long_functions_are_called_once_to_warm_up_and_once_a_round():
    clock, calls = HandClock(), []

    def function():
        calls.append(1)
        clock.now += 2.0

    warm = timing.warm_up(function, clock)
    assert len(calls) == 1
    assert warm.sampler() == 2.0
    assert len(calls) == 2


def test_the_first_call_of_a_very_long_function_is_its_first_round():
    clock, calls = HandClock(), []

    def function():
        calls.append(1)
        clock.now += 60.0 + len(calls)

    warm = timing.warm_up(function, clock)
    assert [warm.sampler(), warm.sampler()] == [61.0, 62.0]
    assert len(calls) == 2


def test_warm_up_tells_what_was_warned_of():
    def function():
        warnings.warn("not settled", RuntimeWarning, stacklevel=1)

    warm = timing.warm_up(function)
    assert warm.warned == ("RuntimeWarning",)
    timing.interleave([warm.sampler], rounds=1)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.7, 2.0])
def test_exponent_of_a_power_law(power):
    sizes = [100, 1_000, 5_000, 20_000]
    assert timing.scaling_exponent(sizes, [3e-6 * n**power for n in sizes]) == pytest.approx(power)


def test_exponent_is_the_least_squares_slope():
    rng = np.random.default_rng(0)
    sizes = np.array([10.0, 30.0, 100.0, 700.0])
    seconds = np.exp(rng.normal(size=4))
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    assert timing.scaling_exponent(sizes, seconds) == pytest.approx(slope)


def test_exponent_needs_two_sizes():
    with pytest.raises(ValueError, match="at least two different sizes; found"):
        timing.scaling_exponent([10, 10], [1.0, 2.0])


# ---------------------------------------------------------------------------------------- memory


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's proc")
def test_memory_counts_arrays_that_live_only_during_the_run():
    def run(size):
        return float(np.ones(size).sum())

    memory.rise(run, 1000)
    rise = memory.rise(run, 8_000_000)
    assert 60e6 < rise < 120e6
    # The mark is set back, so an earlier peak does not hide or inflate a later run.
    assert memory.rise(run, 1000) < 20e6


# -------------------------------------------------------------------------------------- registry


def test_a_case_alone_has_a_row_per_size():
    rows = list(registry.run_case(toy_case()))
    assert [(row.size, len(row.ours.seconds), row.peer) for row in rows] == [
        (10, 4, None),
        (20, 4, None),
    ]
    (quick,) = registry.run_case(toy_case(), quick=True)
    assert (quick.size, len(quick.ours.seconds)) == (5, 3)


def test_a_peer_gets_the_same_data_and_is_compared():
    handed = []

    def peer(data):
        handed.append(id(data))
        return data.sum() + 1

    def ours(data):
        handed.append(id(data))
        return data.sum()

    def agreement(data, mine, theirs):
        return {"difference": float(theirs - mine), "n": float(len(data))}

    case = toy_case(sizes=(10,), ours=ours, peers=(Peer("p", "math", peer, 1e9, agreement),))
    (row,) = registry.run_case(case)
    assert len(set(handed)) == 1
    assert len(row.ratio.rounds) == len(row.theirs.seconds) == 4
    assert row.agreement == {"difference": 1.0, "n": 10.0}
    assert row.met is True


def test_met_compares_the_median_ratio_with_the_target():
    ratio = Ratio((0.05, 0.1, 9.0))
    assert Row("c", 1, ratio=ratio, target=0.1).met is True
    assert Row("c", 1, ratio=ratio, target=0.09).met is False
    assert Row("c", 1, ratio=ratio).met is None
    assert Row("c", 1, target=0.1).met is None


def test_a_missing_peer_is_a_line_and_not_a_crash():
    peers = (Peer("absent", "a_package_nobody_has", np.sum), Peer("present", "math", np.sum))
    first, second = registry.run_case(toy_case(sizes=(10,), peers=peers))
    assert first.notes == ("skipped: install the bench extra",)
    assert first.ratio is None and not first.failed
    assert second.ratio is not None


def test_a_failing_peer_is_told_and_a_failure_of_ours_counts():
    def broken(data):
        raise TypeError("no such argument\nand more")

    (row,) = registry.run_case(toy_case(sizes=(10,), peers=(Peer("p", "math", broken),)))
    assert row.notes == ("peer failed: TypeError: no such argument",)
    assert not row.failed
    rows = list(registry.run_case(toy_case(ours=broken)))
    assert [row.failed for row in rows] == [True, True]
    assert rows[0].notes == ("ours failed: TypeError: no such argument",)


def test_a_case_without_its_data_is_a_line_and_no_failure():
    def build(n):
        raise Skip("the data are elsewhere")

    rows = list(registry.run_case(toy_case(build=build)))
    assert [row.notes for row in rows] == [("skipped: the data are elsewhere",)] * 2
    assert not any(row.failed for row in rows)


@pytest.mark.parametrize(
    ("value", "target", "met"), [(2.0, 2.0, True), (2.1, 2.0, False), (2.1, None, None)]
)
def test_a_figure_is_judged_by_its_target(value, target, met):
    assert Judged(value, target).met is met
    assert Judged(None, target).met is None


def test_a_peer_is_left_out_above_its_largest_size():
    rows = list(registry.run_case(toy_case(peers=(Peer("p", "math", np.sum, largest=10),))))
    assert [(row.size, row.peer) for row in rows] == [(10, "p"), (20, None)]


def test_a_self_timed_case_reports_its_own_seconds():
    given = iter([9.0, 1.0, 3.0, 2.0, 5.0])
    case = toy_case(sizes=(0,), ours=lambda data: next(given), self_timed=True)
    (row,) = registry.run_case(case)
    assert row.ours.seconds == (1.0, 3.0, 2.0, 5.0)


def test_exponent_of_rows():
    rows = [Row("c", n, Timing((9.0, 9.5 * n**3.0, n**2.0))) for n in (2, 3)]
    assert registry.exponent(rows) == pytest.approx(2.0)
    assert registry.exponent(rows[:1]) is None


def test_select_by_group_or_by_name():
    chosen = (toy_case(name="a/x"), toy_case(name="a/y"), toy_case(name="ab"))
    assert [case.name for case in registry.select(chosen, "a")] == ["a/x", "a/y"]
    assert [case.name for case in registry.select(chosen, "a/y")] == ["a/y"]
    assert len(registry.select(chosen, None)) == 3
    with pytest.raises(ValueError, match=r"only must be one of a, ab, or a case; found 'b'\."):
        registry.select(chosen, "b")


# ---------------------------------------------------------------------------------------- report


def test_columns_are_aligned():
    text = report.underlined([("name", "n"), ("a long name", "1,000"), ("b", "7")], {0})
    assert text.splitlines() == [
        "name             n",
        "-----------  -----",
        "a long name  1,000",
        "b                7",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (1234.0, "1234 s"), (0.0123, "12.3 ms"), (4.56e-5, "45.6 µs")],
)
def test_durations_have_fitting_units(seconds, text):
    assert report.duration(seconds) == text


def test_table_and_json_hold_the_figures(tmp_path):
    row = Row(
        "c",
        1000,
        Timing((0.5, 1.5)),
        "p",
        Timing((5.0, 5.0)),
        Ratio((0.1, 0.3)),
        0.1,
        {"difference": math.nan},
        ("a note",),
    )
    peak = {"case": "c", "size": 1000, "peer": None, "bytes": 2_500_000}
    results = report.Results(
        [row], {"c": Judged(1.25, 2.1)}, [{**peak, "target": 2e6, "met": False}]
    )
    text = report.table(results)
    for piece in ("1,000", "500 ms", "1 s", "0.2", "0.1 – 0.3", "≤ 0.1 missed", "a note"):
        assert piece in text
    assert "1.25" in text and "≤ 2.1 met" in text
    assert "2.5" in text and "≤ 2 missed" in text
    path = tmp_path / "deep" / "bench.json"
    report.write_json(results, environment(), path)
    content = json.loads(path.read_text(encoding="utf-8"))
    (stored,) = content["results"]
    assert stored["ours"] == {"best": 0.5, "median": 1.0, "rounds": [0.5, 1.5]}
    assert stored["ratio"] == {"median": 0.2, "low": 0.1, "high": 0.3}
    assert stored["met"] is False
    assert stored["agreement"] == {"difference": None}
    assert content["exponents"] == {"c": {"value": 1.25, "target": 2.1, "met": True}}
    assert content["environment"]["packages"]["numpy"] == np.__version__
    assert any(pool["user_api"] == "blas" for pool in content["environment"]["thread_pools"])


def test_command_writes_a_table_and_json(tmp_path, monkeypatch, capsys):
    peers = (Peer("p", "math", np.sum), Peer("gone", "a_package_nobody_has", np.sum))
    toys = (toy_case(scaling=True, peers=peers),)
    monkeypatch.setattr(command, "CASES", toys)
    path = tmp_path / "bench.json"
    assert command.main(["--only", "toy", "--json", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.count("skipped: install the bench extra") == 2
    assert "seconds ~ n^" in text
    assert len(json.loads(path.read_text(encoding="utf-8"))["results"]) == 4


def test_command_lists_the_cases_and_runs_none(monkeypatch, capsys):
    monkeypatch.setattr(command, "run_case", None)
    assert command.main(["--list"]) == 0
    assert capsys.readouterr().out.split("\n")[:-1] == [case.name for case in command.CASES]


def test_command_judges_exponents_and_memory(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "peak_memory", lambda name, size, peer: 1000 * size)
    targets = {"exponent_target": 99.0, "memory_target": lambda n: 15_000.0}
    peers = (Peer("p", "math", np.sum),)
    toys = (toy_case(scaling=True, memory=True, peers=peers, **targets),)
    monkeypatch.setattr(command, "CASES", toys)
    path = tmp_path / "bench.json"
    assert command.main(["--json", str(path)]) == 0
    assert "≤ 99 met" in capsys.readouterr().out
    content = json.loads(path.read_text(encoding="utf-8"))
    judged = {(entry["size"], entry["peer"]): entry["met"] for entry in content["memory"]}
    assert judged == {(10, None): True, (20, None): False, (10, "p"): None, (20, "p"): None}


def test_command_fails_when_ours_does(tmp_path, monkeypatch, capsys):
    def broken(data):
        raise RuntimeError("ours broke")

    monkeypatch.setattr(command, "CASES", (toy_case(ours=broken),))
    path = str(tmp_path / "bench.json")
    assert command.main(["--json", path]) == 1
    assert "ours failed: RuntimeError: ours broke" in capsys.readouterr().out
    assert command.main(["--only", "other", "--json", path]) == 2
    assert "only must be one of toy" in capsys.readouterr().err


# ----------------------------------------------------------------------------------------- cases


def test_declared_cases_are_in_order():
    names = [case.name for case in cases.CASES]
    assert len(set(names)) == len(names)
    for case in cases.CASES:
        assert max(case.quick_sizes) <= max(case.sizes)
        assert not case.scaling or len(set(case.quick_sizes)) > 1


def test_every_metric_of_labels_has_a_case():
    names = set(metrics.__all__) - set(metrics.ranking.__all__)
    functions = [name for name in names if inspect.isfunction(getattr(metrics, name))]
    takes_labels = [
        name
        for name in functions
        if "y_true" in inspect.signature(getattr(metrics, name)).parameters
    ]
    assert sorted(takes_labels) == sorted(metric_cases.METRICS)


def test_log_likelihood_beside_the_ratio_is_the_models_own():
    data = proportional_odds.build(400)
    model = proportional_odds.ours(data)
    figures = proportional_odds.log_likelihoods(data, model, model)
    assert figures["log-likelihood ours"] == pytest.approx(model.log_likelihood_, rel=1e-9)
    assert figures["difference"] == 0.0


@pytest.mark.parametrize("constraints", ["implicit", "explicit"])
def test_no_multipliers_beat_the_objective_that_a_peer_is_granted(constraints):
    data = svor.synthetic(150)
    model = svor.ours(constraints, data)
    beta = np.zeros(len(data.y))
    beta[model.support_] = model.dual_coef_
    granted = svor.best_objective(data, constraints, beta, model.thresholds_)
    assert granted <= model.objective_ + 1e-9 * abs(model.objective_)
    # With the thresholds of the solution it is tight, and with others it stays a bound.
    assert granted == pytest.approx(model.objective_, abs=max(model.duality_gap_, 1e-6))
    shifted = model.thresholds_ + np.linspace(-0.3, 0.3, len(model.thresholds_))
    assert svor.best_objective(data, constraints, beta, shifted) < granted


def test_the_exact_norm_does_not_depend_on_the_pieces():
    data = svor.synthetic(60)
    beta = np.random.default_rng(1).normal(size=60)
    squares = ((data.X[:, None] - data.X) ** 2).sum(axis=2)
    expected = beta @ np.exp(-squares / svor.FEATURES) @ beta
    assert svor.squared_norm(data.X, beta, rows=7) == pytest.approx(expected, rel=1e-12)


def test_california_is_skipped_without_its_data(monkeypatch, tmp_path):
    monkeypatch.setenv("ECHELON_DATA", str(tmp_path))
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path))
    with pytest.raises(Skip, match="no data folder"):
        svor.california(100)


def test_wrong_verdicts_of_contests_are_counted():
    away = (0.0, 0.0, 0.05, 0.2)
    right = [
        Comparison(0.0, -0.1, 0.1, "undecided"),
        Comparison(0.01, -0.1, 0.1, "undecided"),
        Comparison(0.03, -0.1, 0.1, "undecided"),
        Comparison(0.2, 0.1, 0.3, "worse"),
    ]
    folds = np.array([0.4, 0.4, 0.45, 0.6])[:, None] + 0.001 * np.cos(np.arange(10))
    none = null_contests.judged(right, np.array(away), 0.01, folds, 100)
    assert {key for key, value in none.items() if value == 0} == {"worse", "marked", "equivalent"}
    assert (none["held"], none["decided"], none["models"]) == (1, 1, 4)
    wrong = [*right[:1], Comparison(0.02, 0.01, 0.1, "worse"), Comparison(0, -1, 0, "equivalent")]
    found = null_contests.judged([*wrong, right[3]], np.array(away), 0.01, folds, 100)
    assert [found[key] for key in ("worse", "equivalent", "held", "decided")] == [1, 1, 0, 3]
    folds[1] += 0.1
    marked = null_contests.judged(right, np.array(away), 0.01, folds, 100)
    assert marked["marked"] == 1
    drawn = null_contests.Drawn(60, (0.0,) * 4, groups=True, training=True)
    assert drawn(0)["contests"] == null_contests.LOT


def test_ratings_from_texts_are_shown_where_every_method_is_measured():
    def result(method, mae):
        return {"mae": mae, "model": "LinearSVOR", "rows": 75, "held_out": 25}

    whole = {("a", method): result(method, 0.5) for method in text_sets.METHODS}
    whole["a", text_sets.CONTEST] = result(text_sets.CONTEST, 0.4)
    found = text_sets.table_of({**whole, ("b", text_sets.MEDIAN): result("", 1.0)}).splitlines()
    assert len(found) == 3 and all(line.count("|") == found[0].count("|") for line in found)
    assert found[2].endswith("| 0.400 (LinearSVOR) | -20.0% |")
