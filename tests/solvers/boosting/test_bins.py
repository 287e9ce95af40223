import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.solvers.boosting.bins import bin_inputs, check_max_bins, code_inputs


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_exact_codes_are_the_ranks_of_the_values(n, span, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, span, size=(n, 2)) / 7.0
    X[rng.random((n, 2)) < 0.2] = np.nan
    bins = bin_inputs(X)
    for j, column in enumerate(X.T):
        values = np.unique(column[~np.isnan(column)])
        expected = np.searchsorted(values, column)
        n_bins = max(len(values), 1)
        assert bins.n_bins[j] == n_bins
        np.testing.assert_array_equal(bins.codes[j], np.where(np.isnan(column), n_bins, expected))
    assert bins.codes.shape == (2, n)


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 100, 254, 255, 5_000])
def test_codes_are_the_numbers_of_cuts_below(n_cuts):
    rng = np.random.default_rng(n_cuts)
    cuts = np.unique(rng.standard_normal(n_cuts))
    column = np.concatenate([rng.standard_normal(300), cuts, [np.inf, -np.inf, np.nan]])
    # A column of a table, not one by itself in memory.
    X = np.column_stack([column, column[::-1]])
    codes = code_inputs(X, [cuts, cuts[:0]])
    assert codes.dtype == (np.uint8 if n_cuts < 255 else np.int32)
    expected = (column[:, None] > cuts).sum(axis=1)
    np.testing.assert_array_equal(codes[0], np.where(np.isnan(column), len(cuts) + 1, expected))
    np.testing.assert_array_equal(codes[1], np.isnan(column[::-1]))


def test_neighbouring_floats_fall_apart():
    values = np.array([1.0, np.nextafter(1.0, 2.0), np.finfo(float).max, -np.finfo(float).max])
    bins = bin_inputs(values[:, None])
    assert bins.codes[0].tolist() == [1, 2, 3, 0]


def test_codes_of_new_rows_count_the_edges_below_them(rng):
    X = rng.normal(size=(50, 3))
    bins = bin_inputs(X, 8)
    fresh = rng.normal(size=(20, 3))
    expected = [(fresh[:, j : j + 1] > bins.edges[j]).sum(axis=1) for j in range(3)]
    np.testing.assert_array_equal(code_inputs(fresh, bins.edges), expected)


def test_bins_are_about_equal_weight(rng):
    X = rng.exponential(size=(10_000, 1))
    bins = bin_inputs(X, 16)
    shares = np.bincount(bins.codes[0]) / len(X)
    assert bins.codes.dtype == np.uint8
    np.testing.assert_allclose(shares, 1 / 16, atol=2e-3)


def test_few_values_have_their_own_bins_and_many_share_four_bytes(rng):
    few = rng.integers(0, 5, size=(300, 1)).astype(float)
    assert bin_inputs(few, 32).n_bins.tolist() == [5]
    assert bin_inputs(rng.normal(size=(300, 1))).codes.dtype == np.int32


@pytest.mark.parametrize("max_bins", [None, 4])
def test_integer_weights_make_the_bins_of_repeated_rows(rng, max_bins):
    X = np.round(rng.normal(size=(60, 2)), 1)
    weights = rng.integers(0, 4, size=60)
    weighted = bin_inputs(X, max_bins, weights.astype(float))
    repeated = bin_inputs(np.repeat(X, weights, axis=0), max_bins)
    for ours, theirs in zip(weighted.edges, repeated.edges, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("bad", [1, 256, 2.5, True])
def test_impossible_numbers_of_bins_are_refused(bad):
    with pytest.raises(ValueError, match="max_bins must be None or an integer from 2 to 255"):
        check_max_bins(bad)
