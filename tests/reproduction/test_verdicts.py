"""Verdicts against SciPy's tests and against the formulas written out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from echelon.metrics.significance import Summary, corrected_resampled_t_test
from reproduction.published import Figure, Tolerance
from reproduction.verdicts import LEVEL, against_published, between_models, is_within

errors = st.lists(st.floats(0.0, 3.0, width=32), min_size=2, max_size=30)


def spread_out(values):
    return np.std(values) > 1e-3


@given(errors.filter(spread_out), st.floats(0.1, 3.0), st.floats(0.01, 0.5))
def test_welch_is_scipys(values, mean, sd):
    ours = Summary.of(values)
    verdict = against_published(ours, Figure("", mean, sd), "sd", 20)
    expected = stats.ttest_ind_from_stats(
        ours.mean, np.std(values, ddof=1), len(values), mean, sd, 20, equal_var=False
    )
    assert verdict.p == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)
    sides = {-1: "better", 1: "worse", 0: "equal"}
    assert verdict.word == ("equal" if verdict.p >= LEVEL else sides[np.sign(ours.mean - mean)])


@given(errors.filter(spread_out), st.floats(0.1, 3.0))
def test_without_a_published_spread_it_is_the_one_sample_test(values, mean):
    expected = stats.ttest_1samp(values, mean).pvalue
    for figure, spread in ((Figure("", mean, None), "sd"), (Figure("", mean, None), "none")):
        verdict = against_published(Summary.of(values), figure, spread, 20)
        assert verdict.p == pytest.approx(expected, rel=1e-7, abs=1e-300)


def test_a_published_standard_error_is_not_divided_again():
    ours = Summary.of([0.5, 0.7, 0.6])
    by_sd = against_published(ours, Figure("", 0.9, 0.2), "sd", 16)
    by_se = against_published(ours, Figure("", 0.9, 0.05), "se", 16)
    assert by_sd.p == pytest.approx(by_se.p)


@pytest.mark.parametrize(
    ("ours", "spread", "kind", "expected"),
    [
        (0.10, 0.03, "se", True),  # far better
        (0.96, 0.03, "se", True),  # two standard errors
        (0.97, 0.03, "se", False),
        (0.92, 0.00, "se", True),  # the least amount
        (0.93, 0.00, "se", False),
        (0.92, None, "none", True),
        (0.93, None, "none", False),
        (0.94, 0.08, "sd", True),  # 0.08 / √16 is the standard error
        (0.95, 0.08, "sd", False),
    ],
)
def test_tolerance(ours, spread, kind, expected):
    figure = Figure("", 0.90, spread)
    assert is_within(Summary.of([ours]), figure, kind, 16, Tolerance(2, 0.02)) is expected


def test_words():
    low, high = [0.10, 0.11, 0.12], [0.90, 0.91, 0.92]
    figure = Figure("", 0.5, 0.05)
    assert against_published(Summary.of(low), figure, "sd", 20).word == "better"
    assert against_published(Summary.of(high), figure, "sd", 20).word == "worse"
    assert against_published(Summary.of([0.4, 0.5, 0.6]), figure, "sd", 20).word == "equal"
    one = against_published(Summary.of([0.5]), figure, "sd", 20)
    assert one.word == "too few splits" and math.isnan(one.p)


def test_no_spread_at_all():
    constant = Summary.of([0.5, 0.5])
    assert against_published(constant, Figure("", 0.5, None), "none", 20).word == "equal"
    assert against_published(constant, Figure("", 0.4, None), "none", 20).word == "worse"


def test_between_models_gives_the_difference_and_its_word():
    low, high = [0.50, 0.54, 0.49, 0.52], [0.55, 0.60, 0.53, 0.59]
    difference, verdict = between_models(low, high, training=80, test=20)
    assert difference.mean == pytest.approx(-0.055)
    assert (difference.n, verdict.word) == (4, "better")
    assert verdict.p == corrected_resampled_t_test(low, high, training=80, test=20)[1]
    assert between_models(high, low, training=80, test=20)[1].word == "worse"
    assert between_models(low, low, training=80, test=20)[1].word == "equal"
    assert between_models([0.1], [0.2], training=80, test=20)[1].word == "too few splits"


def test_unbounded_losses_on_small_training_parts_are_not_tested():
    low, high = [0.50, 0.54, 0.49, 0.52], [0.75, 0.80, 0.73, 0.79]
    sizes = {"training": 50, "test": 8142}
    assert between_models(low, high, **sizes)[1].word == "not tested"
    assert between_models(low, high, **sizes, largest_loss=1.0)[1].word == "better"
    assert between_models(low, high, training=50, test=0)[1].word == "better"
