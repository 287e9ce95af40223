"""Cross-validation of rankers by query, by row and by pair."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RepeatedKFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon.metrics.ranking import (
    misranking_loss,
    ndcg_score,
    pairwise_accuracy,
    stated_misranking_loss,
)
from echelon.metrics.scorers import get_ranking_scorer, make_ranking_scorer
from echelon.model_selection.query_splits import PairKFold, QueryKFold
from echelon.model_selection.ranking import cross_validate_ranker
from echelon.pairs import PairSet
from echelon.ranking.linear_rank_svm import LinearRankSVM
from echelon.ranking.rank_boost import RankBoost


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 4))
    codes = rng.integers(15, size=120)
    offset = rng.normal(0.0, 3.0, size=15)[codes]
    y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + offset + rng.normal(size=120), [-2, 0, 2])
    qid = [("query", int(code) + 10) for code in codes]
    return X, y, qid, rng.uniform(0.5, 2.0, 120)


def taken(qid, rows):
    return [qid[i] for i in rows]


def by_hand(model, X, y, qid, weights, splits, metric):
    scores = []
    for training, test in splits:
        fitted = sklearn.base.clone(model).fit(
            X[training], y[training], qid=taken(qid, training), sample_weight=weights[training]
        )
        found = fitted.predict(X[test])
        scores.append(metric(y[test], found, qid=taken(qid, test), sample_weight=weights[test]))
    return scores


@pytest.mark.parametrize("on", [False, True], ids=["routing off", "routing on"])
@pytest.mark.parametrize("model", [LinearRankSVM(), RankBoost(5)], ids=repr)
def test_whole_queries_are_held_out(data, model, on):
    X, y, qid, weights = data
    with sklearn.config_context(enable_metadata_routing=on):
        result = cross_validate_ranker(model, X, y, qid=qid, sample_weight=weights, cv=4)
    splits = list(QueryKFold(4).split(X, qid=qid))
    for name, metric in (("pairwise_accuracy", pairwise_accuracy), ("ndcg", ndcg_score)):
        expected = by_hand(model, X, y, qid, weights, splits, metric)
        np.testing.assert_allclose(result[f"test_{name}"], expected, rtol=1e-9)
        found = result.summary(name)
        assert found.mean == pytest.approx(np.mean(expected))
        assert found.se == pytest.approx(np.std(expected, ddof=1) / 2)
    assert list(result) == ["fit_time", "score_time", "test_pairwise_accuracy", "test_ndcg"]
    assert len(result) == 4 and (result["fit_time"] > 0).all()


def test_every_query_has_its_score(data):
    X, y, qid, _ = data
    result = cross_validate_ranker(LinearRankSVM(), X, y, qid=qid, cv=3, scoring="ndcg@2")
    found = result.per_query["ndcg@2"]
    assert set(found.ids) == set(qid)
    for training, test in QueryKFold(3).split(X, qid=qid):
        model = LinearRankSVM().fit(X[training], y[training], qid=taken(qid, training))
        for query in set(taken(qid, test)):
            rows = [i for i in test if qid[i] == query]
            expected = ndcg_score(y[rows], model.predict(X[rows]), k=2)
            assert found.values[found.ids.index(query)] == pytest.approx(expected)
    assert found.confidence_interval()[0] < found.mean() < 1.0


def test_repeated_splits_give_a_query_its_mean(data):
    X, y, qid, _ = data
    once = [QueryKFold(3, shuffle=True, random_state=seed) for seed in (0, 1)]
    parts = [cross_validate_ranker(Ridge(), X, y, qid=qid, cv=cv, scoring="ndcg") for cv in once]
    splits = [split for cv in once for split in cv.split(X, qid=qid)]
    both = cross_validate_ranker(Ridge(), X, y, qid=qid, cv=splits, scoring="ndcg")
    first, second = (
        dict(zip(p.per_query["ndcg"].ids, p.per_query["ndcg"].values, strict=True)) for p in parts
    )
    found = both.per_query["ndcg"]
    for query, value in zip(found.ids, found.values, strict=True):
        assert value == pytest.approx((first[query] + second[query]) / 2)
    assert len(both["test_ndcg"]) == 6


def test_the_order_of_rows_is_no_matter(data, rng):
    X, y, qid, weights = data
    rows = rng.permutation(120)
    one = cross_validate_ranker(LinearRankSVM(tol=1e-9), X, y, qid=qid, sample_weight=weights)
    other = cross_validate_ranker(
        LinearRankSVM(tol=1e-9), X[rows], y[rows], qid=taken(qid, rows), sample_weight=weights[rows]
    )
    for name in one.scores:
        np.testing.assert_allclose(one.scores[name], other.scores[name], rtol=1e-9)


def test_arguments_reach_the_last_step_of_pipelines(data):
    X, y, qid, weights = data
    plain = make_pipeline(StandardScaler(), LinearRankSVM())
    nested = Pipeline([("scale", "passthrough"), ("inner", plain)])
    results = [
        cross_validate_ranker(
            model, pd.DataFrame(X), y, qid=qid, sample_weight=weights, cv=3, return_estimator=True
        )
        for model in (plain, nested)
    ]
    expected = []
    for training, test in QueryKFold(3).split(X, qid=qid):
        scaler = StandardScaler().fit(X[training])
        ranker = LinearRankSVM().fit(
            scaler.transform(X[training]),
            y[training],
            qid=taken(qid, training),
            sample_weight=weights[training],
        )
        given = {"qid": taken(qid, test), "sample_weight": weights[test]}
        expected.append(ranker.score(scaler.transform(X[test]), y[test], **given))
    for result in results:
        np.testing.assert_allclose(result["test_pairwise_accuracy"], expected, rtol=1e-9)
        assert len(result["estimator"]) == 3


def test_a_search_inside_goes_by_query_too(data):
    X, y, qid, _ = data
    search = GridSearchCV(
        LinearRankSVM(), {"C": [1e-4, 1.0]}, cv=QueryKFold(2), scoring=get_ranking_scorer("ndcg")
    )
    for model in (search, make_pipeline(StandardScaler(), search)):
        result = cross_validate_ranker(model, X, y, qid=qid, cv=3, return_estimator=True)
        with sklearn.config_context(enable_metadata_routing=True):
            expected = cross_validate(
                model,
                X,
                y,
                cv=QueryKFold(3),
                params={"qid": np.array([code for _, code in qid])},
                scoring=get_ranking_scorer("ndcg"),
            )
        np.testing.assert_allclose(result["test_ndcg"], expected["test_score"], rtol=1e-9)


def test_models_of_single_rows_learn_without_queries(data):
    X, y, qid, weights = data
    result = cross_validate_ranker(Ridge(), X, y, qid=qid, sample_weight=weights, cv=3)
    for k, (training, test) in enumerate(QueryKFold(3).split(X, qid=qid)):
        model = Ridge().fit(X[training], y[training], weights[training])
        expected = ndcg_score(
            y[test], model.predict(X[test]), qid=taken(qid, test), sample_weight=weights[test]
        )
        assert result["test_ndcg"][k] == pytest.approx(expected)


def test_without_queries_rows_are_dealt_out_by_label(data):
    X, y, _, _ = data
    result = cross_validate_ranker(LinearRankSVM(), sparse.csr_matrix(X), y, cv=4)
    fold = np.empty(120, dtype=int)
    fold[np.argsort(y, kind="stable")] = np.arange(120) % 4
    for k in range(4):
        test = fold == k
        counts = np.bincount(y[test], minlength=4) - np.bincount(y, minlength=4) / 4
        assert np.abs(counts).max() < 1.0
        model = LinearRankSVM().fit(X[~test], y[~test])
        assert result["test_pairwise_accuracy"][k] == pytest.approx(model.score(X[test], y[test]))
    assert result.per_query == {}


@pytest.mark.parametrize("cv", [GroupKFold(3), [(np.arange(60), np.arange(60, 120))]])
def test_other_splits_are_taken_as_they_are(data, cv):
    X, y, qid, weights = data
    codes = np.array([code for _, code in qid])
    result = cross_validate_ranker(LinearRankSVM(), X, y, qid=codes, sample_weight=weights, cv=cv)
    splits = list(cv.split(X, y, codes)) if hasattr(cv, "split") else cv
    expected = by_hand(LinearRankSVM(), X, y, codes, weights, splits, ndcg_score)
    np.testing.assert_allclose(result["test_ndcg"], expected, rtol=1e-9)


def test_a_splitter_that_ignores_queries_says_so(data):
    X, y, qid, _ = data
    with pytest.warns(UserWarning, match="groups parameter is ignored by KFold"):
        cross_validate_ranker(LinearRankSVM(), X, y, qid=qid, cv=KFold(2))


@pytest.fixture
def judged(rng):
    """Items, judgements that agree with a hidden score more often than not, and weights."""
    X = rng.normal(size=(40, 3))
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(200)])
    ahead = (X[pairs] @ [1.0, 0.5, 0.0]) @ [1.0, -1.0] + rng.normal(size=200) > 0
    return X, np.where(ahead[:, None], pairs, pairs[:, ::-1]), rng.uniform(0.5, 2.0, 200)


@pytest.mark.parametrize(
    "cv",
    [
        4,
        KFold(4),
        PairKFold(3, disjoint="items"),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    ],
)
def test_pairs_are_held_out(judged, cv):
    X, pairs, weights = judged
    result = cross_validate_ranker(LinearRankSVM(), X, pairs=pairs, pair_weight=weights, cv=cv)
    splitter = PairKFold(4) if isinstance(cv, int) else cv
    expected = []
    for training, test in splitter.split(pairs):
        model = LinearRankSVM().fit(X, pairs=pairs[training], pair_weight=weights[training])
        right = (model.predict(X)[pairs[test]] @ [1.0, -1.0]) > 0
        expected.append(np.average(right, weights=weights[test]))
    np.testing.assert_allclose(result["test_pairwise_accuracy"], expected, rtol=1e-9)
    assert result.per_query == {}


def test_pairs_of_a_set_in_a_pipeline_with_labels_and_other_scores(judged, rng):
    X, pairs, weights = judged
    labels = rng.integers(3, size=40)
    model = make_pipeline(StandardScaler(), LinearRankSVM())
    stated = PairSet.from_pairs(pairs, 40, weights)
    result = cross_validate_ranker(
        model, X, labels, pairs=stated, cv=3, scoring={"loss": stated_misranking_loss}
    )
    single = cross_validate_ranker(
        model, X, labels, pairs=stated, cv=3, scoring=stated_misranking_loss
    )
    scaled = StandardScaler().fit_transform(X)
    for k, (training, test) in enumerate(PairKFold(3).split(pairs)):
        ranker = LinearRankSVM().fit(
            scaled, labels, pairs=pairs[training], pair_weight=weights[training]
        )
        loss = stated_misranking_loss(
            pairs[test], ranker.predict(scaled), pair_weight=weights[test]
        )
        assert result["test_loss"][k] == single["test_score"][k] == pytest.approx(loss)


def test_pairs_of_weight_zero_keep_their_place(judged):
    X, pairs, weights = judged
    weights[:100:2] = 0.0
    split = [(np.arange(50, 200), np.arange(50))]
    result = cross_validate_ranker(LinearRankSVM(), X, pairs=pairs, pair_weight=weights, cv=split)
    model = LinearRankSVM().fit(X, pairs=pairs[50:], pair_weight=weights[50:])
    loss = stated_misranking_loss(pairs[:50], model.predict(X), pair_weight=weights[:50])
    assert result["test_pairwise_accuracy"].tolist() == [pytest.approx(1.0 - loss)]


def test_folds_in_processes_of_their_own(data):
    X, y, qid, _ = data
    one, two = (
        cross_validate_ranker(LinearRankSVM(), X, y, qid=qid, cv=2, n_jobs=jobs) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one["test_ndcg"], two["test_ndcg"])


def test_a_fold_that_fails(data):
    X, y, qid, _ = data
    y = np.where(np.arange(120) < 60, y, 1)
    parts = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    with pytest.raises(ValueError, match="There is no pair to rank"):
        cross_validate_ranker(LinearRankSVM(), X, y, qid=qid, cv=parts)
    with pytest.warns(FitFailedWarning, match=r"scored -1\.0: ValueError: There is no pair"):
        result = cross_validate_ranker(
            LinearRankSVM(), X, y, qid=qid, cv=parts, error_score=-1.0, scoring="ndcg"
        )
    assert result["test_ndcg"][1] == -1.0 and 0 < result["test_ndcg"][0] <= 1
    assert set(result.per_query["ndcg"].ids) == set(qid[60:])


def test_the_table(data):
    X, y, qid, _ = data
    scorer = make_ranking_scorer(misranking_loss, greater_is_better=False)
    result = cross_validate_ranker(Ridge(), X, y, qid=qid, cv=2, scoring={"loss": scorer})
    head, line = str(result).split("\n")
    assert head.split() == ["score", "fold", "1", "fold", "2", "mean", "se"]
    found = result["test_loss"]
    assert line.split()[0] == "loss"
    np.testing.assert_allclose(
        [float(cell) for cell in line.split()[1:]],
        [*found, found.mean(), found.std(ddof=1) / np.sqrt(2)],
        atol=6e-5,
    )
    alone = cross_validate_ranker(Ridge(), X, y, qid=qid, cv=2, scoring=scorer)
    np.testing.assert_array_equal(alone["test_score"], found)


def refusals():
    X, y = np.zeros((6, 1)), np.arange(6)
    pairs = np.array([[0, 1], [2, 3]])
    return [
        ({"X": X}, "y must be passed, or pairs; found neither"),
        ({"X": X, "y": y, "pair_weight": [1.0]}, "pair_weight needs pairs"),
        ({"X": X, "y": y, "qid": [1, 2]}, "qid must have one entry per row, 6; found 2"),
        ({"X": X, "y": y, "cv": 1}, "cv must be an integer of at least 2; found 1"),
        ({"X": X, "y": y, "cv": 7}, "cv must be at most the number of rows, 6; found 7"),
        ({"X": X, "y": y, "cv": "five"}, "cv must be a number of folds, a splitter, or pairs"),
        ({"X": X, "y": y, "scoring": 5}, "scoring must be the name of a ranking scorer"),
        ({"X": X, "y": y, "scoring": {"a": None}}, "scoring must be the name of a ranking scorer"),
        ({"X": X, "y": y, "scoring": []}, "scoring must be the name of a ranking scorer"),
        ({"X": X, "y": y, "scoring": "accuracy"}, "name must be one of"),
        ({"X": X, "y": y, "error_score": "ignore"}, "error_score must be 'raise' or a number"),
        ({"X": X, "pairs": pairs, "scoring": "ndcg"}, "With pairs, scoring must be a function of"),
        ({"X": X, "pairs": pairs, "pair_weight": [0.0, 0.0]}, "pairs must hold a pair of positive"),
        ({"X": X, "pairs": pairs + 4}, "pairs must name rows 0 to 5"),
        ({"X": X, "pairs": PairSet.from_labels(y)}, "pairs must be a PairSet of stated pairs over"),
    ]


@pytest.mark.parametrize(("given", "message"), refusals())
def test_errors_are_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        cross_validate_ranker(LinearRankSVM(), **given)
