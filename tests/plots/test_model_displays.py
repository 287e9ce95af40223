"""Boundaries, rules and relevances of models, and displays of results that others compute."""

from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import GPOR, SVOR, LinearRankSVM, OrdinalReduction, ProportionalOdds, RankRules
from echelon.datasets import load_esl
from echelon.metrics import Summary
from echelon.plots import (
    DecisionBoundaryDisplay,
    EffectDisplay,
    ImportanceDisplay,
    LeaderboardDisplay,
    LearningCurveDisplay,
    RelevanceDisplay,
    RuleCoverageDisplay,
    style,
)

CLASSES = ["poor", "fair", "good"]


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 2))
    codes = np.clip((X.sum(axis=1) + 1.5 + 0.2 * rng.normal(size=120)).astype(int), 0, 2)
    return X, np.array(CLASSES)[codes]


# ------------------------------------------------------------------------------------- boundary


def test_lines_lie_where_the_score_meets_the_thresholds(plane):
    X, y = plane
    model = ProportionalOdds(alpha=1.0, classes=CLASSES).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, grid_resolution=40)
    assert len(display.lines_) == 2
    for line, b in zip(display.lines_, model.thresholds_, strict=True):
        points = np.concatenate([path.vertices for path in line.get_paths()])
        np.testing.assert_allclose(model.predict_latent(points), b, atol=1e-6)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    labels = np.array(CLASSES)[display.codes.ravel()]
    np.testing.assert_array_equal(labels, model.predict(grid))
    assert len(display.points_) == 3
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == CLASSES[::-1]


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_keep_their_names(plane, library):
    X, y = plane
    frame = library.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = make_pipeline(StandardScaler(), SVOR(classes=CLASSES)).fit(frame, y)
    display = DecisionBoundaryDisplay.from_estimator(model, frame, grid_resolution=10)
    assert display.ax_.get_xlabel() == "width" and display.ax_.get_ylabel() == "height"
    assert display.points_ == [] and display.name == "SVOR"


def test_models_without_margins_have_lines_where_labels_change(plane):
    X, y = plane
    codes = np.array([CLASSES.index(label) for label in y])
    display = DecisionBoundaryDisplay.from_estimator(LogisticRegression().fit(X, codes), X)
    assert display.margins is None and len(display.lines_) == 2
    with pytest.raises(ValueError, match=r"X must have two columns; found shape \(120, 1\)\."):
        DecisionBoundaryDisplay.from_estimator(LogisticRegression().fit(X, codes), X[:, :1])
    with pytest.raises(ValueError, match="found LinearRankSVM"):
        DecisionBoundaryDisplay.from_estimator(LinearRankSVM().fit(X, codes), X)


# ---------------------------------------------------------------------------- rules, relevances


def test_rules_by_importance_with_coverage_and_direction(plane):
    X, y = plane
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = RankRules(30, random_state=0, classes=CLASSES).fit(frame, y)
    display = RuleCoverageDisplay.from_estimator(make_pipeline(model), most=6)
    best = sorted(model.rules_, key=lambda rule: -rule.importance)[:6]
    assert [rule.importance for rule in display.rules_] == [rule.importance for rule in best]
    assert [bar.get_width() for bar in display.bars_] == [rule.coverage for rule in best]
    raised = to_rgb(style.SECOND), to_rgb(style.ACCENT)
    wanted = [raised[0] if rule.response > 0 else raised[1] for rule in best]
    assert [bar.get_facecolor()[:3] for bar in display.bars_] == wanted
    first = display.ax_.get_yticklabels()[0].get_text().replace("\n", " ")
    assert first == best[0].text()
    assert f"6 of {len(model.rules_)} rules" in display.ax_.get_xlabel()


def test_rules_of_a_threshold_say_which(plane):
    X, y = plane
    model = RankRules(5, loss="binary", random_state=0, classes=CLASSES).fit(X, y)
    display = RuleCoverageDisplay.from_estimator(model)
    texts = [text.get_text().replace("\n", " ") for text in display.ax_.get_yticklabels()]
    assert any(text.startswith("above poor: ") for text in texts)
    with pytest.raises(ValueError, match="must be fitted and have rules_"):
        RuleCoverageDisplay.from_estimator(SVOR())
    with pytest.raises(ValueError, match="at least one rule; found none"):
        RuleCoverageDisplay([])


def test_relevances_of_processes_by_size_with_names():
    X, y = load_esl(return_X_y=True)
    frame = pd.DataFrame(X[:60], columns=["a", "b", "c", "d"])
    model = GPOR("rbf_ard", inference="laplace").fit(frame, y[:60])
    display = RelevanceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.relevances, model.feature_relevance_)
    order = np.argsort(-model.feature_relevance_, kind="stable")
    assert display.features_ == ["abcd"[j] for j in order]
    assert f"{abs(model.log_marginal_likelihood_value_):.1f}" in display.ax_.get_title(loc="left")
    kernel = RBF([1.0, 2.0, 4.0, 8.0])
    other = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.1)
    pipe = make_pipeline(StandardScaler(), other).fit(frame, y[:60])
    display = RelevanceDisplay.from_estimator(pipe, most=3)
    np.testing.assert_allclose(display.relevances, [1, 1 / 4, 1 / 16, 1 / 64])
    assert display.features_ == ["a", "b", "c"]
    assert display.ax_.get_xscale() == "linear"
    assert RelevanceDisplay([1e-4, 1.0], "ab").plot().ax_.get_xscale() == "log"
    with pytest.raises(ValueError, match="kernel has a parameter for each input"):
        RelevanceDisplay.from_estimator(GPOR(inference="laplace").fit(frame, y[:60]))
    with pytest.raises(ValueError, match="features must name the 2 inputs; found 1 names"):
        RelevanceDisplay([1.0, 2.0], ["a"])


# -------------------------------------------------------------------------------------- results


def test_effects_of_numbers_categories_and_dates():
    rank = np.array([0.5, 1.0, 1.6])
    below = np.array([[0.6, 0.9], [0.3, 0.7], [0.1, 0.3]])
    counts = (np.array([0.0, 1.0, 2.0]), np.array([5, 9]))
    number = SimpleNamespace(feature="age", kind="number", values=[0, 1, 2], histogram=counts)
    number.expected_rank, number.cumulative, number.classes = rank, below, CLASSES
    display = EffectDisplay(number).plot()
    np.testing.assert_array_equal(display.line_[0].get_ydata(), 1 + rank)
    assert len(display.ax_.patches) == 2 and display.ax_.get_xlabel() == "age"
    display = EffectDisplay(number).plot(response="cumulative")
    np.testing.assert_array_equal([line.get_ydata() for line in display.line_], below.T)
    assert [text.get_text() for text in display.ax_.texts] == CLASSES
    day = SimpleNamespace(**{**vars(number), "kind": "date", "histogram": None})
    day.values = [date(2020, 1, 1), date(2020, 7, 1), date(2021, 1, 1)]
    labels = EffectDisplay(day).plot().ax_.get_xticklabels()
    assert labels[0].get_text() == "2020-01-01" and labels[-1].get_text() == "2021-01-01"
    group = SimpleNamespace(**{**vars(number), "kind": "category", "values": CLASSES})
    group.histogram, group.cumulative, group.unit = (
        (np.arange(3), np.array([1, 2, 3])),
        None,
        "score",
    )
    display = EffectDisplay(group).plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == CLASSES
    assert display.ax_.get_ylabel() == "mean score"
    with pytest.raises(ValueError, match="the model gives no class probabilities"):
        EffectDisplay(group).plot(response="cumulative")


def test_importances_by_size():
    made = SimpleNamespace(features=["a", "b", "c"], mean=np.array([0.1, 0.4, -0.1]), baseline=0.5)
    made.sd = np.array([0.01, np.nan, 0.02])
    display = ImportanceDisplay(made, most=2).plot()
    assert display.features_ == ["b", "a"]
    assert [bar.get_width() for bar in display.bars_] == [0.4, 0.1]
    assert "2 of 3 inputs" in display.ax_.get_xlabel() and "0.500" in display.ax_.get_xlabel()


def test_learning_curves():
    curve = SimpleNamespace(sizes=[10, 20], train_mean=[0.1, 0.2], train_sd=[0.0, 0.0])
    curve.test_mean, curve.test_sd = [0.5, 0.4], [0.1, 0.1]
    display = LearningCurveDisplay(curve).plot()
    np.testing.assert_array_equal(display.line_["held out"].get_ydata(), [0.5, 0.4])
    np.testing.assert_array_equal(display.line_["training"].get_xdata(), [10, 20])
    assert [text.get_text() for text in display.ax_.texts] == ["training", "held out"]


def test_a_leaderboard_marks_the_leaders():
    folds = {"A": [0.1, 0.2, 0.3], "B": [0.2, 0.3, np.nan], "C": [0.9, 0.8, 0.7], "D": [np.nan] * 3}
    rows = [SimpleNamespace(model=name, folds={"mae": part}) for name, part in folds.items()]
    board = SimpleNamespace(rows=rows, measure="mae", contenders=("A", "B"))
    display = LeaderboardDisplay(board).plot()
    assert display.leaders == ["A", "B"] and list(display.summaries) == ["A", "B", "C"]
    assert display.summaries["B"] == Summary.of([0.2, 0.3])
    assert display.marks_["A"].get_xdata()[0] == pytest.approx(0.2)
    full = [m.get_color() == m.get_markerfacecolor() for m in display.marks_.values()]
    assert full == [True, True, False]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["A", "B", "C"]
    with pytest.raises(ValueError, match="measure must be 'mae'; found 'qwk'"):
        LeaderboardDisplay(board, measure="qwk")
    with pytest.raises(ValueError, match="must have a model with figures for 'mae'"):
        LeaderboardDisplay(SimpleNamespace(rows=rows[3:], measure="mae"))


def test_margins_of_a_reduction_cut_the_plane(plane):
    X, y = plane
    model = OrdinalReduction(LogisticRegression(), classes=CLASSES).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, grid_resolution=15)
    assert display.margins.shape == (15, 15, 2)
