"""RankBoost as an estimator."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.interrupts import interrupted
from support.rank_boost import listed, slow_rounds

from echelon.base.rounds import Patience
from echelon.base.validation import RankingData
from echelon.metrics.ranking import misranking_loss, ndcg_score
from echelon.metrics.scorers import make_ranking_scorer
from echelon.pairs.pair_set import PairSet
from echelon.ranking.rank_boost import RankBoost
from echelon.ranking.rounds import HeldOutPairs
from echelon.solvers.ranking.rank_boost import Round
from echelon.solvers.ranking.rank_boost_stumps import RankStump


def ranking_data(n=120, d=4, levels=3, queries=10, seed=0, missing=0.0):
    """Rows of queries in no order, with labels that follow two inputs and an offset by query."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    qid = rng.integers(0, queries, n)
    score = X[:, 0] - 0.6 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, levels) / levels), score)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, qid


def wrong_pairs(scores, pairs):
    winners, losers, c = listed(pairs)
    return float(c[scores[winners] <= scores[losers]].sum() / c.sum())


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"step": "book"},
        {"loss": "logistic"},
        {"loss": "smooth_margin"},
        {"learning_rate": 0.3},
        {"missing": "abstain"},
        {"estimator": DecisionTreeClassifier(max_depth=2, random_state=0)},
        {"estimator": DecisionTreeRegressor(max_depth=2, random_state=0)},
    ],
)
@pytest.mark.parametrize("levels", [2, 4])
def test_bound_holds_at_every_stage(params, levels):
    X, y, qid = ranking_data(levels=levels, missing=0.0 if "estimator" in params else 0.1)
    model = RankBoost(25, max_bins=None, **params).fit(X, y, qid=qid)
    pairs = PairSet.from_labels(y, qid)
    assert model.n_estimators_ == len(model.bound_) > 1
    np.testing.assert_allclose(model.bound_, np.cumprod(model.normalizers_))
    assert (np.diff(model.train_loss_) < 0).all()
    for scores, bound, loss in zip(
        model.staged_predict(X), model.bound_, model.train_loss_, strict=True
    ):
        assert wrong_pairs(scores, pairs) <= bound
        winners, losers, c = listed(pairs)
        margin = scores[winners] - scores[losers]
        term = np.logaddexp(0, -margin) if "logistic" in params.values() else np.exp(-margin)
        assert loss == pytest.approx(c @ term / c.sum(), rel=1e-9)
    np.testing.assert_allclose(scores, model.predict(X))


@pytest.mark.parametrize("loss", ["exponential", "logistic", "smooth_margin"])
@pytest.mark.parametrize("rho", [0.0, 0.05, 0.3])
def test_margin_bound_holds_at_every_stage(loss, rho):
    X, y, qid = ranking_data(seed=4)
    model = RankBoost(60, loss=loss).fit(X, y, qid=qid)
    winners, losers, c = listed(PairSet.from_labels(y, qid))
    bounds = model.margin_bound(rho)
    norms = np.cumsum(model.estimator_weights_)
    for scores, norm, bound in zip(model.staged_predict(X), norms, bounds, strict=True):
        small = scores[winners] - scores[losers] <= rho * norm
        assert c[small].sum() / c.sum() <= bound + 1e-12
    # ... and says something: it ends below one where margins are to be positive only.
    assert bounds[-1] < 0.5 or rho > 0
    if rho == 0:
        np.testing.assert_allclose(bounds, model.bound_)
    with pytest.raises(ValueError, match="rho"):
        model.margin_bound(-0.1)


def test_arrays_describe_the_base_rankers():
    X, y, qid = ranking_data(missing=0.2)
    model = RankBoost(20, max_bins=None).fit(X, y, qid=qid)
    slow = list(slow_rounds(X, PairSet.from_labels(y, qid), 20))
    for name, key in (
        ("features_", "feature"), ("thresholds_", "threshold"), ("directions_", "direction"),
        ("missing_values_", "missing"), ("estimator_weights_", "alpha"), ("edges_", "edge"),
        ("normalizers_", "Z"),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(model, name), [entry[key] for entry in slow], atol=1e-10)
    by_hand = np.zeros(len(X))
    for j, cut, sign, side, alpha in zip(
        model.features_, model.thresholds_, model.directions_, model.missing_values_,
        model.estimator_weights_, strict=True,
    ):  # fmt: skip
        h = X[:, j] > cut if sign > 0 else X[:, j] <= cut
        by_hand += alpha * np.where(np.isnan(X[:, j]), side, h)
    np.testing.assert_allclose(model.predict(X), by_hand, atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[:2].sum() > 0.5


def test_step_by_the_book_is_shorter_on_two_labels_only():
    X, y, qid = ranking_data(levels=2)
    exact, book = (RankBoost(3, step=step).fit(X, y) for step in ("exact", "book"))
    assert book.estimator_weights_[0] < exact.estimator_weights_[0]
    X, y, qid = ranking_data(levels=3)
    exact, book = (RankBoost(3, step=step).fit(X, y, qid=qid) for step in ("exact", "book"))
    np.testing.assert_array_equal(book.estimator_weights_, exact.estimator_weights_)


@pytest.mark.parametrize("max_bins", [None, 8])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_integer_weights_are_repeated_rows(max_bins, loss):
    X, y, qid = ranking_data()
    w = np.random.default_rng(1).integers(0, 4, len(y))
    model = RankBoost(15, max_bins=max_bins, loss=loss)
    weighted = model.fit(X, y, qid=qid, sample_weight=w).predict(X)
    repeated = model.fit(np.repeat(X, w, 0), np.repeat(y, w), qid=np.repeat(qid, w)).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


def test_order_of_rows_and_names_of_queries_do_not_matter():
    X, y, qid = ranking_data()
    before = RankBoost(20).fit(X, y, qid=qid).predict(X)
    order = np.random.default_rng(2).permutation(len(y))
    names = np.array([f"q{(7 * q) % 11}" for q in qid])
    after = RankBoost(20).fit(X[order], y[order], qid=names[order]).predict(X)
    np.testing.assert_allclose(before, after, atol=1e-12)


def test_stated_pairs_and_labels_can_be_given_together():
    X, y, qid = ranking_data(n=60)
    winners, losers, c = listed(PairSet.from_labels(y, qid))
    by_labels = RankBoost(20).fit(X, y, qid=qid)
    by_pairs = RankBoost(20).fit(X, pairs=np.c_[winners, losers], pair_weight=c)
    np.testing.assert_allclose(by_labels.predict(X), by_pairs.predict(X), atol=1e-10)
    half = len(c) // 2
    both = RankBoost(20).fit(X, y, qid=qid, pairs=np.c_[winners, losers][:half])
    twice = RankBoost(20).fit(
        X, pairs=np.c_[winners, losers], pair_weight=c + (np.arange(len(c)) < half)
    )
    np.testing.assert_allclose(both.predict(X), twice.predict(X), atol=1e-10)


def test_rows_outside_all_pairs_change_nothing():
    X, y, qid = ranking_data(n=60)
    alone = np.r_[X, [[9.0, 9.0, 9.0, 9.0]]], np.r_[y, 5], np.r_[qid, 99]
    one = RankBoost(10, max_bins=5).fit(X, y, qid=qid)
    two = RankBoost(10, max_bins=5).fit(alone[0], alone[1], qid=alone[2])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_missing_inputs():
    """Whether an input is missing decides the label; only the learnt side can use that."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
    X[y == 1, 0] = np.nan
    side = RankBoost(5).fit(X, y)
    assert side.n_estimators_ == 1 and side.score(X, y) == 1.0
    assert (side.thresholds_[0], side.directions_[0]) == (-np.inf, -1)
    halfway = RankBoost(5, missing="abstain").fit(X, y)
    assert np.isfinite(halfway.thresholds_).all() and halfway.score(X, y) < 1.0
    seen = RankBoost(1).fit(np.array([[0.0], [1.0], [2.0], [1.5]]), [0, 1, 1, 0])
    at_zero, missing, at_two = seen.predict(np.array([[0.0], [np.nan], [2.0]]))
    assert missing == pytest.approx((at_zero + at_two) / 2)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=1, random_state=0),
        DecisionTreeRegressor(max_depth=2, random_state=0),
        LogisticRegression(),
        LinearRegression(),
        LinearSVC(random_state=0),
    ],
)
@pytest.mark.parametrize("loss", ["exponential", "logistic", "smooth_margin"])
def test_base_rankers_of_the_user(estimator, loss):
    X, y, qid = ranking_data()
    model = RankBoost(8, estimator=estimator, loss=loss).fit(X, y, qid=qid)
    assert (model.normalizers_ < 1).all()
    assert len(model.estimators_) == model.n_estimators_ >= 1
    assert model.score(X, y, qid=qid) > 0.7
    assert not hasattr(model, "features_")
    with pytest.raises(AttributeError, match="estimator"):
        _ = model.feature_importances_
    # A fit without an estimator leaves nothing of the fit with one.
    model.set_params(estimator=None).fit(X, y, qid=qid)
    assert not hasattr(model, "estimators_") and len(model.features_) == model.n_estimators_


def test_a_tree_of_depth_one_finds_the_same_first_threshold():
    """With two labels and one query, π is the signed weight of a classification problem."""
    X, y, _ = ranking_data(levels=2)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0, criterion="gini")
    mine = RankBoost(1, max_bins=None).fit(X, y)
    theirs = RankBoost(1, estimator=tree).fit(X, y)
    assert theirs.edges_[0] <= mine.edges_[0] + 1e-12


def test_early_stopping_keeps_the_best_rounds():
    X, y, qid = ranking_data(n=600, queries=40, seed=5)
    y[::3] = np.random.default_rng(0).permutation(y[::3])
    model = RankBoost(200, n_iter_no_change=5, validation_fraction=0.3, random_state=0)
    model.fit(X, y, qid=qid)
    run = len(model.validation_scores_)
    assert model.n_estimators_ == int(np.argmax(model.validation_scores_)) + 1 == run - 5
    assert run < 200
    # The same rounds, as if so many had been asked for.
    fewer = RankBoost(
        model.n_estimators_, n_iter_no_change=500, validation_fraction=0.3, random_state=0
    ).fit(X, y, qid=qid)
    np.testing.assert_array_equal(
        fewer.validation_scores_, model.validation_scores_[: model.n_estimators_]
    )


@pytest.mark.parametrize(
    "scoring", [ndcg_score, "ndcg@3", misranking_loss, make_ranking_scorer(misranking_loss)]
)
def test_early_stopping_by_a_metric(scoring):
    X, y, qid = ranking_data(n=400, queries=30)
    model = RankBoost(50, n_iter_no_change=3, scoring=scoring, random_state=1)
    model.fit(X, y, qid=qid)
    assert model.n_estimators_ == int(np.argmax(model.validation_scores_)) + 1
    seen = []

    def spy(labels, scores, qid):
        seen.append((labels, scores, qid))
        return scoring(labels, scores, qid=qid) if scoring is ndcg_score else 0.0

    RankBoost(2, n_iter_no_change=3, scoring=spy, random_state=1).fit(X, y, qid=qid)
    labels, scores, codes = seen[-1]
    assert len(labels) == len(scores) == len(codes) < len(y)
    sizes = sorted(np.bincount(qid).tolist())
    assert all(count in sizes for count in np.bincount(codes)[np.unique(codes)])


def test_early_stopping_without_queries_and_on_stated_pairs():
    X, y, _ = ranking_data(n=200, levels=2)
    model = RankBoost(60, n_iter_no_change=4, random_state=0).fit(X, y)
    assert len(model.validation_scores_) >= model.n_estimators_
    pairs = PairSet.from_labels(y)
    winners, losers, _ = listed(pairs)
    RankBoost(10, n_iter_no_change=4, random_state=0).fit(X, pairs=np.c_[winners, losers])
    with pytest.raises(ValueError, match="scoring needs labels"):
        RankBoost(5, n_iter_no_change=2, scoring=ndcg_score).fit(X, pairs=np.c_[winners, losers])


def test_stages_are_fits_with_fewer_rounds():
    X, y, qid = ranking_data()
    model = RankBoost(12).fit(X, y, qid=qid)
    stages = list(model.staged_predict(X))
    for n_rounds in (1, 5, 12):
        fewer = RankBoost(n_rounds).fit(X, y, qid=qid)
        np.testing.assert_allclose(stages[n_rounds - 1], fewer.predict(X), atol=1e-12)
    scores = list(model.staged_score(X, y, qid=qid))
    assert scores[-1] == pytest.approx(model.score(X, y, qid=qid))
    assert len(scores) == 12


def test_threads_do_not_matter():
    X, y, qid = ranking_data(d=7, missing=0.1)
    one, two = (RankBoost(20, n_jobs=n).fit(X, y, qid=qid) for n in (1, 3))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_bins_that_suffice_are_exact():
    X, y, qid = ranking_data()
    exact, binned = (RankBoost(20, max_bins=bins).fit(X, y, qid=qid) for bins in (None, 255))
    np.testing.assert_array_equal(exact.predict(X), binned.predict(X))
    coarse = RankBoost(20, max_bins=4).fit(X, y, qid=qid)
    assert all(len(set(coarse.thresholds_[coarse.features_ == j])) <= 3 for j in range(4))


def test_explanation_of_a_pair_names_conditions():
    pd = pytest.importorskip("pandas")
    X, y, qid = ranking_data(missing=0.1)
    frame = pd.DataFrame(X, columns=["age", "income", "height", "weight"])
    model = RankBoost(40).fit(frame, y, qid=qid)
    scores = model.predict(frame)
    a, b = int(np.argmax(scores)), int(np.argmin(scores))
    found = model.explain_pair(X[a], X[b])
    assert found.difference == pytest.approx(scores[a] - scores[b])
    assert sum(term.contribution for term in found.terms) == pytest.approx(found.difference)
    names = [term.name for term in found.terms]
    assert len(set(names)) == len(names)
    assert any(name.startswith("age > ") for name in names)
    by_tree = RankBoost(3, estimator=DecisionTreeClassifier(max_depth=2, random_state=0))
    clean = np.nan_to_num(X)
    told = by_tree.fit(clean, y, qid=qid).explain_pair(clean[a], clean[b])
    assert sum(term.contribution for term in told.terms) == pytest.approx(told.difference)


def test_nothing_to_learn_is_said():
    X = np.zeros((6, 2))
    with pytest.warns(UserWarning, match="all scores are zero"):
        model = RankBoost(5).fit(X, [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict(X), np.zeros(6))
    assert model.n_estimators_ == 0 and len(model.bound_) == 0


def test_pickled_models_predict_the_same():
    X, y, qid = ranking_data()
    model = RankBoost(5).fit(X, y, qid=qid)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_interrupted_fit_leaves_the_model_as_it_was():
    X, y, qid = ranking_data(n=3000, d=6)
    model = RankBoost(5).fit(X, y, qid=qid)
    before = model.predict(X)
    model.set_params(n_estimators=10**6, learning_rate=0.01)
    with pytest.raises(KeyboardInterrupt), interrupted():
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_progress_is_printed(capsys):
    X, y, qid = ranking_data()
    RankBoost(10, verbose=1).fit(X, y, qid=qid)
    assert "round 10 of 10" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"step": "long"}, "step must be"),
        ({"loss": "hinge"}, "loss must be"),
        ({"missing": "drop"}, "missing must be"),
        ({"max_bins": 1000}, "max_bins"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"step": "book", "loss": "logistic"}, "step='book' belongs"),
        ({"scoring": ndcg_score}, "needs n_iter_no_change"),
        ({"n_iter_no_change": 2, "scoring": 5}, "scoring must be"),
        ({"n_iter_no_change": 2, "validation_fraction": 1.0}, "validation_fraction"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    X, y, qid = ranking_data(n=30)
    with pytest.raises(ValueError, match=message):
        RankBoost(**params).fit(X, y, qid=qid)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_pairs_that_cancel_out_leave_nothing_to_learn(estimator):
    with pytest.warns(ConvergenceWarning, match="all scores are zero"):
        model = RankBoost(5, estimator=estimator).fit([[0.0], [1.0]], pairs=[[0, 1], [1, 0]])
    assert model.predict([[0.0], [1.0]]).tolist() == [0.0, 0.0]


def test_smooth_margins_do_not_depend_on_the_unit_of_small_weights():
    X, y, qid = ranking_data()
    whole = RankBoost(30, loss="smooth_margin").fit(X, y, qid=qid)
    small = RankBoost(30, loss="smooth_margin")
    small.fit(X, y, qid=qid, sample_weight=np.full(len(y), 1e-6))
    assert small.n_estimators_ == whole.n_estimators_
    np.testing.assert_allclose(small.smooth_margins_, whole.smooth_margins_, rtol=1e-9)
    np.testing.assert_allclose(small.predict(X), whole.predict(X), rtol=1e-9)


def test_stages_take_a_column_of_labels():
    X, y, _ = ranking_data()
    model = RankBoost(3).fit(X, y)
    with pytest.warns(DataConversionWarning):
        column = list(model.staged_score(X, y[:, None]))
    assert column == list(model.staged_score(X, y))


def test_held_out_pairs_that_stand_level_count_one_half():
    pairs = PairSet.from_labels([0, 1, 1])
    data = RankingData(np.array([[0.0], [1.0], [2.0]]), pairs, None, None, np.ones(3))
    watch = HeldOutPairs(data, pairs, None, Patience(5, 0.0))
    for threshold in (9.0, 1.5):
        watch.is_over(Round(RankStump(0, threshold, 1, 0.5), 1.0, 0.1, 0.9))
    assert watch.patience.costs == [-0.5, -0.75]
