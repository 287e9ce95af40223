import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.duals import FORMULATIONS, Problem, dual_value, infeasibility, make_problem, problems

from echelon.kernels.cache import GramRows
from echelon.solvers.svor import dual as threshold_dual
from echelon.solvers.svor.dual import Coupling, Iterate
from echelon.solvers.svor.free_newton import free_multipliers, newton_step
from echelon.solvers.svor.smo import solve_threshold_dual


def halfway(problem, max_steps):
    """A feasible point on the way to the solution."""
    solution = solve_threshold_dual(
        problem.dual, GramRows(problem.gram), tol=1e-10, max_steps=max_steps
    )
    return Iterate.at(problem.dual, solution.alpha, solution.scores)


def step_from(problem, point):
    k, i = free_multipliers(problem.dual, point)
    if not len(k):
        return None
    p = newton_step(problem.dual, point, problem.gram[np.ix_(i, i)], k, i)
    return None if p is None else (k, i, p)


def after(problem, point, step):
    """α after a step, not clipped."""
    alpha = point.alpha.copy()
    k, i, p = step
    alpha[k, i] += np.where(problem.dual.codes[i] > k, 1.0, -1.0) * p
    return alpha


def test_free_multipliers_are_strictly_inside():
    problem = make_problem("implicit", "v_shaped", n=10, K=4, C=1.0, seed=0)
    point = Iterate.zero(problem.dual)
    point.alpha[:] = np.random.default_rng(0).choice([0.0, 0.5, 1.0], size=(3, 10))
    point.alpha *= problem.dual.upper
    k, i = free_multipliers(problem.dual, point)
    expected = (point.alpha > 0) & (point.alpha < problem.dual.upper)
    assert expected.any()
    assert set(zip(k, i, strict=True)) == set(zip(*np.nonzero(expected), strict=True))


@settings(max_examples=200)
@given(problems(most_rows=25, most_classes=8), st.integers(1, 60))
def test_a_step_stays_feasible_and_descends(problem, max_steps):
    point = halfway(problem, max_steps)
    step = step_from(problem, point)
    if step is None:
        return
    alpha = after(problem, point, step)
    assert infeasibility(problem.dual, alpha) <= 1e-11
    before, now = (dual_value(*problem, a) for a in (point.alpha, alpha))
    assert now <= before + 1e-12 * (1.0 + abs(before))


@pytest.mark.parametrize(("form", "cost"), FORMULATIONS)
def test_a_step_balances_the_free_multipliers(form, cost):
    """Where the minimum over the free multipliers lies inside the boxes, one step reaches it."""
    n_inside = 0
    for seed in range(6):
        problem = make_problem(form, cost, n=30, K=4, C=5.0, seed=seed)
        solution = solve_threshold_dual(problem.dual, GramRows(problem.gram), tol=1e-2)
        point = Iterate.at(problem.dual, solution.alpha, solution.scores)
        free = (point.alpha > 0.0) & (point.alpha < problem.dual.upper)
        best = free_minimum(problem, point, free)
        if infeasibility(problem.dual, best) > 1e-12:
            continue
        n_inside += 1
        step = step_from(problem, point)
        alpha = point.alpha if step is None else after(problem, point, step)
        assert spread(problem, alpha, free) <= 1e-5
        assert dual_value(*problem, alpha) == pytest.approx(dual_value(*problem, best), rel=1e-9)
    assert n_inside >= 1


def free_minimum(problem, point, free):
    """α at the minimum over the free multipliers with all sums of groups kept, by least squares."""
    dual, gram = problem
    k, i = np.nonzero(free)
    H = gram[np.ix_(i, i)] + (k[:, None] == k if dual.penalised else 0.0)
    v = point.scores[i] - dual.sides()[k, i] + (point.sums[k] if dual.penalised else 0.0)
    E = np.zeros((len(k), 0))
    if dual.coupling == Coupling.COMMON:
        E = np.ones((len(k), 1))
    elif dual.coupling != Coupling.RIDGE:
        untied = np.ones(dual.n_thresholds - 1, dtype=bool)
        if dual.coupling == Coupling.ORDERED:
            untied = point.link[:-1] <= 0.0
        group = np.concatenate([[0], np.cumsum(untied)])[k]
        E = (group[:, None] == np.unique(group)).astype(float)
    m = E.shape[1]
    system = np.block([[H, E], [E.T, np.zeros((m, m))]])
    p = np.linalg.lstsq(system, np.concatenate([-v, np.zeros(m)]), rcond=None)[0][: len(k)]
    alpha = point.alpha.copy()
    alpha[k, i] += dual.sides()[k, i] * p
    return alpha


def spread(problem, alpha, free):
    """Largest difference of f − Z + s between free multipliers that share a threshold."""
    dual, gram = problem
    point = Iterate.at(dual, alpha, gram @ (dual.sides() * alpha).sum(axis=0))
    v = point.scores - dual.sides()
    if dual.penalised:
        v = v + point.sums[:, None]
    if dual.coupling == Coupling.RIDGE:
        return np.abs(v[free]).max(initial=0.0)
    if dual.coupling == Coupling.COMMON:
        return np.ptp(v[free]) if free.any() else 0.0
    return max((np.ptp(v[k, free[k]]) for k in range(len(v)) if free[k].any()), default=0.0)


def test_the_minimum_is_reached_in_one_step_where_no_bound_is_near():
    """Two examples of two classes: α = 2 / ‖x − x′‖² exactly."""
    gram = np.array([[2.0, 0.5], [0.5, 1.0]])
    dual = threshold_dual.implicit(np.array([0, 1]), np.full((2, 1), 100.0))
    point = Iterate.at(dual, np.full((1, 2), 0.3), gram @ [-0.3, 0.3])
    step = step_from(Problem(dual, gram), point)
    np.testing.assert_allclose(after(Problem(dual, gram), point, step), 2.0 / 2.0, rtol=1e-6)


def test_no_step_where_one_group_has_a_single_free_multiplier():
    dual = threshold_dual.unordered(np.array([0, 1]), np.array([[1.0], [2.0]]))
    point = Iterate.at(dual, np.array([[1.0, 1.0]]), np.array([0.0, 0.0]))
    assert step_from(Problem(dual, np.eye(2)), point) is None


def test_all_free_multipliers_on_their_way_to_a_bound():
    """Nothing is left to solve for; the step goes to the bounds or is left to pair steps."""
    dual = threshold_dual.penalised(np.array([0, 1]), np.full((2, 1), 0.5))
    gram = 0.01 * np.eye(2)
    point = Iterate.at(dual, np.full((1, 2), 0.25), gram @ [-0.25, 0.25])
    step = step_from(Problem(dual, gram), point)
    if step is not None:
        np.testing.assert_allclose(after(Problem(dual, gram), point, step), 0.5)
