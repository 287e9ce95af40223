"""ROC curves and rounds of boosting: the numbers that are drawn."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import AdaBoostOR, LinearRankSVM, ORBoost, ProportionalOdds, RankBoost, RankRules
from echelon.datasets import load_esl
from echelon.metrics import (
    auc_score,
    mean_absolute_rank_error,
    misranking_loss,
    multipartite_auc,
    roc_curve,
)
from echelon.plots import BoostingCurveDisplay, PairwiseROCDisplay, ROCDisplay

CLASSES = ["poor", "fair", "good"]


@pytest.fixture(scope="module")
def esl():
    X, y = load_esl(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order].clip(4, 7)


def test_a_curve_for_each_threshold_by_its_margin(esl):
    X, y = esl
    w = np.random.default_rng(0).integers(1, 4, len(y))
    model = AdaBoostOR(n_estimators=15).fit(X, y)
    display = ROCDisplay.from_estimator(model, X, y, sample_weight=w)
    assert list(display.curves) == ["> 4", "> 5", "> 6"]
    G = model.decision_function(X)
    for k, key in enumerate(display.curves):
        above = (y > 4 + k).astype(int)
        assert display.areas[key] == auc_score(above, G[:, k], sample_weight=w)
        assert display.curves[key].area == pytest.approx(display.areas[key], abs=1e-12)
        direct = roc_curve(above, G[:, k], sample_weight=w)
        np.testing.assert_array_equal(display.line_[key].get_ydata(), direct.true_positive_rate)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0].endswith(f"{display.areas['> 4']:.3f}")


def test_curves_by_probability_and_by_the_score_of_a_ranker(esl):
    X, y = esl
    forest = RandomForestClassifier(5, random_state=0, max_depth=3).fit(X, y)
    found = ROCDisplay.from_estimator(forest, X, y).areas["> 5"]
    above = forest.predict_proba(X)[:, 2:].sum(axis=1)
    assert found == pytest.approx(auc_score((y > 5).astype(int), above), abs=1e-12)
    ranker = make_pipeline(StandardScaler(), LinearRankSVM()).fit(X, y)
    display = ROCDisplay.from_estimator(ranker, X, y)
    assert display.areas["> 6"] == auc_score((y > 6).astype(int), ranker.predict(X))
    two = ROCDisplay.from_estimator(ranker, X, y > 5)
    assert list(two.curves) == ["> False"]


def test_roc_keeps_the_order_of_text_and_skips_what_has_no_rows():
    y, score = ["poor", "good", "good", "poor"], [0.1, 0.9, 0.2, 0.3]
    display = ROCDisplay.from_predictions(y, score, classes=["bad", *CLASSES])
    assert list(display.curves) == ["> poor", "> fair"]
    assert display.areas["> poor"] == 0.75
    with pytest.raises(ValueError, match=r"at least two different labels; found one\."):
        ROCDisplay.from_predictions(["poor", "poor"], [0, 1], classes=CLASSES)
    with pytest.raises(ValueError, match="a column for each of the 2 thresholds"):
        ROCDisplay.from_predictions(["poor", "good"], np.zeros((2, 3)), classes=CLASSES)
    with pytest.raises(ValueError, match="scores must have as many rows as y_true"):
        ROCDisplay.from_predictions(["poor", "good"], [1.0], classes=CLASSES)


def test_areas_of_every_two_classes(esl):
    X, y = esl
    model = ProportionalOdds(alpha=1.0).fit(X, y)
    w = np.random.default_rng(0).integers(1, 4, len(y))
    display = PairwiseROCDisplay.from_estimator(model, X, y, sample_weight=w)
    f = model.predict_latent(X)
    rows = (y == 4) | (y == 6)
    assert display.areas[0, 2] == auc_score(y[rows], f[rows], sample_weight=w[rows])
    above = display.areas[np.triu_indices(4, 1)]
    assert display.mean == multipartite_auc(y, f, sample_weight=w)
    assert display.mean == pytest.approx(above.mean(), abs=1e-12)
    assert np.isnan(display.areas[np.tril_indices(4)]).all()
    assert set(display.cells_) == set(display.line_) == set(display.curves)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["5", "6", "7"]


def test_pairs_of_classes_without_rows_are_left_out():
    show = PairwiseROCDisplay.from_predictions
    display = show(["poor", "good"], [0, 1], classes=CLASSES)
    assert list(display.curves) == [(0, 2)] and display.areas[0, 2] == 1.0
    with pytest.raises(ValueError, match=r"at least two different labels; found one\."):
        show(["poor", "poor"], [0, 1], classes=CLASSES)


def test_rounds_of_adaboost_stay_under_the_bound(esl):
    X, y = esl
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    cost = "squared"
    model = AdaBoostOR(n_estimators=25, cost=cost).fit(X[:300], y[:300], sample_weight=w[:300])
    display = BoostingCurveDisplay.from_estimator(
        model, X[:300], y[:300], sample_weight=w[:300], held_out=(X[300:], y[300:])
    )
    assert (display.training <= display.bound + 1e-12).all()
    squared = (model.predict(X[:300]) - y[:300]) ** 2
    assert display.training[-1] == pytest.approx(np.average(squared, weights=w[:300]))
    assert display.held_out[-1] == pytest.approx(-model.score(X[300:], y[300:]))
    ends = (y[:300] - 4) ** 2 + (7 - y[:300]) ** 2
    direct = model.bound_[-1] * np.average(ends, weights=w[:300])
    assert display.bound[-1] == pytest.approx(direct)
    assert set(display.line_) == {"training", "bound", "held out"}


@pytest.mark.parametrize("class_weight", ["balanced", {4: 5.0, 5: 1.0, 6: 1.0, 7: 2.0}])
def test_the_bound_holds_with_class_weights(esl, class_weight):
    X, y = esl
    for model in (AdaBoostOR(n_estimators=20), ORBoost(20, base="stump")):
        model.set_params(class_weight=class_weight).fit(X, y)
        display = BoostingCurveDisplay.from_estimator(model, X, y)
        assert (display.training <= display.bound + 1e-12).all()


def test_rounds_of_orboost_and_of_rules(esl):
    X, y = esl
    model = ORBoost(20, base="stump").fit(X, y)
    display = BoostingCurveDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.bound, model.loss_)
    stages = list(model.staged_predict(X))
    assert display.training[4] == pytest.approx(mean_absolute_rank_error(y, stages[4]))
    pairs = ORBoost(5, base="stump", variant="pairs").fit(X, y)
    assert BoostingCurveDisplay.from_estimator(pairs, X, y).bound is None
    rules = RankRules(20, random_state=0, n_iter_no_change=3).fit(X, y)
    display = BoostingCurveDisplay.from_estimator(rules, X, y)
    np.testing.assert_array_equal(display.held_out, rules.validation_costs_)
    assert display.bound is None


def test_rounds_of_a_ranker_are_pairs_within_queries(esl):
    X, y = esl
    qid = np.arange(len(y)) % 5
    model = make_pipeline(StandardScaler(), RankBoost(15)).fit(X, y, rankboost__qid=qid)
    held_out = (X[:100], y[:100], qid[:100])
    display = BoostingCurveDisplay.from_estimator(model, X, y, qid=qid, held_out=held_out)
    assert (display.training <= display.bound + 1e-12).all()
    direct = misranking_loss(y, model.predict(X), qid=qid, ties="error")
    assert display.training[-1] == pytest.approx(direct)
    direct = misranking_loss(y[:100], model.predict(X[:100]), qid=qid[:100], ties="error")
    assert display.held_out[-1] == pytest.approx(direct)


def test_what_has_no_rounds_is_refused(esl):
    X, y = esl
    model = ProportionalOdds().fit(X, y)
    with pytest.raises(ValueError, match=r"staged_predict, .* found ProportionalOdds\."):
        BoostingCurveDisplay.from_estimator(model, X, y)
    boosted = AdaBoostOR(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="qid must be None for ordinal classifiers"):
        BoostingCurveDisplay.from_estimator(boosted, X, y, qid=y)
