import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from echelon.ordinal.intervals import (
    conformal_p_values,
    conformal_p_values_by_class,
    covering_interval,
    fewest_rows,
    margin_nonconformity,
    probability_nonconformity,
)


def chances(rng, n, K, shape="any"):
    P = rng.dirichlet(np.ones(K), size=n)
    if shape == "one peak":
        for row in P:
            falling = np.sort(row)[::-1]
            peak, low, high = rng.integers(K), None, None
            low = high = peak
            row[peak] = falling[0]
            for value in falling[1:]:
                down = high == K - 1 or (low > 0 and rng.random() < 0.5)
                low, high = (low - 1, high) if down else (low, high + 1)
                row[low if down else high] = value
    return P


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_intervals_grow_by_the_best_of_all_contiguous_ones(K, seed):
    rng = np.random.default_rng(seed)
    P = chances(rng, 5, K, "one peak")
    predicted = P.argmax(axis=1)
    S = probability_nonconformity(P, predicted)
    for p, scores in zip(P, S, strict=True):
        every = [(a, b) for a, b in itertools.product(range(K), repeat=2) if a <= b]
        for size in range(1, K + 1):
            inside = np.sort(np.argsort(scores)[:size])
            assert (np.diff(inside) == 1).all()
            best = max(p[a : b + 1].sum() for a, b in every if b - a + 1 == size)
            assert p[inside].sum() == pytest.approx(best)
            # The score of the last to join is what the others have together.
            last = inside[np.argmax(scores[inside])]
            assert scores[last] == pytest.approx(p[inside].sum() - p[last])


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_growth_takes_the_more_probable_neighbour_whatever_the_probabilities(K, seed):
    rng = np.random.default_rng(seed)
    P, predicted = chances(rng, 4, K), rng.integers(0, K, 4)
    S = probability_nonconformity(P, predicted)
    for p, own, scores in zip(P, predicted, S, strict=True):
        low = high = own
        mass = p[own]
        assert scores[own] == 0.0
        while (low, high) != (0, K - 1):
            left = p[low - 1] if low > 0 else -1.0
            right = p[high + 1] if high < K - 1 else -1.0
            joined = low - 1 if left > right else high + 1
            assert scores[joined] == pytest.approx(mass)
            mass += p[joined]
            low, high = min(low, joined), max(high, joined)


def test_equally_probable_neighbours_join_together():
    P = np.array([[0.2, 0.2, 0.2, 0.2, 0.2], [0.25, 0.0, 0.5, 0.0, 0.25]])
    S = probability_nonconformity(P, np.array([2, 2]))
    np.testing.assert_allclose(S[0], [0.6, 0.2, 0.0, 0.2, 0.6])
    np.testing.assert_allclose(S[1], [0.5, 0.5, 0.0, 0.5, 0.5])


@given(st.integers(2, 6), st.integers(0, 10_000))
def test_margin_nonconformity_is_the_least_shift_that_decodes_to_a_label(K, seed):
    rng = np.random.default_rng(seed)
    f, b = rng.normal(size=3), np.sort(rng.normal(size=K - 1))
    G = f[:, None] - b
    predicted = (G > 0).sum(axis=1)
    S = margin_nonconformity(G, predicted)
    edges = np.concatenate([[-np.inf], b, [np.inf]])
    for i, y in itertools.product(range(3), range(K)):
        distance = max(edges[y] - f[i], f[i] - edges[y + 1], 0.0)
        assert S[i, y] == pytest.approx(distance)


def test_margins_out_of_order_or_infinite_still_make_intervals():
    G = np.array([[-1.0, 2.0, -3.0], [np.inf, 1.0, -np.inf], [5.0, -1.0, 4.0]])
    predicted = (G > 0).sum(axis=1)
    S = margin_nonconformity(G, predicted)
    np.testing.assert_array_equal(S[np.arange(3), predicted], 0.0)
    for row, seed in zip(S, predicted, strict=True):
        assert (row[seed:] == np.maximum.accumulate(row[seed:])).all()
        assert (row[: seed + 1][::-1] == np.maximum.accumulate(row[: seed + 1][::-1])).all()
    assert np.isinf(S[1, [0, 3]]).all()
    # A score of infinity is compared like any other.
    np.testing.assert_allclose(conformal_p_values(S[1:2], np.array([0.0, np.inf]))[0, 3], 2 / 3)


@given(st.integers(1, 40), st.integers(0, 10_000), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.3]))
def test_p_values_give_the_set_of_the_sorted_scores(n, seed, confidence):
    rng = np.random.default_rng(seed)
    scores, fresh = np.sort(rng.integers(0, 9, n) / 8.0), rng.integers(0, 9, (6, 4)) / 8.0
    level = round(1.0 - confidence, 12)
    inside = conformal_p_values(fresh, scores) > level + 1e-12
    place = int(np.ceil(round((n + 1) * confidence, 9)))
    cut = scores[place - 1] if place <= n else np.inf
    np.testing.assert_array_equal(inside, fresh <= cut)
    assert (place > n) == (n < fewest_rows(level))


def test_by_class_each_label_meets_its_own_rows():
    rng = np.random.default_rng(0)
    scores, codes = np.sort(rng.random(50)), rng.choice([0, 1, 3], 50)
    fresh = rng.random((10, 4))
    p = conformal_p_values_by_class(fresh, scores, codes, np.ones(len(codes)))
    for y in (0, 1, 3):
        own = scores[codes == y]
        expected = (1 + (own >= fresh[:, [y]]).sum(axis=1)) / (len(own) + 1)
        np.testing.assert_allclose(p[:, y], expected)
    np.testing.assert_array_equal(p[:, 2], 1.0)


def simulate(calibration_rows, level, draws, K=5, ties=False, by_class=None, seed=0):
    """Coverage of one new row in each of many draws of calibration rows and the row."""
    rng = np.random.default_rng(seed)
    n = calibration_rows + 1
    covered = np.empty(draws, dtype=bool)
    for t in range(draws):
        # A poor model of the truth: labels are drawn from other probabilities than it gives.
        P = rng.dirichlet(np.full(K, 0.7), size=n)
        if ties:
            P = np.round(2.0 * P + 0.1) + 0.2
            P /= P.sum(axis=1, keepdims=True)
        truth = 0.6 * P + 0.4 / K
        codes = (np.cumsum(truth, axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, K - 1)
        if by_class is not None:
            codes[-1] = by_class
            P[-1] = rng.dirichlet(np.full(K, 0.7) + 2.0 * np.eye(K)[by_class])
            P[codes == by_class] = rng.dirichlet(
                np.full(K, 0.7) + 2.0 * np.eye(K)[by_class], size=(codes == by_class).sum()
            )
        predicted = P.argmax(axis=1)
        S = probability_nonconformity(P, predicted)
        own = S[np.arange(n - 1), codes[:-1]]
        order = np.argsort(own)
        if by_class is None:
            p = conformal_p_values(S[-1:], own[order])
        else:
            p = conformal_p_values_by_class(S[-1:], own[order], codes[order], np.ones(n - 1))
        low, high = covering_interval(p, predicted[-1:], level)
        covered[t] = low[0] <= codes[-1] <= high[0]
    return covered


@pytest.mark.parametrize(("n", "level"), [(19, 0.1), (40, 0.2)])
def test_coverage_of_a_new_row_is_between_its_bounds(n, level):
    draws = 4000
    hits = simulate(n, level, draws).sum()
    least, most = 1.0 - level, 1.0 - level + 1.0 / (n + 1)
    assert binom.ppf(1e-4, draws, least) <= hits <= binom.ppf(1.0 - 1e-4, draws, most)


def test_ties_never_cost_coverage():
    draws = 2000
    hits = simulate(20, 0.2, draws, ties=True).sum()
    assert hits >= binom.ppf(1e-4, draws, 0.8)


@pytest.mark.parametrize("y", [0, 3])
def test_coverage_holds_for_every_class_by_itself(y):
    draws = 1500
    hits = simulate(60, 0.25, draws, by_class=y, seed=y).sum()
    assert hits >= binom.ppf(1e-4, draws, 0.75)


@given(st.integers(2, 6), st.integers(0, 10_000))
def test_margins_in_any_order_are_moved_as_far_as_the_label_needs(K, seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=K - 1)
    own = int(np.count_nonzero(G > 0))
    move = [max([0.0, *(-G[:y]), *G[y:]]) for y in range(K)]
    found = margin_nonconformity(G[None], np.array([own]))[0]
    for y in range(K):
        between = range(y, own) if y < own else range(own + 1, y + 1)
        assert found[y] == pytest.approx(max([move[r] for r in between], default=0.0))


def test_numbers_that_differ_by_rounding_are_equal():
    assert conformal_p_values(np.array([[0.1 + 0.2]]), np.array([0.3]))[0, 0] == 1.0
    at_the_level = np.array([[np.nextafter(0.1, 1.0), 0.9]])
    assert covering_interval(at_the_level, np.array([1]), 0.1)[0] == [1]
    assert [fewest_rows(1.0 / (n + 1)) for n in range(1, 300)] == list(range(1, 300))
