"""The boosting loop, its losses and its line searches, against plain formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from echelon.ordinal.costs import adjacent_weights, cost_matrix, threshold_weights
from echelon.ordinal.reduction import decode
from echelon.ordinal.thresholds import fit_exponential, margins
from echelon.pairs.exponential import ExponentialPairLoss
from echelon.solvers.boosting.bins import bin_inputs
from echelon.solvers.boosting.orboost import (
    LONGEST_STEP,
    PairObjective,
    ThresholdObjective,
    boost,
    newton_step,
)
from echelon.solvers.boosting.weak_learners import LinearSearch, StumpLearner


def plain_terms(scores, codes, W, sample_weight, b):
    """All terms w·W·exp(−Z(f − b)), and Z."""
    Z = np.where(codes[:, None] > np.arange(W.shape[1]), 1.0, -1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = sample_weight[:, None] * W * np.exp(-Z * (scores[:, None] - b))
    return np.where(W > 0.0, terms, 0.0), Z


@st.composite
def problems(draw):
    n, K = draw(st.integers(2, 15)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    codes = rng.integers(K, size=n)
    codes[:2] = [0, K - 1] if draw(st.booleans()) else codes[:2]
    return codes, K, rng.choice([0.5, 1.0, 2.0], size=n), 2.0 * rng.normal(size=n), rng


def class_weights(kind, K):
    if kind == "adjacent":
        return adjacent_weights(K)
    return threshold_weights(cost_matrix(kind, K))


@settings(deadline=None)
@given(problems(), st.sampled_from(["absolute", "squared", "zero_one", "adjacent"]), st.booleans())
def test_loss_thresholds_and_gradients_are_those_of_all_terms(problem, kind, by_row):
    codes, K, sample_weight, scores, _ = problem
    W = class_weights(kind, K)
    rows = W[codes]
    if by_row:
        objective = ThresholdObjective(codes, rows, sample_weight, by_row=True)
    else:
        objective = ThresholdObjective(codes, W, sample_weight)
    point = objective.at(scores)
    b = fit_exponential(scores, codes, K, rows * sample_weight[:, None])
    np.testing.assert_allclose(point.thresholds, b, atol=1e-10)
    terms, Z = plain_terms(scores, codes, rows, sample_weight, b)
    total = terms.sum()
    if total == 0.0:
        assert point.log_loss == -np.inf
        assert not point.negative_gradient.any()
        return
    assert np.exp(point.log_loss) * sample_weight.sum() == pytest.approx(total)
    np.testing.assert_allclose(point.negative_gradient, (Z * terms).sum(axis=1) / total, atol=1e-10)
    np.testing.assert_allclose(
        point.upper, np.where(Z > 0, terms, 0.0).sum(axis=1) / total, atol=1e-10
    )


def test_weights_of_the_link_are_means_by_class():
    codes = np.array([0, 2, 2])
    rows = np.array([[1.0, 2.0], [3.0, 1.0], [6.0, 4.0]])
    objective = ThresholdObjective(codes, rows, np.array([1.0, 2.0, 1.0]), by_row=True)
    np.testing.assert_allclose(objective.link_weights(), [[1.0, 2.0], [1.0, 1.0], [4.0, 2.0]])


@settings(deadline=None, max_examples=50)
@given(problems(), st.booleans(), st.booleans())
def test_the_step_has_the_least_loss_along_h(problem, binary, pairs):
    codes, K, sample_weight, scores, rng = problem
    codes[:2] = [0, K - 1]
    h = rng.uniform(-1.0, 1.0, size=len(codes))
    if binary:
        h = np.where(h > 0, 1.0, -1.0)
    if pairs:
        objective = PairObjective(codes, cost_matrix("absolute", K)[codes], sample_weight)
        loss = ExponentialPairLoss(codes, K, sample_weight)

        def value(v):
            return loss.at(scores + v * h).log_loss

        point = objective.at(scores)
    else:
        objective = ThresholdObjective(codes, np.ones((K, K - 1)), sample_weight)
        point = objective.at(scores)

        def value(v):
            held = plain_terms(
                scores + v * h, codes, np.ones((len(codes), K - 1)), sample_weight, point.thresholds
            )
            return np.log(held[0].sum())

    if point.negative_gradient @ h <= 1e-9:
        return
    v = objective.step(scores, point, h, binary=binary)
    found = minimize_scalar(value, bounds=(0.0, LONGEST_STEP), method="bounded")
    assert 0.0 < v <= LONGEST_STEP
    assert value(v) <= found.fun + 1e-9


def test_newton_is_safe_where_the_curvature_misleads():
    # ln cosh is flat far away: from 0, Newton on ln cosh(v − 8) would jump beyond all bounds.
    v = newton_step(lambda v: (np.tanh(v - 8.0), 1.0 / np.cosh(v - 8.0) ** 2))
    assert v == pytest.approx(8.0)
    assert newton_step(lambda v: (-1.0, 0.0)) == LONGEST_STEP
    assert newton_step(lambda v: (-np.exp(-v), np.exp(-v))) == LONGEST_STEP
    assert newton_step(lambda v: (v - 1e-9, 1.0)) == pytest.approx(1e-9)


def noisy(rng, n=120, K=4):
    X = rng.normal(size=(n, 3))
    scores = X @ [1.0, -1.0, 0.3] + np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(scores, np.arange(1, K) / K), scores)


def learners(X):
    weights = np.ones(len(X))
    return {
        "perceptron": LinearSearch(X, weights, steps=20, soft=False),
        "sigmoid": LinearSearch(X, weights, steps=20, soft=True),
        "stump": StumpLearner(bin_inputs(X)),
    }


def objectives(codes, K):
    weights = np.ones(len(codes))
    return {
        "all": ThresholdObjective(codes, np.ones((K, K - 1)), weights),
        "zero_one": ThresholdObjective(codes, class_weights("zero_one", K), weights),
        "left_right": ThresholdObjective(codes, adjacent_weights(K), weights),
        "pairs": PairObjective(codes, cost_matrix("absolute", K)[codes], weights),
    }


@pytest.mark.parametrize("base", ["perceptron", "sigmoid", "stump"])
@pytest.mark.parametrize("loss", ["all", "zero_one", "left_right", "pairs"])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_the_loss_never_rises_and_belongs_to_the_members(rng, base, loss, rate):
    X, codes = noisy(rng)
    objective = objectives(codes, 4)[loss]
    rounds = list(
        boost(
            objective,
            learners(X)[base],
            len(X),
            n_rounds=150,
            learning_rate=rate,
            rng=np.random.default_rng(0),
        )
    )
    assert len(rounds) > 20
    losses = np.array([objective.at(np.zeros(len(X))).log_loss] + [r.log_loss for r in rounds])
    assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0] - 0.3
    scores = sum(r.weight * r.member.predict(X) for r in rounds)
    point = objective.at(scores)
    assert point.log_loss == pytest.approx(losses[-1])
    np.testing.assert_allclose(point.thresholds, rounds[-1].thresholds)
    assert all((np.diff(r.thresholds) >= 0).all() for r in rounds)
    if loss == "all":
        cost = np.abs(decode(margins(scores, point.thresholds)) - codes).mean()
        assert cost <= np.exp(losses[-1])


@pytest.mark.parametrize("loss", ["all", "left_right", "pairs"])
@pytest.mark.parametrize("base", ["perceptron", "sigmoid"])
def test_thousands_of_rounds_on_separable_rows_stay_finite(rng, loss, base):
    X = np.sort(rng.normal(size=(12, 1)), axis=0)
    codes = np.repeat(np.arange(3), 4)
    learner = LinearSearch(X, np.ones(12), steps=2, soft=base == "sigmoid")
    last = None
    for last in boost(
        objectives(codes, 3)[loss],
        learner,
        12,
        n_rounds=4_000 if loss == "all" else 2_000,
        learning_rate=1.0,
        rng=np.random.default_rng(0),
    ):
        assert np.isfinite(last.log_loss)
        assert not np.isnan(last.thresholds).any()
    assert np.isfinite(last.thresholds).all()
    assert last.log_loss < -15.0


@pytest.mark.parametrize("loss", ["all", "pairs"])
def test_a_stump_without_error_ends_the_rounds(loss):
    X = np.arange(6.0)[:, None]
    codes = np.repeat([0, 1], 3)
    (only,) = boost(
        objectives(codes, 2)[loss],
        StumpLearner(bin_inputs(X)),
        6,
        n_rounds=50,
        learning_rate=1.0,
        rng=np.random.default_rng(0),
    )
    assert only.weight == LONGEST_STEP
    assert only.member.predict(X).tolist() == [-1.0] * 3 + [1.0] * 3
    assert np.isfinite(only.log_loss)


@pytest.mark.parametrize("base", ["perceptron", "sigmoid", "stump"])
def test_without_an_edge_there_are_no_rounds(base):
    X, codes = np.ones((6, 2)), np.repeat([0, 1, 2], 2)
    rounds = boost(
        objectives(codes, 3)["all"],
        learners(X)[base],
        6,
        n_rounds=5,
        learning_rate=1.0,
        rng=np.random.default_rng(0),
    )
    assert list(rounds) == []


def test_thresholds_of_pairs_cost_least_and_mirror(rng):
    codes = rng.integers(4, size=60)
    scores = np.round(codes + rng.normal(size=60), 1)
    costs = cost_matrix("absolute", 4)
    b = PairObjective(codes, costs[codes], np.ones(60)).at(scores).thresholds
    mirrored = PairObjective(3 - codes, costs[3 - codes], np.ones(60)).at(-scores).thresholds
    np.testing.assert_allclose(b, -mirrored[::-1])
    cuts = np.concatenate([[-np.inf], np.unique(scores) + 0.05])
    paid = [
        np.abs((scores[:, None] > [x, y, z]).sum(axis=1) - codes).sum()
        for x in cuts
        for y in cuts[cuts >= x]
        for z in cuts[cuts >= y]
    ]
    assert np.abs(decode(margins(scores, b)) - codes).sum() == min(paid)
