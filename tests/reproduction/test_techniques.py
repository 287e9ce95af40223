"""Figure 1 of [DK09]: the curves are those of the models, and all four panels are drawn."""

import dataclasses

import numpy as np
import pytest

from reproduction.models import registry
from reproduction.plots import measure, picture, plot_page, read_plot, timing
from reproduction.plots.techniques import smooth
from reproduction.protocol import Population, draw_split

MODELS = ("RankRules SM (plain)", "RankRules GD (regularised)", "RankRules CS 0.5 (regularised)")


class Rules:
    """Predicts the true rank plus or minus what is left of `start` rounds; covers ever less."""

    def __init__(self, problem, shrinkage, n_rounds=6):
        self.problem, self.shrinkage, self.subsample = problem, shrinkage, 1.0
        self.n_rules, self.n_rounds = 6, n_rounds
        self.fits = []

    def set_params(self, subsample):
        self.subsample = subsample
        return self

    def fit(self, X, y):
        self.fits.append(len(y))
        self.coverages_ = np.linspace(0.9, 0.1, self.n_rounds)
        return self

    def staged_predict(self, X):
        for m in range(self.n_rounds):
            yield np.full(len(X), 10 - m)


@pytest.fixture
def world(monkeypatch):
    """The plot with stand-ins for models and a few rows; gives it and what was built."""
    built = []

    def register(name, **options):
        def build(problem):
            built.append((name, Rules(problem, **options)))
            return built[-1][1]

        monkeypatch.setitem(registry._MODELS, name, registry.Model(name, build))

    register(MODELS[0], shrinkage=1.0)
    register(MODELS[1], shrinkage=0.1)
    register(MODELS[2], shrinkage=0.1, n_rounds=4)
    register("RankRules", shrinkage=0.1)
    monkeypatch.setattr(timing, "SHORTEST", 1e-9)
    plot = read_plot("dk09-figure1")
    settings = {**plot.settings, "models": list(MODELS), "rows": 50, "test_rows": 40}
    effort = {"quick": {"repeats": 3, "sizes": [20, 40, 80]}}
    return dataclasses.replace(plot, settings=settings, effort=effort), built


def test_curves_are_means_over_the_draws(world):
    plot, built = world
    shown = measure(plot, "quick")
    population = Population("make_nonlinear_ordinal", 40, tuple(range(1, 11)))
    labels = [draw_split(population, 50, seed=0, index=i).y_test for i in range(3)]
    expected = [np.mean([np.abs(10 - m - y).mean() for y in labels]) for m in range(6)]
    first, second, early = shown.variants
    np.testing.assert_allclose(first.errors, expected)
    # rows covered or left out, whichever are fewer, of 50
    np.testing.assert_allclose(first.coverage, [5.0, 13.0, 21.0, 21.0, 13.0, 5.0])
    # an ensemble that ends early stays as it was
    np.testing.assert_allclose(early.errors, [*expected[:4], expected[3], expected[3]])
    assert [v.regularised for v in shown.variants] == [False, True, True]
    assert [v.label for v in shown.variants] == ["SM", "GD", "CS 0.5"]
    seeds = [rules.problem.seed for name, rules in built if name == MODELS[1]]
    assert seeds == [0, 1, 2] and second.model == MODELS[1]


def test_time_is_of_growing_training_parts(world):
    plot, built = world
    shown = measure(plot, "quick")
    timed = [rules for name, rules in built if name == "RankRules"]
    assert [rules.subsample for rules in timed] == [1.0, 0.5]
    assert [course.subsample for course in shown.courses] == [1.0, 0.5]
    for rules, course in zip(timed, shown.courses, strict=True):
        assert course.sizes == [20, 40, 80] and min(course.seconds) > 0.0
        assert sorted(set(rules.fits)) == [20, 40, 80]


def test_the_page(world):
    plot, _ = world
    shown = measure(plot, "quick")
    page = plot_page(plot, shown, "quick")
    for block in page.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1
    best = shown.variants[0].errors
    assert f"| {best.min():.3f} | {best.argmin() + 1} |" in page
    assert (
        "means over 3 draws of 50 training and 40 test rows" in page
        and "ζ = 0.5" in page
        and "| slope |" in page
    )
    assert "| RankRules GD (regularised) | 5.0 |" in page  # the first quarter of six rounds
    assert "| RankRules SM (plain) | 5.0 |" not in page


def test_the_picture(world):
    pytest.importorskip("matplotlib")
    plot, _ = world
    shown = measure(plot, "quick")
    content = picture(plot, shown)
    assert content == picture(plot, shown) and len(content) < 300_000
    text = content.decode()
    titles = ("Unregularised", "Regularised", "Computing time", "Coverage of regularised rules")
    for piece in (*titles, "rules M", "training rows N", "CS 0.5", "ζ = 1, slope"):
        assert piece in text


def test_running_means():
    values = np.random.default_rng(0).normal(size=30)
    for window in (1, 3, 7, 51):
        half = window // 2
        expected = [values[max(i - half, 0) : i + half + 1].mean() for i in range(30)]
        np.testing.assert_allclose(smooth(values, window), expected)


def test_the_plot_has_the_columns_of_table_1():
    from reproduction import read_table

    plot, table = read_plot("dk09-figure1"), read_table("dk09-table1")
    assert plot.settings["models"] == list(table.columns)
    (entry,) = table.sets.values()
    assert plot.settings["generator"] == entry.generator
    assert (plot.settings["rows"], plot.settings["test_rows"]) == (entry.training, entry.test)
    assert plot.settings_for("paper")["repeats"] == table.trials
