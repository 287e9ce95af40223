"""Plots: the numbers on a page are those measured, and a picture comes out."""

import dataclasses
import re

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from echelon import GPOR, SVOR, datasets
from reproduction import ReproductionError
from reproduction.models import registry
from reproduction.plots import (
    catalogue,
    exhibit,
    list_plots,
    measure,
    picture,
    plot_page,
    read_plot,
    regions,
    timing,
)
from reproduction.plots.contours import Panel
from reproduction.plots.scaling import Course, Scaling


@pytest.fixture
def housing(monkeypatch):
    def fetch(name, *, bins, binning, ties, return_X_y):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(90, 2))
        return X, 1 + (bins * np.argsort(np.argsort(X[:, 0]))) // 90

    monkeypatch.setattr(datasets, "fetch_benchmark", fetch)
    monkeypatch.setattr(timing, "SHORTEST", 1e-9)


@pytest.fixture
def small(housing):
    """Figure 4 with a few rows."""
    plot = read_plot("ck07-figure4")
    sizes = {"smallest": 20, "largest": 60, "bins": [2, 3], "C": 1.0}
    return dataclasses.replace(
        plot, settings={**plot.settings, **sizes}, effort={"quick": {"sizes": 3, "repeats": 1}}
    )


def check_tables(page):
    for block in page.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


@pytest.mark.parametrize("name", list_plots())
def test_every_plot_has_a_kind_and_both_efforts_work(name):
    plot = read_plot(name)
    assert plot.kind in exhibit.list_kinds()
    for effort in ("quick", "paper"):
        assert set(plot.settings) <= set(plot.settings_for(effort))
    with pytest.raises(ReproductionError, match="effort must be one of quick, paper"):
        plot.settings_for("huge")


def test_bad_names():
    with pytest.raises(ReproductionError, match="no plot 'figure9'; there are cg05-figure2"):
        read_plot("figure9")
    content = {"title": "t", "source": "s", "published": "", "kind": "pie", "settings": {}}
    with pytest.raises(
        ReproductionError,
        match="kind of x must be one of completion, contours, drawn contours, peers, reg",
    ):
        measure(catalogue.parse_plot("x", content), "quick")
    with pytest.raises(ValueError, match="registered already"):
        exhibit.register_kind("scaling")(lambda: None)


def test_figure_3_fits_what_it_says(grades):
    X, y = grades
    plot = read_plot("ck07-figure3")
    shown = measure(plot, "quick")
    kept = np.isin(y, [2, 3, 4])
    (sample,) = shown.samples
    assert len(sample.X) == kept.sum()
    np.testing.assert_array_equal(sample.codes, y[kept] - 2)
    scaled = (X[kept] - X[kept].mean(axis=0)) / X[kept].std(axis=0)
    constraints = {"SLA": "none", "EXC": "explicit", "IMC": "implicit"}
    for panel in sample.panels:
        model = SVOR(C=1.0, kappa=0.5, constraints=constraints[panel.model])
        model.fit(scaled, y[kept])
        np.testing.assert_allclose(panel.thresholds, model.thresholds_, atol=1e-6)
        corner = [sample.axes[0][-1], sample.axes[1][0]]  # the last column of the first line
        standardised = (np.array([corner]) - X[kept].mean(axis=0)) / X[kept].std(axis=0)
        assert panel.scores[0, -1] == pytest.approx(model.predict_latent(standardised)[0])
    page = plot_page(plot, shown, "quick")
    check_tables(page)
    first = sample.panels[0]
    numbers = [f"{value:.3f}".replace("-", "−") for value in first.thresholds]
    assert (
        f"| SLA | {numbers[0]} | {numbers[1]} | {first.order} | {first.facts['KKT gap']} |" in page
    )
    assert "$ python -m reproduction ck07-figure3\n" in page and plot.published in page


@pytest.mark.parametrize(
    ("thresholds", "order"),
    [([0.0, 1.0], "ordered"), ([1.0, 0.0], "disordered"), ([0.0, 5e-4], "equal")],
)
def test_order_of_thresholds(thresholds, order):
    assert Panel("M", np.array(thresholds), np.zeros((2, 2)), 1e-3, {}).order == order


def test_the_grading_example_is_as_published():
    try:
        datasets.fetch_benchmark("grades_johnson_albert", download=False)
    except FileNotFoundError:
        pytest.skip("grades_johnson_albert is in no data folder")
    shown = measure(read_plot("ck07-figure3"), "quick")
    assert [p.order for p in shown.samples[0].panels] == ["disordered", "equal", "ordered"]


@pytest.fixture
def drawn(monkeypatch):
    """Figure 2 of [CG05] with few rows and a machine that is tuned on a small grid."""

    def build(problem):
        machine = SVOR(kernel="rbf", C=1.0, classes=problem.classes)
        return GridSearchCV(machine, {"gamma": [0.01, 0.5]}, cv=3)

    monkeypatch.setitem(registry._MODELS, "IMC", registry.Model("IMC", build))
    plot = read_plot("cg05-figure2")
    return dataclasses.replace(plot, settings={**plot.settings, "rows": 40, "test_rows": 500})


def test_drawn_contours_fit_what_they_say(drawn):
    told = []
    shown = measure(drawn, "quick", told.append)
    assert [sample.name for sample in shown.samples] == ["lower noise", "higher noise"]
    assert told[:2] == ["fitting IMC to lower noise", "fitting MAP to lower noise"]
    X, y = datasets.make_three_rank_ordinal(40, noise="higher", random_state=0)
    sample = shown.samples[1]
    np.testing.assert_array_equal(sample.X, X)
    np.testing.assert_array_equal(sample.codes, y - 1)
    scale = StandardScaler().fit(X).transform
    model = GPOR().fit(scale(X), y)
    panel = next(panel for panel in sample.panels if panel.model == "MAP")
    # The search ends somewhere on the flat top of the evidence; where exactly is up to rounding.
    np.testing.assert_allclose(panel.thresholds, model.thresholds_, atol=0.02)
    corner = [[sample.axes[0][0], sample.axes[1][-1]]]  # the first column of the last line
    latent = model.predict_latent(scale(corner))
    assert panel.scores[-1, 0] == pytest.approx(latent[0], abs=0.05) and panel.order == "ordered"
    T, t = datasets.make_three_rank_ordinal(500, noise="higher", random_state=1)
    error = np.mean(model.predict(scale(T)) != t)
    assert float(panel.facts["Zero-one error"]) == pytest.approx(error, abs=0.02)
    assert panel.facts["Fit"].startswith("log evidence −")
    assert sample.panels[0].facts["Fit"].startswith("KKT gap")


def test_the_page_and_picture_of_drawn_contours(drawn):
    pytest.importorskip("matplotlib")
    shown = measure(drawn, "quick")
    page = plot_page(drawn, shown, "quick")
    check_tables(page)
    assert page.count("| higher noise |") == 3 and "500 more rows" in page
    content = picture(drawn, shown)
    assert content == picture(drawn, shown) and len(content) < 600_000
    text = content.decode()
    for piece in ("rank 1", "IMC, lower noise", "EP, higher noise", "threshold b₂", "x₁"):
        assert piece in text


class Staged:
    """Ranks by x₂ alone in the first round, by the true curves from the second on."""

    def __init__(self, classes, seed):
        self.classes, self.seed = classes, seed

    def fit(self, X, y):
        self.seen = X, y
        return self

    def staged_predict(self, X):
        yield 1 + (X[:, 1] > 0.25) + (X[:, 1] > 0.5) + (X[:, 1] > 0.75)
        curves = regions.Curves(**read_plot("ll09-figure2").settings["curves"])
        for _ in range(11):
            yield curves.ranks(X)


@pytest.fixture
def staged(monkeypatch):
    """Figure 2 of [LL09] by a stand-in with twelve rounds."""
    built = []

    def build(problem):
        built.append(Staged(problem.classes, problem.seed))
        return built[-1]

    model = registry.Model("AB.OR ORStump", build)
    monkeypatch.setitem(registry._MODELS, "AB.OR ORStump", model)
    plot = read_plot("ll09-figure2")
    settings = {**plot.settings, "rounds": [1, 10], "rows": 200, "test_rows": 3000}
    return dataclasses.replace(plot, settings=settings), built


def test_the_curves_of_figure_2_are_those_of_the_data():
    curves = regions.Curves(**read_plot("ll09-figure2").settings["curves"])
    X, y = datasets.make_quadratic_ordinal(2000, random_state=0)
    np.testing.assert_array_equal(curves.ranks(X), y)
    x = np.linspace(0.0, 1.0, 9)
    for k, line in enumerate(curves.ordinates(x), start=1):
        for step, rank in ((-1e-9, k), (1e-9, k + 1)):
            assert (curves.ranks(np.stack([x, line + step], axis=1)) == rank).all()


def test_figure_2_shows_the_stages_of_one_fit(staged):
    plot, built = staged
    shown = measure(plot, "quick")
    (model,) = built
    assert (model.classes, model.seed) == ((1, 2, 3, 4), 0)
    X, y = datasets.make_quadratic_ordinal(200, random_state=0)
    np.testing.assert_array_equal(model.seen[0], X)
    np.testing.assert_array_equal(model.seen[1], y)
    first, last = shown.stages
    assert (first.rounds, last.rounds) == (1, 10)
    by_height = np.searchsorted([0.25, 0.5, 0.75], X[:, 1]) + 1
    assert first.training_cost == pytest.approx(np.abs(by_height - y).mean())
    assert 0.0 < first.test_cost < 1.0 and last.training_cost == last.test_cost == 0.0
    # the lowest line of the grid is the first: ranks rise with the line in the first stage
    np.testing.assert_array_equal(first.ranks[[0, -1]].min(axis=1), [1, 4])
    assert (np.diff(first.ranks, axis=0) >= 0).all() and (np.diff(first.ranks, axis=1) == 0).all()
    assert last.ranks[0, 0] == 1 and last.ranks[0, 120] == 1 and last.ranks[60, 120] == 2
    page = plot_page(plot, shown, "quick")
    check_tables(page)
    assert f"| 1 | {first.training_cost:.3f} | {first.test_cost:.3f} |" in page
    assert "| 10 | 0.000 | 0.000 |" in page and "3,000 more" in page


def test_an_ensemble_that_ends_too_early_is_one_sentence(staged):
    plot = dataclasses.replace(staged[0], settings={**staged[0].settings, "rounds": [1, 1000]})
    with pytest.raises(ReproductionError, match="ended before the 1,000 rounds to draw"):
        measure(plot, "quick")


def test_the_picture_of_figure_2(staged):
    pytest.importorskip("matplotlib")
    plot, _ = staged
    shown = measure(plot, "quick")
    content = picture(plot, shown)
    assert content == picture(plot, shown) and len(content) < 400_000
    text = content.decode()
    for piece in ("T = 10", "rank 4", "predicted 1", "true boundary"):
        assert piece in text
    assert f"test {shown.stages[0].test_cost:.3f}" in text


def test_slopes_of_power_laws():
    sizes = [100, 400, 1600, 6400]
    course = Course("M", 5, sizes, [2e-6 * n**1.7 for n in sizes])
    slope, intercept = course.line()
    assert (slope, np.exp(intercept)) == pytest.approx((1.7, 2e-6))
    bent = Course("M", 5, sizes, [1.0, 1.0, 1.0, 16.0])
    assert bent.line(1000)[0] == pytest.approx(2.0) and bent.line()[0] < 2.0
    assert np.isnan(course.line(5000)[0])


def test_the_page_of_made_up_seconds():
    sizes = [100, 1000, 10000]
    courses = [
        Course("SVR", 5, sizes, [0.001, 0.1, 10.0]),
        Course("EXC", 5, sizes, [0.002, 0.2, 20.0]),
        Course("SVR", 10, sizes, [0.001, 0.1, 10.0]),
        Course("EXC", 10, sizes, [0.003, 0.3, 30.0]),
    ]
    page = plot_page(read_plot("ck07-figure4"), Scaling(courses, "Made up."), "paper")
    check_tables(page)
    assert "| EXC | 5 | 2.00 | 2.00 | 20 | 2.00 | 1.00 |" in page
    assert "| EXC | 10 | 2.00 | 2.00 | 30 | 3.00 | 1.50 |" in page
    assert "| 1,000 | 0.1 | 0.2 | 0.1 | 0.3 |" in page
    assert "$ python -m reproduction ck07-figure4 --effort paper\n" in page and "Made up." in page


def test_figure_4_times_every_model_at_every_size(small):
    told = []
    shown = measure(small, "quick", told.append)
    assert [(c.model, c.bins) for c in shown.courses] == [
        (model, bins) for bins in (2, 3) for model in ("SVR", "EXC", "IMC")
    ]
    assert all(c.sizes == [20, 35, 60] and min(c.seconds) > 0.0 for c in shown.courses)
    assert len(told) == 18 and told[0] == "SVR, 2 bins, 20 rows"
    assert "3 sizes from 20 to 60" in shown.setting and "one fit" in shown.setting


def test_pictures_are_files_with_legible_labels(small, grades):
    pytest.importorskip("matplotlib")
    plot = read_plot("ck07-figure3")
    shown = measure(plot, "quick")
    content = picture(plot, shown)
    assert content == picture(plot, shown)  # so that a page in version control stays as it is
    text = content.decode()
    for piece in (*plot.settings["label_names"], *plot.settings["input_names"], "IMC: "):
        assert piece in text
    assert len(content) < 300_000
    assert picture(plot, shown, "png").startswith(b"\x89PNG")


def test_the_picture_of_figure_4(small):
    pytest.importorskip("matplotlib")
    shown = measure(small, "quick")
    text = picture(small, shown).decode()
    slopes = re.findall(r"(\w+), slope (-?[\d.]+)<", text)
    expected = [(c.model, f"{c.line()[0]:.2f}") for c in shown.courses]
    assert sorted(slopes) == sorted(expected)
    assert "training rows" in text and "CPU seconds" in text
