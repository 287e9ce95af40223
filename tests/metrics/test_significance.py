"""Ranks over data sets against SciPy, brute force and the statistics that [DK09] prints."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from echelon.metrics import (
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
    nemenyi_test,
)
from echelon.metrics.significance import indistinguishable
from reproduction import read_table

tables = hnp.arrays(
    np.int64,
    st.tuples(st.integers(2, 9), st.integers(3, 6)),
    elements=st.integers(0, 5),
)


def published(name):
    table = read_table(name)
    return np.array(
        [[table.figure(s, "absolute", c).mean for c in table.columns] for s in table.sets]
    )


def friedman_of_ranks(ranks, n):
    """The textbook form, of average ranks and without a correction for ties."""
    k = len(ranks)
    return 12 * n / (k * (k + 1)) * (sum(r**2 for r in ranks) - k * (k + 1) ** 2 / 4)


def test_dk09_table_3():
    found = friedman_test(published("dk09-table3"))
    np.testing.assert_array_equal(found.average_ranks, [2.375, 5.5, 5.5, 2.25, 2.75, 2.625])
    assert (found.n_sets, found.n_models) == (8, 6)
    assert round(found.statistic, 3) == 27.786 > stats.chi2.isf(0.05, 5)
    assert found.statistic == pytest.approx(friedman_of_ranks(found.average_ranks, 8))
    pairs = nemenyi_test(published("dk09-table3"))
    assert round(pairs.critical_difference, 3) == 2.666
    rankboost = {"model 2", "model 3"}
    assert [set(group) for group in pairs.groups] == [
        {"model 1", "model 4", "model 5", "model 6"},
        rankboost,
    ]


def test_dk09_table_4():
    found = friedman_test(published("dk09-table4"))
    np.testing.assert_array_equal(np.round(found.average_ranks, 3), [3.789, 1.895, 2.211, 2.105])
    # The paper's 25.844 is of the average ranks as it prints them, cut after three decimals;
    # unrounded ranks, of which no two tie, give a little more.
    assert friedman_of_ranks([3.789, 1.895, 2.211, 2.105], 19) == pytest.approx(25.84485, abs=5e-6)
    assert round(found.statistic, 3) == 25.863
    pairs = nemenyi_test(published("dk09-table4"))
    assert round(pairs.critical_difference, 3) == 1.076
    assert pairs.groups == (("model 2", "model 4", "model 3"),)


@given(tables)
def test_friedman_is_scipys_with_ties(scores):
    assume((np.ptp(scores, axis=1) > 0).any())
    found = friedman_test(scores)
    expected = stats.friedmanchisquare(*scores.T)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
    n, k = scores.shape
    if found.statistic < n * (k - 1) - 1e-6:
        f = (n - 1) * expected.statistic / (n * (k - 1) - expected.statistic)
        assert found.f_statistic == pytest.approx(f, rel=1e-7, abs=1e-9)
        assert found.f_p == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)), abs=1e-9)


@given(tables)
def test_ranks_are_counted(scores):
    k = scores.shape[1]
    expected = [
        np.mean([1 + sum(row < row[j]) + 0.5 * (sum(row == row[j]) - 1) for row in scores])
        for j in range(k)
    ]
    np.testing.assert_allclose(average_ranks(scores), expected)
    np.testing.assert_allclose(
        average_ranks(scores, lower_is_better=False), k + 1 - np.array(expected)
    )
    np.testing.assert_allclose(average_ranks(-scores, lower_is_better=False), expected)
    assert friedman_test(-scores, lower_is_better=False).statistic == pytest.approx(
        friedman_test(scores).statistic
    )


def test_models_that_never_differ_and_models_in_one_order():
    same = friedman_test(np.ones((4, 3)))
    assert (same.statistic, same.p, same.f_statistic, same.f_p) == (0.0, 1.0, 0.0, 1.0)
    strict = friedman_test(np.arange(12).reshape(4, 3))
    assert strict.statistic == pytest.approx(4 * 2)
    assert math.isinf(strict.f_statistic) and strict.f_p == 0.0


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)]
)
def test_critical_values_are_demsars(k, q):
    assert nemenyi_critical_difference(k, 1) / math.sqrt(k * (k + 1) / 6) == pytest.approx(
        q, abs=1e-3
    )


@given(tables, st.sampled_from([0.01, 0.05, 0.1, 0.3]))
def test_groups_are_the_maximal_cliques_of_pairs_that_do_not_differ(scores, alpha):
    found = nemenyi_test(scores, alpha=alpha)
    k = found.n_models
    ranks, limit = found.average_ranks, found.critical_difference
    assume(all(abs(abs(a - b) - limit) > 1e-9 for a, b in combinations(ranks, 2)))
    place = {name: j for j, name in enumerate(found.names)}
    cliques = [
        set(chosen)
        for size in range(2, k + 1)
        for chosen in combinations(range(k), size)
        if all(found.p[i, j] > alpha for i, j in combinations(chosen, 2))
    ]
    largest = [c for c in cliques if not any(c < other for other in cliques)]
    groups = [[place[name] for name in group] for group in found.groups]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, largest))
    # the best first, between groups and within them
    assert all((np.diff(ranks[group]) >= 0).all() for group in groups)
    assert [min(ranks[g]) for g in groups] == sorted(min(ranks[g]) for g in groups)


def test_two_models_have_the_p_of_the_normal_test():
    scores = np.array([[1.0, 2.0]] * 7 + [[2.0, 1.0]] * 2)
    found = nemenyi_test(scores)
    apart = abs(np.subtract(*found.average_ranks))
    z = apart / math.sqrt(2 * 3 / (6 * 9))
    assert found.p[0, 1] == pytest.approx(2 * stats.norm.sf(z), rel=1e-6)
    np.testing.assert_array_equal(np.diag(found.p), 1.0)
    np.testing.assert_array_equal(found.p, found.p.T)


def test_a_difference_equal_to_the_critical_one_is_significant():
    assert indistinguishable(np.array([1.0, 2.0, 3.5]), 1.0) == []
    assert indistinguishable(np.array([1.0, 2.0, 3.5]), 1.25) == [(0, 1)]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_names_are_read_from_frames(library):
    module = pytest.importorskip(library)
    columns = {"B": [0.3, 0.2, 0.5], "A": [0.1, 0.3, 0.4]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    found = friedman_test(frame)
    assert found.names == ("B", "A")
    np.testing.assert_allclose(found.average_ranks, [5 / 3, 4 / 3])
    labelled = {"set": ["x", "y", "z"], **columns}
    frame = module.table(labelled) if library == "pyarrow" else module.DataFrame(labelled)
    with pytest.raises(ValueError, match=r"columns of numbers only; found 'set'"):
        nemenyi_test(frame)
    columns["A"][1] = None
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    with pytest.raises(ValueError, match=r"1 missing figures \(NaN\), the first in row 1 of 'A'"):
        average_ranks(frame)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            [[0.1, np.nan], [0.2, 0.3]],
            r"1 missing figures \(NaN\), the first in row 0 of 'model 2'",
        ),
        ([0.1, 0.2], r"a column per model, 2 at least; found an array of shape \(2,\)"),
        ([[0.1], [0.2]], r"2 at least; found an array of shape \(2, 1\)"),
        ([[0.1, 0.2]], r"a row per data set, 2 at least"),
        ([["a", "b"], ["c", "d"]], "scores must be numbers"),
    ],
)
def test_bad_scores_are_one_sentence(scores, message):
    for test in (friedman_test, nemenyi_test):
        with pytest.raises(ValueError, match=message):
            test(scores)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 5), "n_models must be an integer of at least 2; found 1"),
        ((3, 0), "n_sets must be an integer of at least 1; found 0"),
        ((3, 2.5), "n_sets must be an integer of at least 1; found 2.5"),
        ((3, 5, 1.0), "alpha must lie between 0 and 1; found 1.0"),
    ],
)
def test_bad_sizes_are_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        nemenyi_critical_difference(*arguments)


def test_names_given_go_before_the_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["A", "B"])
    assert friedman_test(frame, names=["x", "y"]).names == ("x", "y")
    assert nemenyi_test(frame, names=["x", "y"]).groups == (("x", "y"),)
    for names in (["x", "x"], ["x"]):
        with pytest.raises(ValueError, match="names must be 2 different names, one per model"):
            friedman_test(frame, names=names)
