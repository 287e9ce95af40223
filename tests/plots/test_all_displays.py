"""What all displays have in common: axes given are used, inks and letters are of the style."""

import io
import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from echelon import AdaBoostOR, ProportionalOdds, RankRules, plots
from echelon.model_selection import Leaderboard, LeaderboardRow
from echelon.plots import style

NAMES = ["very dissatisfied with it", "neither $this$ nor that", "satisfied", "very satisfied"]


def made_up(n_classes, n=400):
    rng = np.random.default_rng(n_classes)
    score = rng.normal(size=n)
    codes = np.clip(((score + 0.4 * rng.normal(size=n)) * n_classes / 5 + n_classes / 2), 0, None)
    codes = np.minimum(codes.astype(int), n_classes - 1)
    labels = np.array([f"{NAMES[k % 4]} {k}" for k in range(n_classes)])
    return score, labels[codes], list(labels)


def latent(ax, n_classes):
    score, y, classes = made_up(n_classes)
    b = np.linspace(-2, 2, n_classes - 1)
    return plots.LatentDisplay.from_predictions(y, score, b, classes=classes, name="it", ax=ax)


def confusion(ax, n_classes):
    _, y, classes = made_up(n_classes)
    show = plots.OrdinalConfusionDisplay.from_predictions
    return show(y, np.roll(y, 1), classes=classes, name="it", ax=ax)


def calibration(ax, n_classes):
    _, y, classes = made_up(n_classes)
    p = np.random.default_rng(0).dirichlet(np.ones(n_classes), len(y))
    return plots.CumulativeCalibrationDisplay.from_predictions(y, p, classes=classes, ax=ax)


def roc(ax, n_classes):
    score, y, classes = made_up(n_classes)
    return plots.ROCDisplay.from_predictions(y, score, classes=classes, name="it", ax=ax)


def pairwise_roc(ax, n_classes):
    score, y, classes = made_up(n_classes)
    return plots.PairwiseROCDisplay.from_predictions(y, score, classes=classes, ax=ax)


def margins(ax, n_classes):
    score, y, classes = made_up(n_classes)
    G = score[:, None] - np.linspace(-2, 2, n_classes - 1)
    show = plots.MarginDistributionDisplay.from_predictions
    return show(y, G, classes=classes, name="second", ax=show(y, 2 * G, classes=classes, ax=ax).ax_)


def decision_boundary(ax, n_classes):
    score, y, classes = made_up(n_classes)
    X = np.column_stack([score, np.random.default_rng(0).normal(size=len(score))])
    model = ProportionalOdds(alpha=1.0, classes=classes).fit(X, y)
    show = plots.DecisionBoundaryDisplay.from_estimator
    return show(model, X, y, grid_resolution=20, ax=ax)


def effect(ax, n_classes):
    values = [f"{NAMES[k % 4]} {k}" for k in range(n_classes)]
    below = np.linspace(0.1, 0.8, 3) * np.ones((n_classes, 1))
    counts = (np.arange(n_classes), np.arange(n_classes))
    made = SimpleNamespace(feature="a $x$", kind="category", values=values, histogram=counts)
    made.expected_rank, made.cumulative = below.sum(axis=1), below
    return plots.EffectDisplay(made, classes="abcd").plot(ax, response="cumulative")


def importance(ax, n_classes):
    mean = np.linspace(0.0, 1.0, n_classes)
    features = [f"{NAMES[k % 4]} {k}" for k in range(n_classes)]
    made = SimpleNamespace(features=features, mean=mean, sd=0.1 + mean, baseline=0.5)
    return plots.ImportanceDisplay(made).plot(ax)


def learning_curve(ax, n_classes):
    at = np.arange(1.0, n_classes + 1)
    made = SimpleNamespace(sizes=at, train_mean=at, train_sd=at, test_mean=at, test_sd=at)
    return plots.LearningCurveDisplay(made, name="it").plot(ax)


def leaderboard(ax, n_classes):
    rows = [
        LeaderboardRow(f"{NAMES[k % 4]} {k}", {"mae": np.array([k, k + 1.0, np.nan])}, 1.0)
        for k in range(n_classes)
    ]
    return plots.LeaderboardDisplay(Leaderboard(tuple(rows))).plot(ax)


def boosting_curve(ax, n_classes):
    fall = 1 / np.arange(1, n_classes + 1)
    return plots.BoostingCurveDisplay(fall, 2 * fall, 1.5 * fall, name="it").plot(ax)


def relevance(ax, n_classes):
    features = [f"{NAMES[k % 4]} {k}" for k in range(n_classes)]
    return plots.RelevanceDisplay(10.0 ** -np.arange(n_classes), features, evidence=-1.0).plot(ax)


def rule_coverage(ax, n_classes):
    score, y, classes = made_up(4)
    model = RankRules(n_classes, random_state=0, classes=classes).fit(score[:, None], y)
    return plots.RuleCoverageDisplay.from_estimator(model, ax=ax)


DRAWN = {
    "BoostingCurveDisplay": boosting_curve,
    "CumulativeCalibrationDisplay": calibration,
    "DecisionBoundaryDisplay": decision_boundary,
    "EffectDisplay": effect,
    "ImportanceDisplay": importance,
    "LatentDisplay": latent,
    "LeaderboardDisplay": leaderboard,
    "LearningCurveDisplay": learning_curve,
    "MarginDistributionDisplay": margins,
    "OrdinalConfusionDisplay": confusion,
    "PairwiseROCDisplay": pairwise_roc,
    "ROCDisplay": roc,
    "RelevanceDisplay": relevance,
    "RuleCoverageDisplay": rule_coverage,
}


def test_every_display_is_here():
    assert {*DRAWN, "CriticalDifferenceDisplay"} == set(plots.__all__)


@pytest.mark.parametrize("name", DRAWN)
def test_axes_given_are_used_and_no_figure_is_opened(name):
    ax = Figure(figsize=(5, 4), layout="constrained").subplots()
    display = DRAWN[name](ax, 4)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert not plt.get_fignums()


@pytest.mark.parametrize("n_classes", [2, 30])
@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_has_only_inks_of_the_style_and_no_small_letters(name, n_classes):
    display = DRAWN[name](None, n_classes)
    assert plt.get_fignums() == [display.figure_.number]
    assert tuple(display.figure_.get_size_inches()) == pytest.approx(display.size)
    texts = [t for t in display.figure_.findobj(Text) if t.get_text() and t.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= style.SMALL
    svg = io.StringIO()
    with plt.rc_context({"svg.fonttype": "none"}):
        display.figure_.savefig(svg, format="svg")
    inks = {style.INK, style.FAINT, style.GRID, style.PAPER, *style.SERIES}
    inks |= {color for n in range(2, 32) for color in style.class_colors(n)}
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg.getvalue())) <= inks


@pytest.mark.parametrize("name", [n for n in DRAWN if n != "RuleCoverageDisplay"])
def test_dollar_signs_in_names_are_no_formulas(name):
    display = DRAWN[name](None, 4)
    texts = [t for t in display.figure_.findobj(Text) if "$" in t.get_text()]
    assert not any(text.get_parse_math() for text in texts)


def test_plotting_again_draws_on_a_figure_of_its_own():
    score, y, classes = made_up(4)
    model = AdaBoostOR(n_estimators=5, classes=classes).fit(score[:, None], y)
    display = plots.OrdinalConfusionDisplay.from_estimator(model, score[:, None], y)
    first = display.figure_
    assert display.plot().figure_ is not first
    assert first.axes[0].get_yticklabels()[0].get_text().startswith("very diss")
