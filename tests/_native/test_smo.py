"""The native loops of the support vector solver against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.duals import (
    FORMULATIONS,
    dual_value,
    infeasibility,
    kkt_gap,
    make_problem,
    problems,
    sides,
    threshold_sums,
)

from echelon._native import _smo
from echelon.solvers.svor.dual import Coupling, links

NOTHING = 1e300


@st.composite
def points(draw):
    """A problem, any α in its boxes (many on a bound), scores and shifts."""
    dual, _ = draw(problems(most_rows=20, most_classes=8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = rng.choice([0.0, 1.0, 0.3, 0.8], size=dual.upper.shape)
    f = np.round(rng.normal(size=len(dual.codes)), 1)
    return dual, share * dual.upper, f, rng.normal(size=len(dual.upper))


def movable(dual, alpha, k, i):
    """Whether the multiplier can rise, and fall, in the sum of its threshold."""
    if dual.upper[k, i] <= 0.0:
        return False, False
    grow, shrink = alpha[k, i] < dual.upper[k, i], alpha[k, i] > 0.0
    return (grow, shrink) if dual.codes[i] > k else (shrink, grow)


def slow_bounds(dual, alpha, f, shift):
    m, n = dual.upper.shape
    up, low = np.full(m, NOTHING), np.full(m, -NOTHING)
    for k in range(m):
        for i in range(n):
            v = f[i] - (1.0 if dual.codes[i] > k else -1.0) + shift[k]
            rises, falls = movable(dual, alpha, k, i)
            up[k] = min(up[k], v) if rises else up[k]
            low[k] = max(low[k], v) if falls else low[k]
    return up, low


def allowed(coupling, link, k, j):
    """Whether threshold k's sum may rise while that of j falls."""
    if coupling == Coupling.SEPARATE:
        return k == j
    if coupling == Coupling.ORDERED:
        return j <= k or all(link[step] > 0.0 for step in range(k, j))
    return True


@given(points())
def test_bounds(point):
    dual, alpha, f, shift = point
    up, low = np.empty(len(shift)), np.empty(len(shift))
    _smo.bounds(f, alpha, dual.upper, dual.codes, shift, up, low)
    slow_up, slow_low = slow_bounds(dual, alpha, f, shift)
    np.testing.assert_allclose(up, slow_up, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(low, slow_low, rtol=1e-13, atol=1e-13)


@given(points(), st.sampled_from(list(Coupling)), st.data())
def test_partners_and_violations(point, coupling, data):
    dual, alpha, f, shift = point
    m, n = dual.upper.shape
    link = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5]), min_size=m, max_size=m)))
    up, low = slow_bounds(dual, alpha, f, shift)
    low_for_up, up_for_low = np.empty(m), np.empty(m)
    _smo.partners(up, low, link, coupling, low_for_up, up_for_low)
    for k in range(m):
        if coupling == Coupling.RIDGE:
            best_low, best_up = 0.0, 0.0
        else:
            best_low = max(low[j] for j in range(m) if allowed(coupling, link, k, j))
            best_up = min(up[j] for j in range(m) if allowed(coupling, link, j, k))
        assert low_for_up[k] == best_low
        assert up_for_low[k] == best_up

    as_up, as_low = np.empty(n), np.empty(n)
    _smo.violations(f, alpha, dual.upper, dual.codes, shift, low_for_up, up_for_low, as_up, as_low)
    slow_up, slow_low = np.full(n, -NOTHING), np.full(n, -NOTHING)
    for k in range(m):
        for i in range(n):
            v = f[i] - (1.0 if dual.codes[i] > k else -1.0) + shift[k]
            rises, falls = movable(dual, alpha, k, i)
            if rises:
                slow_up[i] = max(slow_up[i], low_for_up[k] - v)
            if falls:
                slow_low[i] = max(slow_low[i], v - up_for_low[k])
    np.testing.assert_allclose(as_up, slow_up, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(as_low, slow_low, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 9])
@pytest.mark.parametrize("n", [1, 7, 64, 2048, 2050])
def test_gather_and_add_rows(dtype, size, n):
    rng = np.random.default_rng(n + size)
    rows = rng.normal(size=(12, n)).astype(dtype)
    slots = rng.permutation(12)[:size]
    columns = rng.integers(0, n, size=size)
    block = np.full((size, size), np.nan, dtype=np.float32)
    _smo.gather(rows, slots, columns, block)
    np.testing.assert_array_equal(block, rows[np.ix_(slots, columns)].astype(np.float32))

    steps, f = rng.normal(size=size), rng.normal(size=n)
    expected = f + steps @ rows[slots].astype(np.float64)
    _smo.add_rows(rows, slots, steps, f)
    np.testing.assert_allclose(f, expected, rtol=1e-12, atol=1e-12)


def ranges(dual):
    """First example with a box at each threshold, and one after the last."""
    used = [np.flatnonzero(row) for row in dual.upper]
    first = [places[0] if len(places) else 0 for places in used]
    last = [places[-1] + 1 if len(places) else 0 for places in used]
    return np.array(first, dtype=np.intp), np.array(last, dtype=np.intp)


def run_block(problem, alpha, tol, max_steps=10**6):
    """α, scores, sums and links after solving the whole problem as one block."""
    dual, gram = problem
    alpha = alpha.copy()
    f = gram @ (sides(dual) * alpha).sum(axis=0)
    sums = threshold_sums(dual, alpha)
    link = links(dual, sums)
    steps = _smo.solve_block(
        gram.astype(np.float32),
        gram.diagonal().copy(),
        f,
        alpha,
        dual.upper,
        dual.codes,
        *ranges(dual),
        sums,
        link,
        dual.coupling,
        tol,
        max_steps,
    )
    return alpha, f, sums, link, steps


def single(problem):
    """The problem with its kernel matrix as the kernel sees it."""
    gram = problem.gram.astype(np.float32).astype(np.float64)
    return problem._replace(gram=gram)


@given(problems(most_rows=30, most_classes=10, most_c=1.0))
def test_a_block_is_solved(problem):
    problem = single(problem)
    dual, gram = problem
    alpha, f, sums, link, steps = run_block(problem, np.zeros(dual.upper.shape), 1e-3)
    assert infeasibility(dual, alpha) <= 1e-12
    np.testing.assert_allclose(f, gram @ (sides(dual) * alpha).sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(sums, threshold_sums(dual, alpha), atol=1e-11)
    if dual.coupling == Coupling.ORDERED:
        np.testing.assert_allclose(link, -np.cumsum(sums), atol=1e-10)
    assert kkt_gap(dual, gram, alpha) <= 1e-3 + 1e-8
    assert (steps > 0) == bool(alpha.any())


@pytest.mark.parametrize(("form", "cost"), FORMULATIONS)
def test_every_step_descends(form, cost):
    problem = single(make_problem(form, cost, n=20, K=4, C=1.0, seed=3))
    dual, gram = problem
    alpha = np.zeros(dual.upper.shape)
    values = [0.0]
    for _ in range(15):
        alpha, *_, steps = run_block(problem, alpha, 1e-6, max_steps=1)
        assert steps == 1
        assert infeasibility(dual, alpha) <= 1e-12
        values.append(dual_value(dual, gram, alpha))
    assert (np.diff(values) < 0.0).all()


def test_examples_outside_the_stated_range_are_left_alone():
    problem = single(make_problem("explicit", "adjacent", n=40, K=5, C=1.0, seed=0))
    order = np.argsort(problem.dual.codes, kind="stable")
    dual = problem.dual.restrict(order)
    gram = np.ascontiguousarray(problem.gram[np.ix_(order, order)])
    first, last = ranges(dual)
    assert (last - first < 40).all()
    alpha, *_ = run_block(problem._replace(dual=dual, gram=gram), np.zeros((4, 40)), 1e-4)
    for k in range(4):
        assert not alpha[k, : first[k]].any()
        assert not alpha[k, last[k] :].any()
        assert alpha[k].any()


def test_no_step_without_a_violation():
    problem = single(make_problem("implicit", "squared", n=20, K=4, C=1.0, seed=0))
    alpha, *_ = run_block(problem, np.zeros(problem.dual.upper.shape), 1e-6)
    again, *_, steps = run_block(problem, alpha, 1e-3)
    assert steps == 0
    np.testing.assert_array_equal(again, alpha)
