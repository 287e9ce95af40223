"""Completion by low rank: against brute force over the factors, and as a transformer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from echelon import LowRankImputer
from echelon.solvers.gp.low_rank import approximate, estimate_scores


def low_rank(seed, n=14, d=7, rank=2, noise=0.2, share=0.8):
    """A matrix of low rank about offsets, with noise and missing entries; and the whole of it."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 3.0 * rng.normal(size=d)
    whole += noise * rng.normal(size=(n, d))
    holes = whole.copy()
    holes[rng.random((n, d)) > share] = np.nan
    return holes, whole


def least_objective(X, W, rank, rng, starts=6):
    """Minimum over offsets and both factors, by a general method from random starts."""
    n, d = X.shape

    def value_and_gradient(parameters):
        offset, rest = parameters[:d], parameters[d:]
        A, B = rest[: n * rank].reshape(n, rank), rest[n * rank :].reshape(rank, d)
        residuals = offset + A @ B - X
        slope = 2.0 * W * residuals
        gradient = [slope.sum(axis=0), (slope @ B.T).ravel(), (A.T @ slope).ravel()]
        return np.sum(W * residuals**2), np.concatenate(gradient)

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-14, "gtol": 1e-9}
    begins = rng.normal(size=(starts, d + (n + d) * rank))
    found = [
        minimize(value_and_gradient, begin, jac=True, method="L-BFGS-B", options=options).fun
        for begin in begins
    ]
    return min(found)


@pytest.mark.parametrize("graded", [False, True], ids=["holes", "graded"])
@pytest.mark.parametrize("shape", [(14, 7), (6, 12)])
@pytest.mark.parametrize("seed", range(2))
def test_objective_is_the_least_that_brute_force_finds(seed, shape, graded):
    X, _ = low_rank(seed, *shape)
    rng = np.random.default_rng(seed)
    weights = rng.random(shape) if graded else np.ones(shape)
    imputer = LowRankImputer(2, max_iter=50_000, tol=1e-9).fit(X, weights=weights)
    W = np.where(np.isnan(X), 0.0, weights)
    expected = least_objective(np.nan_to_num(X), W, 2, rng)
    assert imputer.reconstruction_error_ == pytest.approx(expected, rel=1e-7, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.integers(1, 12), st.integers(1, 9)),
    st.integers(1, 4),
    st.floats(0.2, 1.0),
)
def test_objective_never_rises_and_belongs_to_the_result(seed, shape, rank, share):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    W = np.where(rng.random(shape) < share, rng.random(shape), 0.0)
    result = approximate(X, W, min(rank, *shape), max_iter=60, tol=1e-6)
    assert (np.diff(result.objectives) <= 0.0).all()
    assert len(result.objectives) <= result.n_iter + 1 <= 61
    residuals = X - result.approximation
    assert np.sum(W * residuals**2) == pytest.approx(result.objectives[-1], rel=1e-9, abs=1e-12)
    products = result.components @ result.components.T
    real = np.linalg.norm(result.scores, axis=0) > 1e-6
    np.testing.assert_allclose(products[np.ix_(real, real)], np.eye(real.sum()), atol=1e-8)


@pytest.mark.parametrize("graded", [False, True])
def test_end_is_a_fixed_point_of_the_plain_steps(graded):
    X, _ = low_rank(4, 30, 8)
    rng = np.random.default_rng(0)
    W = np.where(np.isnan(X), 0.0, rng.random(X.shape) if graded else 1.0)
    X = np.nan_to_num(X)
    result = approximate(X, W, 2, max_iter=10_000, tol=1e-10)
    U = result.approximation
    filled = W * X + (1.0 - W) * U
    means = filled.mean(axis=0)
    left, lengths, right = np.linalg.svd(filled - means, full_matrices=False)
    best = means + (left[:, :2] * lengths[:2]) @ right[:2]
    np.testing.assert_allclose(best, U, atol=1e-7)
    assert result.converged
    assert result.movement <= 1e-10


def test_momentum_takes_fewer_steps_than_plain_em():
    X, _ = low_rank(5, 60, 12, rank=4, share=0.6)
    W = np.where(np.isnan(X), 0.0, 1.0)
    X = np.nan_to_num(X - np.nanmean(X, axis=0))
    result = approximate(X, W, 4, max_iter=5000, tol=1e-6)
    U = np.zeros_like(X)
    for _ in range(result.n_iter):
        filled = W * X + (1.0 - W) * U
        means = filled.mean(axis=0)
        left, lengths, right = np.linalg.svd(filled - means, full_matrices=False)
        U = means + (left[:, :4] * lengths[:4]) @ right[:4]
    assert result.objectives[-1] < np.sum(W * (X - U) ** 2)


def test_exact_low_rank_is_recovered():
    X, whole = low_rank(1, 40, 10, noise=0.0, share=0.7)
    imputer = LowRankImputer(2, max_iter=20_000, tol=1e-10)
    np.testing.assert_allclose(imputer.fit_transform(X), whole, atol=1e-6)
    np.testing.assert_allclose(imputer.transform(X), whole, atol=1e-4)
    assert imputer.noise_variance_ < 1e-12


def test_completion_is_nearer_than_the_means():
    X, whole = low_rank(2, 200, 20, rank=3, noise=0.3, share=0.6)
    holes = np.isnan(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    half = LowRankImputer(3).fit(X[:100])
    for filled, rows in (
        (LowRankImputer(3).fit_transform(X), slice(None)),
        (half.transform(X[100:]), slice(100, None)),
    ):
        error = np.mean((filled - whole[rows])[holes[rows]] ** 2)
        assert error < 0.25 * np.mean((means - whole)[rows][holes[rows]] ** 2)


def test_entries_that_are_there_stay():
    X, _ = low_rank(3)
    there = ~np.isnan(X)
    imputer = LowRankImputer(2)
    for filled in (imputer.fit_transform(X), imputer.transform(X)):
        np.testing.assert_array_equal(filled[there], X[there])
        assert np.isfinite(filled).all()


def test_graded_entries_come_out_between_themselves_and_the_approximation():
    X, _ = low_rank(3)
    weights = np.random.default_rng(0).random(X.shape)
    weights[0] = 1.0
    imputer = LowRankImputer(2, tol=1e-8, max_iter=5000)
    filled = imputer.fit_transform(X, weights=weights)
    W = np.where(np.isnan(X), 0.0, weights)
    left, lengths, right = np.linalg.svd(filled - imputer.offset_, full_matrices=False)
    U = imputer.offset_ + (left[:, :2] * lengths[:2]) @ right[:2]
    np.testing.assert_allclose(filled, W * np.nan_to_num(X) + (1.0 - W) * U, atol=1e-5)
    np.testing.assert_allclose(imputer.singular_values_, lengths[:2], atol=1e-5)
    np.testing.assert_allclose(np.abs(np.sum(imputer.components_ * right[:2], axis=1)), 1.0)


def test_weight_zero_is_a_missing_entry():
    X, whole = low_rank(6)
    weights = np.where(np.isnan(X), 0.0, 1.0)
    a = LowRankImputer(2).fit_transform(X)
    np.testing.assert_array_equal(LowRankImputer(2).fit_transform(whole, weights=weights), a)
    np.testing.assert_array_equal(LowRankImputer(2).fit_transform(X, weights=np.ones(X.shape)), a)


def test_scores_of_new_rows_are_those_of_a_ridge_regression():
    X, _ = low_rank(7, 40, 8)
    imputer = LowRankImputer(3).fit(X)
    variances = imputer.singular_values_**2 / 40
    row = np.array([1.0, np.nan, 2.0, -1.0, np.nan, np.nan, 0.5, np.nan])
    there = ~np.isnan(row)
    B = imputer.components_[:, there]
    penalty = np.diag(imputer.noise_variance_ / variances)
    scores = np.linalg.solve(B @ B.T + penalty, B @ (row - imputer.offset_)[there])
    expected = np.where(there, row, imputer.offset_ + scores @ imputer.components_)
    np.testing.assert_allclose(imputer.transform(row[None]), expected[None])


def test_rows_of_few_entries_are_determined():
    X, _ = low_rank(8, 40, 8, noise=0.0, share=1.0)
    imputer = LowRankImputer(2).fit(X)
    rows = np.full((2, 8), np.nan)
    rows[1, 3] = X[0, 3]
    filled = imputer.transform(rows)
    np.testing.assert_allclose(filled[0], imputer.offset_)
    # Without noise the shortest scores pass through the only entry.
    direction = imputer.singular_values_**2 @ (imputer.components_ * imputer.components_[:, [3]])
    step = (X[0, 3] - imputer.offset_[3]) / direction[3]
    np.testing.assert_allclose(filled[1], imputer.offset_ + step * direction, rtol=1e-6)


def test_scores_of_many_rows_are_those_of_single_ones(monkeypatch):
    rng = np.random.default_rng(0)
    X, W, B = (
        rng.normal(size=(9, 5)),
        rng.random((9, 5)),
        np.linalg.qr(rng.normal(size=(5, 2)))[0].T,
    )
    together = estimate_scores(X, W, B, np.array([2.0, 1.0]), 0.3)
    monkeypatch.setattr("echelon.kernels.rows._CHUNK", 8)
    apart = estimate_scores(X, W, B, np.array([2.0, 1.0]), 0.3)
    np.testing.assert_allclose(apart, together, rtol=1e-12)


def test_column_without_entries_gets_the_mean_of_all():
    X, _ = low_rank(9)
    X[:, 4] = np.nan
    filled = LowRankImputer(2).fit_transform(X)
    np.testing.assert_allclose(filled[:, 4], np.nanmean(X), atol=1e-9)


def test_row_without_entries_gets_the_offsets():
    X, _ = low_rank(9, 30)
    X[4] = np.nan
    imputer = LowRankImputer(2)
    imputer.fit_transform(X)
    np.testing.assert_allclose(imputer.transform(X)[4], imputer.offset_)


def test_shift_scale_and_order_do_not_matter():
    X, _ = low_rank(10, 25, 8)
    filled = LowRankImputer(2, tol=1e-7, max_iter=5000).fit_transform(X)
    moved = LowRankImputer(2, tol=1e-7, max_iter=5000).fit_transform(50.0 * X + 1e4)
    np.testing.assert_allclose((moved - 1e4) / 50.0, filled, atol=1e-5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(25), rng.permutation(8)
    mixed = LowRankImputer(2, tol=1e-7, max_iter=5000).fit_transform(X[rows][:, columns])
    np.testing.assert_allclose(mixed, filled[rows][:, columns], atol=1e-5)


def test_full_rank_fills_the_means():
    X, _ = low_rank(11)
    filled = LowRankImputer(50).fit_transform(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    np.testing.assert_allclose(filled, np.where(np.isnan(X), means, X))


def test_constant_matrix():
    X = np.full((5, 3), 2.0)
    X[1, 2] = np.nan
    imputer = LowRankImputer(2).fit(X)
    assert imputer.converged_
    assert imputer.reconstruction_error_ == 0.0
    np.testing.assert_array_equal(imputer.transform(X), np.full((5, 3), 2.0))


def test_warning_when_steps_run_out():
    X, _ = low_rank(12)
    imputer = LowRankImputer(2, max_iter=3, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3 steps.*above tol=1e-08") as caught:
        imputer.fit(X)
    assert caught[0].filename == __file__
    assert imputer.n_iter_ == 3
    assert not imputer.converged_


def test_as_a_transformer():
    X, _ = low_rank(13, 30, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    imputer = LowRankImputer(2).set_output(transform="pandas")
    filled = imputer.fit_transform(frame)
    assert list(filled.columns) == list("abcd") == list(imputer.get_feature_names_out())
    assert not filled.isna().any().any()
    pd.testing.assert_frame_equal(imputer.fit(frame).transform(frame).isna(), filled.isna())
    assert get_tags(imputer).input_tags.allow_nan
    model = make_pipeline(clone(imputer), LinearRegression()).fit(frame, np.arange(30.0))
    assert np.isfinite(model.predict(frame)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1; found 0"),
        ({"n_components": 1.5}, "n_components must be an integer"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": 0.0}, "tol must be a positive number"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        LowRankImputer(**parameters).fit(low_rank(0)[0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((14, 6)), r"weights must have the shape of X, \(14, 7\); found \(14, 6\)"),
        (np.full((14, 7), 1.5), "weights must be numbers from 0 to 1"),
        (np.full((14, 7), np.nan), "weights must be numbers from 0 to 1"),
        (np.zeros((14, 7)), "X must have an entry that is not missing"),
        ("heavy", "weights must hold numbers"),
    ],
)
def test_weights_are_checked(weights, message):
    imputer = LowRankImputer()
    with pytest.raises(ValueError, match=message):
        imputer.fit(low_rank(0)[0], weights=weights)
    assert not hasattr(imputer, "n_features_in_")


def test_nothing_but_missing_entries_is_refused():
    with pytest.raises(ValueError, match="X must have an entry that is not missing"):
        LowRankImputer().fit(np.full((3, 2), np.nan))
