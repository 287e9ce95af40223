import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted
from support.data import ascending, ordinal_data
from support.qp import solve_threshold_qp

from echelon import SVOR
from echelon.datasets import fetch_benchmark, fetch_splits, load_esl
from echelon.kernels import Gaussian, Pearson, Precomputed
from echelon.ordinal.costs import adjacent_weights, cost_matrix, threshold_weights
from echelon.solvers.svor import dual as threshold_dual
from echelon.solvers.svor.smo import solve_threshold_dual

needs_folder = pytest.mark.skipif(
    not os.environ.get("ECHELON_DATA"),
    reason="ECHELON_DATA is not set to a folder of benchmark sets",
)
SETTINGS = {
    "implicit": {},
    "explicit": {"constraints": "explicit"},
    "none": {"constraints": "none"},
    "squared": {"cost": "squared"},
    "zero_one": {"cost": "zero_one"},
    "penalised": {"regularize_thresholds": True},
    "around offset": {"regularize_thresholds": "offset"},
    "squared penalised": {"cost": "squared", "regularize_thresholds": True},
}
EXTREME = {name: SETTINGS[name] for name in ("implicit", "explicit", "penalised")}
every_setting = pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)


def margins_of(model, X):
    values = model.decision_function(X)
    return values[:, None] if values.ndim == 1 else values


def weights_of(model, y):
    """W of the documentation, from the parameters."""
    K = len(model.classes_)
    if model.constraints == "implicit":
        return threshold_weights(cost_matrix(model.cost, K))[y]
    return adjacent_weights(K)[y]


def primal(model, X, y, weights=1.0):
    """The objective in the documentation's notes, from public attributes."""
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_
    f, b = model.predict_latent(X), model.thresholds_
    Z = np.where(y[:, None] > np.arange(len(b)), 1.0, -1.0)
    hinge = np.maximum(0.0, 1.0 - Z * (f[:, None] - b))
    W = weights_of(model, y) * np.broadcast_to(weights, len(y))[:, None]
    value = 0.5 * beta @ f + model.C * np.where(W > 0.0, W * hinge, 0.0).sum()
    if model.regularize_thresholds is True:
        value += 0.5 * b @ b
    if model.regularize_thresholds == "offset":
        value += 0.5 * np.sum((b - b.mean()) ** 2)
    return value


@every_setting
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_certificates_are_true(params, C):
    X, y = ordinal_data(n=100, K=5)
    model = SVOR(C, gamma=0.4, **params).fit(X, y)
    assert model.converged_
    assert model.kkt_gap_ <= model.tol
    assert model.duality_gap_ == pytest.approx(
        primal(model, X, y) + model.objective_, rel=1e-9, abs=1e-8 * primal(model, X, y)
    )
    # A far smaller tolerance finds nothing better than the gap allows.
    best = clone(model).set_params(tol=1e-8).fit(X, y)
    assert -1e-9 <= model.objective_ - best.objective_ + 1e-9 <= model.duality_gap_ + 2e-9
    assert best.duality_gap_ <= 1e-5 * abs(best.objective_)


@every_setting
def test_attributes_fit_together(params):
    X, y = ordinal_data(n=60, K=3)
    model = SVOR(5.0, **params).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert (model.dual_coef_ != 0.0).all()
    assert 0 < len(model.support_) <= 60
    assert (np.diff(model.support_) > 0).all()
    f = model.kernel_.block(X, model.support_vectors_) @ model.dual_coef_
    np.testing.assert_allclose(model.predict_latent(X), f)
    np.testing.assert_allclose(margins_of(model, X), f[:, None] - model.thresholds_)
    assert model.n_iter_ > 0


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(-3, 3), st.sampled_from(sorted(SETTINGS)))
def test_thresholds_ascend_and_labels_mirror(seed, log_c, name):
    if name == "none":
        return
    X, y = ordinal_data(n=30, K=4, seed=seed)
    model = SVOR(10.0**log_c, gamma=0.3, tol=1e-7, **SETTINGS[name]).fit(X, y)
    assert ascending(model.thresholds_)
    mirrored = clone(model).fit(X, 3 - y)
    assert mirrored.objective_ == pytest.approx(model.objective_, rel=1e-5)
    np.testing.assert_allclose(mirrored.predict_latent(X), -model.predict_latent(X), atol=1e-3)


@pytest.mark.parametrize("params", [{}, {"constraints": "explicit"}, {"constraints": "none"}])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_two_classes_are_a_support_vector_classifier(params, C):
    X, y = ordinal_data(n=150, K=2)
    ours = SVOR(C, gamma=0.5, tol=1e-6, **params).fit(X, y)
    theirs = SVC(C=C, gamma=0.5, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3
    )
    assert set(ours.support_) == set(theirs.support_)


def test_two_classes_with_weights_and_scaled_rates():
    X, y = ordinal_data(n=80, K=2)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, size=80)
    ours = SVOR(2.0, gamma="auto", tol=1e-6).fit(X, y, sample_weight=weights)
    theirs = SVC(C=2.0, gamma="auto", tol=1e-6).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3
    )
    scaled, same = SVOR(tol=1e-6).fit(X, y), SVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        scaled.decision_function(X), same.decision_function(X), rtol=1e-3, atol=1e-3
    )


# Golden values


@needs_folder
@pytest.mark.parametrize("constraints", ["implicit", "explicit"])
def test_the_toy_set_of_orca(constraints):
    """Values from an interior point method for the same problem."""
    splits = fetch_splits("orca", "toy")
    train = splits.train[0]
    model = SVOR(10.0, gamma=1.0, constraints=constraints, tol=1e-6)
    model.fit(splits.data[train], splits.target[train])
    assert model.objective_ == pytest.approx(-1033.93889, abs=1e-4)
    np.testing.assert_allclose(model.thresholds_[1:], [-1.14466, 0.93048, 4.22866], atol=1e-4)
    assert model.thresholds_[0] < -1.14466
    wrong = model.predict(splits.data[~train]) != splits.target[~train]
    assert (wrong.sum(), len(wrong)) == (8, 75)


@pytest.mark.parametrize(
    ("constraints", "objective", "thresholds"),
    [
        ("implicit", -93.6101255, [-1.966653, 0.033347, 2.033347]),
        ("explicit", -91.1122786, [-1.966715, 0.033285, 2.033285]),
    ],
)
def test_employee_selection(constraints, objective, thresholds):
    """Frozen values of the interior point method, and the method itself, on embedded data."""
    X, y = load_esl(return_X_y=True)
    rows = (np.arange(len(y)) % 5 == 0) & (y >= 4) & (y <= 7)
    X, y = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0), y[rows] - 4
    model = SVOR(2.0, gamma=0.5, constraints=constraints, tol=1e-7).fit(X, y)
    build = threshold_dual.explicit if constraints == "explicit" else threshold_dual.implicit
    _, value = solve_threshold_qp(build(y, 2.0 * weights_of(model, y)), rbf_kernel(X, gamma=0.5))
    assert value == pytest.approx(objective, rel=1e-7)
    assert model.objective_ == pytest.approx(objective, rel=1e-7)
    np.testing.assert_allclose(model.thresholds_, thresholds, atol=1e-4)


@needs_folder
def test_the_grading_example():
    """[CK07] section 4.1: without order constraints the thresholds of D, C and B cross."""
    grades = fetch_benchmark("grades_johnson_albert", download=False)
    rows = np.isin(grades.target, [2, 3, 4])
    X, y = grades.data[rows], grades.target[rows]
    assert len(y) == 24
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    b = {
        constraints: SVOR(1.0, kappa=0.5, constraints=constraints, tol=1e-6).fit(X, y).thresholds_
        for constraints in ("none", "explicit", "implicit")
    }
    assert b["none"][1] < b["none"][0] - 0.01
    assert b["explicit"][0] == pytest.approx(b["explicit"][1], abs=1e-6)
    assert ascending(b["explicit"])
    assert b["implicit"][0] < b["implicit"][1]
    # The zero-one cost gives the form without order, unless it is imposed.
    held = SVOR(1.0, kappa=0.5, cost="zero_one", tol=1e-6).fit(X, y)
    assert ascending(held.thresholds_)
    np.testing.assert_allclose(held.thresholds_, b["explicit"], atol=1e-4)


def test_a_cost_that_is_not_convex_would_let_thresholds_cross():
    X, y = np.array([[2.0], [-3.0], [2.0], [0.0], [0.0]]), np.array([0, 0, 0, 1, 2])
    free = SVOR(kernel="linear", constraints="none", tol=1e-6).fit(X, y)
    held = SVOR(kernel="linear", cost="zero_one", tol=1e-6).fit(X, y)
    assert free.thresholds_[1] < free.thresholds_[0] - 0.5
    assert ascending(held.thresholds_)
    np.testing.assert_allclose(
        held.thresholds_,
        SVOR(kernel="linear", constraints="explicit", tol=1e-6).fit(X, y).thresholds_,
        atol=1e-5,
    )


# Costs and weights


def test_costs_of_rows_are_the_rows_of_a_cost():
    X, y = ordinal_data(n=60)
    cost = np.array([[0, 1, 1, 4], [2, 0, 1, 2], [3, 3, 0, 1], [5, 2, 1, 0]], dtype=float)
    by_class = SVOR(cost=cost, tol=1e-7).fit(X, y)
    by_row = SVOR(tol=1e-7).fit(X, y, sample_cost=cost[y])
    assert by_row.objective_ == pytest.approx(by_class.objective_, rel=1e-9)
    np.testing.assert_allclose(margins_of(by_row, X), margins_of(by_class, X), atol=1e-6)
    plain = SVOR(tol=1e-7).fit(X, y)
    absolute = SVOR(tol=1e-7).fit(X, y, sample_cost=cost_matrix("absolute", 4)[y])
    np.testing.assert_allclose(margins_of(absolute, X), margins_of(plain, X), atol=1e-6)
    assert not np.allclose(margins_of(by_row, X), margins_of(plain, X), atol=0.1)


@every_setting
def test_twice_the_weight_is_twice_the_penalty(params):
    X, y = ordinal_data(n=60)
    weighted = SVOR(1.0, tol=1e-7, **params).fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(
        margins_of(weighted, X),
        margins_of(SVOR(2.0, tol=1e-7, **params).fit(X, y), X),
        atol=1e-6,
    )


@every_setting
def test_rows_of_no_weight_are_as_good_as_absent(params):
    X, y = ordinal_data(n=60)
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    with_zeros = SVOR(tol=1e-7, **params).fit(X, y, sample_weight=weights)
    without = SVOR(tol=1e-7, **params).fit(X[kept], y[kept])
    np.testing.assert_array_equal(margins_of(with_zeros, X), margins_of(without, X))
    np.testing.assert_array_equal(with_zeros.support_vectors_, without.support_vectors_)
    assert set(with_zeros.support_) <= set(np.flatnonzero(kept))


def test_the_default_rate_counts_rows_by_weight():
    X, y = ordinal_data(n=40)
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = np.repeat(X, counts, axis=0)
    for inputs in (X, sp.csr_array(X)):
        model = SVOR().fit(inputs, y, sample_weight=counts)
        assert model.kernel_.gamma == pytest.approx(1.0 / (3 * repeated.var()))
    flat = SVOR().fit(np.full((4, 2), 0.1), [0, 1, 0, 1], sample_weight=[1, 2, 3, 0.7])
    assert flat.kernel_.gamma == 1.0


def test_class_weights_are_sample_weights():
    X, y = ordinal_data(n=60)
    factors = {0: 2.0, 3: 0.5}
    weights = np.array([factors.get(code, 1.0) for code in y])
    np.testing.assert_allclose(
        margins_of(SVOR(class_weight=factors, tol=1e-7).fit(X, y), X),
        margins_of(SVOR(tol=1e-7).fit(X, y, sample_weight=weights), X),
        atol=1e-6,
    )
    y = np.where(y == 0, 1, y)
    balanced = 60 / (3 * np.bincount(y)[y])
    np.testing.assert_allclose(
        margins_of(SVOR(class_weight="balanced", tol=1e-7).fit(X, y), X),
        margins_of(SVOR(tol=1e-7).fit(X, y, sample_weight=balanced), X),
        atol=1e-6,
    )


@pytest.mark.parametrize("constraints", ["implicit", "explicit", "none"])
def test_levels_without_rows_change_no_prediction(constraints):
    X, y = ordinal_data(n=80, K=3)
    plain = SVOR(constraints=constraints, gamma=0.4, tol=1e-6).fit(X, y)
    for classes in ([-1, 0, 1, 2], [0, 7, 1, 2], [0, 1, 7, 8, 2], [0, 1, 2, 9], [5, 0, 6, 1, 2, 9]):
        model = clone(plain).set_params(classes=classes).fit(X, y)
        places = [classes.index(level) for level in (0, 1)]
        assert set(model.predict(X)) <= {0, 1, 2}
        if constraints != "implicit":
            np.testing.assert_array_equal(model.predict(X), plain.predict(X))
            np.testing.assert_allclose(model.thresholds_[places], plain.thresholds_, atol=1e-4)
        first, last = classes.index(0), classes.index(2)
        assert (model.thresholds_[:first] == -np.inf).all()
        assert (model.thresholds_[last:] == np.inf).all()
        between = model.thresholds_[places[0] : classes.index(1)]
        assert (between == between[0]).all()


# Kernels


def test_kappa_is_twice_gamma():
    X, y = ordinal_data(n=50)
    np.testing.assert_array_equal(
        margins_of(SVOR(kappa=0.8).fit(X, y), X), margins_of(SVOR(gamma=0.4).fit(X, y), X)
    )


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "gaussian", "gamma": [0.3, 0.0, 2.0]},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
        {"kernel": "polynomial"},
        {"kernel": "pearson"},
        {"kernel": laplacian_kernel},
        {"kernel": Gaussian(0.3)},
    ],
    ids=lambda params: str(params["kernel"])[:12],
)
def test_a_kernel_is_its_matrix(params):
    X, y = ordinal_data(n=60)
    model = SVOR(0.5, tol=1e-6, **params).fit(X, y)
    gram = model.kernel_.block(X)
    computed = SVOR(0.5, kernel="precomputed", tol=1e-6).fit(gram, y)
    assert computed.objective_ == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(margins_of(computed, gram), margins_of(model, X), atol=1e-4)
    assert not hasattr(computed, "support_vectors_")
    new = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_allclose(
        computed.predict_latent(model.kernel_.block(new, X)), model.predict_latent(new), atol=1e-4
    )


def test_an_indefinite_kernel_ends():
    X, y = ordinal_data(n=80)
    model = SVOR(kernel="sigmoid", gamma=1.0, coef0=-1.0)
    assert np.linalg.eigvalsh(np.tanh(X @ X.T - 1.0))[0] < -0.1
    model.set_params(max_iter=100_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert ascending(model.thresholds_)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_sparse_inputs_are_dense_ones(kernel):
    X, y = ordinal_data(n=60)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = SVOR(0.5, kernel=kernel, gamma=0.2, tol=1e-6).fit(X, y)
    for form in (sp.csr_array, sp.csc_matrix):
        sparse = clone(dense).fit(form(X), y)
        np.testing.assert_allclose(margins_of(sparse, form(X)), margins_of(dense, X), atol=1e-4)
        np.testing.assert_allclose(sparse.predict_latent(X), dense.predict_latent(X), atol=1e-4)
        assert sp.issparse(sparse.support_vectors_)


def test_search_over_a_precomputed_kernel():
    X, y = ordinal_data(n=60)
    gram = rbf_kernel(X, gamma=0.4)
    grid = {"C": [0.1, 10.0]}
    computed = GridSearchCV(SVOR(kernel="precomputed", tol=1e-6), grid, cv=3).fit(gram, y)
    direct = GridSearchCV(SVOR(gamma=0.4, tol=1e-6), grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        computed.cv_results_["mean_test_score"], direct.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(
        cross_val_predict(SVOR(kernel=Precomputed(), tol=1e-6), gram, y, cv=3),
        cross_val_predict(SVOR(gamma=0.4, tol=1e-6), X, y, cv=3),
    )


def test_precomputed_kernels_with_rows_of_no_weight():
    X, y = ordinal_data(n=60)
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    gram = rbf_kernel(X, gamma=0.4)
    computed = SVOR(kernel="precomputed", tol=1e-6).fit(gram, y, sample_weight=weights)
    direct = SVOR(gamma=0.4, tol=1e-6).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(margins_of(computed, gram), margins_of(direct, X), atol=1e-4)
    np.testing.assert_array_equal(computed.support_, direct.support_)


@pytest.mark.parametrize("cache_size", [1e-9, 0.02])
def test_little_memory_changes_nothing_that_is_certified(cache_size):
    X, y = ordinal_data(n=150, K=3)
    roomy = SVOR(gamma=0.4).fit(X, y)
    tight = SVOR(gamma=0.4, cache_size=cache_size).fit(X, y)
    assert tight.converged_
    assert abs(tight.objective_ - roomy.objective_) <= tight.duality_gap_ + roomy.duality_gap_
    assert tight.duality_gap_ == pytest.approx(primal(tight, X, y) + tight.objective_, abs=1e-7)


# Starting points and endings


@every_setting
def test_a_path_is_separate_fits(params):
    X, y = ordinal_data(n=60)
    Cs = [10.0, 0.1, 1.0]
    base = SVOR(gamma=0.4, **params)
    models = base.fit_path(X, y, Cs)
    assert [model.C for model in models] == Cs
    with pytest.raises(NotFittedError):
        check_is_fitted(base)
    for model in models:
        alone = clone(model).fit(X, y)
        assert model.converged_
        gap = model.duality_gap_ + alone.duality_gap_ + 1e-9
        assert abs(model.objective_ - alone.objective_) <= gap


def test_a_path_takes_weights_and_calibrates():
    X, y = ordinal_data(n=60)
    weights = np.where(np.arange(60) % 4 == 0, 0.0, 1.5)
    base = SVOR(gamma=0.4, tol=1e-6, probability=True, random_state=0)
    for model in base.fit_path(X, y, np.array([0.5, 2.0]), sample_weight=weights):
        alone = clone(model).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(margins_of(model, X), margins_of(alone, X), atol=1e-4)
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-3)
    assert base.fit_path(X, y, []) == []


@every_setting
def test_a_warm_start_ends_where_a_cold_one_does(params):
    X, y = ordinal_data(n=60)
    model = SVOR(1.0, gamma=0.4, warm_start=True, **params).fit(X, y)
    cold_steps = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold_steps
    for change in ({"C": 5.0}, {"C": 0.2}, {"gamma": 1.0}, {"tol": 1e-6}):
        model.set_params(**change).fit(X, y)
        cold = clone(model).set_params(warm_start=False).fit(X, y)
        assert model.converged_
        gap = model.duality_gap_ + cold.duality_gap_ + 1e-9
        assert abs(model.objective_ - cold.objective_) <= gap
    # Another problem starts afresh.
    other_X, other_y = ordinal_data(n=50, seed=1)
    model.fit(other_X, other_y)
    cold = clone(model).set_params(warm_start=False).fit(other_X, other_y)
    np.testing.assert_array_equal(margins_of(model, X), margins_of(cold, X))


@every_setting
@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_stopping_early_warns_with_the_gap(params, max_iter):
    X, y = ordinal_data(n=60)
    model = SVOR(10.0, max_iter=max_iter, **params)
    with pytest.warns(ConvergenceWarning, match=r"gap of \d.*above tol=0.001") as seen:
        model.fit(X, y)
    assert seen[0].filename == __file__
    assert f"gap of {model.kkt_gap_:.2g}," in str(seen[0].message)
    assert not model.converged_
    assert model.n_iter_ <= max_iter
    assert model.duality_gap_ == pytest.approx(primal(model, X, y) + model.objective_)
    if model.constraints != "none":
        assert ascending(model.thresholds_)


def test_verbose_prints_a_falling_gap(capsys):
    X, y = ordinal_data(n=60)
    SVOR(C=10.0).fit(X, y)
    assert capsys.readouterr().out == ""
    SVOR(C=10.0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    gaps = [float(line.rpartition(" ")[2]) for line in lines]
    assert all(line.startswith("SVOR: ") and "pair steps, gap" in line for line in lines)
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("probability", [False, True])
def test_an_interrupt_leaves_the_estimator_as_it_was(monkeypatch, probability):
    import echelon.svm.svor as module

    X, y = ordinal_data(n=60)
    fresh = SVOR(probability=probability)
    fitted = SVOR(gamma=0.4, warm_start=True).fit(X, y)
    before = {**fitted.__dict__}
    solves = []

    def interrupted(*args, **kwargs):
        # With probabilities, in the middle of their folds.
        solves.append(args)
        if len(solves) > 2 * probability:
            raise KeyboardInterrupt
        return solve_threshold_dual(*args, **kwargs)

    monkeypatch.setattr(module, "solve_threshold_dual", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    solves.clear()
    fitted.set_params(probability=probability)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X[:30], y[:30])
    assert {**fitted.__dict__, "probability": False} == before


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = ordinal_data(n=60)
    model = SVOR(probability=True, random_state=0, warm_start=True).fit(X, y)
    model.set_params(kernel="precomputed", probability=False, warm_start=False)
    model.fit(rbf_kernel(X), y)
    assert not hasattr(model, "support_vectors_")
    model.set_params(probability=True)
    with pytest.raises(NotFittedError):
        model.predict_proba(rbf_kernel(X))


# Probabilities


@every_setting
def test_probabilities(params):
    X, y = ordinal_data(n=100, K=4)
    model = SVOR(probability=True, random_state=3, gamma=0.3, **params).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (100, 4)
    assert (P >= 0.0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    order = np.argsort(model.predict_latent(X))
    assert (np.diff(np.cumsum(P, axis=1)[order], axis=0) <= 1e-12).all()
    # They tell more than the class shares do, and repeat with the seed.
    log_p = np.log(P[np.arange(100), y]).mean()
    shares = np.bincount(y) / 100
    assert log_p > shares @ np.log(shares) + 0.1
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), P)
    plain = clone(model).set_params(probability=False).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))


def test_probabilities_come_from_rows_unseen():
    """Pure noise that a narrow kernel learns by heart must not look certain."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 3, size=120)
    model = SVOR(100.0, gamma=20.0, probability=True, random_state=0).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.99
    assert model.predict_proba(X).max() < 0.7


def test_no_probabilities_unless_asked_for():
    X, y = ordinal_data(n=30)
    for model in (SVOR(), SVOR().fit(X, y)):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(X)
    assert hasattr(SVOR(probability=True), "predict_proba")


@pytest.mark.parametrize("kernel", ["precomputed", "linear"])
def test_probabilities_with_other_kernels_weights_and_costs(kernel):
    X, y = ordinal_data(n=60)
    inputs = X @ X.T if kernel == "precomputed" else sp.csr_array(X)
    weights = np.where(np.arange(60) % 5 == 0, 0.0, 1.0)
    model = SVOR(kernel=kernel, probability=True, random_state=0, class_weight="balanced")
    model.fit(inputs, y, sample_weight=weights, sample_cost=cost_matrix("squared", 4)[y])
    np.testing.assert_allclose(model.predict_proba(inputs).sum(axis=1), 1.0)
    dense = clone(model).set_params(kernel="linear")
    dense.fit(X, y, sample_weight=weights, sample_cost=cost_matrix("squared", 4)[y])
    np.testing.assert_allclose(
        model.predict_proba(inputs), dense.predict_proba(X), rtol=1e-2, atol=1e-2
    )


def test_probabilities_of_levels_without_rows_are_zero():
    X, y = ordinal_data(n=60, K=3)
    model = SVOR(probability=True, random_state=0, classes=[0, 8, 1, 2, 9]).fit(X, y)
    P = model.predict_proba(X)
    assert not P[:, [1, 4]].any()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_too_few_rows_for_probabilities():
    with pytest.raises(ValueError, match="probability=True needs two rows or more"):
        SVOR(probability=True).fit([[0.0], [1.0]], [0, 1])


# Bad input

BAD = [
    ({"C": 0.0}, "C must be a positive number; found 0.0"),
    ({"C": -1}, "C must be a positive number; found -1"),
    ({"C": np.nan}, "C must be a positive number; found nan"),
    ({"C": "1"}, "C must be a positive number; found '1'"),
    ({"tol": 0}, "tol must be a positive number; found 0"),
    ({"cache_size": -5}, "cache_size must be a positive number; found -5"),
    ({"max_iter": None}, "max_iter must be an integer, -1 for no limit; found None"),
    ({"max_iter": 2.5}, "max_iter must be an integer, -1 for no limit; found 2.5"),
    ({"constraints": "both"}, "constraints must be 'implicit', 'explicit' or 'none'; found 'both'"),
    ({"regularize_thresholds": "yes"}, "regularize_thresholds must be False, True or 'offset'"),
    (
        {"regularize_thresholds": True, "constraints": "explicit"},
        "regularize_thresholds needs constraints='implicit'; found constraints='explicit'",
    ),
    ({"kappa": 1.0, "gamma": 2.0}, r"kappa stands for gamma = kappa / 2.*beside gamma=2.0"),
    ({"kappa": 1.0, "kernel": "linear"}, "kappa stands for gamma.*kernel='linear'"),
    ({"kappa": -1.0}, "kappa must be a positive number; found -1.0"),
    ({"gamma": -1.0}, "gamma must be finite and not negative; found -1.0"),
    ({"gamma": [1.0, 2.0]}, "gamma must be one number or one per feature, 3; found 2"),
    ({"gamma": "wide"}, "gamma must be 'scale', 'auto'"),
    ({"kernel": "cubic"}, "kernel must be 'linear', .*; found 'cubic'"),
    ({"kernel": 3}, "kernel must be 'linear', .*; found 3"),
    ({"kernel": "poly", "degree": 0}, "degree must be an integer of at least 1; found 0"),
    ({"kernel": "precomputed"}, r"X must be a square matrix.*found one of shape \(30, 3\)"),
    ({"cost": np.ones((4, 4)), "constraints": "none"}, "cost must be zero on its diagonal"),
    ({"cost": "cubic"}, "cost must be 'absolute', 'squared', 'zero_one'"),
    ({"cost": np.ones((4, 4))}, "cost must be zero on its diagonal"),
    ({"cost": np.zeros((3, 3))}, r"cost must have one row and one column per class"),
    (
        {"cost": [[0, 2, 1, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]},
        "cost must be V-shaped.*row 0 falls between columns 1 and 2",
    ),
    ({"class_weight": "heavy"}, "class_weight must be None, 'balanced' or a dict"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_parameters_get_a_sentence(params, message):
    X, y = ordinal_data(n=30)
    model = SVOR(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize(
    ("spoil", "params", "message"),
    [
        (lambda c: c[:, :3], {}, r"sample_cost must have shape \(30, 4\)"),
        (lambda c: c + 1.0, {}, "sample_cost must be zero where the prediction is right"),
        (lambda c: -c, {}, "sample_cost must hold finite numbers that are not negative"),
        (lambda c: c % 3, {}, "sample_cost must be V-shaped"),
        (lambda c: c, {"constraints": "none"}, "sample_cost needs constraints='implicit'"),
    ],
    ids=["shape", "diagonal", "negative", "dent", "form"],
)
def test_bad_costs_of_rows_get_a_sentence(spoil, params, message):
    X, y = ordinal_data(n=30)
    with pytest.raises(ValueError, match=message):
        SVOR(**params).fit(X, y, sample_cost=spoil(cost_matrix("absolute", 4)[y]))


def test_bad_inputs_of_a_path_and_of_a_computed_kernel():
    X, y = ordinal_data(n=30)
    with pytest.raises(ValueError, match="C must be a positive number; found -1"):
        SVOR().fit_path(X, y, [1.0, -1.0])
    with pytest.raises(ValueError, match="Cs must have shape"):
        SVOR().fit_path(X, y, 1.0)
    gram = X @ X.T
    with pytest.raises(ValueError, match="symmetric matrix of kernel values"):
        SVOR(kernel="precomputed").fit(gram + np.triu(np.ones((30, 30)), 1), y)
    model = SVOR(kernel="precomputed").fit(gram, y)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(gram[:, :20])
    with pytest.raises(ValueError, match="kernel must give an array of shape"):
        SVOR(kernel=lambda X, Y: np.zeros(3)).fit(X, y)
    with pytest.raises(ValueError, match="must be dense for this kernel"):
        SVOR(kernel="pearson").fit(sp.csr_array(X), y)


def test_the_score_is_the_cost_that_was_minimised():
    X, y = ordinal_data(n=60)
    model = SVOR(cost="squared").fit(X, y)
    assert model.score(X, y) == pytest.approx(-np.mean((model.predict(X) - y) ** 2))


def test_sample_costs_can_be_routed():
    X, y = ordinal_data(n=60)
    costs = cost_matrix("squared", 4)[y]
    with config_context(enable_metadata_routing=True):
        model = SVOR(tol=1e-6).set_fit_request(sample_cost=True)
        search = GridSearchCV(model, {"C": [1.0]}, cv=3).fit(X, y, sample_cost=costs)
    expected = SVOR(tol=1e-6, cost="squared").fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), margins_of(expected, X), atol=1e-4)


@pytest.mark.parametrize("constraints", ["explicit", "none"])
def test_without_implicit_constraints_the_cost_is_for_the_score_alone(constraints):
    X, y = ordinal_data()
    plain = SVOR(constraints=constraints).fit(X, y)
    squared = SVOR(constraints=constraints, cost="squared").fit(X, y)
    np.testing.assert_array_equal(plain.predict_latent(X), squared.predict_latent(X))
    assert squared.score(X, y) == pytest.approx(-np.mean((squared.predict(X) - y) ** 2))


@pytest.mark.parametrize("factor", [100.0, 1000.0])
@pytest.mark.parametrize("constraints", ["implicit", "explicit"])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_inputs_in_small_units_converge(kernel, constraints, factor):
    """The same as C times the square of the factor, which pair steps alone would never solve."""
    X, y = ordinal_data(n=200)
    degree = 3 if kernel == "poly" else 1
    machine = SVOR(kernel=kernel, gamma=1.0, constraints=constraints, max_iter=2_000_000)
    scaled = clone(machine).fit(factor ** (1.0 / degree) * X, y)
    assert scaled.converged_
    assert scaled.duality_gap_ <= 1e-3 * abs(scaled.objective_)


@pytest.mark.parametrize("factor", [1e6, 1e9])
@pytest.mark.parametrize("params", EXTREME.values(), ids=EXTREME)
def test_inputs_in_large_units_end_with_a_certificate_or_a_warning(params, factor):
    X, y = ordinal_data(n=30, K=3)
    model = SVOR(kernel="linear", **params)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(factor * X, y)
    assert model.converged_ == (model.kkt_gap_ <= model.tol) == (not seen)
    assert all("measurable progress" in str(w.message) for w in seen)
    assert all("scale the inputs" in str(w.message) for w in seen)
    assert np.isfinite(model.predict_latent(factor * X)).all()
    if model.constraints == "implicit" and not model.regularize_thresholds:
        # The solution for a smaller C, beyond which the labels do not change.
        assert (
            np.mean(
                model.predict(factor * X)
                == SVOR(1e3, kernel="linear", **params).fit(X, y).predict(X)
            )
            > 0.9
        )


@pytest.mark.parametrize("params", EXTREME.values(), ids=EXTREME)
@pytest.mark.parametrize("heavy", [slice(None), slice(None, None, 3)], ids=["all", "a third"])
def test_weights_without_bound_are_the_machine_without_errors(params, heavy):
    X, y = ordinal_data(n=40, K=4)
    weights = np.ones(40)
    weights[heavy] = 1e40
    model = SVOR(gamma=2.0, **params).fit(X, y, sample_weight=weights)
    weights[heavy] = 1e5
    twin = SVOR(gamma=2.0, **params).fit(X, y, sample_weight=weights)
    assert model.converged_
    assert model.objective_ == pytest.approx(twin.objective_, rel=1e-4)


def test_a_start_for_boxes_without_bound():
    X, y = ordinal_data(n=40, K=4)
    cold, warm = SVOR(1e40, gamma=2.0).fit(X, y), SVOR(0.1, gamma=2.0, warm_start=True).fit(X, y)
    warm.set_params(C=1e40).fit(X, y)
    assert warm.converged_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)


def test_kernel_values_out_of_range_get_a_sentence():
    X, y = ordinal_data(n=40, K=4)
    with pytest.raises(
        ValueError, match=r"kernel values of at most 1e\+30; found .* scale the inp"
    ):
        SVOR(kernel="poly", gamma=1.0).fit(1e30 * X, y)


def test_the_pearson_kernel_takes_missing_entries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    y = np.digitize(X[:, 0] - X[:, 1], [-0.7, 0.7])
    X[rng.random(X.shape) < 0.3] = np.nan
    model = SVOR(kernel="pearson", C=10.0).fit(X, y)
    by_matrix = SVOR(kernel="precomputed", C=10.0).fit(Pearson().block(X), y)
    np.testing.assert_allclose(
        model.predict_latent(X), by_matrix.predict_latent(Pearson().block(X)), atol=5e-3
    )
    with pytest.raises(ValueError, match="NaN"):
        SVOR().fit(X, y)
