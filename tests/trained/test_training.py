"""From a labelled table to a model with probabilities, intervals and figures."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from support.mixed_tables import ORDER, WORDS, mixed_frame

from echelon import ProportionalOdds, RankBoost, RoundedRegressor
from echelon.base.wrappers import final_estimator
from echelon.meta.calibration import OrdinalCalibrator
from echelon.model_selection import candidates, run_contest
from echelon.model_selection.preparation import prepare
from echelon.tables import TableError, labelled_table, ranking_table
from echelon.trained import load_model, train
from echelon.trained.ranking import ranked_rows, read_rows_to_rank


@pytest.fixture(scope="module")
def table():
    return labelled_table(mixed_frame(240), "rating", ORDER)


def test_a_candidate_by_name(table):
    model = train(table, "proportional-odds logit")
    assert model.name == "ProportionalOdds logit"
    assert model.extra["settings"]["alpha"] in (0.1, 1.0, 10.0, 100.0)
    assert set(model.metrics) >= {"mae", "mae_se", "rps", "interval_coverage", "interval_width"}
    assert 0.7 < model.metrics["interval_coverage"] <= 1.0
    assert model.metrics["mae"] < 0.9
    json.dumps(model.card(), allow_nan=False)


def test_labels_come_from_all_rows(table):
    model = train(table, ProportionalOdds(alpha=1.0), evaluate=False)
    assert model.metrics == {}
    by_hand = model.estimator.set_params().fit(table.X, table.y)
    np.testing.assert_array_equal(model.predict(table.X), by_hand.predict(table.X))
    assert model.estimator["model"].classes_.tolist() == WORDS


def test_a_model_without_probabilities_gets_them(table):
    model = train(table, RoundedRegressor(Ridge()), evaluate=False)
    assert isinstance(model.estimator, OrdinalCalibrator)
    assert any("OrdinalCalibrator" in note for note in model.notes)
    frame = model.predict_frame(mixed_frame(40, seed=2))
    np.testing.assert_allclose(frame.filter(like="p_").sum(axis=1), 1.0)


def test_good_probabilities_are_left_alone(table):
    assert not isinstance(
        train(table, ProportionalOdds(alpha=1.0), evaluate=False).estimator, OrdinalCalibrator
    )


def test_intervals_hold_the_prediction_and_most_labels(table):
    model = train(table, ProportionalOdds(alpha=1.0), confidence=0.8, evaluate=False)
    new = mixed_frame(2000, seed=9)
    low, high = (np.array([WORDS.index(w) for w in end]) for end in model.predict_interval(new))
    predicted = np.array([WORDS.index(w) for w in model.predict(new)])
    truth = np.array([WORDS.index(w) for w in new["rating"]])
    assert ((low <= predicted) & (predicted <= high)).all()
    assert ((low <= truth) & (truth <= high)).mean() > 0.72


def test_folds_end_when_patience_does(table, monkeypatch):
    whole = train(table, ProportionalOdds(alpha=1.0))
    assert whole.extra["evaluated"] == "5 folds"
    monkeypatch.setattr("echelon.trained.training._PATIENCE", -1.0)
    part = train(table, ProportionalOdds(alpha=1.0))
    assert part.extra["evaluated"] == "5 folds, of which 1 of 5 were run"
    held = part.leaderboard.held_out(part.leaderboard.best)
    assert part.metrics["mae"] == np.abs(held.truth - held.codes).mean()
    assert "interval_coverage" not in part.metrics


def test_figures_of_a_contest_are_taken_over(table):
    few = {name: candidates()[name] for name in ("median label", "ProportionalOdds logit")}
    board = run_contest(table, candidates=few, repeats=1)
    model = train(table, "ProportionalOdds logit", leaderboard=board)
    assert model.leaderboard is board
    row = board.find("ProportionalOdds logit")
    assert model.metrics["mae"] == row.mean("mae")
    assert model.metrics["mae_se"] == row.summary("mae").se
    assert model.extra["evaluated"] == "5 folds"
    fixed = train(table, "ProportionalOdds logit")
    assert fixed.extra["evaluated"] == "5 folds, with its settings fixed"


def test_weights_groups_and_times_reach_the_fit_and_the_figures(table):
    rng = np.random.default_rng(5)
    n = len(table.y)
    weights, groups = rng.integers(1, 4, n).astype(float), np.arange(n) // 6
    model = ProportionalOdds(alpha=1.0)
    plain = train(table, model)
    weighted = train(replace(table, weights=weights), model)
    scaled = train(replace(table, weights=weights * 8.0), model)
    assert weighted.metrics == scaled.metrics and weighted.metrics != plain.metrics
    np.testing.assert_array_equal(weighted.predict_proba(table.X), scaled.predict_proba(table.X))
    grouped = train(replace(table, groups=groups, times=np.arange(n) % 7.0), model)
    assert "later rows of groups" in grouped.extra["evaluated"]
    held = grouped.leaderboard.held_out(grouped.leaderboard.best)
    assert len(held.rows) < n


def test_rows_that_a_model_was_fitted_to_are_known_and_no_others(table, tmp_path):
    model = train(table, ProportionalOdds(alpha=1.0), evaluate=False)
    model.save(tmp_path / "model.echelon")
    loaded = load_model(tmp_path / "model.echelon")
    new = labelled_table(mixed_frame(300, seed=3), "rating", ORDER)
    for some, seen in ((table, True), (new, False)):
        codes = np.array([WORDS.index(label) for label in some.y])
        assert (loaded.was_fitted_to(some.X, codes) == seen).all()
    again = train(table, ProportionalOdds(alpha=1.0), evaluate=False)
    assert again.row_marks.key != model.row_marks.key
    assert len(np.intersect1d(again.row_marks.marks, model.row_marks.marks)) < 3


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(SimpleImputer(), ProportionalOdds()),
        GridSearchCV(ProportionalOdds(), {"alpha": [0.1, 1.0]}, cv=3),
        make_pipeline(SimpleImputer(), LogisticRegression()),
    ],
    ids=["pipeline", "search", "classifier without an order"],
)
def test_pipelines_and_searches_are_told_the_order_of_the_labels(model):
    frame = mixed_frame(240).drop(columns="colour")
    frame["a"] = frame["a"].fillna(0.0)
    in_words = train(labelled_table(frame, "rating", ORDER), model)
    frame["rating"] = frame["rating"].map(WORDS.index)
    in_numbers = train(labelled_table(frame, "rating", None), model)
    assert in_words.name == type(final_estimator(model)).__name__
    assert in_words.metrics == pytest.approx(in_numbers.metrics)
    np.testing.assert_allclose(in_words.predict_proba(frame), in_numbers.predict_proba(frame))
    # Chances belong to the label of their column.
    expected = in_words.predict_proba(frame) @ np.arange(4.0)
    assert np.corrcoef(expected, frame["rating"])[0, 1] > 0.5


def test_a_cost_reaches_the_model_of_a_pipeline(table):
    cost = [[0, 1, 2, 3], [9, 0, 1, 2], [9, 9, 0, 1], [9, 9, 9, 0]]
    pipeline = make_pipeline(prepare(table.schema), ProportionalOdds(alpha=1.0))
    dear = train(table, pipeline, cost=cost, evaluate=False)
    bare = train(table, ProportionalOdds(alpha=1.0), cost=cost, evaluate=False)
    np.testing.assert_array_equal(dear.predict(table.X), bare.predict(table.X))
    usual = train(table, pipeline, evaluate=False)
    assert (dear.predict(table.X) != usual.predict(table.X)).any()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "model must be the name of a candidate, a Candidate or an estimator; found 3"),
        (ProportionalOdds, "model must be the name of a candidate"),
        (Ridge(), "Ridge predicts numbers: put a regressor into RoundedRegressor"),
        (RankBoost(), "RankBoost predicts numbers"),
    ],
)
def test_models_that_do_not_predict_labels(table, model, message):
    with pytest.raises((TypeError, ValueError), match=message):
        train(table, model)


def test_tables_that_cannot_be_learnt_from(table):
    with pytest.raises(TypeError, match="Give the labels of X as y, or name their column"):
        train(mixed_frame())
    with pytest.raises(TypeError, match="Give the labels of X as y"):
        train(mixed_frame(), [1, 2], target="rating")
    with pytest.raises(TypeError, match="A table has its labels and columns already"):
        train(table, "RankRules", target="rating")
    with pytest.raises(TypeError, match="A table has its labels and columns already"):
        train(table, [1, 2], ProportionalOdds())
    few = labelled_table(mixed_frame(90).drop_duplicates("rating"), "rating", ORDER)
    with pytest.raises(ValueError, match=r"3 folds need a class of at least 3 rows; .* has 1"):
        train(few)


@pytest.mark.parametrize("X", [np.zeros((2, 3)), np.zeros(4), None])
def test_arrays_of_another_shape(table, X):
    model = train(table, ProportionalOdds(), evaluate=False)
    with pytest.raises(ValueError, match="X must be a table with 4 columns, a, b, c, colour; "):
        model.predict(X)


def test_one_model_by_every_way_in(table):
    frame, model = mixed_frame(240), ProportionalOdds(alpha=1.0)
    expected = train(table, model, evaluate=False)
    by_target = train(frame, target="rating", order=ORDER, model=model, evaluate=False)
    apart = train(frame.drop(columns="rating"), frame["rating"], model, order=ORDER, evaluate=False)
    for other in (by_target, apart):
        assert other.classes == expected.classes and other.target == "rating"
        assert other.schema == expected.schema
        pd.testing.assert_frame_equal(other.predict_frame(frame), expected.predict_frame(frame))


def test_arrays_and_ordered_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = pd.Categorical.from_codes(
        (X[:, 0] > 0).astype(int) + (X[:, 0] > 0.8), ["low", "mid", "high"], ordered=True
    )
    model = train(X, y, evaluate=False)
    assert model.schema.names == ["x0", "x1"] and model.classes == ["low", "mid", "high"]
    assert np.mean(model.predict(X) == np.asarray(y)) > 0.8
    with pytest.raises(TableError, match=r"text labels: .*order='lowest<…<highest'"):
        train(X, np.asarray(y), evaluate=False)
    with pytest.raises(ValueError, match="X must have two dimensions; found 1"):
        train(X[:, 0], y)
    with pytest.raises(ValueError, match="y must not have the name of a column of X; found 'x0'"):
        train(pd.DataFrame(X, columns=["x0", "x1"]), pd.Series(y, name="x0"))


def ranking_frame():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(query=np.repeat(np.arange(10), 6))
    return frame.assign(item=[f"i{k}" for k in range(60)], grade=(X[:, 0] > 0) + (X[:, 0] > 0.7))


def test_a_ranking_table(tmp_path):
    table = ranking_table(ranking_frame(), "grade", "query", id="item")
    assert (table.schema.names, table.qid_name, table.id_name) == (["a", "b"], "query", "item")
    model = train(table, "rank-boost")
    assert (model.task, model.name, model.target) == ("ranking", "RankBoost", "grade")
    assert model.metrics["pairwise_accuracy"] > 0.8 and model.extra["folds"] == "5 folds of queries"
    path = tmp_path / "new.csv"
    ranking_frame().drop(columns="grade").to_csv(path, index=False)
    rows = read_rows_to_rank(model, path)
    ranked = ranked_rows(model, rows, top=2)
    assert ranked.columns.tolist() == ["query", "item", "score", "position"]
    assert ranked["position"].tolist() == [1, 2] * 10
    assert train(table, evaluate=False).name == "LinearRankSVM"
    with pytest.raises(ValueError, match=r"model must be 'LinearRankSVM'.*; found 'Elo'"):
        train(table, "Elo")


def test_judged_pairs_of_a_frame():
    frame = ranking_frame().drop(columns=["grade", "query"])
    best = frame["a"].to_numpy().argsort()[::-1]
    names = frame["item"].to_numpy()[best]
    pairs = pd.DataFrame({"winner": names[:30], "loser": names[30:]})
    model = train(ranking_table(frame, pairs=pairs, id="item"), evaluate=False)
    assert np.corrcoef(model.predict(frame), frame["a"])[0, 1] > 0.9
    with pytest.raises(TableError, match="`pairs` needs `id`"):
        ranking_table(frame, pairs=pairs)
    with pytest.raises(TableError, match="labels with `target`, or judged pairs with `pairs`"):
        ranking_table(frame)
    with pytest.raises(TableError, match="`qid` and `id` name the same column, 'item'"):
        ranking_table(frame, pairs=pairs, qid="item", id="item")
