"""The recipes "Add a loss" and "Add a kernel" of CONTRIBUTING.md, followed with a toy."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from kernels import test_kernels as kernel_tests
from ordinal import test_losses as loss_tests
from scipy.special import expit
from support.data import ordinal_data

from echelon import SVOR, LinearSVOR, RankSVM
from echelon.export import ExportError, to_onnx
from echelon.kernels import KERNELS, get_kernel
from echelon.kernels.functions import check_not_negative
from echelon.kernels.rows import read_pair, read_rows
from echelon.ordinal.losses import LOSSES, MarginLoss
from echelon.tables import labelled_table
from echelon.trained import ModelFileError, load_model, train

# A hinge whose kink is softened: ln(1 + e^2(1−m))/2.
SOFT_HINGE = MarginLoss(
    "soft_hinge",
    value=lambda m: 0.5 * np.logaddexp(0.0, 2.0 * (1.0 - m)),
    gradient=lambda m: -expit(2.0 * (1.0 - m)),
    curvature=lambda m: 2.0 * expit(2.0 * (1.0 - m)) * expit(-2.0 * (1.0 - m)),
)


@dataclass(frozen=True)
class Laplacian:
    """k(x, x′) = height·exp(−γ Σ_v |x_v − x′_v|)."""

    gamma: float = 1.0
    height: float = 1.0

    def __post_init__(self):
        check_not_negative("gamma", self.gamma)

    def block(self, X, Y=None):
        left, right = read_pair(X, Y, sparse=False)
        distances = np.zeros((len(left), len(right)))
        for a, b in zip(left.T, right.T, strict=True):
            distances += np.abs(np.subtract.outer(a, b))
        return self.height * np.exp(-self.gamma * distances)

    def diagonal(self, X):
        return np.full(len(read_rows(X, sparse=False)), self.height)


@pytest.fixture
def soft_hinge(monkeypatch):
    monkeypatch.setitem(LOSSES, SOFT_HINGE.name, SOFT_HINGE)
    return SOFT_HINGE.name


@pytest.fixture
def laplacian(monkeypatch):
    monkeypatch.setitem(KERNELS, "laplacian", Laplacian)
    monkeypatch.setitem(kernel_tests.ON_FEATURES, "laplacian", Laplacian(0.5))
    return "laplacian"


def table_of(X, y):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return labelled_table(pd.DataFrame({**columns, "grade": y}), "grade")


def test_a_loss_passes_the_checks_of_all_losses(soft_hinge):
    loss_tests.test_derivatives_by_differences(soft_hinge)
    loss_tests.test_losses_fall_are_convex_and_bound_the_error(soft_hinge)


@pytest.mark.parametrize("constraints", ["implicit", "explicit"])
def test_a_loss_is_fitted_with_its_certificate(soft_hinge, constraints):
    X, y = ordinal_data(n=150)
    model = LinearSVOR(loss=soft_hinge, constraints=constraints, tol=1e-9).fit(X, y)
    assert model.converged_
    assert 0.0 <= model.duality_gap_ <= 1e-9 * (1.0 + model.objective_)
    Z = np.where(y[:, None] > np.arange(3), 1.0, -1.0)
    W = np.ones((150, 3))
    if constraints == "explicit":
        W = np.isin(np.arange(3) - y[:, None], [-1, 0]).astype(float)

    def objective(coef, thresholds):
        margins = Z * ((X @ coef)[:, None] - thresholds)
        return 0.5 * coef @ coef + np.sum(W * SOFT_HINGE.value(margins))

    assert objective(model.coef_, model.thresholds_) == pytest.approx(model.objective_)
    for j in range(len(model.coef_)):
        for step in (-1e-3, 1e-3):
            moved = model.coef_ + step * np.eye(len(model.coef_))[j]
            assert objective(moved, model.thresholds_) > model.objective_
    assert (model.predict(X) == y).sum() > np.bincount(y).max()


def test_a_model_with_the_loss_is_saved_loaded_and_exported(soft_hinge, tmp_path):
    X, y = ordinal_data(n=120)
    trained = train(table_of(X, y), LinearSVOR(loss=soft_hinge), evaluate=False)
    trained.save(tmp_path / "model.echelon")
    again = load_model(tmp_path / "model.echelon")
    np.testing.assert_array_equal(again.predict(X), trained.predict(X))
    # Predictions need coefficients and thresholds alone, whatever they were fitted by.
    assert to_onnx(LinearSVOR(loss=soft_hinge).fit(X, y)).graph.node


def test_a_name_that_the_table_lacks_is_refused():
    X, y = ordinal_data(n=40)
    with pytest.raises(ValueError, match=r"loss must be 'squared_hinge', .*; found 'soft_hinge'"):
        LinearSVOR(loss="soft_hinge").fit(X, y)
    with pytest.raises(ValueError, match=r"kernel must be .*; found 'laplacian'"):
        SVOR(kernel="laplacian").fit(X, y)


def test_a_kernel_passes_the_checks_of_all_kernels(laplacian):
    X, Y = (
        np.random.default_rng(0).normal(size=(13, 4)),
        np.random.default_rng(1).normal(size=(7, 4)),
    )
    kernel_tests.test_every_kernel_of_the_registry_is_tested()
    kernel = get_kernel(laplacian, gamma=0.5)
    expected = [[np.exp(-0.5 * np.abs(x - y).sum()) for y in Y] for x in X]
    np.testing.assert_allclose(kernel.block(X, Y), expected, rtol=1e-13)
    with pytest.raises(ValueError, match="gamma must be a finite number that is not negative"):
        get_kernel(laplacian, gamma=-1.0)


@pytest.mark.parametrize("estimator", [SVOR, RankSVM])
def test_a_kernel_is_found_by_name_in_every_kernel_machine(laplacian, estimator):
    X, y = ordinal_data(n=80)
    named = estimator(kernel=laplacian, gamma=0.5).fit(X, y)
    assert named.converged_
    assert named.kernel_ == Laplacian(0.5)
    precomputed = estimator(kernel="precomputed").fit(Laplacian(0.5).block(X), y)
    np.testing.assert_allclose(
        named.predict(X), precomputed.predict(Laplacian(0.5).block(X)), atol=1e-9
    )


def test_a_kernel_whose_class_is_not_listed_is_neither_saved_nor_exported(laplacian, tmp_path):
    X, y = ordinal_data(n=80)
    model = SVOR(kernel=laplacian).fit(X, y)
    with pytest.raises(ExportError, match="The kernel Laplacian cannot be exported"):
        to_onnx(model)
    trained = train(table_of(X, y), SVOR(kernel=laplacian), evaluate=False)
    with pytest.raises(ModelFileError, match=r"cannot be saved, because it holds .*Laplacian"):
        trained.save(tmp_path / "model.echelon")
