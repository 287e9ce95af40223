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
