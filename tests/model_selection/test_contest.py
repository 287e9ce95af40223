import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from support.contests import ODDS, RIDGE, SEARCHED, SKEWED, roster
from support.data import ordinal_data

from echelon import (
    OrdinalCalibrator,
    OrdinalReduction,
    ProportionalOdds,
    RankRules,
    RoundedRegressor,
)
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
)
from echelon.model_selection.preparation import searched_settings
from echelon.model_selection.settings_search import inner_splits


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
