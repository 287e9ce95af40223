import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ordinal import is_convex, is_v_shaped

from echelon.ordinal.costs import (
    adjacent_weights,
    check_sample_costs,
    cost_matrix,
    minimum_cost_codes,
    require_v_shaped,
    threshold_weights,
)


@pytest.mark.parametrize(
    ("name", "convex"), [("absolute", True), ("squared", True), ("zero_one", False)]
)
@pytest.mark.parametrize("K", [2, 3, 7])
def test_named_costs(name, convex, K):
    C = cost_matrix(name, K)
    assert is_v_shaped(C)
    assert is_convex(C) is (convex or K == 2)
    np.testing.assert_array_equal(C, C.T)


def test_weights_of_the_absolute_cost_are_one():
    assert (threshold_weights(cost_matrix("absolute", 5)) == 1).all()


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("cubic", "cost must be 'absolute', 'squared', 'zero_one' or a matrix; found 'cubic'"),
        (np.zeros((2, 3)), r"shape \(3, 3\); found \(2, 3\)"),
        (np.eye(3), "zero on its diagonal.*found 1 for class 0"),
        (-cost_matrix("absolute", 3), "not negative"),
        (np.full((3, 3), np.nan), "finite"),
    ],
)
def test_bad_cost_matrices(cost, message):
    with pytest.raises(ValueError, match=message):
        cost_matrix(cost, 3)


def test_a_dent_is_named():
    C = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    assert not is_v_shaped(C)
    with pytest.raises(ValueError, match=r"V-shaped.*row 0 falls between columns 1 and 2"):
        require_v_shaped(C)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (np.zeros((2, 4)), r"shape \(2, 3\)"),
        (np.array([[0, 1, -1], [1, 0, 1]]), "not negative"),
        (np.array([[1, 1, 1], [1, 0, 1]]), "zero where the prediction is right"),
    ],
)
def test_bad_sample_costs(costs, message):
    with pytest.raises(ValueError, match=message):
        check_sample_costs(costs, np.array([0, 1]), 3)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_absolute_cost_decides_for_the_median(K, seed):
    P = np.random.default_rng(seed).dirichlet(np.ones(K), size=20)
    median = np.count_nonzero(1.0 - np.cumsum(P, axis=1)[:, :-1] > 0.5, axis=1)
    np.testing.assert_array_equal(minimum_cost_codes(P, cost_matrix("absolute", K)), median)
    np.testing.assert_array_equal(
        minimum_cost_codes(P, cost_matrix("zero_one", K)), P.argmax(axis=1)
    )


@pytest.mark.parametrize("K", [2, 3, 7])
def test_adjacent_weights_are_those_of_the_zero_one_cost(K):
    W = adjacent_weights(K)
    np.testing.assert_array_equal(W, threshold_weights(cost_matrix("zero_one", K)))
    np.testing.assert_array_equal(W.sum(axis=0), 2)
