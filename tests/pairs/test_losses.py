"""Pair losses by sweeps and sums against the same losses summed pair by pair."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.pairs import PairSet
from echelon.pairs.exponential import ExponentialPairLoss
from echelon.pairs.losses import (
    HINGE_LOSSES,
    PAIR_LOSSES,
    SMOOTH_LOSSES,
    ListedLoss,
    PairLossKind,
    pair_loss,
)
from echelon.pairs.misranking import misranked, misranked_by_query
from echelon.ranking import LinearRankSVM, OnlineRankSVM, RankBoost, RankSVM


def margin_loss(name, m, t):
    """Value, first and second derivative at margins, by their definitions."""
    inside = np.where(m < t, 1.0, 0.0)
    if name == "hinge":
        return inside * (t - m), -inside, 0.0 * m
    if name == "squared_hinge":
        return inside * (t - m) ** 2, -2.0 * inside * (t - m), 2.0 * inside
    e = np.exp(-np.abs(m))
    if name == "logistic":
        first = -np.where(m > 0, e, 1.0) / (1.0 + e)
        return np.log1p(e) + np.maximum(-m, 0.0), first, e / (1.0 + e) ** 2
    return np.exp(-m), -np.exp(-m), np.exp(-m)


def brute_force(name, pairs, scores, v, t=1.0):
    """Value, slope, gradient, curvature along v, diagonal; and sums of absolute values of each."""
    n = pairs.n_items
    value = slope = 0.0
    gradient, product, diagonal = np.zeros(n), np.zeros(n), np.zeros(n)
    gradient_size, product_size = np.zeros(n), np.zeros(n)
    for i, j, c in pairs.blocks():
        loss, first, second = margin_loss(name, scores[i] - scores[j], t)
        value += c @ loss
        slope -= c @ first
        for rows, sign in ((i, 1.0), (j, -1.0)):
            np.add.at(gradient, rows, sign * c * first)
            np.add.at(gradient_size, rows, c * np.abs(first))
            np.add.at(product, rows, sign * c * second * (v[i] - v[j]))
            np.add.at(product_size, rows, c * second * (np.abs(v[i]) + np.abs(v[j])))
            np.add.at(diagonal, rows, c * second)
    sizes = (value, slope, gradient_size, product_size, diagonal)
    return (value, slope, gradient, product, diagonal), sizes


def assert_close(actual, expected, sizes, tolerance):
    for found, wanted, size in zip(actual, expected, sizes, strict=True):
        np.testing.assert_array_less(np.abs(found - wanted), tolerance * size + 1e-290)


def check(name, pairs, scores, v, t=1.0, tolerance=1e-13):
    point = pair_loss(name, pairs, t).at(scores)
    actual = (
        point.value,
        point.slope,
        point.gradient,
        point.curvature(v),
        point.curvature_diagonal(),
    )
    assert_close(actual, *brute_force(name, pairs, scores, v, t), tolerance)


# Halves give ties and margins exactly at the kinks of the hinge losses.
HALVES = st.integers(-6, 6).map(lambda k: k / 2)


@st.composite
def sets_with_scores(draw, scores=HALVES, max_size=45):
    n = draw(st.integers(2, max_size))
    n_levels = draw(st.sampled_from([2, 3, 9, 40]))
    labels = draw(st.lists(st.integers(0, n_levels - 1), min_size=n, max_size=n))
    qid = draw(st.lists(st.sampled_from(["a", "b", (1, 2)]), min_size=n, max_size=n))
    if draw(st.booleans()):
        qid = ["a"] * n
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    scales = draw(
        st.lists(st.sampled_from([0.25, 1.0]), min_size=len({*qid}), max_size=len({*qid}))
    )
    pairs = PairSet.from_labels(np.array(labels) * 0.1, qid, weights, scales)
    if draw(st.booleans()):
        rows = st.integers(0, n - 1)
        stated = draw(st.lists(st.tuples(rows, rows).filter(lambda p: p[0] != p[1]), max_size=6))
        pairs = pairs + PairSet.from_pairs(stated, n, np.arange(len(stated)) * 0.5)
    f = np.array(draw(st.lists(scores, min_size=n, max_size=n)))
    v = np.array(draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))) / 4.0
    return pairs, f, v


@pytest.mark.parametrize("name", PAIR_LOSSES)
@given(case=sets_with_scores())
def test_every_sum_is_that_over_the_pairs(name, case):
    check(name, *case)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
@given(case=sets_with_scores(), margin=st.sampled_from([-1.5, -0.3, 0.0, 0.5, 2.0]))
def test_hinges_with_any_margin(name, case, margin):
    check(name, *case, t=margin)


@pytest.mark.parametrize("name", PAIR_LOSSES)
@given(case=sets_with_scores(scores=st.floats(-60, 60)))
def test_scores_that_spread(name, case):
    check(name, *case, tolerance=5e-13)


@pytest.mark.parametrize("name", PAIR_LOSSES)
@pytest.mark.parametrize("n_levels", [2, 5, 8, 9, 100])
@pytest.mark.parametrize("spread", [0.1, 2.0, 50.0])
def test_many_rows(name, n_levels, spread, rng):
    n = 160
    pairs = PairSet.from_labels(
        rng.integers(0, n_levels, n) / 7, rng.integers(0, 2, n), rng.random(n), [1.0, 0.3]
    )
    check(name, pairs, spread * rng.normal(size=n), rng.normal(size=n), tolerance=3e-13)


@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_far_scores_keep_their_digits(name, rng):
    """Scores around 10⁶ that differ in multiples of 2⁻¹⁰, which no rounding changes."""
    labels, qid = rng.integers(0, 4, 60), rng.integers(0, 3, 60)
    f = rng.integers(-4000, 4000, 60) / 1024
    pairs, v = PairSet.from_labels(labels, qid), rng.normal(size=60)
    near, far = (pair_loss(name, pairs).at(f + origin) for origin in (0.0, 2.0**20))
    for a, b in (
        (near.value, far.value),
        (near.gradient, far.gradient),
        (near.curvature(v), far.curvature(v)),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("labels", [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
def test_logistic_of_scores_of_size_1000(labels):
    """All pairs far right or far wrong: neither tail may be cut off."""
    f = np.array([-1000.0, -990.25, -500.0, -400.0, 900.0, 1000.0])
    pairs, v = PairSet.from_labels(labels), np.arange(6.0)
    check("logistic", pairs, f, v)
    many = PairSet.from_labels(np.repeat(labels, 20))
    f = np.repeat(f, 20) + np.tile(np.linspace(0, 3, 20), 6)
    check("logistic", many, f, np.sin(np.arange(120.0)), tolerance=1e-12)
    assert pair_loss("logistic", many).at(f).value > 0


@pytest.mark.parametrize("n_levels", [2, 3, 80])
def test_exponential_of_scores_of_size_1000(n_levels, rng):
    labels, qid = rng.integers(0, n_levels, 90), rng.integers(0, 2, 90)
    f = 1000.0 * rng.normal(size=90)
    pairs = PairSet.from_labels(labels, qid)
    point = pair_loss("exponential", pairs).at(f)
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for winners, losers, weights in pairs.blocks():
            for i, j, c in zip(winners, losers, weights, strict=True):
                total += mpmath.mpf(c) * mpmath.exp(mpmath.mpf(f[j]) - mpmath.mpf(f[i]))
        expected = float(mpmath.log(total))
    assert point.log_value == pytest.approx(expected, rel=1e-14)
    assert point.value == np.inf
    right = PairSet.from_labels(np.arange(90), qid)
    small = pair_loss("exponential", right).at(np.arange(90) * 15.0)
    check("exponential", right, np.arange(90) * 15.0, rng.normal(size=90), tolerance=1e-11)
    assert 0 < small.value < 1e-4


def test_exponential_equals_the_loss_of_one_query(rng):
    codes, f, w = rng.integers(0, 5, 50), rng.normal(size=50), rng.random(50)
    point = pair_loss("exponential", PairSet.from_labels(codes, None, w)).at(f)
    shares = ExponentialPairLoss(codes, 5, w).at(f)
    assert point.log_value == pytest.approx(shares.log_loss, rel=1e-13)
    np.testing.assert_allclose(point.gradient, point.value * shares.gradient, rtol=1e-10)


@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_gradient_and_curvature_are_derivatives(name, rng):
    n = 70
    pairs = PairSet.from_labels(rng.random(n).round(1), rng.integers(0, 3, n), rng.random(n))
    pairs = pairs + PairSet.from_pairs([[0, 1], [5, 3]], n, [2.0, 0.5])
    f, v, step = rng.normal(size=n), rng.normal(size=n), 1e-6
    loss = pair_loss(name, pairs)
    here, ahead, behind = loss.at(f), loss.at(f + step * v), loss.at(f - step * v)
    assert here.gradient @ v == pytest.approx((ahead.value - behind.value) / (2 * step), rel=1e-4)
    if name != "hinge":
        change = (ahead.gradient - behind.gradient) / (2 * step)
        # The squared hinge's second derivative jumps where a margin crosses its kink.
        np.testing.assert_allclose(here.curvature(v), change, atol=2e-3 * np.abs(change).max())
    everyone = loss.at(f + 3.0)
    assert everyone.value == pytest.approx(here.value, rel=1e-12)
    assert abs(here.gradient.sum()) < 1e-12 * np.abs(here.gradient).sum()


def test_at_the_kink_nothing_is_lost_and_nothing_bends():
    pairs = PairSet.from_labels([1, 0, 0])
    f = np.array([1.0, 0.0, -2.0])
    for name in ("hinge", "squared_hinge"):
        point = pair_loss(name, pairs).at(f)
        assert point.value == point.slope == 0.0
        assert not point.gradient.any() and not point.curvature_diagonal().any()
    below = pair_loss("hinge", pairs).at(np.array([np.nextafter(1.0, 0.0), 0.0, -2.0]))
    assert below.gradient.tolist() == [-1.0, 1.0, 0.0]


@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_whole_weights_equal_repeated_rows(name, rng):
    labels, qid, f = rng.integers(0, 3, 20), rng.integers(0, 2, 20), rng.normal(size=20)
    weights = rng.integers(0, 4, 20)
    rows = np.repeat(np.arange(20), weights)
    once = pair_loss(name, PairSet.from_labels(labels, qid, weights)).at(f)
    repeated = pair_loss(name, PairSet.from_labels(labels[rows], qid[rows])).at(f[rows])
    assert once.value == pytest.approx(repeated.value, rel=1e-13)
    gradient = np.bincount(rows, repeated.gradient, 20)
    np.testing.assert_allclose(once.gradient, gradient, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_no_pairs_give_zeros(name):
    point = pair_loss(name, PairSet.from_labels([1, 1, 2], ["a", "a", "b"])).at(np.arange(3.0))
    assert point.value == point.slope == 0.0
    for vector in (point.gradient, point.curvature(np.ones(3)), point.curvature_diagonal()):
        assert vector.tolist() == [0.0, 0.0, 0.0]


@given(case=sets_with_scores())
def test_misranked_counts(case):
    pairs, f, _ = case
    expected = np.zeros(3)
    for winners, losers, weights in pairs.blocks():
        expected += np.bincount(1 - np.sign(f[winners] - f[losers]).astype(int), weights, 3)
    totals = misranked(pairs, f)
    np.testing.assert_array_equal([totals.concordant, totals.tied, totals.discordant], expected)
    assert totals.total == pairs.total_weight


def test_misranked_is_exact_beyond_32_bits():
    n = 200_000
    totals = misranked(PairSet.from_labels(np.arange(n)), np.arange(n) // 2)
    assert (totals.concordant, totals.tied, totals.discordant) == (
        n * (n - 1) // 2 - n // 2,
        n // 2,
        0.0,
    )


def test_misranked_by_query_and_infinite_scores():
    pairs = PairSet.from_labels([1, 0, 1, 0], ["a", "a", "b", "b"], None, [1.0, 4.0])
    f = np.array([np.inf, -np.inf, -np.inf, -np.inf])
    assert misranked_by_query(pairs.implied, f).tolist() == [[1, 0, 0], [0, 1, 0]]
    totals = misranked(pairs, f)
    assert (totals.concordant, totals.tied, totals.discordant) == (1.0, 4.0, 0.0)


def test_rankers_take_the_losses_of_the_table():
    assert sorted(HINGE_LOSSES + SMOOTH_LOSSES) == sorted(PAIR_LOSSES)
    X, y = np.arange(4.0)[:, None], [0, 1, 1, 2]
    for ranker, known in (
        (LinearRankSVM, HINGE_LOSSES),
        (RankSVM, HINGE_LOSSES),
        (OnlineRankSVM, HINGE_LOSSES),
        (RankBoost, (*SMOOTH_LOSSES, "smooth_margin")),
    ):
        for name in PAIR_LOSSES:
            if name in known:
                assert ranker(loss=name).fit(X, y).score(X, y) == 1.0
            else:
                with pytest.raises(ValueError, match=f"loss must be {known[0]!r}.*{name!r}"):
                    ranker(loss=name).fit(X, y)


def test_a_loss_is_added_in_one_place(monkeypatch):
    def linear(m, t):
        return -m, np.full_like(m, -1.0), np.zeros_like(m)

    def over_implied(pairs, n, t):
        return ListedLoss(kind, PairSet(n, implied=pairs).to_listed(), n, t)

    kind = PairLossKind(linear, over_implied)
    monkeypatch.setitem(PAIR_LOSSES, "linear", kind)
    pairs = PairSet.from_labels([2, 0, 1]) + PairSet.from_pairs([[1, 0]], 3)
    point = pair_loss("linear", pairs).at(np.array([0.0, 1.0, 2.0]))
    assert point.value == 1.0 + 2.0 - 1.0 - 1.0
    assert point.gradient.tolist() == [-1.0, 1.0, 0.0]


def test_bad_arguments():
    pairs = PairSet.from_labels([0, 1])
    with pytest.raises(ValueError, match=r"name must be 'hinge', .*; found 'log'"):
        pair_loss("log", pairs)
    with pytest.raises(ValueError, match="The logistic loss has no margin to set"):
        pair_loss("logistic", pairs, margin=2.0)
    with pytest.raises(ValueError, match="margin must be finite; found nan"):
        pair_loss("hinge", pairs, margin=np.nan)
    with pytest.raises(ValueError, match=r"scores must be 2 finite numbers; found shape \(3,\)"):
        pair_loss("hinge", pairs).at(np.zeros(3))
    with pytest.raises(ValueError, match="with NaN or infinity"):
        pair_loss("hinge", pairs).at(np.array([0.0, np.inf]))
    with pytest.raises(ValueError, match="with NaN"):
        misranked(pairs, [0.0, np.nan])
