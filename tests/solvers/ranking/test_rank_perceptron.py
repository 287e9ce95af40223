"""The perceptron on pairs, against presenting pairs one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.listed_pairs import listed, ranking_data

from echelon.pairs import PairSet
from echelon.solvers.ranking.online import PairPerceptron, solve_rank_perceptron


def one_by_one(X, winners, losers):
    """The rule as it is written, with the sum of the weights after each pair."""
    w, total, updates, longest = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0, 0.0
    for winner, loser in zip(winners, losers, strict=True):
        difference = X[winner] - X[loser]
        if w @ difference <= 0:
            w = w + difference
            updates += 1
            longest = max(longest, float(np.linalg.norm(difference)))
        total += w
    return w, total / len(winners), updates, longest


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_blocks_are_pairs_one_by_one(store, rng):
    X, y, qid = ranking_data()
    winners, losers, _ = listed(PairSet.from_labels(y, qid))
    order = rng.permutation(len(winners))
    assert len(order) > 200
    winners, losers = winners[order], losers[order]
    w, average, updates, longest = one_by_one(X, winners, losers)
    state = PairPerceptron.fresh(3).presented(store(X), winners[:100], losers[:100])
    state = state.presented(store(X), winners[100:], losers[100:])
    np.testing.assert_allclose(state.coef, w)
    np.testing.assert_allclose(state.average, average)
    assert (state.n_updates, state.n_presented) == (updates, len(order))
    assert state.radius == pytest.approx(longest)


def test_every_epoch_makes_an_update_or_is_the_last():
    X, y, qid = ranking_data(n=200, noise=0.0)
    seen = []
    result = solve_rank_perceptron(
        X,
        PairSet.from_labels(y, qid),
        n_epochs=10_000,
        averaged=False,
        rng=np.random.default_rng(0),
        progress=lambda *line: seen.append(line),
    )
    updates = [line[1] for line in seen]
    assert len(seen) == result.n_epochs < 10_000
    assert (np.diff(updates[:-1]) > 0).all()
    assert [line[2] > 0 for line in seen] == [False] * (len(seen) - 1) + [True]
    assert result.margin > 0
