import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from support.rank_svm import all_pairs, least_objective, objective

from echelon.kernels import Gaussian
from echelon.pairs.pair_set import PairSet
from echelon.solvers.ranking.pair_draws import PairSampler
from echelon.solvers.ranking.pair_dual import solve_pair_dual
from echelon.solvers.ranking.pair_newton import SmoothedHinge, solve_pairs, without_idle_rows
from echelon.solvers.ranking.score_spaces import KernelSpace, LinearSpace, factor_kernel


@st.composite
def problems(draw):
    """Few rows with ties and duplicates, in queries, with weights, and some stated pairs."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    X = rng.choice([-1.0, 0.0, 0.5, 2.0], size=(n, d)) * draw(st.sampled_from([0.1, 1.0, 30.0]))
    y = rng.integers(0, 3, size=n)
    y[:2] = 0, 1
    qid = rng.integers(0, 2, size=n)
    qid[:2] = 0
    pairs = PairSet.from_labels(y, qid, rng.choice([0.5, 1.0, 2.0], size=n))
    if draw(st.booleans()):
        winners = rng.integers(0, n, size=4)
        losers = (winners + rng.integers(1, n, size=4)) % n
        stated = PairSet.from_pairs(np.c_[winners, losers], n, rng.uniform(0.1, 2.0, size=4))
        pairs = stated if draw(st.booleans()) else pairs + stated
    C = 10.0 ** draw(st.integers(-2, 1))
    return X, pairs, C


@given(problems(), st.booleans())
def test_linear_solutions_are_those_of_a_quadratic_programme(problem, squared):
    X, pairs, C = problem
    best = least_objective(X @ X.T, pairs, C, squared)
    found = solve_pairs(LinearSpace(X, pairs), pairs, C, squared=squared, tol=1e-7)
    own = objective(X @ found.coef, 0.5 * found.coef @ found.coef, pairs, C, squared)
    assert found.converged
    assert found.objective == pytest.approx(own, rel=1e-9)
    assert found.duality_gap <= 1e-7 * found.objective
    assert found.objective - best <= found.duality_gap + 1e-6 * (1.0 + best)
    assert found.objective >= best - 1e-6 * (1.0 + best)


@given(problems(), st.booleans())
def test_primal_and_dual_of_a_kernel_agree(problem, squared):
    X, pairs, C = problem
    gram = Gaussian(0.3).block(X)
    space = KernelSpace(lambda v: gram @ v, gram.diagonal())
    primal = solve_pairs(space, pairs, C, squared=squared, tol=1e-8)
    listed = PairSet.from_pairs(np.c_[all_pairs(pairs)[:2]], len(X), all_pairs(pairs)[2]).listed
    dual = solve_pair_dual(gram, listed, C, squared=squared, tol=1e-8)
    assert primal.converged
    assert dual.converged
    for found in (primal, dual):
        half_norm = 0.5 * found.coef @ gram @ found.coef
        own = objective(gram @ found.coef, half_norm, pairs, C, squared)
        assert found.objective == pytest.approx(own, rel=1e-8)
    assert primal.objective == pytest.approx(dual.objective, rel=3e-8)
    best = least_objective(gram, pairs, C, squared)
    assert dual.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


def noisy_data(n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X @ rng.normal(size=d) + rng.normal(size=n), [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 5])
def test_the_gap_is_true_before_convergence_too(squared, max_iter):
    X, y = noisy_data()
    pairs = PairSet.from_labels(y)
    best = solve_pairs(LinearSpace(X, pairs), pairs, 0.01, squared=squared, tol=1e-10)
    space = LinearSpace(X, pairs)
    early = solve_pairs(space, pairs, 0.01, squared=squared, tol=1e-12, max_iter=max_iter)
    assert early.n_iter == max_iter
    assert -best.duality_gap <= early.objective - best.objective <= early.duality_gap
    distance = 0.5 * np.sum((early.coef - best.coef) ** 2)
    assert distance <= early.duality_gap + best.duality_gap


@pytest.mark.parametrize("h", [1.0, 0.1, 1e-3])
def test_the_rounded_hinge(h):
    X, y = noisy_data(40)
    pairs = PairSet.from_labels(y)
    scores = X[:, 0]
    winners, losers, weights = all_pairs(pairs)
    t = 1.0 - scores[winners] + scores[losers]
    inside = (t > 0.0) & (t < h)
    value = np.where(inside, t**2 / (2.0 * h), np.maximum(0.0, t - 0.5 * h))
    alpha = 2.0 * weights * np.clip(t / h, 0.0, 1.0)
    terms = SmoothedHinge(pairs, 2.0, squared=False).at(scores, h)
    assert terms.value == pytest.approx(2.0 * weights @ value)
    assert terms.exact == pytest.approx(2.0 * weights @ np.maximum(0.0, t))
    excess = 2.0 * weights @ np.maximum(0.0, t) - alpha @ t
    assert terms.excess == pytest.approx(excess, rel=1e-6, abs=1e-10 * terms.exact)
    gradient = np.bincount(losers, alpha, 40) - np.bincount(winners, alpha, 40)
    np.testing.assert_allclose(terms.gradient, gradient, atol=1e-9 / h)
    assert terms.total_curvature() == pytest.approx(2.0 * weights @ inside / h)
    v = np.random.default_rng(1).normal(size=40)
    bent = 2.0 * weights * inside / h * (v[winners] - v[losers])
    product = np.bincount(winners, bent, 40) - np.bincount(losers, bent, 40)
    np.testing.assert_allclose(terms.curvature(v), product, atol=1e-9 / h)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("factors", [[1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6], [1e3] * 6])
def test_units_of_features_cost_few_steps(squared, factors):
    X, y = noisy_data()
    pairs = PairSet.from_labels(y)
    found = solve_pairs(LinearSpace(X * factors, pairs), pairs, 0.01, squared=squared)
    assert found.converged
    assert found.n_iter <= (20 if squared else 100)


def test_many_columns_take_the_diagonal():
    rng = np.random.default_rng(0)
    X = sp.random(150, 400, density=0.05, random_state=rng, format="csr")
    y = np.digitize(X @ rng.normal(size=400), [-0.5, 0.0, 0.5])
    pairs = PairSet.from_labels(y)
    sparse = solve_pairs(LinearSpace(X, pairs), pairs, 1.0, squared=True, tol=1e-10)
    dense = solve_pairs(LinearSpace(X.toarray(), pairs), pairs, 1.0, squared=True, tol=1e-10)
    gram = (X @ X.T).toarray()
    kernel = solve_pairs(
        KernelSpace(lambda v: gram @ v, gram.diagonal()), pairs, 1.0, squared=True, tol=1e-10
    )
    assert sparse.converged
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-4)
    np.testing.assert_allclose(sparse.scores, kernel.scores, atol=1e-4)


def test_equal_rows_give_zero():
    pairs = PairSet.from_labels([0, 1, 2])
    for squared in (True, False):
        found = solve_pairs(LinearSpace(np.ones((3, 2)), pairs), pairs, 1.0, squared=squared)
        np.testing.assert_array_equal(found.coef, 0.0)
        assert found.converged
        assert found.objective == 3.0


def test_a_start_at_the_optimum_takes_one_step():
    X, y = noisy_data()
    pairs = PairSet.from_labels(y)
    space = LinearSpace(X, pairs)
    cold = solve_pairs(space, pairs, 0.1, squared=True)
    warm = solve_pairs(space, pairs, 0.1, squared=True, start=cold.coef)
    assert warm.n_iter == 1 < cold.n_iter
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-4)


def test_rows_in_no_active_pair_lose_their_coefficient():
    # Far rows are ranked with room to spare; only those in the middle bear on the solution.
    X = np.array([[-50.0], [-0.2], [0.0], [0.2], [50.0]])
    pairs = PairSet.from_labels([0, 0, 1, 2, 2])
    gram = X @ X.T
    space = KernelSpace(lambda v: gram @ v, gram.diagonal())
    rough = solve_pairs(space, pairs, 10.0, squared=True)
    found = without_idle_rows(space, pairs, 10.0, rough, squared=True, tol=1e-6)
    assert set(np.flatnonzero(found.coef)) <= {1, 2, 3}
    assert found.duality_gap <= 1e-6 * found.objective
    own = objective(gram @ found.coef, 0.5 * found.coef @ gram @ found.coef, pairs, 10.0, True)
    assert found.objective == pytest.approx(own)


def test_a_kernel_with_negative_eigenvalues_is_refused():
    pairs = PairSet.from_labels([0, 1])
    gram = np.array([[-1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(ValueError, match="kernel must have no negative eigenvalues"):
        solve_pairs(KernelSpace(lambda v: gram @ v, gram.diagonal()), pairs, 1.0, squared=True)


def test_drawn_pairs_come_with_the_chance_of_their_weights():
    weights = np.array([1.0, 3.0, 0.0, 2.0, 1.0, 1.0])
    pairs = PairSet.from_labels([0, 1, 1, 2, 0, 1], list("aaaabb"), weights)
    pairs = pairs + PairSet.from_pairs([[0, 5]], 6, [4.0])
    winners, losers = PairSampler(pairs).draw(60_000, np.random.default_rng(0))
    chance = np.zeros((6, 6))
    i, j, c = all_pairs(pairs)
    np.add.at(chance, (i, j), c / c.sum())
    share = np.zeros((6, 6))
    np.add.at(share, (winners, losers), 1.0 / 60_000)
    np.testing.assert_allclose(share, chance, atol=0.01)
    assert not share[chance == 0.0].any()


def test_the_factor_of_a_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X[10:20] = X[:10]
    gram = Gaussian(0.5).block(X)
    whole = factor_kernel(lambda i: gram[:, i], gram.diagonal(), 30, np.random.RandomState(0))
    assert len(whole.pivots) == len(set(whole.pivots)) <= 20
    np.testing.assert_allclose(whole.factor @ whole.factor.T, gram, atol=1e-9)
    part = factor_kernel(lambda i: gram[:, i], gram.diagonal(), 5, np.random.RandomState(0))
    rebuilt = part.factor @ part.factor.T
    np.testing.assert_allclose(rebuilt[:, part.pivots], gram[:, part.pivots], atol=1e-10)
    w = rng.normal(size=5)
    scores = gram[:, part.pivots] @ part.coefficients(w)
    np.testing.assert_allclose(scores, part.factor @ w, atol=1e-8)
