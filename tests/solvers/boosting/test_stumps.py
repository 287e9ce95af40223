import numpy as np
import pytest
from hypothesis import given
from support.stumps import best_stump, brute_force_cost, cost_of_ranks, signed_problems

from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.ordinal.reduction import signed_weights
from echelon.ordinal.thresholds import fit_cost
from echelon.solvers.boosting.bins import bin_inputs
from echelon.solvers.boosting.stumps import StumpSearch


@given(signed_problems())
def test_stump_costs_as_little_as_any_placement_of_thresholds(problem):
    X, V = problem
    stump, ranks = best_stump(bin_inputs(X), V)
    least = brute_force_cost(X, V)
    assert stump.cost == pytest.approx(least, abs=1e-9)
    assert cost_of_ranks(V, ranks) == pytest.approx(least, abs=1e-9)


@given(signed_problems(most_rows=30, most_features=4, most_classes=6))
def test_ranks_of_the_rule_are_those_of_the_search(problem):
    X, V = problem
    stump, ranks = best_stump(bin_inputs(X), V)
    np.testing.assert_array_equal(stump.ranks(X), ranks)
    assert (stump.thresholds[1:] >= stump.thresholds[:-1]).all()


@given(signed_problems(most_rows=30, most_features=5))
def test_threads_change_nothing(problem):
    X, V = problem
    bins = bin_inputs(X)
    one, ranks = StumpSearch(bins, V.shape[1] + 1).find(V)
    two, other = StumpSearch(bins, V.shape[1] + 1, n_threads=3).find(V)
    assert (one.feature, one.direction, one.missing_rank) == (
        two.feature,
        two.direction,
        two.missing_rank,
    )
    np.testing.assert_array_equal(one.thresholds, two.thresholds)
    np.testing.assert_array_equal(ranks, other)


@given(signed_problems(most_rows=30, most_classes=6))
def test_no_stump_pays_more_than_half(problem):
    X, V = problem
    assert best_stump(bin_inputs(X), V)[0].cost <= 0.5 * np.abs(V).sum() + 1e-9


def test_groups_of_features_and_bytes_and_ints_agree(rng, monkeypatch):
    X = np.round(rng.normal(size=(400, 7)), 1)
    V = rng.normal(size=(400, 3))
    narrow = bin_inputs(X)
    wide = type(narrow)(narrow.codes.astype(np.int32), narrow.edges)
    expected, _ = best_stump(narrow, V)
    monkeypatch.setattr("echelon.solvers.boosting.bins._GROUP_BYTES", 3000)
    found, _ = best_stump(wide, V)
    assert (found.feature, found.direction, found.cost) == (
        expected.feature,
        expected.direction,
        expected.cost,
    )


@pytest.mark.parametrize("K", [2, 9, 12, 13, 14, 30])
def test_cost_is_that_of_thresholds_of_least_cost_on_each_feature(rng, K):
    X = np.round(rng.normal(size=(300, 2)), 1)
    codes = np.clip(np.round(X[:, 1] * -3 + rng.normal(size=300) + K / 2), 0, K - 1).astype(int)
    costs = rng.exponential(size=(300, 1)) * cost_matrix("squared", K)[codes]
    least = np.inf
    for scores in (*X.T, *-X.T):
        ranks = np.searchsorted(fit_cost(scores, costs), scores, side="left")
        least = min(least, costs[np.arange(300), ranks].sum())
    V = signed_weights(codes, threshold_weights(costs))
    assert best_stump(bin_inputs(X), V)[0].cost == pytest.approx(least)


def test_falling_stump_parts_neighbouring_floats():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    stump, ranks = best_stump(bin_inputs(X), np.array([[1.0], [-1.0]]))
    assert stump.direction == -1
    assert ranks.tolist() == stump.ranks(X).tolist() == [1, 0]


def test_first_of_equal_features_wins_whatever_the_rounding(rng):
    X = rng.normal(size=(200, 1))
    V = rng.normal(size=(200, 4))
    doubled = np.hstack([X, -X, 3.0 * X])
    stump, _ = best_stump(bin_inputs(doubled), V)
    assert stump.feature == 0
