"""Confusion, latent scores, calibration and margins: the numbers that are drawn."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, gaussian_kde
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import (
    SVOR,
    AdaBoostOR,
    LinearRankSVM,
    OrdinalReduction,
    ProportionalOdds,
)
from echelon.datasets import load_esl
from echelon.metrics import misranking_loss, ordinal_report, zero_one_error
from echelon.plots import (
    CumulativeCalibrationDisplay,
    LatentDisplay,
    MarginDistributionDisplay,
    OrdinalConfusionDisplay,
)
from echelon.plots.calibration import calibration_bins, wilson_interval

CLASSES = ["poor", "fair", "good"]


@pytest.fixture(scope="module")
def esl():
    return load_esl(return_X_y=True)


@pytest.fixture(scope="module")
def odds(esl):
    return ProportionalOdds(alpha=1.0).fit(*esl)


# ------------------------------------------------------------------------------------ confusion


def test_confusion_counts_by_hand_in_the_order_of_the_scale():
    y = ["good", "poor", "fair", "good", "fair"]
    p = ["good", "fair", "fair", "poor", "fair"]
    display = OrdinalConfusionDisplay.from_predictions(y, p, classes=CLASSES, values="count")
    np.testing.assert_array_equal(display.matrix, [[0, 1, 0], [0, 2, 0], [1, 0, 1]])
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == CLASSES
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == CLASSES
    assert display.text_[2, 0].get_text() == "1" and display.text_[0, 0] is None
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]


def test_confusion_takes_weights_as_repeated_rows():
    y, p, w = [1, 2, 3, 1], [1, 1, 3, 3], [2, 1, 3, 0]
    weighted = OrdinalConfusionDisplay.from_predictions(y, p, sample_weight=w)
    repeated = OrdinalConfusionDisplay.from_predictions(np.repeat(y, w), np.repeat(p, w))
    np.testing.assert_array_equal(weighted.matrix, repeated.matrix)
    np.testing.assert_array_equal(weighted.report.n, repeated.report.n)


def test_confusion_emphasises_distance_and_shows_the_error_of_each_class(esl, odds):
    X, y = esl
    display = OrdinalConfusionDisplay.from_estimator(odds, X, y)
    report = ordinal_report(y, odds.predict(X), classes=odds.classes_)
    np.testing.assert_array_equal(display.report.mean_absolute_error, report.mean_absolute_error)
    np.testing.assert_allclose(np.diag(display.shares), report.recall)
    texts = [text.get_text() for text in display.ax_.texts]
    assert all(f"{value:.2f}" in texts for value in report.mean_absolute_error)
    square = OrdinalConfusionDisplay.from_predictions([1, 1, 2, 3, 4], [2, 4, 2, 3, 4])
    opacity = square.cells_.get_facecolor()[:, 3].reshape(4, 4)
    assert opacity[0, 3] > opacity[0, 1] > opacity[0, 2] == 0.0


def test_confusion_of_a_class_without_rows_is_a_dash():
    display = OrdinalConfusionDisplay.from_predictions(
        ["poor", "good"], ["poor"] * 2, classes=CLASSES
    )
    assert np.isnan(display.shares[1]).all()
    assert "–" in [text.get_text() for text in display.ax_.texts]
    with pytest.raises(ValueError, match=r"values must be 'share' or 'count'; found 'all'\."):
        display.plot(values="all")


# --------------------------------------------------------------------------------------- latent


def test_latent_densities_and_thresholds_are_those_of_the_model(esl, odds):
    X, y = esl
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    display = LatentDisplay.from_estimator(odds, X, y, sample_weight=w)
    rows = y == 5
    direct = gaussian_kde(odds.predict_latent(X)[rows], weights=w[rows])(display.grid)
    np.testing.assert_allclose(display.densities[4], direct)
    drawn = [line.get_xdata()[0] for line in display.threshold_lines_]
    np.testing.assert_allclose(drawn, odds.thresholds_)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [str(k) for k in range(1, 10)]
    # Two rows have no density: they are drawn one by one.
    assert display.densities[0] is None and (y == 1).sum() < 5
    assert len(display.density_artists_) == 9


def test_latent_leaves_out_infinite_thresholds_and_classes_without_rows():
    score = np.linspace(-1, 1, 20)
    y = np.where(score > 0, "good", "poor")
    b = [-np.inf, 0.0]
    display = LatentDisplay.from_predictions(y, score, b, classes=CLASSES)
    assert len(display.threshold_lines_) == 1 and len(display.density_artists_) == 2
    assert display.densities[1] is None
    constant = LatentDisplay.from_predictions([1, 1, 2, 2], [0.0, 0.0, 0.0, 0.0])
    assert constant.densities == [None, None]
    with pytest.raises(ValueError, match="scores must hold at least one finite number"):
        LatentDisplay.from_predictions([1, 2], [np.inf, np.inf])


def test_latent_says_what_the_score_is(esl):
    X, y = esl
    few = y.clip(4, 6)
    shown = {
        "latent score f(x)": make_pipeline(StandardScaler(), ProportionalOdds(alpha=1.0)),
        "mean margin over thresholds": OrdinalReduction(LogisticRegression()),
        "expected rank, from 0": RandomForestClassifier(5, random_state=0),
        "score": LinearRankSVM(),
    }
    for score_name, model in shown.items():
        display = LatentDisplay.from_estimator(model.fit(X, few), X, few)
        assert display.score_name == score_name == display.ax_.get_xlabel()
    pipe = shown["latent score f(x)"]
    found = LatentDisplay.from_estimator(pipe, X, few)
    np.testing.assert_allclose(found.scores, pipe[-1].predict_latent(pipe[0].transform(X)))
    np.testing.assert_array_equal(found.thresholds, pipe[-1].thresholds_)
    assert found.name == "ProportionalOdds"


# ---------------------------------------------------------------------------------- calibration


def test_bins_by_hand():
    p = np.array([0.05, 0.15, 0.12, 0.9, 0.95, 0.55])
    y = np.array([0, 1, 0, 1, 1, 0])
    w = np.array([1.0, 1.0, 3.0, 2.0, 2.0, 1.0])
    bins = calibration_bins(y, p, w, n_bins=5, strategy="uniform")
    np.testing.assert_allclose(bins.counts, [5, 1, 4])
    np.testing.assert_allclose(bins.predicted, [(0.05 + 0.15 + 0.36) / 5, 0.55, 0.925])
    np.testing.assert_allclose(bins.observed, [0.2, 0, 1])
    thirds = calibration_bins(y, p, n_bins=3, strategy="quantile")
    np.testing.assert_allclose(thirds.counts, [2, 2, 2])
    np.testing.assert_allclose(thirds.predicted, [0.085, 0.35, 0.925])


def test_equal_probabilities_share_a_bin():
    bins = calibration_bins(
        [0, 1, 1, 0, 1], [0.5, 0.5, 0.5, 0.5, 0.9], n_bins=4, strategy="quantile"
    )
    np.testing.assert_allclose(bins.predicted, [0.5, 0.9])
    np.testing.assert_allclose(bins.observed, [0.5, 1.0])


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 8), (40, 40), (17, 100)])
def test_bands_are_wilsons_intervals(hits, n):
    low, high = wilson_interval(np.array([hits / n]), np.array([float(n)]), 0.9)
    direct = binomtest(hits, n).proportion_ci(0.9, method="wilson")
    np.testing.assert_allclose([low[0], high[0]], direct, atol=1e-12)


def test_curves_are_the_questions_at_each_threshold(esl, odds):
    X, y = esl
    p = odds.predict_proba(X)
    display = CumulativeCalibrationDisplay.from_estimator(odds, X, y, n_bins=6)
    assert list(display.curves) == [f"> {k}" for k in range(1, 9)]
    direct = calibration_bins(y > 5, p[:, 5:].sum(axis=1), n_bins=6, strategy="uniform")
    np.testing.assert_allclose(display.curves["> 5"].observed, direct.observed)
    np.testing.assert_allclose(display.curves["> 5"].predicted, direct.predicted)
    line = display.panels_["> 5"].lines[-1]
    np.testing.assert_array_equal(line.get_ydata(), display.curves["> 5"].observed)
    by_class = CumulativeCalibrationDisplay.from_estimator(odds, X, y, by="class")
    direct = calibration_bins(y == 5, p[:, 4], strategy="uniform")
    np.testing.assert_allclose(by_class.curves["5"].observed, direct.observed)
    assert list(by_class.plot(curves=["4", "5"]).panels_) == ["4", "5"]


def test_many_curves_are_a_selection_that_says_so():
    n = 30
    y = np.arange(300) % n
    proba = np.full((300, n), 1 / n)
    display = CumulativeCalibrationDisplay.from_predictions(y, proba)
    assert len(display.panels_) == len(display.line_) == 12 and len(display.curves) == 29
    assert display.ax_.get_title(loc="left") == "12 of 29 curves"
    drawn = list(display.panels_)
    assert drawn[0] == "> 0" and drawn[-1] == "> 28"


def test_calibration_refuses_in_sentences(esl):
    X, y = esl
    proba = [[0.5, 0.5], [0.5, 0.5]]
    show = CumulativeCalibrationDisplay.from_predictions
    with pytest.raises(ValueError, match="by must be 'threshold' or 'class'"):
        show([1, 2], proba, by="row")
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1; found 1"):
        show([1, 2], proba, confidence=1)
    with pytest.raises(ValueError, match="proba must have one column per class"):
        show([1, 2], [[1.0], [1.0]])
    with pytest.raises(ValueError, match="curves must name some of"):
        show([1, 2], proba).plot(curves=["> 7"])
    with pytest.raises(ValueError, match="OrdinalCalibrator gives probabilities"):
        CumulativeCalibrationDisplay.from_estimator(SVOR().fit(X[:50], y[:50]), X, y)


# -------------------------------------------------------------------------------------- margins


def test_share_at_zero_is_the_error_and_weights_repeat_rows(esl):
    X, y = esl
    model = AdaBoostOR(n_estimators=20).fit(X, y)
    w = np.random.default_rng(0).integers(0, 3, len(y))
    display = MarginDistributionDisplay.from_estimator(model, X, y, sample_weight=w)
    error = zero_one_error(y, model.predict(X), sample_weight=w)
    assert display.share_up_to(0.0) == pytest.approx(error, abs=1e-12)
    x, height = display.line_.get_data()
    direct = [display.share_up_to(margin) for margin in x]
    np.testing.assert_allclose(height, direct, atol=1e-12)


def test_margins_of_pairs_within_queries(esl):
    X, y = esl
    qid = np.arange(len(y)) % 7
    model = LinearRankSVM().fit(X, y, qid=qid)
    display = MarginDistributionDisplay.from_estimator(model, X, y, qid=qid)
    loss = misranking_loss(y, model.predict(X), qid=qid, ties="error")
    assert display.of == "pairs"
    assert display.share_up_to(0.0) == pytest.approx(loss, abs=1e-12)


def test_many_pairs_are_drawn_and_always_the_same():
    rng = np.random.default_rng(1)
    y, f = rng.integers(0, 4, 2000), rng.normal(size=2000)
    one = MarginDistributionDisplay.from_scores(y, f)
    two = MarginDistributionDisplay.from_scores(y, f)
    np.testing.assert_array_equal(one.margins, two.margins)
    exact = misranking_loss(y, f, ties="error")
    assert abs(one.share_up_to(0.0) - exact) < 0.01


def test_margins_of_several_models_share_axes(esl, odds):
    X, y = esl
    first = MarginDistributionDisplay.from_estimator(odds, X, y)
    assert first.ax_.get_legend() is None
    other = AdaBoostOR(n_estimators=5).fit(X, y)
    second = MarginDistributionDisplay.from_estimator(other, X, y, name="boosted", ax=first.ax_)
    assert second.ax_ is first.ax_
    names = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert names == ["ProportionalOdds", "boosted"]
    assert first.line_.get_color() != second.line_.get_color()


def test_margins_refuse_in_sentences(esl):
    X, y = esl
    show = MarginDistributionDisplay
    with pytest.raises(ValueError, match="a column for each of the 2 thresholds; found 1"):
        show.from_predictions([1, 2, 3], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="two different labels within a query"):
        show.from_scores([1, 1], [0.1, 0.2])
    forest = RandomForestClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="found RandomForestClassifier"):
        show.from_estimator(forest, X, y)


def test_ordered_categories_keep_their_order(esl):
    X, _ = esl
    y = pd.Categorical.from_codes(np.arange(len(X)) % 3, CLASSES, ordered=True)
    model = ProportionalOdds(alpha=1.0).fit(X, y)
    for show in (LatentDisplay, OrdinalConfusionDisplay):
        display = show.from_estimator(model, X, y)
        assert [t.get_text() for t in display.ax_.get_yticklabels()] == CLASSES
    display = CumulativeCalibrationDisplay.from_estimator(model, X, y)
    assert list(display.curves) == ["> poor", "> fair"]
