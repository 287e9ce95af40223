import csv
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from support.data import ordinal_data

from echelon import ProportionalOdds, RoundedRegressor
from echelon.metrics import nemenyi_test
from echelon.metrics.best_comparison import TOO_LITTLE, fold_differences, row_differences
from echelon.metrics.measures import MEASURES
from echelon.model_selection import (
    Leaderboard,
    LeaderboardRow,
    candidates,
    compare_models,
    default_models,
    mixed_columns,
    run_contest,
)
from echelon.ordinal.labels import OrdinalScale


def test_figures_are_those_of_cross_validation():
    X, y = ordinal_data()
    seen = []
    models = {"odds": ProportionalOdds(), "ridge": RoundedRegressor(Ridge(1e5))}
    board = compare_models(models, X, y, folds=3, repeats=2, random_state=4, on_row=seen.append)
    assert [row.model for row in board.rows] == ["odds", "ridge"]
    assert sorted(row.model for row in seen) == ["odds", "ridge"]
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=4)
    by_hand = -cross_val_score(ProportionalOdds(), X, y, cv=cv)
    row = board.rows[0]
    np.testing.assert_allclose(row.folds["mae"], by_hand)
    assert row.mean("mae") == pytest.approx(by_hand.mean())
    assert row.summary("mae").se == pytest.approx(by_hand.std(ddof=1) / math.sqrt(6))
    assert row.mean("qwk") > 0
    assert math.isnan(board.rows[1].mean("rps"))


def test_classes_smaller_than_the_folds():
    X, y = ordinal_data(n=60)
    y = np.where(y == 3, 2, y)
    y[0] = 3
    labels = np.array(["a", "b", "c", "d"])[y]
    board = compare_models({"odds": ProportionalOdds(alpha=1.0)}, X, labels, classes=list("abcd"))
    assert np.isfinite(board.rows[0].folds["mae"]).all()


def test_renderings_hold_the_same_figures():
    X, y = ordinal_data()
    board = compare_models({"ridge": RoundedRegressor()}, X, y, folds=2, repeats=1)
    [record] = board.records()
    [row] = csv.DictReader(io.StringIO(board.to_csv()))
    assert float(row["mae"]) == record["mae"]
    [parsed] = json.loads(board.to_json())
    assert parsed["mae"] == record["mae"]
    assert parsed["rps"] is None
    assert f"| {record['mae']:.3f} |" in board.to_markdown()
    assert record["verdict"] == "" and "verdict" not in str(board)


def test_default_models_run_on_a_messy_table():
    rng = np.random.default_rng(0)
    X, y = ordinal_data(n=90)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[rng.choice(90, 9), "a"] = np.nan
    frame["colour"] = rng.choice(["red", "green", None], 90)
    frame["kind"] = pd.Categorical(rng.choice(["x", "y"], 90))
    frame["flag"] = rng.choice([True, False], 90)
    models = {name: make_pipeline(mixed_columns(), m) for name, m in default_models().items()}
    board = compare_models(models, frame, y, folds=2, repeats=1)
    assert len(board.rows) == len(models)
    order = [row.mean("mae") for row in board.rows]
    assert order == sorted(order)
    assert board.best.model != "median label"


def test_a_model_that_fails_raises_its_own_error():
    X, y = ordinal_data()
    with pytest.raises(ValueError, match="alpha"):
        compare_models({"odds": ProportionalOdds(alpha=-1.0)}, X, y, folds=2, repeats=1)


def test_no_models():
    with pytest.raises(ValueError, match="models must name at least one model"):
        compare_models({}, [[0], [1]], [0, 1])


def row(model, values, **more):
    values = np.asarray(values, dtype=float)
    others = dict.fromkeys(("zero_one", "qwk", "rps"), np.full(len(values), math.nan))
    return LeaderboardRow(model, {"mae": values, **others, **more}, 0.1)


@pytest.fixture
def board():
    """Ten folds: clear gaps, and gaps within the noise of so many models."""
    base = 0.4 + 0.02 * np.random.default_rng(5).normal(size=10)
    sign = np.array([1.0, -1.0] * 5)
    rows = [
        row("best", base),
        row("near", base + 0.004 + 0.02 * sign),
        row("middle", base + 0.0153 + 0.01 * sign),
        row("far", base + 0.2 + 0.02 * sign),
        row("part", np.r_[base[:6] + 0.1 + 0.01 * sign[:6], [math.nan] * 4]),
        row("once", np.r_[0.01, [math.nan] * 9]),
    ]
    return Leaderboard.of(rows, sizes=(80, 20), planned=10)


def test_without_predictions_folds_are_compared(board):
    figures = [r.folds["mae"] for r in board.rows]
    expected = fold_differences(figures, 80, 20).to_best(0, 0.02 * board.best.mean("mae"))
    assert list(board.comparisons.values()) == expected
    verdicts = {model: found.verdict for model, found in board.comparisons.items()}
    assert verdicts == {
        "best": "undecided",
        "near": "undecided",
        "middle": "undecided",
        "part": "worse",
        "far": "worse",
        "once": "undecided",
    }
    assert board.with_verdict("worse") == ("part", "far")
    assert board.contenders == ("best", "near", "middle", "once")
    assert board.notes == {TOO_LITTLE: ["once"]}
    cells = {line.split()[0]: line.split() for line in str(board).splitlines()}
    assert cells["far"][-3:] == ["worse", "0.10", "10/10"]
    assert cells["once"][-4:] == ["–", "undecided", "0.10", "1/10"]
    sizeless = Leaderboard.of(board.rows, planned=10)
    assert sizeless.comparisons == {} and sizeless.chosen is sizeless.best
    assert "verdict" not in str(sizeless)


@pytest.mark.parametrize(
    ("folds", "planned", "tested"), [(4, 10, False), (5, 10, True), (3, 3, True)]
)
def test_five_common_folds_are_needed_where_so_many_were_planned(folds, planned, tested):
    rest = [math.nan] * (planned - folds)
    spread = 0.01 * np.cos(np.arange(planned))
    rows = [
        row("best", 0.4 + spread),
        row("bad", np.r_[0.9 + 2 * spread[:folds], rest]),
    ]
    board = Leaderboard.of(rows, sizes=(80, 20), planned=planned)
    assert board.comparisons["bad"].verdict == ("worse" if tested else "undecided")
    assert board.comparisons["best"].verdict == ("better" if tested else "undecided")


@pytest.fixture(scope="module")
def contest():
    X, y = ordinal_data(n=200)
    groups = np.arange(200) // 4
    models = {
        "odds": ProportionalOdds(alpha=1.0),
        "same": ProportionalOdds(alpha=1.0),
        "ridge": RoundedRegressor(Ridge(1e5)),
    }
    weights = np.linspace(0.5, 1.5, 200)
    return compare_models(models, X, y, folds=4, groups=groups, sample_weight=weights)


@pytest.mark.parametrize("measure", ["mae", "zero_one", "qwk", "cost"])
def test_differences_are_those_of_the_figures(contest, measure):
    """With predictions rows are compared, whatever the weights and groups."""
    cost = np.square(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    rows = contest.rows
    if measure == "cost":
        rows = [replace(r, folds={**r.folds, "cost": fold_costs(contest, r, cost)}) for r in rows]
    board = replace(Leaderboard.of(rows, measure, sizes=contest.sizes), cost=cost)
    board = replace(board, truth=contest.truth, labels=contest.labels, design=contest.design)
    sign = -MEASURES[measure].sign
    means = np.array([sign * r.mean(measure) for r in board.rows])
    for place, found in enumerate(board.comparisons.values()):
        expected = means[place] - np.delete(means, place).min()
        assert found.difference == pytest.approx(expected, abs=1e-12)
    assert board.comparisons["ridge"].verdict == "worse"
    assert board.comparisons["same"].verdict != "worse"


def test_a_model_that_stopped_early_is_no_rival_of_the_others(contest):
    first, *others, last = contest.rows
    kept = {m: np.r_[f[:1], np.full(7, np.nan)] for m, f in last.folds.items()}
    early = replace(last, folds=kept, predictions=last.predictions[:1])
    board = replace(contest, rows=(first, *others, early))
    without = replace(contest, rows=(first, *others))
    for row in others:
        found, alone = (b.comparisons[row.model] for b in (board, without))
        assert found.difference == alone.difference
        assert found.high - found.low <= 1.5 * (alone.high - alone.low)
    assert not board.comparisons[last.model].reason
    assert math.isfinite(board.comparisons[last.model].low)


def test_models_without_probabilities_are_not_compared_by_them(contest):
    board = replace(contest, measure="rps")
    assert board.comparisons["ridge"].reason == TOO_LITTLE
    first, second = (row.mean("rps") for row in contest.rows[:2])
    assert board.comparisons["same"].difference == pytest.approx(second - first, abs=1e-12)
    worse = replace(
        contest.rows[1],
        predictions=tuple(
            (rows, codes, np.roll(p, 1, axis=1)) for rows, codes, p in contest.rows[1].predictions
        ),
    )
    shifted = replace(board, rows=(contest.rows[0], worse))
    assert shifted.comparisons[worse.model].verdict == "worse"


def fold_costs(board, row, cost):
    weights = board.design.weights
    return np.array(
        [
            np.average(cost[board.truth[rows], codes], weights=weights[rows])
            for rows, codes, _ in row.predictions
        ]
    )


def test_rows_are_compared_by_group_and_only_predictions_of_all_models_will_do(contest):
    assert contest.comparisons["same"].high == 0.0
    losses = [
        [np.abs(contest.truth[rows] - codes).astype(float) for rows, codes, _ in r.predictions]
        for r in contest.rows
    ]
    tests = [rows for rows, _, _ in contest.rows[0].predictions]
    design = contest.design
    pairs = row_differences(
        losses, tests, contest.sizes[0], weights=design.weights, groups=design.groups
    )
    assert pairs.freedom == 49
    expected = pairs.to_best(0, 0.02 * contest.best.mean("mae"))
    assert list(contest.comparisons.values()) == expected
    bare = [replace(contest.rows[0], predictions=()), *contest.rows[1:]]
    by_folds = replace(contest, rows=tuple(bare)).comparisons
    assert by_folds["ridge"].difference == pytest.approx(expected[2].difference)
    assert by_folds["ridge"].high != expected[2].high


def test_the_first_row_is_a_contender_even_where_common_folds_speak_against_it():
    spread = 0.01 * np.cos(np.arange(10.0))
    lucky = row("lucky", np.r_[0.30 + spread[:6], [math.nan] * 4])
    steady = row("steady", np.r_[0.20 + spread[:6] ** 2, [0.60] * 4])
    board = Leaderboard.of([lucky, steady], sizes=(80, 20), planned=10)
    assert board.best_ == "lucky" and board.with_verdict("worse") == ("lucky",)
    assert board.contenders == ("lucky", "steady") and board.chosen is board.best


def test_the_simplest_or_the_fastest_of_the_equivalent_models_is_chosen(contest):
    rows = [
        replace(row, complexity=complexity, fit_seconds=seconds)
        for row, complexity, seconds in zip(contest.rows, (3, 1, 0), (0.1, 0.3, 0.01), strict=True)
    ]
    board = replace(contest, rows=tuple(rows), margin=0.05)
    first, second, worse = (row.model for row in board.rows)
    assert worse == "ridge" and board.with_verdict("equivalent") == (first, second)
    assert board.chosen.model == board.best_ == first
    assert replace(board, prefer="simple").chosen.model == second
    assert replace(board, prefer="fast").chosen.model == first
    assert replace(contest, rows=contest.rows[:1], prefer="simple").chosen is contest.rows[0]


def test_models_that_are_told_by_less_are_simpler():
    found = {name: candidate.complexity for name, candidate in candidates().items()}
    assert found["median label"] == 0
    assert found["ProportionalOdds logit"] == found["LinearSVOR"] == 1
    two = [name for name, value in found.items() if value == 2]
    assert two == ["AdaBoostOR stumps", "RankRules"]
    assert found["SVOR implicit"] == found["GPOR"] == 3
    assert row("another", [0.1]).complexity > 3


def test_what_is_equivalent_is_stated_in_numbers_that_make_sense(contest):
    for margin in (-0.01, math.nan, math.inf, "2%"):
        with pytest.raises(ValueError, match="margin must be a share of the best figure"):
            replace(contest, margin=margin)
    with pytest.raises(ValueError, match="prefer must be 'best', 'simple' or 'fast'; found 'fest'"):
        replace(contest, prefer="fest")
    with pytest.raises(ValueError, match="prefer must be"):
        run_contest(np.zeros((4, 1)), [0, 1, 0, 1], prefer="fest")


def test_frames_and_notebooks_have_the_same_table(contest):
    frame = contest.to_frame()
    assert frame["model"].tolist() == [row.model for row in contest.rows]
    assert frame["verdict"].tolist() == [c.verdict for c in contest.comparisons.values()]
    assert frame.loc[2, "difference_low"] == contest.comparisons["ridge"].low
    assert Leaderboard.of([]).to_frame().columns.tolist() == ["model"]
    named = replace(contest.rows[2], model="<b>&\n")
    shown = replace(contest, rows=(*contest.rows[:2], named))._repr_html_()
    assert "&lt;b&gt;&amp;\\u000a" in shown and "<b>" not in shown
    cells = re.findall(r"<td[^>]*text-align:(\w+);\">([^<]*)</td>", shown)
    assert cells[0] == ("left", contest.best_) and cells[1] == (
        "right",
        f"{contest.best.mean('mae'):.3f}",
    )
    assert cells[3][0] == "left"


def test_a_baseline_with_all_folds_does_not_lead_a_model_that_had_time_for_three():
    base = replace(row("base", np.full(10, 2.5)), group="baseline")
    known = row("known", np.r_[[0.5] * 3, [math.nan] * 7])
    stopped = [replace(row(f"slow {i}", np.r_[0.6, [math.nan] * 9]), behind=0.1) for i in range(3)]
    board = Leaderboard.of([base, *stopped, known], sizes=(80, 20), planned=10)
    assert board.best_ == "known" and board.rows[-1].model == "base"


def test_a_mean_over_few_folds_does_not_lead(board):
    assert board.rows[-1].model == "once"
    assert "1/10" in str(board).splitlines()[-1]
    assert "6/10" in str(board)


def test_ranks_over_common_folds(board):
    names, table = board.scores()
    assert set(names) == {"best", "near", "middle", "far", "part"}
    assert table.shape == (6, 5)
    expected = nemenyi_test(table, names=names)
    found = board.nemenyi()
    np.testing.assert_array_equal(found.average_ranks, expected.average_ranks)
    assert found.groups == expected.groups
    with pytest.raises(ValueError, match="at least two models with two folds"):
        Leaderboard.of([row("alone", [0.1, 0.2])]).nemenyi()


def test_a_measure_that_no_model_has_is_not_shown(board):
    head = str(board).splitlines()[0]
    assert "MAE" in head
    assert "RPS" not in head
    assert "QWK" not in head


def test_the_measure_that_ranks_comes_first_and_gains_are_best_when_high():
    rows = [row("a", [0.1, 0.2], qwk=np.array([0.5, 0.6])), row("b", [0.3, 0.3], qwk=[0.7, 0.9])]
    ranked = Leaderboard.of(rows, "qwk")
    assert ranked.best.model == "b"
    assert str(ranked).splitlines()[0].split()[:3] == ["model", "QWK", "MAE"]


def test_the_settings_chosen_most_often():
    chosen = ({"model__C": 1.0}, {"model__C": 10.0}, {"model__C": 10.0})
    found = LeaderboardRow("m", {"mae": np.zeros(3)}, 0.1, chosen)
    assert found.usual_settings == {"model__C": 10.0}
    assert row("m", [0.1]).usual_settings == {}


def test_a_note_has_all_its_models_and_zeros_have_no_sign():
    rows = [
        LeaderboardRow(name, {"mae": [0.5], "qwk": [-1e-9]}, 0.1, note=note)
        for name, note in (("a", "Slow."), ("b", ""), ("c", "Slow."))
    ]
    board = Leaderboard.of(rows)
    assert board.notes == {"Slow.": ["a", "c"]}
    assert "-0.000" not in str(board) and "0.000" in str(board)


def test_an_empty_leaderboard():
    empty = Leaderboard.of([])
    assert empty.to_csv() == "model\n"
    assert json.loads(empty.to_json()) == []
    assert str(empty) == "model fit s" and "<th" in empty._repr_html_()
    with pytest.raises(ValueError, match="no rows"):
        _ = empty.best


def test_names_are_text_in_spreadsheets_and_markdown():
    folds = {name: np.array([0.5, 0.5]) for name in ("mae", "zero_one", "qwk", "rps")}
    rows = [LeaderboardRow("=cmd|x", folds, 0.1, (), "", "")]
    board = Leaderboard.of(rows, "mae", sizes=(4, 2), planned=2, failures={})
    assert board.to_csv().splitlines()[1].startswith("'=cmd|x,")
    assert "=cmd\\|x" in board.to_markdown()


def test_whether_one_label_for_all_rows_is_as_good():
    truth = np.array([0, 1, 1, 1, 2, 2])
    scale = OrdinalScale(np.arange(3))
    everyone = np.arange(6)

    def row(name, codes, group=""):
        errors = {"mae": np.array([np.abs(np.asarray(codes) - truth).mean()])}
        folds = ((everyone, np.asarray(codes), None),)
        return LeaderboardRow(name, errors, 0.1, group=group, predictions=folds)

    good, bad = row("good", [0, 1, 1, 1, 2, 1]), row("bad", [2, 1, 1, 1, 0, 2])
    base = row("base", [1] * 6, "baseline")
    known = {"labels": scale, "truth": truth, "planned": 1}
    for others in ([], [base]):
        board = Leaderboard.of([good, bad, *others], **known)
        assert board.lost_to_constant("good") is None
        assert board.lost_to_constant("bad") == pytest.approx((4 / 6, 0.5))
    assert board.lost_to_constant("base") == pytest.approx((0.5, 0.5))
    assert board.lost_to_constant("nobody") is None
