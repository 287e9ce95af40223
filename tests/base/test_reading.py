"""What fitted models of all kinds say of rows on one scale."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from support.data import ordinal_data

from echelon import AdaBoostOR, ORStump, ProportionalOdds
from echelon.base.reading import FittedModel, label_order, without_infinity
from echelon.meta.calibration import OrdinalCalibrator
from echelon.meta.conformal import ConformalOrdinal
from echelon.ordinal.labels import OrdinalScale

FOREST = RandomForestClassifier(5, random_state=0)


class Labels(ClassifierMixin, BaseEstimator):
    """A classifier that says nothing but labels."""

    def __init__(self, inside=None):
        self.inside = inside
        self.classes_ = np.arange(4)

    def predict(self, X):
        return self.inside.predict(X)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inside: ConformalOrdinal(inside, 0.7, random_state=0),
        lambda inside: OrdinalCalibrator(inside, decision="inner"),
        lambda inside: make_pipeline(StandardScaler(), ConformalOrdinal(inside, 0.7)),
    ],
    ids=["intervals", "probabilities", "pipeline"],
)
def test_sides_that_stand_in_for_margins_are_not_taken_for_them(wrap):
    X, y = ordinal_data(n=150)
    model = wrap(FOREST).fit(X, y)
    assert set(np.unique(model.decision_function(X))) == {-1.0, 1.0}
    read = FittedModel(model, OrdinalScale(model.classes_))
    assert read.margins(X) is None
    above = 1.0 - np.cumsum(model.predict_proba(X), axis=1)[:, :-1]
    np.testing.assert_allclose(read.threshold_scores(X), above, atol=1e-12)
    boosted = wrap(AdaBoostOR(n_estimators=4)).fit(X, y)
    read = FittedModel(boosted, OrdinalScale(boosted.classes_))
    np.testing.assert_array_equal(read.margins(X), boosted.decision_function(X))


def test_a_calibrator_that_decides_by_cost_has_margins_of_its_own():
    X, y = ordinal_data(n=150)
    model = OrdinalCalibrator(FOREST).fit(X, y)
    read = FittedModel(model, OrdinalScale(model.classes_))
    above = 1.0 - np.cumsum(model.predict_proba(X), axis=1)[:, :-1]
    np.testing.assert_allclose(read.margins(X), above - 0.5, atol=1e-12)


@pytest.mark.parametrize("nominal", [LogisticRegression(), LinearSVC()])
def test_two_labels_that_were_sorted_the_other_way_round(nominal):
    X, codes = ordinal_data(n=150, K=2)
    labels = np.array(["poor", "good"])
    fitted = nominal.fit(X, labels[codes])
    read = FittedModel(fitted, OrdinalScale(labels))
    np.testing.assert_array_equal(read.scores(X)[:, 0], -fitted.decision_function(X))
    model = OrdinalCalibrator(fitted, cv="prefit", classes=labels).fit(X, labels[codes])
    assert model.slope_ > 0.0
    assert (model.predict(X) == fitted.predict(X)).mean() > 0.9
    intervals = ConformalOrdinal(fitted, 0.9, method="prefit", classes=labels)
    assert intervals.fit(X, labels[codes]).mean_size_ < 1.6


def test_more_labels_that_were_sorted_have_no_margins():
    X, codes = ordinal_data(n=150, K=3)
    labels = np.array(["a", "b", "c"])
    fitted = ProportionalOdds(classes=labels).fit(X, labels[codes])
    read = FittedModel(fitted, OrdinalScale(labels[[0, 2, 1]]))
    assert read.margins(X) is None
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(read.threshold_scores(X)[:, 1], p[:, 1])


def test_probabilities_of_some_classes_are_spread_over_the_scale():
    X, codes = ordinal_data(n=120)
    words = np.array(["poor", "fair", "good", "great"])
    seen = codes != 1
    fitted = LogisticRegression().fit(X[seen], words[codes[seen]])
    read = FittedModel(fitted, OrdinalScale(words))
    p = fitted.predict_proba(X)
    order = [fitted.classes_.tolist().index(word) for word in ("poor", "good", "great")]
    np.testing.assert_array_equal(read.probabilities(X)[:, [0, 2, 3]], p[:, order])
    assert (read.probabilities(X)[:, 1] == 0.0).all()
    np.testing.assert_array_equal(words[read.codes(X)], fitted.predict(X))


def test_models_of_two_classes_or_of_labels_alone_on_a_longer_scale():
    X, codes = ordinal_data(n=120)
    two = np.isin(codes, [1, 3])
    fitted = LinearSVC().fit(X[two], codes[two])
    scores = FittedModel(fitted, OrdinalScale(np.arange(4))).scores(X)
    upper = expit(fitted.decision_function(X))
    expected = np.column_stack([np.ones(120), upper, upper])
    np.testing.assert_allclose(scores, expected)
    nearest = NearestCentroid().fit(X, codes)
    scores = FittedModel(Labels(nearest), OrdinalScale(np.arange(4))).scores(X)
    np.testing.assert_array_equal(scores, nearest.predict(X)[:, None] > np.arange(3))


def test_infinite_margins_become_those_of_neighbours():
    inf = np.inf
    margins = np.array([[inf, 2.0, -inf, -3.0, -inf], [inf, inf, inf, -inf, -inf]])
    expected = [[2.0, 2.0, 2.0, -3.0, -3.0], [1.0, 1.0, 1.0, -1.0, -1.0]]
    np.testing.assert_array_equal(without_infinity(margins), expected)
    X, y = ordinal_data(n=80)
    model = ORStump(classes=[-1, 0, 1, 2, 3, 9]).fit(X, y)
    read = FittedModel(model, OrdinalScale(model.classes_))
    assert np.isinf(read.margins(X)).any()
    assert np.isfinite(read.scores(X)).all()


def test_the_order_of_labels_is_the_first_that_is_stated():
    known = np.array(["fair", "good", "poor"])
    y = pd.Series(["poor"], dtype=pd.CategoricalDtype(["poor", "fair", "good"], ordered=True))
    assert label_order(known, ["good", "fair", "poor"], y).tolist() == ["good", "fair", "poor"]
    assert label_order(known, None, y).tolist() == ["poor", "fair", "good"]
    assert label_order(known, None, ["poor"]) is known
    other = y.cat.remove_categories(["good"])
    assert label_order(known, None, other) is known
    assert label_order(None) is None
