"""Margin losses and bounds: equal to definitions, to enumeration, and true in simulation."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.metrics import bounds
from echelon.metrics.bounds import rademacher
from echelon.metrics.bounds.margin_bounds import matched_rows
from echelon.metrics.ranking import summary
from echelon.metrics.ranking.misranking import misranking_loss
from echelon.pairs import PairSet
from echelon.ranking.rank_boost import RankBoost


def phi(u, rho):
    return np.clip(1.0 - np.asarray(u) / rho, 0.0, 1.0)


def mean_over(pairs, scores, rho):
    part = whole = 0.0
    for winners, losers, weights in pairs.blocks():
        part += weights @ phi(scores[winners] - scores[losers], rho)
        whole += weights.sum()
    return part / whole if whole else math.nan


rows = st.lists(
    st.tuples(
        st.integers(0, 3), st.floats(-5, 5, width=16), st.sampled_from("ab"), st.integers(0, 2)
    ),
    min_size=1,
    max_size=20,
).filter(lambda drawn: any(row[3] for row in drawn))


@given(rows, st.sampled_from([0.01, 0.5, 1.0, 20.0]))
def test_the_margin_loss_equals_its_definition(drawn, rho):
    y, s, q, w = zip(*drawn, strict=True)
    scores = np.array(s)
    pairs = PairSet.from_labels(y, q, np.array(w, dtype=float))
    expected = mean_over(pairs, scores, rho)
    found = bounds.margin_loss(y, scores, rho, qid=q, sample_weight=w)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert bounds.margin_loss(pairs, scores, rho) == pytest.approx(found, nan_ok=True)


def test_the_margin_loss_of_stated_and_mixed_pairs():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=30)
    stated = np.array([generator.choice(30, 2, replace=False) for _ in range(40)])
    listed = PairSet.from_pairs(stated, 30, generator.random(40))
    mixed = listed + PairSet.from_labels(generator.integers(0, 3, 30))
    for pairs in (listed, mixed):
        assert bounds.margin_loss(pairs, scores, 0.7) == pytest.approx(
            mean_over(pairs, scores, 0.7)
        )


def test_the_curve_rises_from_the_error_with_ties_as_errors_to_one():
    generator = np.random.default_rng(1)
    y, s = generator.integers(0, 4, 200), generator.normal(size=200).round(1)
    curve = bounds.margin_loss_curve(y, s, np.geomspace(1e-9, 1e9, 60))
    assert (np.diff(curve) >= -1e-12).all()
    assert curve[0] == pytest.approx(misranking_loss(y, s, ties="error"), abs=1e-12)
    assert curve[-1] == pytest.approx(1.0)


def test_huge_offsets_and_tiny_margins_do_not_leave_the_range():
    y, s = np.arange(50) % 2, np.arange(50) + 1e9
    loss = bounds.margin_loss(y, s, 1e-6)
    assert loss == pytest.approx(misranking_loss(y, s, ties="error"), abs=1e-12)


def test_weights_and_scores_of_any_size():
    y, s, w = [0, 1, 0, 1, 2], np.array([1.0, 2.0, 3.0, 4.0, 0.0]), np.arange(1.0, 6.0)
    expected = bounds.margin_loss(y, s, 1.5, sample_weight=w)
    for factor in (2.0**-900, 2.0**900):
        assert bounds.margin_loss(y, s, 1.5, sample_weight=factor * w) == expected
        assert bounds.margin_loss(y, factor * s, 1.5 * factor, sample_weight=w) == expected
    with pytest.raises(ValueError, match=r"Differences of y_score must have a finite sum"):
        bounds.margin_loss([0, 1], [1.7e308, -1.7e308], 1.0)


@pytest.mark.parametrize(
    "pairs",
    [
        PairSet.from_labels([0, 1, 2], None, [1.0, 2.0, 1.0]),
        PairSet.from_labels([0, 1, 0, 1], [0, 0, 1, 1], query_scales=[1.0, 2.0]),
        PairSet.from_pairs([[0, 1], [2, 1]], 3, [1.0, 2.0]),
    ],
)
def test_unequal_weights_are_refused_whatever_n_pairs_is(pairs):
    scores = np.arange(float(pairs.n_items))
    with pytest.raises(ValueError, match="pairs must have equal weights"):
        bounds.ensemble_margin_bound(scores, 1.0, pairs, (0.1, 0.1), 0.5, n_pairs=2)


def test_no_pair_gives_nan():
    assert math.isnan(bounds.margin_loss([1, 1], [0.0, 1.0], 1.0))


def boosted(generator, n_rounds, best=True):
    """RankBoost by its definition on listed pairs with stumps; all that the bounds need."""
    X = generator.normal(size=(40, 3))
    noise = generator.normal(size=40)
    y = X[:, 0] + 0.5 * noise
    pairs = np.array([(i, j) for i in range(40) for j in range(40) if y[i] > y[j] + 0.5])
    D = np.full(len(pairs), 1.0 / len(pairs))
    scores, rounds = np.zeros(40), []
    for _ in range(n_rounds):
        stumps = [
            np.where(X[:, f] > t, up, 1 - up) for f in range(3) for t in X[::4, f] for up in (0, 1)
        ]
        edges = [D @ (h[pairs[:, 0]] - h[pairs[:, 1]]) for h in stumps]
        h = stumps[int(np.argmax(edges))] if best else stumps[generator.integers(len(stumps))]
        margin = h[pairs[:, 0]] - h[pairs[:, 1]]
        plus, minus = D[margin > 0].sum(), D[margin < 0].sum()
        if min(plus, minus) <= 0:
            continue
        alpha = 0.5 * math.log(plus / minus)
        scores += alpha * h
        D *= np.exp(-alpha * margin)
        D /= D.sum()
        rounds.append((plus, minus, alpha))
    return X, pairs, scores, np.array(rounds)


@pytest.mark.parametrize("best", [True, False])
def test_exercise_10_3_bounds_the_margin_loss_of_rank_boost(best):
    X, stated, scores, rounds = boosted(np.random.default_rng(2), 25, best)
    pairs = PairSet.from_pairs(stated, len(X))
    plus, minus, alpha = rounds.T
    norm = np.abs(alpha).sum()
    Z, steps = bounds.boosting_rounds(plus, minus)
    np.testing.assert_allclose(steps, alpha)
    np.testing.assert_allclose(Z, 2.0 * np.sqrt(plus * minus) + 1.0 - plus - minus)
    # (10.12): the product is the mean exponential loss of the pairs.
    margins = scores[stated[:, 0]] - scores[stated[:, 1]]
    assert np.prod(Z) == pytest.approx(np.exp(-margins).mean())
    values = [bounds.boosting_margin_loss_bound(Z, alpha, 0.0)]
    assert values[0] == pytest.approx(min(1.0, np.prod(Z)))
    for rho in (1e-6, 0.01, 0.05, 0.2):
        values.append(bounds.boosting_margin_loss_bound(Z, alpha, rho))
        assert bounds.margin_loss(pairs, scores / norm, rho) <= values[-1]
        closed = np.prod(np.exp(rho * np.abs(alpha)) * Z)
        assert values[-1] == pytest.approx(min(1.0, closed))
    assert values[1] < 1.0


def test_the_parts_of_the_bounds_are_those_of_the_book():
    m, rho, delta = 500, 0.4, 0.1
    printed = math.sqrt(math.log(1 / delta) / (2 * m))
    expected = bounds.margin_bound(0.1, (0.02, 0.03), rho, m, delta=delta, estimated=False)
    assert expected.total == pytest.approx(0.1 + 2 / rho * 0.05 + printed)
    estimated = bounds.margin_bound(0.1, (0.02, 0.03), rho, m, delta=delta)
    tail = 3 * math.sqrt(math.log(2 / delta) / (2 * m))
    assert estimated.total == pytest.approx(0.1 + 2 / rho * 0.05 + tail)
    kernel = bounds.kernel_margin_bound(0.1, 1.5, 2.0, rho, m, delta=delta)
    middle = 4 * math.sqrt(1.5**2 * 2.0**2 / rho**2 / m)
    assert kernel.total == pytest.approx(0.1 + middle + printed)
    both = bounds.kernel_rademacher_bound(np.full(m, 1.5**2), 2.0)
    same = bounds.margin_bound(0.1, (both, both), rho, m, delta=delta, estimated=False)
    assert kernel.total == pytest.approx(same.total)


@pytest.mark.parametrize("estimated", [True, False])
@pytest.mark.parametrize("rho", [1.0, 0.7, 0.5, 0.1, 1e-4])
def test_the_uniform_bound_covers_the_bound_on_its_grid(rho, estimated):
    m, delta, rho_max = 1000, 0.05, 1.0
    k = next(k for k in range(1, 99) if rho > rho_max / 2**k)
    grid = bounds.margin_bound(
        0.2, (0.01, 0.02), rho_max / 2**k, m, delta=delta / (2 * k * k), estimated=estimated
    )
    uniform = bounds.margin_bound(
        0.2, (0.01, 0.02), rho, m, delta=delta, estimated=estimated, rho_max=rho_max
    )
    assert uniform.total >= grid.total - 1e-12
    assert sum(delta / (2 * k * k) for k in range(1, 10_000)) < delta


def test_the_bounds_hold_for_a_ranker_that_learnt_noise():
    # Rows on the unit sphere and winners by lot: the mean difference fits the pairs, not new ones.
    generator = np.random.default_rng(3)
    m, rho, lots = 400, 0.5, []
    for _ in range(12):
        X = generator.normal(size=(2, m + 4000, 60))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        differences = X[0] - X[1]
        w = differences[:m].sum(axis=0)
        margin = differences @ (2.0 * w / np.linalg.norm(w))
        losses = phi(margin, rho)
        empirical, expected = losses[:m].mean(), losses[m:].mean()
        complexities = [
            bounds.kernel_rademacher(part[:m] @ part[:m].T, 2.0, n_draws=20, random_state=0).value
            for part in X
        ]
        estimated = bounds.margin_bound(empirical, complexities, rho, m)
        printed = bounds.kernel_margin_bound(empirical, 1.0, 2.0, rho, m)
        lots.append((expected - empirical, estimated, printed))
    assert np.mean([gap > printed.confidence for gap, _, printed in lots]) > 0.9
    for index in (1, 2):
        held = [lot[0] <= lot[index].complexity + lot[index].confidence for lot in lots]
        assert np.mean(held) > 0.8


def test_an_ensembles_bound_uses_normalised_margins():
    X, stated, scores, rounds = boosted(np.random.default_rng(4), 10)
    pairs = PairSet.from_pairs(stated, len(X))
    norm = float(np.abs(rounds[:, 2]).sum())
    bound = bounds.ensemble_margin_bound(scores, norm, pairs, (0.1, 0.2), rho=0.1)
    by_hand = bounds.margin_bound(
        mean_over(pairs, scores / norm, 0.1), (0.1, 0.2), 0.1, len(stated)
    )
    assert bound.total == pytest.approx(by_hand.total)
    assert bound.empirical > 0


def test_pairs_of_two_labels_are_as_many_as_the_rarer_label():
    pairs = PairSet.from_labels([1, 0, 0, 1, 0])
    winners, losers = matched_rows(pairs)
    assert {*winners} == {0, 3} and len({*losers}) == 2 and {*losers} <= {1, 2, 4}
    assert bounds.ensemble_margin_bound(np.zeros(5), 1.0, pairs, (0, 0), 0.5).n_pairs == 2
    given_count = bounds.ensemble_margin_bound(
        np.zeros(3), 1.0, PairSet.from_labels([2, 1, 0]), (0, 0), 0.5, n_pairs=1
    )
    assert given_count.n_pairs == 1


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (PairSet.from_labels([2, 1, 0, 0]), "give n_pairs to ensemble_margin_bound"),
        (PairSet.from_labels([0, 1, 0, 1], [0, 0, 1, 1]), "give n_pairs to ensemble_margin_bound"),
        (PairSet(4), "give n_pairs to ensemble_margin_bound"),
        (PairSet.from_labels([1, 0, 1, 0]) + PairSet.from_pairs([[0, 1]], 4), "give n_pairs to"),
        (PairSet.from_pairs([[0, 1], [1, 2]], 4, [1.0, 2.0]), "equal weights"),
        (PairSet.from_labels([0, 1, 1, 1], weights=np.array([1.0, 1, 1, 2])), "equal weights"),
    ],
)
def test_pairs_that_do_not_tell_how_many_are_independent_are_refused(pairs, words):
    with pytest.raises(ValueError, match=words):
        bounds.ensemble_margin_bound(np.zeros(4), 1.0, pairs, (0, 0), 0.5)


def test_the_bound_of_a_fitted_rank_boost_is_put_together_from_its_parts():
    generator = np.random.default_rng(7)
    X = generator.normal(size=(300, 2))
    y = (X[:, 0] + generator.normal(size=300) > 0.5).astype(int)
    model = RankBoost(n_estimators=5).fit(X, y)
    pairs = PairSet.from_labels(y)
    bound = bounds.rank_boost_margin_bound(model, X, pairs, rho=0.2, random_state=0)
    norm = np.abs(model.estimator_weights_).sum()
    assert bound.n_pairs == y.sum()
    assert bound.empirical == pytest.approx(mean_over(pairs, model.predict(X) / norm, 0.2))
    massart = [bounds.stump_rademacher_bound(X[rows]) for rows in matched_rows(pairs)]
    rng = np.random.default_rng(0)
    drawn = [bounds.stump_rademacher(X[rows], random_state=rng) for rows in matched_rows(pairs)]
    cautious = [found.value + 3 * found.standard_error for found in drawn]
    assert bound.complexity == pytest.approx(2 / 0.2 * np.minimum(massart, cautious).sum())
    assert (np.array(cautious) < massart).all()
    drawn_once = bounds.rank_boost_margin_bound(model, X, pairs, rho=0.2, n_draws=1)
    assert drawn_once.complexity == pytest.approx(2 / 0.2 * sum(massart))
    for rho in (0.01, 0.1):
        limit = bounds.boosting_margin_loss_bound(model.normalizers_, model.estimator_weights_, rho)
        assert bounds.margin_loss(pairs, model.predict(X) / norm, rho) <= limit


def stump_answers(X):
    """Every answer of a threshold ranker on the rows, missing values 0, ½ or 1."""
    for column in X.T:
        held = column[~np.isnan(column)]
        for threshold in np.r_[-np.inf, np.unique(held)]:
            above = (column > threshold).astype(float)
            for answer in (above, 1.0 - above):
                for missing in (0.0, 0.5, 1.0):
                    yield np.where(np.isnan(column), missing, answer)


@given(st.integers(0, 500))
def test_stump_suprema_equal_enumeration(seed):
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 4, (6, 2)).astype(float)
    X[generator.random((6, 2)) < 0.15] = np.nan
    answers = np.array(list(stump_answers(X)))
    signs = np.array(list(product([-1.0, 1.0], repeat=6))).T
    expected = (answers @ signs).max(axis=0)
    found = np.max(
        [rademacher._largest(signs, *rademacher._thresholds(column)) for column in X.T], axis=0
    )
    np.testing.assert_allclose(found, expected)
    exact = expected.mean() / 6
    assert exact <= bounds.stump_rademacher_bound(X) + 1e-12
    estimate = bounds.stump_rademacher(X, n_draws=600, random_state=seed)
    assert estimate.value == pytest.approx(exact, abs=6 * max(estimate.standard_error, 1e-12))


def test_massarts_bound_counts_the_answers():
    whole, missing = [[0.0], [1.0], [1.0]], [[0.0], [1.0], [math.nan]]
    assert bounds.stump_rademacher_bound(whole) == pytest.approx(math.sqrt(math.log(4) / 6))
    assert bounds.stump_rademacher_bound(missing) == pytest.approx(math.sqrt(math.log(8) / 6))


def test_kernel_suprema_equal_enumeration():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(8, 3))
    signs = np.array(list(product([-1.0, 1.0], repeat=8)))
    exact = 2.0 * np.linalg.norm(signs @ X, axis=1).mean() / 8
    estimate = bounds.kernel_rademacher(X @ X.T, 2.0, n_draws=2000, random_state=0)
    assert estimate.value == pytest.approx(exact, abs=5 * estimate.standard_error)
    assert exact <= bounds.kernel_rademacher_bound((X * X).sum(axis=1), 2.0)


def test_draws_do_not_depend_on_blocks_of_memory(monkeypatch):
    X = np.random.default_rng(6).normal(size=(50, 2))
    whole = bounds.stump_rademacher(X, n_draws=4000, random_state=0)
    monkeypatch.setattr(summary, "_BLOCK", 50 * 7)
    parts = bounds.stump_rademacher(X, n_draws=4000, random_state=0)
    assert parts.n_draws == whole.n_draws == 4000
    error = math.hypot(parts.standard_error, whole.standard_error)
    assert parts.value == pytest.approx(whole.value, abs=5 * error)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.margin_loss([0, 1], [0, 1], 0.0), "rho must"),
        (lambda: bounds.margin_loss(PairSet(2), [0, 1], 1.0, qid=[0, 0]), "go with labels"),
        (lambda: bounds.margin_loss([0, 1], [0, np.inf], 1.0), "y_score must hold finite"),
        (lambda: bounds.margin_bound(0.1, (0.1, 0.1), 0.5, 0), "n_pairs must"),
        (lambda: bounds.margin_bound(0.1, (0.1, 0.1), 0.5, 9, delta=1.0), "delta must"),
        (lambda: bounds.margin_bound(0.1, (0.1, 0.1), 0.5, 9, rho_max=0.4), "rho_max must"),
        (lambda: bounds.kernel_margin_bound(0.1, 0.0, 1.0, 0.5, 9), "radius must"),
        (lambda: bounds.boosting_rounds([0.9], [0.2]), "at most 1"),
        (lambda: bounds.boosting_rounds([0.9], [0.0]), "positive"),
        (lambda: bounds.boosting_margin_loss_bound([0.5], [0.2], -0.1), "rho must"),
        (lambda: bounds.boosting_margin_loss_bound([-0.5], [0.2], 0.1), "normalizers must"),
        (lambda: bounds.rank_boost_margin_bound(None, [[1.0]], PairSet(1), 0.1), "ranker must"),
        (lambda: bounds.margin_bound(math.nan, (0.1, 0.1), 0.5, 9), "empirical must"),
        (lambda: bounds.margin_bound(0.1, (0.1, -0.1), 0.5, 9), "rademacher must"),
        (lambda: bounds.kernel_rademacher(np.ones((2, 3)), 1.0), "K must be"),
        (lambda: bounds.kernel_rademacher(np.empty((0, 0)), 1.0), "K must be"),
        (lambda: bounds.kernel_rademacher(-np.eye(2), 1.0), "K must be"),
        (lambda: bounds.kernel_rademacher_bound([-1.0], 1.0), "diagonal must"),
        (lambda: bounds.stump_rademacher([1.0, 2.0]), "X must be"),
        (lambda: bounds.stump_rademacher_bound([[np.inf]]), "with infinity"),
        (lambda: bounds.stump_rademacher([[1.0]], n_draws=0), "n_draws must"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
