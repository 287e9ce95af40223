import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from support.data import ordinal_data

from echelon import (
    LinearSVOR,
    OrdinalCalibrator,
    OrdinalReduction,
    OrdinalStack,
    ORTree,
    ProportionalOdds,
    to_onnx,
)
from echelon._utils.state import StateError
from echelon.export import ExportError
from echelon.ordinal.costs import cost_matrix, minimum_cost_codes
from echelon.ordinal.likelihoods import with_one_more_row
from echelon.solvers.linear.mixture import few_weights

MEMBERS = [
    ("odds", ProportionalOdds(alpha=1.0)),
    ("tree", ORTree(min_samples_leaf=5)),
    ("machine", OrdinalCalibrator(LinearSVOR(), cv=3)),
]
COSTS = [
    "absolute",
    "squared",
    "zero_one",
    [[0, 1, 5, 9], [3, 0, 1, 2], [4, 1, 0, 1], [9, 6, 3, 0]],
]


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_it_says_the_mean_of_what_its_models_say(cost):
    X, y = ordinal_data()
    new = ordinal_data(seed=1)[0]
    stack = OrdinalStack(MEMBERS, weights=[1, 2, 5], cost=cost).fit(X, y)
    parts = [
        share * m.fit(X, y).predict_proba(new)
        for share, (_, m) in zip((1, 2, 5), MEMBERS, strict=True)
    ]
    P = stack.predict_proba(new)
    np.testing.assert_allclose(P, sum(parts) / 8.0)
    np.testing.assert_array_equal(stack.predict(new), minimum_cost_codes(P, cost_matrix(cost, 4)))
    np.testing.assert_allclose(stack.weights_, [0.125, 0.25, 0.625])
    assert np.isnan(stack.loss_)


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_are_learnt_on_rows_that_the_models_have_not_seen(weighted):
    X, y = ordinal_data(n=80)
    weights = np.random.default_rng(0).integers(1, 4, size=len(y)) if weighted else np.ones(len(y))
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    p = np.empty((len(y), len(MEMBERS)))
    for inside, outside in splits:
        for j, (_, member) in enumerate(MEMBERS):
            member.fit(X[inside], y[inside], sample_weight=weights[inside])
            P = with_one_more_row(member.predict_proba(X[outside]), len(inside))
            p[outside, j] = P[np.arange(len(outside)), y[outside]]
    expected = few_weights(p, weights, 0.02)
    stack = OrdinalStack(MEMBERS, cv=splits)
    stack.fit(X, y, sample_weight=weights if weighted else None)
    shares = dict(zip(stack.names_, stack.weights_, strict=True))
    np.testing.assert_allclose(
        [shares.get(name, 0.0) for name, _ in MEMBERS], expected.weights, atol=1e-6
    )
    assert stack.loss_ == pytest.approx(expected.loss)
    assert 0.0 <= stack.gap_ < 1e-6


def test_models_without_a_share_are_not_fitted():
    X, y = ordinal_data()
    members = [("odds", ProportionalOdds()), ("prior", OrdinalReduction(DummyClassifier()))]
    stack = OrdinalStack(members).fit(X, y)
    assert stack.names_ == ["odds"]
    assert len(stack.estimators_) == 1
    np.testing.assert_allclose(stack.weights_, [1.0])


def test_labels_that_a_model_holds_impossible_leave_the_loss_finite():
    X, y = ordinal_data()
    stack = OrdinalStack([("tree", OrdinalReduction(DecisionTreeClassifier(random_state=0)))])
    assert np.isfinite(stack.fit(X, y).loss_)


def test_whole_groups_are_held_out():
    # Rows of a group are copies, so that the neighbour knows the label of every row but new ones.
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(30, 2)), rng.permutation(np.arange(30) % 3), np.arange(30)
    X, y, groups = (np.repeat(part, 5, axis=0) for part in (X, y, groups))
    members = [
        ("copy", OrdinalReduction(KNeighborsClassifier(1))),
        ("prior", OrdinalReduction(DummyClassifier())),
    ]
    plain = OrdinalStack(members, random_state=0).fit(X, y)
    grouped = OrdinalStack(members, random_state=0).fit(X, y, groups=groups)
    assert plain.names_ == ["copy"]
    assert dict(zip(grouped.names_, grouped.weights_, strict=True))["prior"] > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimators": []}, r"must be a list of pairs of a name and a model; found \[\]"),
        ({"estimators": [ProportionalOdds()]}, "must be a list of pairs"),
        ({"estimators": MEMBERS[:1] * 2}, r"distinct texts; found \['odds', 'odds'\]"),
        ({"estimators": [("svm", LinearSVOR())]}, "'svm', a LinearSVOR, has none: put it into Ord"),
        ({"weights": [1, 2]}, r"weights must have shape \(3,\); found \(2,\)"),
        ({"weights": [1, -1, 1]}, "weights must not be negative; found -1"),
        ({"weights": [0, 0, 0]}, "weights must have a positive entry"),
        ({"cost": "cubic"}, "cost must be"),
        ({"cv": 1}, "cv must be"),
    ],
)
def test_bad_parameters(change, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        OrdinalStack(**{"estimators": MEMBERS, **change}).fit(X, y)


def test_it_is_refused_by_onnx_in_one_sentence():
    X, y = ordinal_data()
    with pytest.raises(ExportError, match="OrdinalStack cannot be exported to ONNX; models that"):
        to_onnx(OrdinalStack(weights=[1, 1]).fit(X, y))


@pytest.mark.parametrize("change", ["short", "negative", "sum", "member"])
def test_a_state_that_is_not_whole(change):
    X, y = ordinal_data()
    stack = OrdinalStack(weights=[1, 1]).fit(X, y)
    stack.check_state()
    if change == "short":
        stack.weights_ = stack.weights_[:1]
    elif change == "negative":
        stack.weights_ = np.array([2.0, -1.0])
    elif change == "sum":
        stack.weights_ = np.array([0.5, 0.6])
    else:
        stack.estimators_[0] = LinearSVOR()
    with pytest.raises(StateError, match=r"its shares are not|has no probabilities"):
        stack.check_state()
