"""Weighted sums of derivatives against scikit-learn's lists of them."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from echelon.gaussian_process import covariance as module
from echelon.gaussian_process import parts
from echelon.gaussian_process.covariance import contract, contract_diagonal, covariance, relevance
from echelon.gaussian_process.kernels import LinearARD, PearsonKernel


class Reversed(RBF):
    """A user's kernel: not what its parent is."""

    def __call__(self, X, Y=None, eval_gradient=False):
        given = super().__call__(-2.0 * X, None if Y is None else -2.0 * Y, eval_gradient)
        return given


class Noise(WhiteKernel):
    """A user's kernel whose diagonal is not that of equal rows."""


def leaves(bounds):
    """Every kind of kernel on three features, with these bounds of its parameters."""
    scales = [0.5, 2.0, 1.1]
    return [
        ConstantKernel(1.7, bounds),
        WhiteKernel(0.3, bounds),
        RBF(1.3, bounds),
        RBF(scales, bounds),
        Matern(0.7, bounds, nu=0.5),
        Matern(scales, bounds, nu=0.5),
        Matern(0.7, bounds, nu=1.5),
        Matern(scales, bounds, nu=1.5),
        Matern(scales, bounds, nu=2.5),
        Matern(scales, bounds, nu=np.inf),
        LinearARD(0.4, bounds),
        LinearARD(scales, bounds),
        DotProduct(0.8, bounds),
        PearsonKernel(1.4, bounds),
        RationalQuadratic(0.9, 1.2, bounds, bounds),
        ExpSineSquared(0.9, 1.2, bounds, bounds),
        Reversed(scales, bounds),
        Noise(0.3, bounds),
    ]


FREE, FIXED = leaves((1e-5, 1e5)), leaves("fixed")
every_leaf = pytest.mark.parametrize("kernel", FREE, ids=lambda k: f"{type(k).__name__}-{k}")
trees = st.recursive(
    st.sampled_from(FREE) | st.sampled_from(FIXED),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, p: a**p, inner, st.sampled_from([2, 3])),
    ),
    max_leaves=5,
)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(module, "_TILE", 60)
    monkeypatch.setattr(module, "_FEWEST_ROWS", 3)
    monkeypatch.setattr(parts, "_LISTED", 200)


def rows(seed, n=17):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[n // 2] = X[0]
    return rng, X


def listed(kernel, X, Y, weights):
    """The sums and the sums of absolute values, from all derivatives."""
    if Y is None:
        gradient = kernel(X, eval_gradient=True)[1]
    else:
        gradient = kernel(np.concatenate([X, Y]), eval_gradient=True)[1][: len(X), len(X) :]
    sums = np.einsum("ij,ijp->p", weights, gradient)
    return sums, np.einsum("ij,ijp->p", np.abs(weights), np.abs(gradient))


def magnitude(kernel, X):
    """Bound of values that the sums of a composite kernel pass through."""
    if hasattr(kernel, "k1"):
        a, b = magnitude(kernel.k1, X), magnitude(kernel.k2, X)
        return (1.0 + a) * (1.0 + b)
    if hasattr(kernel, "exponent"):
        return (1.0 + magnitude(kernel.kernel, X)) ** kernel.exponent
    return np.abs(kernel(X)).max()


def assert_sums(found, kernel, X, Y, weights):
    expected, absolute = listed(kernel, X, Y, weights)
    assert found.shape == expected.shape == (kernel.n_dims,)
    # Differences are squared in units of length scales of 0.5 and more.
    extent = 16.0 * np.ptp(np.concatenate([X, X if Y is None else Y])) ** 2
    room = absolute + np.abs(weights).sum() * magnitude(kernel, X) * extent
    assert (np.abs(found - expected) <= 1e-11 * room).all()


@every_leaf
@pytest.mark.usefixtures("small_tiles")
def test_every_kernel_against_the_listed_derivatives(kernel):
    rng, X = rows(0)
    Y = np.concatenate([rng.normal(size=(10, 3)), X[:3]])
    weights = rng.normal(size=(17, 17))
    weights += weights.T
    assert_sums(contract(kernel, X, None, weights), kernel, X, None, weights)
    assert_sums(contract(kernel, X, None, weights, kernel(X)), kernel, X, None, weights)
    weights = rng.normal(size=(17, 13))
    assert_sums(contract(kernel, X, Y, weights), kernel, X, Y, weights)
    assert_sums(contract(kernel, X, Y, weights, kernel(X, Y)), kernel, X, Y, weights)


@settings(max_examples=150, deadline=None)
@given(trees, st.integers(0, 2**32 - 1))
def test_sums_products_and_powers(kernel, seed):
    rng, X = rows(seed)
    scale = max(1.0, np.abs(kernel(X)).max())
    np.testing.assert_allclose(covariance(kernel, X), kernel(X), rtol=1e-9, atol=1e-11 * scale)
    Y = np.concatenate([rng.normal(size=(4, 3)), X[:2]])
    np.testing.assert_allclose(
        covariance(kernel, X, Y), kernel(X, Y), rtol=1e-9, atol=1e-11 * scale
    )
    weights = rng.normal(size=(17, 17))
    weights += weights.T
    assert_sums(contract(kernel, X, None, weights), kernel, X, None, weights)
    assert_sums(contract(kernel, X, None, weights, kernel(X)), kernel, X, None, weights)
    cross = rng.normal(size=(17, 6))
    assert_sums(contract(kernel, X, Y, cross), kernel, X, Y, cross)
    gradient = kernel(X, eval_gradient=True)[1]
    expected = np.einsum("i,iip->p", weights[0], gradient)
    room = np.einsum("i,iip->p", np.abs(weights[0]), np.abs(gradient))
    assert (np.abs(contract_diagonal(kernel, X, weights[0]) - expected) <= 1e-11 * room).all()


@every_leaf
@pytest.mark.usefixtures("small_tiles")
def test_diagonal_and_covariance_of_every_kernel(kernel):
    rng, X = rows(1)
    weights = rng.normal(size=17)
    expected = np.einsum("i,iip->p", weights, kernel(X, eval_gradient=True)[1])
    np.testing.assert_allclose(contract_diagonal(kernel, X, weights), expected, atol=1e-13)
    values = covariance(kernel, X)
    np.testing.assert_allclose(values, kernel(X), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_allclose(covariance(kernel, X, X[:4]), kernel(X, X[:4]), atol=1e-13)


@pytest.mark.parametrize("kernel", FIXED, ids=lambda k: f"{type(k).__name__}-{k}")
def test_fixed_parameters_have_no_sums(kernel):
    rng, X = rows(2)
    assert contract(kernel, X, None, np.ones((17, 17))).shape == (0,)
    assert contract(kernel, X, X[:5], rng.normal(size=(17, 5))).shape == (0,)
    assert contract_diagonal(kernel, X, np.ones(17)).shape == (0,)


@pytest.mark.usefixtures("small_tiles")
def test_smoothness_without_a_closed_form():
    rng, X = rows(4)
    kernel = Matern([0.5, 2.0, 1.1], nu=0.8)
    weights = rng.normal(size=(17, 17))
    weights += weights.T
    expected, absolute = listed(kernel, X, None, weights)
    # scikit-learn takes differences over steps of 1e-10 here.
    np.testing.assert_allclose(
        contract(kernel, X, None, weights), expected, atol=1e-5 * absolute.max()
    )
    np.testing.assert_allclose(covariance(kernel, X), kernel(X), rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("kernel", [RBF([0.5, 2.0, 1.1]), RBF(2.0), Matern([0.5, 2.0, 1.1])])
def test_rows_far_from_the_origin(kernel, offset):
    rng, X = rows(3)
    X = np.round(X, 3) + offset
    weights = rng.normal(size=(17, 17))
    weights += weights.T
    np.testing.assert_allclose(covariance(kernel, X), kernel(X), atol=2e-11)
    found = contract(kernel, X, None, weights)
    expected = listed(kernel, X, None, weights)[0]
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(weights).sum())


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-6])
@pytest.mark.parametrize("variance", [1.0, 0.1])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_equal_rows_get_exactly_the_variance(d, variance, scale):
    rng = np.random.default_rng(d)
    X = np.repeat(rng.normal(size=(40, d)), 2, axis=0)
    kernel = ConstantKernel(variance) * RBF(scale * rng.uniform(0.5, 2.0, size=d))
    for values in (covariance(kernel, X), covariance(kernel, X, X.copy())):
        np.testing.assert_array_equal(np.diag(values), np.full(80, variance))
        np.testing.assert_array_equal(values[::2, 1::2].diagonal(), np.full(40, variance))
        assert values.max() == variance


def test_short_scale_of_a_feature_of_few_values_keeps_the_digits_of_the_others():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=50), rng.normal(size=50)])
    kernel = RBF([1e-5, 1.0])
    np.testing.assert_allclose(covariance(kernel, X), kernel(X), rtol=1e-13)
    np.testing.assert_allclose(covariance(kernel, X, X[:9] + 0.0), kernel(X, X[:9]), rtol=1e-13)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-10, 1e-13, 0.0])
def test_rows_that_almost_agree_with_the_roughest_kernel(gap):
    X = np.array([[0.0, 0.0], [gap, 2.0 * gap], [1.0, 1.0]])
    kernel = Matern([1.0, 2.0], nu=0.5)
    weights = np.ones((3, 3))
    expected = listed(kernel, X, None, weights)[0]
    np.testing.assert_allclose(contract(kernel, X, None, weights), expected, atol=1e-7)


def test_missing_entries_where_the_kernel_reads_them():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(30, 6)).astype(float)
    X[rng.random(X.shape) < 0.4] = np.nan
    weights = rng.normal(size=(30, 30))
    weights += weights.T
    kernel = ConstantKernel(2.0) * PearsonKernel(0.5) + WhiteKernel(0.1)
    np.testing.assert_allclose(covariance(kernel, X), kernel(X), atol=1e-14)
    np.testing.assert_allclose(
        contract(kernel, X, None, weights), listed(kernel, X, None, weights)[0]
    )


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF([0.5, 2.0]), [4.0, 0.25]),
        (Matern([0.5, 2.0], nu=1.5), [4.0, 0.25]),
        (LinearARD([3.0, 1.0]), [3.0, 1.0]),
        (2.0 * RBF([0.5, 2.0], "fixed") + WhiteKernel(), [4.0, 0.25]),
        (RBF([0.5, 2.0]) + RBF(0.1) * LinearARD([3.0, 1.0]) ** 2, [7.0, 1.25]),
        (RBF(0.5), None),
        (LinearARD(0.5) + DotProduct() * PearsonKernel(), None),
        (RationalQuadratic() * ConstantKernel(), None),
    ],
)
def test_relevance(kernel, expected):
    found = relevance(kernel, 2)
    if expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("kernel", [RBF([0.5]), LinearARD([4.0]), 3.0 * RBF([0.5])])
def test_relevance_of_a_single_feature_outlives_a_change_of_theta(kernel):
    np.testing.assert_allclose(relevance(kernel, 1), [4.0])
    np.testing.assert_allclose(relevance(kernel.clone_with_theta(kernel.theta), 1), [4.0])


@every_leaf
def test_no_rows_at_all(kernel):
    X = rows(0)[1]
    assert covariance(kernel, X[:0]).shape == (0, 0)
    assert covariance(kernel, X[:0], X).shape == (0, 17)
    assert not contract(kernel, X[:0], X, np.empty((0, 17))).any()


def peak_of(function, *arguments):
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "kernel",
    [
        ConstantKernel(2.0) * RBF(np.ones(20)),
        Matern(np.ones(20), nu=0.5) * LinearARD(np.ones(20)) + RBF(np.ones(20)) * DotProduct(),
    ],
    ids=["gaussian", "composite"],
)
def test_memory_is_that_of_tiles(kernel):
    X = np.random.default_rng(0).normal(size=(1500, 20))
    weights = np.ones((1500, 1500))
    assert peak_of(contract, kernel, X, None, weights) < 0.8 * weights.nbytes
    assert peak_of(covariance, kernel, X) < 1.8 * weights.nbytes


def test_memory_of_listed_derivatives_is_bounded(monkeypatch):
    monkeypatch.setattr(parts, "_LISTED", 1 << 16)
    X = np.random.default_rng(0).normal(size=(600, 20))
    weights = np.ones((600, 600))
    # All of them together are twenty times the size of the weights.
    assert peak_of(contract, Reversed(np.ones(20)), X, None, weights) < 2.0 * weights.nbytes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: contract(RBF(), X, None, np.ones((17, 3))), r"weights must have the shape"),
        (lambda X: contract(RBF(), X, X[:3], np.ones((17, 17))), r"weights must have the shape"),
        (
            lambda X: contract(RBF(), X, X[:3], np.ones((17, 3)), np.ones((3, 17))),
            r"matrix must have the shape \(17, 3\); found \(3, 17\)",
        ),
        (lambda X: contract_diagonal(RBF(), X, np.ones(3)), r"weights must have the shape \(17,\)"),
        (lambda X: covariance(RBF([1.0, 2.0]), X), "length_scale must be one number or one per"),
    ],
)
def test_wrong_shapes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(rows(0)[1])
