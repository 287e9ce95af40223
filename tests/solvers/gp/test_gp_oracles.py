"""The slow Gaussian processes of the tests agree with exact integrals, the solvers with them."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm
from support.data import ordinal_data
from support.gaussian_process import (
    Task,
    binary_laplace,
    central_gradient,
    exact_log_evidence,
    exact_log_evidence_probit,
    expectation_propagation,
    laplace,
    likelihood,
    log_likelihood_derivatives,
    probabilities,
    tilted_moments,
    tilted_moments_probit,
    variational_bound,
)

from echelon.ordinal.likelihoods import get_link
from echelon.solvers.gp.ep import solve_ep
from echelon.solvers.gp.evidence import OrdinalLikelihood
from echelon.solvers.gp.laplace import solve_laplace
from echelon.solvers.gp.prior import DensePrior, SparsePrior

LINKS = ("probit", "logit")
every_link = pytest.mark.parametrize("link", LINKS)
APPROXIMATIONS = (laplace, expectation_propagation)
every_approximation = pytest.mark.parametrize("approximate", APPROXIMATIONS)


def random_task(seed, n=6, K=3, link="probit", noise=0.6, weights=None, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    covariance = scale * (np.exp(-0.5 * squares) + 1e-6 * np.eye(n))
    thresholds = np.sort(rng.normal(size=K - 1)) + 0.2 * np.arange(K - 1)
    return Task(covariance, rng.integers(0, K, size=n), thresholds, noise, link, weights)


def repeated(task, times):
    """Every row as often as its integer weight says."""
    rows = np.repeat(np.arange(len(task.codes)), times)
    return Task(
        task.covariance[np.ix_(rows, rows)],
        task.codes[rows],
        task.thresholds,
        task.noise,
        task.link,
    )


@every_link
def test_derivatives_of_the_likelihood(link):
    task = random_task(0, link=link, weights=np.array([1.0, 2.0, 0.5, 1.0, 0.3, 4.0]))
    f = np.linspace(-2.0, 2.0, 6)
    value, first, second = log_likelihood_derivatives(task, f)
    np.testing.assert_allclose(value, task.w * np.log(likelihood(task, f)))
    for i in range(6):

        def total(x, i=i):
            return log_likelihood_derivatives(task, np.where(np.arange(6) == i, x, f))

        slope = central_gradient(lambda x: total(x)[0].sum(), f[i : i + 1])
        assert slope[0] == pytest.approx(first[i], abs=1e-9)
        bend = central_gradient(lambda x, i=i: total(x)[1][i], f[i : i + 1])
        assert bend[0] == pytest.approx(second[i], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_tilted_moments_in_closed_form_are_the_integrals(seed):
    task = random_task(seed, noise=0.4)
    for i in range(6):
        exact = tilted_moments_probit(task, i, 0.3, 0.9)
        np.testing.assert_allclose(tilted_moments(task, i, 0.3, 0.9), exact, rtol=1e-10)


@every_link
def test_quadrature_is_that_of_scipy(link):
    task = random_task(1, link=link)
    P = probabilities(link, np.array([0.4]), np.array([1.7]), task.thresholds, task.noise)
    np.testing.assert_allclose(P.sum(), 1.0, rtol=1e-13)
    for k in range(3):
        one = Task(np.eye(1), np.array([k]), task.thresholds, task.noise, link)

        def integrand(x, one=one):
            return likelihood(one, np.array([x]))[0] * norm.pdf(x, 0.4, np.sqrt(1.7))

        assert P[0, k] == pytest.approx(quad(integrand, -15.0, 15.0, epsabs=1e-13)[0], rel=1e-9)


@every_link
@pytest.mark.parametrize("weight", [1.0, 0.3, 2.5])
def test_ep_with_one_row_is_exact(link, weight):
    for seed in range(6):
        task = random_task(seed, n=1, K=4, link=link, weights=np.array([weight]), scale=2.0)
        posterior = expectation_propagation(task)
        assert posterior.log_evidence == pytest.approx(exact_log_evidence(task), rel=1e-10)
        moments = tilted_moments(task, 0, 0.0, task.covariance[0, 0], weight)
        np.testing.assert_allclose([posterior.mean[0], posterior.covariance[0, 0]], moments[1:])


def test_the_box_probability_is_the_integral():
    for seed in range(3):
        task = random_task(seed, n=2)
        exact = exact_log_evidence(task)
        assert exact_log_evidence_probit(task) == pytest.approx(exact, rel=1e-6)


@every_link
def test_ep_is_near_the_exact_evidence_and_the_bound_below_it(link):
    for seed in range(4):
        task = random_task(seed, n=2, link=link)
        posterior = expectation_propagation(task)
        exact = exact_log_evidence(task)
        assert posterior.log_evidence == pytest.approx(exact, abs=5e-3)
        bound = variational_bound(task, posterior.mean, posterior.covariance)
        assert exact - 0.1 < bound < exact


def test_ep_is_near_the_exact_evidence_of_five_rows():
    for seed in range(3):
        task = random_task(seed, n=5)
        exact = exact_log_evidence_probit(task)
        assert expectation_propagation(task).log_evidence == pytest.approx(exact, abs=0.01)
        assert laplace(task).log_evidence == pytest.approx(exact, abs=0.5)


@every_link
@every_approximation
def test_weak_rows_leave_little_to_approximate(approximate, link):
    # With wide noise the likelihood is nearly an exponential of a quadratic.
    task = random_task(3, n=2, link=link, noise=30.0)
    assert approximate(task).log_evidence == pytest.approx(exact_log_evidence(task), abs=1e-5)


@every_link
def test_the_mode_is_that_of_a_general_optimiser(link):
    task = random_task(5, n=8, K=4, link=link, weights=np.array([1, 2, 0.5, 1, 1, 3, 1, 0.1]))
    posterior = laplace(task)
    inverse = np.linalg.inv(task.covariance)

    def loss(f):
        value, first, _ = log_likelihood_derivatives(task, f)
        return 0.5 * f @ inverse @ f - value.sum(), inverse @ f - first

    found = minimize(loss, posterior.mean + 0.1, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert loss(posterior.mean)[0] <= found.fun + 1e-9
    np.testing.assert_allclose(posterior.mean, found.x, atol=1e-5)
    curvature = -log_likelihood_derivatives(task, posterior.mean)[2]
    np.testing.assert_allclose(
        posterior.covariance, np.linalg.inv(inverse + np.diag(curvature)), atol=1e-7
    )


@every_link
def test_integer_weights_are_repeated_rows(link):
    times = np.array([1, 3, 2, 1, 1, 2])
    task = random_task(7, link=link, weights=times.astype(float))
    more, once = laplace(repeated(task, times)), laplace(task)
    assert once.log_evidence == pytest.approx(more.log_evidence, rel=1e-9)
    first = np.cumsum(times) - times
    np.testing.assert_allclose(once.mean, more.mean[first], atol=1e-8)
    cross = np.random.default_rng(0).normal(size=(3, 6)) * 0.1
    ours = once.predict(cross, np.ones(3))
    theirs = more.predict(np.repeat(cross, times, axis=1), np.ones(3))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


@every_link
def test_one_site_for_a_weight_is_nearer_the_truth_than_a_site_for_each_copy(link):
    times = np.array([4, 5])
    task = random_task(3, n=2, link=link, noise=0.3, weights=times.astype(float))
    exact = exact_log_evidence(task)
    once = expectation_propagation(task).log_evidence
    each = expectation_propagation(repeated(task, times)).log_evidence
    assert abs(once - exact) < abs(each - exact) < 0.3


@every_approximation
def test_predictions_at_the_rows_are_the_posterior(approximate):
    task = random_task(8, weights=np.array([1, 2, 0.5, 1, 1, 3]))
    posterior = approximate(task)
    mean, variance = posterior.predict(task.covariance, np.diag(task.covariance))
    np.testing.assert_allclose(mean, posterior.mean, atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(posterior.covariance), atol=1e-8)


@every_link
def test_two_classes_are_binary_classification(link):
    task = random_task(9, n=7, K=2, link=link)
    posterior = laplace(task)
    cross = np.random.default_rng(0).normal(size=(4, 7)) * 0.1
    binary = binary_laplace(
        task.covariance,
        2.0 * task.codes - 1.0,
        task.thresholds[0],
        task.noise,
        cross,
        np.ones(4),
        link,
    )
    mean, variance = posterior.predict(cross, np.ones(4))
    ours = probabilities(link, mean, variance, task.thresholds, task.noise)[:, 1]
    np.testing.assert_allclose(posterior.log_evidence, binary[0], rtol=1e-10)
    np.testing.assert_allclose([mean, variance, ours], binary[1:], atol=1e-9)


def test_the_bound_falls_away_from_the_posterior():
    # With wide noise the approximation is nearly the posterior, where the bound is tight.
    task = random_task(2, n=3, noise=5.0)
    posterior = expectation_propagation(task)
    best = variational_bound(task, posterior.mean, posterior.covariance)
    assert best == pytest.approx(posterior.log_evidence, abs=1e-4)
    for shift, factor in ((0.3, 1.0), (-0.3, 1.0), (0.0, 0.7), (0.0, 1.4)):
        mean, covariance = posterior.mean + shift, factor * posterior.covariance
        assert variational_bound(task, mean, covariance) < best - 1e-3


# ---------------------------------------------------------------------------- solvers beside them

SOLVERS = {"laplace": (solve_laplace, laplace), "ep": (solve_ep, expectation_propagation)}
every_solver = pytest.mark.parametrize(("solve", "oracle"), SOLVERS.values(), ids=SOLVERS)
FRACTIONS = np.array([1.0, 2.0, 0.5, 1.0, 0.3, 4.0])


def solver_input(task):
    likelihood = OrdinalLikelihood(
        get_link(task.link), task.codes, task.thresholds, task.noise, task.w
    )
    return DensePrior(task.covariance), likelihood


@every_solver
@every_link
@pytest.mark.parametrize("weights", [None, FRACTIONS], ids=["equal", "weighted"])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_solvers_find_the_posterior_of_the_definition(solve, oracle, link, weights, noise):
    task = random_task(11, K=4, link=link, noise=noise, weights=weights)
    found = solve(*solver_input(task))
    expected = oracle(task)
    assert found.converged
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-8)
    np.testing.assert_allclose(found.mean, expected.mean, atol=2e-6)
    np.testing.assert_allclose(found.a, expected.dual, atol=1e-5)
    np.testing.assert_allclose(
        found.factor.posterior_variances(), np.diag(expected.covariance), rtol=1e-5
    )


@every_solver
def test_equal_rows_and_rows_without_variance_are_no_obstacle(solve, oracle):
    task = random_task(12)
    covariance = task.covariance[np.ix_([0, 0, 0, 1, 2, 3], [0, 0, 0, 1, 2, 3])].copy()
    covariance[5] = covariance[:, 5] = 0.0
    task = Task(covariance, task.codes, task.thresholds, task.noise)
    found = solve(*solver_input(task))
    assert found.converged
    # A row without variance has f = 0, whatever its site is.
    alone = Task(covariance[:5, :5], task.codes[:5], task.thresholds, task.noise)
    last = Task(np.eye(1), task.codes[5:], task.thresholds, task.noise)
    expected = oracle(alone).log_evidence + np.log(likelihood(last, np.zeros(1))[0])
    assert found.log_evidence == pytest.approx(expected, rel=1e-8)
    assert found.mean[5] == 0.0


@every_solver
@pytest.mark.parametrize("noise", [1e-3, 1e3])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_scales_converge(solve, oracle, noise, scale):
    task = random_task(13, n=12, K=4, noise=noise, scale=scale)
    found = solve(*solver_input(task))
    assert np.isfinite(found.log_evidence)
    assert found.converged


def test_the_evidence_keeps_its_digits_where_sites_are_sharp():
    # Site precisions of 1e6 against variances of one: sums of natural parameters would cancel.
    X, y = ordinal_data(n=12, d=5, K=3)
    covariance = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 18.0)
    task = Task(covariance, y, np.array([3.0, 3.02]), 1e-3)
    found = solve_ep(*solver_input(task))
    expected = expectation_propagation(task)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=5e-7)


@every_solver
def test_the_start_changes_only_the_way(solve, oracle):
    task, other = random_task(14), random_task(14, noise=0.2, scale=3.0)
    cold = solve(*solver_input(task))
    warm = solve(*solver_input(task), start=solve(*solver_input(other)).start)
    again = solve(*solver_input(task), start=cold.start)
    assert warm.log_evidence == pytest.approx(cold.log_evidence, rel=1e-9)
    assert again.log_evidence == pytest.approx(cold.log_evidence, rel=1e-9)
    assert again.n_iter <= 1 + (solve is solve_laplace)


@pytest.mark.parametrize("precision", [np.zeros(8), np.full(8, 1e-9), np.linspace(0.0, 50.0, 8)])
def test_priors_with_sites_are_their_formulas(precision):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(8, 2)), rng.normal(size=(3, 2))

    def kernel(a, b):
        return 1.5 * np.exp(-0.5 * ((a[:, None] - b) ** 2).sum(axis=2))

    inducing, cross, variances = kernel(Z, Z), kernel(Z, X), np.full(8, 1.5)
    nystrom = cross.T @ np.linalg.inv(inducing) @ cross
    low_rank = nystrom + np.diag(variances - np.diag(nystrom))
    values = rng.normal(size=8)
    for prior, sigma, rtol in (
        (DensePrior(kernel(X, X)), kernel(X, X), 1e-9),
        (SparsePrior(inducing, cross, variances), low_rank, 1e-5),
    ):
        inverse = np.linalg.inv(np.eye(8) + precision[:, None] * sigma)
        factor = prior.factor(precision)
        np.testing.assert_allclose(prior.multiply(values), sigma @ values, rtol=rtol)
        np.testing.assert_allclose(
            factor.shrink_shift(values), inverse @ values, rtol=rtol, atol=rtol
        )
        np.testing.assert_allclose(
            factor.posterior_variances(), np.diag(sigma @ inverse), rtol=rtol
        )
        expected = -np.linalg.slogdet(inverse)[1]
        assert factor.log_det == pytest.approx(expected, rel=rtol, abs=1e-9)


def test_memory_of_sites_renewed_one_by_one():
    n = 300
    X, y = ordinal_data(n=n, d=4, K=5)
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    prior = DensePrior(np.exp(-0.5 * distances / 4.0))
    likelihood = OrdinalLikelihood(
        get_link("probit"), y, np.array([-1.0, -0.3, 0.3, 1.0]), 0.3, np.ones(n)
    )
    whole = solve_ep(prior, likelihood)
    tracemalloc.start()
    try:
        found = solve_ep(prior, likelihood, max_iter=10, patience=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The prior is there already.
    assert peak / (8.0 * n * n) <= 4.0
    assert found.n_iter == 1
    assert found.residual < 0.1 * solve_ep(prior, likelihood, max_iter=0).residual
    assert found.log_evidence == pytest.approx(whole.log_evidence, abs=1e-2)
