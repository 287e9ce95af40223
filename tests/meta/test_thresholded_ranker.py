"""ThresholdedRanker: any ranker's scores, cut where it costs least."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from support.data import ordinal_data

from echelon.meta.thresholded import ThresholdedRanker
from echelon.ordinal.costs import cost_matrix
from echelon.ordinal.thresholds import fit_exponential
from echelon.ranking import RankPerceptron
from echelon.ranking.linear_rank_svm import LinearRankSVM
from echelon.ranking.rank_boost import RankBoost


class Echo(Ridge):
    """A ranker whose score is the first input, whatever it is shown."""

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def total_cost(scores, codes, thresholds, cost, weights):
    return weights @ cost[codes, (scores[:, None] > thresholds).sum(axis=1)]


@pytest.mark.parametrize("cost", ["absolute", "zero_one", "squared"])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_thresholds_cost_less(cost, seed):
    rng = np.random.default_rng(seed)
    scores, codes = rng.integers(0, 9, 20).astype(float), rng.integers(0, 4, 20)
    weights = rng.integers(0, 3, 20).astype(float)
    model = ThresholdedRanker(Echo(), cost=cost, classes=[0, 1, 2, 3])
    model.fit(scores[:, None], codes, sample_weight=weights)
    matrix = cost_matrix(cost, 4)
    cuts = itertools.combinations_with_replacement(np.arange(-0.5, 9), 3)
    best = min(total_cost(scores, codes, np.array(cut), matrix, weights) for cut in cuts)
    assert total_cost(scores, codes, model.thresholds_, matrix, weights) == best


def test_equally_cheap_thresholds_are_chosen_by_balance():
    # Cuts at 0.5 and at 5.5 cost as much and label as many rows wrongly; the latter lies in a gap.
    scores = np.array([[0.0], [1.0], [2.0], [9.0]])
    model = ThresholdedRanker(Echo()).fit(scores, [0, 1, 0, 1])
    mirrored = ThresholdedRanker(Echo()).fit(-scores, [1, 0, 1, 0])
    assert model.thresholds_ == [5.5]
    assert mirrored.thresholds_ == [-5.5]
    # Cuts at 4 and at 9.5 cost two each; the latter labels the right number of rows.
    scores = np.array([[0.0], [8.0], [9.0], [10.0], [11.0], [12.0]])
    balanced = ThresholdedRanker(Echo()).fit(scores, [0, 1, 0, 1, 1, 0])
    assert balanced.thresholds_ == [9.5]


def test_exponential_thresholds_are_the_closed_form():
    X, y = ordinal_data()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = ThresholdedRanker(RankBoost(20), thresholds="exponential")
    model.fit(X, y, sample_weight=weights)
    scores = model.ranker_.predict(X)
    expected = fit_exponential(scores, y, 4, np.tile(weights[:, None], 3))
    np.testing.assert_allclose(model.thresholds_, expected)
    np.testing.assert_array_equal(model.predict_latent(X), scores)


@pytest.mark.parametrize(
    "ranker", [None, LinearRankSVM(), RankPerceptron(random_state=0), Ridge()], ids=repr
)
def test_any_ranker_will_do(ranker):
    X, y = ordinal_data(n=300)
    model = ThresholdedRanker(ranker).fit(X[:200], y[:200])
    constant = np.abs(np.median(y[:200]) - y[200:]).mean()
    assert -model.score(X[200:], y[200:]) < 0.8 * constant


def test_unseen_rows_give_the_thresholds():
    X, y = ordinal_data()
    model = ThresholdedRanker(LinearRankSVM(), cv=4).fit(X, y)
    own = np.empty(len(y))
    fold = np.empty(len(y), dtype=int)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % 4
    for number in range(4):
        inside = fold != number
        own[~inside] = LinearRankSVM().fit(X[inside], y[inside]).predict(X[~inside])
    costs = cost_matrix("absolute", 4)
    echo = ThresholdedRanker(Echo()).fit(own[:, None], y)
    ones = np.ones(len(y))
    np.testing.assert_allclose(model.thresholds_, echo.thresholds_)
    assert total_cost(own, y, model.thresholds_, costs, ones) <= total_cost(
        own, y, ThresholdedRanker(LinearRankSVM()).fit(X, y).thresholds_, costs, ones
    )
    np.testing.assert_allclose(model.ranker_.coef_, LinearRankSVM().fit(X, y).coef_)


def test_splitters_and_queries():
    X, y = ordinal_data()
    qid = np.arange(len(y)) % 6
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    by_splitter = ThresholdedRanker(LinearRankSVM(), cv=KFold(3, shuffle=True, random_state=0))
    by_list = ThresholdedRanker(LinearRankSVM(), cv=folds)
    np.testing.assert_allclose(by_splitter.fit(X, y).thresholds_, by_list.fit(X, y).thresholds_)
    within = ThresholdedRanker(LinearRankSVM(), cv=3).fit(X, y, qid=qid)
    np.testing.assert_allclose(within.ranker_.coef_, LinearRankSVM().fit(X, y, qid=qid).coef_)
    grouped = ThresholdedRanker(LinearRankSVM(), cv=GroupKFold(3)).fit(X, y, qid=qid)
    assert np.isfinite(grouped.thresholds_).all()


def test_probabilities_come_from_unseen_rows():
    X, y = ordinal_data(n=400)
    assert not hasattr(ThresholdedRanker().fit(X[:50], y[:50]), "predict_proba")
    model = ThresholdedRanker(LinearRankSVM(), cv=5).fit(X[:200], y[:200])
    P = model.predict_proba(X[200:])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    loss = -np.log(P[np.arange(200), y[200:]]).mean()
    assert loss < 0.9 * np.log(4)


def test_class_weights_move_the_thresholds():
    X, y = ordinal_data()
    light = ThresholdedRanker(LinearRankSVM()).fit(X, y)
    heavy = ThresholdedRanker(LinearRankSVM(), class_weight={3: 50.0}).fit(X, y)
    assert (heavy.predict(X) == 3).sum() > (light.predict(X) == 3).sum()


class Unweighted(Ridge):
    def fit(self, X, y):
        return super().fit(X, y)


def test_errors():
    X, y = ordinal_data()
    with pytest.raises(ValueError, match="thresholds must be 'cost' or 'exponential'; found 'x'"):
        ThresholdedRanker(thresholds="x").fit(X, y)
    with pytest.raises(ValueError, match="cv must be an integer of at least 2; found 1"):
        ThresholdedRanker(LinearRankSVM(), cv=1).fit(X, y)
    with pytest.raises(ValueError, match="qid must have one entry per row"):
        ThresholdedRanker(LinearRankSVM()).fit(X, y, qid=[1, 2])
    with pytest.raises(ValueError, match="Unweighted does not accept sample_weight"):
        ThresholdedRanker(Unweighted()).fit(X, y, sample_weight=np.ones(len(y)))


def test_one_query_cannot_be_held_out():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    with pytest.raises(ValueError, match="needs at least two of them; found one"):
        ThresholdedRanker(cv=3).fit(X, y, qid=np.zeros(12))


class PlainRanker(RegressorMixin, BaseEstimator):
    """A ranker that knows queries but no weights."""

    def fit(self, X, y, *, qid):
        self.n_queries_ = len(set(qid))
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_rankers_without_weights_take_queries():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    model = ThresholdedRanker(PlainRanker()).fit(X, y, qid=np.tile([1, 2], 6))
    assert model.ranker_.n_queries_ == 2
    np.testing.assert_array_equal(model.predict(X), y)


def test_pairs_are_explained_by_the_ranker():
    X, y = ordinal_data()
    model = ThresholdedRanker(LinearRankSVM()).fit(X, y)
    assert model.explain_pair(X[0], X[1]) == model.ranker_.explain_pair(X[0], X[1])
    assert not hasattr(ThresholdedRanker(Ridge()).fit(X, y), "explain_pair")
