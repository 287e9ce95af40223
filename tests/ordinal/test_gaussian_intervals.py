from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from echelon.ordinal import gaussian_intervals
from echelon.ordinal.gaussian_intervals import (
    expected_terms,
    predictive_probabilities,
    tilted_terms,
)
from echelon.ordinal.likelihoods import class_probabilities, get_link

LINKS = ["probit", "logit"]
CDF = {"probit": mp.ncdf, "logit": lambda z: 1 / (1 + mp.exp(-z))}
DIGITS = 42
inf = np.inf


def exact_log_p(name, lower, upper):
    if lower + upper > 0:
        lower, upper = -upper, -lower
    below = 0 if lower == -mp.inf else CDF[name](lower)
    if lower < 0 < upper:
        return mp.log1p(-(below + CDF[name](-upper)))
    return mp.log(CDF[name](upper) - below)


@cache
def gauss_legendre(n):
    """Nodes and weights with all digits, by Newton's method from those of NumPy."""
    pairs = []
    for start in np.polynomial.legendre.leggauss(n)[0]:
        x = mp.mpf(float(start))
        for _ in range(3):
            p, q = mp.legendre(n, x), mp.legendre(n - 1, x)
            slope = n * (q - x * p) / (1 - x * x)
            x -= p / slope
        pairs.append((x, 2 / ((1 - x * x) * slope**2)))
    return pairs


def support(log_integrand, centre, reach, depth=50):
    """Where a concave function is within `depth` of its maximum, by nested intervals."""
    low, high = centre - reach, centre + reach
    for _ in range(60):
        third = (high - low) / 3
        if log_integrand(low + third) < log_integrand(high - third):
            low += third
        else:
            high -= third
    mode = (low + high) / 2
    level = log_integrand(mode) - depth

    def crossing(far):
        near = mode
        for _ in range(30):
            middle = (near + far) / 2
            near, far = (middle, far) if log_integrand(middle) > level else (near, middle)
        return far

    return crossing(centre - reach), crossing(centre + reach)


def mesh(left, right, lower, upper, noise):
    """Nodes and weights over f; a rule that stays where it is may be differentiated as it is."""
    points = {left, right} | {left + (right - left) * k / 6 for k in range(1, 6)}
    for end in (lower, upper):
        steps = [noise * mp.mpf(4) ** k for k in range(7)]
        points |= {end + s * step for step in steps for s in (-1, 1)} | {end}
    points = sorted(point for point in points if mp.isfinite(point) and left <= point <= right)
    nodes, weights = [], []
    for a, b in pairwise(points):
        rule = gauss_legendre(26 if b - a > (right - left) / 10**4 else 6)
        nodes += [(a + b) / 2 + (b - a) / 2 * x for x, _ in rule]
        weights += [(b - a) / 2 * w for _, w in rule]
    return nodes, weights


class Reference:
    """Integrals over f whose derivatives are differences with many digits."""

    def __init__(self, name, mean, variance, lower, upper, noise, power=1.0):
        self.name = name
        numbers = map(mp.mpf, (mean, variance, lower, upper, noise, power))
        self.m, self.v, self.b1, self.b2, self.s, self.a = numbers

    def log_p(self, f, b1=None, b2=None, s=None):
        b1, b2, s = b1 or self.b1, b2 or self.b2, s or self.s
        return self.a * exact_log_p(self.name, (b1 - f) / s, (b2 - f) / s)

    def log_normal(self, f, m=None, v=None):
        m, v = self.m if m is None else m, v or self.v
        return -((f - m) ** 2) / (2 * v) - mp.log(2 * mp.pi * v) / 2

    def slopes(self, value):
        """Derivatives of value(log_p, log_normal) in the ends and the noise."""
        h = mp.mpf(10) ** -10
        hb = h * min(self.s, self.b2 - self.b1)

        def slope(step, forward, backward):
            ahead, behind = (
                value([self.log_p(f, **change) for f in self.nodes], self.normal)
                for change in (forward, backward)
            )
            return (ahead - behind) / (2 * step)

        s = self.s
        return {
            "d_lower": slope(hb, {"b1": self.b1 + hb}, {"b1": self.b1 - hb}),
            "d_upper": slope(hb, {"b2": self.b2 + hb}, {"b2": self.b2 - hb}),
            "d_log_noise": slope(h, {"s": s * mp.exp(h)}, {"s": s * mp.exp(-h)}),
        }

    def prepare(self, left, right):
        self.nodes, self.weights = mesh(left, right, self.b1, self.b2, self.s)
        self.base = [self.log_p(f) for f in self.nodes]
        self.normal = [self.log_normal(f) for f in self.nodes]

    def tilted(self):
        ends = [abs(b - self.m) for b in (self.b1, self.b2) if mp.isfinite(b)]
        reach = max(ends) + 15 * mp.sqrt(self.v) + 15 * self.s
        self.prepare(*support(lambda f: self.log_p(f) + self.log_normal(f), self.m, reach))

        def log_z(logs, normal):
            terms = zip(self.weights, logs, normal, strict=True)
            return mp.log(mp.fsum(w * mp.exp(p + q) for w, p, q in terms))

        h = mp.mpf(10) ** -10 * mp.sqrt(self.v)
        here = log_z(self.base, self.normal)
        up, down = (
            log_z(self.base, [self.log_normal(f, m=self.m + s * h) for f in self.nodes])
            for s in (1, -1)
        )
        return {
            "log_z": here,
            "d_mean": (up - down) / (2 * h),
            "curvature": -(up - 2 * here + down) / h**2,
            **self.slopes(log_z),
        }

    def expected(self):
        reach = 13 * mp.sqrt(self.v)
        self.prepare(self.m - reach, self.m + reach)

        def value(logs, normal):
            terms = zip(self.weights, logs, normal, strict=True)
            return mp.fsum(w * p * mp.exp(q) for w, p, q in terms)

        h = mp.mpf(10) ** -10
        hm, hv = h * mp.sqrt(self.v), h * self.v

        def moved(**change):
            return value(self.base, [self.log_normal(f, **change) for f in self.nodes])

        return {
            "value": value(self.base, self.normal),
            "d_mean": (moved(m=self.m + hm) - moved(m=self.m - hm)) / (2 * hm),
            "d_variance": (moved(v=self.v + hv) - moved(v=self.v - hv)) / (2 * hv),
            **self.slopes(value),
        }


def floats(terms):
    return {key: float(value) for key, value in terms.items()}


def arrays(*numbers):
    return [np.array([number]) for number in numbers]


#: variance in units of the noise, thresholds, power
TILTED = {
    "logit": [
        (1.0, -0.3, inf, 1.0),
        (1.0, -inf, -30.0, 0.4),
        (1e-6, 0.3, 2.3, 1.0),
        (25.0, 0.5, 0.5 + 1e-6, 0.3),
        (25.0, -150.0, -110.0, 1.0),
        (1e6, -3000.0, -2998.0, 1.0),
        (1e6, 30_000.0, inf, 1.0),
    ],
    "probit": [(1.0, 30.0, inf, 0.3), (25.0, -1.0, 1.0, 0.7), (1e6, -inf, -30.0, 0.3)],
}
NOISE = 0.7


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in LINKS for case in TILTED[name]]
)
def test_tilted_terms_against_many_digits(name, case):
    variance, lower, upper, power = case
    numbers = 0.0, variance * NOISE**2, lower * NOISE, upper * NOISE
    with mp.workdps(DIGITS):
        exact = floats(Reference(name, *numbers, NOISE, power).tilted())
    terms = tilted_terms(get_link(name), *arrays(*numbers), NOISE, np.array([power]))
    for key, value in exact.items():
        # Of a threshold 3000 noise widths away, the distance itself is known to 1e-12.
        least = 1e-12 if key == "d_log_noise" and variance == 1e6 else 1e-15
        assert getattr(terms, key)[0] == pytest.approx(value, rel=2e-11, abs=least), key


EXPECTED = {
    "logit": [(1e-6, 0.3, inf), (1.0, -2.0, 1.0), (25.0, 30.0, 30.0 + 1e-6), (1e6, -20.0, 20.0)],
    "probit": [(0.01, -inf, -30.0), (25.0, 1.0, 1.0 + 1e-6), (1e6, -2.0, inf)],
}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in LINKS for case in EXPECTED[name]]
)
def test_expected_terms_against_many_digits(name, case):
    variance, lower, upper = case
    numbers = 0.1, variance * NOISE**2, lower * NOISE, upper * NOISE
    with mp.workdps(DIGITS):
        exact = floats(Reference(name, *numbers, NOISE).expected())
    terms = expected_terms(get_link(name), *arrays(*numbers), NOISE)
    for key, value in exact.items():
        assert getattr(terms, key)[0] == pytest.approx(value, rel=2e-11, abs=1e-15), key


def grid():
    """Rows with every mix of deviation, distance and width, in units of the noise."""
    rows = []
    for deviation in (1e-3, 0.1, 1.0, 7.0, 50.0, 1e3):
        for distance in (0.0, 0.4, 3.0, 30.0, 4.0 * deviation, 30.0 * deviation):
            rows += [(deviation, distance, inf), (deviation, -inf, -distance)]
            for width in (1e-10, 1e-4, 0.5, 4.0, 60.0):
                rows += [(deviation, distance, distance + width)]
                rows += [(deviation, -distance - width, -distance)]
    deviation, lower, upper = np.array(rows).T
    return np.zeros(len(rows)), deviation**2, lower, upper


NAMES = ["log_z", "d_mean", "curvature", "d_lower", "d_upper", "d_log_noise"]


def test_integration_reproduces_the_closed_form_of_gaussian_noise():
    mean, variance, lower, upper = grid()
    closed = tilted_terms(get_link("probit"), mean, variance, lower, upper, 1.0)
    nearly_one = np.full(len(mean), 1.0 - 1e-15)
    integrated = tilted_terms(get_link("probit"), mean, variance, lower, upper, 1.0, nearly_one)
    for key in NAMES:
        np.testing.assert_allclose(
            getattr(integrated, key), getattr(closed, key), rtol=1e-10, atol=1e-12, err_msg=key
        )


def test_rows_of_both_kinds_keep_their_places():
    mean, variance, lower, upper = grid()
    power = np.where(np.arange(len(mean)) % 3 == 0, 0.5, 1.0)
    link = get_link("probit")
    mixed = tilted_terms(link, mean, variance, lower, upper, 1.0, power)
    whole = tilted_terms(link, mean, variance, lower, upper, 1.0)
    half = tilted_terms(link, mean, variance, lower, upper, 1.0, np.full(len(mean), 0.5))
    for key in NAMES:
        expected = np.where(power == 1.0, getattr(whole, key), getattr(half, key))
        np.testing.assert_allclose(getattr(mixed, key), expected, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("name", LINKS)
def test_rows_do_not_depend_on_their_neighbours(name):
    mean, variance, lower, upper = (np.tile(column, 2) for column in grid())
    link = get_link(name)
    power = np.full(len(mean), 0.8)
    many = tilted_terms(link, mean, variance, lower, upper, 1.0, power)
    expected = expected_terms(link, mean, variance, lower, upper, 1.0)
    for i in (0, 255, 256, len(mean) - 1):
        one = slice(i, i + 1)
        row = mean[one], variance[one], lower[one], upper[one], 1.0
        assert tilted_terms(link, *row, power[one]).log_z[0] == pytest.approx(
            many.log_z[i], rel=1e-13
        )
        assert expected_terms(link, *row).value[0] == pytest.approx(expected.value[i], rel=1e-13)


def test_the_unit_of_the_latent_value_does_not_matter():
    mean, variance, lower, upper = grid()
    link, unit = get_link("logit"), 16.0
    small = tilted_terms(link, mean, variance, lower, upper, 1.0)
    large = tilted_terms(link, unit * mean, unit**2 * variance, unit * lower, unit * upper, unit)
    for key, factor in (("log_z", 1.0), ("d_mean", unit), ("curvature", unit**2)):
        np.testing.assert_allclose(factor * getattr(large, key), getattr(small, key), rtol=1e-12)


@pytest.mark.parametrize("name", LINKS)
def test_no_variance_leaves_the_likelihood(name):
    link = get_link(name)
    scores, thresholds = np.array([-40.0, -0.3, 0.0, 2.0]), np.array([-1.0, 0.5, 0.7])
    certain = predictive_probabilities(link, 2.0 * scores, np.zeros(4), 2.0 * thresholds, 2.0)
    np.testing.assert_allclose(
        certain, class_probabilities(link, scores, thresholds), rtol=1e-12, atol=0.0
    )
    lower, upper = np.full(4, -1.0), np.full(4, 0.5)
    log_p = link.log_interval(lower - scores, upper - scores)
    for terms in (
        expected_terms(link, scores, np.zeros(4), lower, upper, 1.0).value,
        tilted_terms(link, scores, np.zeros(4), lower, upper, 1.0).log_z,
    ):
        np.testing.assert_allclose(terms, log_p, rtol=1e-12)


@pytest.mark.parametrize("name", LINKS)
def test_predictions_of_levels_without_rows_are_zero(name):
    thresholds = np.array([-inf, 0.5, 0.5, inf])
    mean, variance = np.array([0.0, 5.0, -300.0]), np.array([0.0, 4.0, 1.0])
    probabilities = predictive_probabilities(get_link(name), mean, variance, thresholds, 0.5)
    assert np.all(probabilities[:, [0, 2, 4]] == 0.0)
    two = predictive_probabilities(get_link(name), mean, variance, np.array([0.5]), 0.5)
    np.testing.assert_allclose(probabilities[:, [1, 3]], two, rtol=1e-13)


def test_predictions_without_rows():
    none = np.empty(0)
    for name in LINKS:
        link = get_link(name)
        assert predictive_probabilities(link, none, none, np.array([0.0]), 1.0).shape == (0, 2)
        assert expected_terms(link, none, none, none, none, 1.0).value.shape == (0,)
        assert tilted_terms(link, none, none, none, none, 1.0, none).log_z.shape == (0,)


def test_two_logistic_classes_are_mirror_images():
    """Opposite means have opposite classes, and the threshold itself is even."""
    link, variance = get_link("logit"), np.array([1e-4, 1.0, 1e4])
    at = predictive_probabilities(link, np.zeros(3), variance, np.zeros(1), 1.0)
    np.testing.assert_allclose(at, 0.5, rtol=1e-14)
    left = predictive_probabilities(link, np.full(3, -0.7), variance, np.zeros(1), 1.0)
    right = predictive_probabilities(link, np.full(3, 0.7), variance, np.zeros(1), 1.0)
    np.testing.assert_allclose(left, right[:, ::-1], rtol=1e-13)


ratios = st.floats(-3.0, 3.0).map(lambda exponent: 10.0**exponent)
places = st.floats(-300.0, 300.0)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(LINKS),
    ratio=ratios,
    place=places,
    by_noise=st.booleans(),
    width=st.one_of(st.just(inf), st.floats(-10.0, 3.0).map(lambda exponent: 10.0**exponent)),
    power=st.one_of(st.just(1.0), st.floats(1e-3, 1.0)),
    noise=st.floats(-3.0, 3.0).map(lambda exponent: 10.0**exponent),
)
def test_bounds_and_signs(name, ratio, place, by_noise, width, power, noise):
    variance = (ratio * noise) ** 2
    lower = place * (noise if by_noise else ratio * noise)
    numbers = arrays(0.0, variance, lower, lower + width * noise)
    terms = tilted_terms(get_link(name), *numbers, noise, np.array([power]))
    assert all(np.isfinite(getattr(terms, key)).all() for key in NAMES)
    assert terms.log_z[0] <= 1e-14
    assert 0.0 <= terms.curvature[0] < 1.0 / variance
    assert terms.d_lower[0] <= 0.0 <= terms.d_upper[0]
    moved = -(terms.d_lower[0] + terms.d_upper[0])
    size = max(abs(terms.d_lower[0]), terms.d_upper[0])
    # All thresholds and the mean moved alike change nothing.
    assert terms.d_mean[0] == pytest.approx(moved, rel=1e-9, abs=1e-9 * size)
    if power == 1.0:
        expected = expected_terms(get_link(name), *numbers, noise)
        assert expected.value[0] <= terms.log_z[0] + 1e-12 * abs(terms.log_z[0]) + 1e-14
        assert expected.d_variance[0] <= 0.0


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(LINKS),
    thresholds=st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=4).map(sorted),
    mean=st.floats(-50.0, 50.0),
    ratio=ratios,
)
def test_predictions_sum_to_one_and_rise_with_the_mean(name, thresholds, mean, ratio):
    means, variance = np.array([mean, mean + 0.5]), np.full(2, ratio**2)
    probabilities = predictive_probabilities(
        get_link(name), means, variance, np.array(thresholds), 1.0
    )
    assert (probabilities >= 0.0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-14)
    below = np.cumsum(probabilities, axis=1)
    assert (below[1] <= below[0] + 1e-13).all()


def test_a_heavy_row_whose_mode_newton_steps_go_around():
    """Newton's method alone goes to and fro between two points of this integrand."""
    ratio, lower, power = 46.47002903522827, 3.1773849277168327, 857.3657961264771
    one = np.ones(1)
    terms = tilted_terms(
        get_link("logit"), 0.0 * one, ratio**2 * one, lower * one, inf * one, 1.0, power * one
    )
    t = np.linspace(0.0, 12.0, 1_200_001)
    log_tilt = -power * np.logaddexp(0.0, lower - ratio * t) - 0.5 * t * t
    mass = trapezoid(np.exp(log_tilt), t) / np.sqrt(2.0 * np.pi)
    assert terms.log_z[0] == pytest.approx(np.log(mass), rel=1e-7)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_modes_between_close_thresholds_are_found_in_few_steps(scale, rng, monkeypatch):
    calls, whole = [], gaussian_intervals._Rows.log_tilt_of
    monkeypatch.setattr(
        gaussian_intervals._Rows, "log_tilt_of", lambda *given: calls.append(1) or whole(*given)
    )
    lower = scale * rng.normal(size=50)
    rows = (scale * rng.normal(size=50), scale**2 * rng.uniform(0.1, 10.0, 50), lower)
    found = tilted_terms(get_link("logit"), *rows, lower + 0.01 * rng.uniform(0.1, 1.0, 50), 1e-3)
    assert np.isfinite(found.log_z).all()
    # Halving the interval that the mode must lie in took 45 and more.
    assert len(calls) <= 25
