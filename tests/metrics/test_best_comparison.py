"""Differences of models on the same folds, beside slow sums and other tests."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from echelon.metrics import corrected_resampled_t_test
from echelon.metrics.best_comparison import (
    TOO_LITTLE,
    PairDifferences,
    fold_differences,
    row_differences,
)


def folds(n, repeats, k, rng, groups=None):
    units = np.arange(n) if groups is None else groups
    found = []
    for _ in range(repeats):
        parts = np.array_split(rng.permutation(np.unique(units)), k)
        found += [np.flatnonzero(np.isin(units, part)) for part in parts]
    return found


def losses_of(models, tests, n, rng, spread=0.3):
    row = rng.normal(size=n)
    own = 0.4 + row + spread * rng.normal(size=(models, n))
    return [
        [own[m, rows] + 0.1 * rng.normal(size=len(rows)) for rows in tests] for m in range(models)
    ]


def by_hand(first, second, tests, n_training, n, weights=None, groups=None):
    """Mean difference over the folds that both have, and its error, row by row."""
    weights = np.ones(n) if weights is None else weights
    units = np.arange(n) if groups is None else groups
    common = [f for f in range(len(tests)) if first[f] is not None and second[f] is not None]
    shares, apart = np.zeros(n), np.zeros(n)
    for f in common:
        total = sum(weights[row] for row in tests[f])
        for place, row in enumerate(tests[f]):
            share = weights[row] / total / len(common)
            shares[row] += share
            apart[row] += share * (first[f][place] - second[f][place])
    mean = apart.sum()
    sums = {}
    for row in np.flatnonzero(shares):
        sums[units[row]] = sums.get(units[row], 0.0) + apart[row] - mean * shares[row]
    by_rows = sum(s**2 for s in sums.values()) * len(sums) / (len(sums) - 1)
    J, tested = len(common), np.count_nonzero(shares)
    N = n_training + np.mean([len(tests[f]) for f in common])
    by_training = by_rows * tested * (1 / (J * n_training) + (1 - 1 / J) / N)
    means = [np.average(first[f] - second[f], weights=weights[tests[f]]) for f in common]
    return mean, math.sqrt(max(by_rows + by_training, np.var(means, ddof=1) / J))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_differences_are_the_sums_written_out(grouped, weighted):
    rng = np.random.default_rng(3)
    n = 60
    groups = rng.integers(0, 12, n) if grouped else None
    weights = rng.uniform(0.5, 3.0, n) if weighted else None
    tests = folds(n, 2, 4, rng, groups)
    losses = losses_of(4, tests, n, rng)
    losses[2] = [*losses[2][:3], *[None] * 5]
    losses[3] = [*losses[3][:5], None, None, losses[3][7]]
    found = row_differences(losses, tests, 45, weights=weights, groups=groups)
    assert found.pairs.tolist() == [list(pair) for pair in combinations(range(4), 2)]
    for (i, j), estimate, error in zip(found.pairs, found.estimates, found.errors, strict=True):
        mean, expected = by_hand(losses[i], losses[j], tests, 45, n, weights, groups)
        assert estimate == pytest.approx(mean, abs=1e-12)
        assert error == pytest.approx(expected)
    if weighted:
        doubled = row_differences(losses, tests, 45, weights=2 * weights, groups=groups)
        np.testing.assert_allclose(doubled.errors, found.errors)


def test_k_folds_double_the_variance_of_rows():
    rng = np.random.default_rng(0)
    tests = folds(500, 1, 5, rng)
    losses = losses_of(2, tests, 500, rng)
    found = row_differences(losses, tests, 400)
    apart = np.concatenate([a - b for a, b in zip(*losses, strict=True)])
    assert found.errors[0] == pytest.approx(math.sqrt(2.0 * apart.var(ddof=1) / 500), rel=0.03)


def test_the_critical_value_of_models_that_vary_apart_is_that_of_the_studentised_range():
    rng = np.random.default_rng(1)
    n = 4000
    own = rng.normal(size=(8, n))
    pairs = np.array(list(combinations(range(8), 2)))
    first, second = pairs.T
    ones = np.ones(len(pairs))
    for freedom in (12, n):
        found = PairDifferences(8, pairs, ones, ones, own[first] - own[second], freedom)
        expected = stats.studentized_range.isf(0.05, 8, freedom) / math.sqrt(2)
        assert found.critical_value() == pytest.approx(expected, rel=0.03)
    alike = PairDifferences(8, pairs, ones, ones, np.ones((len(pairs), 5)), n)
    assert alike.critical_value() == pytest.approx(1.96, rel=0.04)


def test_two_models_by_folds_are_compared_as_by_the_corrected_t_test():
    rng = np.random.default_rng(2)
    first = 0.4 + 0.02 * rng.normal(size=10)
    for apart in (0.01, 0.02, 0.03, 0.04):
        second = first + apart + 0.02 * rng.normal(size=10)
        _, p = corrected_resampled_t_test(first, second, training=80, test=20)
        [_, found] = fold_differences([first, second], 80, 20).to_best(0, margin=0.0)
        assert found.difference == pytest.approx((second - first).mean())
        half = (found.high - found.low) / 2
        assert half == pytest.approx(
            stats.t.isf(0.025, 9) / stats.t.isf(p / 2, 9) * found.difference, rel=0.05
        )
        assert (found.verdict == "worse") == (p < 0.05) or abs(p - 0.05) < 0.01


def square(estimates, error=0.01):
    """Models with these figures, all differences with the same error, and their critical value."""
    pairs = np.array(list(combinations(range(len(estimates)), 2)))
    values = np.asarray(estimates)
    apart = values[pairs[:, 0]] - values[pairs[:, 1]]
    rng = np.random.default_rng(0)
    own = rng.normal(size=(len(values), 300))
    found = PairDifferences(
        len(values), pairs, apart, np.full(len(pairs), error),
        own[pairs[:, 0]] - own[pairs[:, 1]], 1000,
    )  # fmt: skip
    return found, found.critical_value() * error


def test_verdicts_follow_from_intervals_of_all_pairs():
    found, half = square([0.40, 0.41, 0.50])
    best, near, far = found.to_best(0, margin=0.05)
    assert best.difference == pytest.approx(-0.01) and near.difference == pytest.approx(0.01)
    assert (best.low, best.high) == pytest.approx((-0.01 - half, -0.01 + half))
    # The largest lower end: beside the best and beside the second.
    assert (far.low, far.high) == pytest.approx((0.1 - half, 0.1 + half))
    assert [c.verdict for c in (best, near, far)] == ["equivalent", "equivalent", "worse"]
    assert [c.verdict for c in found.to_best(0, margin=0.02)] == [
        "equivalent",
        "undecided",
        "worse",
    ]
    assert [c.verdict for c in found.to_best(0, margin=0.0)] == ["undecided", "undecided", "worse"]
    apart, _ = square([0.40, 0.50, 0.50])
    assert [c.verdict for c in apart.to_best(0, margin=0.05)] == ["better", "worse", "worse"]


def test_models_that_say_the_same_are_equivalent_at_any_margin():
    rng = np.random.default_rng(4)
    tests = folds(80, 1, 4, rng)
    [first, other] = losses_of(2, tests, 80, rng, spread=3.0)
    found = row_differences([first, list(first), other], tests, 60).to_best(0, margin=0.0)
    assert (found[1].difference, found[1].low, found[1].high) == (0.0, 0.0, found[1].high)
    alone = row_differences([first, list(first)], tests, 60).to_best(0, margin=0.0)
    assert [c.verdict for c in alone] == ["equivalent", "equivalent"]
    assert (alone[1].low, alone[1].high) == (0.0, 0.0)


def test_too_little_in_common_is_undecided_and_says_so():
    rng = np.random.default_rng(5)
    tests = folds(100, 1, 5, rng)
    losses = losses_of(3, tests, 100, rng)
    once = [losses[2][0] + 9.0, *[None] * 4]
    board = row_differences([*losses[:2], once], tests, 80)
    found = board.to_best(0, margin=0.01, rivals=np.array([True, True, False]))
    assert found[2].verdict == "worse" and found[2].low > 8.0
    without = row_differences(losses[:2], tests, 80).to_best(0, margin=0.01)
    assert [c.difference for c in found[:2]] == [c.difference for c in without]
    assert found[1].high < 1.0
    apart = [[*losses[0][:3], None, None], [None, None, None, *losses[1][3:]]]
    none = row_differences(apart, tests, 80).to_best(0, margin=0.01)
    assert [c.reason for c in none] == [TOO_LITTLE, TOO_LITTLE]
    assert none[0].verdict == "undecided" and math.isnan(none[0].low)
    few = [np.arange(k, 12, 4) for k in range(4)]
    assert not len(row_differences(losses_of(2, few, 12, rng), few, 9).pairs)
    groups = np.repeat(np.arange(4), 25)
    by_group = [np.flatnonzero(groups == g) for g in range(4)]
    assert not len(
        row_differences(losses_of(2, by_group, 100, rng), by_group, 75, groups=groups).pairs
    )
    assert not len(fold_differences([[0.1] * 4 + [np.nan] * 6, [0.2] * 10], 80, 20).pairs)


def test_dependent_rows_widen_the_interval():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(40), 10)
    tests = folds(400, 1, 5, rng, groups)
    shared = rng.normal(size=40)[groups]
    losses = [[rng.normal(size=len(t)) + m * shared[t] for t in tests] for m in (0, 1)]
    plain, grouped = (row_differences(losses, tests, 320, groups=g) for g in (None, groups))
    assert grouped.errors[0] > 1.5 * plain.errors[0]
    assert (plain.freedom, grouped.freedom) == (399, 39)


def test_a_model_that_fails_in_one_fold_is_not_sure_to_be_worse():
    rng = np.random.default_rng(8)
    tests = folds(2000, 2, 5, rng)
    losses = losses_of(2, tests, 2000, rng)
    losses[1][3] = losses[1][3] + 5.0
    found = row_differences(losses, tests, 1600)
    apart = [np.mean(b - a) for a, b in zip(*losses, strict=True)]
    assert found.errors[0] == pytest.approx(np.std(apart, ddof=1) / math.sqrt(10))
    assert found.to_best(0, margin=0.01)[1].verdict == "undecided"


def test_leaderboards_of_equal_models_are_rarely_wrong():
    """A small twin of `benchmarks.null_contests`."""
    rng = np.random.default_rng(7)
    wrong = held = 0
    for _ in range(60):
        tests = folds(120, 2, 5, rng)
        losses = losses_of(8, tests, 120, rng)
        means = [np.mean([part.mean() for part in of_model]) for of_model in losses]
        found = row_differences(losses, tests, 96).to_best(int(np.argmin(means)), 0.01)
        wrong += any(c.verdict == "worse" for c in found)
        held += all(c.low <= 0.0 <= c.high for c in found)
    # At 5 % more than 7 of 60 have a probability of 2 %.
    assert wrong <= 7 and held >= 53
