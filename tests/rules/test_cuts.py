import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.named_rules import rules_of

from echelon.ordinal.thresholds import midpoints
from echelon.rules.words import cut_gaps, neighbours, shown_cut
from echelon.solvers.rules.bodies import Interval, covers

floats = st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False)
columns_of_numbers = st.one_of(
    st.lists(st.integers(-30, 30).map(float), min_size=2, max_size=20),
    st.lists(st.integers(-500, 500).map(lambda i: i / 100), min_size=2, max_size=20),
    st.lists(floats, min_size=2, max_size=20),
)


@given(columns_of_numbers, st.data())
def test_shown_cuts_part_the_training_rows_as_the_cuts_do(values, data):
    column = np.array(values)
    distinct = np.unique(column)
    cuts = midpoints(distinct).tolist() + distinct.tolist()
    cuts += data.draw(st.lists(floats, max_size=3))
    X = np.append(column, np.nan)[:, None]
    bodies = [(Interval(0, upper=cut),) for cut in cuts]
    gaps = cut_gaps(X, bodies)
    assert set(gaps) == {0}
    assert set(gaps[0]) == set(cuts)
    for cut, gap in gaps[0].items():
        most, least = shown_cut(cut, *gap)
        np.testing.assert_array_equal(column <= float(most), column <= cut)
        np.testing.assert_array_equal(column >= float(least), column > cut)


@given(columns_of_numbers)
def test_no_shorter_decimal_would_do(values):
    distinct = np.unique(values)
    assume(np.abs(distinct).max() < 1e6 and len(distinct) > 1)
    for low, high, cut in zip(
        distinct[:-1].tolist(), distinct[1:].tolist(), midpoints(distinct).tolist(), strict=True
    ):
        for text, upwards in zip(shown_cut(cut, low, high), (False, True), strict=True):
            if "e" in text or "." not in text:
                continue
            decimals = len(text.partition(".")[2]) - 1
            tried = [math.floor(cut * 10**decimals) + step for step in (-1, 0, 1, 2)]
            shorter = [float(f"{number}e-{decimals}") for number in tried]
            fits = [low < s <= high if upwards else low <= s < high for s in shorter]
            assert not any(fits)


@given(columns_of_numbers, columns_of_numbers)
def test_neighbours_of_cuts(values, cuts):
    column, cuts = np.array([*values, np.nan]), np.unique(cuts)
    below, above = neighbours(column, cuts)
    for cut, low, high in zip(cuts, below, above, strict=True):
        assert low == max((v for v in values if v <= cut), default=-np.inf)
        assert high == min((v for v in values if v > cut), default=np.inf)


@pytest.mark.parametrize(
    ("cut", "below", "above", "most", "least"),
    [
        (34.5, 34, 35, "34", "35"),
        (37.5, 30, 45, "37", "38"),
        (3.3, 3.2, 3.4, "3.3", "3.4"),
        (0.3896, 0.38, 0.41, "0.4", "0.4"),
        (0.3896, 0.386, 0.394, "0.39", "0.39"),
        (-34.5, -35, -34, "-35", "-34"),
        (1.25e20, 1.2e20, 1.3e20, "1.2e+20", "1.3e+20"),
        (2.5e-9, 1e-9, 4e-9, "2e-09", "3e-09"),
        (1384567.6, 1234567.4, 1534567.8, "1384567", "1384568"),
        (5.0, -np.inf, np.inf, "5", "6"),
        (0.0, 0.0, 5e-324, "0", "5e-324"),
    ],
)
def test_cuts_as_people_write_them(cut, below, above, most, least):
    assert shown_cut(cut, below, above) == (most, least)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=20), st.data())
def test_intervals_read_right_on_integers_that_were_not_seen(values, data):
    X = np.array(values, dtype=float)[:, None]
    cuts = midpoints(np.unique(X)).tolist()
    assume(len(cuts) > 1)
    lower, upper = sorted(data.draw(st.permutations(cuts))[:2])
    body = (Interval(0, lower, upper),)
    rules, _ = rules_of([body], [1.0], X, np.zeros(len(X), dtype=int))
    words = rules[0].text()
    low, _, high = words.removeprefix("x0 is ").removeprefix("between ").partition(" and ")
    new = np.arange(61.0)
    shown = (new >= float(low)) & (new <= float(high or low))
    np.testing.assert_array_equal(shown, covers(body, new[:, None]))
