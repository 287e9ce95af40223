import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.ordinal.likelihoods import LINKS, class_probabilities, get_link, interval_terms

EXACT_CDF = {
    "logit": lambda z: 1 / (1 + mp.exp(-z)),
    "probit": mp.ncdf,
    "cloglog": lambda z: 1 - mp.exp(-mp.exp(z)),
    "loglog": lambda z: mp.exp(-mp.exp(-z)),
    "cauchit": lambda z: mp.mpf(1) / 2 + mp.atan(z) / mp.pi,
}


def exact_log_interval(name, lower, upper):
    with mp.workdps(1200):
        low = mp.mpf(0) if lower == -np.inf else EXACT_CDF[name](mp.mpf(lower))
        high = mp.mpf(1) if upper == np.inf else EXACT_CDF[name](mp.mpf(upper))
        return float(mp.log(high - low))


CENTRES = [-900.0, -30.0, -8.0, -1.0, 0.0, 0.7, 5.0, 20.0]
WIDTHS = [1e-9, 1e-6, 1e-3, 0.1, 1.0, 8.0]


def in_range(name, lower, upper):
    """Where the probability itself is not below e^{−10⁵}."""
    extreme = {"cloglog": lower, "loglog": -upper}.get(name, 0.0)
    return extreme < 11.0 and (name != "probit" or max(lower, -upper) < 400.0)


@pytest.mark.parametrize("name", LINKS)
def test_log_interval_is_accurate_in_the_tails_and_when_narrow(name):
    link = get_link(name)
    for centre in CENTRES:
        for width in WIDTHS:
            ends = centre - width / 2, centre + width / 2
            for lower, upper in (ends, (-np.inf, ends[1]), (ends[0], np.inf)):
                if not in_range(name, lower, upper):
                    continue
                value = link.log_interval(np.array([lower]), np.array([upper]))[0]
                exact = exact_log_interval(name, lower, upper)
                assert value == pytest.approx(exact, rel=1e-11, abs=1e-14), (lower, upper)


@pytest.mark.parametrize("name", LINKS)
def test_derivatives_by_differences(name):
    link = get_link(name)
    lower = np.array([-3.0, -1.0, 0.2, 1.5, -4.0])
    upper = np.array([-2.5, 1.0, 0.9, 3.0, 2.0])
    h = 1e-6
    terms = interval_terms(link, lower, upper)
    up = interval_terms(link, lower, upper + h), interval_terms(link, lower, upper - h)
    low = interval_terms(link, lower + h, upper), interval_terms(link, lower - h, upper)
    pairs = [
        (terms.d_upper, (up[0].log_p - up[1].log_p) / (2 * h)),
        (terms.d_lower, (low[0].log_p - low[1].log_p) / (2 * h)),
        (terms.d2_upper, (up[0].d_upper - up[1].d_upper) / (2 * h)),
        (terms.d2_lower, (low[0].d_lower - low[1].d_lower) / (2 * h)),
        (terms.d2_cross, (low[0].d_upper - low[1].d_upper) / (2 * h)),
    ]
    for analytic, numeric in pairs:
        np.testing.assert_allclose(analytic, numeric, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", LINKS)
def test_infinite_ends_have_no_slope(name):
    inf = np.array([np.inf])
    terms = interval_terms(get_link(name), -inf, np.array([0.3]))
    assert terms.d_lower[0] == terms.d2_lower[0] == terms.d2_cross[0] == 0.0
    terms = interval_terms(get_link(name), np.array([0.3]), inf)
    assert terms.d_upper[0] == terms.d2_upper[0] == terms.d2_cross[0] == 0.0


@pytest.mark.parametrize("name", LINKS)
def test_quantile_and_median_invert_the_distribution(name):
    link = get_link(name)
    q = np.array([0.01, 0.3, 0.5, 0.9, 0.999])
    z = link.quantile(q)
    np.testing.assert_allclose(np.exp(link.log_interval(np.full(5, -np.inf), z)), q, rtol=1e-12)
    assert link.median == pytest.approx(z[2], abs=1e-12)


@pytest.mark.parametrize("name", [name for name in LINKS if LINKS[name].log_concave])
def test_log_concave_links_have_a_negative_semidefinite_hessian(name, rng):
    lower = rng.normal(scale=3, size=200)
    terms = interval_terms(get_link(name), lower, lower + rng.exponential(size=200))
    determinant = terms.d2_lower * terms.d2_upper - terms.d2_cross**2
    scale = np.abs(terms.d2_lower * terms.d2_upper)
    assert (terms.d2_lower <= 1e-12).all()
    assert (terms.d2_upper <= 1e-12).all()
    assert (determinant >= -1e-6 * scale).all()


@given(
    st.sampled_from(list(LINKS)),
    st.lists(st.floats(-8, 8), min_size=1, max_size=6),
    st.lists(st.floats(-30, 30), min_size=1, max_size=6),
)
def test_probabilities_are_valid(name, thresholds, scores):
    b = np.sort(np.array(thresholds))
    P = class_probabilities(get_link(name), np.array(scores), b)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    repeated = np.flatnonzero(np.diff(b) == 0) + 1
    assert (P[:, repeated] == 0).all()


def test_infinite_thresholds_give_probability_zero():
    P = class_probabilities(get_link("logit"), np.array([0.0]), np.array([-np.inf, 0.0, np.inf]))
    np.testing.assert_allclose(P, [[0, 0.5, 0.5, 0]])


def test_unknown_link():
    with pytest.raises(ValueError, match="link must be 'logit', 'probit'"):
        get_link("robit")
