"""The worst partner of every row, against all pairs."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from support.listed_pairs import listed, pair_sets

from echelon.pairs import PairSet
from echelon.solvers.ranking.margin_lp import worst_pairs

SCORES = st.lists(st.integers(-3, 3), min_size=12, max_size=12)


@given(pair_sets(), SCORES)
def test_every_row_meets_its_worst_partners(pairs, scores):
    assume(pairs.n_pairs > 0)
    scores = np.array(scores, dtype=float)
    winners, losers, _ = listed(pairs)
    margins = scores[winners] - scores[losers]
    worst = worst_pairs(pairs, scores)
    assert (np.diff(worst.margins) >= 0).all()
    np.testing.assert_array_equal(worst.margins, scores[worst.winners] - scores[worst.losers])
    known = set(zip(winners.tolist(), losers.tolist(), strict=True))
    assert set(zip(worst.winners.tolist(), worst.losers.tolist(), strict=True)) <= known
    for row in range(12):
        for side, found in ((winners, worst.winners), (losers, worst.losers)):
            if (side == row).any():
                assert worst.margins[found == row].min() == margins[side == row].min()
    assert worst_pairs(pairs, scores, 1).margins[0] == margins.min()


@given(pair_sets(), SCORES, st.integers(1, 5))
def test_a_limit_keeps_the_worst(pairs, scores, limit):
    assume(pairs.n_pairs > 0)
    scores = np.array(scores, dtype=float)
    few, all_of_them = worst_pairs(pairs, scores, limit), worst_pairs(pairs, scores)
    for part, whole in zip(few, all_of_them, strict=True):
        np.testing.assert_array_equal(part, whole[:limit])


def test_keys_decide_between_equal_scores(rng):
    y, scores = np.array([0, 0, 0, 1, 1, 1]), np.array([1.0, 1.0, 0.0, 1.0, 1.0, 2.0])
    keys = np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])

    def found(order):
        worst = worst_pairs(PairSet.from_labels(y[order]), scores[order], keys=keys[order])
        return keys[order][worst.winners].tolist(), keys[order][worst.losers].tolist()

    first = found(np.arange(6))
    assert all(found(rng.permutation(6)) == first for _ in range(10))
