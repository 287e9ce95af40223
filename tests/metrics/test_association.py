"""Rank correlations and the concordance index against double loops, SciPy and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata, spearmanr
from sklearn.metrics import roc_auc_score

from echelon.metrics import concordance_index, kendall_tau_b, spearman_correlation

columns = st.integers(2, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.5, 1.0, 2.25]), min_size=n, max_size=n),
    )
)


def pairs_of(a, b, weights):
    for i in range(len(a)):
        for j in range(i):
            yield np.sign(a[i] - a[j]), np.sign(b[i] - b[j]), weights[i] * weights[j]


def slow_tau_b(a, b, weights):
    numerator = differ_a = differ_b = 0.0
    for sign_a, sign_b, weight in pairs_of(a, b, weights):
        numerator += sign_a * sign_b * weight
        differ_a += abs(sign_a) * weight
        differ_b += abs(sign_b) * weight
    return numerator / math.sqrt(differ_a * differ_b) if differ_a and differ_b else math.nan


def slow_concordance(a, b, weights):
    right = comparable = 0.0
    for sign_a, sign_b, weight in pairs_of(a, b, weights):
        if sign_a:
            comparable += weight
            right += weight * (0.5 + 0.5 * sign_a * sign_b)
    return right / comparable if comparable else math.nan


@given(columns)
def test_tau_b_equals_the_double_loop(rows):
    a, b, weights = rows
    expected = slow_tau_b(a, b, weights)
    found = kendall_tau_b(a, b, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(columns)
def test_concordance_equals_the_double_loop(rows):
    a, b, weights = rows
    found = concordance_index(a, np.exp(b), sample_weight=weights)
    assert found == pytest.approx(slow_concordance(a, b, weights), abs=1e-12, nan_ok=True)


@given(columns)
def test_tau_b_and_spearman_agree_with_scipy(rows):
    a, b, _ = rows
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(kendall_tau_b(a, b))
        assert math.isnan(spearman_correlation(a, b))
        return
    assert kendall_tau_b(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
    assert spearman_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def test_weighted_spearman_is_pearson_of_midranks():
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 5, (2, 80))
    counts = generator.integers(1, 4, 80)
    u, v = (rankdata(np.repeat(column, counts)) for column in (a, b))
    expected = np.corrcoef(u, v)[0, 1]
    assert spearman_correlation(a, b, sample_weight=counts) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("correlation", [kendall_tau_b, spearman_correlation])
def test_perfect_correlation_is_exact(correlation):
    generator = np.random.default_rng(1)
    codes, weights = generator.integers(0, 7, 500), generator.random(500)
    assert correlation(codes, codes, sample_weight=weights) == 1.0
    found = correlation(codes, 6 - codes, sample_weight=weights)
    assert found == pytest.approx(-1.0, abs=1e-14)
    assert found >= -1.0


@pytest.mark.parametrize("correlation", [kendall_tau_b, spearman_correlation])
def test_one_row_has_no_correlation(correlation):
    assert math.isnan(correlation([1], [1]))
    assert math.isnan(correlation([1, 2, 2], [1, 2, 2], sample_weight=[0, 1, 1]))


def test_two_classes_give_the_area_under_the_curve():
    generator = np.random.default_rng(2)
    truth = generator.integers(0, 2, 300)
    scores = (truth + generator.normal(size=300)).round(1)
    weights = generator.random(300)
    for w in (None, weights):
        expected = roc_auc_score(truth, scores, sample_weight=w)
        assert concordance_index(truth, scores, sample_weight=w) == pytest.approx(
            expected, rel=1e-12
        )


def test_constant_scores_are_one_half_and_one_class_is_nan():
    assert concordance_index([1, 2, 3], [4.0, 4.0, 4.0]) == 0.5
    assert math.isnan(concordance_index([2, 2], [1.0, 3.0]))


def test_concordance_of_infinite_scores():
    assert concordance_index([1, 2, 3], [-np.inf, 0.0, np.inf]) == 1.0


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, np.nan], "scores must not hold NaN; found 1"),
        ([[1.0], [2.0]], r"scores must be one number per row; found shape \(2, 1\)"),
        (["high", "low"], "scores must hold numbers; found list"),
    ],
)
def test_bad_scores(scores, message):
    with pytest.raises(ValueError, match=message):
        concordance_index([1, 2], scores)
