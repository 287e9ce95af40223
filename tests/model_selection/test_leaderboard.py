import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from support.data import ordinal_data

from echelon import ProportionalOdds, RoundedRegressor
from echelon.metrics import nemenyi_test
from echelon.model_selection import (
    Leaderboard,
    LeaderboardRow,
    compare_models,
    default_models,
    mixed_columns,
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
    assert f"{record['mae']:.3f}±{record['mae_se']:.3f}" in board.to_markdown()
    assert all(len(line) <= 80 for line in str(board).splitlines())


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
    """Ten folds: a clear gap, a gap within the noise, and one that Holm's correction hides."""
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


def p_by_hand(first, second):
    """Nadeau and Bengio's test, written out."""
    difference = np.asarray(first) - np.asarray(second)
    difference = difference[np.isfinite(difference)]
    n = len(difference)
    error = math.sqrt((1 / n + 20 / 80) * difference.var(ddof=1))
    return 2 * stats.t.sf(abs(difference.mean()) / error, n - 1)


def test_marks_are_those_of_the_t_test_by_hand(board):
    by_name = {r.model: r for r in board.rows}
    assert board.best.model == "best"
    p = {}
    for name in ("near", "middle", "far", "part"):
        p[name] = p_by_hand(by_name["best"].folds["mae"], by_name[name].folds["mae"])
        assert board.p_values[name] == pytest.approx(p[name])
    assert math.isnan(board.p_values["once"])
    # Holm compares the p-values, from the least, with 5 % over 4, 3, 2 and 1.
    order = sorted(p, key=p.get)
    assert [p[name] <= 0.05 / (4 - k) for k, name in enumerate(order)] == [True, True, False, False]
    assert p["middle"] < 0.05
    expected = set(order[2:])
    assert expected == {"near", "middle"}
    assert set(board.undistinguished) == expected
    assert board.untested == ("once",)
    lines = str(board).splitlines()
    assert {line.split()[0][1:] for line in lines if line.startswith("≈")} == expected
    assert [line.split()[0] for line in lines if line.startswith("?")] == ["?once"]


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
    assert board.untested == (() if tested else ("bad",))
    assert board.undistinguished == ()


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
