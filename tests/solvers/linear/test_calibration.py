import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from support.data import ascending

from echelon.ordinal.likelihoods import class_probabilities, get_link
from echelon.solvers.linear.calibration import calibrate, calibrate_by_exponential


def make_scores(n=80, K=4, seed=0, slope=1.5):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    latent = slope * scores + rng.logistic(size=n)
    cuts = np.quantile(latent, np.arange(1, K) / K)
    return scores, np.searchsorted(cuts, latent), rng.uniform(0.5, 2.0, size=n)


def probabilities(calibration, scores):
    return class_probabilities(
        get_link("logit"), calibration.slope * scores, calibration.thresholds
    )


def test_no_other_slope_and_thresholds_fit_better():
    scores, codes, weights = make_scores()
    shares = weights / weights.mean()
    spread = np.sqrt(
        np.average((scores - np.average(scores, weights=weights)) ** 2, weights=weights)
    )

    def loss(v):
        thresholds = np.cumsum(np.concatenate([v[1:2], np.exp(v[2:])]))
        P = class_probabilities(get_link("logit"), v[0] * scores, thresholds)
        # The penalty is that of one row on the slope of scores with unit variance.
        return -shares @ np.log(P[np.arange(len(codes)), codes]) + 0.5 * (v[0] * spread) ** 2

    slope, thresholds = calibrate(scores, codes, 4, weights)
    found = np.concatenate([[slope], thresholds[:1], np.log(np.diff(thresholds))])
    best = minimize(loss, np.array([1.0, -1.0, 0.0, 0.0]), method="BFGS", options={"gtol": 1e-6})
    assert loss(found) == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(found, best.x, rtol=1e-4, atol=1e-4)


@given(st.integers(2, 8), st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 3.0, 50.0]))
def test_probabilities_are_valid_and_rise_with_the_score(K, seed, slope):
    scores, codes, weights = make_scores(n=40, K=K, seed=seed, slope=slope)
    calibration = calibrate(scores, codes, K, weights)
    assert np.isfinite(calibration.slope)
    assert calibration.slope >= 0.0
    assert ascending(calibration.thresholds)
    grid = np.linspace(-4.0, 4.0, 50)
    P = probabilities(calibration, grid)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0.0).all()
    assert (np.diff(np.cumsum(P, axis=1), axis=0) <= 1e-12).all()


def test_units_of_the_scores_and_of_the_weights_do_not_matter():
    scores, codes, weights = make_scores()
    P = probabilities(calibrate(scores, codes, 4, weights), scores)
    moved = 1e3 * scores + 50.0
    np.testing.assert_allclose(
        probabilities(calibrate(moved, codes, 4, weights), moved), P, atol=1e-6
    )
    np.testing.assert_allclose(
        probabilities(calibrate(scores, codes, 4, 7.0 * weights), scores), P, atol=1e-6
    )


@pytest.mark.parametrize("scores", ["reversed", "constant"])
def test_scores_without_use_give_the_class_shares(scores):
    values, codes, weights = make_scores(slope=4.0)
    values = -values if scores == "reversed" else np.full(len(codes), 3.0)
    slope, thresholds = calibrate(values, codes, 4, weights)
    assert slope == 0.0
    share = np.cumsum(np.bincount(codes, weights))[:-1] / weights.sum()
    np.testing.assert_allclose(thresholds, logit(share), rtol=1e-6, atol=1e-8)


def test_separable_scores_get_a_finite_slope():
    scores = np.arange(20.0)
    codes = np.repeat(np.arange(4), 5)
    slope, thresholds = calibrate(scores, codes, 4, np.ones(20))
    assert 0.0 < slope < 10.0
    assert np.isfinite(thresholds).all()
    assert (expit(thresholds[1] - slope * scores[:10]) > 0.5).all()
    assert (expit(thresholds[1] - slope * scores[10:]) < 0.5).all()


def test_classes_without_rows_have_probability_zero():
    scores, codes, weights = make_scores(K=3)
    levels = np.array([1, 2, 5])
    calibration = calibrate(scores, levels[codes], 7, weights)
    np.testing.assert_array_equal(calibration.thresholds[[0, 5]], [-np.inf, np.inf])
    P = probabilities(calibration, scores)
    assert not P[:, [0, 3, 4, 6]].any()
    np.testing.assert_allclose(
        P[:, levels], probabilities(calibrate(scores, codes, 3, weights), scores)
    )


def test_no_other_slope_and_thresholds_have_a_lower_exponential_loss():
    scores, codes, weights = make_scores(seed=3)
    sides = np.where(codes[:, None] > np.arange(3), 1.0, -1.0)

    def loss(v):
        margins = sides * (v[0] * scores[:, None] - v[1:])
        return weights @ np.exp(-margins).sum(axis=1)

    slope, thresholds = calibrate_by_exponential(scores, codes, 4, weights)
    ours = np.concatenate([[slope], thresholds]) / 2.0
    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert loss(ours) <= best.fun * (1.0 + 1e-9)
    np.testing.assert_allclose(ours, best.x, rtol=1e-4)
    assert ascending(thresholds)


def test_the_exponential_slope_is_never_negative_nor_infinite():
    codes = np.array([0, 0, 1, 1])
    for scores, least, most in (
        (np.array([1.0, 2.0, 3.0, 4.0]), 10.0, 100.0),
        (np.array([4.0, 3.0, 2.0, 1.0]), 0.0, 1e-6),
        (np.ones(4), 0.0, 0.0),
    ):
        slope, thresholds = calibrate_by_exponential(scores, codes, 3, np.ones(4))
        assert least <= slope <= most
        assert np.isfinite(thresholds[0])
        assert thresholds[1] == np.inf
