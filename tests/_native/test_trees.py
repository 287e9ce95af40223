"""The native grower in small steps, and the search for leaves against a walk in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon._native import _trees


def grown(rng, n=400, d=3, K=4, n_bins=300, work=10**9, dtype=np.int32, **limits):
    codes = rng.integers(0, n_bins + 1, (d, n)).astype(dtype)
    V = np.where(rng.random((n, K - 1)) < 0.5, -1.0, 1.0) * rng.random((n, 1))
    options = {
        "by_cost": False,
        "max_depth": n,
        "min_split": 2,
        "min_leaf": 1,
        "min_share": 0.0,
        "max_features": d,
        "seed": 1,
    }
    grower = _trees.Grower(
        np.hstack([V, np.abs(V[:, :1])]),
        K - 1,
        np.arange(n, dtype=np.int32),
        np.arange(d, dtype=np.int32),
        np.full(d, n_bins, dtype=np.int32),
        **(options | limits),
    )
    steps = 1
    while grower.advance(codes, work):
        steps += 1
    return grower, codes, steps


def trimmed(grower):
    splits = grower.n_splits
    arrays = [grower.feature, grower.cut, grower.children, grower.missing_left, grower.gain]
    return [array[:splits] for array in arrays] + [grower.leaf_stats[: grower.n_leaves]]


@pytest.mark.parametrize("limits", [{}, {"max_features": 1}, {"by_cost": True}, {"min_leaf": 7}])
def test_growing_in_steps_grows_the_same_tree(limits):
    whole, _, steps = grown(np.random.default_rng(0), **limits)
    assert steps == 1
    parts, _, steps = grown(np.random.default_rng(0), work=1, **limits)
    assert steps == parts.n_splits + parts.n_leaves
    for one, other in zip(trimmed(whole), trimmed(parts), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole.leaf_of_row, parts.leaf_of_row)


@pytest.mark.parametrize("limits", [{}, {"min_leaf": 7}, {"min_split": 30}, {"max_depth": 3}])
def test_limits_are_kept(limits):
    grower, _, _ = grown(np.random.default_rng(1), **limits)
    sizes = np.bincount(grower.leaf_of_row)
    assert len(sizes) == grower.n_leaves == grower.n_splits + 1
    assert sizes.min() >= limits.get("min_leaf", 1)
    assert grower.depth <= limits.get("max_depth", 400)
    assert sizes.max() > 1 or not limits


@pytest.mark.parametrize(("dtype", "n_bins"), [(np.uint8, 7), (np.uint8, 254), (np.int32, 70_000)])
def test_leaves_by_code_and_by_value_against_a_walk(dtype, n_bins, rng):
    grower, codes, _ = grown(rng, n_bins=n_bins, dtype=dtype, max_depth=6)
    feature, cut, children, missing_left, _, _ = trimmed(grower)
    values = np.where(codes < n_bins, codes, np.nan)
    X = np.ascontiguousarray(values.T)
    walked = np.empty(len(X), dtype=np.int32)
    for i, row in enumerate(X):
        node = 0
        while node >= 0:
            x = row[feature[node]]
            low = missing_left[node] if np.isnan(x) else x <= cut[node]
            node = children[node, 0 if low else 1]
        walked[i] = ~node
    np.testing.assert_array_equal(walked, grower.leaf_of_row)
    leaves = np.full(len(X), -9, dtype=np.int32)
    _trees.find_leaves(X, feature, cut.astype(float), children, missing_left, leaves)
    np.testing.assert_array_equal(leaves, walked)
    leaves[:] = -9
    counts = np.full(len(codes), n_bins, dtype=np.int32)
    _trees.find_leaves_by_code(codes, counts, feature, cut, children, missing_left, leaves)
    np.testing.assert_array_equal(leaves, walked)


@given(st.integers(1, 120), st.integers(0, 2**32 - 1))
def test_few_rows_of_many_bins_are_put_in_order(n, seed):
    """One feature that parts the sides perfectly is found wherever its codes lie."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(2**20, size=n, replace=False).astype(np.int32)[None]
    middle = np.median(codes)
    V = np.where(codes[0] > middle, 1.0, -1.0)[:, None]
    grower = _trees.Grower(
        np.hstack([V, np.abs(V)]),
        1,
        np.arange(n, dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        np.full(1, 2**20, dtype=np.int32),
        by_cost=False,
        max_depth=n,
        min_split=2,
        min_leaf=1,
        min_share=0.0,
        max_features=1,
        seed=0,
    )
    assert not grower.advance(codes, 10**9)
    assert grower.n_splits == (n > 1)
    if n > 1:
        low, high = codes[0][codes[0] <= middle].max(), codes[0][codes[0] > middle].min()
        assert low <= grower.cut[0] < high
