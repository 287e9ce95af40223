import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from echelon.ordinal.costs import cost_matrix
from echelon.ordinal.losses import EXPONENTIAL, HINGE
from echelon.ordinal.reduction import decode, side_matrix
from echelon.ordinal.thresholds import (
    chain_to_free,
    fit_cost,
    fit_exponential,
    fit_hinge,
    from_free,
    margins,
    to_free,
)


@st.composite
def scored(draw, max_n=12, max_K=5, weighted=False):
    K = draw(st.integers(2, max_K))
    n = draw(st.integers(1, max_n))
    scores = np.array(draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n))) / 2.0
    codes = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    weights = np.ones((n, K - 1))
    if weighted:
        row = st.lists(st.integers(0, 3), min_size=K - 1, max_size=K - 1)
        weights = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)
    return scores, codes, K, weights


def total_loss(loss, scores, codes, K, weights, thresholds):
    return np.sum(weights * loss.value(side_matrix(codes, K) * margins(scores, thresholds)))


def ordered_grid(loss, scores, codes, K, weights, points):
    """Least loss over ascending thresholds on a grid, by dynamic programming."""
    Z = side_matrix(codes, K)
    best = np.zeros(len(points))
    for k in range(K - 1):
        cost = np.array([weights[:, k] @ loss.value(Z[:, k] * (scores - b)) for b in points])
        best = np.minimum.accumulate(best) + cost
    return best.min()


@given(scored(weighted=True))
def test_hinge_thresholds_are_optimal_under_the_order(data):
    scores, codes, K, weights = data
    b = fit_hinge(scores, codes, K, weights)
    assert (b[1:] >= b[:-1]).all()
    finite = np.clip(b, scores.min() - 9, scores.max() + 9)
    # The loss is piecewise linear with kinks at f ± 1, so an optimum lies on these points.
    kinks = np.unique(
        np.concatenate([scores - 1, scores + 1, [scores.min() - 9, scores.max() + 9]])
    )
    reached = total_loss(HINGE, scores, codes, K, weights, finite)
    assert reached <= ordered_grid(HINGE, scores, codes, K, weights, kinks) + 1e-9


@given(scored(weighted=True))
def test_exponential_thresholds_are_optimal_under_the_order(data):
    scores, codes, K, weights = data
    b = fit_exponential(scores, codes, K, weights)
    assert (b[1:] >= b[:-1]).all()
    finite = np.clip(b, -40, 40)
    reached = total_loss(EXPONENTIAL, scores, codes, K, weights, finite)
    grid = np.unique(np.concatenate([np.linspace(-8, 8, 161), finite]))
    assert reached <= ordered_grid(EXPONENTIAL, scores, codes, K, weights, grid) * (1 + 1e-9) + 1e-9


@given(scored())
def test_equal_weights_ascend_without_pooling(data):
    scores, codes, K, _ = data
    below = np.array([np.exp(scores[codes <= k]).sum() for k in range(K - 1)])
    above = np.array([np.exp(-scores[codes > k]).sum() for k in range(K - 1)])
    with np.errstate(divide="ignore"):
        closed = 0.5 * (np.log(below) - np.log(above))
    np.testing.assert_allclose(fit_exponential(scores, codes, K), closed, atol=1e-12)


def test_exponential_thresholds_do_not_overflow():
    b = fit_exponential(np.array([-2000.0, 2000.0]), np.array([0, 1]), 2)
    np.testing.assert_allclose(b, [0.0])


@given(scored(max_n=9, max_K=4), st.sampled_from(["absolute", "zero_one", "squared"]))
def test_cost_thresholds_equal_brute_force(data, name):
    scores, codes, K, _ = data
    costs = cost_matrix(name, K)[codes] * (1.0 + np.arange(len(codes)) % 3)[:, None]
    b = fit_cost(scores, costs)
    assert (b[1:] >= b[:-1]).all()
    rows = np.arange(len(codes))
    reached = costs[rows, decode(margins(scores, b))].sum()
    values = np.unique(scores)
    points = np.concatenate([[-np.inf], (values[:-1] + values[1:]) / 2, [np.inf]])
    best = min(
        costs[rows, decode(margins(scores, np.array(cut)))].sum()
        for cut in itertools.combinations_with_replacement(points, K - 1)
    )
    assert reached == best


def test_cost_thresholds_between_adjacent_floats():
    low = 1.0
    high = np.nextafter(low, 2.0)
    scores, codes = np.array([low, high]), np.array([0, 1])
    b = fit_cost(scores, cost_matrix("absolute", 2)[codes])
    assert decode(margins(scores, b)).tolist() == [0, 1]


@given(st.lists(st.floats(0.1, 3.0), min_size=1, max_size=5), st.floats(-3.0, 3.0))
def test_free_parameters_round_trip(gaps, first):
    b = first + np.concatenate([[0.0], np.cumsum(gaps)])
    np.testing.assert_allclose(from_free(to_free(b)), b, rtol=1e-12, atol=1e-12)


def test_chain_rule_of_free_parameters(rng):
    free = rng.normal(size=4)
    target = rng.normal(size=4)

    def function(free):
        return 0.5 * np.sum((from_free(free) - target) ** 2)

    analytic = chain_to_free(from_free(free) - target, free)
    h = 1e-6
    for j in range(4):
        step = h * np.eye(4)[j]
        numeric = (function(free + step) - function(free - step)) / (2 * h)
        assert analytic[j] == pytest.approx(numeric, rel=1e-6, abs=1e-8)
    best = minimize(function, free, jac=lambda v: chain_to_free(from_free(v) - target, v))
    assert best.fun <= function(free)
