import numpy as np
import pytest
import scipy.sparse as sp

from echelon.solvers.linear.design import StandardizedDesign


@pytest.fixture(params=["dense", "sparse"])
def case(request, rng):
    X = np.where(rng.uniform(size=(50, 4)) < 0.4, 0.0, rng.normal(3.0, 2.0, size=(50, 4)))
    X[:, 2] = 5.0
    weights = rng.uniform(0.5, 2.0, size=50)
    design = StandardizedDesign(X if request.param == "dense" else sp.csr_array(X), weights)
    kept = X[:, [0, 1, 3]]
    mean = np.average(kept, axis=0, weights=weights)
    scale = np.sqrt(np.average((kept - mean) ** 2, axis=0, weights=weights))
    return design, (kept - mean) / scale, X


def test_products_are_those_of_the_standardised_columns(case, rng):
    design, Z, _ = case
    assert design.active.tolist() == [0, 1, 3]
    assert design.shape == Z.shape
    coef, rows = rng.normal(size=3), rng.normal(size=(50, 2))
    np.testing.assert_allclose(design.dot(coef), Z @ coef, atol=1e-12)
    np.testing.assert_allclose(design.transpose_dot(rows), Z.T @ rows, atol=1e-10)
    np.testing.assert_allclose(design.transpose_dot(rows[:, 0]), Z.T @ rows[:, 0], atol=1e-10)
    np.testing.assert_allclose(design.transpose_dot(sp.csr_array(rows)), Z.T @ rows, atol=1e-10)


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_gram_with_positive_and_mixed_curvature(case, rng, low):
    design, Z, _ = case
    curvature = rng.uniform(low, 1.0, size=50)
    np.testing.assert_allclose(design.gram(curvature), Z.T @ (curvature[:, None] * Z), atol=1e-10)


def test_back_to_the_units_of_x(case, rng):
    design, Z, X = case
    coef = rng.normal(size=3)
    original, shift = design.to_original(coef, 4)
    assert original[2] == 0.0
    np.testing.assert_allclose(X @ original - shift, Z @ coef, atol=1e-10)


def test_rows_beyond_one_block(rng):
    X = rng.normal(size=(20_000, 3)) + 1000.0
    design = StandardizedDesign(X, np.ones(20_000))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    curvature = rng.uniform(size=20_000)
    np.testing.assert_allclose(
        design.gram(curvature), Z.T @ (curvature[:, None] * Z), rtol=1e-8, atol=1e-6
    )
