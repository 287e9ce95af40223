"""Verdicts against SciPy's tests and against the formulas written out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from echelon.reproduction.published import Figure
from echelon.reproduction.verdicts import LEVEL, Summary, against_published, between_models

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


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=3, max_size=20))
def test_corrected_paired_t_is_the_paired_t_for_a_vanishing_test_part(pairs):
    first, second = np.array(pairs).T
    if np.std(first - second) < 1e-3:
        return
    plain = between_models(first, second, training=1, test=0)
    assert plain.p == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=1e-7)
    corrected = between_models(first, second, training=50, test=24)
    d = first - second
    t = d.mean() / math.sqrt((1 / len(d) + 24 / 50) * d.var(ddof=1))
    assert corrected.p == pytest.approx(2 * stats.t.sf(abs(t), len(d) - 1), rel=1e-7)
    assert corrected.p >= plain.p - 1e-12
    assert between_models(second, first, training=50, test=24).p == pytest.approx(corrected.p)
