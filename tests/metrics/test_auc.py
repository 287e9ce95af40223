"""AUC, ROC curves and their uncertainty: equal to definitions, to scikit-learn, and honest."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from echelon.metrics.ranking.auc import auc_score, multipartite_auc, roc_curve
from echelon.metrics.ranking.auc_intervals import (
    auc_confidence_interval,
    auc_deviation,
    auc_deviation_probability,
    compare_auc,
)
from echelon.metrics.ranking.misranking import misranking_loss
from echelon.metrics.ranking.significance import per_query

TIES = {"half": 0.5, "error": 0.0, "correct": 1.0}

rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-3, 3), st.integers(0, 3)), min_size=2, max_size=30
).filter(lambda drawn: {row[0] for row in drawn if row[2]} == {0, 1})


@given(rows, st.sampled_from(sorted(TIES)))
def test_auc_equals_its_definition(drawn, ties):
    y, s, w = map(np.array, zip(*drawn, strict=True))
    positive = y == 1
    ahead = s[positive][:, None] > s[~positive]
    level = s[positive][:, None] == s[~positive]
    weights = np.outer(w[positive], w[~positive])
    expected = np.average(ahead + TIES[ties] * level, weights=weights)
    assert auc_score(y, s, sample_weight=w, ties=ties) == pytest.approx(expected, rel=1e-12)


@given(rows)
def test_auc_and_curve_agree_with_scikit_learn(drawn):
    y, s, w = map(np.array, zip(*drawn, strict=True))
    area = auc_score(y, s, sample_weight=w)
    assert area == pytest.approx(sklearn_metrics.roc_auc_score(y, s, sample_weight=w), rel=1e-12)
    kept = w > 0
    for drop in (True, False):
        mine = roc_curve(y, s, sample_weight=w, drop_intermediate=drop)
        theirs = sklearn_metrics.roc_curve(
            y[kept], s[kept], sample_weight=w[kept], drop_intermediate=drop
        )
        for ours, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(ours, other, rtol=1e-12)
        assert mine.area == pytest.approx(area, rel=1e-12)


def test_queries_are_averaged_as_a_loop_over_scikit_learn_does():
    generator = np.random.default_rng(0)
    y, s = generator.integers(0, 2, 400), generator.normal(size=400).round(1)
    q = generator.integers(0, 20, 400)
    aucs = [sklearn_metrics.roc_auc_score(y[q == c], s[q == c]) for c in range(20)]
    assert auc_score(y, s, qid=q, average="queries") == pytest.approx(np.mean(aucs))
    scores = per_query(auc_score, y, s, qid=q)
    assert dict(zip(scores.ids, scores.values, strict=True)) == pytest.approx(dict(enumerate(aucs)))
    sizes = [np.prod(np.bincount(y[q == c])) for c in range(20)]
    assert auc_score(y, s, qid=q) == pytest.approx(np.average(aucs, weights=sizes))


def test_labels_of_any_two_values():
    assert auc_score([-1.0, 5.0], [0.2, 0.3]) == 1.0
    assert math.isnan(auc_score([1, 1], [0.2, 0.3]))
    with pytest.raises(ValueError, match="two labels; found 3"):
        auc_score([0, 1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="two labels; found one"):
        roc_curve([1, 1], [1, 2])


many = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from("abc"), st.integers(1, 3)),
    min_size=2,
    max_size=25,
)


def level_aucs(y, s, w, kind, levels):
    """Weighted AUC of each two levels, or each threshold, that has a pair, and its weight."""
    if kind == "thresholds":
        cuts = [(y > low, y <= low) for low in levels[:-1]]
    else:
        cuts = [(y == high, y == low) for low, high in combinations(levels, 2)]
    for upper, lower in cuts:
        if upper.any() and lower.any():
            ahead = s[upper][:, None] > s[lower]
            level = s[upper][:, None] == s[lower]
            weights = np.outer(w[upper], w[lower])
            yield np.average(ahead + 0.5 * level, weights=weights), weights.sum()


def mean_auc(y, s, w, kind, levels):
    parts = list(level_aucs(y, s, w, kind, levels))
    if not parts:
        return math.nan
    aucs, weights = map(np.array, zip(*parts, strict=True))
    return np.average(aucs, weights=weights if kind == "pairs" else None)


@given(many, st.sampled_from(["level_pairs", "thresholds", "pairs"]))
def test_multipartite_auc_equals_its_definition(drawn, kind):
    y, s, q, w = map(np.array, zip(*drawn, strict=True))
    levels = np.unique(y)
    found = multipartite_auc(y, s, sample_weight=w, levels=kind)
    assert found == pytest.approx(mean_auc(y, s, w, kind, levels), nan_ok=True)
    if kind == "pairs":
        loss = misranking_loss(y, s, sample_weight=w)
        assert found == pytest.approx(1.0 - loss, nan_ok=True)
    alone = [mean_auc(y[q == c], s[q == c], w[q == c], kind, levels) for c in dict.fromkeys(q)]
    alone = [value for value in alone if not math.isnan(value)]
    found = multipartite_auc(y, s, qid=q, sample_weight=w, levels=kind, average="queries")
    assert found == pytest.approx(np.mean(alone) if alone else math.nan, nan_ok=True)


def test_pooled_queries_have_one_auc_for_every_two_levels():
    y, s = np.array([0, 1, 2, 0, 1]), np.array([0.0, 1.0, 0.5, 9.0, 3.0])
    q = np.array([0, 0, 0, 1, 1])
    # Levels 0 and 1 meet twice, once in right order; 0 < 2 is right, 1 < 2 is not.
    assert multipartite_auc(y, s, qid=q) == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    # A query of weight three counts its pair three times.
    weighted = multipartite_auc(y, s, qid=q, query_weight=[1.0, 3.0])
    assert weighted == pytest.approx((0.25 + 1.0 + 0.0) / 3)


def test_multipartite_auc_of_two_labels_is_the_auc():
    generator = np.random.default_rng(1)
    y, s, q = (
        generator.integers(0, 2, 90),
        generator.integers(0, 9, 90),
        generator.integers(0, 4, 90),
    )
    for levels in ("pairs", "level_pairs", "thresholds"):
        for average in ("pairs", "queries"):
            found = multipartite_auc(y, s, qid=q, levels=levels, average=average)
            assert found == pytest.approx(auc_score(y, s, qid=q, average=average))
    with pytest.raises(ValueError, match="levels must be"):
        multipartite_auc(y, s, levels="all")
    with pytest.raises(ValueError, match="average must be"):
        multipartite_auc(y, s, average="all")


def literal_placements(y, s):
    kernel = np.where(s[y == 1][:, None] == s[y == 0], 0.5, s[y == 1][:, None] > s[y == 0])
    return kernel.mean(axis=1), kernel.mean(axis=0)


@given(st.integers(0, 10_000))
def test_delong_equals_its_literal_formula(seed):
    generator = np.random.default_rng(seed)
    m, n = generator.integers(2, 12, 2)
    y = generator.permutation(np.repeat([1, 0], [m, n]))
    a, b = generator.integers(0, 8, (2, m + n)) + y * generator.integers(0, 4, (2, m + n))
    above, below = literal_placements(y, a)
    variance = above.var(ddof=1) / m + below.var(ddof=1) / n
    interval = auc_confidence_interval(y, a, method="normal", level=0.9)
    assert interval.auc == pytest.approx(sklearn_metrics.roc_auc_score(y, a))
    assert interval.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)
    if variance > 1e-12:
        reach = 1.6448536269514722 * math.sqrt(variance)
        assert interval.low == pytest.approx(max(0.0, interval.auc - reach))
        assert interval.high == pytest.approx(min(1.0, interval.auc + reach))
    other = literal_placements(y, b)
    # Covariance form of the variance of a difference, as in DeLong's article.
    covariance = np.cov(above, other[0]) / m + np.cov(below, other[1]) / n
    expected = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    result = compare_auc(y, a, b)
    assert result.standard_error**2 == pytest.approx(expected, abs=1e-12)
    assert result.difference == pytest.approx(above.mean() - other[0].mean())


def drawn_auc(generator, m, n, shift):
    y = np.repeat([1, 0], [m, n])
    return y, generator.normal(size=m + n) + shift * y


@pytest.mark.parametrize("method", ["logit", "normal", "hoeffding"])
def test_intervals_cover_the_truth(method):
    generator = np.random.default_rng(2)
    shift, runs = 1.0, 400
    truth = 0.5 * (1.0 + math.erf(shift / 2.0))
    covered = 0
    for _ in range(runs):
        interval = auc_confidence_interval(*drawn_auc(generator, 40, 60, shift), method=method)
        covered += interval.low <= truth <= interval.high
    assert covered / runs > 0.90
    if method != "hoeffding":
        assert covered / runs < 0.985


def test_the_logit_interval_stays_inside_and_a_perfect_ranking_is_not_certain():
    y = np.repeat([0, 1], 20)
    nearly = np.r_[np.arange(20), np.arange(20) + 18.5]
    interval = auc_confidence_interval(y, nearly)
    assert 0 < interval.low < interval.auc < interval.high < 1
    perfect = auc_confidence_interval(y, y * 1.0)
    assert (perfect.auc, perfect.high, perfect.method) == (1.0, 1.0, "hoeffding")
    assert perfect.low == pytest.approx(1.0 - auc_deviation(20, 20))
    lonely = auc_confidence_interval([0, 0, 1], [1.0, 3.0, 2.0])
    assert lonely.method == "hoeffding" and math.isnan(lonely.standard_error)


def test_the_test_of_two_rankers_holds_its_level_and_finds_a_difference():
    generator = np.random.default_rng(3)
    rejected = 0
    for _ in range(300):
        y, signal = drawn_auc(generator, 40, 40, 1.0)
        a, b = signal + generator.normal(size=(2, 80))
        rejected += compare_auc(y, a, b).p_value < 0.05
    assert 0.01 < rejected / 300 < 0.11
    y, signal = drawn_auc(generator, 200, 200, 1.5)
    result = compare_auc(y, signal, generator.normal(size=400))
    assert result.p_value < 1e-6 and 0 < result.low < result.difference < result.high
    same = compare_auc(y, signal, 2.0 * signal)
    assert (same.difference, same.p_value) == (0.0, 1.0)


def test_a_difference_without_variance_is_not_certain():
    found = compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [4, 3, 2, 1])
    assert (found.difference, found.standard_error, found.p_value) == (1.0, 0.0, 2 * math.exp(-1))
    assert (found.low, found.high) == (pytest.approx(1 - 2 * math.sqrt(math.log(40) / 4)), 1.0)
    y, s = np.repeat([0, 1], 50), np.arange(100.0)
    found = compare_auc(y, s, -s)
    assert found.p_value == pytest.approx(2 * math.exp(-2 * 50 * 0.5**2))
    assert found.low == pytest.approx(1.0 - 2 * math.sqrt(math.log(2 / 0.05) / (2 * 50)))
    same = compare_auc(y, s, 2 * s)
    assert (same.low, same.high, same.p_value) == (0.0, 0.0, 1.0)


def test_swapping_the_rankers_changes_the_sign_alone():
    generator = np.random.default_rng(4)
    y, a = drawn_auc(generator, 15, 25, 0.5)
    b = generator.normal(size=40)
    one, other = compare_auc(y, a, b), compare_auc(y, b, a)
    assert one.p_value == pytest.approx(other.p_value)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_the_deviation_bound_holds_in_simulation_and_inverts():
    generator = np.random.default_rng(5)
    m, n = 5, 30
    aucs = [auc_score(*drawn_auc(generator, m, n, 0.0)) for _ in range(1500)]
    for epsilon in (0.2, 0.3, 0.4, 0.5):
        share = np.mean(np.abs(np.array(aucs) - 0.5) >= epsilon)
        assert share <= auc_deviation_probability(m, n, epsilon)
    for delta in (0.5, 0.05, 1e-6):
        epsilon = auc_deviation(m, n, delta)
        assert auc_deviation_probability(m, n, epsilon) == pytest.approx(delta)
    assert auc_deviation_probability(m, n, 0.0) == 1.0


def test_the_deviation_bound_is_hoeffdings_for_its_worst_case():
    # Negatives that cannot be told apart leave the mean of m independent terms of the positives.
    m, epsilon = 8, 0.3
    exact = sum(math.comb(m, k) for k in range(m + 1) if abs(k / m - 0.5) >= epsilon) / 2**m
    bound = auc_deviation_probability(m, 10**6, epsilon)
    assert exact <= bound == pytest.approx(2 * math.exp(-2 * m * epsilon**2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: auc_confidence_interval([0, 1], [0, 1], level=1.0), "level must"),
        (lambda: auc_confidence_interval([0, 1], [0, 1], method="exact"), "method must"),
        (lambda: compare_auc([0, 1, 1], [0, 1, 2], [0, 1, 2]), "two rows of each label"),
        (lambda: auc_deviation(0, 5), "n_positive must"),
        (lambda: auc_deviation(5, 5, 0.0), "delta must"),
        (lambda: auc_deviation_probability(5, 5, -0.1), "epsilon must"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
