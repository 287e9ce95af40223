import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from support.ordinal import weighted_median

from echelon.ordinal.costs import threshold_weights
from echelon.ordinal.reduction import (
    VoteTally,
    decode,
    exceedance_to_probabilities,
    monotone_exceedance,
    reduce_to_binary,
    reverse_reduce,
    side_matrix,
)


@st.composite
def costly_examples(draw, convex=False):
    """Codes and V-shaped (or convex) integer costs around them, so that sums are exact."""
    K = draw(st.integers(2, 7))
    n = draw(st.integers(1, 8))
    codes = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    step = st.integers(0, 50)
    steps = np.array(
        draw(st.lists(st.lists(step, min_size=K - 1, max_size=K - 1), min_size=n, max_size=n))
    )
    costs = np.zeros((n, K))
    for i, y in enumerate(codes):
        right = steps[i, y:]
        left = steps[i, :y][::-1]
        if convex:
            right, left = np.sort(right), np.sort(left)
        costs[i, y + 1 :] = np.cumsum(right)
        costs[i, :y] = np.cumsum(left)[::-1]
    return codes, costs


@given(costly_examples())
def test_reduction_and_its_reverse_are_exact_inverses(examples):
    codes, costs = examples
    sides, weights = reduce_to_binary(codes, costs)
    codes_back, costs_back = reverse_reduce(sides, weights)
    np.testing.assert_array_equal(codes_back, codes)
    np.testing.assert_array_equal(costs_back, costs)
    sides_back, weights_back = reduce_to_binary(codes_back, costs_back)
    np.testing.assert_array_equal(sides_back, sides)
    np.testing.assert_array_equal(weights_back, weights)


@given(costly_examples(), st.data())
def test_cost_is_the_weight_of_the_wrong_sides(examples, data):
    codes, costs = examples
    n, K = costs.shape
    ranks = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    wrong = side_matrix(ranks, K) != side_matrix(codes, K)
    np.testing.assert_array_equal(
        costs[np.arange(n), ranks], (threshold_weights(costs) * wrong).sum(axis=1)
    )


@given(costly_examples(convex=True), st.integers(0, 2**32 - 1))
def test_convex_cost_of_any_margins_is_at_most_the_weight_of_wrong_signs(examples, seed):
    codes, costs = examples
    n, K = costs.shape
    assert (np.diff(costs, n=2, axis=1) >= 0).all()
    G = np.random.default_rng(seed).normal(size=(n, K - 1))
    wrong = np.sign(G) != side_matrix(codes, K)
    bound = (threshold_weights(costs) * wrong).sum(axis=1)
    assert (costs[np.arange(n), decode(G)] <= bound).all()


@given(costly_examples(), st.integers(0, 2**32 - 1))
def test_monotone_margins_of_any_v_shaped_cost_are_exact(examples, seed):
    codes, costs = examples
    n, K = costs.shape
    G = -np.sort(np.random.default_rng(seed).normal(size=(n, K - 1)), axis=1)
    wrong = np.sign(G) != side_matrix(codes, K)
    np.testing.assert_array_equal(
        costs[np.arange(n), decode(G)], (threshold_weights(costs) * wrong).sum(axis=1)
    )


def test_decode_counts_positive_margins():
    assert decode(np.array([[1.0, -1.0], [-1.0, -2.0], [0.0, 3.0]])).tolist() == [1, 0, 1]


@given(st.integers(2, 6), st.integers(1, 7), st.data())
def test_weighted_median_equals_the_count_over_thresholds(K, T, data):
    votes = np.array(
        data.draw(st.lists(st.lists(st.integers(0, K - 1), min_size=T, max_size=T), min_size=1))
    )
    weights = np.array(
        data.draw(st.lists(st.integers(0, 4), min_size=T, max_size=T).filter(any)), dtype=float
    )
    # (6): thresholds with at least half of the weight on votes above them
    above = np.stack([(votes > k) @ weights for k in range(K - 1)], axis=1)
    count = np.count_nonzero(2 * above >= weights.sum(), axis=1)
    # (7): the least rank with more than half of the weight at or below it
    below = np.stack([(votes <= k) @ weights for k in range(K)], axis=1)
    least = np.argmax(2 * below > weights.sum(), axis=1)
    np.testing.assert_array_equal(count, least)
    np.testing.assert_array_equal(weighted_median(votes, weights), count)
    tally = VoteTally(len(votes), K)
    for vote, weight in zip(votes.T, weights, strict=True):
        tally.add(vote, weight)
    np.testing.assert_array_equal(decode(tally.margins()), count)
    np.testing.assert_allclose(tally.margins(), 2 * above / weights.sum() - 1, atol=1e-12)


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_exceedance_projection_is_the_isotonic_regression(thresholds, seed):
    above = np.random.default_rng(seed).uniform(size=(5, thresholds))
    projected = monotone_exceedance(above)
    for row, fitted in zip(above, projected, strict=True):
        np.testing.assert_allclose(fitted, isotonic_regression(row, increasing=False).x)
    P = exceedance_to_probabilities(projected)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
