"""Rounds of RankBoost against the book's algorithm on a list of all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rank_boost import listed, slow_rounds

from echelon.base.rounds import hold_out_pairs
from echelon.pairs.pair_set import PairSet
from echelon.solvers.boosting.stumps import sum_steps
from echelon.solvers.ranking.rank_boost import LOSSES, boost, objective
from echelon.solvers.ranking.rank_boost_steps import (
    LARGEST_STEP,
    FewLine,
    book_step,
    exact_step,
    margin_step,
)
from echelon.solvers.ranking.rank_boost_stumps import (
    ManyAnswers,
    RankStump,
    RankStumpSearch,
    bin_rows,
    read_answers,
    tabulate_rankers,
)


def problem(seed=0, n=40, levels=3, queries=4, missing=0.0, d=3):
    """Inputs with ties, labels that follow them with noise, queries in no order, and weights."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1)
    score = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, levels) / levels), score)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.integers(0, queries, n), rng.integers(1, 4, n).astype(float)


def as_listed(pairs):
    winners, losers, weights = listed(pairs)
    return PairSet.from_pairs(np.c_[winners, losers], pairs.n_items, weights)


def as_mixed(pairs):
    """The pairs of one query more, stated."""
    winners, losers, weights = listed(pairs)
    extra = PairSet.from_pairs(np.c_[winners, losers][::3], pairs.n_items, weights[::3] / 2)
    return pairs + extra


def run(X, pairs, n_rounds=30, missing="best_side", max_bins=None, n_threads=1, **params):
    state = objective(params.get("loss", "exponential"), pairs)
    bins = bin_rows(X, state.rows, max_bins)
    search = RankStumpSearch(bins, missing, n_threads)
    return list(boost(search, state, n_rounds=n_rounds, **params)), state


def assert_same_rounds(found, expected):
    assert len(found) == len(expected)
    for mine, slow in zip(found, expected, strict=True):
        stump = mine.ranker
        assert (stump.feature, stump.direction) == (slow["feature"], slow["direction"])
        assert stump.threshold == pytest.approx(slow["threshold"], abs=1e-12)
        assert stump.missing == slow["missing"]
        assert mine.weight == pytest.approx(slow["alpha"], abs=1e-10)
        assert mine.edge == pytest.approx(slow["edge"], abs=1e-10)
        assert mine.normalizer == pytest.approx(slow["Z"], abs=1e-10)


@pytest.mark.parametrize("missing", ["best_side", "abstain"])
@pytest.mark.parametrize("form", [lambda pairs: pairs, as_listed, as_mixed])
@pytest.mark.parametrize(
    ("levels", "queries", "share"), [(2, 1, 0.0), (2, 5, 0.2), (4, 1, 0.2), (5, 6, 0.0)]
)
def test_rounds_equal_the_book_on_all_pairs(levels, queries, share, form, missing):
    X, y, qid, w = problem(levels=levels, queries=queries, missing=share)
    pairs = form(PairSet.from_labels(y, qid, w))
    found, _ = run(X, pairs, 80, missing)
    assert_same_rounds(found, list(slow_rounds(X, pairs, 80, missing)))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(2, 14), st.integers(2, 6), st.integers(1, 4),
    st.sampled_from([0.0, 0.3]), st.sampled_from(["best_side", "abstain"]),
)  # fmt: skip
def test_small_problems_equal_the_book(seed, n, levels, queries, share, missing):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 2)).astype(float)
    X[rng.random(X.shape) < share] = np.nan
    pairs = PairSet.from_labels(
        rng.integers(0, levels, n), rng.integers(0, queries, n), rng.integers(0, 3, n).astype(float)
    )
    if pairs.n_pairs == 0:
        return
    found, state = run(X, pairs, 12, missing)
    slow = list(slow_rounds(X, pairs, 12, missing))
    assert_same_rounds(found, slow)
    moved = [entry["f"] for entry in slow if not entry["perfect"]] or [np.zeros(n)]
    np.testing.assert_allclose(state.scores, moved[-1][state.rows], atol=1e-10)


def test_bound_holds_and_loss_falls_every_round():
    X, y, qid, w = problem(3, levels=4)
    pairs = PairSet.from_labels(y, qid, w)
    slow = list(slow_rounds(X, pairs, 60))
    found, _ = run(X, pairs, 60)
    bound = np.cumprod([entry.normalizer for entry in found])
    wrong = np.array([entry["wrong"] for entry in slow])
    assert (wrong <= bound).all()
    losses = np.array([entry["loss"] for entry in slow])
    np.testing.assert_allclose(losses, pairs.total_weight * bound, rtol=1e-10)
    assert (np.diff(losses) < 0).all()
    # [MRT18] (10.13).
    edges = np.array([entry.edge for entry in found])
    assert (bound <= np.exp(-np.cumsum(edges**2) / 2)).all()


def test_base_ranker_is_the_steepest_direction():
    X, y, qid, w = problem(4, n=25)
    pairs = PairSet.from_labels(y, qid, w)
    winners, losers, c = listed(pairs)
    f = np.zeros(len(X))
    found, _ = run(X, pairs, 8)
    small = 1e-6
    for entry in found:

        def slope(h, f=f):
            change = [c @ np.exp(-(g[winners] - g[losers])) for g in (f + small * h, f - small * h)]
            return (change[0] - change[1]) / (2 * small)

        slopes = [
            abs(slope((X[:, j] > cut).astype(float))) for j in range(3) for cut in np.unique(X)
        ]
        h = entry.ranker.answers(X)
        assert -slope(h) == pytest.approx(max(slopes), rel=1e-5)
        f = f + entry.weight * h


def test_book_step_is_figure_10_2():
    X, y, _, _ = problem(5, levels=2, n=60)
    pairs = PairSet.from_labels(y)
    found, _ = run(X, pairs, 25, step="book")
    plus, minus = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    D = [np.full(len(plus), 1 / len(plus)), np.full(len(minus), 1 / len(minus))]
    exact, _ = run(X, pairs, 1)
    for t, entry in enumerate(found):
        h = entry.ranker.answers(X)
        above, below = D[0] @ h[plus], D[1] @ h[minus]
        alpha = min(0.5 * np.log(above / below), LARGEST_STEP) if below > 0 else LARGEST_STEP
        assert entry.weight == pytest.approx(alpha, abs=1e-10)
        norms = 1 - above + above * np.exp(-alpha), 1 - below + below * np.exp(alpha)
        assert entry.normalizer == pytest.approx(norms[0] * norms[1], abs=1e-10)
        assert entry.normalizer < 1
        D = [
            D[0] * np.exp(-alpha * h[plus]) / norms[0],
            D[1] * np.exp(alpha * h[minus]) / norms[1],
        ]
        if t == 0:
            best = 0.5 * np.log(above * (1 - below) / (below * (1 - above)))
            assert exact[0].weight == pytest.approx(best, abs=1e-12)
            assert exact[0].weight > entry.weight


def test_steps_on_lines_of_known_form():
    line = FewLine(np.array([[0.3, 0.1], [0.4, 0.2]]), np.array([0.0, 1.0]))
    assert exact_step(line) == pytest.approx(0.5 * np.log(4))
    assert book_step(line) == pytest.approx(0.5 * np.log(0.6 / 0.3))
    turned = FewLine(line.masses.T, np.array([0.0, -1.0]))
    assert exact_step(turned) == pytest.approx(0.5 * np.log(4))
    faultless = FewLine(np.array([[0.5, 0.0], [0.3, 0.2]]), np.array([0.0, 1.0]))
    assert exact_step(faultless) == LARGEST_STEP
    three = FewLine(
        np.array([[0.1, 0.05, 0.1], [0.4, 0.1, 0.1], [0.1, 0.05, 0.0]]), np.array([0.0, 1.0, 0.5])
    )
    grid = np.linspace(0, 5, 50_001)
    values = [three.at(step)[0] for step in grid]
    assert exact_step(three) == pytest.approx(grid[np.argmin(values)], abs=1e-4)


@pytest.mark.parametrize("log_total", [-0.3, -4.0])
def test_margin_step_is_the_largest_margin(log_total):
    line = FewLine(np.array([[0.1, 0.02], [0.8, 0.08]]), np.array([0.0, 1.0]))
    norm = 6.0
    grid = np.linspace(0, 6, 60_001)
    margins = [(-log_total - np.log(line.at(step)[0])) / (norm + step) for step in grid]
    assert margin_step(line, log_total, norm) == pytest.approx(grid[np.argmax(margins)], abs=2e-4)
    assert margin_step(line, -norm, norm) == 0.0


def separable(n=40, seed=0):
    """Labels that a sum of two inputs decides, so that no single threshold does."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 2)).astype(float)
    return X, (X.sum(axis=1) >= 5).astype(int)


def test_smooth_margin_grows_as_soon_as_it_is_positive():
    X, y = separable()
    pairs = PairSet.from_labels(y)
    found, state = run(X, pairs, 300, loss="smooth_margin")
    log_loss = np.log(pairs.total_weight) + np.cumsum(np.log([r.normalizer for r in found]))
    margins = -log_loss / np.cumsum([r.weight for r in found])
    assert margins[-1] > 0
    first = int(np.argmax(margins > 0))
    assert 0 < first < 250
    assert (np.diff(margins[first:]) >= -1e-12).all()
    f = np.zeros(len(X))
    f[state.rows] = state.scores
    gap = f[y == 1].min() - f[y == 0].max()
    norm = sum(r.weight for r in found)
    # The smooth margin bounds the margin from below.
    assert margins[-1] <= gap / norm + 1e-12


def test_logistic_loss_falls_and_steps_minimise_it():
    X, y, qid, w = problem(6)
    pairs = PairSet.from_labels(y, qid, w)
    winners, losers, c = listed(pairs)
    found, _ = run(X, pairs, 30, loss="logistic")
    f = np.zeros(len(X))
    before = c.sum() * np.log(2)
    for entry in found:
        h = entry.ranker.answers(X)

        def loss(step, f=f, h=h):
            g = f + step * h
            return c @ np.logaddexp(0, -(g[winners] - g[losers]))

        after = loss(entry.weight)
        assert after < before
        assert entry.normalizer == pytest.approx(after / before, rel=1e-9)
        assert after <= loss(entry.weight * 0.99) + 1e-12
        assert after <= loss(entry.weight * 1.01) + 1e-12 or entry.weight == LARGEST_STEP
        f, before = f + entry.weight * h, after


@pytest.mark.parametrize("loss", LOSSES)
def test_forms_of_the_same_pairs_agree(loss):
    X, y, qid, w = problem(7, missing=0.1)
    pairs = PairSet.from_labels(y, qid, w)
    one, _ = run(X, pairs, 100, loss=loss)
    two, _ = run(X, as_listed(pairs), 100, loss=loss, n_threads=2)
    assert [r.ranker for r in one] == [r.ranker for r in two]
    np.testing.assert_allclose([r.weight for r in one], [r.weight for r in two], rtol=0, atol=1e-10)


def test_a_perfect_base_ranker_ends_boosting():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    pairs = PairSet.from_labels([0, 0, 1, 1])
    for loss in LOSSES:
        (only,), _ = run(X, pairs, 10, loss=loss)
        assert (only.ranker.threshold, only.weight, only.edge) == (1.5, 1.0, 1.0)


def test_a_base_ranker_without_error_gets_a_finite_weight():
    X = np.array([[0.0], [0.0], [1.0], [0.0]])
    pairs = PairSet.from_labels([0, 0, 1, 1])
    found, _ = run(X, pairs, 3)
    assert [r.weight for r in found] == [LARGEST_STEP] * len(found)
    assert np.prod([r.normalizer for r in found]) == pytest.approx(0.5, abs=1e-4)


def test_no_edge_is_no_round():
    assert run(np.zeros((4, 2)), PairSet.from_labels([0, 0, 1, 1]))[0] == []


def test_scores_of_any_size_neither_overflow_nor_vanish():
    """Hundreds of rounds on separable levels put scores far beyond the range of exp."""
    X = np.indices((3, 3)).reshape(2, -1).T.astype(float)
    pairs = PairSet.from_labels(np.minimum(X.sum(axis=1), 2))
    found, state = run(X, pairs, 1500)
    other, _ = run(X, as_listed(pairs), 1500)
    assert state.log_total < -1500
    assert len(found) == len(other) == 1500
    np.testing.assert_allclose(
        [r.normalizer for r in found[::100]], [r.normalizer for r in other[::100]], rtol=1e-6
    )
    winners, losers, c = listed(pairs)
    f = np.zeros(len(X))
    f[state.rows] = state.scores
    exponents = np.log(c) - (f[winners] - f[losers])
    assert state.log_total == pytest.approx(np.logaddexp.reduce(exponents), rel=1e-12)


def test_binned_search_is_exact_where_bins_suffice():
    X, y, qid, w = problem(9)
    pairs = PairSet.from_labels(y, qid, w)
    assert run(X, pairs, max_bins=255)[0] == run(X, pairs)[0]


def test_real_base_rankers_are_stepped_to_the_least_loss():
    X, y, qid, w = problem(10)
    pairs = as_mixed(PairSet.from_labels(y, qid, w))
    winners, losers, c = listed(pairs)
    state = objective("exponential", pairs)
    h = X[state.rows, 0] * 3 + 5
    learn = lambda weights: ("ramp", ManyAnswers(-h))  # noqa: E731
    found, _ = list(boost(learn, state, n_rounds=2)), None
    grid = found[0].weight * np.linspace(0.9, 1.1, 201)
    full = np.zeros(len(X))
    full[state.rows] = -h
    losses = [c @ np.exp(-a * (full[winners] - full[losers])) for a in grid]
    assert np.argmin(losses) == 100
    assert found[0].weight < 0
    assert found[0].normalizer == pytest.approx(losses[100] / c.sum(), rel=1e-12)
    # The least loss along h is where it has no edge any more.
    assert len(found) == 1


def test_answers_are_read_with_few_values_where_they_are_few():
    few = read_answers(np.array([2.0, 1.0, 2.0]))
    np.testing.assert_array_equal(few.of_rows, [2.0, 1.0, 2.0])
    assert isinstance(read_answers(np.arange(4.0)), ManyAnswers)
    late = np.r_[np.zeros(1500), np.arange(5.0)]
    assert isinstance(read_answers(late), ManyAnswers)
    assert len(read_answers(0.5 + 1e-14 * np.arange(9.0)).values) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_tables_are_sums_of_base_rankers(seed):
    rng = np.random.default_rng(seed)
    thresholds = rng.choice([-np.inf, -1.0, 0.0, 0.5, 2.0], 12)
    stumps = [
        RankStump(int(rng.integers(3)), float(cut), int(rng.choice([-1, 1])), float(side))
        for cut, side in zip(thresholds, rng.choice([0.0, 0.5, 1.0], 12), strict=True)
    ]
    weights = rng.normal(size=12)
    X = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, np.nan], (50, 3))
    expected = sum(w * stump.answers(X) for w, stump in zip(weights, stumps, strict=True))
    np.testing.assert_allclose(sum_steps(tabulate_rankers(stumps, weights), X, 1)[:, 0], expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_held_out_pairs_are_whole_queries(seed, queries, stated):
    rng = np.random.default_rng(seed)
    y, qid = rng.integers(0, 3, 60), rng.integers(0, queries, 60)
    pairs = PairSet.from_labels(y, qid, rng.random(60) + 0.1)
    if stated:
        pairs = pairs + PairSet.from_pairs([[0, 1], [1, 2], [2, 3], [5, 4]], 60)
    train, held = hold_out_pairs(pairs, 0.3, np.random.RandomState(seed % 1000))
    every, mine = _weights(pairs), {**_weights(train)}
    for pair, weight in _weights(held).items():
        mine[pair] = mine.get(pair, 0.0) + weight
    assert all(weight <= every[pair] + 1e-12 for pair, weight in mine.items())
    rows = [set(part.implied.rows.tolist()) for part in (train, held)]
    assert not rows[0] & rows[1]
    if queries > 1:
        assert not set(qid[list(rows[0])]) & set(qid[list(rows[1])])
        assert sum(mine.values()) == pytest.approx(sum(every.values()))
    if stated:
        assert (len(train.listed.winners), len(held.listed.winners)) == (3, 1)


def _weights(pairs):
    winners, losers, weights = listed(pairs)
    found = {}
    for i, j, w in zip(winners.tolist(), losers.tolist(), weights.tolist(), strict=True):
        found[i, j] = found.get((i, j), 0.0) + w
    return found


def test_too_few_pairs_cannot_be_held_out():
    with pytest.raises(ValueError, match="validation_fraction"):
        hold_out_pairs(PairSet.from_labels([0, 1]), 0.1, np.random.RandomState(0))


def test_held_out_parts_keep_the_factors_of_their_queries():
    y, qid = [0, 1] * 6, np.repeat(np.arange(6), 2)
    scales = np.arange(1.0, 7.0)
    pairs = PairSet.from_labels(y, qid, query_scales=scales)
    for part in hold_out_pairs(pairs, 0.5, np.random.RandomState(0)):
        np.testing.assert_array_equal(part.implied.scales, scales[part.implied.ids])


def test_stated_pairs_are_held_out_at_random():
    pairs = PairSet.from_pairs([[k, 20] for k in range(20)], 21)
    held = [hold_out_pairs(pairs, 0.2, np.random.RandomState(seed))[1].listed for seed in range(3)]
    assert len({tuple(part.winners) for part in held}) == 3
