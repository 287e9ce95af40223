"""A short slice of the campaign over estimators, and what the campaign has found before."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from support.data import ordinal_data
from support.estimators import public_estimators

from echelon import (
    GPOR,
    AdaBoostOR,
    ORBoost,
    OrdinalReduction,
    ProportionalOdds,
    RankRules,
    RankSVM,
)
from echelon.ordinal.gaussian_intervals import tilted_terms
from echelon.ordinal.likelihoods import get_link
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
