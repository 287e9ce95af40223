"""The native perceptron against the loop over examples and thresholds that it replaces."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from echelon._native import _prank
from echelon.solvers.linear.prank import FlatRows


class SlowTwin:
    """PRank with a loop over thresholds, keeping every model that it has been."""

    def __init__(self, X, codes, costs):
        self.X, self.codes, self.costs = X, codes, costs
        self.w, self.b = np.zeros(X.shape[1]), np.zeros(costs.shape[1] - 1)
        self.history, self.runs = [], []
        self.mistakes, self.cost = 0, 0.0

    def present(self, i):
        score, y = float(self.X[i] @ self.w), self.codes[i]
        wrong = [k for k in range(len(self.b)) if (1 if y > k else -1) * (score - self.b[k]) <= 0.0]
        self.cost += worst_cost(score, self.b, self.costs[i])
        self.mistakes += bool(wrong)
        if wrong:
            self.runs.append(0)
        for k in wrong:
            side = 1 if y > k else -1
            self.w = self.w + side * self.X[i]
            self.b[k] -= side
        if not wrong:
            self.runs.append(self.runs[-1] + 1 if self.runs else 1)
        self.history.append((self.w.copy(), self.b.copy()))


def worst_cost(score, b, costs):
    """Cost of the answer, of the worse one where the score equals a threshold."""
    return max(costs[np.sum(b < score)], costs[np.sum(b <= score)])


def perceptron(X, codes, costs, averaged=True):
    rows = FlatRows.of(X)
    return _prank.Perceptron(
        rows.values, rows.columns, rows.starts, codes, costs, rows.n_columns, averaged
    )


@st.composite
def episodes(draw):
    """Examples with inputs in eighths, so that all sums are exact, and rows to present."""
    n, d, K = draw(st.integers(1, 6)), draw(st.integers(0, 9)), draw(st.integers(2, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    reach = draw(st.sampled_from([1, 16]))
    X = rng.integers(-reach, reach + 1, size=(n, d)) / 8.0
    codes = rng.integers(0, K, size=n).astype(np.intp)
    steps = rng.integers(0, 4, size=(n, K)).astype(float)
    away = np.abs(np.arange(K) - codes[:, None])
    costs = np.where(away > 0, away * 1.0 + steps.max(axis=1, keepdims=True), 0.0)
    rows = rng.integers(0, n, size=draw(st.integers(1, 120))).astype(np.intp)
    return X, codes, costs, rows


@given(episodes())
@settings(deadline=None)
def test_every_step_is_that_of_the_twin_and_the_thresholds_ascend(episode):
    X, codes, costs, rows = episode
    twin, native = SlowTwin(X, codes, costs), perceptron(X, codes, costs)
    for t, i in enumerate(rows):
        twin.present(i)
        native.present(rows[t : t + 1])
        np.testing.assert_array_equal(native.current[0], twin.w)
        np.testing.assert_array_equal(native.current[1], twin.b)
        assert (np.diff(native.current[1]) >= 0).all()
        assert (native.current[1] % 1 == 0).all()
    assert native.n_mistakes == twin.mistakes
    assert native.cost_of_mistakes == twin.cost
    assert native.n_presented == len(rows)


@given(episodes())
@settings(deadline=None)
def test_compressed_rows_and_whole_batches_change_nothing(episode):
    X, codes, costs, rows = episode
    dense, sparse = perceptron(X, codes, costs), perceptron(sp.csr_array(X), codes, costs)
    dense.present(rows)
    for half in np.array_split(rows, 2):
        sparse.present(half)
    for a, b in zip(dense.current + dense.moments, sparse.current + sparse.moments, strict=True):
        np.testing.assert_array_equal(a, b)
    assert dense.total_cost(*dense.current, np.inf) == sparse.total_cost(*dense.current, np.inf)


@given(episodes(), st.integers(0, 20))
@settings(deadline=None)
def test_moments_give_the_average_over_the_window(episode, before):
    X, codes, costs, rows = episode
    twin, native = SlowTwin(X, codes, costs), perceptron(X, codes, costs)
    for i in rows:
        twin.present(i)
    before = min(before, len(rows) - 1)
    native.present(rows[:before])
    native.begin_window()
    native.present(rows[before:])
    T = native.n_presented
    assert len(rows) - before == T
    for which in (0, 1):
        total = (T + 1) * native.current[which] - native.moments[which]
        np.testing.assert_array_equal(total, sum(step[which] for step in twin.history[before:]))
    assert (np.diff((T + 1) * native.current[1] - native.moments[1]) >= 0).all()


@given(episodes())
@settings(deadline=None)
def test_the_longest_run_of_right_answers_is_remembered(episode):
    X, codes, costs, rows = episode
    twin, native = SlowTwin(X, codes, costs), perceptron(X, codes, costs, averaged=False)
    for i in rows:
        twin.present(i)
    native.begin_window()
    native.present(rows)
    if max(twin.runs) == 0:
        assert not native.longest_run[0].any() and not native.longest_run[1].any()
        return
    longest = int(np.argmax(twin.runs))
    np.testing.assert_array_equal(native.longest_run[0], twin.history[longest][0])
    np.testing.assert_array_equal(native.longest_run[1], twin.history[longest][1])


@given(episodes())
@settings(deadline=None)
def test_total_cost_counts_ties_against_the_model(episode):
    X, codes, costs, rows = episode
    native = perceptron(X, codes, costs)
    native.present(rows)
    w, b = native.current
    expected = sum(worst_cost(float(x @ w), b, c) for x, c in zip(X, costs, strict=True))
    assert native.total_cost(w, b, np.inf) == expected
    assert native.total_cost(w, b, expected) >= expected
    assert native.total_cost(w, b, np.nextafter(expected, np.inf)) == expected


@pytest.mark.parametrize("K", [4, 5, 6])
def test_scores_beyond_all_numbers_stay_within_the_thresholds(K):
    X = np.array([[1e200], [-1e200], [1.0]])
    codes = np.array([K - 1, 0, 1], dtype=np.intp)
    costs = np.abs(codes[:, None] - np.arange(float(K)))
    native = perceptron(X, codes, costs)
    native.present(np.array([0, 1, 2, 0, 1, 0], dtype=np.intp))
    assert (np.diff(native.current[1]) >= 0).all()
    assert native.total_cost(np.array([1e200]), native.current[1], np.inf) <= K


def test_a_state_that_is_loaded_goes_on_as_if_nothing_had_happened(rng):
    X = rng.normal(size=(20, 5))
    codes = rng.integers(0, 4, size=20).astype(np.intp)
    costs = np.abs(codes[:, None] - np.arange(4.0))
    rows = rng.integers(0, 20, size=200).astype(np.intp)
    whole, first, second = (perceptron(X, codes, costs) for _ in range(3))
    whole.present(rows)
    first.present(rows[:90])
    second.load(*first.current, *first.moments, first.n_presented)
    second.present(rows[90:])
    for a, b in zip(whole.current + whole.moments, second.current + second.moments, strict=True):
        np.testing.assert_array_equal(a, b)
    assert whole.n_mistakes == first.n_mistakes + second.n_mistakes


@given(
    st.lists(st.one_of(st.integers(1, 5), st.floats(1e-9, 1e9)), min_size=1, max_size=30),
    st.integers(1, 100),
    st.integers(0, 10**6),
)
def test_draws_invert_the_cumulative_masses(masses, cells, seed):
    cumulative = np.cumsum(np.array(masses, dtype=float))
    guide = np.searchsorted(cumulative, np.arange(cells) / cells * cumulative[-1], side="right")
    edges = np.concatenate([[0.0], cumulative[:-1] / cumulative[-1], [np.nextafter(1.0, 0.0)]])
    uniforms = np.concatenate([np.random.default_rng(seed).random(50), edges])
    uniforms = uniforms[uniforms < 1.0]
    rows = np.empty(len(uniforms), dtype=np.intp)
    _prank.draw_rows(uniforms, cumulative, np.minimum(guide, len(masses) - 1).astype(np.intc), rows)
    expected = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
    np.testing.assert_array_equal(rows, np.minimum(expected, len(masses) - 1))


@pytest.mark.parametrize("d", [0, 1, 3, 4, 5, 8, 11])
def test_scores_are_the_same_bits_dense_and_sparse(rng, d):
    X = rng.normal(size=(40, d)) * (rng.random(size=(40, d)) < 0.6)
    w = rng.normal(size=max(d, 1))
    dense, sparse = FlatRows.of(X), FlatRows.of(sp.csr_array(X))
    scores = _prank.row_scores(dense.values, dense.columns, dense.starts, w)
    np.testing.assert_array_equal(
        scores, _prank.row_scores(sparse.values, sparse.columns, sparse.starts, w)
    )
    np.testing.assert_allclose(scores, X @ w[:d], atol=1e-14)
