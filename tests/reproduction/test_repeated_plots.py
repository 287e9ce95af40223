"""Plots of errors over trials: completion of ratings and selection of inputs."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch

from echelon import datasets
from reproduction.models import registry
from reproduction.plots import completion, measure, picture, plot_page, read_plot
from reproduction.plots.trials import Trials
from reproduction.ratings import Ratings


class Nearest(ClassifierMixin, BaseEstimator):
    """The label of the training row with the largest inner product; a stand-in for every model."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        self.n_features_in_ = X.shape[1]
        self.converged_ = self.seed % 2 == 0
        return self

    def predict(self, X):
        return self.y_[np.argmax(np.nan_to_num(X) @ np.nan_to_num(self.X_).T, axis=1)]

    def select_features(self, number):
        """Inputs by how well they agree with the label."""
        agreement = np.abs(self.X_.T @ (self.y_ - self.y_.mean()))
        return np.argsort(-agreement, kind="stable")[:number]


@pytest.fixture
def stand_ins(monkeypatch):
    kernels = ("linear", "Pearson")
    for name in [*(f"{m} ({k})" for m in ("IMC", "MAP", "EP") for k in kernels), "ARD"]:
        model = registry.Model(name, lambda problem: Nearest(problem.seed))
        monkeypatch.setitem(registry._MODELS, name, model)


def change(name, settings, **effort):
    plot = read_plot(name)
    return dataclasses.replace(
        plot, settings={**plot.settings, **settings}, effort={"quick": effort}
    )


@pytest.fixture
def ratings(monkeypatch, stand_ins):
    """Figure 3 on made-up ratings: user 0 rates as users with even numbers do."""
    rng = np.random.default_rng(0)
    taste = rng.normal(size=30)
    values = np.outer([1.0, -1.0] * 6, taste) + 0.2 * rng.normal(size=(12, 30))
    there = rng.random((12, 30)) < 0.7
    there[0] = True
    users, items = np.nonzero(there)
    made_up = Ratings(users, items, values[there])
    monkeypatch.setattr(completion, "read_ratings", lambda name: made_up)
    sets = {
        "insteval": {"label": "One", "inputs": 8, "choice": "most", "cuts": [-0.5, 0.5]},
        "jester5k": {"label": "Two", "inputs": 6, "choice": "random", "cuts": [0.0]},
    }
    return change("cg05-figure3", {"sets": sets, "sizes": [10, 20], "rank": 1}, trials=3)


def check_tables(page):
    for block in page.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


def test_completion_measures_what_it_says(ratings):
    told = []
    shown = measure(ratings, "quick", told.append)
    assert [(c.label, c.completion, c.training) for c in shown.cases] == [
        (label, filled, size)
        for label in ("One", "Two")
        for filled in ("mean imputation", "low-rank completion")
        for size in (10, 20)
    ]
    assert told[0] == "One, mean imputation, 10 training items"
    first = shown.cases[0]
    assert [t.short for t in first.trials] == ["IMC", "MAP", "EP"]
    problem = completion.rating_problem(
        completion.read_ratings(""), inputs=8, choice="most", cuts=[-0.5, 0.5], seed=0
    )
    X = problem.X
    for trial in range(3):
        order = np.random.default_rng([0, trial]).permutation(30)
        train, test = order[:10], order[10:]
        predicted = Nearest().fit(X[train], problem.y[train]).predict(X[test])
        wrong = np.mean(predicted != problem.y[test])
        assert first.trials[0].errors["zero_one"][trial] == pytest.approx(wrong)


def test_the_page_of_completion(ratings):
    shown = measure(ratings, "quick")
    page = plot_page(ratings, shown, "quick")
    check_tables(page)
    before, after = shown.cases[1].trials[0], shown.cases[3].trials[0]
    assert (shown.cases[1].training, shown.cases[3].training) == (20, 20)
    differences = after.errors["absolute"] - before.errors["absolute"]
    mean, se = differences.mean(), differences.std(ddof=1) / np.sqrt(3)
    text = f"{mean:+.3f} ± {se:.3f}".replace("-", "−")
    assert f"| One | 20 | IMC | {text} |" in page
    assert f"| One | mean imputation | 20 | {before.text('absolute')} |" in page
    assert "3 random choices" in page and "user 0 on 30 items, 3 ranks, from 8 other users" in page


def test_the_picture_of_completion(ratings):
    pytest.importorskip("matplotlib")
    shown = measure(ratings, "quick")
    content = picture(ratings, shown)
    assert content == picture(ratings, shown) and len(content) < 300_000
    text = content.decode()
    for piece in ("One", "low-rank completion", "mean absolute error", "training items", "EP"):
        assert piece in text


@pytest.fixture
def inputs(monkeypatch, stand_ins):
    """Figure 4 on a set of six inputs, of which the last alone matters, and on drawn rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 6))
    bunch = Bunch(
        data=X,
        target=1 + np.searchsorted([-0.5, 0.5], X[:, 5]),
        train=np.array([rng.permutation(40) < 25 for _ in range(4)]),
        classes=np.array([1, 2, 3]),
    )
    monkeypatch.setattr(datasets, "fetch_splits", lambda collection, name: bunch)
    plot = read_plot("cg05-figure4")
    sets = {key: dict(plot.settings["sets"][key]) for key in ("synthetic", "pyrimidines")}
    sets["pyrimidines"]["training"] = 25
    sets["synthetic"] |= {"training": 30, "test": 50}
    sets["synthetic"]["options"] = {**sets["synthetic"]["options"], "n_features": 9}
    return change("cg05-figure4", {"sets": sets}, trials=4), bunch


def test_selection_keeps_the_most_relevant_inputs(inputs):
    plot, bunch = inputs
    shown = measure(plot, "quick")
    assert [(stage.label, stage.kept) for stage in shown.stages] == [
        *(("Synthetic", kept) for kept in (9, 8, 4, 2, 1)),
        *(("Pyrimidines", kept) for kept in (6, 4, 2, 1)),
    ]
    last = shown.stages[-1]
    for trial, train in enumerate(bunch.train):
        mean, sd = bunch.data[train, 5:].mean(), bunch.data[train, 5:].std()
        column = (bunch.data[:, 5:] - mean) / sd
        model = Nearest().fit(column[train], bunch.target[train])
        errors = np.abs(model.predict(column[~train]) - bunch.target[~train])
        assert last.trials[0].errors["absolute"][trial] == pytest.approx(errors.mean())
    assert "Of the 8 searches for relevances, 4 ended at their limit" in shown.setting


def test_the_page_and_picture_of_selection(inputs):
    pytest.importorskip("matplotlib")
    plot, _ = inputs
    shown = measure(plot, "quick")
    page = plot_page(plot, shown, "quick")
    check_tables(page)
    stage = shown.stages[0]
    texts = " | ".join(trials.text("absolute") for trials in stage.trials)
    assert f"| Synthetic | 9 | {texts} |" in page
    content = picture(plot, shown)
    assert content == picture(plot, shown) and len(content) < 300_000
    text = content.decode()
    for piece in ("Pyrimidines, EP", "inputs kept", "mean zero-one error"):
        assert piece in text


def test_a_single_trial_has_no_spread(inputs):
    pytest.importorskip("matplotlib")
    assert Trials("MAP (linear)", {"absolute": np.array([0.5])}).text("absolute") == "0.500"
    plot = dataclasses.replace(inputs[0], effort={"quick": {"trials": 1}})
    assert picture(plot, measure(plot, "quick"))


def test_a_single_trial_of_ratings_has_no_standard_error(ratings):
    pytest.importorskip("matplotlib")
    plot = dataclasses.replace(ratings, effort={"quick": {"trials": 1}})
    shown = measure(plot, "quick")
    assert not any("nan" in cell for sheet in shown.sheets() for row in sheet.rows for cell in row)
    assert picture(plot, shown)
