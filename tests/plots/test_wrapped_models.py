"""Displays look into pipelines, searches, calibrators and trained models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import GPOR, AdaBoostOR, ProportionalOdds, RankRules
from echelon.datasets import load_esl
from echelon.meta.calibration import OrdinalCalibrator
from echelon.meta.conformal import ConformalOrdinal
from echelon.plots import (
    BoostingCurveDisplay,
    CumulativeCalibrationDisplay,
    DecisionBoundaryDisplay,
    LatentDisplay,
    MarginDistributionDisplay,
    OrdinalConfusionDisplay,
    PairwiseROCDisplay,
    RelevanceDisplay,
    ROCDisplay,
    RuleCoverageDisplay,
)


class Trained:
    """Stands for a trained model: an estimator, its scale, and rows put into its columns."""

    def __init__(self, estimator, columns):
        self.estimator, self.columns = estimator, columns
        self.classes, self.name = list(estimator.classes_), "a model of mine"

    def inputs(self, X):
        return X[self.columns]

    def predict_frame(self, X):
        return self.inputs(X)

    def predict(self, X):
        return self.estimator.predict(self.inputs(X))


@pytest.fixture(scope="module")
def data():
    X, y = load_esl(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(noise=0.0), y.clip(4, 6)


def test_trained_models_are_opened(data):
    X, y = data
    inside = make_pipeline(StandardScaler(), ProportionalOdds(alpha=1.0)).fit(X[["a", "c"]], y)
    model = Trained(inside, ["a", "c"])
    display = LatentDisplay.from_estimator(model, X, y)
    direct = inside[-1].predict_latent(inside[0].transform(X[["a", "c"]]))
    np.testing.assert_array_equal(display.scores, direct)
    assert display.ax_.get_title(loc="left") == "a model of mine"
    assert OrdinalConfusionDisplay.from_estimator(model, X, y).matrix.sum() == len(y)
    assert PairwiseROCDisplay.from_estimator(model, X, y).areas.shape == (3, 3)
    assert list(ROCDisplay.from_estimator(model, X, y).curves) == ["> 4", "> 5"]
    assert MarginDistributionDisplay.from_estimator(model, X, y).of == "rows"
    boundary = DecisionBoundaryDisplay.from_estimator(model, X[["a", "c"]], grid_resolution=5)
    assert boundary.margins.shape == (5, 5, 2)


def test_searches_and_pipelines_are_opened(data):
    X, y = data
    boosted = make_pipeline(StandardScaler(), AdaBoostOR(n_estimators=4))
    search = GridSearchCV(boosted, {"adaboostor__learning_rate": [0.5]}, cv=2).fit(X, y)
    display = BoostingCurveDisplay.from_estimator(search, X, y)
    direct = BoostingCurveDisplay.from_estimator(search.best_estimator_, X, y)
    np.testing.assert_array_equal(display.training, direct.training)
    assert display.name == direct.name == "AdaBoostOR"
    process = make_pipeline(StandardScaler(), GPOR("linear_ard", inference="laplace"))
    display = RelevanceDisplay.from_estimator(process.fit(X[::8], y[::8]))
    assert set(display.features_) == set(X.columns)


@pytest.mark.parametrize("wrapper", [OrdinalCalibrator, ConformalOrdinal])
def test_calibrators_are_opened(data, wrapper):
    X, y = data
    model = wrapper(RankRules(10, random_state=0), random_state=0).fit(X, y)
    display = RuleCoverageDisplay.from_estimator(model, most=3)
    assert len(display.rules_) == 3
    latent = LatentDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(latent.scores, model.predict_latent(X))


def test_members_of_an_ensemble_are_not_taken_for_the_model(data):
    X, y = data
    model = AdaBoostOR(ProportionalOdds(alpha=1.0), 2).fit(X, y)
    display = LatentDisplay.from_estimator(model, X, y)
    assert display.score_name == "mean margin over thresholds"
    np.testing.assert_allclose(display.scores, model.decision_function(X).mean(axis=1))


def test_nominal_classifiers_are_read_in_the_order_of_the_labels(data):
    X, grades = data
    words = np.array(["poor", "fair", "good"])
    y = pd.Series(pd.Categorical(words[grades - 4], words, ordered=True))
    nominal = LogisticRegression(max_iter=1000).fit(X, y)
    assert nominal.classes_.tolist() == ["fair", "good", "poor"]
    p = nominal.predict_proba(X)[:, [2, 0, 1]]
    display = LatentDisplay.from_estimator(nominal, X, y)
    assert list(display.classes) == words.tolist()
    np.testing.assert_allclose(display.scores, p @ np.arange(3))
    roc = ROCDisplay.from_estimator(nominal, X, y)
    assert list(roc.curves) == ["> poor", "> fair"]
    assert min(roc.areas.values()) > 0.8
    assert np.nanmin(PairwiseROCDisplay.from_estimator(nominal, X, y).areas) > 0.8
    for options in ({}, {"classes": words}):
        labels = y if not options else words[grades - 4]
        bins = CumulativeCalibrationDisplay.from_estimator(nominal, X, labels, **options)
        direct = CumulativeCalibrationDisplay.from_predictions(y, p)
        assert list(bins.curves) == ["> poor", "> fair"]
        np.testing.assert_allclose(bins.curves["> fair"].observed, direct.curves["> fair"].observed)


def test_intervals_around_a_forest_are_drawn_by_its_probabilities(data):
    X, y = data
    forest = RandomForestClassifier(8, max_depth=3, random_state=0)
    model = ConformalOrdinal(forest, 0.8, random_state=0).fit(X, y)
    display = LatentDisplay.from_estimator(model, X, y)
    assert display.score_name == "expected rank, from 0"
    np.testing.assert_allclose(display.scores, model.predict_proba(X) @ np.arange(3))
    assert len(ROCDisplay.from_estimator(model, X, y).curves["> 4"].true_positive_rate) > 10
    with pytest.raises(ValueError, match="decision_function with margins; found ConformalOrdinal"):
        MarginDistributionDisplay.from_estimator(model, X, y)


@pytest.mark.parametrize(
    "display",
    [
        LatentDisplay,
        ROCDisplay,
        PairwiseROCDisplay,
        MarginDistributionDisplay,
        DecisionBoundaryDisplay,
        OrdinalConfusionDisplay,
        CumulativeCalibrationDisplay,
    ],
)
def test_estimators_that_are_not_fitted_say_so(data, display):
    X, y = data[0][["a", "c"]], data[1]
    for model in (ProportionalOdds(), ConformalOrdinal(classes=[4, 5, 6])):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            display.from_estimator(model, X, y)


def test_margins_of_labels_never_seen_leave_the_unit_alone(data):
    X, y = data
    few = ProportionalOdds(alpha=1.0).fit(X, y)
    many = ProportionalOdds(alpha=1.0, classes=[3, 4, 5, 6, 7]).fit(X, y)
    assert np.isinf(many.decision_function(X)).any()
    displays = [MarginDistributionDisplay.from_estimator(model, X, y) for model in (few, many)]
    right = [np.sign(display.margins) for display in displays]
    np.testing.assert_array_equal(*right)
    assert np.isfinite(displays[1].margins).all()
    with pytest.raises(ValueError, match="margins must have as many rows as y_true; found 488"):
        MarginDistributionDisplay.from_estimator(few, X, y[:4])
    with pytest.raises(ValueError, match="margins must not hold NaN; found 1"):
        MarginDistributionDisplay([0.0, np.nan])
