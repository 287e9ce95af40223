import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from echelon.metrics import Summary, corrected_resampled_t_test


def test_summary():
    found = Summary.of([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3)
    assert found.sd == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))
    assert found.se == pytest.approx(stats.sem([1.0, 2.0, 4.0]))
    assert math.isnan(Summary.of([1.0]).se)


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=3, max_size=20))
def test_corrected_paired_t_is_the_paired_t_for_a_vanishing_test_part(pairs):
    first, second = np.array(pairs).T
    d = first - second
    assume(np.std(d) > 1e-3)
    difference, plain = corrected_resampled_t_test(first, second, training=1, test=0)
    assert difference.mean == pytest.approx(d.mean())
    assert plain == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=1e-7)
    _, corrected = corrected_resampled_t_test(first, second, training=50, test=24)
    t = d.mean() / math.sqrt((1 / len(d) + 24 / 50) * d.var(ddof=1))
    assert corrected == pytest.approx(2 * stats.t.sf(abs(t), len(d) - 1), rel=1e-7)
    assert corrected >= plain - 1e-12
    _, mirrored = corrected_resampled_t_test(second, first, training=50, test=24)
    assert mirrored == pytest.approx(corrected)


def test_constant_differences():
    assert corrected_resampled_t_test([1, 2], [1, 2], training=9, test=1)[1] == 1.0
    assert corrected_resampled_t_test([1, 2], [2, 3], training=9, test=1)[1] == 0.0


def _p(first, second, training, test, **options):
    return corrected_resampled_t_test(first, second, training=training, test=test, **options)[1]


def test_a_small_training_part_is_corrected_by_the_overlap_that_there_is():
    rng = np.random.default_rng(0)
    first = 0.72 + 0.07 * rng.normal(size=20)
    second = first - 0.13 + 0.05 * rng.normal(size=20)
    published = _p(first, second, 50, 8142)
    assert published > 0.5
    assert stats.wilcoxon(first, second).pvalue < 1e-4
    assert _p(first, second, 50, 8142, largest_loss=1) < 1e-3
    # A small test part is the case of the published correction, which is then the smaller one.
    assert _p(first, second, 900, 100, largest_loss=1) == _p(first, second, 900, 100)


def test_the_bound_on_the_losses_must_hold():
    with pytest.raises(ValueError, match=r"largest_loss=1 must not be less than the figures"):
        _p([1.5, 1.6], [1.2, 1.1], 50, 100, largest_loss=1)
    with pytest.raises(ValueError, match="0 or more"):
        _p([-0.5, -0.6], [0.2, 0.1], 50, 100, largest_loss=1)


def _share_of_false_alarms(N, training, splits=10, pools=200):
    """Two models that are equal in the population, each with three of six inputs alike."""
    rng = np.random.default_rng(N + training)
    alarms = 0
    for _ in range(pools):
        X = rng.normal(size=(N, 6))
        y = np.sign(X.sum(axis=1) + rng.normal(size=N))
        errors = np.empty((splits, 2))
        for row in errors:
            order = rng.permutation(N)
            drawn, rest = order[:training], order[training:]
            for model, columns in enumerate((slice(0, 3), slice(3, 6))):
                coef = np.linalg.lstsq(X[drawn, columns], y[drawn], rcond=None)[0]
                row[model] = np.mean(np.sign(X[rest, columns] @ coef) != y[rest])
        alarms += _p(*errors.T, training, N - training, largest_loss=1) < 0.05
    return alarms / pools


@pytest.mark.parametrize(("N", "training"), [(400, 20), (400, 80), (400, 200)])
def test_models_that_are_equal_are_called_different_no_more_than_the_level_says(N, training):
    # 0.05 and three standard errors of a share of 200.
    assert _share_of_false_alarms(N, training) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
