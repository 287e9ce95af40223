"""Two-stage ranking: a classifier of pairs, and an order from its preferences."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from echelon.pairs import PairSet
from echelon.ranking import PreferenceRanker

FORESTS = [
    PreferenceRanker(RandomForestClassifier(8, random_state=0), random_state=0),
    PreferenceRanker(
        RandomForestClassifier(8, random_state=0), features="concatenation", random_state=0
    ),
    PreferenceRanker(LogisticRegression(), features="concatenation", random_state=0),
]


def in_order(scores, y, qid=None):
    """Share of pairs of one query with different labels whose scores are in order."""
    winners, losers, _ = (
        np.concatenate(column) for column in zip(*PairSet.from_labels(y, qid).blocks(), strict=True)
    )
    return (scores[winners] > scores[losers]).mean()


@pytest.fixture
def task(rng):
    X = rng.normal(size=(60, 3))
    y = np.digitize(X @ [2.0, -1.0, 0.0] + 0.5 * rng.normal(size=60), [-1.0, 1.0])
    return X, y, np.tile(["b", "a", "c"], 20)


def test_default_is_logistic_regression_on_differences(task):
    X, y, qid = task
    ranker = PreferenceRanker(random_state=0).fit(X, y, qid=qid)
    pairs = PairSet.from_labels(y, qid)
    winners, losers, _ = (np.concatenate(column) for column in zip(*pairs.blocks(), strict=True))
    assert ranker.n_pairs_ == pairs.n_pairs
    model = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=1000)
    model.fit(
        np.r_[X[winners] - X[losers], X[losers] - X[winners]],
        np.repeat([1, 0], len(winners)),
        sample_weight=np.full(2 * len(winners), 0.5),
    )
    np.testing.assert_allclose(ranker.estimator_.coef_, model.coef_, rtol=1e-5)
    h = 1 / (1 + np.exp(-(X[:30] - X[30:]) @ model.coef_[0]))
    np.testing.assert_allclose(ranker.preference(X[:30], X[30:]), h, rtol=1e-4)


@pytest.mark.parametrize("method", ["quicksort", "degree"])
def test_a_transitive_preference_ranks_by_its_score(task, method):
    X, y, qid = task
    ranker = PreferenceRanker(method=method, random_state=0).fit(X, y, qid=qid)
    latent = X @ ranker.estimator_.coef_[0]
    np.testing.assert_array_equal(ranker.rank(X), np.argsort(-latent))
    np.testing.assert_array_equal(np.argsort(ranker.predict(X)), np.argsort(latent))
    by_query = np.concatenate(
        [rows[np.argsort(-latent[rows])] for rows in (np.flatnonzero(qid == q) for q in "bac")]
    )
    np.testing.assert_array_equal(ranker.rank(X, qid), by_query)
    np.testing.assert_array_equal(
        ranker.rank(X, qid, top_k=4), by_query.reshape(3, 20)[:, :4].ravel()
    )
    result = ranker.rank_with_calls(X, qid)
    np.testing.assert_array_equal(result.order, by_query)
    if method == "degree":
        assert result.n_calls == 3 * 20 * 19 // 2
    else:
        assert result.n_calls < 3 * 20 * 19 // 2
        assert ranker.rank_with_calls(X, qid, top_k=1).n_calls < result.n_calls


@pytest.mark.parametrize("ranker", FORESTS, ids=["difference", "concatenation", "intercept"])
def test_preferences_are_consistent(task, ranker):
    X, y, qid = task
    ranker = clone(ranker).fit(X, y, qid=qid)
    h, turned = ranker.preference(X, X[::-1]), ranker.preference(X[::-1], X)
    np.testing.assert_allclose(h + turned, 1.0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(ranker.preference(X, X), 0.5)
    p = ranker.estimator_.predict_proba(ranker._pair_features(X, X[::-1]))[:, 1]
    q = ranker.estimator_.predict_proba(ranker._pair_features(X[::-1], X))[:, 1]
    np.testing.assert_allclose(h, (p + 1 - q) / 2)
    plain = clone(ranker).set_params(symmetrize=False).fit(X, y, qid=qid)
    np.testing.assert_allclose(plain.preference(X, X[::-1]), p)
    assert in_order(ranker.predict(X), y, qid) > 0.85


def test_predict_is_the_mean_preference_over_weighted_reference_rows(task, rng):
    X, y, _ = task
    w = rng.integers(0, 3, 60).astype(float)
    ranker = PreferenceRanker(DecisionTreeClassifier(max_depth=3), random_state=0)
    ranker.fit(X, y, sample_weight=w)
    kept = w > 0
    expected = [
        np.average(ranker.preference(np.tile(x, (kept.sum(), 1)), X[kept]), weights=w[kept])
        for x in X
    ]
    np.testing.assert_allclose(ranker.predict(X), expected)
    np.testing.assert_allclose(ranker.predict(X[7:8]), expected[7:8])
    few = PreferenceRanker(n_reference=5, random_state=0).fit(X, y, sample_weight=w)
    assert few.reference_.shape == (5, 3)
    assert all((row == X[kept]).all(axis=1).any() for row in few.reference_)


def test_weights_are_repeated_rows(task, rng):
    X, y, qid = task
    w = rng.integers(0, 3, 60)
    rows = np.repeat(np.arange(60), w)
    for model in (None, DecisionTreeClassifier(max_depth=4, random_state=0)):
        ranker = PreferenceRanker(model, n_reference=500, random_state=0)
        weighted = clone(ranker).fit(X, y, qid=qid, sample_weight=w)
        repeated = clone(ranker).fit(X[rows], y[rows], qid=qid[rows])
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_many_implied_pairs_are_drawn_and_stand_for_all(rng):
    X = rng.normal(size=(4000, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=4000)
    every = PreferenceRanker(max_pairs=10**6, random_state=0).fit(X[:500], y[:500])
    drawn = PreferenceRanker(max_pairs=20_000, random_state=0).fit(X, y)
    assert every.n_pairs_ == 500 * 499 // 2
    assert drawn.n_pairs_ == 20_000
    np.testing.assert_allclose(drawn.estimator_.coef_, every.estimator_.coef_, rtol=0.15)
    again = PreferenceRanker(max_pairs=20_000, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X[:9]), drawn.predict(X[:9]))
    # Stated pairs are all used beside those drawn.
    stated = np.c_[np.argsort(y)[1:], np.argsort(y)[:-1]]
    both = PreferenceRanker(max_pairs=1000, random_state=0).fit(X, y, pairs=stated)
    assert both.n_pairs_ == 1000 + 3999


def test_drawn_pairs_share_the_weight_of_all(rng):
    seen = {}

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen["weights"] = sample_weight
            return super().fit(X, y, sample_weight)

    X = rng.normal(size=(100, 2))
    y, w = rng.integers(0, 4, 100), rng.random(100)
    PreferenceRanker(Spy(), max_pairs=50, random_state=0).fit(X, y, sample_weight=w)
    assert seen["weights"].sum() == pytest.approx(PairSet.from_labels(y, weights=w).total_weight)
    assert len(seen["weights"]) == 100
    PreferenceRanker(Spy(), random_state=0).fit(X, y, sample_weight=w)
    assert seen["weights"].sum() == pytest.approx(PairSet.from_labels(y, weights=w).total_weight)


def test_a_cycle_can_be_learnt_from_a_callable():
    # Rock, scissors and paper: no score can order them, a preference function can know them.
    X = np.repeat(np.eye(3), 10, axis=0)
    pairs = [[10 * i + a, 10 * ((i + 1) % 3) + a] for i in range(3) for a in range(10)]

    def products(U, V):
        return np.einsum("mi,mj->mij", U, V).reshape(len(U), -1)

    ranker = PreferenceRanker(LogisticRegression(C=100.0), features=products, random_state=0).fit(
        X, pairs=pairs
    )
    rock, scissors, paper = np.eye(3)[:, None]
    for winner, loser in ((rock, scissors), (scissors, paper), (paper, rock)):
        assert ranker.preference(winner, loser)[0] > 0.9
    np.testing.assert_allclose(ranker.predict(np.eye(3)), 0.5, atol=1e-3)
    assert sorted(ranker.rank(np.eye(3))) == [0, 1, 2]


def test_drawn_sides_follow_the_seed(task):
    X, y, _ = task
    orders = [
        PreferenceRanker(decide="sample", random_state=seed).fit(X, y).rank(X) for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert (orders[0] != orders[2]).any()
    ranker = PreferenceRanker(decide="sample", random_state=0).fit(X, y)
    np.testing.assert_array_equal(ranker.rank(X), ranker.rank(X))


@pytest.mark.parametrize("ranker", [PreferenceRanker(random_state=0), *FORESTS])
def test_explanations_sum_up_and_turn_around(task, ranker):
    X, y, qid = task
    ranker = clone(ranker).fit(pd.DataFrame(X, columns=["u", "v", "w"]), y, qid=qid)
    a, b = X[3], X[44]
    there, back = ranker.explain_pair(a, b), ranker.explain_pair(b, a)
    frame = [pd.DataFrame([row], columns=["u", "v", "w"]) for row in (a, b)]
    h = ranker.preference(*frame)[0]
    assert there.score_a == pytest.approx(h)
    assert there.score_b == pytest.approx(1 - h)
    assert sum(term.contribution for term in there.terms) == pytest.approx(there.difference)
    turned = {term.name: -term.contribution for term in back.terms}
    assert {t.name: pytest.approx(t.contribution) for t in there.terms} == turned
    assert set(turned) <= {"u", "v", "w"}
    assert ("above" if h > 0.5 else "below") in str(there)


def test_pairs_of_texts_from_a_frame():
    items = ["oak", "elm", "ash", "fir"]
    heights = pd.DataFrame({"height": [4.0, 3.0, 2.0, 1.0], "noise": [0.0, 1.0, 0.0, 1.0]})
    judged = pd.DataFrame(
        {
            "left": ["oak", "ash", "fir", "elm"],
            "right": ["elm", "oak", "ash", "fir"],
            "label": ["left", "right", "right", "left"],
        }
    )
    pairs = PairSet.from_frame(judged, items)
    ranker = PreferenceRanker(random_state=0).fit(heights, pairs=pairs)
    assert [items[row] for row in ranker.rank(heights)] == items
    assert list(ranker.feature_names_in_) == ["height", "noise"]
    assert ranker.n_pairs_ == 4


def test_sparse_inputs_and_missing_values(task):
    X, y, qid = task
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    for features in ("difference", "concatenation"):
        dense = PreferenceRanker(features=features, random_state=0).fit(X, y, qid=qid)
        sparse = PreferenceRanker(features=features, random_state=0)
        sparse.fit(sp.csr_matrix(X), y, qid=qid)
        for given in (X, sp.csr_matrix(X)):
            np.testing.assert_allclose(sparse.predict(given), dense.predict(X), rtol=1e-5)
            np.testing.assert_array_equal(sparse.rank(given, qid), dense.rank(X, qid))
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    tree = PreferenceRanker(DecisionTreeClassifier(max_depth=5), random_state=0)
    assert in_order(tree.fit(gaps, y).predict(gaps), y) > 0.8
    assert sum(t.contribution for t in tree.explain_pair(gaps[0], gaps[1]).terms) == (
        pytest.approx(tree.explain_pair(gaps[0], gaps[1]).difference)
    )
    with pytest.raises(ValueError, match="NaN"):
        PreferenceRanker().fit(gaps, y)


def test_classifiers_without_weights_serve_equal_pairs_only(task):
    X, y, _ = task
    for model in (KNeighborsClassifier(), make_pipeline(StandardScaler(), LogisticRegression())):
        assert in_order(PreferenceRanker(model).fit(X, y).predict(X), y) > 0.8
        with pytest.raises(ValueError, match="does not accept sample_weight"):
            PreferenceRanker(model).fit(X, y, sample_weight=1.0 + (y > 0))
        drawn = PreferenceRanker(model, max_pairs=100, random_state=0)
        assert drawn.fit(X, y, sample_weight=1.0 + (y > 0)).n_pairs_ == 100


def test_one_row(task):
    X, y, _ = task
    ranker = PreferenceRanker(random_state=0).fit(X, y)
    assert ranker.rank(X[:1]).tolist() == [0]
    assert ranker.rank_with_calls(X[:1]).n_calls == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": "ratio"}, "features must be 'difference' or 'concatenation'"),
        ({"method": "bubble"}, "method must be 'quicksort' or 'degree'; found 'bubble'"),
        ({"decide": "toss"}, "decide must be 'sample' or 'majority'; found 'toss'"),
        ({"max_pairs": 0}, "max_pairs must be an integer of at least 1; found 0"),
        ({"n_reference": 0}, "n_reference must be an integer of at least 1; found 0"),
        ({"estimator": LinearSVC()}, "a classifier with predict_proba; found LinearSVC"),
        ({"features": lambda u, v: u[:, 0]}, r"a row for each of \d+ pairs; found shape"),
    ],
)
def test_errors_say_what_was_found(task, parameters, message):
    X, y, _ = task
    ranker = PreferenceRanker(**parameters)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y)
    assert not hasattr(ranker, "n_features_in_")


def test_rows_that_do_not_fit_together(task):
    X, y, _ = task
    ranker = PreferenceRanker(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="as many rows; found 2 and 3"):
        ranker.preference(X[:2], X[:3])
    with pytest.raises(ValueError, match="top_k must be an integer of at least 1"):
        ranker.rank(X, top_k=0)


def test_rows_to_compare_with_are_drawn_by_weight(rng):
    X = rng.normal(size=(200, 2))
    weights = np.where(np.arange(200) < 10, 1.0, 1e-9)
    model = PreferenceRanker(n_reference=20, random_state=0)
    model.fit(X, (X[:, 0] > 0).astype(int), sample_weight=weights)
    assert {tuple(row) for row in model.reference_} <= {tuple(row) for row in X[:10]}
