import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.datasets import discretize


@st.composite
def targets_and_bins(draw):
    values = draw(st.lists(st.integers(-30, 30), min_size=2, max_size=60).filter(_two_values))
    bins = draw(st.integers(2, len(set(values))))
    return np.array(values, dtype=float), bins


def _two_values(values):
    return len(set(values)) > 1


@given(targets_and_bins())
def test_together_is_a_function_of_the_target_with_no_empty_class(case):
    target, bins = case
    labels = discretize(target, bins)
    assert set(labels.tolist()) == set(range(1, bins + 1))
    order = np.argsort(target, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()
    for value in set(target.tolist()):
        assert len(set(labels[target == value].tolist())) == 1


@given(targets_and_bins())
def test_split_has_even_counts_with_the_extra_rows_first(case):
    target, bins = case
    labels = discretize(target, bins, ties="split")
    expected = [len(part) for part in np.array_split(np.arange(len(target)), bins)]
    assert np.bincount(labels)[1:].tolist() == expected
    order = np.argsort(target, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()


@given(st.permutations(range(23)), st.integers(2, 23))
def test_without_ties_together_and_split_agree(values, bins):
    assert (discretize(values, bins) == discretize(values, bins, ties="split")).all()


@given(targets_and_bins())
def test_together_equals_split_if_split_parts_no_ties(case):
    target, bins = case
    split = discretize(target, bins, ties="split")
    if all(len(set(split[target == value].tolist())) == 1 for value in set(target.tolist())):
        assert (discretize(target, bins) == split).all()


@given(targets_and_bins())
def test_width_agrees_with_exact_fractions_and_is_closed_on_the_right(case):
    from fractions import Fraction

    target, bins = case
    labels = discretize(2.0**-3 * target, 4 if bins > 4 else 2, binning="width")
    bins = 4 if bins > 4 else 2
    # Dyadic values and 2 or 4 bins: the edges are exact, so the oracle has no rounding either.
    values = [Fraction(value) / 8 for value in target.tolist()]
    low, step = min(values), (max(values) - min(values)) / bins
    expected = [1 + sum(value > low + k * step for k in range(1, bins)) for value in values]
    assert labels.tolist() == expected


def test_a_heavy_value_thins_all_classes_above_it():
    labels = discretize([0.0] * 60 + list(range(1, 41)), 5)
    assert np.bincount(labels)[1:].tolist() == [60, 10, 10, 10, 10]


def test_split_is_stable_in_the_rows():
    assert discretize([1, 1, 1, 1, 2], 2, ties="split").tolist() == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1.0, 2.0], 1), "bins must be an integer of at least 2; found 1"),
        (([1.0, 2.0], 2.0), "bins must be an integer"),
        (([1.0, 2.0], True), "bins must be an integer"),
        (([1.0, 2.0, 2.0], 3), "at most the number of distinct target values, 2; found 3"),
        (([1.0, np.nan, 2.0], 2), "found 1 missing or infinite values, the first in row 1"),
        (([[1.0], [2.0]], 2), "one column of numbers"),
    ],
)
def test_bad_input_is_told_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        discretize(*arguments)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"binning": "kmeans"}, "binning must be 'quantile' or 'width'; found 'kmeans'"),
        ({"ties": "random"}, "ties must be 'together' or 'split'; found 'random'"),
        ({"binning": "width", "ties": "split"}, "never parts equal values"),
    ],
)
def test_bad_options_are_told_in_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        discretize([1.0, 2.0, 3.0], 2, **options)
