"""The kernels that scikit-learn does not have, against their definitions and its conventions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from echelon.gaussian_process.kernels import LinearARD, PearsonKernel

KERNELS = [
    LinearARD(0.7),
    LinearARD([0.7, 2.0, 0.1, 1.0]),
    LinearARD([0.7, 2.0, 0.1, 1.0], "fixed"),
    LinearARD(0.7, "fixed"),
    PearsonKernel(1.3),
    PearsonKernel(1.3, "fixed"),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(9, 4))


@pytest.fixture
def ratings():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 6, size=(12, 7)).astype(float)
    values[rng.random(values.shape) < 0.4] = np.nan
    values[3] = np.nan
    values[4] = [np.nan] * 6 + [2.0]
    values[5] = [3.0, 3.0, np.nan, np.nan, 3.0, 3.0, np.nan]
    values[6] = np.arange(7)
    return values


def z_scores(row):
    known = ~np.isnan(row)
    scores = np.zeros(len(row))
    if known.sum() > 1 and row[known].std() > 0:
        scores[known] = (row[known] - row[known].mean()) / row[known].std()
    return scores


@every_kernel
def test_derivatives_match_differences(kernel, X):
    values, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(values, kernel(X))
    assert gradient.shape == (9, 9, kernel.n_dims)
    if kernel.n_dims:
        numeric = approx_fprime(
            kernel.theta, lambda theta: kernel.clone_with_theta(theta)(X).ravel(), 1e-7
        )
        np.testing.assert_allclose(gradient.reshape(81, -1), numeric, rtol=1e-5, atol=1e-5)


@every_kernel
def test_block_diagonal_and_symmetry(kernel, X):
    Y = X[::2] + 1.0
    np.testing.assert_allclose(kernel(np.vstack([X, Y]))[:9, 9:], kernel(X, Y), atol=1e-14)
    np.testing.assert_allclose(np.diag(kernel(X)), kernel.diag(X), atol=1e-14)
    np.testing.assert_allclose(kernel(X), kernel(X).T, atol=1e-15)
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12
    assert not kernel.is_stationary()


@every_kernel
def test_scikit_learn_conventions(kernel, X):
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel
    assert kernel.bounds.size == 2 * kernel.n_dims
    moved = kernel.clone_with_theta(kernel.theta + 1.0)
    assert (moved == kernel) is (kernel.n_dims == 0)
    np.testing.assert_allclose(moved.theta, kernel.theta + 1.0)
    both = 2.0 * kernel + RBF()
    np.testing.assert_allclose(both(X), 2.0 * kernel(X) + RBF()(X))
    assert len(both.theta) == kernel.n_dims + 2
    name = next(iter(kernel.get_params()))
    assert (kernel * RBF()).get_params()[f"k1__{name}"] is kernel.get_params()[name]
    with pytest.raises(ValueError, match="Y must be None with eval_gradient=True"):
        kernel(X, X, eval_gradient=True)


def test_repr():
    assert repr(LinearARD([1.0, 0.12345])) == "LinearARD(relevance=[1, 0.123])"
    assert repr(LinearARD([2.0])) == "LinearARD(relevance=2)"
    assert repr(PearsonKernel(0.5) + LinearARD()) == (
        "PearsonKernel(variance=0.5) + LinearARD(relevance=1)"
    )


def test_bounds_are_those_of_the_parameters():
    np.testing.assert_allclose(LinearARD([1.0, 2.0], (0.1, 10.0)).bounds, np.log([[0.1, 10.0]] * 2))
    np.testing.assert_allclose(PearsonKernel(1.0, (0.1, 10.0)).bounds, np.log([[0.1, 10.0]]))


def test_linear_kernel_is_a_weighted_inner_product(X):
    kappa = np.array([0.7, 2.0, 0.1, 1.0])
    np.testing.assert_allclose(LinearARD(kappa)(X, X[:3]), X @ np.diag(kappa) @ X[:3].T)
    np.testing.assert_allclose(LinearARD(0.3)(X), 0.3 * X @ X.T)
    np.testing.assert_allclose(LinearARD([0.3])(X), 0.3 * X @ X.T)


@pytest.mark.parametrize("relevance", [[1.0, 2.0], np.ones((2, 2))])
def test_linear_kernel_refuses_another_number_of_features(relevance, X):
    with pytest.raises(ValueError, match="relevance must be one number or one per feature, 4"):
        LinearARD(relevance)(X)


@pytest.mark.filterwarnings("ignore:The optimal value:sklearn.exceptions.ConvergenceWarning")
def test_evidence_finds_the_relevant_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = 3.0 * X[:, 1] + 0.1 * rng.normal(size=80)
    kernel = LinearARD(np.ones(4)) + WhiteKernel(0.1)
    fitted = GaussianProcessRegressor(kernel, random_state=0).fit(X, y)
    kappa = fitted.kernel_.k1.relevance
    assert kappa[1] > 100.0 * np.delete(kappa, 1).max()


def test_pearson_is_the_mean_product_of_z_scores(ratings):
    Z = np.array([z_scores(row) for row in ratings])
    kernel = PearsonKernel(1.7)
    np.testing.assert_allclose(kernel(ratings), 1.7 * Z @ Z.T / 7, atol=1e-14)
    np.testing.assert_allclose(kernel(ratings, ratings[:5]), 1.7 * Z @ Z[:5].T / 7, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(ratings), 1.7 * np.sum(Z * Z, axis=1) / 7, atol=1e-14)
    assert not kernel(ratings)[[3, 4, 5]].any()


def test_pearson_of_complete_rows_is_their_correlation(X):
    np.testing.assert_allclose(PearsonKernel()(X), np.corrcoef(X), atol=1e-14)
    np.testing.assert_array_equal(PearsonKernel(2.0).diag(X), np.full(9, 2.0))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.0, 0.9))
def test_pearson_is_positive_semidefinite_whatever_is_missing(seed, d, share):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, size=(15, d)).astype(float)
    values[rng.random(values.shape) < share] = np.nan
    block = PearsonKernel()(values)
    np.testing.assert_array_equal(block, block.T)
    assert np.linalg.eigvalsh(block).min() > -1e-12
    assert np.diag(block).max() <= 1.0


def test_pearson_in_sums_and_products_with_missing_entries(ratings):
    kernel = ConstantKernel(2.0) * PearsonKernel() + WhiteKernel(0.3)
    expected = 2.0 * PearsonKernel()(ratings) + 0.3 * np.eye(len(ratings))
    np.testing.assert_allclose(kernel(ratings), expected)
