"""Scorers of rankings, with metadata routing and without."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.fixes import parse_version

from echelon import metrics
from echelon.linear.proportional_odds import ProportionalOdds
from echelon.meta.reduction import OrdinalReduction
from echelon.metrics.ranking import (
    misranking_loss,
    ndcg_score,
    pairwise_accuracy,
    reciprocal_rank,
    weighted_misranking,
)
from echelon.metrics.scorers import (
    as_ranking_scorer,
    get_ranking_scorer,
    make_ranking_scorer,
    ranking_scorer_names,
)
from echelon.model_selection.query_splits import QueryKFold, QueryShuffleSplit
from echelon.ranking.linear_rank_svm import LinearRankSVM

needs_routers = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="this scikit-learn passes no metadata to the own score of pipelines and searches",
)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data(rng):
    """Rows, grades, unsorted text queries and weights; the order of rows is that of no query."""
    X = rng.normal(size=(120, 4))
    codes = rng.integers(15, size=120)
    offset = rng.normal(0.0, 3.0, size=15)[codes]
    y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + offset + rng.normal(size=120), [-2, 0, 2])
    qid = np.array([f"query {code}" for code in codes], dtype=object)
    return X, y, qid, rng.uniform(0.5, 2.0, 120)


def by_hand(metric, X, y, qid, weights=None, splitter=None, **options):
    """Cross-validation of a linear ranker in so many words."""
    scores = []
    for training, test in (splitter or QueryKFold(3)).split(X, y, qid=qid):
        at = {"qid": qid[training]}
        to = {"qid": qid[test]}
        if weights is not None:
            at["sample_weight"], to["sample_weight"] = weights[training], weights[test]
        model = LinearRankSVM().fit(X[training], y[training], **at)
        scores.append(metric(y[test], model.predict(X[test]), **to, **options))
    return np.array(scores)


def test_a_scorer_is_its_metric_with_a_sign(data):
    X, y, qid, weights = data
    model = LinearRankSVM().fit(X, y, qid=qid)
    found = model.predict(X)
    scorer = make_ranking_scorer(ndcg_score, k=3, gain="exponential")
    expected = ndcg_score(y, found, qid=qid, sample_weight=weights, k=3, gain="exponential")
    assert scorer(model, X, y, qid=qid, sample_weight=weights) == expected
    assert scorer(model, X, y) == ndcg_score(y, found, k=3, gain="exponential")
    loss = make_ranking_scorer(misranking_loss, greater_is_better=False)
    assert loss(model, X, y, qid=qid) == -misranking_loss(y, found, qid=qid)
    accuracy = get_ranking_scorer("pairwise_accuracy")
    assert accuracy(model, X, y, qid=qid) == model.score(X, y, qid=qid)
    for turned in (pickle.loads(pickle.dumps(scorer)), copy.deepcopy(scorer)):
        assert repr(turned) == "RankingScorer(ndcg_score, k=3, gain='exponential')"
        assert turned(model, X, y, qid=qid) == scorer(model, X, y, qid=qid)
    assert repr(loss) == "RankingScorer(-misranking_loss)"


@pytest.mark.parametrize("average", ["pairs", "queries"])
def test_scores_of_single_queries(data, average):
    X, y, qid, weights = data
    found = LinearRegression().fit(X, y).predict(X)

    def own(y_true, y_score, *, qid=None, sample_weight=None):
        return misranking_loss(y_true, y_score, qid=qid, sample_weight=sample_weight)

    shared = make_ranking_scorer(misranking_loss, greater_is_better=False, average=average)
    single = make_ranking_scorer(own, greater_is_better=False)
    expected = {
        query: -misranking_loss(y[qid == query], found[qid == query])
        for query in dict.fromkeys(qid)
        if len(set(y[qid == query])) > 1
    }
    for scorer in (shared, single):
        result = scorer.by_query(y, found, qid=qid)
        assert dict(zip(result.ids, result.values, strict=True)) == pytest.approx(expected)
    weighed = [
        scorer.by_query(y, found, qid=qid, sample_weight=weights) for scorer in (shared, single)
    ]
    np.testing.assert_allclose(weighed[0].values, weighed[1].values)
    assert not np.allclose(weighed[0].values, list(expected.values()))


def test_a_metric_without_weights_is_not_given_any(data):
    X, y, qid, weights = data
    model = LinearRegression().fit(X, y)
    scorer = make_ranking_scorer(reciprocal_rank)
    with_weights = scorer(model, X, y, qid=qid, sample_weight=weights)
    assert with_weights == reciprocal_rank(y, model.predict(X), qid=qid)


@pytest.mark.parametrize(
    ("model", "score"),
    [
        (LogisticRegression(), lambda m, X: m.decision_function(X)),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            lambda m, X: m.decision_function(X),
        ),
        (RandomForestClassifier(20, random_state=0), lambda m, X: m.predict_proba(X)[:, 1]),
        (LinearRegression(), lambda m, X: m.predict(X)),
        (ProportionalOdds(), lambda m, X: m.predict_latent(X)),
    ],
    ids=["logistic", "pipeline", "forest", "regression", "ordinal"],
)
def test_other_estimators_rank_by_their_finest_score(model, score, data):
    X, y, qid, _ = data
    y = (y > 1).astype(int)
    model.fit(X, y)
    scorer = make_ranking_scorer(pairwise_accuracy)
    assert scorer(model, X, y, qid=qid) == pairwise_accuracy(y, score(model, X), qid=qid)


def test_classifiers_of_several_classes_rank_by_expected_rank(data):
    X, y, qid, _ = data
    scorer = make_ranking_scorer(pairwise_accuracy)
    model = LogisticRegression().fit(X, y)
    expected = model.predict_proba(X) @ np.arange(4)
    assert scorer(model, X, y, qid=qid) == pairwise_accuracy(y, expected, qid=qid)
    ordinal = make_pipeline(StandardScaler(), ProportionalOdds()).fit(X, y)
    expected = ordinal.decision_function(X).sum(axis=1)
    assert scorer(ordinal, X, y, qid=qid) == pairwise_accuracy(y, expected, qid=qid)
    apart = make_pipeline(StandardScaler(), OrdinalReduction(LogisticRegression())).fit(X, y)
    margins = apart.decision_function(X)
    assert scorer(apart, X, y, qid=qid) == pairwise_accuracy(y, margins.sum(axis=1), qid=qid)
    assert scorer(apart, X, y, qid=qid) != pairwise_accuracy(y, margins[:, 0], qid=qid)
    machine = LinearSVC().fit(X, y)
    assert scorer(machine, X, y, qid=qid) == pairwise_accuracy(y, machine.predict(X), qid=qid)


@pytest.mark.parametrize("name", ranking_scorer_names())
def test_every_name_gives_a_scorer(name, data):
    X, y, qid, weights = data
    scorer = get_ranking_scorer(name)
    assert repr(scorer) == repr(metrics.get_scorer(name))
    model = LinearRegression().fit(X, y)
    value = scorer(model, X, y, qid=qid, sample_weight=weights)
    assert 0.0 < value <= 1.0
    assert value == scorer.of_scores(y, model.predict(X), qid=qid, sample_weight=weights)


@pytest.mark.parametrize(
    "name", ["ndgc", "precision", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@x", "pairwise_accuracy@3", ""]
)
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=r"name must be one of hit_rate.*; found '"):
        get_ranking_scorer(name)


def test_misuse_is_one_sentence(data):
    X, y, _, weights = data
    with pytest.raises(ValueError, match="sample_weight belongs to the rows that are scored"):
        make_ranking_scorer(ndcg_score, sample_weight=weights)
    with pytest.raises(ValueError, match="metric must be a function of labels and scores; found"):
        make_ranking_scorer("ndcg")
    with pytest.raises(ValueError, match=r"Texts\.predict must give one number per row to rank by"):
        make_ranking_scorer(ndcg_score)(Texts().fit(X, y), X, y)


class Texts(RegressorMixin, BaseEstimator):
    """Predicts what cannot be ranked by."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.full(len(X), "a")


def test_queries_reach_splitter_fit_and_scorer(routing, data):
    X, y, qid, _ = data
    scoring = {
        "ndcg": get_ranking_scorer("ndcg"),
        "accuracy": get_ranking_scorer("pairwise_accuracy"),
    }
    for frame in (X, pd.DataFrame(X)):
        found = cross_validate(
            LinearRankSVM(), frame, y, cv=QueryKFold(3), params={"qid": qid}, scoring=scoring
        )
        np.testing.assert_allclose(found["test_ndcg"], by_hand(ndcg_score, X, y, qid), rtol=1e-9)
    np.testing.assert_allclose(
        found["test_accuracy"], by_hand(pairwise_accuracy, X, y, qid), rtol=1e-9
    )
    # The scores are those of queries, not of all rows of a fold together.
    together = by_hand(lambda y_true, s, qid: pairwise_accuracy(y_true, s), X, y, qid)
    assert np.abs(found["test_accuracy"] - together).max() > 1e-3


def test_the_ranker_s_own_score_goes_by_query(routing, data):
    X, y, qid, _ = data
    found = cross_validate(LinearRankSVM(), X, y, cv=QueryKFold(3), params={"qid": qid})
    np.testing.assert_allclose(
        found["test_score"], by_hand(pairwise_accuracy, X, y, qid), rtol=1e-9
    )


@pytest.mark.parametrize(
    "scoring", [get_ranking_scorer("pairwise_accuracy"), pytest.param(None, marks=needs_routers)]
)
def test_queries_reach_the_ranker_behind_a_scaler(routing, data, scoring):
    X, y, qid, _ = data
    model = make_pipeline(StandardScaler(), LinearRankSVM())
    splitter = QueryShuffleSplit(3, random_state=0)
    found = cross_validate(model, X, y, cv=splitter, params={"qid": qid}, scoring=scoring)
    expected = []
    for training, test in splitter.split(X, qid=qid):
        scaler = StandardScaler().fit(X[training])
        ranker = LinearRankSVM().fit(scaler.transform(X[training]), y[training], qid=qid[training])
        expected.append(ranker.score(scaler.transform(X[test]), y[test], qid=qid[test]))
    np.testing.assert_allclose(found["test_score"], expected, rtol=1e-9)


def test_weights_are_passed_where_they_are_asked_for(routing, data):
    X, y, qid, weights = data
    ranker = LinearRankSVM().set_fit_request(sample_weight=True)
    scorer = get_ranking_scorer("ndcg").set_score_request(sample_weight=True)
    params = {"qid": qid, "sample_weight": weights}
    found = cross_validate(ranker, X, y, cv=QueryKFold(3), params=params, scoring=scorer)
    np.testing.assert_allclose(
        found["test_score"], by_hand(ndcg_score, X, y, qid, weights), rtol=1e-9
    )
    own = ranker.set_score_request(sample_weight=True)
    found = cross_validate(own, X, y, cv=QueryKFold(3), params=params)
    np.testing.assert_allclose(
        found["test_score"], by_hand(pairwise_accuracy, X, y, qid, weights), rtol=1e-9
    )
    with pytest.raises(ValueError, match="sample_weight"):
        cross_validate(
            ranker, X, y, cv=QueryKFold(3), params=params, scoring=get_ranking_scorer("ndcg")
        )


@pytest.mark.parametrize("scoring", ["ndcg@5", pytest.param(None, marks=needs_routers)])
def test_a_search_gives_the_same_with_shuffled_and_sorted_queries(routing, data, scoring):
    X, y, qid, weights = data
    scorer = None if scoring is None else get_ranking_scorer(scoring)
    grid = {"linearranksvm__C": [1e-4, 1e-2, 1.0]}
    results = []
    for rows in (np.arange(120), np.argsort(qid), np.random.default_rng(3).permutation(120)):
        ranker = LinearRankSVM(tol=1e-10).set_fit_request(sample_weight=True)
        if scoring is None:
            ranker.set_score_request(sample_weight=True)
        else:
            scorer.set_score_request(sample_weight=True)
        model = make_pipeline(StandardScaler(), ranker)
        model[0].set_fit_request(sample_weight=False)
        search = GridSearchCV(model, grid, cv=QueryKFold(4), scoring=scorer)
        search.fit(X[rows], y[rows], qid=qid[rows], sample_weight=weights[rows])
        results.append(search)
    for other in results[1:]:
        assert other.best_params_ == results[0].best_params_
        for key in (f"split{k}_test_score" for k in range(4)):
            np.testing.assert_allclose(
                other.cv_results_[key], results[0].cv_results_[key], rtol=1e-9
            )
        np.testing.assert_allclose(other.predict(X), results[0].predict(X), atol=1e-5)
    means = results[0].cv_results_["mean_test_score"]
    assert means.max() > means.min()


def test_searches_within_cross_validation(routing, data):
    X, y, qid, _ = data
    search = GridSearchCV(
        LinearRankSVM(), {"C": [1e-4, 1.0]}, cv=QueryKFold(2), scoring=get_ranking_scorer("ndcg")
    )
    found = cross_validate(
        search,
        X,
        y,
        cv=QueryKFold(3),
        params={"qid": qid},
        scoring=get_ranking_scorer("ndcg"),
        return_estimator=True,
    )
    for (training, test), fitted, score in zip(
        QueryKFold(3).split(X, qid=qid), found["estimator"], found["test_score"], strict=True
    ):
        again = sklearn.base.clone(search).fit(X[training], y[training], qid=qid[training])
        assert again.best_params_ == fitted.best_params_
        np.testing.assert_allclose(
            score, ndcg_score(y[test], again.predict(X[test]), qid=qid[test]), rtol=1e-9
        )


def test_a_splitter_may_be_told_by_the_name_groups(routing, data):
    X, y, qid, _ = data
    regression = LinearRegression()
    found = cross_validate(regression, X, y, cv=QueryKFold(3), params={"groups": qid})
    expected = cross_validate(regression, X, y, cv=list(QueryKFold(3).split(X, groups=qid)))
    np.testing.assert_allclose(found["test_score"], expected["test_score"])


def test_without_routing_a_fold_is_one_query(data):
    X, y, _, _ = data
    scorer = get_ranking_scorer("pairwise_accuracy")
    found = cross_validate(LinearRankSVM(), X, y, cv=KFold(3), scoring={"a": scorer, "b": scorer})
    for k, (training, test) in enumerate(KFold(3).split(X)):
        model = LinearRankSVM().fit(X[training], y[training])
        expected = pairwise_accuracy(y[test], model.predict(X[test]))
        assert found["test_a"][k] == found["test_b"][k] == pytest.approx(expected)
    assert check_scoring(LinearRankSVM(), scorer) is scorer


def test_losses_of_the_package_are_negated_unasked():
    assert repr(make_ranking_scorer(misranking_loss)) == "RankingScorer(-misranking_loss)"
    assert repr(make_ranking_scorer(misranking_loss, greater_is_better=True)) == (
        "RankingScorer(misranking_loss)"
    )
    assert repr(as_ranking_scorer(weighted_misranking)) == "RankingScorer(-weighted_misranking)"
    assert repr(as_ranking_scorer("ndcg@3")) == "RankingScorer(ndcg_score, k=3)"


@pytest.mark.parametrize("scoring", [None, 3, ["ndcg"], metrics.get_scorer("kendall_tau_b")])
def test_what_is_no_ranking_scorer_is_refused(scoring):
    with pytest.raises(ValueError, match="scoring must be the name of a ranking scorer"):
        as_ranking_scorer(scoring)


def test_one_door_for_names():
    assert repr(metrics.get_scorer("ndcg@5")) == repr(get_ranking_scorer("ndcg@5"))
