"""Perceptrons and sigmoids by exact search along random directions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echelon._native import _weak_linear
from echelon.solvers.boosting.weak_learners import SLOPE, LinearMember, LinearSearch, linear_scores


def greatest_along(column, offset, u, coef, scores):
    """Greatest |Σ u sign((1 − |φ|)s + φδ)| over φ, by trying a φ between all changes of sign."""
    delta = (column + offset) * np.linalg.norm(coef) / np.hypot(1.0, offset)
    with np.errstate(invalid="ignore", divide="ignore"):
        at = -scores * np.sign(delta) / (np.abs(scores) + np.abs(delta))
    at = np.unique(np.concatenate([[-1.0, 1.0], at[np.isfinite(at)]]))
    tried = 0.5 * (at[1:] + at[:-1])
    signs = np.sign((1.0 - np.abs(tried))[:, None] * scores + tried[:, None] * delta)
    return np.abs(signs @ u).max()


def run(columns, u, features, offsets, coef, scores, cells):
    steps = np.asarray(features), np.asarray(offsets)
    scratch = np.empty((2 * len(u), 2)), np.empty((2, cells + 1))
    _weak_linear.descend(columns, u, *steps, coef, scores, *scratch)


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 2**31),
    st.integers(1, 40),
    st.sampled_from([2, 4, 64, 1024]),
    st.booleans(),
)
def test_a_step_takes_the_best_stair_of_all(seed, n, cells, lattice):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(2, n))
    u = rng.normal(size=n)
    if lattice:
        # Ties between positions and between sums.
        columns, u = rng.integers(-2, 3, size=(2, n)).astype(float), np.sign(u)
    coef = rng.normal(size=3)
    scores = coef[:2] @ columns + coef[2]
    offset = float(rng.normal())
    before = float(u @ np.sign(scores))
    best = greatest_along(columns[1], offset, u, coef, scores)
    run(columns, u, [1], [offset], coef, scores, cells)
    np.testing.assert_allclose(scores, coef[:2] @ columns + coef[2], atol=1e-12)
    assert u @ np.sign(scores) == pytest.approx(max(best, before), abs=1e-9)


def test_the_position_is_the_middle_of_the_nearest_stair():
    # From the constant 1 along x the rows change at φ = ½ and −¼. Beyond ½ both are right; below
    # −¼, nearer to 0, both are wrong and the opposite scores right.
    columns = np.array([[-1.0, 3.0]])
    coef, scores = np.array([0.0, 1.0]), np.ones(2)
    run(columns, np.array([-1.0, 1.0]), [0], [0.0], coef, scores, 64)
    np.testing.assert_allclose(coef, [0.625, -0.375])


def test_the_present_stair_is_kept_among_equals():
    columns = np.array([[-1.0, 1.0]])
    coef, scores = np.array([0.3, 0.1]), np.array([-0.2, 0.4])
    run(columns, np.array([-1.0, 1.0]), [0], [0.5], coef, scores, 64)
    np.testing.assert_array_equal(coef, [0.3, 0.1])


def test_many_steps_keep_the_weights_in_range(rng):
    columns = rng.normal(size=(3, 50))
    coef, scores = np.array([0.0, 0.0, 0.0, 1e-100]), np.full(50, 1e-100)
    for _ in range(20):
        steps = rng.integers(3, size=500), rng.normal(size=500)
        run(columns, rng.normal(size=50), *steps, coef, scores, 64)
        assert 1e-3 < np.linalg.norm(coef) < 10.0
    np.testing.assert_allclose(scores, coef[:3] @ columns + coef[3], atol=1e-9)


def search(X, weights=None, steps=50, soft=False):
    return LinearSearch(X, np.ones(len(X)) if weights is None else weights, steps=steps, soft=soft)


def draws():
    return np.random.default_rng(7)


def test_separable_labels_are_separated(rng):
    X = rng.normal(size=(200, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, 1.0]
    u = np.where((X - [0.0, 5.0, 1.0]) @ [1.0, -0.02, 100.0] > 0.3, 1.0, -1.0)
    _, h = search(X, steps=400).fit(u, draws())
    assert (h == u).mean() > 0.98


@pytest.mark.parametrize("soft", [False, True])
def test_more_steps_never_lower_the_sum_of_signs(rng, soft):
    X, u = rng.normal(size=(80, 4)), rng.normal(size=80)
    edges = []
    for steps in (1, 3, 10, 30, 100):
        member, h = search(X, steps=steps, soft=soft).fit(u, draws())
        np.testing.assert_array_equal(h, member.predict(X))
        edges.append(u @ np.sign(h))
    assert edges == sorted(edges)
    assert edges[-1] > edges[0]


def test_units_and_constant_inputs_do_not_matter(rng):
    X, u = rng.normal(size=(60, 3)), rng.normal(size=60)
    _, expected = search(X, soft=True).fit(u, draws())
    other = np.column_stack([np.full(60, 3.0), X * [1e150, 1e-3, -2.0] + [0.0, 5.0, 7.0]])
    # A negative unit mirrors an input, which the search does not know; undo it.
    other[:, 3] = -other[:, 3]
    member, h = search(other, soft=True).fit(u, draws())
    np.testing.assert_allclose(h, expected, atol=1e-6)
    assert member.coef[0] == 0.0


@pytest.mark.parametrize("soft", [False, True])
def test_integer_weights_are_repeated_rows(rng, soft):
    X, u = rng.normal(size=(40, 3)), rng.normal(size=40)
    counts = rng.integers(1, 4, size=40)
    once, _ = search(X, counts.astype(float), soft=soft).fit(u * counts, draws())
    again, _ = search(np.repeat(X, counts, axis=0), soft=soft).fit(np.repeat(u, counts), draws())
    np.testing.assert_allclose(once.coef, again.coef)
    assert once.intercept == pytest.approx(again.intercept)


@pytest.mark.parametrize("soft", [False, True])
def test_opposite_gradients_give_the_opposite_member(rng, soft):
    X, u = rng.normal(size=(40, 3)), rng.normal(size=40)
    _, h = search(X, soft=soft).fit(u, draws())
    _, mirrored = search(X, soft=soft).fit(-u, draws())
    np.testing.assert_allclose(h, -mirrored)


def test_a_sigmoid_has_its_slope_and_never_a_negative_edge(rng):
    for _ in range(50):
        X, u = rng.standard_cauchy(size=(12, 2)), rng.standard_cauchy(size=12)
        member, h = search(X, steps=3, soft=True).fit(u, draws())
        assert u @ h >= 0.0
        assert np.abs(X @ member.coef + member.intercept).mean() == pytest.approx(SLOPE)


def test_without_inputs_that_vary_the_member_is_constant(rng):
    member, h = search(np.ones((5, 2))).fit(rng.normal(size=5), draws())
    assert member.coef.tolist() == [0.0, 0.0]
    assert len(set(h)) == 1


def test_importances_follow_the_standardised_weights(rng):
    X = rng.normal(size=(500, 3)) * [1.0, 1000.0, 1.0]
    finder = search(X)
    shares = finder.importances(LinearMember(np.array([1.0, 0.001, 0.0]), 0.0, soft=False))
    np.testing.assert_allclose(shares, [0.5, 0.5, 0.0], atol=0.05)
    assert shares.sum() == pytest.approx(1.0)
    assert not finder.importances(LinearMember(np.zeros(3), 1.0, soft=False)).any()


@pytest.mark.parametrize("soft", [False, True])
def test_scores_of_many_members_in_blocks(rng, monkeypatch, soft):
    monkeypatch.setattr("echelon.solvers.boosting.weak_learners._BLOCK", 50)
    X, weights = rng.normal(size=(33, 2)), rng.random(7)
    members = [LinearMember(rng.normal(size=2), float(rng.normal()), soft) for _ in range(7)]
    expected = sum(v * m.predict(X) for v, m in zip(weights, members, strict=True))
    np.testing.assert_allclose(linear_scores(members, weights, X), expected)
    assert linear_scores([], np.zeros(0), X).tolist() == [0.0] * 33
