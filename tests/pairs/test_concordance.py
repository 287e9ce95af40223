"""Pair counts: exact, symmetric, and equal to their definition."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from echelon.pairs.misranking import PairCounts, count_pairs


def by_definition(a, b, weights):
    a, b = np.asarray(a), np.asarray(b)
    i, j = np.triu_indices(len(a), k=1)
    pair_weight = weights[i] * weights[j]
    product = np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
    same_a, same_b = a[i] == a[j], b[i] == b[j]
    kinds = (product > 0, product < 0, same_a & ~same_b, same_b & ~same_a, same_a & same_b)
    return [pair_weight[kind].sum() for kind in kinds]


columns = st.integers(0, 60).flatmap(
    lambda n: st.tuples(
        *(
            st.lists(values, min_size=n, max_size=n)
            for values in (
                st.sampled_from([-1.5, 0.0, 0.25, 7.0, np.inf]),
                st.integers(-4, 4),
                st.integers(0, 3),
            )
        )
    )
)


@given(columns)
def test_counts_equal_their_definition(rows):
    a = np.clip(np.array(rows[0], dtype=np.float64), -9, 9)
    b, weights = np.array(rows[1], dtype=np.float64), np.array(rows[2], dtype=np.float64)
    counts = count_pairs(rows[0], rows[1], weights)
    assert list(dataclasses.astuple(counts)) == by_definition(a, b, weights)
    assert counts.total == sum(dataclasses.astuple(counts))


@given(columns)
def test_weight_two_counts_as_two_rows_except_in_both_ties(rows):
    a, b, weights = np.array(rows[0]), np.array(rows[1]), np.array(rows[2], dtype=np.intp)
    repeated = count_pairs(np.repeat(a, weights), np.repeat(b, weights))
    weighted = count_pairs(a, b, weights.astype(np.float64))
    self_pairs = (weights * (weights - 1) / 2).sum()
    assert repeated == dataclasses.replace(
        weighted, tied_in_both=weighted.tied_in_both + self_pairs
    )


def test_swapping_the_columns_swaps_the_ties():
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 5, (2, 200))
    one, other = count_pairs(a, b), count_pairs(b, a)
    assert (one.tied_in_a, one.tied_in_b) == (other.tied_in_b, other.tied_in_a)
    assert (one.concordant, one.discordant) == (other.concordant, other.discordant)
    assert (one.differing_in_a, one.differing_in_b) == (other.differing_in_b, other.differing_in_a)


def test_reversing_a_column_swaps_agreement():
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=(2, 300)).round(1)
    one, other = count_pairs(a, b), count_pairs(a, -b)
    assert (one.concordant, one.discordant) == (other.discordant, other.concordant)
    assert one.tied_in_b == other.tied_in_b


def test_a_million_rows_are_counted_exactly():
    n = 1_000_000
    generator = np.random.default_rng(2)
    a = generator.permutation(n)
    assert count_pairs(a, a) == PairCounts(n * (n - 1) / 2, 0, 0, 0, 0)
    # b is a cut into three blocks of known sizes, so the ties are known in closed form.
    sizes = np.array([300_000, 1, 699_999])
    b = np.repeat([0, 1, 2], sizes)[a]
    tied = int((sizes * (sizes - 1) // 2).sum())
    assert count_pairs(a, b) == PairCounts(n * (n - 1) // 2 - tied, 0, 0, tied, 0)


def test_perfect_agreement_leaves_no_rounding_behind():
    generator = np.random.default_rng(3)
    a, weights = (
        generator.normal(size=500),
        generator.random(500) * 10.0 ** generator.integers(-9, 9, 500),
    )
    counts = count_pairs(a, np.exp(a), weights)
    assert counts.discordant == counts.tied_in_a == counts.tied_in_b == counts.tied_in_both == 0


def test_agrees_with_scipy_on_continuous_columns():
    generator = np.random.default_rng(4)
    a = generator.normal(size=2000)
    b = a + generator.normal(size=2000)
    counts = count_pairs(a, b)
    tau = (counts.concordant - counts.discordant) / counts.total
    assert tau == pytest.approx(kendalltau(a, b).statistic, abs=1e-14)


@pytest.mark.parametrize("n", [0, 1])
def test_no_pair(n):
    assert count_pairs(np.zeros(n), np.zeros(n)) == PairCounts(0, 0, 0, 0, 0)


def test_text_sorts_like_any_value():
    assert count_pairs(["a", "b", "c"], [1, 2, 2]).concordant == 2


def test_strided_and_read_only_columns():
    table = np.asfortranarray(np.random.default_rng(5).integers(0, 9, (100, 3)).astype(np.float64))
    table.flags.writeable = False
    expected = count_pairs(*(column.copy() for column in table.T))
    assert count_pairs(*table.T) == expected
    assert count_pairs(*np.ascontiguousarray(table).T) == expected


def test_the_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        count_pairs([1, 2], [1, 2]).concordant = 3.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1]), "found lengths 2, 1"),
        (([1, 2], [1, 2], np.ones(3)), "found lengths 2, 2, 3"),
        (([[1, 2]], [1]), "one-dimensional"),
    ],
)
def test_columns_must_match(arguments, message):
    with pytest.raises(ValueError, match=message):
        count_pairs(*arguments)
