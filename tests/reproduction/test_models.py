"""The models of the tables are those that the papers state."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from echelon.datasets import load_esl
from reproduction.models import Problem, fixed, get_model, list_models
from reproduction.models.boosting import perceptron_kernel
from reproduction.published import read_table


def test_svr_grid_is_the_papers():
    search = get_model("SVR").build(Problem((1, 2), 0))
    assert search.estimator.regressor.epsilon == 0.1
    exponents = np.log10(search.param_grid["regressor__C"])
    np.testing.assert_allclose(exponents, np.arange(-3, 4))
    kappa = 2.0 * search.param_grid["regressor__gamma"]
    np.testing.assert_allclose(np.log10(kappa), np.arange(-3, 4), atol=1e-12)
    assert (search.fine_points, search.fine_step) == (9, 0.2)
    assert search.cv.get_n_splits() == 5 and math.isclose(search.estimator.regressor.tol, 1e-3)


@pytest.mark.parametrize(
    ("name", "constraints"), [("SLA", "none"), ("EXC", "explicit"), ("IMC", "implicit")]
)
def test_the_machines_of_the_tables(name, constraints):
    search = get_model(name).build(Problem((1, 2, 3), 4))
    machine = search.estimator
    assert machine.constraints == constraints and machine.kernel == "rbf"
    assert machine.tol == 1e-3 and machine.classes == (1, 2, 3)
    np.testing.assert_allclose(np.log10(search.param_grid["C"]), np.arange(-3, 4))
    np.testing.assert_allclose(
        np.log10(2.0 * search.param_grid["gamma"]), np.arange(-3, 4), atol=1e-12
    )
    assert search.cv.random_state == 4
    fitted = fixed(name, Problem((1, 2, 3), 4), C=2.0, kappa=0.5)
    assert (fitted.C, fitted.gamma, fitted.constraints) == (2.0, 0.25, constraints)


def test_fixed_reaches_the_regressor_within():
    model = fixed("SVR", Problem((1, 2), 0), C=100.0, kappa=1.0)
    assert (model.regressor.C, model.regressor.gamma) == (100.0, 0.5)


@pytest.mark.parametrize("name", list_models())
def test_every_model_knows_the_classes_and_says_what_it_is(name):
    model = get_model(name)
    estimator = model.build(Problem((1, 2, 3), 4))
    inner = estimator.estimator if model.tuned else estimator
    assert inner.classes == (1, 2, 3)
    assert model.about.endswith(".") and model.about != name
    if "random_state" in inner.get_params() and not model.tuned:
        assert inner.random_state == 4


@pytest.mark.parametrize("name", list_models())
def test_only_machines_of_ck07_are_tuned(name):
    machine = name.partition(" (")[0]
    assert get_model(name).tuned == (machine in {"SVR", "SLA", "EXC", "IMC"})


@pytest.mark.parametrize(
    ("name", "rounds", "base"),
    [
        ("AB.OR ORStump", 1000, "ORStump"),
        ("AB.OR PRank", 100, "PRank"),
        ("SVOR base", 1, "SVOR"),
        ("AB.OR SVOR", 10, "SVOR"),
    ],
)
def test_rounds_of_ll09(name, rounds, base):
    ensemble = get_model(name).build(Problem((1, 2, 3), 4))
    assert ensemble.n_estimators == rounds and type(ensemble.estimator).__name__ == base


def test_the_machine_of_ll09():
    ensemble = get_model("AB.OR SVOR").build(Problem((1, 2, 3), 4))
    machine = ensemble.estimator
    assert machine.regularize_thresholds == "offset" and machine.kernel is perceptron_kernel
    np.testing.assert_array_equal(np.log2(ensemble.capacity["C"]), np.arange(-20, 21, 2))
    assert ensemble.target_error == 0.3
    gaussian = get_model("AB.OR SVOR (Gaussian)").build(Problem((1, 2, 3), 4))
    assert (gaussian.estimator.kernel, gaussian.estimator.gamma) == ("rbf", "scale")
    assert gaussian.estimator.regularize_thresholds == "offset"


def test_the_single_machine_has_the_least_capacity_that_is_good_enough():
    X, y = load_esl(return_X_y=True)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    single = get_model("SVOR base").build(Problem(tuple(range(1, 10)), 0)).fit(scaled, y)
    (found,) = single.estimators_
    ends = len(single.classes_) - 1.0
    errors = {}
    for power in range(-20, 21, 2):
        machine = clone(single.estimator).set_params(C=2.0**power, classes=range(1, 10))
        errors[2.0**power] = np.abs(machine.fit(scaled, y).predict(scaled) - y).mean() / ends
        if errors[2.0**power] <= 0.3:
            break
    assert found.C == 2.0**power > 2.0**-20
    assert np.abs(single.predict(scaled) - y).mean() / ends == pytest.approx(errors[found.C])


def test_the_perceptron_kernel_is_conditionally_positive_definite():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    expected = [[-math.dist(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(perceptron_kernel(X, Y), expected, atol=1e-12)
    centre = np.eye(12) - 1.0 / 12
    assert np.linalg.eigvalsh(centre @ perceptron_kernel(X, X) @ centre).min() > -1e-10


@pytest.mark.parametrize(
    ("name", "variant", "base"),
    [
        ("ORBoost-All (perceptron)", "all", "perceptron"),
        ("ORBoost-All (sigmoid)", "all", "sigmoid"),
        ("RankBoost-AE (perceptron)", "pairs", "perceptron"),
        ("RankBoost-AE (sigmoid)", "pairs", "sigmoid"),
    ],
)
def test_thresholded_ensembles_of_dk09(name, variant, base):
    ensemble = get_model(name).build(Problem((1, 2, 3), 4))
    assert (ensemble.variant, ensemble.base, ensemble.n_estimators) == (variant, base, 2000)


@pytest.mark.parametrize(
    ("name", "loss", "technique"),
    [
        ("RankRules", "rank", "simultaneous"),
        ("ORDER", "threshold", "constant_step"),
        ("Ordinal ENDER", "binary", "simultaneous"),
        ("ENDER AE", "absolute", "gradient"),
    ],
)
def test_rules_of_dk09_table_4(name, loss, technique):
    rules = get_model(name).build(Problem((1, 2, 3), 4))
    assert (rules.loss, rules.technique) == (loss, technique)
    assert rules.pair_weight == "per_threshold"


def test_rank_rules_are_as_the_paper_chose_them():
    rules = get_model("RankRules").build(Problem((1, 2, 3), 4))
    assert (rules.n_rules, rules.shrinkage, rules.subsample) == (500, 0.1, 0.5)


def test_variants_of_dk09_table_1():
    table = read_table("dk09-table1")
    built = {name: get_model(name).build(Problem((1, 2, 3), 4)) for name in table.columns}
    techniques = {
        "SM": ("simultaneous", None),
        "CS 0.1": ("constant_step", 0.1),
        "CS 0.2": ("constant_step", 0.2),
        "CS 0.5": ("constant_step", 0.5),
        "GD": ("gradient", None),
        "GB": ("gradient_boosting", None),
    }
    kinds = {"plain": (1.0, 1.0), "regularised": (0.1, 0.25)}
    expected = {
        f"RankRules {short} ({kind})": (technique, beta, *kinds[kind])
        for short, (technique, beta) in techniques.items()
        for kind in kinds
    }
    assert set(built) == set(expected)
    for name, rules in built.items():
        technique, beta, shrinkage, subsample = expected[name]
        assert (rules.loss, rules.technique, rules.n_rules) == ("rank", technique, 1000)
        assert (rules.shrinkage, rules.subsample) == (shrinkage, subsample)
        assert beta is None or rules.beta == beta
        assert rules.pair_weight == "per_threshold"


@pytest.mark.parametrize(("name", "inference"), [("MAP", "laplace"), ("EP", "ep")])
def test_processes_of_cg05(name, inference):
    process = get_model(name).build(Problem((1, 2, 3), 4))
    assert (process.inference, process.objective) == (inference, "evidence")
    assert process.kernel is None and process.likelihood == "probit"
    linear = get_model(f"{name} (linear)").build(Problem((1, 2, 3), 4))
    assert (linear.inference, linear.noise_bounds) == (inference, "fixed")
    X = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(linear.kernel(X), X @ X.T)


def test_linear_models_have_one_parameter_each():
    search = get_model("IMC (linear)").build(Problem((1, 2, 3), 4))
    assert search.estimator.kernel == "linear" and search.estimator.constraints == "implicit"
    assert list(search.param_grid) == ["C"]
    assert get_model("MAP (linear)").build(Problem((1, 2, 3), 4)).kernel.n_dims == 1


def test_relevances_are_learned_by_evidence():
    process = get_model("ARD").build(Problem((1, 2, 3), 4))
    assert (process.kernel, process.inference) == ("linear_ard", "laplace")


def test_rounded_regression_finds_a_smooth_function():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = 1 + np.searchsorted([-1.0, 0.0, 1.0], X[:, 0] * 1.5 + np.sin(2.0 * X[:, 1]))
    model = get_model("GPR").build(Problem((1, 2, 3, 4), 0)).fit(X[:45], y[:45])
    assert np.abs(model.predict(X[45:]) - y[45:]).mean() < 0.3
    again = get_model("GPR").build(Problem((1, 2, 3, 4), 0)).fit(X[:45], y[:45])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
