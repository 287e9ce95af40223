"""Random pairs: only those of the set, by weight, whatever the order of rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from support.listed_pairs import listed, pair_sets, ranking_data

from echelon.pairs import PairSet
from echelon.solvers.ranking.pair_draws import PairSampler

ROWS = np.random.default_rng(5).normal(size=(12, 2))


@given(pair_sets())
def test_only_pairs_of_the_set_are_drawn_and_their_mass_is_known(pairs):
    assume(pairs.n_pairs > 0)
    sampler = PairSampler(pairs, ROWS)
    assert sampler.mass == pytest.approx(pairs.total_weight)
    drawn = sampler.draw(200, np.random.default_rng(0))
    winners, losers, _ = listed(pairs)
    known = set(zip(winners.tolist(), losers.tolist(), strict=True))
    assert set(zip(*(side.tolist() for side in drawn), strict=True)) <= known


@given(pair_sets())
def test_fresh_rows_are_in_every_implied_pair_drawn(pairs):
    assume(pairs.implied is not None and pairs.listed is None)
    fresh = np.arange(12) >= 9
    winners, losers, weights = listed(pairs)
    sampler = PairSampler(pairs, ROWS, fresh)
    touched = fresh[winners] | fresh[losers]
    assert sampler.mass == pytest.approx(weights[touched].sum())
    if sampler.mass > 0:
        won, lost = sampler.draw(200, np.random.default_rng(0))
        assert (fresh[won] | fresh[lost]).all()


@pytest.mark.parametrize("fresh", [None, np.arange(30) >= 20])
def test_pairs_come_as_often_as_they_weigh(fresh):
    X, y, qid = ranking_data(n=30)
    weights = np.random.default_rng(1).integers(0, 4, 30).astype(float)
    pairs = PairSet.from_labels(y, qid, weights, np.array([1.0, 2.0, 0.5]))
    pairs = pairs + PairSet.from_pairs([[0, 1], [2, 3]], 30, [30.0, 5.0])
    winners, losers, mass = listed(pairs)
    if fresh is not None:
        kept = fresh[winners] | fresh[losers] | (np.arange(len(winners)) < 2)
        winners, losers, mass = winners[kept], losers[kept], mass[kept]
    size = 200_000
    won, lost = PairSampler(pairs, X, fresh).draw(size, np.random.default_rng(2))
    share = np.bincount(won * 30 + lost, minlength=900) / size
    expected = np.bincount(winners * 30 + losers, mass / mass.sum(), minlength=900)
    assert (np.abs(share - expected) <= 5 * np.sqrt(expected / size)).all()


def test_order_copies_and_storage_of_rows_do_not_matter(rng):
    X, y, qid = ranking_data(n=40)
    counts = rng.integers(0, 4, 40)
    weighted = PairSampler(PairSet.from_labels(y, qid, counts.astype(float)), X)
    order = rng.permutation(np.repeat(np.arange(40), counts))
    repeated = PairSampler(PairSet.from_labels(y[order], qid[order]), sp.csr_array(X[order]))
    assert weighted.n_rows == repeated.n_rows
    first = weighted.draw(500, np.random.default_rng(3))
    second = repeated.draw(500, np.random.default_rng(3))
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(X[ours], X[order][theirs])


def test_queries_that_share_rows_have_a_place_of_their_own(rng):
    # The least row of every query is the same; only its level tells the queries apart.
    X = np.array([[0.0], [1.0], [0.0], [2.0], [0.0], [1.0]])
    y, qid = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2, 2])
    first = PairSampler(PairSet.from_labels(y, qid), X).draw(200, np.random.default_rng(3))
    for _ in range(5):
        order = rng.permutation(6)
        pairs = PairSet.from_labels(y[order], qid[order])
        second = PairSampler(pairs, X[order]).draw(200, np.random.default_rng(3))
        for ours, theirs in zip(first, second, strict=True):
            np.testing.assert_array_equal(X[ours], X[order][theirs])


def test_drawing_without_inputs_follows_the_weights():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    pairs = PairSet.from_labels([0, 0, 1, 1], weights=weights)
    won, lost = PairSampler(pairs).draw(100_000, np.random.default_rng(0))
    share = np.bincount(won * 4 + lost, minlength=16).reshape(4, 4)[2:, :2] / 100_000
    expected = np.outer([3.0, 4.0], [1.0, 2.0]) / 21.0
    assert (np.abs(share - expected) <= 5 * np.sqrt(expected / 100_000)).all()
