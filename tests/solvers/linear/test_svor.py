import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from echelon.ordinal.costs import adjacent_weights, cost_matrix, threshold_weights
from echelon.ordinal.losses import HINGE, LOSSES, SQUARED_HINGE
from echelon.solvers.linear import svor_path as linear_svor_path
from echelon.solvers.linear import svor_rows
from echelon.solvers.linear.svor import LinearSVORProblem, solve_linear_svor, tie_thresholds
from echelon.solvers.linear.svor_pass import (
    ThresholdLoss,
    curvature_product,
    evaluate,
    match_sides,
    row_curvatures,
    slopes_along,
)
from echelon.solvers.linear.svor_path import (
    JointSystem,
    iterative_solver,
    joint_minimiser,
    ordered_minimiser,
)
from echelon.solvers.linear.svor_rows import DenseBlock, SparseBlock, summarise


def make_problem(X, codes, W, *, C=1.0, squared=True, weights=None, loss=None):
    weights = np.ones(len(codes)) if weights is None else weights
    source = [(X, codes, weights)]
    loss = loss or (SQUARED_HINGE if squared else HINGE)
    return LinearSVORProblem(source, summarise(source, len(W)), C, W, loss)


def objective(problem, w, b):
    """The objective from its definition, over all rows and thresholds at once."""
    total = 0.5 * w @ w
    for X, codes, weights in problem.source:
        Z = np.where(codes[:, None] > np.arange(len(b)), 1.0, -1.0)
        W = problem.C * weights[:, None] * problem.weights[codes]
        scores = np.asarray(X @ w)[:, None]
        with np.errstate(invalid="ignore"):
            margins = np.where(W > 0.0, Z * (scores - b), 1.0)
        total += np.sum(W * problem.loss.value(margins))
    return total


def random_data(rng, n, d, K, *, noisy=True):
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d) + rng.normal(size=d)
    scores = (X / X.std(axis=0)) @ rng.normal(size=d) + noisy * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(scores, np.arange(1, K) / K), scores)


def quadratic_programme(problem):
    """Minimum by a general solver with a slack for every row and threshold."""
    (X, codes, weights) = problem.source[0]
    K, d, n = len(problem.weights), X.shape[1], len(codes)
    M = K - 1
    Z = np.where(codes[:, None] > np.arange(M), 1.0, -1.0)
    c = problem.C * weights[:, None] * problem.weights[codes]
    power = 2 if (problem.loss is SQUARED_HINGE) else 1

    def value(v):
        return 0.5 * v[:d] @ v[:d] + np.sum(c.ravel() * v[d + M :] ** power)

    def gradient(v):
        slack = c.ravel() * (2.0 * v[d + M :] if (problem.loss is SQUARED_HINGE) else 1.0)
        return np.concatenate([v[:d], np.zeros(M), slack])

    margins = np.zeros((n * M, d + M + n * M))
    margins[:, :d] = (Z[:, :, None] * X[:, None, :]).reshape(n * M, d)
    margins[np.arange(n * M), d + np.tile(np.arange(M), n)] = -Z.ravel()
    margins[:, d + M :] = np.eye(n * M)
    order = np.zeros((M - 1, d + M + n * M))
    order[:, d : d + M - 1] -= np.eye(M - 1)
    order[:, d + 1 : d + M] += np.eye(M - 1)
    limits = [
        {"type": "ineq", "fun": lambda v: margins @ v - 1.0, "jac": lambda v: margins},
        {"type": "ineq", "fun": lambda v: order @ v, "jac": lambda v: order},
    ]
    start = np.concatenate([np.zeros(d + M), np.ones(n * M)])
    bounds = [(None, None)] * (d + M) + [(0.0, None)] * (n * M)
    answer = minimize(
        value,
        start,
        jac=gradient,
        method="SLSQP",
        bounds=bounds,
        constraints=limits if M > 1 else limits[:1],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    # 8: no descent is left to the last digit.
    assert answer.status in (0, 8)
    return answer.fun


def smooth_programme(problem):
    """Minimum for a smooth loss by a quasi-Newton method on coefficients and gaps of thresholds."""
    d, M = problem.source[0][0].shape[1], len(problem.weights) - 1
    bounds = [(None, None)] * (d + 1) + [(0.0, None)] * (M - 1)
    start = np.concatenate([np.zeros(d + 1), np.ones(M - 1)])
    options = {"ftol": 1e-15, "gtol": 1e-7, "maxiter": 5000, "maxfun": 100_000}
    return minimize(
        lambda v: objective(problem, v[:d], np.cumsum(v[d:])),
        start,
        method="L-BFGS-B",
        bounds=bounds,
        options=options,
    ).fun


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("kind", ["absolute", "adjacent"])
def test_a_quasi_newton_method_finds_the_same_minimum(loss, kind, rng):
    X, codes = random_data(rng, 40, 2, 4)
    problem = make_problem(X, rng.permutation(codes), WEIGHTS[kind](4), loss=LOSSES[loss])
    result = solve_linear_svor(problem)
    assert result.converged
    assert result.duality_gap <= 1e-8 * (1.0 + result.objective)
    assert result.objective == pytest.approx(smooth_programme(problem), rel=1e-6)


WEIGHTS = {
    "absolute": lambda K: threshold_weights(cost_matrix("absolute", K)),
    "squared": lambda K: threshold_weights(cost_matrix("squared", K)),
    "adjacent": adjacent_weights,
}


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_general_solver_finds_the_same_minimum(squared, kind, seed):
    rng = np.random.default_rng(seed)
    K = 2 + seed
    X, codes = random_data(rng, 14, 2, K)
    # Labels that do not follow the scores cross the thresholds of the adjacent weights.
    codes = codes if seed % 2 else rng.permutation(codes)
    weights = rng.uniform(0.5, 2.0, size=14)
    problem = make_problem(X, codes, WEIGHTS[kind](K), C=0.7, squared=squared, weights=weights)
    result = solve_linear_svor(problem)
    assert result.converged
    assert result.objective == pytest.approx(quadratic_programme(problem), rel=1e-6)


@given(
    st.integers(0, 10_000),
    st.sampled_from(list(WEIGHTS)),
    st.sampled_from(list(LOSSES)),
    st.sampled_from([2, 3, 5, 8, 30]),
    st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e3]),
)
def test_the_gap_bounds_the_distance_to_the_minimum(seed, kind, loss, K, C):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2 * K, 2 * K + 60)), int(rng.integers(1, 6))
    X, codes = random_data(rng, n, d, K, noisy=bool(seed % 3))
    if seed % 2:
        X = np.round(X)
    weights = rng.choice([0.0, 1.0, 1.0, 2.5], size=n)
    weights[np.unique(codes, return_index=True)[1][:2]] = 1.0
    problem = make_problem(X, codes, WEIGHTS[kind](K), C=C, loss=LOSSES[loss], weights=weights)
    result = solve_linear_svor(problem, tol=1e-5)
    b = result.thresholds
    assert (b[1:] >= b[:-1]).all()
    assert objective(problem, result.coef, b) == pytest.approx(result.objective, rel=1e-6, abs=1e-9)
    # The hinge has kinks without end on tiny problems of 30 classes; then it must say so.
    assert result.converged or loss == "hinge"
    assert result.converged == (result.duality_gap <= 1e-5 * (1.0 + result.objective))
    for _ in range(10):
        w = result.coef + rng.normal(size=d) * rng.choice([1e-4, 1e-2, 1.0])
        moved = np.sort(b + rng.normal(size=K - 1) * rng.choice([0.0, 1e-3, 1.0]))
        assert objective(problem, w, moved) >= result.objective - result.duality_gap - 1e-9


@pytest.mark.parametrize("squared", [True, False])
def test_thresholds_of_a_convex_cost_need_no_order(squared):
    """With the order left out, single thresholds of the found w are already those returned."""
    rng = np.random.default_rng(3)
    X, codes = random_data(rng, 60, 3, 5)
    W = threshold_weights(cost_matrix("squared", 5))
    problem = make_problem(X, codes, W, squared=squared)
    result = solve_linear_svor(problem, tol=1e-10)
    for k in range(4):
        for move in (-1e-3, 1e-3):
            b = result.thresholds.copy()
            b[k] += move
            assert objective(problem, result.coef, b) >= result.objective - 1e-7


@pytest.mark.parametrize(("squared", "seed"), [(False, 47), (True, 12)])
def test_explicit_order_ties_thresholds_that_would_cross(squared, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 1)).round(1)
    codes = rng.permutation(np.repeat([0, 1, 2, 3], 4)[:14])
    problem = make_problem(X, codes, adjacent_weights(4), squared=squared)
    result = solve_linear_svor(problem)
    b = result.thresholds
    assert result.converged
    assert b[0] == b[1] < b[2]
    assert result.objective == pytest.approx(quadratic_programme(problem), rel=1e-6)
    crossed = objective(problem, result.coef, b + np.array([1e-4, -1e-4, 0.0]))
    assert crossed < result.objective - 1e-6


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_by_differences(name, rng):
    X, codes = random_data(rng, 40, 3, 4)
    problem = make_problem(X, codes, WEIGHTS["squared"](4))
    loss = ThresholdLoss(
        problem.source,
        problem.summary.centre,
        problem.weights.T.copy(),
        np.where(np.arange(4) > np.arange(3)[:, None], 1.0, -1.0),
        np.array([0, 1, 1]),
        LOSSES[name],
    )
    w, b, h, e = 0.1 * rng.normal(size=3), np.array([-0.3, 0.4]), 0.5, 1e-6
    here = evaluate(loss, w, b, h, 0.0, full_gram=True)

    def shifted(j, by):
        move = by * np.eye(5)[j]
        return evaluate(loss, w + move[:3], b + move[3:], h, 0.0, full_gram=True)

    ups, downs = [shifted(j, e) for j in range(5)], [shifted(j, -e) for j in range(5)]
    slope = [(u.value - v.value) / (2 * e) for u, v in zip(ups, downs, strict=True)]
    np.testing.assert_allclose(np.concatenate([here.slope_w, here.slope_b]), slope, rtol=1e-5)
    H = np.array(
        [
            (np.concatenate([u.slope_w, u.slope_b]) - np.concatenate([v.slope_w, v.slope_b]))
            / (2 * e)
            for u, v in zip(ups, downs, strict=True)
        ]
    )
    np.testing.assert_allclose(here.gram, H[:3, :3], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(here.border, H[:3, 3:], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.diag(here.curvature_b), H[3:, 3:], rtol=1e-5, atol=1e-5)
    V = rng.normal(size=(3, 2))
    by_row = row_curvatures(loss, w, b, h, 0.0)
    np.testing.assert_allclose(curvature_product(loss, by_row, V), here.gram @ V)
    system = JointSystem(lambda U: here.gram @ U, np.diag(here.gram), here.border, here.curvature_b)
    joint = np.concatenate(joint_minimiser(system, w, b, 1e-12, 100))
    whole = H + np.diag([1.0, 1.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(whole @ joint, -np.concatenate([w, b]), rtol=1e-4, atol=1e-4)
    diagonal = evaluate(loss, w, b, h, 0.0, full_gram=False).gram
    np.testing.assert_allclose(diagonal, np.diag(here.gram))
    step = rng.normal(size=3), rng.normal(size=2)
    (along,) = slopes_along(loss, (w, b), step, h, np.array([0.0]))
    assert along == pytest.approx(here.slope_w @ step[0] + here.slope_b @ step[1])
    if name == "hinge":
        wider = evaluate(loss, w, b, h * (1 + 1e-6), 0.0, full_gram=True)
        drift = -(wider.slope_w - here.slope_w) / 1e-6
        np.testing.assert_allclose(here.drift_w, drift, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_conjugate_gradients_and_factors_agree(squared, sparse, rng, monkeypatch):
    X, codes = random_data(rng, 150, 6, 4)
    inputs = sp.csr_array(X) if sparse else X
    direct = solve_linear_svor(make_problem(X, codes, WEIGHTS["absolute"](4), squared=squared))
    monkeypatch.setattr(linear_svor_path, "DIRECT_COLUMNS", 2)
    problem = make_problem(inputs, codes, WEIGHTS["absolute"](4), squared=squared)
    iterative = solve_linear_svor(problem)
    assert direct.converged and iterative.converged
    np.testing.assert_allclose(iterative.coef, direct.coef, atol=1e-3)
    assert iterative.objective == pytest.approx(direct.objective, rel=1e-7)


def test_conjugate_gradients_solve_each_column(rng):
    A = rng.normal(size=(20, 7))
    gram = A.T @ A
    R = np.column_stack([rng.normal(size=(7, 2)), np.zeros(7)])
    solve = iterative_solver(lambda V: gram @ V, np.diag(gram), 1e-10, 100)
    np.testing.assert_allclose(solve(R), np.linalg.solve(gram + np.eye(7), R), atol=1e-8)


@given(st.integers(0, 1000), st.integers(2, 6))
def test_ordered_minimiser(seed, size):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size + 2, size))
    S, q = A.T @ A, rng.normal(size=size) * 3.0
    b = np.sort(rng.normal(size=size))

    def model(s):
        return q @ s + 0.5 * s @ S @ s

    step = ordered_minimiser(S, q, b)
    assert (np.diff(b + step) >= -1e-9).all()
    for _ in range(30):
        other = np.sort(b + step + rng.normal(size=size) * rng.choice([1e-3, 0.1, 1.0])) - b
        assert model(step) <= model(other) + 1e-8 * (1.0 + abs(model(step)))


@given(st.integers(0, 1000), st.integers(1, 6))
def test_matched_sides_are_feasible_and_large(seed, M):
    rng = np.random.default_rng(seed)
    total = rng.integers(0, 4, size=(2, M)).astype(float)
    part = match_sides(total)
    assert (part >= 0).all() and (part <= total).all()
    reach = np.cumsum(part[1] - part[0])
    assert (reach <= 1e-12).all()
    assert reach[-1] == pytest.approx(0.0)
    # The most that can be matched: after any k, above cannot take more than below has so far.
    short = np.cumsum(total[1] - total[0]).max(initial=0.0)
    assert part[1].sum() == pytest.approx(total[1].sum() - short)


@pytest.mark.parametrize(
    ("kind", "mass", "groups", "positions"),
    [
        ("absolute", [1, 1, 1, 1], [0, 1, 2], [0, 0, 0]),
        ("absolute", [0, 1, 1, 0], [-1, 0, -1], [-np.inf, 0, np.inf]),
        ("absolute", [1, 0, 0, 1], [0, 1, 2], [0, 0, 0]),
        ("adjacent", [1, 1, 1, 1], [0, 1, 2], [0, 0, 0]),
        ("adjacent", [1, 0, 1, 1], [0, 0, 1], [0, 0, 0]),
        ("adjacent", [1, 0, 0, 1], [0, 0, 0], [0, 0, 0]),
        ("adjacent", [0, 0, 1, 1], [-1, -1, 0], [-np.inf, -np.inf, 0]),
        ("adjacent", [1, 1, 0, 0], [0, -1, -1], [0, np.inf, np.inf]),
    ],
)
def test_thresholds_beside_classes_without_rows(kind, mass, groups, positions):
    found, at = tie_thresholds(WEIGHTS[kind](4), np.array(mass, dtype=float))
    assert found.tolist() == groups
    assert at.tolist() == positions


def test_a_cost_of_nothing_has_a_trivial_solution(rng):
    X, codes = random_data(rng, 20, 2, 3)
    result = solve_linear_svor(make_problem(X, codes, np.zeros((3, 2))))
    assert result.converged
    assert result.objective == 0.0
    assert not result.coef.any() and not result.thresholds.any()


def test_sparse_blocks_are_dense_blocks(rng):
    X = rng.normal(size=(30, 4)) * (rng.random(size=(30, 4)) < 0.5)
    centre, bend = rng.normal(size=4), rng.random(size=30)
    dense, sparse = DenseBlock(X, centre), SparseBlock(sp.csr_array(X), centre)
    V, R = rng.normal(size=(4, 2)), rng.normal(size=(30, 3))
    np.testing.assert_allclose(sparse.dot(V), dense.dot(V))
    np.testing.assert_allclose(sparse.transpose_dot(R), dense.transpose_dot(R))
    np.testing.assert_allclose(sparse.gram(bend), dense.gram(bend), atol=1e-12)
    np.testing.assert_allclose(sparse.squares(bend), dense.squares(bend))
    few = np.where(bend < 0.2, bend, 0.0)
    np.testing.assert_allclose(sparse.gram(few), dense.gram(few), atol=1e-12)


def test_sparse_rows_are_taken_some_at_a_time_and_not_copied(rng, monkeypatch):
    X = sp.random_array((50, 6), density=0.4, format="csr", rng=rng)
    codes, weights, centre = np.arange(50) % 3, rng.random(50), rng.normal(size=6)
    monkeypatch.setattr(svor_rows, "_SPARSE_ROWS", (8, 8))
    found = list(svor_rows.blocks([(X, codes, weights)], centre))
    assert [len(part) for _, part, _ in found] == [8] * 6 + [2]
    assert all(np.shares_memory(block._X.data, X.data) for block, _, _ in found)
    V, R = rng.normal(size=(6, 2)), rng.normal(size=(50, 3))
    dense = DenseBlock(X.toarray(), centre)
    np.testing.assert_allclose(np.vstack([b.dot(V) for b, _, _ in found]), dense.dot(V))
    parts = np.split(R, range(8, 50, 8))
    sums = sum(b.transpose_dot(part) for (b, _, _), part in zip(found, parts, strict=True))
    np.testing.assert_allclose(sums, dense.transpose_dot(R))
    np.testing.assert_array_equal(np.concatenate([part for _, part, _ in found]), codes)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize(("scale", "shift"), [(100.0, 0.0), (1000.0, 0.0), (1.0, 1000.0)])
def test_units_of_the_inputs_do_not_hurt(squared, scale, shift):
    rng = np.random.default_rng(8)
    X, codes = random_data(rng, 300, 4, 4)
    X = X / X.std(axis=0)
    W = WEIGHTS["absolute"](4)
    plain = solve_linear_svor(make_problem(X, codes, W, squared=squared))
    other = solve_linear_svor(make_problem(scale * X + shift, codes, W, squared=squared))
    assert other.converged
    assert other.n_iter <= 2 * plain.n_iter + 5
    if scale == 1.0:
        np.testing.assert_allclose(other.coef, plain.coef, atol=1e-4)


def test_the_progress_is_told():
    rng = np.random.default_rng(0)
    X, codes = random_data(rng, 40, 2, 3)
    told = []
    problem = make_problem(X, codes, WEIGHTS["absolute"](3))
    result = solve_linear_svor(problem, progress=lambda *line: told.append(line))
    assert [line[0] for line in told] == list(range(result.n_iter + 1))
    assert told[-1][1] == pytest.approx(result.objective, rel=1e-6)
