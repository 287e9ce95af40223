"""Values by query: their intervals, and tests between two rankers."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from support.rankings import random_queries

from echelon.metrics import ranking
from echelon.metrics.ranking import (
    QueryScores,
    average_precision,
    compare_query_scores,
    compare_rankers,
    ndcg_score,
    per_query,
)


def test_per_query_of_any_function():
    y, s, qid = random_queries(seed=6)
    w = np.random.default_rng(0).integers(1, 4, len(y))

    def correlation(truth, scores, *, sample_weight, shift):
        return np.cov(truth, scores, fweights=sample_weight)[0, 1] + shift

    moved = np.random.default_rng(1).permutation(len(y))
    found = per_query(
        correlation, y[moved], s[moved], qid=qid[moved], sample_weight=w[moved], shift=10
    )
    for query, value in zip(found.ids, found.values, strict=True):
        rows = qid == query
        expected = np.cov(y[rows], s[rows], fweights=w[rows])[0, 1] + 10
        assert value == pytest.approx(expected)


def test_interval_by_student():
    values = np.array([0.2, 0.9, 0.4, 0.7, 0.7])
    scores = QueryScores(tuple(range(5)), values, np.ones(5))
    expected = stats.t.interval(0.9, 4, loc=values.mean(), scale=stats.sem(values))
    np.testing.assert_allclose(scores.confidence_interval(0.9), expected)
    assert scores.standard_error() == pytest.approx(stats.sem(values))
    scaled = QueryScores(scores.ids, values, np.full(5, 7.0))
    np.testing.assert_allclose(scaled.confidence_interval(0.9), expected)
    # A query of weight zero is no observation.
    more = QueryScores((*scores.ids, 9), np.r_[values, math.nan], np.r_[np.ones(5), 0])
    np.testing.assert_allclose(more.confidence_interval(0.9), expected)
    assert more.mean() == pytest.approx(values.mean())


def test_weighted_interval_covers():
    """Nine of ten 90 % intervals hold the weighted mean that queries are drawn around."""
    rng = np.random.default_rng(3)
    hits = {"t": 0, "bootstrap": 0}
    for _ in range(200):
        weights = rng.uniform(0.5, 2.0, 60)
        scores = QueryScores(tuple(range(60)), rng.beta(2, 3, 60), weights)
        for method in hits:
            low, high = scores.confidence_interval(0.9, method=method, n_resamples=300)
            hits[method] += low <= 0.4 <= high
    # Binomial(200, 0.9) is outside 165 … 195 less than once in two hundred times.
    assert all(165 <= count <= 195 for count in hits.values()), hits


def test_interval_by_bootstrap_is_seeded_and_near_student():
    values = np.random.default_rng(0).normal(size=300)
    scores = QueryScores(tuple(range(300)), values, np.ones(300))
    drawn = scores.confidence_interval(method="bootstrap", random_state=1)
    assert drawn == scores.confidence_interval(method="bootstrap", random_state=1)
    assert drawn != scores.confidence_interval(method="bootstrap", random_state=2)
    np.testing.assert_allclose(drawn, scores.confidence_interval(), atol=0.02)
    single = QueryScores(("a",), np.array([0.5]), np.ones(1))
    assert np.isnan(single.confidence_interval()).all() and math.isnan(single.standard_error())
    with pytest.raises(ValueError, match="method must be 't' or 'bootstrap'; found 'z'"):
        scores.confidence_interval(method="z")
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1; found 95"):
        scores.confidence_interval(95)


def two_rankers(seed=0, n_queries=12):
    y, _, qid = random_queries(seed, n_queries)
    rng = np.random.default_rng(seed)
    return y, y + rng.normal(0, 1.0, len(y)), y + rng.normal(0, 2.0, len(y)), qid


def test_comparison_by_student_and_wilcoxon():
    y, a, b, qid = two_rankers()
    of_a = per_query(ndcg_score, y, a, qid=qid, k=5).values
    of_b = per_query(ndcg_score, y, b, qid=qid, k=5).values
    result = compare_rankers(y, a, b, metric=ndcg_score, qid=qid, k=5)
    theirs = stats.ttest_rel(of_a, of_b)
    assert result.p_value == pytest.approx(theirs.pvalue)
    assert result.difference == pytest.approx((of_a - of_b).mean())
    assert (result.mean_a, result.mean_b) == pytest.approx((of_a.mean(), of_b.mean()))
    np.testing.assert_allclose(result.interval, theirs.confidence_interval(0.95))
    assert (result.wins, result.losses) == ((of_a > of_b).sum(), (of_a < of_b).sum())
    assert result.wins + result.ties + result.losses == len(of_a)
    signed = compare_rankers(y, a, b, qid=qid, k=5, method="wilcoxon")
    differences = of_a - of_b
    assert signed.p_value == pytest.approx(stats.wilcoxon(differences[differences != 0]).pvalue)
    low, high = signed.interval
    assert low < result.difference < high


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 11.0)])
def test_comparison_by_sign_flips(weights):
    y, a, b, qid = two_rankers(seed=5, n_queries=10)
    options = {"metric": average_precision, "qid": qid, "query_weight": weights}
    exact = compare_rankers(y, a, b, method="permutation", **options)
    w = np.ones(10) if weights is None else weights
    terms = w * (
        per_query(average_precision, y, a, qid=qid).values
        - per_query(average_precision, y, b, qid=qid).values
    )
    flips = [
        abs(np.dot(signs, terms)) >= abs(terms.sum()) - 1e-12
        for signs in itertools.product([1, -1], repeat=10)
    ]
    assert exact.p_value == pytest.approx(np.mean(flips))
    drawn = compare_rankers(y, a, b, method="permutation", n_resamples=1000, **options)
    spread = math.sqrt(exact.p_value * (1 - exact.p_value) / 1000)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * spread + 0.001)


def test_a_ranker_compared_with_itself():
    y, a, _, qid = two_rankers()
    for method in ("t", "wilcoxon", "permutation"):
        result = compare_rankers(y, a, 2 * a, qid=qid, method=method)
        assert result.p_value == 1.0 and result.difference == 0.0
        assert (result.wins, result.ties, result.losses) == (0, 12, 0)


def test_comparison_leaves_out_queries_without_a_value():
    y, a, b, qid = two_rankers()
    y = np.where(qid < 4, 0, y)
    for empty in ("skip", math.nan):
        result = compare_rankers(y, a, b, qid=qid, empty=empty)
        assert result.wins + result.ties + result.losses == 8
        assert (
            result.p_value
            == compare_rankers(y[qid >= 4], a[qid >= 4], b[qid >= 4], qid=qid[qid >= 4]).p_value
        )
    one_query = compare_rankers(y, a, b)
    assert math.isnan(one_query.p_value) and np.isnan(one_query.interval).all()


def test_comparison_where_rankers_have_values_in_different_queries():
    y, a, b, qid = two_rankers()
    # Without a difference in score Kendall's correlation is undefined.
    a, b = np.where(qid == 2, 0.0, a), np.where(qid == 7, 0.0, b)
    kept = (qid != 2) & (qid != 7)
    metric = ranking.kendall_tau_by_query
    found = compare_rankers(y, a, b, qid=qid, metric=metric)
    assert found == compare_rankers(y[kept], a[kept], b[kept], qid=qid[kept], metric=metric)
    assert found.wins + found.ties + found.losses == 10


def test_queries_without_weight_are_not_compared():
    y, a, b, qid = two_rankers()
    kept = qid >= 4
    found = compare_rankers(y, a, b, qid=qid, query_weight=kept.astype(float))
    assert found == compare_rankers(y[kept], a[kept], b[kept], qid=qid[kept])


def test_drawn_signs_never_give_certainty():
    y, qid = [1, 0] * 40, np.repeat(np.arange(40), 2)
    options = {"qid": qid, "method": "permutation", "n_resamples": 99}
    assert compare_rankers(y, y, np.negative(y), **options).p_value == 0.01


def test_the_bootstrap_weighs_queries():
    scores = QueryScores((1, 2, 3), np.array([0.0, 1.0, 1.0]), np.array([1e9, 1.0, 1.0]))
    low, high = scores.confidence_interval(0.2, method="bootstrap")
    assert low == pytest.approx(0.0, abs=1e-8) and high == pytest.approx(0.0, abs=1e-8)


def test_errors_of_comparisons():
    y, a, b, qid = two_rankers()
    with pytest.raises(ValueError, match="method must be 't', 'wilcoxon' or 'permutation'"):
        compare_rankers(y, a, b, qid=qid, method="z")
    with pytest.raises(ValueError, match="query_weight must be equal for method='wilcoxon'"):
        compare_rankers(y, a, b, qid=qid, method="wilcoxon", query_weight=np.arange(12.0))


def test_values_by_query_are_compared_as_the_scores_are():
    rng = np.random.default_rng(0)
    y, a, b = rng.integers(0, 3, 120), rng.normal(size=120), rng.normal(size=120)
    qid = np.repeat(np.arange(12), 10)
    first, second = (per_query(ndcg_score, y, scores, qid=qid, k=3) for scores in (a, b))
    for method in ("t", "wilcoxon", "permutation"):
        direct = compare_rankers(y, a, b, metric=ndcg_score, qid=qid, k=3, method=method)
        assert compare_query_scores(first, second, method=method) == direct
