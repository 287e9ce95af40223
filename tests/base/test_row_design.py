"""Which rows are held out together: whole groups, and later rows after earlier ones."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from echelon.base.row_design import RowDesign, deal_groups


def rows(n_groups, size, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_groups), size))
    return rng.integers(0, 4, len(groups)), groups, rng.integers(0, 30, len(groups)).astype(float)


designs = st.fixed_dictionaries(
    {
        "groups": st.none() | arrays(np.intp, 40, elements=st.integers(0, 6)),
        "time": st.none() | arrays(np.float64, 40, elements=st.integers(0, 9)),
        "weights": st.none() | arrays(np.float64, 40, elements=st.integers(0, 3)),
    }
)


@given(designs, arrays(np.intp, 40, elements=st.integers(0, 3)), st.integers(2, 6))
def test_no_group_is_on_both_sides_and_nothing_is_learnt_from_the_future(known, labels, n_folds):
    try:
        design = RowDesign.of(40, **known)
        splits = design.folds(labels, n_folds, np.random.RandomState(0))
    except ValueError:
        # Refusals have tests of their own below.
        assume(False)
    tested = np.concatenate([outside for _, outside in splits])
    assert len(set(tested.tolist())) == len(tested)
    for inside, outside in splits:
        assert len(outside) and not set(inside) & set(outside)
        if design.groups is not None:
            assert not set(design.groups[inside]) & set(design.groups[outside])
        if design.times is not None:
            assert design.times[inside].max() < design.times[outside].min()
        if not design.is_plain:
            assert len(np.unique(labels[inside])) > 1
    parts = n_folds if design.groups is None else min(n_folds, len(np.unique(design.groups)))
    if design.times is None and len(splits) == parts:
        assert len(tested) == 40


def test_every_label_is_spread_over_whole_groups():
    labels, groups, _ = rows(60, 8)
    fold = deal_groups(labels, groups, 5, np.random.RandomState(0))
    counts = np.array([np.bincount(labels[fold == k], minlength=4) for k in range(5)])
    assert (np.abs(counts - counts.mean(axis=0)) <= 4).all()
    assert all(len(np.unique(fold[groups == g])) == 1 for g in range(60))


def test_a_large_group_does_not_draw_others_to_its_fold():
    groups = np.concatenate([np.zeros(50, dtype=int), np.repeat(np.arange(1, 21), 5)])
    fold = deal_groups(np.arange(150) % 3, groups, 4, np.random.RandomState(1))
    assert np.bincount(fold).tolist()[fold[0]] == 50


def test_rows_of_one_time_are_on_one_side_and_a_gap_keeps_rows_away():
    labels, _, times = rows(20, 10)
    design = RowDesign.of(200, time=times, gap=4.0)
    for inside, outside in design.folds(labels, 5):
        assert times[outside].min() - times[inside].max() >= 4.0
        assert not set(times[outside]) & set(times[np.setdiff1d(np.arange(200), outside)])


def test_what_is_the_same_in_all_rows_is_not_known_of_a_part():
    _, groups, times = rows(4, 5)
    design = RowDesign.of(20, np.arange(20.0), groups, times)
    part = design.take(np.flatnonzero(groups == 2))
    assert part.groups is None and part.weights is not None
    assert design.take(np.array([3])).is_plain


def test_dates_are_days():
    dates = np.array(["2024-01-01", "2024-01-02", "2024-02-01"], dtype="datetime64[ns]")
    assert np.diff(RowDesign.of(3, time=dates).times).tolist() == [1.0, 30.0]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"groups": ["a", "a", "a"]}, "groups must be two or more; found only 'a'"),
        ({"time": [5, 5, 5]}, "time must have two values or more; found only 5"),
        ({"time": ["x", "y", "z"]}, "time must hold numbers"),
        ({"time": [1.0, np.nan, 2.0]}, "time must hold finite numbers"),
        ({"weights": [1.0, -1.0, 0.0]}, "sample_weight must not be negative"),
        ({"groups": ["a", "b"]}, "groups must have one entry per row, 3; found 2"),
        ({"gap": 3.0}, "gap is a stretch of time, so that time must be given with it"),
        ({"gap": -1.0, "time": [1, 2, 3]}, "gap must be a number that is not negative"),
    ],
)
def test_what_cannot_be_known_of_rows(known, message):
    with pytest.raises(ValueError, match=message):
        RowDesign.of(3, **known)


def test_one_label_in_the_past_is_nothing_to_learn_from():
    design = RowDesign.of(6, time=[1, 1, 1, 2, 2, 2])
    with pytest.raises(ValueError, match="leave nothing to learn from"):
        design.folds(np.array([0, 0, 0, 1, 1, 0]), 2)
    far = RowDesign.of(6, time=np.arange(6), gap=9)
    with pytest.raises(ValueError, match="Times and a gap leave nothing"):
        far.folds(np.array([0, 1, 0, 1, 1, 0]), 2)


@pytest.mark.parametrize("known", [{}, {"groups": 1}, {"time": 1}, {"groups": 1, "time": 1}])
def test_a_part_held_out_once(known):
    labels, groups, times = rows(40, 6)
    design = RowDesign.of(
        240, groups=groups if "groups" in known else None, time=times if "time" in known else None
    )
    inside, outside = design.held_out(labels, 0.25, np.random.RandomState(0))
    assert not set(inside) & set(outside)
    assert 40 <= len(outside) <= 80
    if "groups" in known:
        assert not set(groups[inside]) & set(groups[outside])
    if "time" in known:
        assert times[inside].max() < times[outside].min()
