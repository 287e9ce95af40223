"""Rules compiled for scoring say what their bodies say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.solvers.rules.bodies import Interval, Membership, covers, tabulate_rules

VALUES = (-1.0, 0.0, 0.25, 1.0, 3.0)
ENDS = (-np.inf, -1.0, 0.1, 0.25, 2.0, np.inf)


@st.composite
def bodies(draw):
    body = []
    for feature in draw(st.sets(st.integers(0, 1), max_size=2)):
        lower, upper = draw(st.sampled_from(ENDS[:-1])), draw(st.sampled_from(ENDS[1:]))
        body.append(Interval(feature, min(lower, upper), upper))
    if draw(st.booleans()) or not body:
        members = tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1))))
        body.append(Membership(2, members, draw(st.booleans())))
    return tuple(body)


@given(
    st.lists(bodies(), min_size=1, max_size=6),
    st.lists(
        st.tuples(
            st.sampled_from((*VALUES, np.nan)),
            st.sampled_from((*VALUES, np.nan)),
            st.sampled_from((0.0, 1.0, 2.0, 3.0, 4.0, np.nan)),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_tables_score_rows_as_the_bodies_do(rules, rows):
    X = np.array(rows)
    responses = np.arange(1.0, len(rules) + 1.0)
    expected = sum(r * covers(body, X) for r, body in zip(responses, rules, strict=True))
    np.testing.assert_allclose(tabulate_rules(rules, responses)(X), expected)


@pytest.mark.parametrize("n", [0, 1, 4096, 4097, 70_000])
def test_blocks_of_rows_join_without_seams(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    rules = [(Interval(0, upper=0.3),), (Interval(0, -0.5, 0.5), Interval(1, lower=0.0))]
    expected = covers(rules[0], X) - 2.0 * covers(rules[1], X)
    np.testing.assert_array_equal(tabulate_rules(rules, np.array([1.0, -2.0]))(X), expected)


def test_no_rules_give_no_score():
    np.testing.assert_array_equal(tabulate_rules([], np.zeros(0))(np.ones((3, 2))), np.zeros(3))


def test_many_cuts_need_more_than_a_byte():
    X = np.linspace(0.0, 1.0, 1000)[:, None]
    rules = [(Interval(0, lower=cut),) for cut in np.linspace(0.0, 1.0, 400)]
    scores = tabulate_rules(rules, np.ones(400))(X)
    np.testing.assert_array_equal(scores, sum(covers(body, X) for body in rules))
