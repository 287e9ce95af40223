import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.preprocessing import StandardScaler
from support.data import ascending, ordinal_data
from support.gaussian_process import (
    binary_laplace,
    central_gradient,
    expectation_propagation,
    laplace,
    probabilities,
    task_of,
    unpack,
    variational_bound,
)

from echelon import GPOR
from echelon.gaussian_process import objective as objective_module
from echelon.gaussian_process.objective import maximise
from echelon.ordinal.costs import cost_matrix

INFERENCES = {"laplace": laplace, "ep": expectation_propagation}
LINKS = ("probit", "logit")
every_inference = pytest.mark.parametrize("inference", INFERENCES)
every_link = pytest.mark.parametrize("link", LINKS)
KERNELS = {
    "rbf": RBF(1.3),
    "rbf ard": RBF([0.8, 1.5, 2.5]),
    "matern 1.5": Matern(1.2, nu=1.5),
    "matern 2.5 ard": Matern([1.2, 0.7, 2.0], nu=2.5),
    "rational quadratic": RationalQuadratic(1.1, 0.8),
    "dot product": DotProduct(0.7),
    "noisy rbf": ConstantKernel(1.7) * RBF(0.9) + WhiteKernel(0.2),
    "sum": RBF([0.8, 1.5, 2.5]) + 0.3 * DotProduct(0.5),
    "product": RBF(1.5) * Matern(2.0, nu=1.5),
    "linear_ard": "linear_ard",
    "pearson": "pearson",
    "rbf_ard": "rbf_ard",
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
WEIGHTS = np.array([1.0, 2.0, 0.4, 1.0, 0.0, 3.0, 1.5, 0.2, 1.0, 1.0])


def at_start(X, y, kernel=None, **params):
    """A model at its starting point."""
    sample_weight = params.pop("sample_weight", None)
    return GPOR(kernel, optimizer=None, **params).fit(X, y, sample_weight)


def small_data(n=10, d=3, K=3, seed=0):
    return ordinal_data(n=n, d=d, K=K, seed=seed)


def moved(model, seed=0, scale=0.3):
    """Hyperparameters not far from the start."""
    return model.theta_ + scale * np.random.default_rng(seed).normal(size=len(model.theta_))


def assert_gradient(model, theta, rel=1e-5, step=2e-3):
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    numeric = central_gradient(model.log_marginal_likelihood, theta, step)
    scale = np.abs(numeric).max()
    np.testing.assert_allclose(gradient, numeric, rtol=rel, atol=rel * max(scale, 0.1))


def assert_evidence(model, theta, X, codes, oracle, weights=None, rel=1e-7):
    task = task_of(model.kernel_, theta, X, codes, model.likelihood, weights)
    expected = oracle(task.without_weightless_rows()).log_evidence
    assert model.log_marginal_likelihood(theta) == pytest.approx(expected, rel=rel)


# -------------------------------------------------------------------------- evidence and gradient


@every_inference
@every_kernel
def test_evidence_and_its_gradient(kernel, inference):
    X, y = small_data()
    model = at_start(X, y, kernel, inference=inference)
    for seed in range(2):
        theta = moved(model, seed)
        assert_evidence(model, theta, X, y, INFERENCES[inference])
        assert_gradient(model, theta)


@every_inference
@pytest.mark.parametrize("kernel", [RBF([0.8, 1.5, 2.5]), KERNELS["noisy rbf"]])
def test_evidence_and_its_gradient_with_logistic_noise(kernel, inference):
    X, y = small_data(K=4)
    model = at_start(X, y, kernel, inference=inference, likelihood="logit")
    theta = moved(model, scale=0.2)
    assert_evidence(model, theta, X, y, INFERENCES[inference])
    assert_gradient(model, theta)


@every_inference
@every_link
def test_evidence_and_its_gradient_with_weights(link, inference):
    X, y = small_data()
    model = at_start(X, y, inference=inference, likelihood=link, sample_weight=WEIGHTS)
    theta = moved(model, scale=0.2)
    assert_evidence(model, theta, X, y, INFERENCES[inference], WEIGHTS)
    assert_gradient(model, theta)


@every_inference
def test_rows_of_weight_zero_are_left_out(inference):
    X, y = small_data(n=14)
    weights = np.where(np.arange(14) % 4 == 1, 0.0, 1.0)
    X_broken = X.copy()
    X_broken[weights == 0.0] += 100.0
    heavy = GPOR(inference=inference).fit(X_broken, y, weights)
    alone = GPOR(inference=inference).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(heavy.theta_, alone.theta_, atol=1e-8)
    np.testing.assert_allclose(heavy.predict_proba(X), alone.predict_proba(X), atol=1e-8)


@every_inference
@every_link
@pytest.mark.parametrize("kernel", [None, "linear_ard", KERNELS["sum"], KERNELS["pearson"]])
def test_integer_weights_are_repeated_rows(kernel, link, inference):
    X, y = small_data(n=12)
    times = np.array([1, 2, 3, 1, 1, 0, 2, 1, 1, 4, 1, 2])
    rows = np.repeat(np.arange(12), times)
    params = {"kernel": kernel, "inference": inference, "likelihood": link}
    once = at_start(X, y, sample_weight=times.astype(float), **params)
    more = at_start(X[rows], y[rows], **params)
    theta = moved(once)
    value, gradient = once.log_marginal_likelihood(theta, eval_gradient=True)
    expected, slope = more.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(once.predict_proba(X), more.predict_proba(X), atol=1e-7)


def test_class_weights_are_sample_weights():
    X, y = small_data(n=20)
    factors = {0: 2.0, 1: 0.5, 2: 1.0}
    by_class = at_start(X, y, class_weight=factors)
    by_row = at_start(X, y, sample_weight=np.array([factors[k] for k in y]))
    assert by_class.log_marginal_likelihood_value_ == by_row.log_marginal_likelihood_value_


@every_inference
def test_fitted_value_is_the_evidence_at_the_fitted_hyperparameters(inference):
    X, y = small_data(n=40)
    model = GPOR("rbf_ard", inference=inference).fit(X, y)
    again = model.log_marginal_likelihood(model.theta_)
    assert model.log_marginal_likelihood_value_ == pytest.approx(again, rel=1e-8)
    assert model.log_marginal_likelihood() == again
    start = at_start(X, y, "rbf_ard", inference=inference)
    assert model.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_
    kernel, noise, thresholds = unpack(model.kernel_, model.theta_)
    np.testing.assert_allclose(kernel.theta, model.kernel_.theta)
    assert model.noise_ == pytest.approx(noise)
    np.testing.assert_allclose(model.thresholds_, thresholds)
    assert ascending(model.thresholds_)
    assert model.converged_
    _, gradient = model.log_marginal_likelihood(model.theta_, eval_gradient=True)
    inside = np.abs(model.theta_) < 6.0
    assert np.abs(gradient[inside]).max() < 0.01 * len(y) ** 0.5


def test_the_starting_point_is_that_of_the_paper():
    X, y = small_data(n=25, d=4, K=5)
    model = at_start(StandardScaler().fit_transform(X), y)
    expected = [0.5 * np.log(4), 0.0, -1.0, *[np.log(2 / 5)] * 3]
    np.testing.assert_allclose(model.theta_, expected, atol=1e-12)
    assert model.noise_ == 1.0


# -------------------------------------------------------------------------------------- prediction


@every_inference
@every_link
def test_predictions_are_those_of_the_definition(link, inference):
    X, y = small_data(n=12, K=4)
    new = np.random.default_rng(5).normal(size=(6, 3))
    kernel = 1.5 * RBF([0.8, 1.5, 2.5])
    model = at_start(X, y, kernel, inference=inference, likelihood=link, noise=0.6)
    posterior = INFERENCES[inference](task_of(model.kernel_, model.theta_, X, y, link))
    mean, variance = posterior.predict(model.kernel_(new, X), model.kernel_.diag(new))
    # Expectation propagation stops at a mismatch of moments of 1e-6 standard deviations.
    found, deviation = model.predict_latent(new, return_std=True)
    np.testing.assert_allclose(found, mean, atol=5e-6)
    np.testing.assert_allclose(deviation**2, variance, atol=5e-6)
    np.testing.assert_array_equal(model.predict_latent(new), found)
    P = probabilities(link, mean, variance, model.thresholds_, model.noise_)
    np.testing.assert_allclose(model.predict_proba(new), P, atol=5e-6)


@every_link
def test_two_classes_are_binary_classification(link):
    X, y = small_data(n=30, K=2)
    new = np.random.default_rng(5).normal(size=(6, 3))
    model = GPOR(inference="laplace", likelihood=link).fit(X, y)
    kernel = model.kernel_
    binary = binary_laplace(
        kernel(X),
        2.0 * y - 1.0,
        model.thresholds_[0],
        model.noise_,
        kernel(new, X),
        kernel.diag(new),
        link,
    )
    assert model.log_marginal_likelihood_value_ == pytest.approx(binary[0], rel=1e-8)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], binary[3], atol=1e-7)


@every_inference
@pytest.mark.parametrize("kernel", [None, "rbf_ard", "linear_ard", KERNELS["noisy rbf"]])
def test_variances_lie_between_zero_and_the_priors(kernel, inference):
    X, y = small_data(n=40, K=4)
    new = np.concatenate([X, np.random.default_rng(5).normal(scale=3.0, size=(30, 3))])
    model = GPOR(kernel, inference=inference).fit(X, y)
    _, deviation = model.predict_latent(new, return_std=True)
    assert (deviation > 0.0).all()
    assert (deviation <= np.sqrt(model.kernel_.diag(new)) * (1.0 + 1e-12)).all()


@every_inference
def test_far_away_only_the_prior_is_left(inference):
    X, y = small_data(n=30)
    model = GPOR(inference=inference).fit(X, y)
    mean, deviation = model.predict_latent(np.full((1, 3), 1e4), return_std=True)
    np.testing.assert_allclose([mean[0], deviation[0]], [0.0, 1.0], atol=1e-9)


@every_inference
@every_link
def test_probabilities_and_decisions(link, inference):
    X, y = small_data(n=40, K=4)
    new = np.random.default_rng(6).normal(scale=2.0, size=(50, 3))
    custom = np.array([[0, 1, 5, 9], [2, 0, 1, 3], [9, 7, 0, 1], [9, 8, 7, 0]], dtype=float)
    for cost in ("zero_one", "absolute", "squared", custom):
        model = at_start(X, y, inference=inference, likelihood=link, cost=cost, noise=0.3)
        P = model.predict_proba(new)
        assert (P >= 0.0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
        expected = P @ cost_matrix(cost, 4)
        chosen = expected[np.arange(50), model.predict(new)]
        assert (chosen <= expected.min(axis=1) + 1e-12).all()
        margins = model.predict_latent(new)[:, None] - model.thresholds_
        np.testing.assert_allclose(model.decision_function(new), margins)
        assert model.score(X, y) == pytest.approx(-cost_matrix(cost, 4)[y, model.predict(X)].mean())


# ------------------------------------------------------------------------------------- invariance


@every_inference
def test_the_order_of_rows_does_not_matter(inference):
    X, y = small_data(n=40, K=4)
    order = np.random.default_rng(1).permutation(40)
    model = GPOR("rbf_ard", inference=inference).fit(X, y)
    other = at_start(X[order], y[order], "rbf_ard", inference=inference)
    theta = model.theta_
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    same, slope = other.log_marginal_likelihood(theta, eval_gradient=True)
    assert same == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(slope, gradient, atol=1e-7)
    start = at_start(X, y, "rbf_ard", inference=inference)
    np.testing.assert_allclose(other.predict_proba(X), start.predict_proba(X), atol=1e-8)


@every_inference
@pytest.mark.parametrize("kernel", ["rbf_ard", "linear_ard"])
def test_the_order_of_features_permutes_relevances(kernel, inference):
    X, y = ordinal_data(n=60, d=4, K=3, noise=0.2)
    order = np.array([2, 0, 3, 1])
    model = GPOR(kernel, inference=inference).fit(X, y)
    other = GPOR(kernel, inference=inference).fit(X[:, order], y)
    assert other.log_marginal_likelihood_value_ == pytest.approx(
        model.log_marginal_likelihood_value_, abs=1e-3
    )
    expected = model.feature_relevance_[order]
    np.testing.assert_allclose(
        other.feature_relevance_, expected, rtol=0.05, atol=0.02 * expected.max()
    )
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_reversed_labels_mirror_the_latent_score():
    X, y = small_data(n=30, K=4)
    model, mirror = GPOR().fit(X, y), GPOR().fit(X, 3 - y)
    assert mirror.log_marginal_likelihood_value_ == pytest.approx(
        model.log_marginal_likelihood_value_, abs=1e-4
    )
    np.testing.assert_allclose(mirror.predict_proba(X), model.predict_proba(X)[:, ::-1], atol=5e-3)


# ------------------------------------------------------------------------------- labels and levels


def test_labels_of_other_types():
    X, y = small_data(n=30)
    names = np.array(["low", "mid", "high"])
    codes = GPOR().fit(X, y).predict(X)
    text = GPOR(classes=["low", "mid", "high"]).fit(X, names[y])
    np.testing.assert_array_equal(text.predict(X), names[codes])
    column = pd.Categorical(names[y], categories=names, ordered=True)
    category = GPOR().fit(X, column).predict(X)
    assert isinstance(category, pd.Categorical)
    assert category.ordered and list(category.categories) == list(names)
    np.testing.assert_array_equal(category.codes, codes)


@every_inference
def test_levels_without_rows_have_probability_zero(inference):
    X, y = small_data(n=30)
    levels = np.array([1, 2, 4])
    model = GPOR(inference=inference, classes=range(6)).fit(X, levels[y])
    P = model.predict_proba(X)
    assert P.shape == (30, 6)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P[:, [0, 3, 5]], 0.0)
    assert model.thresholds_[0] == -np.inf and model.thresholds_[-1] == np.inf
    assert model.thresholds_[2] == model.thresholds_[3]
    only = GPOR(inference=inference).fit(X, y)
    np.testing.assert_allclose(P[:, levels], only.predict_proba(X), atol=1e-10)
    assert model.log_marginal_likelihood_value_ == only.log_marginal_likelihood_value_


# ------------------------------------------------------------------------------------- optimisation


def drawn_from_the_model(seed, n, kernel, noise, thresholds):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    covariance = kernel(X) + 1e-10 * np.eye(n)
    f = np.linalg.cholesky(covariance) @ rng.normal(size=n)
    return X, np.searchsorted(thresholds, f + noise * rng.normal(size=n))


@every_inference
def test_hyperparameters_are_recovered(inference):
    """The true ones lie within the ellipsoid of the observed information, as often as they should.

    The quadratic form is about χ² with five degrees of freedom for each draw.
    """
    kernel, noise, thresholds = RBF(0.7), 0.4, np.array([-0.7, 0.1, 0.8])
    truth = np.array([np.log(0.7), np.log(0.4), -0.7, np.log(0.8), np.log(0.7)])
    distances = []
    for seed in range(3):
        X, y = drawn_from_the_model(seed, 300, kernel, noise, thresholds)
        model = GPOR(inference=inference).fit(X, y)
        assert model.log_marginal_likelihood(truth) <= model.log_marginal_likelihood_value_ + 1e-6
        information = observed_information(model)
        assert np.linalg.eigvalsh(information).min() > 0.0
        error = model.theta_ - truth
        assert (np.abs(error) < 4.0 * np.sqrt(np.diag(np.linalg.inv(information)))).all()
        distances.append(error @ information @ error)
    assert sum(distances) < chi2.ppf(1.0 - 1e-4, 15)


def observed_information(model, step=1e-3):
    theta = model.theta_
    rows = []
    for unit in step * np.eye(len(theta)):
        above = model.log_marginal_likelihood(theta + unit, eval_gradient=True)[1]
        below = model.log_marginal_likelihood(theta - unit, eval_gradient=True)[1]
        rows.append((below - above) / (2.0 * step))
    return 0.5 * (np.array(rows) + np.array(rows).T)


@every_inference
def test_restarts_never_make_it_worse(inference):
    for seed in range(2):
        X, y = ordinal_data(n=15, d=3, K=3, seed=seed)
        params = {"kernel": "rbf_ard", "inference": inference, "random_state": 0}
        once = GPOR(**params).fit(X, y)
        often = GPOR(n_restarts_optimizer=2, **params).fit(X, y)
        assert often.log_marginal_likelihood_value_ >= once.log_marginal_likelihood_value_ - 1e-8


def test_an_optimiser_of_ones_own():
    calls = []

    def own(objective, initial_theta, bounds):
        calls.append((initial_theta.shape, np.asarray(bounds).shape))
        found = minimize(objective, initial_theta, jac=True, method="L-BFGS-B", bounds=bounds)
        return found.x, found.fun

    X, y = small_data(n=30)
    model = GPOR(optimizer=own).fit(X, y)
    assert calls == [((4,), (4, 2))]
    usual = GPOR().fit(X, y)
    assert model.log_marginal_likelihood_value_ == pytest.approx(
        usual.log_marginal_likelihood_value_, abs=1e-3
    )


def test_the_noise_can_be_held_fixed():
    X, y = small_data(n=30)
    model = GPOR(1.0 * RBF(), noise=0.5, noise_bounds="fixed").fit(X, y)
    assert model.noise_ == pytest.approx(0.5, rel=1e-12)
    free = GPOR(1.0 * RBF(), noise=0.5).fit(X, y)
    assert free.log_marginal_likelihood_value_ >= model.log_marginal_likelihood_value_ - 1e-3


def test_fixed_kernel_parameters_stay():
    X, y = small_data(n=30)
    kernel = ConstantKernel(2.0, "fixed") * RBF(0.5)
    model = GPOR(kernel).fit(X, y)
    assert model.kernel_.k1.constant_value == 2.0
    assert model.kernel_.k2.length_scale != 0.5
    assert kernel.k2.length_scale == 0.5


@every_inference
def test_a_prior_on_the_hyperparameters_is_added(inference):
    X, y = small_data(n=20)
    centre, precision = np.array([0.3, -0.5, -0.4, 0.1]), 4.0

    def prior(theta):
        error = theta - centre
        return -0.5 * precision * error @ error, -precision * error

    plain, held = (at_start(X, y, inference=inference, prior=p) for p in (None, prior))
    theta = moved(plain)
    assert held.log_marginal_likelihood(theta) == pytest.approx(
        plain.log_marginal_likelihood(theta) + prior(theta)[0]
    )
    assert_gradient(held, theta)
    free, firm = (GPOR(inference=inference, prior=p).fit(X, y) for p in (None, prior))
    assert np.linalg.norm(firm.theta_ - centre) < np.linalg.norm(free.theta_ - centre)


def test_thresholds_at_the_start():
    X, y = small_data(n=20, K=4)
    model = at_start(X, y, thresholds=[-0.3, 0.1, 1.1])
    np.testing.assert_allclose(model.thresholds_, [-0.3, 0.1, 1.1])
    np.testing.assert_allclose(model.theta_[-3:], [-0.3, np.log(0.4), 0.0])
    wide = at_start(X, 2 * y, thresholds=[-0.3, 0.0, 0.1, 0.5, 1.1, 9.0], classes=range(7))
    np.testing.assert_allclose(wide.thresholds_, [-0.3, -0.3, 0.1, 0.1, 1.1, 1.1])


@pytest.mark.parametrize("link", LINKS)
def test_the_variational_bound(link):
    X, y = small_data()
    model = at_start(X, y, inference="ep", objective="bound", likelihood=link)
    theta = moved(model, scale=0.2)
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    posterior = expectation_propagation(task_of(model.kernel_, theta, X, y, link))

    def bound(at):
        task = task_of(model.kernel_, at, X, y, link)
        return variational_bound(task, posterior.mean, posterior.covariance)

    assert value == pytest.approx(bound(theta), rel=1e-6)
    # As in the paper, the posterior is held fixed in the gradient.
    np.testing.assert_allclose(gradient, central_gradient(bound, theta), rtol=1e-5, atol=1e-5)
    evidence = at_start(X, y, inference="ep", likelihood=link).log_marginal_likelihood(theta)
    assert value < evidence


def test_fitting_by_the_bound():
    X, y = small_data(n=40)
    bound = GPOR(inference="ep", objective="bound").fit(X, y)
    evidence = GPOR(inference="ep").fit(X, y)
    assert bound.log_marginal_likelihood_value_ < evidence.log_marginal_likelihood_value_
    np.testing.assert_allclose(bound.predict_proba(X), evidence.predict_proba(X), atol=0.15)


# ------------------------------------------------------------------------------------------ sparse


@every_inference
@pytest.mark.parametrize("kernel", [None, "rbf_ard", KERNELS["noisy rbf"], KERNELS["matern 1.5"]])
def test_all_rows_as_inducing_points_are_exact(kernel, inference):
    X, y = small_data(n=30, K=4)
    new = np.random.default_rng(5).normal(size=(10, 3))
    exact = at_start(X, y, kernel, inference=inference)
    sparse = at_start(X, y, kernel, inference=inference, n_inducing=30)
    assert sparse.inducing_points_.shape == (30, 3)
    theta = moved(exact)
    value, gradient = exact.log_marginal_likelihood(theta, eval_gradient=True)
    found, slope = sparse.log_marginal_likelihood(theta, eval_gradient=True)
    assert found == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(slope, gradient, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(sparse.predict_proba(new), exact.predict_proba(new), atol=1e-5)
    mean, deviation = sparse.predict_latent(new, return_std=True)
    np.testing.assert_allclose(
        [mean, deviation], exact.predict_latent(new, return_std=True), atol=1e-4
    )


@every_inference
@every_link
@pytest.mark.parametrize("kernel", ["rbf_ard", KERNELS["noisy rbf"], "linear_ard"])
def test_gradient_with_inducing_points(kernel, inference, link):
    X, y = small_data(n=40, K=4)
    weights = np.linspace(0.2, 2.2, 40)
    model = at_start(
        X, y, kernel, inference=inference, likelihood=link, n_inducing=7, sample_weight=weights
    )
    assert_gradient(model, moved(model, scale=0.2), rel=2e-5)


@every_inference
def test_few_inducing_points_are_near_the_exact_model(inference):
    X, y = ordinal_data(n=200, d=2, K=4, noise=0.3)
    exact = GPOR(inference=inference).fit(X, y)
    sparse = GPOR(inference=inference, n_inducing=40, random_state=0).fit(X, y)
    assert sparse.inducing_points_.shape == (40, 2)
    assert np.mean(sparse.predict(X) != exact.predict(X)) < 0.1
    assert sparse.log_marginal_likelihood_value_ == pytest.approx(
        exact.log_marginal_likelihood_value_, rel=0.1
    )


# ---------------------------------------------------------------------------------------- features


@pytest.mark.parametrize("kernel", ["rbf_ard", "linear_ard"])
@every_inference
def test_relevant_features_are_found(kernel, inference):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    score = 2.0 * X[:, 1] + np.abs(X[:, 1]) - X[:, 4] + 0.2 * rng.normal(size=90)
    y = np.searchsorted(np.quantile(score, [0.25, 0.5, 0.75]), score)
    # Labels with so little noise drive σ to its lower bound, along a valley that takes L-BFGS some
    # 250 iterations, more or fewer with the rounding of a processor.
    model = GPOR(kernel, inference=inference, max_iter=500).fit(X, y)
    assert model.converged_
    assert set(np.argsort(model.feature_relevance_)[-2:]) == {1, 4}
    assert (model.feature_relevance_ >= 0.0).all()
    assert set(np.asarray(model.select_features(2)).tolist()) == {1, 4}
    chosen = SelectFromModel(model, threshold=-np.inf, max_features=2, prefit=True)
    np.testing.assert_array_equal(chosen.fit(X, y).get_support(), np.isin(np.arange(5), [1, 4]))


def test_kernels_without_a_parameter_per_feature_have_no_relevances():
    X, y = small_data(n=20)
    model = GPOR().fit(X, y)
    assert not hasattr(model, "feature_relevance_")
    assert not hasattr(model, "feature_importances_")


# ------------------------------------------------------------------------------------------- input

BAD = {
    "inference": ({"inference": "mcmc"}, "inference"),
    "likelihood": ({"likelihood": "cauchit"}, "likelihood"),
    "kernel name": ({"kernel": "gaussian"}, "kernel"),
    "kernel type": ({"kernel": 3.0}, "kernel"),
    "no inducing points": ({"n_inducing": 0}, "n_inducing"),
    "half an inducing point": ({"n_inducing": 2.5}, "n_inducing"),
    "zero noise": ({"noise": 0.0}, "noise"),
    "negative noise": ({"noise": -1.0}, "noise"),
    "noise that is none": ({"noise": np.nan}, "noise"),
    "noise bounds": ({"noise_bounds": (2.0, 1.0)}, "noise_bounds"),
    "objective": ({"objective": "likelihood"}, "objective"),
    "bound of Laplace": ({"objective": "bound", "inference": "laplace"}, "objective"),
    "optimizer": ({"optimizer": "adam"}, "optimizer"),
    "restarts": ({"n_restarts_optimizer": -1}, "n_restarts_optimizer"),
    "cost": ({"cost": "cubic"}, "cost"),
    "too few thresholds": ({"thresholds": [0.0]}, "thresholds"),
    "crossing thresholds": ({"thresholds": [1.0, -1.0]}, "thresholds"),
}


@pytest.mark.parametrize(("params", "name"), BAD.values(), ids=BAD)
def test_bad_parameters_get_a_sentence(params, name):
    X, y = small_data(n=12)
    with pytest.raises(ValueError, match=name) as caught:
        GPOR(**params).fit(X, y)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message
    assert message.startswith(name) and "found" in message


def test_hyperparameters_of_the_wrong_length_are_refused():
    X, y = small_data(n=12)
    model = at_start(X, y)
    for theta in (np.zeros(3), np.zeros(5), np.zeros((2, 2))):
        with pytest.raises(ValueError, match=r"theta must .*; found .*\."):
            model.log_marginal_likelihood(theta)


def test_missing_values_are_for_the_pearson_kernel_alone():
    X, y = ordinal_data(n=30, d=6)
    X[3, 2] = X[7, 5] = np.nan
    for kernel in (None, "rbf_ard", "linear_ard", RBF()):
        with pytest.raises(ValueError, match="NaN"):
            GPOR(kernel).fit(X, y)
    model = GPOR("pearson").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_clone_and_pickle():
    X, y = small_data(n=30)
    for params in ({}, {"kernel": 1.0 * RBF(), "inference": "ep"}, {"n_inducing": 8}):
        model = GPOR(random_state=0, **params).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert copy.log_marginal_likelihood(model.theta_) == pytest.approx(
            model.log_marginal_likelihood_value_, rel=1e-9
        )
        again = clone(model).fit(X, y)
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)


def awkward_problem(seed):
    """A small problem with few rows, classes of one row, equal rows and constant features."""
    rng = np.random.default_rng(seed)
    n, K, d = int(rng.integers(5, 61)), int(rng.integers(2, 9)), int(rng.integers(1, 11))
    K = min(K, n)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1.0, 1.0)
    if rng.random() < 0.4:
        X[: n // 2] = X[rng.integers(0, n, size=n // 2)]
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = 3.0
    y = rng.integers(0, K, size=n)
    if rng.random() < 0.5:
        score = X[:, 0] + rng.choice([0.0, 0.3]) * rng.normal(size=n)
        y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)
    if rng.random() < 0.5:
        y = np.minimum(y, 1)
        y[:K] = np.arange(K)
    y[:2] = [0, K - 1]
    params = {
        "inference": ("laplace", "ep")[seed % 2],
        "likelihood": LINKS[seed // 2 % 2],
        "kernel": rng.choice(["rbf", "rbf_ard"], p=[0.7, 0.3]),
        "n_inducing": int(rng.integers(1, n + 1)) if rng.random() < 0.15 else None,
    }
    return X, y, params


@pytest.mark.parametrize("seed", range(30))
def test_awkward_problems_are_fitted(seed):
    X, y, params = awkward_problem(seed)
    model = GPOR(random_state=0, **params)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".+", ConvergenceWarning)
        model.fit(X, y)
    start = at_start(X, y, random_state=0, **params)
    assert np.isfinite(model.theta_).all()
    assert model.log_marginal_likelihood_value_ >= start.log_marginal_likelihood_value_ - 1e-8
    assert ascending(model.thresholds_)
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-10)
    mean, deviation = model.predict_latent(X, return_std=True)
    assert np.isfinite(mean).all() and (deviation >= 0.0).all()


def test_stopping_early_is_told():
    X, y = small_data(n=40)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = GPOR("rbf_ard", max_iter=1).fit(X, y)
    assert not model.converged_


# ---------------------------------------------------------------------- Laplace's evidence, checked


def few_rows_many_classes(n=20, d=4, K=6):
    """Rows on which Laplace's evidence is largest where hardly any noise is left."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(520, d))
    score = X @ np.linspace(1.0, 0.2, d) + 0.3 * rng.normal(size=520)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)
    return X[:n], y[:n]


def test_an_evidence_of_laplace_that_is_wrong_gives_way_to_expectation_propagation():
    X, y = few_rows_many_classes()
    model, propagated = GPOR(inference="laplace").fit(X, y), GPOR().fit(X, y)
    assert model.inference_ == propagated.inference_ == "ep"
    assert model.evidence_gap_ > 1.0
    assert model.converged_
    np.testing.assert_array_equal(model.theta_, propagated.theta_)
    np.testing.assert_array_equal(model.predict_proba(X), propagated.predict_proba(X))
    assert model.log_marginal_likelihood() == propagated.log_marginal_likelihood()
    assert model.n_evaluations_ > propagated.n_evaluations_
    assert not hasattr(propagated, "evidence_gap_")
    # Hyperparameters that are given are not the evidence's to choose.
    model.set_params(optimizer=None).fit(X, y)
    assert model.inference_ == "laplace"
    assert not hasattr(model, "evidence_gap_")


@every_link
@pytest.mark.parametrize("n_inducing", [None, 12])
def test_an_evidence_of_laplace_that_is_right_is_kept(n_inducing, link):
    X, y = ordinal_data(n=30, d=2, K=3, noise=1.0, seed=1)
    shared = {"n_inducing": n_inducing, "likelihood": link, "random_state": 0}
    model = GPOR(inference="laplace", **shared).fit(X, y)
    assert model.inference_ == "laplace"
    there = GPOR(
        model.kernel_, noise=model.noise_, thresholds=model.thresholds_, optimizer=None, **shared
    ).fit(X, y)
    gap = model.log_marginal_likelihood_value_ - there.log_marginal_likelihood_value_
    assert 0.0 < abs(gap) < 1.0
    assert model.evidence_gap_ == pytest.approx(gap, rel=1e-2)


def test_an_evidence_that_cannot_be_checked_gives_way(monkeypatch):
    solve_ep = objective_module.solve_ep

    def failing(*args, tol, **settings):
        if tol == objective_module._CHECK_TOLERANCE:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        return solve_ep(*args, tol=tol, **settings)

    monkeypatch.setattr(objective_module, "solve_ep", failing)
    X, y = ordinal_data(n=30, d=2, K=3, noise=1.0, seed=1)
    model = GPOR(inference="laplace").fit(X, y)
    assert np.isnan(model.evidence_gap_)
    assert model.inference_ == "ep"
    np.testing.assert_array_equal(model.theta_, GPOR().fit(X, y).theta_)


# ------------------------------------------------------------------------------------------ memory


@every_inference
def test_memory_of_one_evaluation(inference):
    n, d = 600, 8
    X, y = ordinal_data(n=n, d=d, K=5)
    model = at_start(X, y, "rbf_ard", inference=inference)
    theta = moved(model, scale=0.05)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model.log_marginal_likelihood(theta, eval_gradient=True)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    matrices = peak / (8.0 * n * n)
    assert matrices <= 5.0


def test_memory_of_a_check_of_laplace():
    n = 600
    X, y = ordinal_data(n=n, d=8, K=5)
    model = at_start(X, y, inference="laplace")
    objective = model._make_objective(model._learned)
    tracemalloc.start()
    try:
        objective.laplace_gap(model.theta_)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / (8.0 * n * n) <= 5.0


# ----------------------------------------------------------------------------- scales and failures


@every_inference
@pytest.mark.parametrize("kernel", [None, "rbf_ard", "linear_ard"])
@pytest.mark.parametrize("factor", [1e-4, 1e3, 1e9])
def test_kernels_by_name_follow_the_scale_of_the_inputs(kernel, factor, inference):
    X, y = ordinal_data(n=40, d=3, K=3, noise=0.2)
    factors = factor if kernel is None else np.array([factor, 1.0, 1.0 / factor])
    model = GPOR(kernel, inference=inference).fit(X, y)
    scaled = GPOR(kernel, inference=inference).fit(factors * X, y)
    assert scaled.log_marginal_likelihood_value_ == pytest.approx(
        model.log_marginal_likelihood_value_, abs=1e-3
    )
    np.testing.assert_allclose(scaled.predict_proba(factors * X), model.predict_proba(X), atol=5e-3)


@every_inference
def test_inputs_of_a_scale_that_hides_them_are_told(inference):
    X, y = ordinal_data(n=40, d=3, K=3, noise=0.2)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        GPOR(RBF(), inference=inference).fit(1e4 * X, y)
    rng = np.random.default_rng(0)
    GPOR(RBF(), inference=inference).fit(rng.normal(size=(40, 3)), rng.integers(0, 3, size=40))


def test_parameters_set_after_fit_change_decisions_alone():
    X, y = small_data(n=30)
    model = GPOR(inference="laplace").fit(X, y)
    before = model.predict_proba(X), model.log_marginal_likelihood()
    model.set_params(likelihood="logit", inference="ep", cost="absolute")
    np.testing.assert_array_equal(model.predict_proba(X), before[0])
    assert model.log_marginal_likelihood() == before[1]


def test_random_starts_with_rare_classes():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = np.repeat([0, 1, 2], [1, 1, 2998])
    model = GPOR(n_inducing=3, n_restarts_optimizer=1, inference="laplace", random_state=0)
    assert ascending(model.fit(X, y).thresholds_)


@pytest.mark.parametrize(
    "params",
    [
        {"prior": lambda theta: (np.nan, 0.0 * theta)},
        {"kernel": RBF(1.0), "prior": lambda theta: (0.0, np.nan * theta)},
        {"optimizer": lambda objective, theta, bounds: (np.nan * theta, 0.0)},
        {"optimizer": lambda objective, theta, bounds: (theta[:1], 0.0)},
        {"prior": 3.0},
        {"noise_bounds": ("a", "b")},
    ],
)
def test_what_gives_no_number_is_refused(params):
    X, y = small_data(n=12)
    model = GPOR(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match="found") as caught:
            model.fit(X, y)
    assert str(caught.value).endswith(".")
    assert not hasattr(model, "theta_")


def test_a_search_that_meets_an_impossible_covariance_goes_on():
    met = []

    def objective(theta):
        if theta[0] > 0.5:
            met.append(theta[0])
            raise np.linalg.LinAlgError
        return -50.0 * float((theta[0] - 0.4) ** 2), -100.0 * (theta - 0.4)

    bounds = np.array([[-10.0, 10.0]])
    options = {"optimizer": "fmin_l_bfgs_b", "max_iter": 100, "tol": 1e-12}
    found = maximise(objective, [np.array([-0.4])], bounds, **options)
    assert met and found.theta[0] == pytest.approx(0.4, abs=1e-4)
    with pytest.raises(np.linalg.LinAlgError):
        maximise(objective, [np.array([0.6])], bounds, **options)


def test_weights_over_orders_of_magnitude_with_logistic_noise():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    y = np.searchsorted([-0.5, 0.5], X[:, 0] + 0.3 * rng.normal(size=30))
    model = GPOR(likelihood="logit").fit(X, y, 10.0 ** rng.uniform(-3.0, 3.0, 30))
    assert np.isfinite(model.log_marginal_likelihood_value_)
