"""PRank over many epochs: what is drawn, what is kept, and what does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.data import ascending, ordinal_data
from support.interrupts import interrupted

from echelon.solvers.linear.prank import PerceptronState, learn_online, prank_problem, solve_prank


def absolute(codes, K):
    return np.abs(codes[:, None] - np.arange(float(K)))


def problem_of(X, y, K, weights=None, costs=None):
    weights = np.ones(len(y)) if weights is None else weights
    return prank_problem(X, y, absolute(y, K) if costs is None else costs, weights)


def solve(problem, seed=0, n_epochs=30, averaged=False, pocket=True, **options):
    return solve_prank(
        problem,
        n_epochs=n_epochs,
        averaged=averaged,
        pocket=pocket,
        rng=np.random.default_rng(seed),
        **options,
    )


def rows_of(problem):
    return problem.rows.values.reshape(len(problem.codes), problem.rows.n_columns)


def cost_of(problem, coef, thresholds):
    ranks = (rows_of(problem) @ coef)[:, None] > thresholds
    return problem.costs[np.arange(len(ranks)), ranks.sum(axis=1)].sum()


def slow_twin(problem, seed, n_epochs, averaged, pocket):
    """The documented procedure, an example at a time, from the same random numbers."""
    X, codes, costs = rows_of(problem), problem.codes, problem.costs
    n, thresholds = len(codes), np.arange(costs.shape[1] - 1)
    rng, cumulative = np.random.default_rng(seed), np.cumsum(problem.masses)

    def harsh_cost(w, b):
        scores = X @ w
        low, high = ((scores[:, None] > b).sum(axis=1), (scores[:, None] >= b).sum(axis=1))
        return np.maximum(costs[np.arange(n), low], costs[np.arange(n), high]).sum()

    rank = int(np.argmin(costs.sum(axis=0)))
    kept = (np.zeros(X.shape[1]), np.where(thresholds < rank, -1.0, 1.0))
    best = harsh_cost(*kept)
    w, b, run, seen = np.zeros(X.shape[1]), np.zeros(len(thresholds)), 0, []
    for _ in range(n_epochs):
        epoch, longest, candidate = [], 0, (w, b)
        for i in np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right"):
            sides = np.where(codes[i] > thresholds, 1.0, -1.0)
            moves = np.where(sides * (X[i] @ w - b) <= 0.0, sides, 0.0)
            run = 0 if moves.any() else run + 1
            w, b = w + moves.sum() * X[i], b - moves
            if run > longest:
                longest, candidate = run, (w, b)
            epoch.append((w, b))
        seen += epoch
        if averaged:
            window = epoch if pocket else seen
            candidate = tuple(np.mean([model[k] for model in window], axis=0) for k in (0, 1))
        elif not pocket:
            candidate = (w, b)
        if harsh_cost(*candidate) < best and pocket:
            kept, best = candidate, harsh_cost(*candidate)
    return kept if pocket else candidate


@pytest.mark.parametrize("pocket", [True, False])
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_documented_procedure_is_what_is_done(averaged, pocket, seed):
    X, y = ordinal_data(n=40, seed=seed)
    # Inputs in sixteenths keep all sums exact, whatever their order.
    problem = problem_of(np.round(16 * X) / 16, y, 4)
    result = solve(problem, seed, 12, averaged, pocket)
    coef, thresholds = slow_twin(problem, seed, 12, averaged, pocket)
    np.testing.assert_allclose(result.coef, coef, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result.thresholds, thresholds, rtol=1e-12, atol=1e-12)
    assert result.n_epochs == 12


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_the_result_is_certified_and_ordered(seed, K, averaged, pocket):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(25, 3)) / 2.0
    y = rng.integers(0, K, size=25)
    problem = problem_of(X, y, K, rng.integers(0, 3, size=25).astype(float))
    result = solve(problem, seed, 5, averaged, pocket)
    assert ascending(result.thresholds)
    assert np.isfinite(result.thresholds).all()
    if len(problem.codes):
        assert result.total_cost == pytest.approx(
            cost_of(problem, result.coef, result.thresholds), abs=1e-9
        )
    if pocket:
        assert result.total_cost <= problem.costs.sum(axis=0).min()


def test_more_epochs_never_cost_more_with_a_pocket():
    X, y = ordinal_data(n=80, noise=2.0)
    problem = problem_of(X, y, 4)
    costs = [solve(problem, n_epochs=n).total_cost for n in (1, 2, 5, 20, 100)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("pocket", [True, False])
def test_separable_classes_are_separated_and_learning_stops(rng, averaged, pocket):
    X = rng.normal(size=(60, 2))
    scores = X @ [1.0, -2.0]
    keep = np.abs((scores + 0.5) % 1.0 - 0.5) > 0.2
    X, y = X[keep], np.clip(np.floor(scores[keep]) + 2, 0, 4).astype(np.intp)
    result = solve(problem_of(X, y, 5), n_epochs=5000, averaged=averaged, pocket=pocket)
    assert result.total_cost == 0.0
    assert result.n_epochs < 5000


def test_equal_rows_are_merged_and_weightless_ones_left_out():
    X = np.array([[1.0, 0.0], [2.0, 5.0], [1.0, 0.0], [1.0, 0.0], [3.0, 3.0], [9.0, 9.0]])
    y = np.array([0, 1, 0, 2, 1, 2])
    weights = np.array([1.0, 1.0, 2.5, 1.0, 1.0, 0.0])
    costs = absolute(y, 3)
    costs[4] = 0.0
    problem = problem_of(X, y, 3, weights, costs)
    found = {
        (tuple(x), int(code), tuple(cost), float(mass))
        for x, code, cost, mass in zip(
            rows_of(problem), problem.codes, problem.costs, problem.masses, strict=True
        )
    }
    assert found == {
        ((1.0, 0.0), 0, (0.0, 3.5, 7.0), 7.0),
        ((1.0, 0.0), 2, (2.0, 1.0, 0.0), 2.0),
        ((2.0, 5.0), 1, (1.0, 0.0, 1.0), 1.0),
    }
    assert len(problem.codes) == 3


def test_masses_of_merged_rows_add_up_though_their_costs_peak_at_different_ends():
    costs = np.array([[4.0, 0.0, 1.0], [1.0, 0.0, 4.0], [0.0, 1.0, 1.0]])
    problem = prank_problem(np.array([[1.0], [1.0], [2.0]]), np.array([1, 1, 0]), costs, np.ones(3))
    assert sorted(problem.masses.tolist()) == [1.0, 8.0]
    assert problem.costs.tolist()[problem.masses.argmax()] == [5.0, 0.0, 5.0]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_order_repeats_and_storage_of_rows_do_not_matter(rng, make):
    X, y = ordinal_data(n=50)
    X[rng.random(size=X.shape) < 0.3] = 0.0
    weights = rng.integers(0, 4, size=50)
    expected = solve(problem_of(X, y, 4, weights.astype(float)))
    rows = rng.permutation(np.repeat(np.arange(50), weights))
    result = solve(problem_of(make(X[rows]), y[rows], 4))
    np.testing.assert_array_equal(result.coef, expected.coef)
    np.testing.assert_array_equal(result.thresholds, expected.thresholds)
    assert result.total_cost == expected.total_cost


def test_sparse_input_is_left_as_it_was():
    X = sp.csr_array(
        (np.array([1.0, 2.0, 0.0, 3.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 3, 4])),
        shape=(3, 2),
    )
    before = (X.data.copy(), X.indices.copy(), X.indptr.copy())
    problem = problem_of(X, np.array([0, 1, 2]), 3)
    assert len(problem.rows.values) == 3
    for old, new in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


def test_constant_columns_are_left_out():
    X, y = ordinal_data(n=30)
    padded = np.column_stack([np.full(30, 7.0), X[:, :1], np.zeros(30), X[:, 1:]])
    problem = problem_of(padded, y, 4)
    assert problem.active.tolist() == [1, 3, 4]
    sparse = problem_of(sp.csr_array(padded), y, 4)
    assert sparse.active.tolist() == [1, 3, 4]
    np.testing.assert_array_equal(solve(problem).coef, solve(sparse).coef)


@pytest.mark.parametrize("pocket", [True, False])
@pytest.mark.parametrize("averaged", [True, False])
def test_nothing_but_constants(averaged, pocket):
    y = np.array([0, 1, 1, 2])
    result = solve(problem_of(np.ones((4, 2)), y, 3), averaged=averaged, pocket=pocket)
    assert result.coef.shape == (0,)
    if pocket:
        assert result.total_cost == 2.0


def test_no_cost_at_all_gives_the_middle_label():
    X, y = ordinal_data(n=20, K=3)
    result = solve(problem_of(X, y, 3, costs=np.zeros((20, 3))))
    assert result.n_epochs == 0
    assert result.total_cost == 0.0
    assert result.thresholds.tolist() == [-1.0, 1.0]
    assert result.coef.tolist() == []


def test_turned_labels_turn_the_model():
    X, y = ordinal_data(n=60)
    forward, backward = solve(problem_of(X, y, 4)), solve(problem_of(X, 3 - y, 4))
    np.testing.assert_array_equal(forward.coef, -backward.coef)
    np.testing.assert_array_equal(forward.thresholds, -backward.thresholds[::-1])


def test_examples_are_drawn_by_weight_times_greatest_cost():
    X, y = np.eye(3), np.array([0, 1, 2])
    problem = problem_of(X, y, 3, np.array([1.0, 6.0, 0.5]))
    order = [int(np.flatnonzero(row)[0]) for row in rows_of(problem)]
    assert problem.masses[np.argsort(order)].tolist() == [2.0, 6.0, 1.0]


def test_progress_is_reported_every_epoch():
    X, y = ordinal_data(n=40)
    calls = []
    result = solve(
        problem_of(X, y, 4), n_epochs=7, progress=lambda epoch, cost: calls.append((epoch, cost))
    )
    assert [epoch for epoch, _ in calls] == [1, 2, 3, 4, 5, 6, 7]
    assert calls[-1][1] >= result.total_cost


def test_learning_can_be_interrupted():
    X, y = ordinal_data(n=40)
    with interrupted(), pytest.raises(KeyboardInterrupt):
        solve(problem_of(X, y, 4), n_epochs=10**9)


def test_small_blocks_change_nothing(monkeypatch):
    X, y = ordinal_data(n=40)
    expected = solve(problem_of(X, y, 4))
    monkeypatch.setattr("echelon.solvers.linear.prank._BLOCK", 7)
    result = solve(problem_of(X, y, 4))
    np.testing.assert_array_equal(result.coef, expected.coef)
    np.testing.assert_array_equal(result.thresholds, expected.thresholds)


def test_mistakes_on_separable_data_obey_the_bound_of_the_paper(rng):
    K, w = 4, np.array([0.6, -0.8])
    b = np.array([-0.5, 0.1, 0.7])
    X = rng.uniform(-1, 1, size=(4000, 2))
    X = X[np.abs(X @ w - b[:, None]).min(axis=0) > 0.05]
    y = (X @ w > b[:, None]).sum(axis=0)
    length = np.sqrt(w @ w + b @ b)
    margin = np.abs(X @ w - b[:, None]).min() / length
    state = PerceptronState.fresh(np.zeros(2), np.zeros(K - 1))
    loss = 0.0
    for _ in range(3):
        state, _, cost = learn_online(
            X, y, absolute(y, K), np.ones(len(y), dtype=np.intp), state, averaged=False
        )
        loss += cost
    assert 0 < loss <= (K - 1) * ((X**2).sum(axis=1).max() + 1) / margin**2
