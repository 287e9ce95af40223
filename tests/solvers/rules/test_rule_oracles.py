"""[DK09] theorems 1 to 3 by trying every rule, and what the measures of a rule stand for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from support.rules import (
    COUNTS,
    TECHNIQUES,
    all_bodies,
    all_conditions,
    gain,
    grow_slowly,
    pair_sums,
    rule_problems,
    threshold_sums,
)

from echelon.ordinal.thresholds import fit_exponential
from echelon.solvers.boosting.bins import bin_inputs
from echelon.solvers.rules.bodies import Interval, Membership, covers
from echelon.solvers.rules.losses import AbsoluteLoss, RankLoss, ThresholdLoss, measure
from echelon.solvers.rules.search import RuleSearch

counts = st.sampled_from(COUNTS)
betas = st.sampled_from([0.05, 0.2, 0.5, 2.0])
SMOOTHING = 1e-4


def every_rule(problem, count):
    """Sums (W_>, W_<, W_0, split) of every conjunction, one row for each."""
    X, _, y, _, s, f = problem
    covered = {covers(body, X).tobytes(): covers(body, X) for body in all_bodies(X, 4)}
    return np.array([pair_sums(f, y, s, rows, count) for rows in covered.values()])


def optima(measure, scale):
    """Which values are the greatest, up to rounding."""
    return measure >= measure.max() - 1e-11 * scale


# -------------------------------------------------------------------------------------- theorems


@given(rule_problems(), counts)
def test_theorem_1_gradient_descent_covers_at_least_as_much(problem, count):
    """Any optimum of (12) covers no less than any optimum of (10), if any rule gains at all.

    With a = √W_+ and b = √W_− of the former and c, d of the latter, a² − b² ≥ c² − d² and
    a − b ≤ c − d, so that a + b ≥ c + d whenever a > b. If a = b no rule gains, every rule is an
    optimum of both, and their coverages are in no order.
    """
    sums = every_rule(problem, count)
    right, wrong, total = sums[:, 0], sums[:, 1], sums[0, :3].sum()
    descent = np.abs(right - wrong)
    together = np.abs(np.sqrt(right) - np.sqrt(wrong))
    if descent.max() <= 1e-6 * total:
        assert together.max() <= 1e-3 * math.sqrt(total)
        return
    coverage = (right + wrong)[optima(descent, total)].min()
    assert coverage >= (right + wrong)[optima(together, math.sqrt(total))].max() - 1e-4 * total


def test_theorem_1_is_strict_somewhere():
    X = np.arange(8.0)[:, None]
    y = np.array([0, 0, 1, 0, 0, 1, 0, 1])
    sums = every_rule((X, (), y, 2, np.ones(8), np.zeros(8)), "once")
    coverage = sums[:, 0] + sums[:, 1]
    descent = optima(np.abs(sums[:, 0] - sums[:, 1]), 1.0)
    together = optima(np.abs(np.sqrt(sums[:, 0]) - np.sqrt(sums[:, 1])), 1.0)
    assert (coverage[descent].min(), coverage[together].max()) == pytest.approx((9.0, 6.0))


def test_theorem_1_needs_a_rule_that_gains():
    X = np.array([0.0, 0.0, 1.0, 1.0])[:, None]
    sums = every_rule((X, (), np.array([0, 1, 0, 1]), 2, np.ones(4), np.zeros(4)), "once")
    assert sums[:, 0] == pytest.approx(sums[:, 1])
    assert len(np.unique(sums[:, 0] + sums[:, 1])) > 1


@given(rule_problems(), counts)
def test_theorem_2_gradient_descent_halves_what_is_not_covered(problem, count):
    sums = every_rule(problem, count)
    total = sums[0, :3].sum()
    penalised = np.minimum(sums[:, 0], sums[:, 1]) + 0.5 * sums[:, 2]
    descent = np.array([gain("gradient", *row[[0, 1, 3]], 0.0) for row in sums])
    np.testing.assert_array_equal(optima(descent, total), optima(-2.0 * penalised, total))


@given(rule_problems(), counts, betas)
def test_theorem_3_constant_step_weighs_what_is_not_covered(problem, count, beta):
    sums = every_rule(problem, count)
    total = sums[0, :3].sum()
    share = (1.0 - math.exp(-beta)) / (math.exp(beta) - math.exp(-beta))
    penalised = np.minimum(sums[:, 0], sums[:, 1]) + share * sums[:, 2]
    step = np.array([gain("constant_step", *row[[0, 1, 3]], beta) for row in sums])
    unit = math.exp(beta) - math.exp(-beta)
    np.testing.assert_array_equal(optima(step / unit, total), optima(-penalised, total))


# -------------------------------------------------------------------------------------- measures


def listed_loss(f, y, s, count):
    return sum(pair_sums(f, y, s, np.zeros(len(y), dtype=bool), count))


def rules_of(problem):
    X = problem[0]
    bodies = all_bodies(X, 2)
    return [covers(body, X) for body in bodies[:: max(1, len(bodies) // 6)]]


@given(rule_problems(), counts, st.floats(-2.0, 2.0))
def test_sums_give_the_loss_after_any_response(problem, count, response):
    _, _, y, _, s, f = problem
    for covered in rules_of(problem):
        right, wrong, rest, _ = pair_sums(f, y, s, covered, count)
        split = math.exp(-response) * right + math.exp(response) * wrong + rest
        assert split == pytest.approx(listed_loss(f + response * covered, y, s, count))


@given(rule_problems(), counts, betas)
def test_gains_are_what_each_technique_takes_off_the_loss(problem, count, beta):
    _, _, y, _, s, f = problem
    for covered in rules_of(problem):
        right, wrong, rest, split = pair_sums(f, y, s, covered, count)
        total = right + wrong + rest

        def loss(response, right=right, wrong=wrong, rest=rest):
            return math.exp(-response) * right + math.exp(response) * wrong + rest

        found = {name: gain(name, right, wrong, split, beta) for name in TECHNIQUES}
        # (7) with the best response, which may be infinite, and (20) with the better of two.
        least = minimize_scalar(loss, bounds=(-40.0, 40.0), method="bounded").fun
        assert total - found["simultaneous"] ** 2 == pytest.approx(least, abs=1e-6 * total)
        taken = total - min(loss(beta), loss(-beta))
        assert found["constant_step"] == pytest.approx(taken, abs=1e-12 * total)
        # (11): the slope of the loss at response zero.
        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
        assert found["gradient"] == pytest.approx(abs(slope), abs=1e-8 * total)


@given(rule_problems(), counts)
def test_gradient_boosting_gains_what_least_squares_explain(problem, count):
    """(18), where a pair that counts m times and weighs s_i·s_j has so many squares."""
    _, _, y, _, s, f = problem
    i, j = np.nonzero(y[:, None] > y)
    mass = s[i] * s[j] * (1.0 if count == "once" else y[i] - y[j])
    target = np.exp(f[j] - f[i])
    for covered in rules_of(problem):
        right, wrong, _, split = pair_sums(f, y, s, covered, count)
        side = covered[i].astype(float) - covered[j]
        root = np.sqrt(mass)
        fitted = np.linalg.lstsq((root * side)[:, None], root * target, rcond=None)[0]
        explained = mass @ target**2 - mass @ (target - fitted * side) ** 2
        found = gain("gradient_boosting", right, wrong, split, 0.0)
        assert found**2 == pytest.approx(explained, abs=1e-10 * float(mass @ target**2))


@given(rule_problems(), st.floats(-2.0, 2.0))
def test_threshold_sums_give_the_loss_after_any_response(problem, response):
    _, _, y, K, s, f = problem
    theta = np.clip(fit_exponential(f, y, K, np.repeat(s[:, None], K - 1, axis=1)), -3.0, 3.0)
    Z = np.where(y[:, None] > np.arange(K - 1), 1.0, -1.0)
    for covered in rules_of(problem):
        falls, rises, rest = threshold_sums(f, theta, y, s, covered)
        after = (s[:, None] * np.exp(-Z * ((f + response * covered)[:, None] - theta))).sum()
        total = math.exp(-response) * falls + math.exp(response) * rises + rest
        assert total == pytest.approx(after)


# ---------------------------------------------------------------------------------------- bodies


def test_conditions_of_numbers_and_categories():
    X = np.array([[1.0, 0.0], [2.0, 2.0], [np.nan, np.nan], [4.0, 2.0]])
    assert all_conditions(X, nominal=(1,)) == [
        Interval(0, upper=1.5),
        Interval(0, lower=1.5),
        Interval(0, upper=3.0),
        Interval(0, lower=3.0),
        Membership(1, (0,)),
        Membership(1, (0,), True),
        Membership(1, (2,)),
        Membership(1, (2,), True),
    ]


@given(rule_problems(most_rows=6, missing=True, nominal=True))
def test_bodies_are_all_intersections_of_conditions(problem):
    X, nominal = problem[:2]
    masks = [condition.covers(X) for condition in all_conditions(X, nominal)]
    twice = {(first & second).tobytes() for first in masks for second in masks}
    everything = np.ones(len(X), dtype=bool).tobytes()
    found = {covers(body, X).tobytes() for body in all_bodies(X, 2, nominal)}
    assert found == twice | {everything}


@given(rule_problems(missing=True, nominal=True), counts, st.sampled_from(TECHNIQUES), betas)
def test_greedy_growth_improves_at_every_step_and_never_beats_the_best(
    problem, count, technique, beta
):
    X, nominal, y, _, s, f = problem

    def gain_of(covered):
        right, wrong, _, split = pair_sums(f, y, s, covered, count)
        return gain(technique, right, wrong, split, beta)

    body, found = grow_slowly(X, gain_of, nominal)
    assert gain_of(covers(body, X)) == found
    steps = [grow_slowly(X, gain_of, nominal, most)[1] for most in range(4)]
    assert steps[0] == 0.0
    assert steps == sorted(steps)
    assert steps[-1] <= found
    assert steps[2] <= max(gain_of(covers(one, X)) for one in all_bodies(X, 2, nominal))
    singles = [gain_of(condition.covers(X)) for condition in all_conditions(X, nominal)]
    assert steps[1] == max([0.0, *singles])


# ---------------------------------------------------------------------------------------- solver


@st.composite
def searches(draw):
    """A problem for the solver: its levels all have rows of weight, and some rows are drawn."""
    X, nominal, y, _, s, f = draw(rule_problems(30, 4, 5, 8, missing=True, nominal=True))
    observed = np.unique(y[s > 0.0])
    y = np.minimum(np.searchsorted(observed, y), len(observed) - 1)
    drawn = np.ones(len(y), dtype=np.uint8)
    if draw(st.booleans()):
        drawn[np.random.default_rng(len(y)).random(len(y)) < 0.3] = 0
    # Two categories and three may be joined one by one; the sets of more are tried by their order.
    X[:, list(nominal)] = np.minimum(X[:, list(nominal)], 2.0)
    return X, nominal, y, len(observed), s, f, drawn


def at_scores(loss, f):
    """The loss after steps to the scores f."""
    for value in np.unique(f):
        inside = (f == value).astype(np.uint8)
        loss.response(inside)
        loss.step(inside, float(value))
    np.testing.assert_array_equal(loss.scores, f)
    return loss


def rank_loss(problem, count):
    _, _, y, K, s, f, _ = problem
    per_threshold = count == "per_threshold"
    return at_scores(RankLoss(y, K, s, per_threshold=per_threshold, smoothing=SMOOTHING), f)


def threshold_loss(problem):
    _, _, y, K, s, f, _ = problem
    return at_scores(ThresholdLoss(y, K, s, smoothing=SMOOTHING), f)


def masks(problem):
    X, nominal = problem[:2]
    found = [covers(body, X) for body in all_bodies(X, 2, nominal)]
    return found[:: max(1, len(found) // 8)]


def pair_unit(problem, count):
    """What a unit of the solver's weights is worth, from their definition."""
    _, _, y, _, s, f, _ = problem
    terms = rank_loss(problem, count).terms()
    i, j = np.nonzero((y[:, None] > y) & (np.outer(s, s) > 0.0))
    between = np.array([np.prod(terms.decay[a + 1 : b]) for b, a in zip(y[i], y[j], strict=True)])
    upper, lower = terms.upper * terms.factors[0, y], terms.lower * terms.factors[1, y]
    units = s[i] * s[j] * np.exp(f[j] - f[i]) / (upper[i] * lower[j] * between)
    np.testing.assert_allclose(units, units[0], rtol=1e-12)
    assert terms.per_threshold == (count == "per_threshold")
    return float(units[0])


@given(searches(), counts)
def test_sums_responses_and_loss_are_those_of_all_pairs(problem, count):
    _, _, y, K, s, f, _ = problem
    loss = rank_loss(problem, count)
    pair_unit(problem, count)
    for covered in masks(problem):
        right, wrong, rest, _ = pair_sums(f, y, s, covered, count)
        total = right + wrong + rest
        inside = covered.astype(np.uint8)
        assert loss.split(inside) == pytest.approx((right / total, wrong / total), abs=1e-14)
        ratio = (right / total + SMOOTHING) / (wrong / total + SMOOTHING)
        assert loss.response(inside) == pytest.approx(0.5 * math.log(ratio), abs=1e-10)
    even = listed_loss(np.zeros(len(y)), y, s, count)
    assert loss.value == pytest.approx(listed_loss(f, y, s, count) / even)
    weights = np.repeat(s[:, None], K - 1, axis=1)
    np.testing.assert_allclose(loss.thresholds, fit_exponential(f, y, K, weights), atol=1e-12)


@given(searches())
def test_threshold_sums_and_responses_are_those_of_all_terms(problem):
    _, _, y, K, s, f, _ = problem
    loss = threshold_loss(problem)
    theta = fit_exponential(f, y, K, np.repeat(s[:, None], K - 1, axis=1))
    np.testing.assert_allclose(loss.thresholds, theta, atol=1e-12)
    total = sum(threshold_sums(f, theta, y, s, np.ones(len(y))))
    assert loss.value == pytest.approx(total / s.sum())
    for covered in masks(problem):
        falls, rises, _ = threshold_sums(f, theta, y, s, covered)
        shares = (falls / total, rises / total)
        inside = covered.astype(np.uint8)
        assert loss.split(inside) == pytest.approx(shares, abs=1e-14)
        ratio = (shares[0] + SMOOTHING) / (shares[1] + SMOOTHING)
        assert loss.response(inside) == pytest.approx(0.5 * math.log(ratio), abs=1e-10)


def growth(problem, loss, technique, beta, options):
    """The rows that the solver's rule covers after each of its conditions, and its gains."""
    X, nominal, _, K, _, _, drawn = problem
    flags = np.isin(np.arange(X.shape[1]), nominal)
    max_bins = options.get("max_bins")
    bins = bin_inputs(X, max_bins, None, [3 if flag else 0 for flag in flags])
    kind = "absolute" if isinstance(loss, AbsoluteLoss) else "exponential"
    technique, step_gains = measure(kind, technique, beta)
    covered, gains, sizes = [np.ones(len(X), dtype=bool)], [None], []
    for most in range(1, 20):
        search = RuleSearch(
            bins,
            K,
            technique,
            step_gains=step_gains,
            nominal=flags,
            exact=options["exact"],
            max_conditions=most,
            n_threads=options["n_threads"],
        )
        found = search.find(loss.terms(), drawn)
        if found is None:
            break
        mask = search.cover(found).astype(bool)
        np.testing.assert_array_equal(mask, covers(found.body, X))
        sizes.append(len(found.body))
        if most > 1 and (mask == covered[-1]).all():
            assert found.gain == gains[-1]
            break
        covered.append(mask)
        gains.append(found.gain)
    assert sizes == sorted(sizes)
    return bins, covered, gains


def candidates(X, nominal, bins, covered):
    """Rows left by every condition, and whether it tells covered values apart."""
    for j, edges in enumerate(bins.edges):
        column = X[covered, j]
        if j in nominal:
            for value in sorted({int(v) for v in X[:, j] if not math.isnan(v)}):
                for negated in (False, True):
                    inside = covered & Membership(j, (value,), negated).covers(X)
                    yield inside, bool((column == value).any())
            continue
        for cut in edges:
            parted = bool((column <= cut).any() and (column > cut).any())
            yield covered & Interval(j, upper=cut).covers(X), parted
            yield covered & Interval(j, lower=cut).covers(X), parted


def check_growth(problem, loss, gain_of, unit, technique, beta, options):
    """Each condition is one of the best, and the rule ends where none is better.

    A condition that all covered values satisfy still leaves out the rows whose value is missing;
    the solver need not try it.
    """
    X, nominal = problem[0], problem[1]
    drawn = problem[-1].astype(bool)
    bins, covered, gains = growth(problem, loss, technique, beta, options)
    whole = max(0.0, gain_of(drawn))
    slack = 1e-7 * max(unit, gain_of(drawn & covered[-1]))
    for step, before in enumerate(covered):
        inside = before & drawn
        tried = list(candidates(X, nominal, bins, inside))
        most = max((gain_of(mask & drawn) for mask, _ in tried), default=0.0)
        sure = max((gain_of(mask & drawn) for mask, parts in tried if parts), default=0.0)
        reached = gain_of(inside) if step else whole
        if step + 1 == len(covered):
            assert sure <= reached + slack
            return
        following = gain_of(covered[step + 1] & drawn)
        assert sure - slack <= following <= most + slack
        assert following > reached - slack
        assert gains[step + 1] * unit == pytest.approx(following, abs=slack)


options = st.fixed_dictionaries(
    {"exact": st.booleans(), "n_threads": st.sampled_from([1, 2])},
    optional={"max_bins": st.sampled_from([2, 3, 255])},
)


def scaled(technique, unit):
    """The unit of gains where weights have this one."""
    return math.sqrt(unit) if technique == "simultaneous" else unit


@given(searches(), counts, st.sampled_from(TECHNIQUES), betas, options)
def test_bodies_for_the_rank_loss_are_grown_by_the_best_conditions(
    problem, count, technique, beta, options
):
    _, _, y, _, s, f, drawn = problem
    rows = drawn.astype(bool)

    def gain_of(covered):
        right, wrong, _, split = pair_sums(f[rows], y[rows], s[rows], covered[rows], count)
        return gain(technique, right, wrong, split, beta)

    unit = scaled(technique, pair_unit(problem, count))
    check_growth(problem, rank_loss(problem, count), gain_of, unit, technique, beta, options)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_long_bodies_are_grown_by_the_best_conditions(count, technique):
    rng = np.random.default_rng(2)
    X = np.round(2.0 * rng.normal(size=(60, 4)))
    y = 2 * (X > -1.5).all(axis=1) + rng.integers(0, 2, size=60)
    s, f = rng.random(60), 0.1 * rng.normal(size=60)
    problem = (X, (), y, 4, s, f, np.ones(60, dtype=np.uint8))
    known = {}

    def gain_of(covered):
        if covered.tobytes() not in known:
            right, wrong, _, split = pair_sums(f, y, s, covered, count)
            known[covered.tobytes()] = gain(technique, right, wrong, split, 0.5)
        return known[covered.tobytes()]

    loss, unit = rank_loss(problem, count), scaled(technique, pair_unit(problem, count))
    # Without ties the slow way finds the same rule.
    body, best = grow_slowly(X, gain_of)
    for exact in (True, False):
        settings = {"exact": exact, "n_threads": 2}
        check_growth(problem, loss, gain_of, unit, technique, 0.5, settings)
        _, covered, gains = growth(problem, loss, technique, 0.5, settings)
        assert len(covered) > 4
        np.testing.assert_array_equal(covers(body, X), covered[-1])
        assert gains[-1] * unit == pytest.approx(best)


@given(searches(), st.sampled_from(TECHNIQUES), betas, options)
def test_bodies_for_the_threshold_loss_are_grown_by_the_best_conditions(
    problem, technique, beta, options
):
    _, _, y, K, s, f, drawn = problem
    rows = drawn.astype(bool)
    theta = fit_exponential(f, y, K, np.repeat(s[:, None], K - 1, axis=1))

    def gain_of(covered):
        falls, rises, _ = threshold_sums(f[rows], theta, y[rows], s[rows], covered[rows])
        return gain(technique, falls, rises, float(s[rows] @ covered[rows]), beta)

    total = sum(threshold_sums(f, theta, y, s, np.ones(len(y))))
    unit = scaled(technique, total)
    check_growth(problem, threshold_loss(problem), gain_of, unit, technique, beta, options)


@given(searches(), st.sampled_from(TECHNIQUES[1:]), betas, options)
def test_bodies_for_the_absolute_error_are_grown_by_the_best_conditions(
    problem, technique, beta, options
):
    _, _, y, K, s, f, drawn = problem
    rows = drawn.astype(bool)
    loss = AbsoluteLoss(y, K, s, technique=technique, step_size=beta)
    at_scores(loss, f)
    residuals = y - loss.zero - f

    def gain_of(covered):
        covered = covered & rows
        r, weights = residuals[covered], s[covered]
        if technique != "gradient_boosting":
            # No residual but zero is shorter than the short step.
            length, unit = (beta, 1.0) if technique == "constant_step" else (1e-4, 1e-4)
            saved = [np.abs(r) - np.abs(r - step) for step in (length, -length)]
            return max(float(weights @ part) for part in saved) / unit
        up, down = float(weights @ (r > 0.0)), float(weights @ (r < 0.0))
        return gain(technique, up, down, float(weights.sum()), beta)

    check_growth(problem, loss, gain_of, 1.0, technique, beta, options)


@given(rule_problems(14, 1), counts, st.sampled_from(TECHNIQUES))
def test_sets_of_categories_beat_single_ones_and_no_set_beats_all(problem, count, technique):
    X, _, y, _, s, f = problem
    rng = np.random.default_rng(len(y))
    X = rng.integers(0, 6, size=X.shape).astype(float)
    observed = np.unique(y[s > 0.0])
    y = np.minimum(np.searchsorted(observed, y), len(observed) - 1)
    K = len(observed)
    problem = (X, (0,), y, K, s, f, np.ones(len(y), dtype=np.uint8))

    def gain_of(covered):
        right, wrong, _, split = pair_sums(f, y, s, covered, count)
        return gain(technique, right, wrong, split, 0.2)

    search = RuleSearch(
        bin_inputs(X, None, None, [6]),
        K,
        technique,
        step_gains=measure("rank", technique, 0.2)[1],
        nominal=np.array([True]),
        max_conditions=1,
    )
    found = search.find(rank_loss(problem, count).terms(), problem[-1])
    reached = 0.0 if found is None else gain_of(search.cover(found).astype(bool))
    sets = [np.isin(X[:, 0], np.flatnonzero(bits)) for bits in np.ndindex(*[2] * 6)]
    single = max(gain_of(condition.covers(X)) for condition in all_conditions(X, (0,)))
    best = max(gain_of(covered) for covered in sets)
    assert single - 1e-9 * best <= reached <= best * (1.0 + 1e-9)


@given(
    st.integers(0, 10**6), counts, st.sampled_from(["simultaneous", "gradient", "constant_step"]),
    st.sampled_from([1.0, 100.0, 1e4]),
)  # fmt: skip
def test_levels_far_apart_lose_nothing(seed, count, technique, spread):
    rng = np.random.default_rng(seed)
    n, K = 12, 4
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    f = spread * rng.normal(size=n)
    loss = RankLoss(y, K, np.ones(n), per_threshold=count == "per_threshold", smoothing=SMOOTHING)
    at_scores(loss, f)
    i, j = np.nonzero(y[:, None] > y)
    logs = f[j] - f[i] + (np.log(y[i] - y[j]) if count == "per_threshold" else 0.0)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()

    def split(covered):
        return (
            shares[covered[i] & ~covered[j]].sum(),
            shares[covered[j] & ~covered[i]].sum(),
        )

    gains = []
    for condition in all_conditions(X):
        covered = covers((condition,), X)
        found = loss.split(covered.astype(np.uint8))
        np.testing.assert_allclose(found, split(covered), rtol=1e-9, atol=1e-12)
        gains.append(gain(technique, *split(covered), 0.0, 0.3))
    way, steps = measure("rank", technique, 0.3)
    search = RuleSearch(bin_inputs(X), K, way, step_gains=steps, max_conditions=1)
    best = search.find(loss.terms(), np.ones(n, dtype=np.uint8))
    if best is None:
        assert max(gains, default=0.0) < 1e-5
    else:
        chosen = gain(technique, *split(covers(best.body, X)), 0.0, 0.3)
        assert chosen == pytest.approx(max(gains), rel=1e-6, abs=1e-6)
    assert (np.diff(loss.thresholds) >= 0.0).all()
    assert np.isfinite(loss.thresholds).all()
    threshold = at_scores(ThresholdLoss(y, K, np.ones(n), smoothing=SMOOTHING), f)
    assert np.isfinite(threshold.thresholds).all()
    right, wrong = threshold.split(np.ones(n, dtype=np.uint8))
    # The best thresholds leave nothing to a rule that covers all.
    assert right == pytest.approx(wrong, rel=1e-6)
    assert right + wrong == pytest.approx(1.0)
