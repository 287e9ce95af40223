"""The exponential pair loss, against a list of all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import logsumexp

from echelon.pairs.exponential import ExponentialPairLoss, LevelSums


def listed_pairs(codes, weights, count):
    """Rows of the upper and the lower side of every pair, and the weight of the pair."""
    upper, lower = np.nonzero(codes[:, None] > codes)
    times = codes[upper] - codes[lower] if count == "per_threshold" else np.ones(len(upper))
    return upper, lower, times * weights[upper] * weights[lower]


def listed_loss(scores, codes, weights, count):
    upper, lower, mass = listed_pairs(codes, weights, count)
    return float(mass @ np.exp(scores[lower] - scores[upper]))


@st.composite
def problems(draw):
    n = draw(st.integers(2, 12))
    K = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    codes = rng.integers(K, size=n)
    codes[:2] = [0, K - 1]
    weights = rng.choice([0.5, 1.0, 3.0], size=n)
    weights[2:] *= rng.random(n - 2) < 0.8
    return codes, K, weights, rng.normal(size=n), rng


@settings(deadline=None)
@given(problems(), st.sampled_from(["once", "per_threshold"]))
def test_value_gradient_and_shares_are_those_of_all_pairs(problem, count):
    codes, K, weights, scores, _ = problem
    loss = ExponentialPairLoss(codes, K, weights, count=count)
    shares = loss.at(scores)
    value = listed_loss(scores, codes, weights, count)
    upper, lower, mass = listed_pairs(codes, weights, count)
    terms = mass * np.exp(scores[lower] - scores[upper]) / value
    assert np.exp(shares.log_loss) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(
        shares.upper, np.bincount(upper, terms, minlength=len(codes)), atol=1e-13
    )
    np.testing.assert_allclose(
        shares.lower, np.bincount(lower, terms, minlength=len(codes)), atol=1e-13
    )
    assert loss.total == pytest.approx(mass.sum())
    error = check_grad(
        lambda f: np.log(listed_loss(f, codes, weights, count)),
        lambda f: loss.at(f).gradient,
        scores,
    )
    assert error < 1e-6


@settings(deadline=None)
@given(problems(), st.sampled_from(["once", "per_threshold"]))
def test_derivatives_along_a_change_are_those_of_all_pairs(problem, count):
    codes, K, weights, scores, rng = problem
    h = rng.uniform(-1.0, 1.0, size=len(codes))
    loss = ExponentialPairLoss(codes, K, weights, count=count)
    upper, lower, mass = listed_pairs(codes, weights, count)
    terms = mass * np.exp(scores[lower] - scores[upper])
    terms /= terms.sum()
    gap = h[upper] - h[lower]
    edge = loss.along(scores, h)
    assert edge.slope == pytest.approx(-terms @ gap, abs=1e-13)
    assert edge.curvature == pytest.approx(terms @ gap**2, abs=1e-13)
    sides = np.where(h > 0.0, 1.0, -1.0)
    gap = sides[upper] - sides[lower]
    assert loss.ordered_by(scores, sides) == pytest.approx(
        (terms[gap > 0].sum(), terms[gap < 0].sum()), abs=1e-13
    )


def test_scores_of_any_size_stay_exact():
    codes = np.array([0, 0, 1, 2, 2])
    scores = np.array([-3000.0, 2000.0, 0.0, 4000.0, -1000.0])
    upper, lower, mass = listed_pairs(codes, np.ones(5), "once")
    logs = np.log(mass) + scores[lower] - scores[upper]
    shares = ExponentialPairLoss(codes, 3).at(scores)
    assert shares.log_loss == pytest.approx(logsumexp(logs), rel=1e-14)
    assert shares.upper.sum() == pytest.approx(1.0)
    assert shares.gradient == pytest.approx([0.0, 1.0, 0.0, 0.0, -1.0])


def test_integer_weights_are_repeated_rows(rng):
    codes = np.array([0, 1, 1, 2, 0, 2])
    scores = rng.normal(size=6)
    counts = np.array([1, 2, 0, 3, 1, 1])
    once = ExponentialPairLoss(codes, 3, counts.astype(float)).at(scores)
    again = ExponentialPairLoss(np.repeat(codes, counts), 3).at(np.repeat(scores, counts))
    assert once.log_loss == pytest.approx(again.log_loss)
    summed = np.bincount(np.repeat(np.arange(6), counts), again.gradient, minlength=6)
    np.testing.assert_allclose(once.gradient, summed, atol=1e-14)


def test_level_sums(rng):
    codes = rng.integers(1, 4, size=20)
    exponents = 500.0 * rng.normal(size=20)
    exponents[0] = -np.inf
    logs, shares = LevelSums(codes, 5).softmax(exponents)
    for level in range(5):
        rows = codes == level
        expected = logsumexp(exponents[rows]) if rows.any() else -np.inf
        assert logs[level] == pytest.approx(expected)
        if rows.any():
            np.testing.assert_allclose(shares[rows], np.exp(exponents[rows] - expected))
    alone, nothing = LevelSums(np.array([0, 1]), 2).softmax(np.array([-np.inf, 0.0]))
    assert alone.tolist() == [-np.inf, 0.0]
    assert nothing.tolist() == [0.0, 1.0]


def test_bad_arguments_get_a_sentence():
    with pytest.raises(ValueError, match="count must be 'once' or 'per_threshold'; found 'twice'"):
        ExponentialPairLoss(np.array([0, 1]), 2, count="twice")
    with pytest.raises(ValueError, match="two levels or more"):
        ExponentialPairLoss(np.array([0, 1]), 2, np.array([1.0, 0.0]))
