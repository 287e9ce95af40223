"""Tables of fewer rows than columns in the space of their rows."""

import numpy as np
import pytest

from echelon import LinearSVOR
from echelon.solvers.linear import svor
from echelon.solvers.linear.row_space import RowSpace


def test_coordinates_have_the_products_of_the_rows(rng):
    X, centre = rng.normal(size=(12, 40)), rng.normal(size=40)
    space = RowSpace.of(X, centre)
    apart = X - centre
    np.testing.assert_allclose(space.Z @ space.Z.T, apart @ apart.T, atol=1e-10)
    v = rng.normal(size=space.Z.shape[1])
    w = space.weights(v)
    np.testing.assert_allclose(apart @ w, space.Z @ v, atol=1e-10)
    np.testing.assert_allclose(w @ w, v @ v)


def test_equal_rows_and_the_mean_leave_no_direction(rng):
    X = rng.normal(size=(6, 30))[[0, 1, 2, 3, 4, 5, 0, 1]]
    assert RowSpace.of(X, X.mean(axis=0)).Z.shape == (8, 5)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((1, 5)),
        np.eye(6)[:, :4],
        np.zeros((4, 9)),
        1e200 * np.eye(4, 9),
        np.diag([1.0, 1.0, 1e-5])[:, [0, 1, 2, 2, 2]],
    ],
)
def test_no_space_of_long_tables_or_of_rows_of_sizes_too_different(X):
    assert RowSpace.of(X, np.zeros(X.shape[1])) is None


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "exponential"])
def test_the_model_is_that_of_the_columns(rng, monkeypatch, loss, C):
    X, weights = rng.normal(size=(30, 60)) + 5.0, rng.uniform(0.5, 2.0, 30)
    y = np.digitize(X[:, 0] + rng.normal(size=30), [4.5, 5.5])
    spaces, of = [], RowSpace.of
    monkeypatch.setattr(
        svor.RowSpace, "of", lambda *of_what: spaces.append(of(*of_what)) or spaces[-1]
    )
    model = LinearSVOR(C=C, loss=loss, tol=1e-10).fit(X, y, sample_weight=weights)
    assert len(spaces) == 1 and spaces[0].Z.shape == (30, 29)
    monkeypatch.setattr(svor.RowSpace, "of", lambda *_: None)
    plain = LinearSVOR(C=C, loss=loss, tol=1e-10).fit(X, y, sample_weight=weights)
    assert model.duality_gap_ <= 1e-10 * (1.0 + model.objective_)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(model.thresholds_, plain.thresholds_, atol=1e-4)
