"""Misranked pairs by query: equal to counting them one by one."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from echelon.metrics.ranking.misranking import (
    kendall_tau_by_query,
    misranking_loss,
    stated_misranking_loss,
)
from echelon.metrics.ranking.significance import per_query

TIES = {"half": 0.5, "error": 1.0, "correct": 0.0}


def pairs_of(y, s, q, w):
    """(query, weight, error with ties as NaN) of every pair with different labels."""
    for i, j in combinations(range(len(y)), 2):
        if q[i] == q[j] and y[i] != y[j]:
            ahead, behind = (i, j) if y[i] > y[j] else (j, i)
            error = math.nan if s[i] == s[j] else float(s[ahead] < s[behind])
            yield q[i], w[i] * w[j], error


def by_definition(y, s, q, w, query_weight, ties, average, empty):
    sums = {query: [0.0, 0.0] for query in q}
    for query, weight, error in pairs_of(y, s, q, w):
        sums[query][0] += weight * (TIES[ties] if math.isnan(error) else error)
        sums[query][1] += weight
    if average == "pairs":
        whole = sum(query_weight[query] * total for query, (_, total) in sums.items())
        if whole == 0:
            return math.nan
        return sum(query_weight[query] * part for query, (part, _) in sums.items()) / whole
    alive = {query for query, weight in zip(q, w, strict=True) if weight > 0}
    values, weights = [], []
    for query, (part, total) in sums.items():
        if total > 0 or (empty != "skip" and query in alive):
            values.append(part / total if total > 0 else empty)
            weights.append(query_weight[query])
    return np.average(values, weights=weights) if any(weights) else math.nan


rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([-math.inf, -1.5, 0.0, 0.25, 7.0]),
        st.sampled_from("abcd"),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=25,
).filter(lambda drawn: any(row[3] for row in drawn))


@given(
    rows,
    st.sampled_from(sorted(TIES)),
    st.sampled_from(["pairs", "queries"]),
    st.sampled_from(["skip", 0.0, 0.75]),
    st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4),
)
def test_it_equals_counting_pair_by_pair(drawn, ties, average, empty, query_weights):
    y, s, q, w = zip(*drawn, strict=True)
    query_weight = dict(zip("abcd", query_weights, strict=True))
    found = misranking_loss(
        y,
        s,
        qid=q,
        sample_weight=w,
        query_weight=query_weight,
        ties=ties,
        average=average,
        empty=empty,
    )
    expected = by_definition(y, s, q, w, query_weight, ties, average, empty)
    assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@given(rows)
def test_integer_weights_are_repeated_rows(drawn):
    y, s, q, w = map(np.array, zip(*drawn, strict=True))
    repeated = misranking_loss(*(np.repeat(column, w) for column in (y, s)), qid=np.repeat(q, w))
    weighted = misranking_loss(y, s, qid=q, sample_weight=w)
    assert weighted == pytest.approx(repeated, rel=1e-12, nan_ok=True)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_nothing(drawn, random):
    shuffled = random.sample(drawn, len(drawn))
    values = []
    for table in (drawn, shuffled):
        y, s, q, w = zip(*table, strict=True)
        values.append(misranking_loss(y, s, qid=q, sample_weight=w, average="queries"))
    assert values[0] == pytest.approx(values[1], rel=1e-12, nan_ok=True)


@given(rows)
def test_per_query_gives_the_loss_of_each_query_on_its_own(drawn):
    y, s, q, w = map(np.array, zip(*drawn, strict=True))
    scores = per_query(misranking_loss, y, s, qid=q, sample_weight=w, empty=-1.0)
    for query, value in zip(scores.ids, scores.values, strict=True):
        own = (q == query) & (w > 0)
        alone = misranking_loss(y[own], s[own], sample_weight=w[own]) if own.any() else math.nan
        assert value == (-1.0 if math.isnan(alone) else pytest.approx(alone, rel=1e-12))


def test_a_million_pairs_are_counted_exactly():
    generator = np.random.default_rng(0)
    n = 200_000
    s, q = generator.permutation(n), generator.integers(0, 50, n)
    # Labels are ranks but for one swap in query 0: exactly one pair of it is wrong.
    y = s.copy()
    own = np.flatnonzero(q == 0)
    low, next_low = own[np.argsort(s[own])[:2]]
    y[low], y[next_low] = y[next_low], y[low]
    sizes = np.bincount(q).astype(object)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    assert misranking_loss(y, s, qid=q) == 1 / n_pairs


def test_ordered_categories_are_ranks():
    grades = pd.Categorical(["good", "bad", "fair"], ["bad", "fair", "good"], ordered=True)
    assert misranking_loss(grades, [3.0, 1.0, 2.0]) == 0.0
    assert misranking_loss(grades, [1.0, 3.0, 2.0]) == 1.0


def test_ordered_categories_of_numbers_are_ranks_too():
    order = [30, 10, 20]
    labels = pd.Categorical([30, 10, 20], categories=order, ordered=True)
    for column in (labels, pd.Series(labels)):
        assert misranking_loss(column, [1, 2, 3]) == 0.0
    arrow = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(order), ordered=True)
    assert misranking_loss(arrow, [1, 2, 3]) == 0.0


@pytest.mark.parametrize("factor", [1e-200, 1e200])
@pytest.mark.parametrize("metric", [misranking_loss, kendall_tau_by_query])
def test_a_factor_of_all_weights_is_nothing(metric, factor):
    y, s, w = [0, 1, 0, 1, 2], [1, 2, 3, 4, 0], np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    found = metric(y, s, sample_weight=factor * w)
    assert found == pytest.approx(metric(y, s, sample_weight=w), rel=1e-12)


def test_infinite_scores_tie_with_each_other_alone():
    s = [-math.inf, -math.inf, -1e300, 1e300, math.inf, math.inf]
    assert misranking_loss([0, 1, 1, 2, 2, 3], s) == 0.5 * 2 / 13
    assert kendall_tau_by_query([0, 0, 1, 2, 3, 3], s) == 1.0


def test_how_queries_are_averaged_is_no_matter_of_a_single_one():
    y, s, q = [1, 0, 1, 0, 0], [1, 0, 0, 1, 1], [1, 1, 2, 2, 2]
    for average in ("pairs", "queries"):
        assert per_query(misranking_loss, y, s, qid=q, average=average).values.tolist() == [0, 1]


def test_a_query_of_rows_without_weight_is_absent():
    y, s, q, w = [1, 0, 1, 1], [1, 0, 1, 0], ["a", "a", "b", "b"], [1, 1, 0, 0]
    options = {"qid": q, "average": "queries", "empty": 1.0}
    assert misranking_loss(y, s, **options) == 0.5
    assert misranking_loss(y, s, sample_weight=w, **options) == 0.0


def test_without_a_pair_it_is_nan():
    assert math.isnan(misranking_loss([1, 1], [0.0, 1.0]))
    assert math.isnan(misranking_loss([1, 0], [0.0, 1.0], qid=["a", "b"], average="queries"))
    assert misranking_loss([1, 0], [0, 1], qid=["a", "b"], average="queries", empty=0.0) == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ties": "both"}, "ties must be"),
        ({"average": "rows"}, "average must be"),
        ({"empty": "zero"}, "empty must be"),
        ({"qid": [1, 2]}, "qid must have"),
        ({"query_weight": {0: 1.0}, "qid": [0, 0, 1]}, "query_weight must have"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        misranking_loss([0, 1, 2], [0.1, 0.2, 0.3], **options)


def test_missing_scores_are_refused():
    with pytest.raises(ValueError, match="y_score must not hold NaN"):
        misranking_loss([0, 1], [0.1, math.nan])


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)).filter(
            lambda pair: pair[0] != pair[1]
        ),
        max_size=15,
    ),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.sampled_from(sorted(TIES)),
)
def test_stated_pairs_equal_a_loop(stated, scores, ties):
    part = whole = 0.0
    for winner, loser, weight in stated:
        margin = scores[winner] - scores[loser]
        part += weight * (TIES[ties] if margin == 0 else margin < 0)
        whole += weight
    found = stated_misranking_loss(
        np.array([pair[:2] for pair in stated], dtype=int).reshape(-1, 2),
        scores,
        pair_weight=[pair[2] for pair in stated],
        ties=ties,
    )
    assert found == pytest.approx(part / whole if whole else math.nan, nan_ok=True)


@given(rows)
def test_tau_by_query_is_the_mean_of_scipys(drawn):
    y, s, q, _ = map(np.array, zip(*drawn, strict=True))
    finite = np.maximum(s, -99.0)
    taus = []
    for query in dict.fromkeys(q):
        own = q == query
        if len({*y[own]}) > 1 and len({*finite[own]}) > 1:
            taus.append(kendalltau(y[own], finite[own]).statistic)
    expected = np.mean(taus) if taus else math.nan
    assert kendall_tau_by_query(y, s, qid=q) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_tau_of_agreement_is_one_and_never_beyond():
    generator = np.random.default_rng(1)
    for _ in range(20):
        y, weights = generator.integers(0, 5, 300), generator.random(300)
        for sign in (1.0, -1.0):
            tau = sign * kendall_tau_by_query(y, sign * 3.0 * y, sample_weight=weights)
            assert 1.0 - 1e-14 < tau <= 1.0


def test_a_constant_query_is_left_out_of_tau_or_counts_as_told():
    y, s, q = [0, 1, 0, 1], [1.0, 2.0, 5.0, 5.0], [0, 0, 1, 1]
    assert kendall_tau_by_query(y, s, qid=q) == 1.0
    assert kendall_tau_by_query(y, s, qid=q, empty=0.0) == 0.5
