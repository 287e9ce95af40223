"""ORTree: costs, probabilities, text, missing values and its parameters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from support.data import ordinal_data

from echelon.ordinal.costs import cost_matrix
from echelon.ordinal.reduction import decode
from echelon.solvers.boosting.bins import bin_inputs
from echelon.tree.tree import ORTree


def mean_cost(cost, y, predicted):
    return cost_matrix(cost, 4)[y, predicted].mean()


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
@pytest.mark.parametrize("criterion", ["gini", "cost"])
def test_leaves_give_the_label_of_least_cost(cost, criterion):
    X, y = ordinal_data(300)
    model = ORTree(3, criterion=criterion, cost=cost).fit(X, y)
    leaves, predicted = model.apply(X), model.predict(X)
    assert model.n_leaves_ == len(np.unique(leaves)) and model.get_depth() == 3
    for leaf in range(model.n_leaves_):
        here = leaves == leaf
        costs = cost_matrix(cost, 4)[y[here]].sum(axis=0)
        assert (predicted[here] == np.argmin(costs)).all()
    np.testing.assert_array_equal(decode(model.decision_function(X)), predicted)


def test_the_first_split_by_cost_costs_least_in_training():
    X, y = ordinal_data(300)
    for cost in ("absolute", "squared"):
        costs = {
            criterion: mean_cost(
                cost, y, ORTree(1, criterion=criterion, cost=cost).fit(X, y).predict(X)
            )
            for criterion in ("gini", "cost")
        }
        assert costs["cost"] <= costs["gini"]


def test_for_two_classes_the_splits_are_those_of_gini():
    X, y = ordinal_data(300, K=2)
    weights = np.random.default_rng(0).random(300)
    ours = ORTree(4, min_samples_leaf=9).fit(X, y, weights)
    theirs = DecisionTreeClassifier(max_depth=4, min_samples_leaf=9).fit(X, y, weights)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)


def test_distinct_rows_are_learnt_by_heart():
    X, y = ordinal_data(300)
    for criterion in ("gini", "cost"):
        for cost in ("absolute", "zero_one"):
            model = ORTree(criterion=criterion, cost=cost).fit(X, y)
            assert model.score(X, y) == 0.0
            np.testing.assert_array_equal(model.predict_proba(X), np.eye(4)[y])


def test_probabilities_are_shares_by_sample_weight():
    X, y = ordinal_data(300)
    weights = np.random.default_rng(1).random(300)
    model = ORTree(2, cost="squared").fit(X, y, weights)
    leaves = model.apply(X)
    for leaf in range(model.n_leaves_):
        here = leaves == leaf
        mass = np.bincount(y[here], weights[here], minlength=4)
        expected = np.broadcast_to(mass / mass.sum(), (here.sum(), 4))
        np.testing.assert_allclose(model.predict_proba(X)[here], expected)


def test_sample_costs_replace_the_cost():
    X, y = ordinal_data(200)
    by_name = ORTree(3, cost="squared").fit(X, y)
    by_row = ORTree(3).fit(X, y, sample_cost=cost_matrix("squared", 4)[y])
    np.testing.assert_allclose(by_row.decision_function(X), by_name.decision_function(X))
    assert (ORTree(3).fit(X, y).decision_function(X) != by_row.decision_function(X)).any()
    free = ORTree().fit(X, y, sample_cost=np.zeros((200, 4)))
    assert free.n_leaves_ == 1 and (free.predict(X) == 0).all()
    np.testing.assert_allclose(free.predict_proba(X[:1]), [np.bincount(y) / 200])
    with pytest.raises(ValueError, match="sample_cost must be V-shaped"):
        ORTree().fit(X, y, sample_cost=np.where(np.arange(4) == y[:, None], 0, [3, 1, 2, 9]))


def test_class_weights_multiply_sample_weights():
    X, y = ordinal_data(200)
    factors = {0: 3.0, 2: 0.5}
    weights = np.array([3.0, 1.0, 0.5, 1.0])[y]
    by_class = ORTree(3, class_weight=factors).fit(X, y)
    by_row = ORTree(3).fit(X, y, weights)
    np.testing.assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))


def test_missing_values_are_learnt_from_and_accepted_later():
    X, y = ordinal_data(300)
    X[y == 3, 0] = np.nan
    model = ORTree(3).fit(X, y)
    assert (model.predict(X)[np.isnan(X[:, 0])] == 3).all()
    assert model.predict(np.full((1, 3), np.nan)).shape == (1,)
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0.0, 0.0]])


def test_bins_bound_the_cuts():
    X, y = ordinal_data(500)
    model = ORTree(max_bins=8).fit(X, y)
    edges = bin_inputs(X, 8).edges
    for j, edge in zip(model.tree_.feature, model.tree_.edge, strict=True):
        assert edge in edges[j]
    assert ORTree(2, max_bins=255).fit(X, y).score(X, y) > -0.9


def test_text():
    X = pd.DataFrame({"size": [1.0, 2.0, np.nan, 4.0, np.nan], "same": 0.0})
    levels = ["low", "mid", "high"]
    y = pd.Categorical(["low", "low", "high", "high", "high"], levels, ordered=True)
    assert ORTree().fit(X, y).to_text().splitlines() == [
        "size <= 3",
        "|   low, weight 2",
        "size > 3 or missing",
        "|   high, weight 3",
    ]
    y = pd.Categorical(["low", "mid", "high", "mid", "high"], levels, ordered=True)
    model = ORTree().fit(X, y, sample_weight=[1, 1, 2, 1, 2])
    assert model.to_text().splitlines() == [
        "size is not missing",
        "|   size <= 1.5",
        "|   |   low, weight 1",
        "|   size > 1.5 or missing",
        "|   |   mid, weight 2",
        "size is missing",
        "|   high, weight 4",
    ]
    assert ORTree().fit([[0], [1]], [5, 7]).to_text().splitlines() == [
        "x0 <= 0.5",
        "|   5, weight 1",
        "x0 > 0.5",
        "|   7, weight 1",
    ]
    assert ORTree().fit([[0], [0], [0]], [5, 7, 7]).to_text() == "7, weight 3"
    with pytest.raises(
        ValueError, match="feature_names must have a name for each of 2 features; found 1"
    ):
        model.to_text(["a"])


def test_a_very_deep_tree():
    n = 3000
    X, y = np.arange(float(n))[:, None], np.arange(n) % 2
    # Weights that double make every split cut off one row only.
    model = ORTree().fit(X[:900], y[:900], sample_weight=2.0 ** -np.arange(900.0))
    assert model.get_depth() > 300
    assert len(model.to_text().splitlines()) == 2 * (model.n_leaves_ - 1) + model.n_leaves_
    assert ORTree().fit(X, y).n_leaves_ == n


def test_random_features_come_from_random_state():
    X, y = ordinal_data(300)
    trees = [ORTree(max_features=1, random_state=s).fit(X, y).tree_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(trees[0].feature, trees[1].feature)
    assert trees[0].feature.tolist() != trees[2].feature.tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "entropy"}, "criterion must be 'gini' or 'cost'; found 'entropy'"),
        ({"max_depth": 0}, "max_depth must be an integer of at least 1; found 0"),
        ({"min_samples_split": 1}, "min_samples_split must be an integer of at least 2"),
        ({"min_samples_leaf": 0.1}, "min_samples_leaf must be an integer of at least 1"),
        ({"min_weight_fraction_leaf": 0.7}, "min_weight_fraction_leaf must be a number from 0"),
        ({"max_features": 4}, "max_features must be None, 'sqrt', an integer from 1 to .*, 3, or"),
        ({"max_features": 0.0}, "max_features must be None"),
        ({"max_features": "log2"}, "max_features must be None"),
        ({"max_bins": 300}, "max_bins must be None or an integer from 2 to 255; found 300"),
    ],
)
def test_parameters_that_do_not_fit(parameters, message):
    X, y = ordinal_data(20)
    with pytest.raises(ValueError, match=message):
        ORTree(**parameters).fit(X, y)


@pytest.mark.parametrize("method", ["get_depth", "to_text"])
def test_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(ORTree(), method)()
    with pytest.raises(NotFittedError):
        _ = ORTree().feature_importances_


def test_limits_of_leaves():
    X, y = ordinal_data(300)
    weights = np.random.default_rng(0).random(300)
    rows = np.bincount(ORTree(min_samples_leaf=20).fit(X, y).apply(X))
    assert rows.min() >= 20
    model = ORTree(min_weight_fraction_leaf=0.1).fit(X, y, weights)
    shares = np.bincount(model.apply(X), weights) / weights.sum()
    assert shares.min() >= 0.1 and len(shares) > 3
