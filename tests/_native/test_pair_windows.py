"""Sweeps along sorted scores against double loops over the pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon._native import _pair_windows


@st.composite
def sorted_queries(draw):
    """Bounds, numbers of levels, levels, scores and weights of up to three queries."""
    bounds, n_levels, levels, scores = [0], [], [], []
    for _ in range(draw(st.integers(1, 3))):
        k = draw(st.sampled_from([2, 3, 8, 9, 17]))
        n = draw(st.integers(1, 30))
        levels += draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
        scores += sorted(draw(st.lists(st.integers(-8, 8), min_size=n, max_size=n)))
        n_levels.append(k)
        bounds.append(bounds[-1] + n)
    weights = draw(st.lists(st.integers(0, 4), min_size=len(levels), max_size=len(levels)))
    return (
        np.array(bounds, dtype=np.intp),
        np.array(n_levels, dtype=np.int32),
        np.array(levels, dtype=np.int32),
        np.array(scores) / 4.0,
        np.array(weights, dtype=np.float64),
    )


def pairs_of(bounds, levels):
    """All (winner, loser, query)."""
    for q in range(len(bounds) - 1):
        for i in range(bounds[q], bounds[q + 1]):
            for j in range(bounds[q], bounds[q + 1]):
                if levels[i] > levels[j]:
                    yield i, j, q


def moments(case, margin, side):
    bounds, n_levels, levels, scores, weights = case
    found = np.full((len(levels), 3), np.nan)
    entered = np.full(len(levels), -1, dtype=np.int32)
    tree = np.full((n_levels.max() + 1, 4), np.nan)
    _pair_windows.window_moments(
        bounds, n_levels, levels, scores, weights, margin, side, tree, found, entered
    )
    return found, entered


@given(sorted_queries(), st.sampled_from([-0.5, 0.0, 0.25, 1.0, 100.0]))
def test_moments_are_sums_over_the_window(case, margin):
    bounds, _, levels, scores, weights = case
    won, lost = np.zeros((len(levels), 3)), np.zeros((len(levels), 3))
    for i, j, _ in pairs_of(bounds, levels):
        u = margin - (scores[i] - scores[j])
        if u > 0:
            won[i] += weights[j] * np.array([1, u, u * u])
            lost[j] += weights[i] * np.array([1, u, u * u])
    # Quarters and their squares are exact.
    np.testing.assert_array_equal(moments(case, margin, 1.0)[0], won)
    np.testing.assert_array_equal(moments(case, margin, -1.0)[0], lost)


@given(sorted_queries(), st.sampled_from([-0.5, 0.0, 0.25, 1.0, 100.0]))
def test_sums_over_the_window_in_both_roles(case, margin):
    bounds, n_levels, levels, scores, charges = case
    entered = np.stack([moments(case, margin, side)[1] for side in (1.0, -1.0)])
    for q in range(len(n_levels)):
        part = slice(bounds[q], bounds[q + 1])
        m = np.subtract.outer(scores[part], scores[part])
        np.testing.assert_array_equal(entered[:, part], [(m < margin).sum(1), (m < margin).sum(0)])
    expected = np.zeros(len(levels))
    for i, j, _ in pairs_of(bounds, levels):
        if scores[i] - scores[j] < margin:
            expected[i] += charges[j]
            expected[j] += charges[i]
    sums = np.full(len(levels), np.nan)
    tree = np.full(n_levels.max() + 1, np.nan)
    _pair_windows.window_sums(bounds, n_levels, levels, charges, entered, tree, sums)
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("n", [255, 256, 257, 512, 700])
@pytest.mark.parametrize("n_levels", [3, 9])
@pytest.mark.parametrize("margin", [0.001, 0.3, 50.0])
def test_windows_longer_than_a_chunk(n, n_levels, margin):
    generator = np.random.default_rng(n)
    case = (
        np.array([0, n]),
        np.array([n_levels], dtype=np.int32),
        generator.integers(0, n_levels, n).astype(np.int32),
        np.sort(generator.normal(size=n)),
        generator.integers(-5, 5, n).astype(np.float64),
    )
    bounds, levels_of, levels, scores, charges = case
    entered = np.stack([moments(case, margin, side)[1] for side in (1.0, -1.0)])
    sums = np.empty(n)
    _pair_windows.window_sums(
        bounds, levels_of, levels, charges, entered, np.empty(n_levels + 1), sums
    )
    window = np.less.outer(levels, levels).T & (np.subtract.outer(scores, scores) < margin)
    np.testing.assert_array_equal(sums, window @ charges + window.T @ charges)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_group_by_query_is_a_stable_sort(queries, random):
    codes = np.array(queries, dtype=np.intp)
    order = list(range(len(codes)))
    random.shuffle(order)
    starts = np.r_[0, np.cumsum(np.bincount(codes, minlength=5))[:-1]]
    grouped = np.empty(len(codes), dtype=np.intp)
    _pair_windows.group_by_query(np.array(order), codes, starts, grouped)
    assert grouped.tolist() == sorted(order, key=lambda row: queries[row])


def test_mixed_levels_is_the_recurrence():
    kept, joined = np.array([0.0, 0.5, 0.25, 0.0, 0.75]), np.array([1.0, 0.5, 0.75, 1.0, 0.25])
    values, means = np.array([4.0, 8.0, 1.0, 3.0, 9.0]), np.full(5, np.nan)
    _pair_windows.mixed_levels(np.array([0, 3, 5]), kept, joined, values, means)
    np.testing.assert_array_equal(means, [0.0, 4.0, 6.0, 0.0, 3.0])
