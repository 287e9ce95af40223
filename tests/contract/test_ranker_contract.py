"""What every ranker promises, on every public one."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.estimators import draws_by_place, draws_pairs, label, ranker_instances
from support.rankings import all_pairs, ranking_data

from echelon.metrics import misranking_loss
from echelon.pairs import PairSet

pytestmark = [
    pytest.mark.parametrize("estimator", ranker_instances(), ids=label),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def fitted(estimator, *args, **params):
    return clone(estimator).fit(*args, **params)


def assert_same_scores(actual, expected):
    """As far as solvers go that stop at a tolerance."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-3 * expected.std())


def test_most_pairs_are_ordered_rightly(estimator):
    X, y, qid = ranking_data()
    model = fitted(estimator, X, y, qid=qid)
    scores = model.predict(X)
    assert scores.shape == (len(X),)
    assert scores.dtype == np.float64
    assert model.score(X, y, qid) > 0.8
    assert model.score(X, y, qid) == pytest.approx(1 - misranking_loss(y, scores, qid=qid))


def test_only_pairs_within_a_query_matter(estimator):
    X, y, qid = ranking_data()
    model = fitted(estimator, X, y, qid=qid)
    lifted = fitted(estimator, X, y + 100.0 * qid, qid=qid)
    np.testing.assert_allclose(lifted.predict(X), model.predict(X), rtol=1e-9, atol=1e-9)


def test_queries_by_name(estimator):
    X, y, qid = ranking_data()
    named = [f"query {q}" for q in qid]
    model = fitted(estimator, X, y, qid=named)
    np.testing.assert_array_equal(model.predict(X), fitted(estimator, X, y, qid=qid).predict(X))
    assert model.score(X, y, named) == model.score(X, y, qid)


def test_order_of_labels_is_all_that_matters(estimator):
    X, y, qid = ranking_data()
    grades = np.unique(y, return_inverse=True)[1] % 4
    model = fitted(estimator, X, grades, qid=qid)
    other = fitted(estimator, X, np.exp(grades), qid=qid)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.score(X, np.exp(grades), qid) == model.score(X, grades, qid)


def test_listed_pairs_equal_labels(estimator):
    X, y, qid = ranking_data(n=40)
    if draws_pairs(estimator):
        pytest.skip("draws others from a list")
    model = fitted(estimator, X, y, qid=qid)
    listed = fitted(estimator, X, pairs=all_pairs(y, qid))
    assert_same_scores(listed.predict(X), model.predict(X))


def test_rows_in_any_order(estimator):
    X, y, qid = ranking_data()
    if draws_by_place(estimator):
        pytest.skip("draws, and the order of rows decides what")
    order = np.random.default_rng(1).permutation(len(X))
    model = fitted(estimator, X, y, qid=qid)
    shuffled = fitted(estimator, X[order], y[order], qid=qid[order])
    assert_same_scores(shuffled.predict(X), model.predict(X))


def test_pairs_join_labels(estimator):
    X, y, qid = ranking_data(n=40)
    pairs = PairSet.from_pairs(all_pairs(-y, qid)[:30], len(X))
    together = fitted(estimator, X, y, qid=qid, pairs=pairs)
    weighted = fitted(estimator, X, y, qid=qid, pairs=[[0, 1]], pair_weight=[2.0])
    for model in (together, weighted):
        assert np.isfinite(model.predict(X)).all()
    assert not np.array_equal(together.predict(X), fitted(estimator, X, y, qid=qid).predict(X))


def test_reversed_labels_reverse_the_order(estimator):
    X, y, qid = ranking_data()
    model = fitted(estimator, X, -y, qid=qid)
    assert model.score(X, y, qid) < 0.2


def test_rank(estimator):
    X, y, qid = ranking_data()
    model = fitted(estimator, X, y, qid=qid)
    order = model.rank(X, qid)
    assert sorted(order) == list(range(len(X)))
    assert list(dict.fromkeys(qid[order])) == list(dict.fromkeys(qid))
    assert np.count_nonzero(np.diff(qid[order])) == len(set(qid)) - 1
    best = model.rank(X, qid, top_k=2)
    for q in set(qid):
        assert best[qid[best] == q].tolist() == order[qid[order] == q][:2].tolist()
    assert len(model.rank(X, top_k=3)) == 3
    with pytest.raises(ValueError, match="top_k must be an integer"):
        model.rank(X, top_k=0)


def test_explanation_adds_up(estimator):
    X, y, qid = ranking_data()
    frame = pd.DataFrame(X, columns=["price", "age", "size"])
    model = fitted(estimator, frame, y, qid=qid)
    a, b = frame.iloc[[3]], frame.iloc[7]
    explained = model.explain_pair(a, b)
    assert sum(term.contribution for term in explained.terms) == pytest.approx(
        explained.difference, rel=1e-6, abs=1e-9
    )
    assert any(term.name.startswith(("price", "age", "size")) for term in explained.terms)
    assert "a is ranked" in str(explained)
    assert len(explained.to_frame()) == len(explained.terms)
    swapped = model.explain_pair(b, a)
    assert swapped.difference == pytest.approx(-explained.difference)
    with pytest.raises(ValueError, match="a must be one row of 3 inputs; found 2"):
        model.explain_pair([1.0, 2.0], b)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"y": None}, "requires y to be passed"),
        ({"y": "constant"}, "There is no pair to rank among 90 samples"),
        ({"qid": [1, 2]}, "qid must have one entry per row, 90; found 2"),
        ({"qid": [[1]] * 90}, "qid must"),
        ({"qid": [None] * 90}, "qid must not be missing"),
        ({"sample_weight": [-1.0] * 90}, "sample_weight must not be negative"),
        ({"pair_weight": [1.0]}, "pair_weight needs pairs"),
        ({"y": None, "pairs": [[0, 1]]}, "qid needs labels y"),
        (
            {"y": None, "pairs": [[0, 1]], "qid": None, "sample_weight": [1.0] * 90},
            "sample_weight needs labels y",
        ),
        ({"pairs": [[0, 90]]}, "pairs must name rows 0 to 89; found 0 to 90"),
        ({"pairs": [[0, 0]]}, "pairs must join two different rows; found row 0 with itself"),
        ({"pairs": [[0, 1]], "pair_weight": [-1.0]}, "pair weights must be 1 finite numbers"),
        ({"pairs": [[0.5, 1]]}, "pairs must be whole numbers of shape"),
        ({"pairs": PairSet.from_pairs([[0, 1]], 2)}, "pairs must be over the 90 rows of X"),
    ],
)
def test_bad_input_is_one_sentence(estimator, params, message):
    X, y, qid = ranking_data()
    if params.get("y", "") is None:
        y = None
    elif params.get("y") == "constant":
        y = np.ones(len(X))
    rest = {"qid": qid, **{key: value for key, value in params.items() if key != "y"}}
    model = fitted(estimator, X, np.arange(90) % 3, qid=qid)
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **rest)
    np.testing.assert_array_equal(model.predict(X), before)


def test_not_fitted(estimator):
    with pytest.raises(NotFittedError):
        clone(estimator).predict(np.ones((2, 3)))


def test_pickle_and_pipeline(estimator):
    X, y, qid = ranking_data()
    model = fitted(estimator, X, y, qid=qid)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    chain = make_pipeline(StandardScaler(), clone(estimator))
    name = chain.steps[-1][0]
    chain.fit(X * 100.0, y, **{f"{name}__qid": qid})
    assert 1 - misranking_loss(y, chain.predict(X * 100.0), qid=qid) > 0.8
