import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from echelon.ordinal.likelihoods import LINKS, get_link
from echelon.solvers.linear import cumulative_link
from echelon.solvers.linear.cumulative_link import (
    CumulativeLinkProblem,
    _evaluate,
    _gradient,
    _hessian,
    separating_columns,
    solve_cumulative_link,
)
from echelon.solvers.linear.design import StandardizedDesign


def make_problem(link, seed=0, n=40, d=3, K=4, ridge=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = np.concatenate([np.arange(K), rng.integers(0, K, size=n - K)])
    weights = rng.uniform(0.5, 2.0, size=n)
    design = StandardizedDesign(X, weights)
    return CumulativeLinkProblem(
        design, codes, K, weights, rng.normal(size=n), np.full(d, ridge), get_link(link)
    )


@pytest.mark.parametrize("link", LINKS)
def test_gradient_and_hessian_by_differences(link, rng):
    problem = make_problem(link)
    parameters = np.concatenate([[-1.0, 0.3, 1.1], 0.5 * rng.normal(size=3)])
    point = _evaluate(problem, parameters)
    h = 1e-6
    steps = h * np.eye(6)
    ups = [_evaluate(problem, parameters + s) for s in steps]
    downs = [_evaluate(problem, parameters - s) for s in steps]
    slope = [(u.objective - d.objective) / (2 * h) for u, d in zip(ups, downs, strict=True)]
    np.testing.assert_allclose(_gradient(problem, point), slope, rtol=1e-6, atol=1e-6)
    bend = [
        (_gradient(problem, u) - _gradient(problem, d)) / (2 * h)
        for u, d in zip(ups, downs, strict=True)
    ]
    np.testing.assert_allclose(_hessian(problem, point).matrix(), bend, rtol=1e-5, atol=1e-5)


@given(st.sampled_from(list(LINKS)), st.integers(0, 500))
def test_every_solution_is_certified(link, seed):
    problem = make_problem(link, seed)
    result = solve_cumulative_link(problem)
    assert result.converged
    assert result.gradient_norm <= 1e-8
    assert abs(result.newton_decrement) <= 1e-8
    assert (np.diff(result.thresholds) > 0).all()


@pytest.mark.parametrize("link", [name for name in LINKS if LINKS[name].log_concave])
def test_the_decrement_estimates_the_distance_to_the_minimum(link):
    problem = make_problem(link)
    best = solve_cumulative_link(problem)
    early = solve_cumulative_link(problem, max_iter=2)
    gap = early.objective - best.objective
    assert gap >= -1e-10
    assert early.newton_decrement == pytest.approx(gap, rel=0.5, abs=1e-9)


def test_no_inputs_give_the_class_shares():
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(3), rng.integers(0, 3, size=30)])
    design = StandardizedDesign(np.ones((33, 1)), np.ones(33))
    problem = CumulativeLinkProblem(
        design, codes, 3, np.ones(33), np.zeros(33), np.zeros(0), get_link("logit")
    )
    result = solve_cumulative_link(problem)
    share = np.cumsum(np.bincount(codes))[:-1] / 33
    np.testing.assert_allclose(1 / (1 + np.exp(-result.thresholds)), share)


@pytest.mark.parametrize(
    ("columns", "codes", "expected"),
    [
        ([[0, 1, 2, 3, 4, 5]], [0, 0, 1, 1, 2, 2], [0]),
        ([[0, 1, 2, 3, 4, 5]], [0, 1, 0, 1, 2, 1], []),
        # Touching classes: quasi-complete separation at the shared value.
        ([[0, 1, 1, 2, 3, 4]], [0, 0, 1, 1, 2, 2], [0]),
        ([[0, 1, 2, 3, 4, 5], [3, 1, 4, 1, 5, 9]], [0, 1, 0, 1, 2, 1], []),
        # A flag that only the lowest class has.
        ([[0, 1, 0, 1, 0, 1], [1, 1, 0, 0, 0, 0]], [0, 0, 1, 1, 2, 2], [1]),
    ],
)
def test_separation(columns, codes, expected):
    X = np.array(columns, dtype=float).T
    design = StandardizedDesign(X, np.ones(len(X)))
    found = separating_columns(design, np.array(codes), max(codes) + 1)
    assert set(expected) <= set(found.tolist())
    assert bool(len(found)) == bool(expected)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_products_and_diagonal_are_those_of_the_matrix(K, stored, rng):
    problem = make_problem("probit", K=K)
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.4)
    design = StandardizedDesign(stored(X), problem.weights)
    problem = dataclasses.replace(problem, design=design, ridge=np.arange(5.0))
    hessian = _hessian(problem, _evaluate(problem, np.linspace(-1.0, 1.0, K - 1 + 5)))
    matrix = hessian.matrix()
    v = rng.normal(size=len(matrix))
    np.testing.assert_allclose(hessian.times(v), matrix @ v, atol=1e-10)
    np.testing.assert_allclose(hessian._lower_diagonal, np.diagonal(matrix)[K - 1 :], rtol=1e-9)


@pytest.mark.parametrize("link", [name for name in LINKS if LINKS[name].log_concave])
@pytest.mark.parametrize("ridge", [1e-4, 0.1, 100.0])
def test_steps_by_products_end_at_the_same_minimum(link, ridge, monkeypatch):
    problem = make_problem(link, n=60, d=30, ridge=ridge)
    exact = solve_cumulative_link(problem)
    monkeypatch.setattr(cumulative_link, "MOST_IN_MATRIX", 10)
    found = solve_cumulative_link(problem)
    assert found.converged and found.gradient_norm <= 1e-8 and found.hessian is None
    assert found.objective <= exact.objective + 1e-9 * abs(exact.objective)
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-4, atol=1e-5)


def test_more_inputs_than_a_matrix_can_hold(rng):
    X = sp.random_array((200, 20_000), density=0.01, rng=rng, format="csr")
    codes = rng.integers(0, 4, 200)
    design = StandardizedDesign(X, np.ones(200))
    ridge = 1.0 / design.scale**2
    problem = CumulativeLinkProblem(
        design, codes, 4, np.ones(200), np.zeros(200), ridge, get_link("logit")
    )
    result = solve_cumulative_link(problem)
    assert result.converged and result.gradient_norm <= 1e-8
