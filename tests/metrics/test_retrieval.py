"""Retrieval metrics against slow twins, other programs' conventions, and tests between rankers."""

import inspect
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.rankings import random_queries

from echelon.metrics import ranking
from echelon.metrics.ranking import (
    average_precision,
    dcg,
    expected_reciprocal_rank,
    hit_rate,
    ndcg_score,
    per_query,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from echelon.metrics.ranking.gains import PRESETS, Conventions
from echelon.metrics.ranking.queries import by_query, fall_within, order_within, padded_queries

FIRST_HIT = (reciprocal_rank, hit_rate, expected_reciprocal_rank)
METRICS = (dcg, ndcg_score, precision_at, recall_at, average_precision, *FIRST_HIT)
TOP = 3  # highest label of drawn data


# --- slow twins: one query in one order ------------------------------------------------------


def dcg_of(y, w, k):
    return sum(w[i] * y[i] / math.log2(i + 2) for i in range(min(k, len(y))))


def best_by(key, y, w):
    order = sorted(range(len(y)), key=lambda i: -key(y[i], w[i]))
    return [y[i] for i in order], [w[i] for i in order]


def ndcg_of(y, w, k):
    best = dcg_of(*best_by(lambda label, weight: label * weight, y, w), k)
    return dcg_of(y, w, k) / best if best else 0.0


def precision_of(y, w, k):
    rows = min(k, len(y))
    most = sum(sorted(w, reverse=True)[:rows])
    found = sum(w[i] for i in range(rows) if y[i] > 0)
    return found / most * rows / k if found else 0.0


def recall_of(y, w, k):
    whole = sum(weight for label, weight in zip(y, w, strict=True) if label > 0)
    return sum(w[i] for i in range(min(k, len(y))) if y[i] > 0) / whole if whole else 0.0


def average_precision_of(y, w, k):
    whole = sum(weight for label, weight in zip(y, w, strict=True) if label > 0)
    found = sum(
        w[i] * sum(label > 0 for label in y[: i + 1]) / (i + 1)
        for i in range(min(k, len(y)))
        if y[i] > 0
    )
    return found / whole if whole else 0.0


def reciprocal_rank_of(y, _, k):
    return next((1 / (i + 1) for i in range(min(k, len(y))) if y[i] > 0), 0.0)


def hit_of(y, _, k):
    return float(any(label > 0 for label in y[:k]))


def err_of(y, _, k):
    left, total = 1.0, 0.0
    for i in range(min(k, len(y))):
        chance = (2 ** y[i] - 1) / 2**TOP
        total += left * chance / (i + 1)
        left *= 1 - chance
    return total


TWINS = {
    dcg: dcg_of,
    ndcg_score: ndcg_of,
    precision_at: precision_of,
    recall_at: recall_of,
    average_precision: average_precision_of,
    reciprocal_rank: reciprocal_rank_of,
    hit_rate: hit_of,
    expected_reciprocal_rank: err_of,
}


def orders_of(scores):
    """All orders of the rows in which scores do not rise."""
    groups = [
        [i for i, score in enumerate(scores) if score == value]
        for value in sorted(set(scores), reverse=True)
    ]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [i for part in parts for i in part]


def values_over_orders(metric, query, k):
    y, s, w = query
    rows = len(y) if k is None else k
    return [
        TWINS[metric]([y[i] for i in order], [w[i] for i in order], rows) for order in orders_of(s)
    ]


# --- drawn data ---------------------------------------------------------------------------------


def column(values, size):
    return st.lists(values, min_size=size, max_size=size)


def queries_of(weights):
    def query(size):
        scores = st.sampled_from([-math.inf, -1.0, 0.0, 2.5, math.inf])
        return st.tuples(column(st.integers(0, TOP), size), column(scores, size), weights(size))

    return st.lists(st.integers(1, 5).flatmap(query), min_size=1, max_size=6)


unit = queries_of(lambda size: st.just([1.0] * size))
weighted = queries_of(lambda size: column(st.sampled_from([0.0, 0.5, 1.0, 3.0]), size).filter(any))
cut = st.one_of(st.none(), st.integers(1, 7))


def columns_of(queries):
    y, s, w = (np.concatenate(part) for part in zip(*queries, strict=True))
    qid = np.repeat(np.arange(len(queries)), [len(query[0]) for query in queries])
    return y, s, w, qid


def options_of(metric):
    return {"max_grade": TOP} if metric is expected_reciprocal_rank else {}


# --- equality with the twins --------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
@settings(max_examples=60, deadline=None)
@given(queries=unit, k=cut)
@example(queries=[([0, 0], [1.0, 1.0], [1.0, 1.0]), ([2], [0.0], [1.0])], k=1)
def test_ties_are_mean_best_and_worst_over_orders(metric, queries, k):
    y, s, _, qid = columns_of(queries)
    all_values = [values_over_orders(metric, query, k) for query in queries]
    for ties, choose in (("average", np.mean), ("best", np.max), ("worst", np.min)):
        found = per_query(metric, y, s, qid=qid, k=k, ties=ties, **options_of(metric))
        np.testing.assert_allclose(found.values, list(map(choose, all_values)), atol=1e-12)
        assert found.ids == tuple(range(len(queries)))


@pytest.mark.parametrize("metric", METRICS[:5], ids=lambda metric: metric.__name__)
@settings(max_examples=60, deadline=None)
@given(queries=weighted, k=cut)
def test_weighted_rows_equal_the_twin(metric, queries, k):
    y, s, w, qid = columns_of(queries)
    found = per_query(metric, y, s, qid=qid, k=k, sample_weight=w)
    expected = [np.mean(values_over_orders(metric, query, k)) for query in queries]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(queries=weighted, k=cut, seed=st.integers(0, 99))
def test_order_of_rows_and_names_of_queries_do_not_matter(queries, k, seed):
    y, s, w, qid = columns_of(queries)
    moved = np.random.default_rng(seed).permutation(len(y))
    names = np.array([f"q{-q}" for q in qid])[moved]
    for metric in METRICS:
        extra = {} if metric in FIRST_HIT else {"sample_weight": w}
        cut_extra = {name: value[moved] for name, value in extra.items()}
        before = metric(y, s, qid=qid, k=k, **extra)
        after = metric(y[moved], s[moved], qid=names, k=k, **cut_extra)
        assert after == pytest.approx(before, abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(
    queries=weighted, k=cut, ties=st.sampled_from(["average", "input", "best", "worst"]),
    gain=st.sampled_from(["linear", "exponential"]), factor=st.floats(1e-3, 1e3),
)  # fmt: skip
def test_weighted_ndcg_stays_in_the_unit_interval(queries, k, ties, gain, factor):
    y, s, w, qid = columns_of(queries)
    settled = {"qid": qid, "k": k, "ties": ties, "gain": gain}
    values = per_query(ndcg_score, y, s, sample_weight=w, **settled).values
    assert (values >= 0).all() and (values <= 1).all()
    scaled = per_query(ndcg_score, y, s, sample_weight=factor * w, **settled).values
    np.testing.assert_allclose(scaled, values, atol=1e-9)
    perfect = per_query(ndcg_score, y, w * y, sample_weight=w, qid=qid, k=k)
    worth = np.bincount(qid, w * y) > 0
    np.testing.assert_allclose(perfect.values, worth.astype(float), rtol=1e-12)


def test_a_row_of_weight_three_is_worth_three_gains_in_one_place():
    y, s = [1, 2, 0], [3, 2, 1]
    assert dcg(y, s, sample_weight=[1, 3, 1]) == dcg([1, 6, 0], s)
    assert ndcg_score(y, s, sample_weight=[1, 3, 1]) == ndcg_score([1, 6, 0], s)
    # The row of weight zero still fills the first place.
    assert reciprocal_rank([0, 1], [2, 1]) == 0.5
    assert dcg([1, 1], [2, 1], sample_weight=[0, 1]) == 1 / math.log2(3)


def test_a_weight_of_zero_everywhere_in_a_query_makes_it_empty():
    y, s, w, qid = [1, 0, 1, 0], [2, 1, 2, 1], [0, 0, 1, 1], [0, 0, 1, 1]
    for metric in (ndcg_score, precision_at, recall_at, average_precision):
        values = per_query(metric, y, s, qid=qid, sample_weight=w, empty=0.25).values
        assert values[0] == 0.25 and values[1] > 0.25


# --- other programs -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 1, 5, 100])
def test_agrees_with_scikit_learn(k):
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    y, s, qid = random_queries()
    y[qid == 3] = 0
    for ours, theirs in (
        (ndcg_score, sklearn_metrics.ndcg_score),
        (dcg, sklearn_metrics.dcg_score),
    ):
        found = per_query(ours, y, s, qid=qid, k=k, preset="sklearn").values
        expected = [theirs([y[qid == q]], [s[qid == q]], k=k) for q in range(30)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_average_precision_agrees_with_scikit_learn():
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    y, s, qid = random_queries(labels=2)
    y[np.unique(qid, return_index=True)[1]] = 1
    found = per_query(average_precision, y, s, qid=qid, preset="sklearn").values
    theirs = sklearn_metrics.average_precision_score
    np.testing.assert_allclose(found, [theirs(y[qid == q], s[qid == q]) for q in range(30)])


LIGHTGBM_Y = [0, 3, 1, 0, 2, 0, 0, 0, 0, 1]
LIGHTGBM_S = [1.0, 1, 2, 0, 1, 0, 5, 5, 0, 3]
LIGHTGBM_QID = [0] * 5 + [1] * 3 + [2] * 2
#: What LightGBM 4.7 reports for these rows, whose second query has no relevant row.
LIGHTGBM_NDCG = {1: 0.7142857142857143, 2: 0.7041502191900463, 3: 0.8263636382865661}
LIGHTGBM_MAP = {1: 1.0, 2: 0.8333333333333334, 3: 0.8518518518518517, 5: 0.9351851851851851}


def test_lightgbm_preset_reproduces_recorded_values():
    rows = LIGHTGBM_Y, LIGHTGBM_S
    for k, expected in LIGHTGBM_NDCG.items():
        found = ndcg_score(*rows, qid=LIGHTGBM_QID, k=k, preset="lightgbm")
        assert found == pytest.approx(expected, abs=1e-14)
    for k, expected in LIGHTGBM_MAP.items():
        found = average_precision(*rows, qid=LIGHTGBM_QID, k=k, preset="lightgbm")
        assert found == pytest.approx(expected, abs=1e-14)


def test_lightgbm_preset_agrees_with_lightgbm():
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    y, s, qid = random_queries(seed=4)
    y[qid < 3] = 0
    # Nothing can be learnt from a constant input, so that the scores stay the initial ones.
    quiet = {"feature_pre_filter": False, "verbose": -1}
    sizes = np.bincount(qid)
    data = lightgbm.Dataset(np.zeros((len(y), 1)), label=y, group=sizes, init_score=s, params=quiet)
    settings_ = {
        "objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [1, 4, 30], "verbose": -1,
        "num_threads": 1,
    }  # fmt: skip
    recorded = {}
    lightgbm.train(
        settings_, data, 1, valid_sets=[data], valid_names=["rows"],
        callbacks=[lightgbm.record_evaluation(recorded)],
    )  # fmt: skip
    for k in (1, 4, 30):
        for name, metric in (("ndcg", ndcg_score), ("map", average_precision)):
            found = metric(y, s, qid=qid, k=k, preset="lightgbm")
            assert found == pytest.approx(recorded["rows"][f"{name}@{k}"][0], abs=1e-12)


def test_xgboost_preset_by_hand():
    # Order 2, 0, 1 as passed among ties: gains 3, 0, 1; best 3, 1, 0.
    y, s = [2, 0, 1], [1.0, 1.0, 0.0]
    expected = (3 + 1 / 2) / (3 + 1 / math.log2(3))
    assert ndcg_score(y, s, preset="xgboost") == pytest.approx(expected, abs=1e-15)
    # Hits at 1 and 3, cut at 2: precision 1 at the first, over the lesser of 2 hits and k = 2.
    assert average_precision([1, 0, 1], s, k=2, preset="xgboost") == 1 / 2
    # A query without relevant rows counts 1; XGBoost's "ndcg-" counts 0.
    rows = [1, 0, 0, 0], [2, 1, 2, 1]
    assert ndcg_score(*rows, qid=[0, 0, 1, 1], preset="xgboost") == 1.0
    assert ndcg_score(*rows, qid=[0, 0, 1, 1], preset="xgboost", empty=0.0) == 0.5


def test_trec_preset_by_hand():
    # Scores 2, 2, 1 of d1, d3, d2: d3 comes before d1, as the higher id. Gains 0, 3, 1 in the order
    # d3, d1, d2; best 3, 1, 0.
    y, s, documents = [3, 0, 1], [2.0, 2.0, 1.0], ["d1", "d3", "d2"]
    options = {"doc_id": documents, "preset": "trec"}
    expected = (3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3))
    assert ndcg_score(y, s, **options) == pytest.approx(expected, abs=1e-15)
    # Relevant at 2 and 3: (1/2 + 2/3) / 2; first at 2; one of ten, missing ones count as misses.
    assert average_precision(y, s, **options) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert average_precision(y, s, k=2, **options) == pytest.approx(1 / 2 / 2)
    assert reciprocal_rank(y, s, **options) == 1 / 2
    assert precision_at(y, s, k=10, **options) == pytest.approx(2 / 10)
    assert recall_at(y, s, k=2, **options) == 1 / 2
    assert ndcg_score([0, 0], [2, 1], doc_id=[1, 2], preset="trec") == 0.0
    # With numbers as ids 10 is above 9, with texts it is below.
    tied = {"preset": "trec", "k": 1}
    assert dcg([1, 0], [0, 0], doc_id=[10, 9], **tied) == 1.0
    assert dcg([1, 0], [0, 0], doc_id=["10", "9"], **tied) == 0.0


def test_letor_preset_by_hand():
    # Gains 1, 3, 0, 7 at factors 1, 1, 1/log2(3), 1/2; best 7, 3, 1, 0.
    y, s = [1, 2, 0, 3], [4, 3, 2, 1]
    expected = (1 + 3 + 7 / 2) / (7 + 3 + 1 / math.log2(3))
    assert ndcg_score(y, s, preset="letor") == pytest.approx(expected, abs=1e-15)
    assert ndcg_score(y, s, k=2, preset="letor") == pytest.approx((1 + 3) / (7 + 3))
    assert ndcg_score([0, 0], [2, 1], preset="letor") == 0.0


def test_presets_are_as_documented():
    assert {
        "sklearn": Conventions("linear", "log2", "average", 0.0, 0.0, "relevant", "together"),
        "trec": Conventions("linear", "log2", "doc_id", 0.0, 0.0, "relevant", "doc_id"),
        "lightgbm": Conventions("exponential", "log2", "input", 1.0, 0.5, "reachable", "input"),
        "xgboost": Conventions("exponential", "log2", "input", 1.0, 0.0, "reachable", "input"),
        "letor": Conventions("exponential", "letor", "input", 0.0, 0.0, "relevant", "input"),
    } == PRESETS


def test_arguments_override_a_preset():
    y, s, qid = random_queries(seed=2)
    by_hand = {"gain": "exponential", "discount": "log2", "ties": "input", "empty": 1.0}
    assert ndcg_score(y, s, qid=qid, preset="lightgbm") == ndcg_score(y, s, qid=qid, **by_hand)
    over = ndcg_score(y, s, qid=qid, preset="lightgbm", gain="linear", ties="best", empty=0.0)
    assert over == ndcg_score(y, s, qid=qid, ties="best")
    assert average_precision(y, s, qid=qid, preset="sklearn", ties="average") == average_precision(
        y, s, qid=qid
    )


# --- parameters ---------------------------------------------------------------------------------


def test_gains_and_discounts_in_all_their_forms():
    y, s, qid = random_queries(seed=1)
    expected = ndcg_score(y, s, qid=qid, gain="exponential")
    for gain in (lambda labels: np.exp2(labels) - 1, [0, 1, 3, 7], {3: 7, 0: 0, 1: 1, 2: 3}):
        assert ndcg_score(y, s, qid=qid, gain=gain) == pytest.approx(expected, abs=1e-14)
    reciprocal = ndcg_score(y, s, qid=qid, discount="reciprocal")
    assert ndcg_score(y, s, qid=qid, discount=lambda p: 1 / p) == reciprocal
    # A gain for negative labels makes them acceptable.
    assert ndcg_score([-1, 1], [2, 1], gain={-1: 0, 1: 1}) == ndcg_score([0, 1], [2, 1])


def test_real_labels_and_ordered_types():
    pandas = pytest.importorskip("pandas")
    assert ndcg_score([0.25, 0.5], [1, 2]) == 1.0
    assert dcg([0.5, 0.25], [2, 1]) == 0.5 + 0.25 / math.log2(3)
    grades = pandas.Series(["good", "bad", "fair"]).astype(
        pandas.CategoricalDtype(["bad", "fair", "good"], ordered=True)
    )
    assert ndcg_score(grades, [1, 2, 3]) == ndcg_score([2, 0, 1], [1, 2, 3])
    assert average_precision([True, False], [1, 2]) == 0.5
    assert precision_at([0.2, 0.6, 0.9], [3, 2, 1], threshold=0.5) == 2 / 3


def test_short_queries():
    y, s = [1, 0, 1], [3, 2, 1]
    for metric in METRICS:
        if metric is not precision_at:
            assert metric(y, s, k=50) == metric(y, s)
    assert precision_at(y, s, k=50) == pytest.approx(2 / 50)
    assert precision_at(y, s, k=50, divide_by="rows") == pytest.approx(2 / 3)
    assert recall_at(y, s, k=1) == 0.5 and recall_at(y, s, k=1, divide_by="reachable") == 1.0
    assert average_precision(y, s, k=1, divide_by="reachable") == 1.0


@pytest.mark.parametrize("metric", METRICS[1:], ids=lambda metric: metric.__name__)
def test_queries_without_relevant_rows(metric):
    y, s, qid = [0, 0, 1, 0], [2, 1, 2, 1], ["none", "none", "some", "some"]
    full = metric(y[2:], s[2:])
    for empty in (0.0, 1.0):
        assert metric(y, s, qid=qid, empty=empty) == pytest.approx((full + empty) / 2)
    assert math.isnan(metric(y, s, qid=qid, empty=math.nan))
    skipped = per_query(metric, y, s, qid=qid, empty="skip")
    assert skipped.ids == ("some",) and skipped.mean() == pytest.approx(full)
    assert math.isnan(metric([0, 0], [2, 1], empty="skip"))
    with pytest.raises(ValueError, match="empty must be a number or 'skip'; found 'zero'"):
        metric(y, s, qid=qid, empty="zero")


def test_weights_of_queries_in_all_their_forms():
    y, s = [0, 1, 1, 0, 1], [1, 0, 1, 0, 5]
    qid = ["b", "a", "b", "a", "c"]
    by_id = {"a": 1.0, "b": 3.0, "c": 0.0, "absent": 9.0}
    values = per_query(ndcg_score, y, s, qid=qid)
    expected = np.average(values.values, weights=[3.0, 1.0, 0.0])
    assert values.ids == ("b", "a", "c")
    for weights in (by_id, [3.0, 1.0, 0.0], [3.0, 1.0, 3.0, 1.0, 0.0]):
        assert ndcg_score(y, s, qid=qid, query_weight=weights) == pytest.approx(expected)


def test_large_runs_of_equal_scores():
    n = 1000
    one = np.r_[1, np.zeros(n - 1)]
    harmonic = (1 / np.arange(1, n + 1)).sum()
    assert reciprocal_rank(one, np.zeros(n)) == pytest.approx(harmonic / n, rel=1e-10)
    assert hit_rate(one, np.zeros(n), k=10) == pytest.approx(10 / n, rel=1e-10)
    # Equal chances: the order is of no account.
    same, rising = np.ones(n), np.arange(n)
    for chance in (1.0, 0.3, 0.001):
        tied = expected_reciprocal_rank(same, np.zeros(n), gain={1: chance})
        assert tied == pytest.approx(
            expected_reciprocal_rank(same, rising, gain={1: chance}), rel=1e-9
        )


def test_rows_of_queries_are_sorted_together_or_apart():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, 50)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    keys = rng.choice([-np.inf, 0.0, 1.0, 2.0, np.inf], sizes.sum())
    order = order_within(keys, padded_queries(starts))
    for first, last in itertools.pairwise(starts):
        np.testing.assert_array_equal(
            order[first:last], first + np.argsort(keys[first:last], kind="stable")
        )
    values = rng.integers(0, 9, sizes.sum()).astype(float)
    for first, last in itertools.pairwise(starts):
        part = fall_within(values, padded_queries(starts))[first:last]
        np.testing.assert_array_equal(part, np.sort(values[first:last])[::-1])


def test_padding_stays_behind_infinite_keys():
    rng = np.random.default_rng(0)
    sizes = rng.integers(130, 250, 40)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    keys = rng.choice([0.0, 1.0, np.inf], sizes.sum())
    order = order_within(keys, padded_queries(starts), stable=False)
    for first, last in itertools.pairwise(starts):
        assert sorted(order[first:last]) == list(range(first, last))
        assert (keys[order[first:last]] == np.sort(keys[first:last])).all()


def test_queries_that_lie_together_and_apart_are_the_same():
    y, s = np.arange(6), np.arange(6.0)
    together = by_query(y, s, np.array([7, 7, 5, 5, 5, 9]))
    assert together.ids == (7, 5, 9) and together.starts.tolist() == [0, 2, 5, 6]
    apart = by_query(y, s, np.array([7, 5, 7, 9, 7, 5]))
    assert apart.ids == (7, 5, 9) and apart.rows.tolist() == [0, 2, 4, 1, 5, 3]


ERRORS = {
    "y_true must not be negative with gain='linear'; found -1.": {"y_true": [-1, 0, 1]},
    "gains must be finite numbers, none negative; found inf for label 2000.": {
        "y_true": [0, 1, 2000], "gain": "exponential",
    },
    "gains must be finite numbers, none negative; found -1 for label 0.": {
        "gain": lambda labels: labels - 1,
    },
    "gains must have a finite sum; found gains up to 1e+308, which overflow.": {
        "y_true": [1e308, 1e308, 0],
    },
    "gain must name every label of y_true; found none for 2.": {"gain": [0, 1]},
    "gain must name every label of y_true; found none for 0.": {"gain": {}},
    "gain must return one number per label; found shape () for 3 labels.": {"gain": np.sum},
    "gain must be 'linear', 'exponential', a function of labels or a table; found 'log'.": {
        "gain": "log",
    },
    "discount must be 'log2', 'letor', 'reciprocal' or a function of positions; found 'ln'.": {
        "discount": "ln",
    },
    "discount must not rise from a position to the next": {"discount": np.sqrt},
    "discount must return a finite number, not negative": {"discount": np.negative},
    "ties must be 'average', 'input', 'best', 'worst' or 'doc_id'; found 'random'.": {
        "ties": "random",
    },
    "doc_id must be given for ties='doc_id'; found none.": {"preset": "trec"},
    "doc_id must go with ties='doc_id'; found ties='average'.": {"doc_id": [1, 2, 3]},
    "doc_id must have one entry per row, 3; found shape (2,).": {
        "ties": "doc_id", "doc_id": [1, 2],
    },
    "doc_id must hold numbers or texts; found a mixture.": {
        "ties": "doc_id", "doc_id": np.array([1, "a", 2], dtype=object),
    },
    "preset must be 'sklearn', 'trec', 'lightgbm', 'xgboost' or 'letor'; found 'ranx'.": {
        "preset": "ranx",
    },
    "k must be an integer of at least 1; found 0.": {"k": 0},
    "y_score must not hold NaN; found 1.": {"y_score": [1, math.nan, 2]},
    "y_score must have as many rows as y_true; found 2 rows for 3 labels.": {"y_score": [1, 2]},
    "y_score must be one number per row; found shape (3, 1).": {"y_score": [[1], [2], [3]]},
    "y_true must hold finite numbers; found NaN or infinity.": {"y_true": [0, 1, math.inf]},
    "y_true must have at least one label; found none.": {"y_true": []},
    "query_weight must have a number for every query; found none for 'b'.": {
        "qid": ["a", "b", "b"], "query_weight": {"a": 1},
    },
    "query_weight must not be negative; found -1.": {
        "qid": ["a", "b", "b"], "query_weight": [1, -1],
    },
    "query_weight must have a positive entry; found all zeros.": {"query_weight": [0]},
    "query_weight with one entry per row must be the same in all rows of a query": {
        "query_weight": [1, 2, 1],
    },
}  # fmt: skip


@pytest.mark.parametrize("message", ERRORS)
def test_errors_name_the_argument(message):
    passed = {"y_true": [0, 1, 2], "y_score": [1, 2, 3], **ERRORS[message]}
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        ndcg_score(**passed)
    assert str(caught.value).startswith(message)


def test_errors_of_single_metrics():
    y, s = [0, 1, 2], [1, 2, 3]
    for metric, known in ((precision_at, "'k' or 'rows'"), (recall_at, "'relevant' or")):
        with pytest.raises(ValueError, match=f"divide_by must be {known}"):
            metric(y, s, divide_by="all")
    for grade in (1, 2000, math.nan):
        with pytest.raises(ValueError, match=f"highest label, 2, and below 1024; found {grade}"):
            expected_reciprocal_rank(y, s, max_grade=grade)
    with pytest.raises(ValueError, match="gain must hold numbers"):
        ndcg_score(y, s, gain={"a": 1})
    with pytest.raises(ValueError, match=r"gain must be one column of numbers; found shape \(1, 3"):
        ndcg_score(y, s, gain=[[0, 1, 2]])
    with pytest.raises(ValueError, match="gain must give probabilities up to 1; found 2"):
        expected_reciprocal_rank(y, s, gain=[0, 1, 2])
    with pytest.raises(ValueError, match="max_grade must go with gain='exponential'"):
        expected_reciprocal_rank(y, s, gain=[0, 0.5, 1], max_grade=2)
    with pytest.raises(ValueError, match="gain must be 'exponential'"):
        expected_reciprocal_rank(y, s, gain="linear")
    with pytest.raises(ValueError, match="ties must be 'average', "):
        ndcg_score(y, s, ties="together")


def test_numbers_held_as_objects_stay_numbers():
    y, s = [0, 3, 0, 1], [4, 3, 2, 1]
    assert ndcg_score(np.array(y, dtype=object), s) == ndcg_score(y, s)


def test_metrics_are_plain_functions():
    for metric in METRICS:
        assert pickle.loads(pickle.dumps(metric)) is metric
        signature = inspect.signature(metric)
        assert {"y_true", "y_score", "qid", "k", "query_weight"} <= set(signature.parameters)
        assert signature.return_annotation == "float"
        assert type(metric([1, 0], [1, 2])) is float
    assert ranking.mean_average_precision is average_precision
    assert ranking.mean_reciprocal_rank is reciprocal_rank


def test_rounding_does_not_lead_beyond_one():
    assert ndcg_score([2, 1, 2], [2, 1, 2]) == 1.0


def test_rows_of_many_scattered_queries_are_brought_together():
    qid = np.random.default_rng(0).permutation(np.repeat(np.arange(70_000), 2))
    view = by_query(np.arange(140_000), np.zeros(140_000), qid)
    np.testing.assert_array_equal(qid[view.rows], np.repeat(view.ids, 2))
    np.testing.assert_array_equal(view.relevance, view.rows)


def test_document_ids_follow_their_rows_into_the_queries():
    y, documents = [1, 1, 0, 0], ["m", "a", "z", "b"]
    found = per_query(dcg, y, [0] * 4, qid=[1, 2, 1, 2], doc_id=documents, preset="trec")
    np.testing.assert_allclose(found.values, 1 / math.log2(3))


def test_infinite_scores_stay_in_their_query():
    keys = np.random.default_rng(0).choice([1.0, 2.0, np.inf], 1600)
    starts = np.array([0, 600, 1600])
    order = order_within(keys, padded_queries(starts), stable=False)
    for first, last in itertools.pairwise(starts):
        assert sorted(order[first:last]) == list(range(first, last))
        assert (np.diff(np.isinf(keys[order[first:last]]).astype(int)) >= 0).all()
