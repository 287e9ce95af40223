from dataclasses import fields

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.ordinal.latent import ShiftTerms, shift_terms
from echelon.ordinal.likelihoods import get_link

NAMES = [field.name for field in fields(ShiftTerms)]
LINKS = ["probit", "logit"]
CDF = {"probit": mp.ncdf, "logit": lambda z: 1 / (1 + mp.exp(-z))}


def exact_log_interval(name, lower, upper):
    if lower + upper > 0:
        lower, upper = -upper, -lower
    below = 0 if lower == -mp.inf else CDF[name](lower)
    if lower < 0 < upper:
        return mp.log1p(-(below + CDF[name](-upper)))
    return mp.log(CDF[name](upper) - below)


def exact_terms(name, lower, upper):
    """All terms by differences, with far more digits than the differences lose."""
    with mp.workdps(260):
        lower, upper = mp.mpf(lower), mp.mpf(upper)
        far = max(1, *(abs(end) for end in (lower, upper) if mp.isfinite(end)))
        h = mp.mpf(10) ** -9 * min(upper - lower, 1 / far)
        known = {}

        def at(i, j):
            if (i, j) not in known:
                known[i, j] = exact_log_interval(name, lower + i * h, upper + j * h)
            return known[i, j]

        def shifted(order, i=0, j=0):
            if order == 0:
                return at(i, j)
            if order == 1:
                return (at(i + 1, j + 1) - at(i - 1, j - 1)) / (2 * h)
            if order == 2:
                return (at(i + 1, j + 1) - 2 * at(i, j) + at(i - 1, j - 1)) / h**2
            return (
                at(i + 2, j + 2) - 2 * at(i + 1, j + 1) + 2 * at(i - 1, j - 1) - at(i - 2, j - 2)
            ) / (2 * h**3)

        out = {"log_p": at(0, 0), **{f"d{k}": shifted(k) for k in (1, 2, 3)}}
        for prefix, order in (("d", 0), ("d1", 1), ("d2", 2)):
            out[f"{prefix}_lower"] = (shifted(order, 1, 0) - shifted(order, -1, 0)) / (2 * h)
            out[f"{prefix}_upper"] = (shifted(order, 0, 1) - shifted(order, 0, -1)) / (2 * h)
        return {key: float(value) for key, value in out.items()}


CENTRES = [-30.0, -8.0, -4.1, -2.5, -0.3, 0.0, 1.0, 3.7, 30.0]
WIDTHS = [1e-10, 1e-6, 1e-3, 0.1, 0.9, 4.0, 30.0]


def intervals():
    for centre in CENTRES:
        yield -np.inf, centre
        yield centre, np.inf
        for width in WIDTHS:
            yield centre - width / 2, centre + width / 2


def natural_size(key, name, width, exact):
    """What an error is compared with where the term itself changes its sign."""
    width = min(1.0, width)
    if key == "d1":
        return 1.0
    if key == "d3":
        return width**3 if name == "probit" else -exact["d2"]
    if key in ("d2_lower", "d2_upper"):
        end = key[3:]
        return abs(exact[f"d1_{end}"]) * (width if name == "probit" else 1.0)
    return 0.0


def worst_errors(name):
    ends = np.array(list(intervals()))
    terms = shift_terms(get_link(name), ends[:, 0], ends[:, 1])
    worst = dict.fromkeys(NAMES, (0.0, None))
    for i, (lower, upper) in enumerate(ends):
        exact = exact_terms(name, lower, upper)
        for key in NAMES:
            size = max(abs(exact[key]), natural_size(key, name, upper - lower, exact), 1e-290)
            error = abs(getattr(terms, key)[i] - exact[key]) / size
            if error > worst[key][0]:
                worst[key] = error, (lower, upper, getattr(terms, key)[i], exact[key])
    return worst


@pytest.mark.parametrize("name", LINKS)
def test_terms_against_many_digits(name):
    for key, (error, where) in worst_errors(name).items():
        assert error < 1e-12, (key, where)


@pytest.mark.parametrize("name", LINKS)
def test_intervals_narrower_than_any_that_differences_reach(name):
    """A width of 1e-12: φ(u)/P ~ 1/w and the truncated variable is uniform."""
    upper = np.array([-1000.0, -5.0, 0.0, 0.25, 1000.0])
    width = np.full(5, 1e-12)
    terms = shift_terms(get_link(name), upper - width, upper, width)
    log_density = get_link(name).log_pdf(upper)
    np.testing.assert_allclose(terms.log_p, log_density + np.log(width), rtol=1e-8)
    np.testing.assert_allclose(width * terms.d_upper, 1.0, rtol=1e-8)
    np.testing.assert_allclose(width * terms.d_lower, -1.0, rtol=1e-8)
    slope = get_link(name).log_pdf_slope(upper)
    np.testing.assert_allclose(terms.d1, slope, rtol=1e-8, atol=1e-11)
    if name == "probit":
        np.testing.assert_allclose(terms.d1_upper, -0.5, rtol=1e-8)
        np.testing.assert_allclose(terms.d2_upper, width / 6.0, rtol=1e-8)


def test_the_far_tail_of_the_normal_is_exponential():
    upper = np.array([-1e3, -1e4, -1e6, -1e8])
    terms = shift_terms(get_link("probit"), np.full(4, -np.inf), upper)
    rate = -upper
    np.testing.assert_allclose(terms.d_upper / rate, 1.0, rtol=2e-6)
    np.testing.assert_allclose((1.0 + terms.d2)[:2], rate[:2] ** -2, rtol=1e-5)
    np.testing.assert_allclose(terms.d3, 2.0 * rate**-3, rtol=2e-5)
    np.testing.assert_allclose(terms.d2_upper * rate**3, 2.0, rtol=2e-5)


@pytest.mark.parametrize("name", LINKS)
def test_no_bounds_means_no_information(name):
    terms = shift_terms(get_link(name), np.array([-np.inf]), np.array([np.inf]))
    assert all(getattr(terms, key)[0] == 0.0 for key in NAMES)


@pytest.mark.parametrize("name", LINKS)
def test_an_interval_without_width_has_finite_terms(name):
    ends = np.array([-1e8, -2.0, 0.0, 3.0])
    terms = shift_terms(get_link(name), ends, ends)
    assert all(np.isfinite(getattr(terms, key)).all() for key in NAMES)
    assert (terms.log_p < -200.0).all()


def test_a_width_known_better_than_the_ends():
    width = np.array([1e-14])
    upper = np.array([2.0])
    terms = shift_terms(get_link("probit"), upper - width, upper, width)
    assert (upper - (upper - width))[0] != width[0]
    assert terms.d_upper[0] * width[0] == pytest.approx(1.0, rel=1e-12)


def test_other_links_are_refused():
    with pytest.raises(ValueError, match="link must be the probit or the logit; found cauchit"):
        shift_terms(get_link("cauchit"), np.array([0.0]), np.array([1.0]))


signed = st.sampled_from([-1.0, 1.0])
ends = st.builds(lambda sign, e: sign * 10.0**e, signed, st.floats(-3.0, 8.0))


@given(
    name=st.sampled_from(LINKS),
    lower=st.one_of(st.just(-np.inf), ends),
    width=st.one_of(st.just(np.inf), st.floats(-12.0, 8.0).map(lambda e: 10.0**e)),
)
def test_signs_bounds_and_mirror_images(name, lower, width):
    upper = np.inf if lower == -np.inf else lower + width
    terms = shift_terms(get_link(name), np.array([lower]), np.array([upper]))
    value = {key: getattr(terms, key)[0] for key in NAMES}
    assert all(np.isfinite(list(value.values())))
    assert value["log_p"] <= 0.0
    assert value["d_lower"] <= 0.0 <= value["d_upper"]
    assert -1.0 <= value["d2"] <= 0.0
    # The slope of ℓ along f falls when either end rises: ∂(Dℓ)/∂u and ∂(Dℓ)/∂l are not positive.
    assert value["d1_lower"] <= 0.0 and value["d1_upper"] <= 0.0
    assert value["d1_lower"] + value["d1_upper"] == pytest.approx(value["d2"], rel=1e-7, abs=1e-12)
    mirror = shift_terms(get_link(name), np.array([-upper]), np.array([-lower]))
    assert mirror.log_p[0] == pytest.approx(value["log_p"], rel=1e-12)
    assert mirror.d1[0] == pytest.approx(-value["d1"], rel=1e-12)
    assert mirror.d3[0] == pytest.approx(-value["d3"], rel=1e-12)
    assert mirror.d2_upper[0] == pytest.approx(-value["d2_lower"], rel=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_any_shape_and_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    lower = 10.0 * rng.normal(size=(3, 5))
    upper = lower + 10.0 ** rng.uniform(-6.0, 2.0, size=(3, 5))
    for name in LINKS:
        together = shift_terms(get_link(name), lower, upper)
        for key in NAMES:
            alone = getattr(shift_terms(get_link(name), lower[2, :1], upper[2, :1]), key)
            assert getattr(together, key)[2, 0] == pytest.approx(alone[0], rel=1e-10, abs=1e-14)
