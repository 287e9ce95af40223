"""The sparse refit of rules, against generic minimisers and its own certificates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from support.rules import pair_sums, rule_problems

from echelon.ordinal.thresholds import fit_exponential
from echelon.pairs.exponential import ExponentialPairLoss
from echelon.solvers.rules.l1_newton import RuleProblem, solve, violation
from echelon.solvers.rules.refit_losses import LogPairLoss, LogThresholdLoss, SmoothAbsoluteLoss
from echelon.solvers.rules.sparse import sparse_refit

RIDGE = 1e-4
KINDS = ("once", "per_threshold", "threshold", "binary", "absolute")


def make_loss(kind, codes, K, weights):
    if kind == "absolute":
        return SmoothAbsoluteLoss(codes, weights)
    if kind == "threshold":
        return LogThresholdLoss(codes, K, weights)
    if kind == "binary":
        return LogThresholdLoss((codes > codes.min()).astype(np.intp), 2, weights)
    return LogPairLoss(codes, K, weights, kind)


def noisy(n=300, M=8, K=4, seed=0, noise=2.0):
    """Coverage of random rules, and codes that depend on the first of them."""
    rng = np.random.default_rng(seed)
    coverage = rng.random((n, M)) < rng.uniform(0.1, 0.7, size=M)
    score = coverage @ np.linspace(2.0, -1.0, M) + noise * rng.normal(size=n)
    codes = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)
    return coverage, codes, rng.choice([0.5, 1.0, 2.0], size=n), rng


def deviations(coverage, weights):
    share = np.average(coverage, axis=0, weights=weights)
    return np.sqrt(share * (1.0 - share))


# ---------------------------------------------------------------------------------------- losses


@settings(max_examples=40)
@given(rule_problems(most_rows=10, most_classes=5), st.sampled_from(KINDS))
def test_gradient_and_curvature_are_the_derivatives_of_the_loss(problem, kind):
    _, _, y, K, s, f = problem
    loss = make_loss(kind, y, K, np.where(s > 0.0, s, 0.25))
    if kind == "absolute":
        loss = loss.stages()[0]
    f = f + np.random.default_rng(0).normal(scale=0.1, size=len(f))
    gradient = loss.at(f)[1]
    curvature = loss.curvature(f)
    factors = curvature.factors.toarray()
    second = np.diag(curvature.diagonal) + factors @ curvature.core @ factors.T
    steps = 1e-5 * np.eye(len(f))
    slopes = [(loss.at(f + h)[0] - loss.at(f - h)[0]) / 2e-5 for h in steps]
    bends = np.array([(loss.at(f + h)[1] - loss.at(f - h)[1]) / 2e-5 for h in steps])
    np.testing.assert_allclose(gradient, slopes, atol=1e-8)
    np.testing.assert_allclose(second, bends, atol=1e-7)
    np.testing.assert_allclose(second.sum(axis=0), 0.0, atol=1e-12)


@given(rule_problems(), st.sampled_from(["once", "per_threshold"]))
def test_pair_loss_is_the_log_of_the_mean_over_listed_pairs(problem, count):
    _, _, y, K, s, f = problem
    nobody = np.zeros(len(y), dtype=bool)
    total = sum(pair_sums(f, y, s, nobody, count)) / sum(pair_sums(0.0 * f, y, s, nobody, count))
    assert LogPairLoss(y, K, s, count).at(f)[0] == pytest.approx(np.log(total), abs=1e-12)


@given(rule_problems())
def test_threshold_loss_is_the_log_of_the_mean_at_the_best_thresholds(problem):
    _, _, y, K, s, f = problem
    s = np.where(s > 0.0, s, 0.25)
    # Levels at the ends without rows have infinite thresholds, which add nothing.
    theta = fit_exponential(f, y, K, np.repeat(s[:, None], K - 1, axis=1))
    Z = np.where(y[:, None] > np.arange(K - 1), 1.0, -1.0)
    total = (s[:, None] * np.exp(-Z * (f[:, None] - theta))).sum() / s.sum()
    assert LogThresholdLoss(y, K, s).at(f)[0] == pytest.approx(np.log(total), abs=1e-9)


def test_absolute_loss_is_within_its_smoothing():
    rng = np.random.default_rng(3)
    codes, scores, weights = rng.integers(0, 5, 41), rng.normal(size=41), rng.random(41)
    loss = SmoothAbsoluteLoss(codes, weights)
    least = min(np.average(np.abs(codes - scores - c), weights=weights) for c in codes - scores)
    assert least <= loss.at(scores)[0] <= least + loss.smoothing
    smoothings = [stage.smoothing for stage in loss.stages()]
    assert smoothings == sorted(smoothings, reverse=True) and smoothings[-1] == loss.smoothing


# ------------------------------------------------------------------------------------- optimality


def split_minimum(problem, penalty):
    """Least objective by a generic solver, with each response as a difference of two parts."""
    m = problem.columns.shape[1]

    def objective(parts):
        b = parts[:m] - parts[m:]
        value, gradient = problem.at(b)
        return (
            value + penalty * parts.sum(),
            np.concatenate([gradient, -gradient]) + penalty,
        )

    found = minimize(
        objective,
        np.zeros(2 * m),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * m),
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.fun, found.x[:m] - found.x[m:]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.7, 0.3, 0.02])
def test_penalised_solution_is_that_of_a_generic_solver(kind, share):
    coverage, codes, weights, _ = noisy()
    loss = make_loss(kind, codes, 4, weights).stages()[0]
    columns = np.asfortranarray(coverage).view(np.uint8)
    problem = RuleProblem.of(columns, loss, RIDGE)
    np.testing.assert_allclose(problem.deviations, deviations(coverage, weights))
    zero = np.zeros(8)
    penalty = share * np.abs(problem.at(zero)[1]).max()
    b = solve(problem, zero, penalty, 1e-9)
    assert violation(b, problem.at(b)[1], penalty).max() <= 1e-9
    least, expected = split_minimum(problem, penalty)
    assert problem.value(b) + penalty * np.abs(b).sum() <= least + 1e-10
    np.testing.assert_allclose(b, expected, atol=1e-3)
    assert np.count_nonzero(b) > 0 and (share < 0.3 or np.count_nonzero(b) < 8)


def unpenalised_minimum(coverage, loss, kept, weights):
    p = deviations(coverage, weights)[kept]
    Phi = coverage[:, kept].astype(float)

    def objective(b):
        value, gradient = loss.at(Phi @ (b / p))
        return value + 0.5 * RIDGE * b @ b, Phi.T @ gradient / p + RIDGE * b

    return minimize(objective, np.zeros(len(kept)), jac=True, options={"gtol": 1e-8}).fun


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_keep", [1, 3, 8])
def test_refit_is_the_least_loss_of_the_kept_rules(kind, n_keep):
    coverage, codes, weights, rng = noisy()
    loss = make_loss(kind, codes, 4, weights)
    start = rng.normal(size=8)
    fit = sparse_refit(coverage, loss, start, n_keep)
    assert len(fit.kept) == n_keep
    np.testing.assert_array_equal(np.flatnonzero(fit.responses), fit.kept)
    assert max(fit.selection_violation, fit.refit_violation) <= 1e-8
    b = (fit.responses * deviations(coverage, weights))[fit.kept]
    least = unpenalised_minimum(coverage, loss, fit.kept, weights)
    after = loss.at(coverage @ fit.responses)[0]
    assert after + 0.5 * RIDGE * b @ b <= least + 1e-9
    assert after < loss.at(coverage @ np.where(fit.responses != 0.0, start, 0.0))[0]
    assert (fit.penalty == 0.0) == (n_keep == 8)


def test_absolute_refit_is_nearly_the_linear_programme():
    coverage, codes, weights, _ = noisy(n=150)
    fit = sparse_refit(coverage, SmoothAbsoluteLoss(codes, weights), np.zeros(8), 4)
    n = len(codes)
    A = np.hstack([coverage[:, fit.kept], np.ones((n, 1))]).astype(float)
    programme = linprog(
        np.concatenate([np.zeros(5), weights, weights]),
        A_eq=np.hstack([A, np.eye(n), -np.eye(n)]),
        b_eq=codes,
        bounds=[(None, None)] * 5 + [(0.0, None)] * (2 * n),
    )
    least = programme.fun / weights.sum()
    scores = coverage @ fit.responses
    shift = SmoothAbsoluteLoss(codes, weights).shift(scores)
    reached = np.average(np.abs(codes - scores - shift), weights=weights)
    assert least - 1e-12 <= reached <= least + 0.01


# -------------------------------------------------------------------------------------- selection


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_matter_are_kept(kind):
    rng = np.random.default_rng(5)
    coverage = rng.random((800, 40)) < 0.4
    score = 3.0 * coverage[:, 7] - 3.0 * coverage[:, 31] + 2.0 * coverage[:, 20]
    score += rng.normal(size=800)
    codes = np.searchsorted(np.quantile(score, [0.3, 0.5, 0.8]), score)
    fit = sparse_refit(coverage, make_loss(kind, codes, 4, np.ones(800)), np.zeros(40), 3)
    assert fit.kept.tolist() == [7, 20, 31]
    np.testing.assert_array_equal(np.sign(fit.responses[fit.kept]), [1, 1, -1])


def test_number_kept_is_met_along_the_path():
    coverage, codes, weights, _ = noisy(n=500, M=60)
    loss = LogPairLoss(codes, 4, weights)
    fits = [sparse_refit(coverage, loss, np.zeros(60), n_keep) for n_keep in (5, 20, 40)]
    assert [len(fit.kept) for fit in fits] == [5, 20, 40]
    assert all(fit.selection_violation <= 1e-8 for fit in fits)
    losses = [loss.at(coverage @ fit.responses)[0] for fit in fits]
    assert losses[0] > losses[1] > losses[2]
    assert fits[0].penalty > fits[1].penalty > fits[2].penalty


@pytest.mark.parametrize("kind", KINDS)
def test_overlapping_rules_are_solved_to_the_end(kind):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(600, 5))
    coverage = np.ones((600, 150), dtype=bool)
    for rule in coverage.T:
        for j in rng.choice(5, size=2, replace=False):
            rule &= rng.choice([-1.0, 1.0]) * X[:, j] <= rng.normal()
    score = X[:, 0] - X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=600)
    codes = np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score)
    fit = sparse_refit(coverage, make_loss(kind, codes, 5, np.ones(600)), np.zeros(150), 30)
    assert 27 <= len(fit.kept) <= 30
    assert max(fit.selection_violation, fit.refit_violation) <= 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_idle_and_repeated_rules_are_left_out(kind):
    coverage, codes, weights, _ = noisy(M=3)
    ones, zeros = np.ones((300, 1), dtype=bool), np.zeros((300, 1), dtype=bool)
    twins = np.hstack([zeros, coverage, ones, coverage, ~coverage])
    loss = make_loss(kind, codes, 4, weights)
    for n_keep in (5, 100):
        fit = sparse_refit(twins, loss, np.ones(11), n_keep)
        assert fit.kept.tolist() == [1, 2, 3]
        plain = sparse_refit(coverage, loss, np.ones(3), 3)
        np.testing.assert_allclose(fit.responses[1:4], plain.responses, atol=1e-6)
    single = sparse_refit(twins, loss, np.ones(11), 1)
    assert len(single.kept) == 1 and single.kept[0] in (1, 2, 3)


def test_rules_that_split_nothing_leave_nothing():
    loss = LogPairLoss(np.array([0, 1, 1]), 2, np.ones(3))
    fit = sparse_refit(np.ones((3, 2), dtype=bool), loss, np.ones(2), 1)
    assert fit.kept.tolist() == [] and not fit.responses.any()


def test_rules_that_enter_together_are_not_all_lost():
    # Two rules that mirror each other have the same slope for every response.
    coverage = np.array([[0, 0], [0, 0], [1, 0], [0, 1], [1, 1], [1, 1]], dtype=bool)
    loss = LogPairLoss(np.array([0, 0, 0, 0, 1, 1]), 2, np.ones(6))
    fit = sparse_refit(coverage, loss, np.zeros(2), 1)
    assert len(fit.kept) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_keep", [1, 2, 6])
def test_perfect_rules_have_bounded_responses(kind, n_keep):
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], 40)
    coverage = np.column_stack([codes > 0, codes > 1, rng.random((120, 4)) < 0.5])
    loss = make_loss(kind, codes, 3, np.ones(120))
    fit = sparse_refit(coverage, loss, np.zeros(6), n_keep)
    assert len(fit.kept) <= n_keep
    assert np.isfinite(fit.responses).all()
    assert np.isfinite(loss.at(coverage @ fit.responses)[0])
    assert np.abs(fit.responses).max() < 1e5
    assert fit.refit_violation <= 1e-8
    assert {0, 1} & set(fit.kept.tolist())
    if n_keep == 2 and kind != "binary":
        assert fit.kept.tolist() == [0, 1]


# ------------------------------------------------------------------------------------------ forms


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_of_the_coverage_does_not_matter(kind):
    coverage, codes, weights, rng = noisy(M=20)
    loss = make_loss(kind, codes, 4, weights)
    start = rng.normal(size=20)
    plain = sparse_refit(coverage, loss, start, 5)
    for form in (np.asfortranarray(coverage), coverage.astype(np.uint8)):
        other = sparse_refit(form, loss, start, 5)
        np.testing.assert_array_equal(other.responses, plain.responses)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_weight_and_repeated_rows(kind):
    coverage, codes, _, rng = noisy(M=6)
    counts = rng.integers(0, 3, size=300)
    weighted = sparse_refit(
        coverage, make_loss(kind, codes, 4, counts.astype(float)), np.zeros(6), 3
    )
    rows = np.repeat(np.arange(300), counts)
    repeated = make_loss(kind, codes[rows], 4, np.ones(len(rows)))
    again = sparse_refit(coverage[rows], repeated, np.zeros(6), 3)
    np.testing.assert_array_equal(weighted.kept, again.kept)
    np.testing.assert_allclose(weighted.responses, again.responses, atol=1e-6)


def test_selection_on_drawn_rows_refits_on_all():
    rng = np.random.default_rng(8)
    coverage = rng.random((6000, 12)) < 0.3
    score = 2.0 * coverage[:, 2] - 2.0 * coverage[:, 9] + rng.logistic(size=6000)
    codes = np.digitize(score, [-1.0, 0.0, 1.5])
    codes[:2] = 4  # a level that a plain draw would most likely miss
    loss = LogPairLoss(codes, 5, np.ones(6000), "per_threshold")
    drawn = sparse_refit(coverage, loss, np.zeros(12), 2, max_rows=500, seed=3)
    again = sparse_refit(coverage, loss, np.zeros(12), 2, max_rows=500, seed=3)
    plain = sparse_refit(coverage, loss, np.zeros(12), 2)
    assert drawn.kept.tolist() == plain.kept.tolist() == [2, 9]
    np.testing.assert_array_equal(drawn.responses, again.responses)
    np.testing.assert_allclose(drawn.responses, plain.responses, atol=1e-6)
    assert drawn.penalty != plain.penalty
    assert drawn.refit_violation <= 1e-8
    value = ExponentialPairLoss(codes, 5, count="per_threshold")
    log_mean = value.at(coverage @ drawn.responses).log_loss - np.log(value.total)
    assert loss.at(coverage @ drawn.responses)[0] == pytest.approx(log_mean)


def test_bad_arguments_get_a_sentence():
    coverage, codes, weights, _ = noisy()
    loss = LogPairLoss(codes, 4, weights)
    with pytest.raises(ValueError, match="n_keep must be at least 1; found 0"):
        sparse_refit(coverage, loss, np.zeros(8), 0)
    with pytest.raises(ValueError, match="start must hold a response for each of 8 rules"):
        sparse_refit(coverage, loss, np.zeros(7), 2)
    with pytest.raises(ValueError, match=r"coverage must have 300 rows, as the loss; found"):
        sparse_refit(coverage[:10], loss, np.zeros(8), 2)
    for make in (LogPairLoss, LogThresholdLoss):
        with pytest.raises(ValueError, match="two levels or more"):
            make(np.array([1, 1, 0]), 3, np.array([1.0, 1.0, 0.0]))
