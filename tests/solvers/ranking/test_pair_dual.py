"""Steps of the dual where far more pairs are free than rows can tell apart."""

import numpy as np
import pytest

from echelon.pairs.pair_set import ListedPairs
from echelon.solvers.ranking import pair_dual
from echelon.solvers.ranking.pair_dual import solve_pair_dual


@pytest.mark.parametrize("ridge", [1e-10, 1e-3, 1.0])
def test_a_step_of_low_rank_solves_the_system(rng, ridge):
    features, rise = rng.normal(size=(40, 3)), rng.normal(size=40)
    ridges = ridge * rng.uniform(0.5, 2.0, 40)
    step = pair_dual._low_rank_step(features, ridges, rise)
    left = features @ (features.T @ step) + ridges * step
    # Steps along directions that only the ridge holds are as long as rise / ridge.
    np.testing.assert_allclose(left, rise, atol=1e-12 * np.abs(step).max())


@pytest.mark.parametrize("squared", [True, False])
def test_both_ways_to_a_step_end_at_the_same_solution(rng, squared, monkeypatch):
    X = rng.normal(size=(12, 3))
    gram = X @ X.T
    worth = X @ [1.0, -0.5, 0.2] + 0.5 * rng.normal(size=12)
    winners, losers = np.nonzero(worth[:, None] > worth)
    pairs = ListedPairs(winners, losers, np.ones(len(winners)))
    found = []
    for many in (0, 10_000):
        monkeypatch.setattr(pair_dual, "_MANY_PAIRS", many)
        solution = solve_pair_dual(gram, pairs, 1.0, squared=squared, tol=1e-9)
        assert solution.converged
        found.append(solution)
    low, dense = found
    assert abs(low.objective - dense.objective) <= low.duality_gap + dense.duality_gap
