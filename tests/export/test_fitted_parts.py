"""What fitted models say of themselves to be exported is enough to predict as they do."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from support.data import ordinal_data

from echelon import (
    GPOR,
    SVOR,
    AdaBoostOR,
    LinearRankSVM,
    ORBoost,
    PRank,
    RankBoost,
    RankRules,
    ThresholdedRanker,
)
from echelon.gaussian_process.covariance import covariance
from echelon.ordinal.reduction import exceedance_to_probabilities, untilted_probabilities
from echelon.rules.columns import as_positions
from echelon.solvers.boosting.stumps import sum_steps

X, y = ordinal_data(n=60)
new = ordinal_data(n=40, seed=1)[0]


@pytest.mark.parametrize(
    "model",
    [
        SVOR(probability=True, random_state=0),
        ThresholdedRanker(LinearRankSVM(), cv=3),
        RankRules(15, loss="absolute", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_calibration(model):
    slope, thresholds = model.fit(X, y).calibration()
    above = expit(slope * model.predict_latent(new)[:, None] - thresholds)
    expected = model.predict_proba(new)
    np.testing.assert_allclose(exceedance_to_probabilities(above), expected, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [SVOR(), ThresholdedRanker(LinearRankSVM(), cv=None), RankRules(5, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_no_calibration(model):
    assert model.fit(X, y).calibration() is None


def test_calibration_goes_with_a_fit_without_probabilities():
    model = SVOR(probability=True, random_state=0).fit(X, y)
    assert model.set_params(probability=False).fit(X, y).calibration() is None


def test_step_tables_and_link_of_votes():
    model = AdaBoostOR(n_estimators=10, cost="squared").fit(X, y)
    votes = 2.0 * sum_steps(model.step_tables(), new, 3) - model.estimator_weights_.sum()
    np.testing.assert_array_equal(votes > 0, model.decision_function(new) > 0)
    weights, thresholds = model.probability_link()
    above = np.minimum.accumulate(expit(2.0 * (votes - thresholds)), axis=1)
    expected = model.predict_proba(new)
    np.testing.assert_allclose(untilted_probabilities(above, weights), expected, atol=1e-9)


def test_step_tables_and_link_of_a_score():
    model = ORBoost(10, base="stump").fit(X, y)
    votes = sum_steps(model.step_tables(), new, 1)[:, 0]
    latent = 2.0 * votes - model.estimator_weights_.sum()
    np.testing.assert_array_equal(latent, model.predict_latent(new))
    weights, thresholds = model.probability_link()
    above = expit(2.0 * (latent[:, None] - thresholds))
    expected = model.predict_proba(new)
    np.testing.assert_array_equal(untilted_probabilities(above, weights), expected)


def test_step_tables_of_a_ranker():
    model = RankBoost(10).fit(X, y)
    scores = sum_steps(model.step_tables(), new, 1)[:, 0]
    np.testing.assert_array_equal(scores, model.predict(new))


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostOR(PRank(5), n_estimators=3, random_state=0),
        ORBoost(3, base="perceptron", random_state=0),
        RankBoost(3, estimator=LinearRankSVM()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_no_step_tables(model):
    assert model.fit(X, y).step_tables() is None


@pytest.mark.parametrize("n_inducing", [None, 15])
def test_posterior(n_inducing):
    model = GPOR(optimizer=None, n_inducing=n_inducing, random_state=0).fit(X, y)
    rows, predictor, link = model.posterior()
    assert link.name == "probit"
    mean, std = model.predict_latent(new, return_std=True)
    cross = covariance(model.kernel_, rows, new)
    np.testing.assert_allclose(predictor.mean(cross), mean, atol=1e-12)
    left = model.kernel_.diag(new) - predictor.explained(cross)
    np.testing.assert_allclose(np.sqrt(np.maximum(left, 0.0)), std, atol=1e-9)


@pytest.mark.parametrize("loss", ["threshold", "binary"])
def test_rule_model(loss):
    model = RankRules(15, loss=loss, random_state=0).fit(X, y)
    ensembles, levels, columns = model.rule_model()
    assert levels.joint == (loss == "threshold")
    rows = as_positions(new, columns)
    margins = levels.margins(np.hstack([part.margins(rows) for part in ensembles]))
    np.testing.assert_allclose(margins, model.decision_function(new), atol=1e-12)


@pytest.mark.parametrize(
    ("model", "methods"),
    [
        (SVOR(), ["calibration"]),
        (ThresholdedRanker(), ["calibration"]),
        (RankRules(), ["calibration", "rule_model"]),
        (AdaBoostOR(), ["step_tables", "probability_link"]),
        (ORBoost(), ["step_tables", "probability_link"]),
        (RankBoost(), ["step_tables"]),
        (GPOR(), ["posterior"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_before_fit(model, methods):
    for method in methods:
        with pytest.raises(NotFittedError):
            getattr(model, method)()
