from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from echelon.ordinal.likelihoods import LINKS, get_link
from echelon.solvers.linear.cumulative_link import (
    CumulativeLinkProblem,
    _evaluate,
    _gradient,
    _hessian,
    separating_columns,
    solve_cumulative_link,
)
from echelon.solvers.linear.design import RowCoordinates, StandardizedDesign


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
    np.testing.assert_allclose(_hessian(problem, point), bend, rtol=1e-5, atol=1e-5)


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


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("link", sorted(LINKS))
def test_few_rows_are_solved_in_their_span(link, sparse):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 70)) * (rng.random((30, 70)) < 0.5)
    X[5] = X[6]
    weights = rng.uniform(0.5, 2.0, 30)
    design = StandardizedDesign(sp.csr_array(X) if sparse else X, weights)
    codes = np.arange(30) % 3
    ridge = rng.uniform(0.5, 5.0, design.shape[1])
    problem = CumulativeLinkProblem(
        design, codes, 3, weights, rng.normal(size=30), ridge, get_link(link)
    )
    found = solve_cumulative_link(problem)
    # The same without its being seen that there are fewer rows than columns.
    whole = solve_cumulative_link(replace(problem, design=RowCoordinates(design.rows())))
    assert found.hessian is None and whole.hessian is not None
    assert found.converged and whole.converged
    assert found.gradient_norm <= 1e-8
    assert found.objective == pytest.approx(whole.objective, rel=1e-9)
    np.testing.assert_allclose(found.coef, whole.coef, atol=1e-6)
    np.testing.assert_allclose(found.thresholds, whole.thresholds, atol=1e-6)
    assert found.newton_decrement == pytest.approx(whole.newton_decrement, abs=1e-12)


def test_too_many_columns_for_a_matrix_of_curvatures():
    d = 20_001
    X = sp.csr_array((np.ones(d), (np.zeros(d, dtype=int), np.arange(d))), shape=(3, d))
    design = StandardizedDesign(X, np.ones(3))
    parts = np.arange(3), 3, np.ones(3), np.zeros(3), np.zeros(d), get_link("logit")
    with pytest.raises(
        ValueError, match=r"at most 20,000 columns .* found 20,001 columns and 3 row"
    ):
        solve_cumulative_link(CumulativeLinkProblem(design, *parts))
