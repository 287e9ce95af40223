import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from support.data import ordinal_data

from echelon import OrdinalReduction
from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.ordinal.reduction import side_matrix

FIRM = {"tol": 1e-10, "max_iter": 2000}


def test_separate_classifiers_are_the_binary_problems():
    X, y = ordinal_data()
    model = OrdinalReduction(LogisticRegression(**FIRM)).fit(X, y)
    for k, member in enumerate(model.estimators_):
        alone = LogisticRegression(**FIRM).fit(X, y > k)
        np.testing.assert_allclose(member.coef_, alone.coef_, rtol=1e-6)
    P = np.column_stack([m.predict_proba(X)[:, 1] for m in model.estimators_])
    falling = (np.diff(P, axis=1) <= 0).all(axis=1)
    assert falling.any()
    expected = -np.diff(np.column_stack([np.ones(len(X)), P, np.zeros(len(X))]), axis=1)
    np.testing.assert_allclose(model.predict_proba(X)[falling], expected[falling], atol=1e-12)


def test_joint_linear_classifier_has_parallel_boundaries():
    X, y = ordinal_data()
    model = OrdinalReduction(LogisticRegression(C=1e6, **FIRM), mode="joint").fit(X, y)
    G = model.decision_function(X)
    gaps = np.diff(G, axis=1)
    np.testing.assert_allclose(gaps, np.broadcast_to(gaps[0], gaps.shape), rtol=1e-8)
    assert (gaps < 0).all()


@pytest.mark.parametrize("mode", ["separate", "joint"])
def test_sparse_equals_dense(mode):
    X, y = ordinal_data()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = OrdinalReduction(LogisticRegression(**FIRM), mode=mode).fit(X, y)
    sparse = OrdinalReduction(LogisticRegression(**FIRM), mode=mode).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        dense.decision_function(X), sparse.decision_function(sp.csr_array(X)), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize(
    "binary",
    [
        LinearSVC(),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        RandomForestClassifier(10, random_state=0),
        KNeighborsClassifier(),
    ],
    ids=lambda b: type(b).__name__,
)
@pytest.mark.parametrize("mode", ["separate", "joint"])
def test_any_binary_classifier(binary, mode):
    X, y = ordinal_data()
    model = OrdinalReduction(binary, mode=mode).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < np.abs(np.median(y) - y).mean()
    if hasattr(binary, "predict_proba"):
        P = model.predict_proba(X)
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
    else:
        assert not hasattr(model, "predict_proba")


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    """A binary classifier with neither margins nor probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.cut_ = np.median(X[:, 0])
        return self

    def predict(self, X):
        return (X[:, 0] > self.cut_).astype(int)


def test_a_classifier_that_only_predicts_gives_signs():
    X, y = ordinal_data()
    model = OrdinalReduction(OnlyPredicts()).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert set(np.unique(model.decision_function(X))) == {-1.0, 1.0}
    assert set(model.predict(X)) == {0, 3}


@given(st.sampled_from(["absolute", "squared", "zero_one", "own"]), st.integers(0, 50))
def test_weighted_binary_error_bounds_the_cost(name, seed):
    """Theorem 1 of [LL09] on the training data, for the costs that it covers."""
    X, y = ordinal_data(n=40, seed=seed)
    own = np.array([[0, 1, 4, 9], [3, 0, 1, 3], [7, 2, 0, 2], [9, 5, 2, 0.0]])
    C = cost_matrix(own if name == "own" else name, 4)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = OrdinalReduction(tree, cost=own if name == "own" else name).fit(X, y)
    G = model.decision_function(X)
    wrong = np.where(G > 0, 1, -1) != side_matrix(y, 4)
    bound = (threshold_weights(C)[y] * wrong).sum(axis=1)
    costs = C[y, model.predict(X)]
    monotone = (np.diff((G > 0).astype(int), axis=1) <= 0).all(axis=1)
    covered = np.full(len(X), name in ("absolute", "squared", "own")) | monotone
    assert (costs[covered] <= bound[covered] + 1e-12).all()


def test_sample_cost_is_the_general_form_of_cost():
    X, y = ordinal_data()
    C = cost_matrix("squared", 4)
    by_matrix = OrdinalReduction(LogisticRegression(**FIRM), cost="squared").fit(X, y)
    by_row = OrdinalReduction(LogisticRegression(**FIRM)).fit(X, y, sample_cost=C[y])
    np.testing.assert_allclose(by_matrix.decision_function(X), by_row.decision_function(X))


def test_a_costly_error_is_avoided():
    X, y = ordinal_data()
    timid = np.array([[0, 9, 18, 27], [1, 0, 9, 18], [2, 1, 0, 9], [3, 2, 1, 0.0]])
    plain = OrdinalReduction().fit(X, y)
    careful = OrdinalReduction(cost=timid).fit(X, y)
    assert (careful.predict(X) > y).sum() < (plain.predict(X) > y).sum()
    assert timid[y, careful.predict(X)].mean() < timid[y, plain.predict(X)].mean()
    assert careful.score(X, y) == pytest.approx(-timid[y, careful.predict(X)].mean())


@pytest.mark.parametrize(
    ("params", "fit", "message"),
    [
        ({"mode": "both"}, {}, "mode must be 'separate' or 'joint'; found 'both'"),
        (
            {"cost": [[0, 2, 1], [1, 0, 1], [1, 1, 0]]},
            {},
            "cost must be V-shaped.* row 0 falls between columns 1 and 2",
        ),
        ({"cost": np.eye(3)}, {}, "zero on its diagonal"),
        ({}, {"sample_cost": np.zeros((2, 3))}, r"sample_cost must have shape \(60, 3\)"),
        (
            {"estimator": KNeighborsClassifier(), "cost": "squared"},
            {},
            "KNeighborsClassifier does not accept sample_weight",
        ),
    ],
)
def test_bad_arguments(params, fit, message):
    X, y = ordinal_data(n=60, K=3)
    with pytest.raises(ValueError, match=message):
        OrdinalReduction(**params).fit(X, y, **fit)


@pytest.mark.parametrize(
    "cost", ["absolute", "squared", "zero_one", [[0, 3, 9], [1, 0, 4], [2, 2, 0]]]
)
def test_probabilities_are_near_the_truth_under_every_cost(cost):
    rng = np.random.default_rng(3)
    truth = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    x = rng.integers(0, 2, size=4000)
    y = (rng.random(4000)[:, None] > truth[x].cumsum(axis=1)).sum(axis=1)
    X = x[:, None].astype(float)
    by_name = OrdinalReduction(LogisticRegression(C=1e6), cost=cost).fit(X, y)
    np.testing.assert_allclose(by_name.predict_proba([[0.0], [1.0]]), truth, atol=0.03)
    by_row = OrdinalReduction(LogisticRegression(C=1e6)).fit(
        X, y, sample_cost=7.0 * cost_matrix(cost, 3)[y]
    )
    np.testing.assert_allclose(
        by_row.predict_proba([[0.0], [1.0]]), by_name.predict_proba([[0.0], [1.0]]), atol=1e-3
    )


def test_a_constant_side_needs_no_classifier():
    X, y = ordinal_data()
    model = OrdinalReduction(DummyClassifier(), classes=[-1, 0, 1, 2, 3]).fit(X, y)
    assert model.estimators_[0] is None
    assert (model.predict_proba(X)[:, 0] == 0).all()


def test_frames_with_weights_of_zero():
    X, y = ordinal_data()
    frame = pd.DataFrame(X, columns=list("abc"))
    weights = np.arange(len(y)) % 2
    model = OrdinalReduction(LogisticRegression(**FIRM)).fit(frame, y, sample_weight=weights)
    kept = OrdinalReduction(LogisticRegression(**FIRM)).fit(frame[weights == 1], y[weights == 1])
    np.testing.assert_allclose(model.decision_function(frame), kept.decision_function(frame))
