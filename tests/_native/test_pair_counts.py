"""The native pair counter against the double loop that it replaces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon._native import _pair_counts


def slow_twin(a, b, weights):
    """Counts by kind over all pairs i < j, in the kernel's order of kinds."""
    counts = np.zeros(5)
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            same_a, same_b = a[i] == a[j], b[i] == b[j]
            if same_a or same_b:
                kind = 4 if same_a and same_b else 2 if same_a else 3
            else:
                kind = 0 if (a[i] < a[j]) == (b[i] < b[j]) else 1
            counts[kind] += weights[i] * weights[j]
    return counts


def run_kernel(a, b, weights):
    n_levels = np.array([b.max(initial=0) + 1], dtype=np.int32)
    return run_queries(np.array([0, len(a)]), n_levels, a, b, weights)[0]


def run_queries(bounds, n_levels, a, b, weights):
    leaves = 1
    while leaves < n_levels.max():
        leaves *= 2
    counts = np.full((len(n_levels), 5), np.nan)
    columns = a.astype(np.float64), b.astype(np.int32)
    for array in columns:
        array.flags.writeable = a.flags.writeable
    _pair_counts.count_sorted_pairs(
        bounds, n_levels, *columns, weights, np.full(2 * leaves, np.nan), counts
    )
    return counts


@st.composite
def sorted_rows(draw):
    rows = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=40))
    ranks = np.array(sorted(rows), dtype=np.intp).reshape(-1, 2)
    weights = draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    return ranks[:, 0].copy(), ranks[:, 1].copy(), np.array(weights, dtype=np.float64)


@given(sorted_rows())
def test_kernel_equals_the_double_loop(rows):
    np.testing.assert_array_equal(run_kernel(*rows), slow_twin(*rows))


@given(st.lists(sorted_rows(), min_size=1, max_size=4))
def test_queries_are_counted_apart(queries):
    bounds = np.cumsum([0, *(len(a) for a, _, _ in queries)])
    n_levels = np.array([b.max(initial=0) + 1 for _, b, _ in queries], dtype=np.int32)
    columns = [np.concatenate(column) for column in zip(*queries, strict=True)]
    expected = [slow_twin(*query) for query in queries]
    np.testing.assert_array_equal(run_queries(bounds, n_levels, *columns), expected)


@pytest.mark.parametrize("n_distinct", [1, 2, 3, 4, 5, 8, 9, 1000])
def test_tree_sizes_around_powers_of_two(n_distinct):
    generator = np.random.default_rng(n_distinct)
    rows = np.array(
        sorted(
            zip(generator.integers(0, 4, 60), generator.integers(0, n_distinct, 60), strict=True)
        )
    )
    a, b = rows[:, 0].copy(), rows[:, 1].copy()
    weights = generator.random(60)
    np.testing.assert_allclose(run_kernel(a, b, weights), slow_twin(a, b, weights), rtol=1e-12)


def test_inputs_may_be_read_only_and_stay_as_they_are():
    a, b, weights = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, 2.0, 4.0])
    for array in (a, b, weights):
        array.flags.writeable = False
    np.testing.assert_array_equal(run_kernel(a, b, weights), [0.0, 8.0, 2.0, 4.0, 0.0])
