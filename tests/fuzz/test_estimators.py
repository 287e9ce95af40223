"""A short slice of the campaign over estimators, and what the campaign has found before."""

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import LinAlgError
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from support.data import ordinal_data
from support.estimators import public_estimators

from echelon import (
    GPOR,
    AdaBoostOR,
    ConformalOrdinal,
    ORBoost,
    OrdinalBagging,
    OrdinalReduction,
    ProportionalOdds,
    RankRules,
    RankSVM,
    RoundedRegressor,
)
from echelon.ordinal.gaussian_intervals import tilted_terms
from echelon.ordinal.likelihoods import get_link
from echelon.solvers.linear.calibration import calibrate_isotonic, isotonic_exceedance
from echelon.solvers.linear.svor_path import direct_solver
from fuzz.campaign import FINDINGS
from fuzz.drawn_estimators import DRAWS
from fuzz.estimators import NAMES, case


def test_every_public_estimator_is_in_the_campaign():
    assert {kind.__name__ for kind in public_estimators()} <= set(DRAWS)


@pytest.mark.filterwarnings("ignore")
def test_a_slice_of_the_campaign():
    for seed in range(100_000, 100_000 + 2 * len(NAMES)):
        found = case(seed)
        assert found.outcome not in FINDINGS, (seed, found)


def test_inputs_whose_squares_vanish_are_refused_by_a_gaussian_process():
    X, y = ordinal_data(n=20, K=3)
    with pytest.raises(ValueError, match="must have columns that vary by 1e-100 or more"):
        GPOR().fit(1e-160 * X, y)


def test_integrals_over_modes_narrower_than_the_spacing_of_numbers():
    # Logarithms near −1e19, whose rounding is far more than what the integrals look at.
    rows = {"mean": [0.0], "variance": [1e6], "lower": [4.5589327e12], "upper": [4.5590846e12]}
    found = tilted_terms(
        get_link("logit"), *map(np.array, rows.values()), noise=1.0, power=np.array([2e7])
    )
    assert np.isfinite([found.log_z, found.d_mean, found.curvature]).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("link", ["logit", "probit", "loglog"])
def test_a_class_of_hardly_any_weight(link):
    X, y = ordinal_data(n=40, K=4)
    weights = np.where(y == 2, 1e-20, 1.0)
    model = ProportionalOdds(link, alpha=1.0).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()


def test_curvature_below_zero_by_rounding():
    gram = np.array([[-1.0 - 1e-9, 0.0], [0.0, 3.0]])
    assert np.isfinite(direct_solver(gram)(np.ones((2, 1)))).all()


def test_early_stopping_with_too_few_rows_gets_a_sentence():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    for model in (AdaBoostOR(n_iter_no_change=2), RankRules(5, n_iter_no_change=2)):
        with pytest.raises(ValueError, match="leaves one class only to learn from"):
            model.fit(X, y)


def test_stumps_on_drawn_rows_read_every_container():
    X, y = ordinal_data(n=40, K=3)
    model = AdaBoostOR(n_estimators=3, conversion="resample", random_state=0)
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X.tolist()), expected)
    np.testing.assert_array_equal(model.fit(pd.DataFrame(X), y).predict(pd.DataFrame(X)), expected)


def test_only_ratios_of_weights_matter_to_pairs():
    X, y = ordinal_data(n=40, K=3)
    model = ORBoost(5, variant="pairs", base="stump")
    plain = model.fit(X, y).predict_latent(X)
    tiny = model.fit(X, y, sample_weight=np.full(40, 2.0**-600)).predict_latent(X)
    np.testing.assert_array_equal(tiny, plain)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("technique", ["simultaneous", "gradient"])
@pytest.mark.parametrize("loss", ["binary", "threshold", "rank", "absolute"])
def test_only_ratios_of_weights_matter_to_rules(loss, technique):
    X, y = ordinal_data(n=40, K=3)
    technique = "gradient" if loss == "absolute" else technique
    model = RankRules(5, loss=loss, technique=technique, random_state=0)
    plain = model.fit(X, y).predict(X)
    tiny = model.fit(X, y, sample_weight=np.full(40, 2.0**-1000)).predict(X)
    np.testing.assert_array_equal(tiny, plain)


@pytest.mark.filterwarnings("error")
def test_ranking_by_rows_of_small_weight():
    # Beside the number of the rows, the sum of their weights was lost to rounding.
    X, y = ordinal_data(n=30, K=3)
    plain = RankSVM(kernel="linear", solver="dual").fit(X, y).predict(X)
    tiny = RankSVM(2.0**66, kernel="linear", solver="dual")
    tiny.fit(X, y, sample_weight=np.full(30, 2.0**-66))
    np.testing.assert_allclose(tiny.predict(X), plain)


@pytest.mark.filterwarnings("error")
def test_pairs_of_no_weight_at_all():
    X, y = ordinal_data(n=30, K=3)
    weights = np.where(np.arange(30) < 20, 1.0, 1e-200)
    model = RankSVM(kernel="linear", solver="dual", normalize=False, tol=1e-6)
    expected = model.fit(X[:20], y[:20]).predict(X)
    found = model.fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.filterwarnings("error")
def test_columns_that_hardly_vary_get_no_slope_under_a_ridge():
    X, y = ordinal_data(n=40, K=3)
    model = ProportionalOdds(alpha=1.0).fit(np.column_stack([X, 1e-155 * X[:, :1]]), y)
    np.testing.assert_allclose(model.coef_[:-1], ProportionalOdds(alpha=1.0).fit(X, y).coef_)
    assert model.coef_[-1] == pytest.approx(0.0, abs=1e-30)


def test_pairs_of_few_rows_under_a_large_penalty_are_solved_in_the_dual():
    # Steps up to the first bound alone took hundreds of passes.
    X, y = ordinal_data(n=60, K=6, noise=1.0)
    model = RankSVM(2e4, solver="dual", max_iter=15).fit(X, y)
    assert model.converged_
    primal = RankSVM(2e4, solver="primal").fit(X, y)
    assert model.objective_ == pytest.approx(primal.objective_, rel=1e-5)


@pytest.mark.parametrize("seed", [504542, 721627, 701583, 96079])
def test_overflow_on_the_way_is_not_told(seed):
    assert case(seed).outcome not in FINDINGS


@pytest.mark.parametrize("error", [ZeroDivisionError("float division by zero"), LinAlgError("x.")])
def test_arithmetic_that_fails_gets_a_sentence(monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(ProportionalOdds, "_learn", fail)
    sentence = (
        r"ProportionalOdds cannot compute with these numbers \((float division by zero|x)\): "
    )
    with pytest.raises(ValueError, match=sentence):
        ProportionalOdds().fit(*ordinal_data(n=20, K=3))


@pytest.mark.filterwarnings("error")
def test_curves_whose_knots_are_as_good_as_equal():
    found = calibrate_isotonic(np.array([[0.0], [1e-310]]), np.array([0, 1]), 2, np.ones(2))
    heights = isotonic_exceedance(found, np.array([[0.0], [5e-311], [1e-310], [1.0]]), 2)
    np.testing.assert_allclose(heights[:, 0], [1 / 6, 1 / 2, 5 / 6, 5 / 6])


@pytest.mark.filterwarnings("error")
def test_single_precision_with_large_weights():
    X, y = ordinal_data(n=40, K=3)
    X = X.astype(np.float32)
    weights = np.where(y == 1, 1e45, 1.0)
    found = RoundedRegressor(Ridge()).fit(X, y, sample_weight=weights)
    expected = RoundedRegressor(Ridge()).fit(X.astype(float), y, sample_weight=weights)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        ConformalOrdinal(GaussianNB(), method="cross", cv=2, random_state=0),
        OrdinalBagging(GaussianNB(), n_estimators=3, bootstrap=False),
    ],
    ids=["conformal", "bagging"],
)
def test_probabilities_that_lost_their_sum_to_rounding(model):
    # Far away the logarithm of the sum of three equal densities is that of each, by rounding.
    X, y = np.tile([[-1.0], [1.0]], (60, 1)), np.arange(120) // 2 % 3
    far = np.vstack([X, [[1e30]]])
    assert GaussianNB().fit(X, y).predict_proba(far)[-1].sum() > 1.5
    found = model.fit(X, y).predict_proba(far)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("row", [[-0.5, 1.0, 0.5], [0.0, 0.0, 0.0]])
def test_answers_that_are_no_probabilities_are_refused(row):
    class Odd(GaussianNB):
        def predict_proba(self, X):
            return np.tile(row, (len(X), 1))

    X, y = ordinal_data(n=60, K=3)
    with pytest.raises(ValueError, match="Probabilities of Odd must not be negative, nor zero"):
        OrdinalBagging(Odd(), n_estimators=2).fit(X, y).predict_proba(X)


def test_answers_that_are_no_numbers_are_refused():
    X, y = np.ones((40, 2)), np.arange(40) % 3
    model = OrdinalReduction(GaussianNB())
    sentence = "What GaussianNB predicts must be finite; found NaN"
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=sentence):
        model.fit(X, y).predict(X)


def test_a_kernel_with_negative_eigenvalues_has_no_dual():
    X, y = ordinal_data(n=30, K=3)
    model = RankSVM(1e4, kernel="sigmoid", gamma=11.0, solver="dual")
    with pytest.raises(ValueError, match="kernel must have no negative eigenvalues"):
        model.fit(X, y)


def test_weights_beyond_what_a_likelihood_can_hold():
    X, y = ordinal_data(n=20, K=3)
    with pytest.raises(ValueError, match=r"sample_weight must hold numbers of at most 1e\+12"):
        GPOR().fit(X, y, sample_weight=np.full(20, 1e20))
