from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from support.data import ascending, ordinal_data

from echelon import ProportionalOdds
from echelon.datasets import load_anes96
from echelon.linear.proportional_odds import SeparationWarning
from echelon.ordinal.costs import cost_matrix
from echelon.ordinal.likelihoods import LINKS, class_probabilities, get_link


def objective(model, X, y, weights=None, offset=0.0):
    """Penalised negative log-likelihood of a fitted model from its public attributes."""
    scores = X @ model.coef_ + offset
    P = class_probabilities(get_link(model.link), scores, model.thresholds_)
    weights = np.ones(len(y)) if weights is None else weights
    log_p = np.log(P[np.arange(len(y)), y])
    return -(weights @ log_p) + 0.5 * model.alpha * np.sum(model.coef_**2)


def relative_gradient(model, X, y, h=1e-5):
    """Central differences in the units of X, relative to the size of each column's terms."""
    scale = np.concatenate([np.ones(len(model.thresholds_)), X.std(axis=0)])
    start = np.concatenate([model.thresholds_, model.coef_])
    K = len(model.classes_)
    other = ProportionalOdds(model.link, alpha=model.alpha)
    gradient = []
    for j in range(len(start)):
        sides = []
        for sign in (1, -1):
            moved = start.copy()
            moved[j] += sign * h / scale[j]
            # A coefficient moves about the column's centre, not about a far origin.
            if j >= K - 1:
                moved[: K - 1] += sign * h / scale[j] * X[:, j - K + 1].mean()
            other.thresholds_, other.coef_ = moved[: K - 1], moved[K - 1 :]
            sides.append(objective(other, X, y))
        gradient.append((sides[0] - sides[1]) / (2 * h))
    return np.abs(gradient).max() / len(y)


@pytest.mark.parametrize("link", LINKS)
def test_the_certificate_is_true(link):
    X, y = ordinal_data(n=200)
    model = ProportionalOdds(link).fit(X, y)
    assert model.converged_
    assert model.gradient_norm_ <= 1e-8
    assert model.log_likelihood_ == pytest.approx(-objective(model, X, y))
    assert relative_gradient(model, X, y) <= 1e-7


@pytest.mark.parametrize("link", [name for name in LINKS if LINKS[name].log_concave])
def test_a_second_method_finds_nothing_better(link):
    X, y = ordinal_data(n=80, K=3)
    model = ProportionalOdds(link, alpha=0.3).fit(X, y)
    other = ProportionalOdds(link, alpha=0.3)

    def function(v):
        other.thresholds_, other.coef_ = np.array([v[0], v[0] + np.exp(v[1])]), v[2:]
        return objective(other, X, y)

    # Long trial steps may reach a likelihood of zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        best = minimize(function, np.zeros(5), method="BFGS", options={"gtol": 1e-7})
    assert objective(model, X, y) <= best.fun + 1e-9
    assert objective(model, X, y) == pytest.approx(best.fun, rel=1e-7)


@pytest.mark.parametrize(
    ("shift", "scale"),
    [(1000.0, [1.0, 1.0, 1.0]), (0.0, [1.0, 1e4, 1e-3]), (-1e5, [1e-2, 1e3, 1.0])],
)
def test_location_and_scale_of_the_features_do_not_matter(shift, scale):
    X, y = ordinal_data(n=300)
    moved = (X + shift) * scale
    plain, other = ProportionalOdds().fit(X, y), ProportionalOdds().fit(moved, y)
    assert other.gradient_norm_ <= 1e-8
    assert relative_gradient(other, moved, y) <= 1e-6
    assert other.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-10)
    np.testing.assert_allclose(other.coef_ * scale, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.predict_proba(moved), plain.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("levels", [[0, 1, 9, 2, 3], [-2, -1, 0, 1, 2, 3, 8, 9]])
def test_unobserved_levels_leave_the_likelihood_alone(levels):
    X, y = ordinal_data(n=200)
    plain = ProportionalOdds().fit(X, y)
    model = ProportionalOdds(classes=levels).fit(X, y)
    assert model.gradient_norm_ <= 1e-8
    assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert ascending(model.thresholds_)
    observed = [levels.index(k) for k in range(4)]
    P = model.predict_proba(X)
    np.testing.assert_allclose(P[:, observed], plain.predict_proba(X))
    assert (np.delete(P, observed, axis=1) == 0).all()
    assert len(model.summary()) == 3 + len(levels) - 1


def test_two_classes_are_logistic_regression():
    X, y = ordinal_data(n=150, K=2)
    model = ProportionalOdds(alpha=0.7).fit(X, y)
    other = LogisticRegression(C=1 / 0.7, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(-model.thresholds_, other.intercept_, rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-5)


def test_golden_values_of_a_real_study():
    """Party identification in the 1996 election study; tests/golden/anes96.py makes the values."""
    study = load_anes96()
    X, y = study.data, study.target
    model = ProportionalOdds(classes=study.classes).fit(X, y)
    golden = np.loadtxt(Path(__file__).parents[1] / "golden" / "anes96.csv", delimiter=",")
    assert model.log_likelihood_ == pytest.approx(golden[0, 0], rel=1e-9)
    spread = X.std(axis=0)
    np.testing.assert_allclose(model.coef_ * spread, golden[1:, 0], atol=2e-5)
    errors = np.sqrt(np.diagonal(model.covariance_))[len(model.thresholds_) :]
    np.testing.assert_allclose(errors * spread, golden[1:, 1], rtol=1e-3)


@given(st.integers(0, 1000), st.integers(2, 6), st.sampled_from(list(LINKS)))
def test_penalised_fits_converge_on_small_and_odd_data(seed, K, link):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(K, 25))
    X = rng.integers(-2, 3, size=(n, 3)).astype(float)
    y = np.concatenate([np.arange(K), rng.integers(0, K, size=n - K)])
    model = ProportionalOdds(link, alpha=1.0).fit(X, y)
    assert model.gradient_norm_ <= 1e-8
    assert ascending(model.thresholds_)


def test_offsets_enter_with_coefficient_one(rng):
    X, y = ordinal_data(n=200)
    offset = rng.normal(size=200)
    model = ProportionalOdds().fit(X, y, offset=offset)
    assert model.log_likelihood_ == pytest.approx(-objective(model, X, y, offset=offset))
    wider = ProportionalOdds().fit(np.column_stack([X, offset]), y)
    assert wider.log_likelihood_ >= model.log_likelihood_
    np.testing.assert_allclose(
        model.predict_latent(X, offset=offset), model.predict_latent(X) + offset
    )
    P = model.predict_proba(X, offset=offset)
    assert np.abs(P - model.predict_proba(X)).max() > 0.01
    margins = model.decision_function(X, offset=offset)
    np.testing.assert_array_equal(model.predict(X, offset=offset), (margins > 0).sum(axis=1))
    with pytest.raises(ValueError, match=r"offset must have shape \(200,\); found \(3,\)"):
        model.predict(X, offset=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="offset must hold finite numbers"):
        model.predict(X, offset=np.full(200, np.inf))
    predicted = model.predict(X, offset=offset)
    assert model.score(X, y, offset=offset) == pytest.approx(-np.abs(predicted - y).mean())
    assert model.score(X, y, offset=offset) != model.score(X, y)
    # An offset of the model's own score leaves nothing to explain.
    again = ProportionalOdds().fit(X, y, offset=ProportionalOdds().fit(X, y).predict_latent(X))
    np.testing.assert_allclose(again.coef_, 0.0, atol=1e-6)


def test_offsets_and_weights_are_routed_through_cross_validation(rng):
    X, y = ordinal_data(n=200)
    offset, weights = 2.0 * rng.normal(size=200), rng.integers(1, 4, size=200)
    train, test = np.arange(150), np.arange(150, 200)
    model = ProportionalOdds().fit(X[train], y[train], weights[train], offset[train])
    by_hand = model.score(X[test], y[test], weights[test], offset[test])
    with config_context(enable_metadata_routing=True):
        wanted = {"sample_weight": True, "offset": True}
        routed = ProportionalOdds().set_fit_request(**wanted).set_score_request(**wanted)
        params = {"sample_weight": weights, "offset": offset}
        found = cross_validate(routed, X, y, cv=[(train, test)], params=params)
    assert found["test_score"][0] == pytest.approx(by_hand)


def test_sparse_equals_dense(rng):
    X = np.where(rng.uniform(size=(300, 6)) < 0.8, 0.0, rng.normal(loc=5.0, size=(300, 6)))
    y = np.searchsorted([0.0, 2.0], 0.2 * X.sum(axis=1) + rng.logistic(size=300))
    dense, sparse = ProportionalOdds().fit(X, y), ProportionalOdds().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-8)
    np.testing.assert_allclose(dense.thresholds_, sparse.thresholds_, rtol=1e-8)
    np.testing.assert_allclose(dense.covariance_, sparse.covariance_, rtol=1e-6)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))


def test_separation_is_detected_and_named():
    x = np.arange(12.0)
    noise = np.tile([1.0, -1.0], 6)
    frame = pd.DataFrame({"noise": noise, "dose": x})
    y = np.repeat([0, 1, 2], 4)
    with pytest.warns(SeparationWarning, match=r"separate the classes \(.*dose"):
        ProportionalOdds().fit(frame, y)
    model = ProportionalOdds(alpha=0.1).fit(frame, y)
    assert model.converged_
    # One input alone separates the lowest class only: quasi-complete separation.
    mixed = pd.DataFrame({"flag": (y == 0).astype(float), "noise": np.arange(12) % 5})
    with pytest.warns(SeparationWarning, match=r"\(flag\)"):
        ProportionalOdds().fit(mixed, np.where(y == 0, 0, 1 + np.arange(12) % 2))


def test_a_fit_cut_short_says_how_far_it_got():
    X, y = ordinal_data()
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps with gradient norm") as seen:
        model = ProportionalOdds(max_iter=1).fit(X, y)
    assert not any(issubclass(w.category, SeparationWarning) for w in seen)
    assert not model.converged_
    assert model.gradient_norm_ > 1e-8


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_a_penalty_in_small_units_has_a_finite_optimum_and_no_warning(link):
    # The label is a cut of the first input, whose penalty is 1e-12 in units of its deviation.
    rng = np.random.default_rng(0)
    x = 1e4 * rng.normal(size=40)
    model = ProportionalOdds(link, alpha=1e-4).fit(x[:, None], (x > 0).astype(int))
    assert model.converged_ and model.gradient_norm_ <= 1e-8
    assert model.newton_decrement_ < 1e-10


def test_a_fit_that_stops_on_flat_ground_does_not_call_its_gradient_too_large(monkeypatch):
    x = np.arange(12.0)
    monkeypatch.setattr(
        "echelon.linear.proportional_odds.separating_columns", lambda *a: np.empty(0, dtype=np.intp)
    )
    with pytest.warns(ConvergenceWarning, match=r"with the steps still long; raise alpha\.$"):
        ProportionalOdds().fit(x[:, None], (x > 5).astype(int))


def test_collinear_and_constant_features():
    X, y = ordinal_data()
    plain = ProportionalOdds().fit(X, y)
    twin = ProportionalOdds().fit(np.column_stack([X, X[:, 0], np.ones(len(X))]), y)
    assert twin.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-10)
    assert twin.coef_[0] + twin.coef_[3] == pytest.approx(plain.coef_[0], rel=1e-6)
    assert twin.coef_[4] == 0.0


def test_a_penalty_on_very_different_scales():
    X, y = ordinal_data(n=200)
    X = X * [1.0, 1e-9, 1e6]
    model = ProportionalOdds(alpha=1.0).fit(X, y)
    assert model.converged_
    # A unit of the second input is so large a step that the penalty allows it no effect.
    without = ProportionalOdds(alpha=1.0).fit(X[:, [0, 2]], y)
    np.testing.assert_allclose(model.coef_[[0, 2]], without.coef_, rtol=1e-6)
    assert np.abs(X[:, 1] * model.coef_[1]).max() < 1e-6


def test_links_without_symmetry_mirror_each_other():
    X, y = ordinal_data()
    one, other = ProportionalOdds("cloglog").fit(X, y), ProportionalOdds("loglog").fit(X, 3 - y)
    np.testing.assert_allclose(one.coef_, -other.coef_, rtol=1e-6)
    np.testing.assert_allclose(one.thresholds_, -other.thresholds_[::-1], rtol=1e-6)
    P = one.predict_proba(X)
    median = np.count_nonzero(1 - np.cumsum(P, axis=1)[:, :-1] > 0.5, axis=1)
    np.testing.assert_array_equal(one.predict(X), median)
    np.testing.assert_array_equal((one.decision_function(X) > 0).sum(axis=1), median)


@pytest.mark.parametrize("cost", ["zero_one", "squared", "own"])
def test_predictions_have_the_least_expected_cost(cost):
    X, y = ordinal_data()
    own = np.array([[0, 5, 10, 15], [1, 0, 5, 10], [2, 1, 0, 5], [3, 2, 1, 0.0]])
    C = own if cost == "own" else cost
    model = ProportionalOdds(cost=C).fit(X, y)
    expected = model.predict_proba(X) @ cost_matrix(C, 4)
    np.testing.assert_array_equal(model.predict(X), expected.argmin(axis=1))


def test_class_weights():
    X, y = ordinal_data()
    y = np.where(y == 3, 2, y)
    named = ProportionalOdds(class_weight={0: 2.0}).fit(X, y)
    rows = ProportionalOdds().fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_allclose(named.coef_, rows.coef_)
    share = len(y) / (3 * np.bincount(y))
    balanced = ProportionalOdds(class_weight="balanced").fit(X, y)
    by_hand = ProportionalOdds().fit(X, y, sample_weight=share[y])
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"link": "robit"}, "link must be 'logit', 'probit', 'cloglog', 'loglog' or 'cauchit'"),
        ({"alpha": -1.0}, "alpha must be a number not below zero; found -1.0"),
        ({"alpha": np.nan}, "alpha must be a number not below zero"),
        ({"cost": "cubic"}, "cost must be 'absolute'"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict"),
        ({"class_weight": {9: 1.0}}, "class_weight has labels outside the scale: 9"),
        ({"class_weight": {0: -1.0}}, "class_weight must hold finite numbers"),
        ({"classes": [0, 1]}, "y has labels outside the scale: 2, 3"),
    ],
)
def test_bad_parameters(params, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        ProportionalOdds(**params).fit(X, y)


def test_summary_is_a_frame_with_sound_intervals():
    X, y = ordinal_data(n=2000, d=2, K=3, noise=1.0)
    model = ProportionalOdds().fit(pd.DataFrame(X, columns=["age", "dose"]), y)
    frame = model.summary()
    assert frame["term"].tolist() == ["age", "dose", "0|1", "1|2"]
    age = frame.set_index("term").loc["age"]
    assert age["ci_low"] < 1.0 < age["ci_high"]
    assert age["std_error"] == pytest.approx(np.sqrt(model.covariance_[2, 2]))
    assert (age["ci_high"] - age["ci_low"]) == pytest.approx(2 * 1.959964 * age["std_error"])
    narrow = model.summary(level=0.5, backend="polars")
    assert narrow["ci_high"][0] < age["ci_high"]
    assert np.isnan(ProportionalOdds(alpha=1.0).fit(X, y).summary()["std_error"]).all()
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        model.summary(level=95)


def test_parameters_are_recovered(rng):
    n = 20_000
    X = rng.normal(size=(n, 2))
    u = rng.uniform(size=n)
    above = expit(X @ [1.0, -2.0] - np.array([[-1.0], [0.5], [2.0]]))
    y = (u < above).sum(axis=0)
    frame = ProportionalOdds().fit(X, y).summary()
    truth = np.array([1.0, -2.0, -1.0, 0.5, 2.0])
    assert (np.abs(frame["estimate"] - truth) < 4 * frame["std_error"]).all()


def test_many_inputs_under_a_penalty_have_no_covariance(rng):
    X = rng.normal(size=(30, 2001))
    model = ProportionalOdds(alpha=1.0).fit(X, rng.integers(0, 3, 30))
    assert model.converged_ and model.covariance_ is None
    assert model.summary()["std_error"].isna().all()


@pytest.mark.parametrize("setting", [{"alpha": 0.0}, {"alpha": 1.0, "link": "cauchit"}])
def test_too_many_inputs_are_refused_in_a_sentence(setting, rng):
    X = sp.random_array((30, 21_000), density=0.2, rng=rng, format="csr")
    with pytest.raises(ValueError, match=r"at most 20,000 columns that vary, unless alpha"):
        ProportionalOdds(**setting).fit(X, np.arange(30) % 3)
