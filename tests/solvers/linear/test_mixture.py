import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.solvers.linear.mixture import few_weights, mixture_weights


def slow_weights(p, row_weights, steps=20_000):
    """Expectation maximisation: every share times the mean of its model's part in the mixture."""
    share = row_weights / row_weights.sum()
    weights = np.full(p.shape[1], 1.0 / p.shape[1])
    for _ in range(steps):
        weights = weights * (share @ (p / (p @ weights)[:, None]))
    return weights


def loss_of(weights, p, row_weights):
    return -np.average(np.log(p @ weights), weights=row_weights)


def drawn(seed, n, m):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.01, 1.0, size=(n, m)) ** 2, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (8, 3), (60, 5), (20, 30), (400, 12)])
def test_shares_are_those_of_a_slow_twin(n, m):
    p, counts = drawn(n, n, m)
    found = mixture_weights(p, counts)
    assert found.converged
    assert found.weights.min() >= 0.0
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.loss == pytest.approx(loss_of(found.weights, p, counts), abs=1e-12)
    # The twin is slow, and comes down to the same loss from above.
    assert 0.0 <= loss_of(slow_weights(p, counts), p, counts) - found.loss + 1e-12 < 1e-3


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 6))
def test_no_other_shares_are_better_than_the_gap_allows(seed, n, m):
    p, counts = drawn(seed, n, m)
    found = mixture_weights(p, counts)
    others = np.random.default_rng(seed).dirichlet(np.ones(m), size=50)
    corners = np.eye(m)
    for shares in (*others, *corners):
        assert loss_of(shares, p, counts) >= found.loss - found.gap - 1e-12


def test_a_whole_weight_is_repeated_rows_and_only_ratios_count():
    p, counts = drawn(0, 40, 4)
    expected = mixture_weights(np.repeat(p, counts.astype(int), axis=0), np.ones(int(counts.sum())))
    for scale in (1.0, 1e-3, 7.0):
        found = mixture_weights(p, scale * counts)
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)


@pytest.mark.parametrize("least", [1e-300, 1e-12, 0.3])
def test_tiny_probabilities(least):
    p = np.array([[1.0, least], [least, 1.0], [least, 1.0]])
    found = mixture_weights(p, np.ones(3))
    assert found.converged
    assert loss_of(slow_weights(p, np.ones(3)), p, np.ones(3)) >= found.loss - 1e-9


def test_models_that_say_the_same_and_a_model_that_is_always_worse():
    p = drawn(1, 50, 1)[0]
    found = mixture_weights(np.hstack([p, p, 0.5 * p]), np.ones(50))
    assert found.converged
    assert found.weights[2] == 0.0
    assert found.loss == pytest.approx(-np.log(p).mean())


def test_small_shares_are_left_out_and_the_others_are_the_best_of_their_models():
    p, counts = drawn(3, 400, 12)
    assert 0.0 < min(w for w in mixture_weights(p, counts).weights if w > 0) < 0.08
    found = few_weights(p, counts, 0.08)
    kept = found.weights > 0.0
    assert found.weights[kept].min() >= 0.08
    again = mixture_weights(p[:, kept], counts)
    np.testing.assert_allclose(found.weights[kept], again.weights, atol=1e-6)
    # One at least stays.
    assert few_weights(p, counts, 1.1).weights.max() == pytest.approx(1.0)
