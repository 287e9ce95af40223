import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.data import ascending, ordinal_data
from support.duals import (
    BUILDERS,
    FORMULATIONS,
    FewRows,
    Problem,
    dual_value,
    infeasibility,
    kkt_gap,
    make_problem,
    primal_value,
    problems,
    sides,
    threshold_sums,
)
from support.qp import solve_threshold_qp

from echelon.kernels import Gaussian, Linear, Sigmoid
from echelon.kernels.cache import CachedRows, GramRows
from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.solvers.svor import dual as threshold_dual
from echelon.solvers.svor import smo as threshold_smo
from echelon.solvers.svor.dual import Coupling, ThresholdDual, scaled_start
from echelon.solvers.svor.smo import solve_threshold_dual

every_formulation = pytest.mark.parametrize(("form", "cost"), FORMULATIONS)
# Rounding that a chain of steps may leave in a sum of multipliers, as a part of all boxes.
EXACT = 1e-11


class EndlessError(Exception):
    pass


def solve(problem, source=None, *, most_blocks=20_000, **options):
    """Solve, but give up on a solver that does not."""
    calls = iter(range(most_blocks))

    def progress(steps, gap):
        if next(calls, None) is None:
            raise EndlessError

    source = GramRows(problem.gram) if source is None else source
    return solve_threshold_dual(problem.dual, source, progress=progress, **options)


def assert_certified(problem, solution, tol):
    """Feasibility, optimality and both values, all computed anew."""
    dual, gram = problem
    assert solution.converged
    assert infeasibility(dual, solution.alpha) <= EXACT
    beta = (sides(dual) * solution.alpha).sum(axis=0)
    scale = 1.0 + np.abs(solution.scores).max()
    np.testing.assert_allclose(solution.coef, beta, atol=1e-13 * solution.alpha.max())
    np.testing.assert_allclose(solution.scores, gram @ beta, atol=1e-9 * scale)
    assert solution.kkt_gap <= tol
    assert kkt_gap(dual, gram, solution.alpha) <= tol + 1e-9 * scale
    assert_values(problem, solution)
    # Each multiplier is at most the gap away from complementary slackness.
    total = dual.upper.sum()
    assert solution.duality_gap <= solution.kkt_gap * total + 1e-9 * (1.0 + total)


def assert_values(problem, solution):
    dual, gram = problem
    value = dual_value(dual, gram, solution.alpha)
    primal = primal_value(dual, gram, solution.coef, solution.thresholds)
    precision = 1e-9 * (1.0 + abs(primal) + dual.upper.sum())
    assert solution.objective == pytest.approx(value, abs=precision)
    assert primal + value >= -precision
    assert solution.duality_gap == pytest.approx(primal + value, abs=precision)


@settings(max_examples=250)
@given(problems())
def test_every_solution_is_certified(problem):
    assert_certified(problem, solve(problem), 1e-3)


def test_penalised_thresholds_and_rows_that_are_all_alike():
    # Without a constraint on the sums of multipliers the mean of the rows counts as well.
    codes = np.arange(30) % 11
    dual = ThresholdDual(codes, np.full((10, 30), 1000.0), Coupling.RIDGE)
    problem = Problem(dual, np.ones((30, 30)))
    assert_certified(problem, solve(problem), 1e-3)


@settings(max_examples=250)
@given(problems(most_rows=12, most_classes=6))
def test_the_objective_is_that_of_an_interior_point_method(problem):
    solution = solve(problem, tol=1e-7)
    assert_certified(problem, solution, 1e-7)
    _, value = solve_threshold_qp(*problem)
    assert solution.objective == pytest.approx(value, rel=1e-6)


@every_formulation
def test_each_formulation_against_the_interior_point_method(form, cost):
    for seed, inputs in enumerate(("scattered", "line")):
        problem = make_problem(form, cost, n=20, K=5, C=3.0, seed=seed, inputs=inputs)
        solution = solve(problem, tol=1e-7)
        alpha, value = solve_threshold_qp(*problem)
        assert infeasibility(problem.dual, alpha) <= 1e-7
        assert solution.objective == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(
            solution.scores, problem.gram @ (sides(problem.dual) * alpha).sum(axis=0), atol=2e-3
        )


@settings(max_examples=150)
@given(problems(), st.floats(1e-3, 20.0), st.one_of(st.none(), st.integers(0, 40)))
def test_thresholds_ascend_however_early_it_stops(problem, tol, max_steps):
    solution = solve(problem, tol=tol, max_steps=max_steps)
    assert infeasibility(problem.dual, solution.alpha) <= EXACT
    assert_values(problem, solution)
    if max_steps is not None:
        assert solution.n_steps <= max_steps
    assert solution.converged == (solution.kkt_gap <= tol)
    separate = problem.dual.coupling == Coupling.SEPARATE
    if problem.dual.coupling == Coupling.ORDERED or (separate and grows(problem.dual)):
        assert ascending(solution.thresholds)


def grows(dual):
    """Whether boxes never shrink away from the class of their example."""
    for i, code in enumerate(dual.codes):
        above, below = dual.upper[code:, i], dual.upper[:code, i]
        if (np.diff(above) < 0).any() or (np.diff(below) > 0).any():
            return False
    return True


@settings(max_examples=120)
@given(problems(most_rows=25, most_classes=6, least_c=-2.0, most_c=1.0), st.integers(2, 9))
def test_working_sets_of_few_examples(problem, capacity):
    solution = solve(problem, FewRows(problem.gram, capacity), tol=1e-2)
    assert_certified(problem, solution, 1e-2)


@every_formulation
def test_decomposition_of_a_larger_problem(form, cost):
    X, codes = ordinal_data(n=500, K=6, noise=0.4)
    gram = Gaussian(0.5).block(X)
    weights = make_problem(form, cost, n=500, K=6, C=1.0, seed=0).dual.upper.T
    if cost in ("absolute", "squared", "zero_one", "adjacent"):
        name = "zero_one" if cost == "adjacent" else cost
        weights = threshold_weights(cost_matrix(name, 6))[codes]
    dual = BUILDERS[form](codes, 2.0 * weights)
    whole = solve_threshold_dual(dual, GramRows(gram), tol=1e-5)
    parts = solve_threshold_dual(dual, FewRows(gram, 40), tol=1e-3)
    assert whole.converged and parts.converged
    assert infeasibility(dual, parts.alpha) <= EXACT
    assert kkt_gap(dual, gram, parts.alpha) <= 1e-3 + 1e-9
    assert 0.0 <= parts.objective - whole.objective + 1e-6 <= parts.duality_gap + 2e-6


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@every_formulation
def test_examples_left_out_for_a_while(form, cost, single, monkeypatch):
    """Small working sets and a look for examples to leave out after every one of them."""
    monkeypatch.setattr(threshold_smo, "_SHRINK_FROM", 10)
    monkeypatch.setattr(threshold_smo, "_SHRINK_EVERY", 1)
    monkeypatch.setattr(threshold_smo, "_SHRINK_BELOW", 0.95)
    restricted = []

    class Source(CachedRows if single else FewRows):
        def restrict(self, index):
            restricted.append(len(index))
            return super().restrict(index)

    X, codes = ordinal_data(n=120, K=4, noise=0.2)
    gram = Gaussian(0.5).block(X)
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0], size=(120, 3))
    if cost not in ("v_shaped", "per_row"):
        name = "zero_one" if cost == "adjacent" else cost
        weights = threshold_weights(cost_matrix(name, 4))[codes]
    problem = Problem(BUILDERS[form](codes, weights), gram)
    source = Source(Gaussian(0.5), X, 0.02) if single else Source(gram, 20)
    assert_certified(problem, solve(problem, source, tol=1e-4), 1e-4)
    assert restricted


@every_formulation
def test_all_multipliers_at_their_bounds(form, cost):
    problem = make_problem(form, cost, n=12, K=3, C=1e-3, seed=4)
    solution = solve(problem, tol=1e-7)
    assert_certified(problem, solution, 1e-7)
    at_bound = (solution.alpha == 0.0) | (solution.alpha == problem.dual.upper)
    assert at_bound.mean() > 0.5


@pytest.mark.parametrize("form", ["implicit", "explicit"])
def test_thresholds_beside_missing_classes(form):
    cost = "adjacent" if form == "explicit" else "absolute"
    problem = make_problem(form, cost, n=30, K=8, C=1.0, seed=2, levels=[1, 2, 5, 6])
    b = solve(problem, tol=1e-6).thresholds
    assert b[0] == -np.inf
    assert b[7 - 1] == np.inf
    assert b[2] == b[3] == b[4]
    assert np.isfinite(b[1:6]).all()


def test_a_long_run_of_tied_thresholds():
    """[CK07] (18) looks one threshold ahead; a run of five needs every bound of the run."""
    codes = np.array([0, 5, 5, 1, 0, 2, 3, 4, 5, 0, 1, 4])
    f = np.array([3.0, -2.0, 0.0, 2.5, 1.0, 0.3, 0.1, -0.5, -1.0, 2.0, 1.5, -3.0])
    gram = np.outer(f, f) + 0.1 * np.eye(12)
    boxes = threshold_weights(cost_matrix("zero_one", 6))[codes]
    problem = (threshold_dual.explicit(codes, boxes), gram)
    solution = solve_threshold_dual(*(problem[0], GramRows(gram)), tol=1e-8)
    _, value = solve_threshold_qp(*problem)
    links = -np.cumsum(threshold_sums(problem[0], solution.alpha))[:-1]
    assert (links > 1e-6).sum() >= 3
    runs = np.unique(solution.thresholds)
    assert len(runs) <= 2
    assert solution.objective == pytest.approx(value, rel=1e-8)


def test_lemma_1_needs_a_convex_cost():
    """[CK07] lemma 1: where boxes shrink away from a class, free thresholds can cross."""
    x, codes = np.array([2.0, -3.0, 2.0, 0.0, 0.0]), np.array([0, 0, 0, 1, 2])
    source = GramRows(np.outer(x, x))
    thresholds = {}
    for cost in ("zero_one", "absolute"):
        boxes = threshold_weights(cost_matrix(cost, 3))[codes]
        for build in (threshold_dual.unordered, threshold_dual.implicit):
            solution = solve_threshold_dual(build(codes, boxes), source, tol=1e-8)
            thresholds[cost, build.__name__] = solution.thresholds
    np.testing.assert_allclose(thresholds["zero_one", "unordered"], [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(thresholds["zero_one", "implicit"], [1.0, 1.0], atol=1e-6)
    assert ascending(thresholds["absolute", "unordered"])
    np.testing.assert_array_equal(
        thresholds["absolute", "unordered"], thresholds["absolute", "implicit"]
    )


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear()], ids=["gaussian", "linear"])
@pytest.mark.parametrize("megabytes", [1e-6, 0.02, 100.0])
@pytest.mark.parametrize("form", ["implicit", "ridge"])
def test_rows_in_single_precision(kernel, megabytes, form):
    X, codes = ordinal_data(n=300, K=4)
    dual = BUILDERS[form](codes, 0.5 * np.ones((300, 3)))
    gram = kernel.block(X)
    exact = solve_threshold_dual(dual, GramRows(gram), tol=1e-4)
    source = CachedRows(kernel, X, megabytes)
    rounded = solve_threshold_dual(dual, source, tol=1e-4)
    assert rounded.converged
    assert source.rows(np.arange(2))[0].dtype == np.float32
    # The certificate is that of the double precision matrix.
    assert kkt_gap(dual, gram, rounded.alpha) <= 1e-4 + 1e-9
    np.testing.assert_allclose(rounded.scores, gram @ rounded.coef, rtol=1e-10, atol=1e-10)
    assert abs(rounded.objective - exact.objective) <= exact.duality_gap + rounded.duality_gap


def test_single_precision_ends_where_it_can_do_no_better():
    X, codes = ordinal_data(n=100, K=3)
    gram = Gaussian(0.5).block(X)
    problem = Problem(threshold_dual.implicit(codes, 1e3 * np.ones((100, 2))), gram)
    source = CachedRows(Gaussian(0.5), X, 100.0)
    solution = solve(problem, source, tol=1e-12, max_steps=200_000, most_blocks=3000)
    assert solution.kkt_gap == pytest.approx(kkt_gap(*problem, solution.alpha), abs=1e-9)
    assert solution.kkt_gap <= 1e-3


@every_formulation
@pytest.mark.parametrize("inputs", ["scattered", "lattice", "line"])
def test_a_tolerance_out_of_reach_still_ends(form, cost, inputs):
    problem = make_problem(form, cost, n=13, K=3, C=50.0, seed=5, inputs=inputs)
    solution = solve(problem, tol=1e-15, most_blocks=2000)
    assert infeasibility(problem.dual, solution.alpha) <= EXACT
    assert solution.kkt_gap <= 1e-6


@every_formulation
@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 3.0, 1000.0])
def test_scaled_starts_are_feasible_and_lead_to_the_same_end(form, cost, factor):
    before = make_problem(form, cost, n=25, K=4, C=0.3, seed=1)
    after = make_problem(form, cost, n=25, K=4, C=0.3 * factor, seed=1)
    first = solve(before)
    start = scaled_start(after.dual, before.dual, first)
    assert start is not None
    assert infeasibility(after.dual, np.clip(start, 0.0, after.dual.upper)) <= EXACT
    assert (start <= after.dual.upper * (1.0 + 1e-9)).all()
    assert dual_value(after.dual, after.gram, start) <= 0.0
    warm = solve(after, start=start)
    assert_certified(after, warm, 1e-3)
    cold = solve(after)
    assert abs(warm.objective - cold.objective) <= warm.duality_gap + cold.duality_gap + 1e-9


def test_a_start_at_the_solution_takes_no_step():
    problem = make_problem("explicit", "adjacent", n=25, K=4, C=1.0, seed=1)
    first = solve(problem)
    again = solve(problem, start=scaled_start(problem.dual, problem.dual, first))
    assert first.n_steps > 0
    assert again.n_steps <= 0.2 * first.n_steps


def test_no_start_from_another_problem():
    problem = make_problem("implicit", "absolute", n=25, K=4, C=1.0, seed=1)
    solution = solve(problem)
    others = {
        "other labels": make_problem("implicit", "absolute", n=25, K=4, C=1.0, seed=2),
        "other size": make_problem("implicit", "absolute", n=24, K=4, C=1.0, seed=1),
        "other weights": make_problem("implicit", "squared", n=25, K=4, C=1.0, seed=1),
        "other coupling": make_problem("ridge", "absolute", n=25, K=4, C=1.0, seed=1),
    }
    for name, other in others.items():
        assert scaled_start(other.dual, problem.dual, solution) is None, name


def test_progress_is_told_and_may_stop_the_run():
    problem = make_problem("implicit", "absolute", n=40, K=5, C=100.0, seed=0)
    seen = []
    solution = solve_threshold_dual(
        problem.dual, GramRows(problem.gram), progress=lambda *news: seen.append(news)
    )
    steps, gaps = zip(*seen, strict=True)
    assert steps[0] == 0
    assert list(steps) == sorted(steps)
    assert gaps[0] == pytest.approx(2.0)
    assert gaps[-1] <= 1e-3
    assert steps[-1] <= solution.n_steps

    def interrupt(steps, gap):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_threshold_dual(problem.dual, GramRows(problem.gram), progress=interrupt)


@pytest.mark.parametrize("form", BUILDERS)
def test_an_indefinite_kernel_ends(form):
    X, codes = ordinal_data(n=60, K=3)
    gram = Sigmoid(gamma=1.0, coef0=-1.0).block(X)
    assert np.linalg.eigvalsh(gram)[0] < -0.1
    dual = BUILDERS[form](codes, np.ones((60, 2)))
    solution = solve(Problem(dual, gram))
    assert infeasibility(dual, solution.alpha) <= EXACT
    assert solution.objective < 0.0
    assert solution.objective == pytest.approx(dual_value(dual, gram, solution.alpha))
