"""AdaBoost.OR against the two algorithms of the paper, written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.data import ordinal_data
from support.stumps import cost_of_ranks

from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.ordinal.reduction import VoteTally, decode, reverse_reduce, side_matrix, signed_weights
from echelon.solvers.boosting.adaboost_or import boost, share_of_wrong_sides
from echelon.solvers.boosting.bins import bin_inputs
from echelon.solvers.boosting.stumps import StumpSearch


def start(codes, cost, K):
    return signed_weights(codes, threshold_weights(cost_matrix(cost, K)[codes]))


def updated_costs(costs, codes, ranks, growth):
    """Step 4 of algorithm 2 as printed, for one round."""
    changed = costs.copy()
    for n, (y, r) in enumerate(zip(codes, ranks, strict=True)):
        for k in range(costs.shape[1]):
            if r >= y and k > y:
                changed[n, k] += growth * (costs[n, r] if k > r else costs[n, k])
            if r < y and k < y:
                changed[n, k] += growth * (costs[n, r] if k < r else costs[n, k])
    return changed


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
def test_rounds_equal_both_algorithms_of_the_paper(cost):
    X, codes = ordinal_data(n=60, K=4)
    search = StumpSearch(bin_inputs(X), 4)
    costs = cost_matrix(cost, 4)[codes]
    binary = threshold_weights(costs)
    sides = side_matrix(codes, 4)
    for found in boost(search.find, start(codes, cost, 4), n_rounds=12):
        ranks = found.ranker.ranks(X)
        paid = costs[np.arange(len(codes)), ranks].sum() / (costs[:, 0] + costs[:, -1]).sum()
        wrong = sides != side_matrix(ranks, 4)
        assert found.error == pytest.approx(paid, abs=1e-12)
        assert found.error == pytest.approx(binary[wrong].sum() / binary.sum(), abs=1e-12)
        v = 0.5 * np.log((1 - paid) / paid)
        assert found.weight == pytest.approx(v)
        growth = np.exp(2 * v) - 1
        costs = updated_costs(costs, codes, ranks, growth)
        binary = np.where(wrong, (1 + growth) * binary, binary)
        # Lemma 2: the costs stay the reverse reduction of the binary weights.
        np.testing.assert_allclose(reverse_reduce(sides, binary)[1], costs, rtol=1e-9)


def test_two_classes_are_discrete_adaboost():
    X, codes = ordinal_data(n=80, K=2)
    z = 2 * codes - 1
    D = np.full(len(z), 1 / len(z))
    search = StumpSearch(bin_inputs(X), 2)
    F = np.zeros(len(z))
    for found in boost(search.find, start(codes, "absolute", 2), n_rounds=20):
        h = 2 * found.ranker.ranks(X) - 1
        # The stump of least weighted error over all features, cuts and signs.
        rising = [D[np.where(x > c, 1, -1) != z].sum() for x in X.T for c in [-np.inf, *x]]
        errors = [*rising, *(1 - error for error in rising)]
        assert D[h != z].sum() == pytest.approx(min(errors), abs=1e-12)
        alpha = 0.5 * np.log((1 - D[h != z].sum()) / D[h != z].sum())
        assert found.weight == pytest.approx(alpha)
        F += alpha * h
        D = D * np.exp(-alpha * z * h)
        D /= D.sum()
        np.testing.assert_allclose(D, np.exp(-z * F) / np.exp(-z * F).sum(), rtol=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([0.3, 1.0, 1.7]))
def test_training_cost_never_exceeds_the_bound(seed, K, learning_rate):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(25, 2)), 1)
    codes = rng.integers(0, K, size=25)
    V = start(codes, "squared", K)
    total = np.abs(V).sum()
    first = V.copy()
    tally = VoteTally(25, K)
    search = StumpSearch(bin_inputs(X), K)
    for found in boost(search.find, V, n_rounds=30, learning_rate=learning_rate):
        tally.add(found.ranker.ranks(X), found.weight)
        paid = cost_of_ranks(first, decode(tally.margins()))
        assert paid <= found.bound * total * (1 + 1e-9)
        if learning_rate == 1.0 and found.error > 0:
            assert np.abs(V).sum() == pytest.approx(total)


def test_a_perfect_ranker_ends_it_and_decides():
    codes = np.array([0, 1, 2, 0])
    answers = iter([np.array([0, 1, 1, 0]), np.array([0, 2, 2, 0]), codes])
    rounds = list(boost(lambda V: (None, next(answers)), start(codes, "absolute", 3), n_rounds=9))
    assert [r.error == 0 for r in rounds] == [False, False, True]
    assert rounds[-1].weight > sum(r.weight for r in rounds[:-1])
    assert rounds[-1].bound == 0.0


def test_a_bad_ranker_ends_it_and_is_dropped():
    codes = np.array([0, 1, 2, 0])
    answers = iter([np.array([0, 1, 1, 0]), np.array([2, 0, 0, 2])])
    rounds = list(boost(lambda V: (None, next(answers)), start(codes, "absolute", 3), n_rounds=9))
    assert len(rounds) == 1


def test_ten_thousand_rounds_stay_finite():
    X, codes = ordinal_data(n=40, d=2, K=3, noise=0.0)
    V = start(codes, "absolute", 3)
    first = V.copy()
    search = StumpSearch(bin_inputs(X, 4), 3)
    tally = VoteTally(40, 3)
    for found in boost(search.find, V, n_rounds=10_000):
        tally.add(found.ranker.ranks(X), found.weight)
    assert np.isfinite(V).all() and np.isfinite(tally.mass).all()
    assert ((V != 0) == (first != 0)).all()
    paid = cost_of_ranks(first, decode(tally.margins()))
    assert paid <= found.bound * np.abs(first).sum() + 1e-9


def test_threads_and_chunks_change_nothing(rng, monkeypatch):
    monkeypatch.setattr("echelon.solvers.boosting.adaboost_or._CHUNK", 16)
    X, codes = ordinal_data(n=100, K=5)
    search = StumpSearch(bin_inputs(X), 5)
    V = [start(codes, "absolute", 5) for _ in range(2)]
    one = [r.error for r in boost(search.find, V[0], n_rounds=15)]
    two = [r.error for r in boost(search.find, V[1], n_rounds=15, n_threads=2)]
    assert one == two
    np.testing.assert_array_equal(*V)


def test_no_weight_has_no_error():
    assert share_of_wrong_sides(np.zeros((3, 2)), np.zeros(3, dtype=int)) == 0.0
