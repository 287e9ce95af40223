import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.stumps import best_stump, signed_problems

from echelon.ordinal.reduction import VoteTally, vote_margins
from echelon.solvers.boosting.bins import bin_inputs
from echelon.solvers.boosting.stumps import sum_steps, tabulate


@given(signed_problems(most_rows=12, most_features=3, most_classes=5), st.integers(1, 6))
def test_tables_count_the_votes_of_all_stumps(problem, T):
    X, V = problem
    rng = np.random.default_rng(T)
    K = V.shape[1] + 1
    stumps = [best_stump(bin_inputs(X), V * rng.normal(size=V.shape))[0] for _ in range(T)]
    weights = rng.exponential(size=T)
    rows = np.vstack([X, np.full((1, X.shape[1]), np.nan), X + 0.5, X - 0.5])
    tally = VoteTally(len(rows), K)
    for stump, weight in zip(stumps, weights, strict=True):
        tally.add(stump.ranks(rows), weight)
    above = sum_steps(tabulate(stumps, weights), rows, K - 1)
    np.testing.assert_allclose(vote_margins(above, weights.sum()), tally.margins(), atol=1e-12)
