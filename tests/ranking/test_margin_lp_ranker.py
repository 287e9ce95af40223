"""MarginLPRanker against the whole linear programme over all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, linprog
from sklearn.exceptions import ConvergenceWarning
from support.listed_pairs import differences, listed, ranking_data

from echelon.pairs import PairSet
from echelon.ranking import MarginLPRanker
from echelon.solvers.ranking import margin_lp
from echelon.solvers.ranking.margin_lp import _Master


def whole_programme(X, pairs, nu, norm):
    """Optimum with a slack for every pair; without slacks for nu = 0."""
    D, weights = differences(X, pairs)
    m, d = D.shape
    slack = -sp.identity(m) if nu > 0 else sp.csr_array((m, 0))
    price = weights / (nu * weights.sum()) if nu > 0 else np.empty(0)
    rows = sp.hstack([sp.csr_array(np.c_[-D, D, np.ones(m)]), slack], format="csr")
    limits = np.zeros(m)
    high = [1.0] * (2 * d)
    if norm == "l1":
        ball = np.r_[np.ones(2 * d), np.zeros(1 + slack.shape[1])]
        rows, limits = sp.vstack([rows, sp.csr_array(ball[None])]), np.r_[limits, 1.0]
    bounds = [(0, top) for top in high] + [(None, None)] + [(0, None)] * slack.shape[1]
    found = linprog(np.r_[np.zeros(2 * d), -1.0, price], A_ub=rows, b_ub=limits, bounds=bounds)
    return -found.fun


def worst_mean(margins, weights, nu):
    """Mean of the least margins, of a share nu by weight."""
    order = np.argsort(margins)
    left = nu * weights.sum()
    taken = np.clip(left - np.r_[0.0, np.cumsum(weights[order])[:-1]], 0.0, weights[order])
    return taken @ margins[order] / left


def norm_of(coef, norm):
    return np.abs(coef).sum() if norm == "l1" else np.abs(coef).max()


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("nu", [0.3, 0.6, 0.9])
def test_soft_margin_is_that_of_the_whole_programme(nu, norm):
    X, y, qid = ranking_data(n=50, d=5)
    weights = np.random.default_rng(1).integers(0, 3, 50).astype(float)
    pairs = PairSet.from_labels(y, qid, weights) + PairSet.from_pairs([[0, 1], [3, 2]], 50)
    model = MarginLPRanker(nu, norm=norm, tol=1e-6)
    model.fit(X, y, qid=qid, sample_weight=weights, pairs=[[0, 1], [3, 2]])
    D, c = differences(X, pairs)
    best = whole_programme(X, pairs, nu, norm)
    assert best > 0.01
    assert model.objective_ <= best + 1e-9 <= model.objective_ + model.duality_gap_ + 2e-9
    scale = np.abs(c @ D / c.sum())
    assert model.duality_gap_ <= 1e-6 * (scale.max() if norm == "l1" else scale.sum())
    margins = D @ model.coef_
    assert model.objective_ == pytest.approx(worst_mean(margins, c, nu), abs=1e-6)
    value = model.margin_ - c @ np.maximum(0.0, model.margin_ - margins) / (nu * c.sum())
    assert model.objective_ == pytest.approx(value)
    assert norm_of(model.coef_, norm) == pytest.approx(1.0)
    # The share of pairs below the margin is at most nu, and with those at it, at least nu.
    below = c[margins < model.margin_ - 1e-3].sum() / c.sum()
    up_to = c[margins < model.margin_ + 1e-3].sum() / c.sum()
    assert below <= nu + 0.01
    assert up_to >= nu - 0.01
    assert model.converged_


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("seed", range(3))
def test_hard_margin_is_that_of_the_whole_programme(norm, seed):
    X, y, qid = ranking_data(n=80, d=4, noise=0.0, seed=seed)
    pairs = PairSet.from_labels(y, qid)
    model = MarginLPRanker(0.0, norm=norm, tol=1e-9).fit(X, y, qid=qid)
    best = whole_programme(X, pairs, 0.0, norm)
    D, _ = differences(X, pairs)
    assert model.objective_ == model.margin_ == pytest.approx((D @ model.coef_).min())
    assert model.margin_ == pytest.approx(best, rel=1e-6)
    assert model.duality_gap_ < 1e-8
    assert norm_of(model.coef_, norm) == pytest.approx(1.0)
    assert model.n_constraints_ < pairs.n_pairs


def test_few_weights_differ_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = np.digitize(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=150), [-1.0, 0.0, 1.0])
    model = MarginLPRanker(0.8).fit(X, y)
    assert set(np.flatnonzero(model.coef_)) == {0, 1}


def test_sparse_constant_and_listed_inputs_change_nothing():
    X, y, qid = ranking_data(n=40)
    padded = np.c_[np.full(40, 3.0), X]
    for norm in ("l1", "linf"):
        plain = MarginLPRanker(0.7, norm=norm, tol=1e-8).fit(X, y, qid=qid)
        wide = MarginLPRanker(0.7, norm=norm, tol=1e-8).fit(padded, y, qid=qid)
        sparse = MarginLPRanker(0.7, norm=norm, tol=1e-8).fit(sp.csr_array(padded), y, qid=qid)
        both = np.column_stack(listed(PairSet.from_labels(y, qid))[:2])
        stated = MarginLPRanker(0.7, norm=norm, tol=1e-8).fit(X, pairs=both)
        assert wide.coef_[0] == sparse.coef_[0] == 0.0
        for other in (wide, sparse, stated):
            assert other.objective_ == pytest.approx(plain.objective_, abs=1e-7)
            np.testing.assert_allclose(other.coef_[-3:], plain.coef_, atol=1e-4)


def test_integer_weights_are_copies(rng):
    X, y, qid = ranking_data(n=40)
    counts = rng.integers(0, 4, 40)
    weighted = MarginLPRanker(0.7, tol=1e-8).fit(X, y, qid=qid, sample_weight=counts)
    rows = np.repeat(np.arange(40), counts)
    copies = MarginLPRanker(0.7, tol=1e-8).fit(X[rows], y[rows], qid=qid[rows])
    assert weighted.objective_ == pytest.approx(copies.objective_, abs=1e-7)
    np.testing.assert_allclose(weighted.coef_, copies.coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("nu", "message"), [(0.0, "rank all pairs correctly"), (0.05, "on the worst 0.05 of the pairs")]
)
def test_weights_of_zero_are_told_of(nu, message):
    X, y, qid = ranking_data(noise=2.0)
    with pytest.warns(ConvergenceWarning, match=message):
        model = MarginLPRanker(nu).fit(X, y, qid=qid)
    assert not model.coef_.any()
    assert model.objective_ == 0.0


def test_too_few_steps_are_told_of():
    X, y, qid = ranking_data(d=6)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps with a gap of"):
        model = MarginLPRanker(0.5, max_iter=2).fit(X, y, qid=qid)
    best = whole_programme(X, PairSet.from_labels(y, qid), 0.5, "l1")
    assert model.objective_ <= best <= model.objective_ + model.duality_gap_ + 1e-9
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu": 1.0}, "nu must be a number from 0 to below 1; found 1.0"),
        ({"nu": "half"}, "nu must be a number"),
        ({"norm": "l2"}, "norm must be 'l1' or 'linf'; found 'l2'"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, y, _ = ranking_data()
    with pytest.raises(ValueError, match=message):
        MarginLPRanker(**parameters).fit(X, y)


@pytest.mark.parametrize("unit", [1e-120, 1e-8, 1e8])
@pytest.mark.parametrize(("nu", "norm"), [(0.0, "l1"), (0.3, "l1"), (0.8, "linf")])
def test_the_certificate_is_true_in_any_unit(unit, nu, norm):
    X, y, qid = ranking_data(n=40, noise=0.0 if nu == 0.0 else 0.5)
    pairs = PairSet.from_labels(y, qid)
    best = whole_programme(X, pairs, nu, norm)
    assert best > 0.01
    model = MarginLPRanker(nu, norm=norm).fit(X * unit, y, qid=qid)
    value, gap = model.objective_ / unit, model.duality_gap_ / unit
    assert value <= best + 1e-9 <= value + gap + 2e-9
    assert gap <= 1e-3
    assert model.margin_ / unit == pytest.approx(
        MarginLPRanker(nu, norm=norm).fit(X, y, qid=qid).margin_, rel=0.05
    )


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_any_multipliers_bound_the_master_from_above(norm):
    master = _Master(np.array([4.0, 1.0, 1.0] if norm == "l1" else [2.0, 1.0, 1.0]), norm)
    slope = np.array([0.5, -0.2, 0.1])
    master.add(np.r_[slope, 0.5, -1.0][None])
    # At ρ = 5, the largest allowed, with z = 2.5 − slope·w.
    best = 2.5 + (0.5 if norm == "l1" else 0.8)
    assert master.solve()[2] == pytest.approx(best)
    for size in (0.0, 0.1, 1.0, 2.0, 10.0):
        assert master._bound(np.array([size])) >= best - 1e-12


def test_large_inputs_that_do_not_vary_leave_the_programme_solvable():
    X, y, qid = ranking_data(n=40)
    wide = sp.csr_array(np.column_stack([X, np.full(len(X), 1e14)]))
    found = MarginLPRanker(0.5, norm="linf").fit(wide, y, qid=qid)
    expected = MarginLPRanker(0.5, norm="linf").fit(X, y, qid=qid)
    assert found.converged_
    assert found.objective_ == pytest.approx(expected.objective_, abs=2e-3)


def test_a_programme_that_the_solver_gives_up(monkeypatch):
    X, y, qid = ranking_data(n=40)

    def unknown(*args, **kwargs):
        return OptimizeResult(x=None, message="model_status is Unknown")

    monkeypatch.setattr(margin_lp, "linprog", unknown)
    with pytest.warns(ConvergenceWarning, match="or scale X"):
        model = MarginLPRanker(0.5).fit(X, y, qid=qid)
    assert not model.converged_
    assert 0.0 < model.duality_gap_ < np.inf
