"""OrdinalBagging: votes, draws, out-of-bag predictions, and any kind of member."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import ordinal_data
from support.ordinal import weighted_median

from echelon import LinearSVOR, OrdinalReduction, ORStump, ProportionalOdds
from echelon.datasets import load_lev
from echelon.ensemble.bagging import Draws, OrdinalBagging
from echelon.ordinal.arrays import LARGEST_SEED
from echelon.ordinal.costs import cost_matrix
from echelon.tree.tree import ORTree

MEMBERS = {
    "trees": ORTree(max_features=0.5),
    "probabilities": ProportionalOdds(),
    "no probabilities": LinearSVOR(),
    "classifier": LogisticRegression(),
    "regressor": Ridge(),
    "no weights": KNeighborsClassifier(3),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.fixture(params=MEMBERS)
def member(request):
    return MEMBERS[request.param]


def votes(model, X):
    parts = zip(model.estimators_, model.estimators_features_, strict=True)
    ranks = [np.clip(np.rint(m.predict(X[:, columns])), 0, 3) for m, columns in parts]
    return np.column_stack(ranks).astype(int)


@pytest.mark.parametrize("columns", [1.0, 2])
def test_the_prediction_is_the_median_of_the_members(member, columns):
    X, y = ordinal_data()
    model = OrdinalBagging(member, 8, max_features=columns, random_state=1).fit(X, y * 10)
    ranks = votes(model, X)
    np.testing.assert_array_equal(model.predict(X), 10 * weighted_median(ranks, np.ones(8)))
    margins = np.column_stack([np.where(ranks > k, 1.0, -1.0).mean(axis=1) for k in range(3)])
    np.testing.assert_allclose(model.decision_function(X), margins, atol=1e-12)
    assert {len(c) for c in model.estimators_features_} == {3 if columns == 1.0 else 2}
    assert (ranks.std(axis=1) > 0).any()


@pytest.mark.parametrize("columns", [1.0, 2])
def test_probabilities_are_means_of_the_members(member, columns):
    X, y = ordinal_data()
    model = OrdinalBagging(member, 5, max_features=columns, random_state=1).fit(X, y)
    if hasattr(model.estimators_[0], "predict_proba"):
        parts = zip(model.estimators_, model.estimators_features_, strict=True)
        expected = np.mean([m.predict_proba(X[:, columns]) for m, columns in parts], axis=0)
    else:
        expected = np.eye(4)[votes(model, X)].mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_out_of_bag_figures_belong_together(member, bootstrap):
    X, y = ordinal_data()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weights[:4] = 1.0
    if not bootstrap and member in (MEMBERS["no weights"], MEMBERS["pipeline"]):
        weights[:] = 1.0
    model = OrdinalBagging(
        member, 30, max_samples=0.7, bootstrap=bootstrap, oob_score=True, random_state=3
    ).fit(X, y, weights)
    assert model.oob_decision_function_.shape == (120, 3)
    np.testing.assert_allclose(model.oob_probabilities_.sum(axis=1), 1.0)
    predicted = (model.oob_decision_function_ > 0).sum(axis=1)
    paid = np.average(np.abs(predicted - y), weights=weights)
    assert model.oob_score_ == pytest.approx(-paid)
    assert model.oob_score_ < model.score(X, y, weights) or member is not MEMBERS["trees"]


def test_out_of_bag_votes_by_hand():
    X, y = ordinal_data(60)
    marks = np.column_stack([X, np.arange(60.0)])
    drawn = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            drawn.append(set(X[:, 3].astype(int).tolist()))
            return super().fit(X[:, :3], y)

        def predict(self, X):
            return super().predict(X[:, :3])

        predict_proba = None

    model = OrdinalBagging(KNeighborsClassifier(3), 12, oob_score=True, random_state=0).fit(X, y)
    OrdinalBagging(Spy(3), 12, random_state=0).fit(marks, y)
    votes_ = np.zeros((60, 4))
    for seen, fitted in zip(drawn, model.estimators_, strict=True):
        left = [i for i in range(60) if i not in seen]
        votes_[left, fitted.predict(X[left])] += 1
    total = votes_.sum(axis=1, keepdims=True)
    above = np.cumsum(votes_[:, ::-1], axis=1)[:, ::-1][:, 1:]
    expected = 2 * above / total - 1
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)


def test_out_of_bag_score_is_near_that_of_cross_validation():
    X, y = load_lev(return_X_y=True)
    forest = OrdinalBagging(n_estimators=60, oob_score=True, random_state=0)
    held_out = np.abs(cross_val_predict(clone(forest), X, y, cv=5) - y).mean()
    assert -forest.fit(X, y).oob_score_ == pytest.approx(held_out, abs=0.03)


def test_a_forest_errs_less_than_a_tree_and_than_the_mode_of_a_forest():
    X, y = ordinal_data(1200, d=6, K=6, seed=5)
    train, test = slice(0, 600), slice(600, None)
    errors = {
        type(m).__name__: np.abs(m.fit(X[train], y[train]).predict(X[test]) - y[test]).mean()
        for m in (
            ORTree(),
            OrdinalBagging(random_state=0),
            RandomForestClassifier(random_state=0),
        )
    }
    assert errors["OrdinalBagging"] < 0.9 * errors["ORTree"]
    assert errors["OrdinalBagging"] < errors["RandomForestClassifier"]


@pytest.mark.parametrize("name", ["trees", "regressor"])
def test_the_number_of_jobs_does_not_matter(name):
    X, y = ordinal_data()
    models = [
        OrdinalBagging(
            MEMBERS[name], 6, n_jobs=jobs, oob_score=True, max_features=2, random_state=0
        )
        for jobs in (None, 2)
    ]
    with pytest.warns(UserWarning, match="Some rows were drawn for every ranker"):
        one, two = (model.fit(X, y) for model in models)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.oob_decision_function_, two.oob_decision_function_)
    undecided = np.isnan(one.oob_decision_function_).all(axis=1)
    assert undecided.any() and not undecided.all()
    np.testing.assert_array_equal(np.isnan(one.oob_probabilities_).all(axis=1), undecided)
    scored = (one.oob_decision_function_ > 0).sum(axis=1)[~undecided]
    assert one.oob_score_ == pytest.approx(-np.abs(scored - y[~undecided]).mean())


def test_many_rows_are_read_in_blocks(monkeypatch):
    X, y = ordinal_data()
    model = OrdinalBagging(n_estimators=9, random_state=0).fit(X, y)
    margins, probabilities = model.decision_function(X), model.predict_proba(X)
    monkeypatch.setattr("echelon.ensemble.bagging._BLOCK", 7)
    np.testing.assert_array_equal(model.decision_function(X), margins)
    np.testing.assert_array_equal(model.predict_proba(X), probabilities)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_trees_from_one_table_of_bins_are_trees_fitted_on_their_rows(bootstrap):
    X, y = ordinal_data()
    X = np.round(2 * X) / 2
    weights = np.random.default_rng(0).random(len(y))
    cost = cost_matrix("squared", 4)[y]
    model = OrdinalBagging(
        ORTree(3), 4, bootstrap=bootstrap, max_samples=100, max_features=2, random_state=2
    ).fit(X, y, weights, cost)
    seeds = np.random.RandomState(2).randint(LARGEST_SEED, size=4)
    draws = Draws(weights, 100, bootstrap, 3, 2)
    for tree, columns, seed in zip(
        model.estimators_, model.estimators_features_, seeds, strict=True
    ):
        draw = draws.draw(seed)
        np.testing.assert_array_equal(columns, draw.columns)
        rows = np.flatnonzero(draw.weights)
        inputs = X[np.ix_(rows, columns)]
        alone = ORTree(3).fit(inputs, y[rows], draw.weights[rows], cost[rows])
        np.testing.assert_allclose(
            tree.decision_function(inputs), alone.decision_function(inputs), atol=1e-12
        )
        np.testing.assert_allclose(tree.predict_proba(inputs), alone.predict_proba(inputs))


def test_draws():
    weights = np.array([0.0, 1.0, 2.0, 0.5])
    draw = Draws(weights, 2, False, 5, 5).draw(0)
    rows = np.flatnonzero(draw.weights)
    assert len(rows) == 2 and 0 not in rows
    np.testing.assert_array_equal(draw.weights[rows], weights[rows])
    np.testing.assert_array_equal(draw.columns, np.arange(5))
    draws = Draws(weights, 7, True, 5, 2)
    seen = [draws.draw(seed) for seed in range(200)]
    np.testing.assert_array_equal(draws.draw(3).weights, seen[3].weights)
    assert all(d.weights.sum() == 7 and d.weights[0] == 0 for d in seen)
    assert all(len(d.columns) == 2 and (np.diff(d.columns) > 0).all() for d in seen)
    assert len({d.seed for d in seen}) == 200
    assert set(np.concatenate([d.columns for d in seen])) == set(range(5))


def test_rows_are_drawn_in_proportion_to_their_weight():
    X, y = ordinal_data(40)
    weights = np.r_[np.zeros(10), np.ones(20), np.full(10, 3.0)]
    model = OrdinalBagging(ORTree(1), 300, random_state=0).fit(X, y, weights)
    mass = sum(tree.tree_.class_mass.sum(axis=0) for tree in model.estimators_)
    assert mass.sum() == 300 * 30
    share = np.bincount(y, weights) / weights.sum()
    np.testing.assert_allclose(mass / mass.sum(), share, atol=0.02)
    scaled = OrdinalBagging(ORTree(1), 300, random_state=0).fit(X, y, 7.0 * weights)
    np.testing.assert_allclose(scaled.decision_function(X), model.decision_function(X))


def test_the_cost_reaches_the_members():
    X, y = ordinal_data()
    squared = OrdinalBagging(ORTree(2), 5, cost="squared", random_state=0).fit(X, y)
    assert all(tree.cost == "squared" for tree in squared.estimators_)
    by_row = OrdinalBagging(ORTree(2), 5, random_state=0).fit(
        X, y, sample_cost=cost_matrix("squared", 4)[y]
    )
    for one, other in zip(squared.estimators_, by_row.estimators_, strict=True):
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X))
    assert squared.score(X, y) == -((squared.predict(X) - y) ** 2).mean()
    named = OrdinalBagging(OrdinalReduction(), 3, cost="squared", random_state=0).fit(X, y)
    rows = OrdinalBagging(OrdinalReduction(), 3, random_state=0).fit(
        X, y, sample_cost=cost_matrix("squared", 4)[y]
    )
    np.testing.assert_array_equal(named.predict(X), rows.predict(X))
    with pytest.raises(ValueError, match="Ridge does not accept sample_cost"):
        OrdinalBagging(Ridge()).fit(X, y, sample_cost=cost_matrix("squared", 4)[y])


def test_importances_are_means_where_members_have_them():
    X, y = ordinal_data(300)
    noise = np.random.default_rng(0).normal(size=(300, 2))
    model = OrdinalBagging(n_estimators=20, max_features=3, random_state=0)
    importances = model.fit(np.hstack([X, noise]), y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[0] > importances[3:].max()
    assert not hasattr(OrdinalBagging(Ridge(), 2).fit(X, y), "feature_importances_")
    with pytest.raises(NotFittedError):
        _ = OrdinalBagging().feature_importances_


def test_a_draw_of_one_class_gives_a_member_that_knows_no_other():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 1, 1, 1, 1])
    for member in (None, ProportionalOdds(alpha=1.0), LogisticRegression(), Ridge()):
        model = OrdinalBagging(member, 12, random_state=0).fit(X, y)
        assert (model.predict(X[1:]) == 1).all()
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_missing_values_frames_sparse_inputs_and_lists():
    X, y = ordinal_data()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    assert OrdinalBagging(n_estimators=5).fit(holes, y).predict(holes).shape == y.shape
    with pytest.raises(ValueError, match="NaN"):
        OrdinalBagging(Ridge(), 2).fit(holes, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    settings = {"n_estimators": 4, "max_features": 2, "random_state": 0}
    expected = OrdinalBagging(LogisticRegression(), **settings).fit(X, y).decision_function(X)
    for inputs in (frame, sp.coo_array(X), X.tolist()):
        model = OrdinalBagging(LogisticRegression(), **settings).fit(inputs, y)
        np.testing.assert_allclose(model.decision_function(inputs), expected, atol=1e-6)


def test_progress(capsys):
    X, y = ordinal_data()
    OrdinalBagging(n_estimators=20, verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and lines[-1] == "OrdinalBagging: 20 of 20 fitted"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1; found 0"),
        ({"max_samples": 1.5}, "max_samples must be a share above 0 and at most 1.0, or an int"),
        ({"max_samples": 121, "bootstrap": False}, "and at most 120; found 121"),
        ({"max_features": 4}, "max_features must be a share .* and at most 3; found 4"),
        ({"oob_score": True, "bootstrap": False}, "oob_score needs rows that are left out"),
        ({"estimator": ORTree(criterion="?")}, "criterion must be 'gini' or 'cost'"),
        ({"cost": "cubic"}, "cost must be 'absolute', 'squared', 'zero_one'"),
    ],
)
def test_parameters_that_do_not_fit(parameters, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        OrdinalBagging(**parameters).fit(X, y)


def test_more_rows_than_there_are_can_be_drawn_with_replacement():
    X, y = ordinal_data()
    model = OrdinalBagging(ORTree(1), 2, max_samples=500, random_state=0).fit(X, y)
    assert [tree.tree_.class_mass.sum() for tree in model.estimators_] == [500.0, 500.0]


def test_stumps_in_a_bag_read_data_frames():
    X, y = ordinal_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_frame = OrdinalBagging(ORStump(), 5, random_state=0).fit(frame, y)
    by_array = OrdinalBagging(ORStump(), 5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_frame.predict(frame), by_array.predict(X))


def test_a_refit_without_out_of_bag_scores_keeps_none():
    X, y = ordinal_data(60)
    model = OrdinalBagging(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]
