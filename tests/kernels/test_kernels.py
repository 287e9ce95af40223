import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from echelon.kernels import (
    KERNELS,
    Function,
    Gaussian,
    Kernel,
    Linear,
    Pearson,
    Polynomial,
    Precomputed,
    Sigmoid,
    get_kernel,
    parameter_names,
    resolve_gamma,
)
from echelon.kernels import rows as rows_module

ON_FEATURES = {
    "linear": Linear(),
    "polynomial": Polynomial(degree=3, gamma=0.4, coef0=0.7),
    "gaussian": Gaussian(gamma=0.3),
    "gaussian_ard": Gaussian(gamma=(0.3, 0.0, 1.5, 0.02)),
    "sigmoid": Sigmoid(gamma=0.2, coef0=-0.4),
    "pearson": Pearson(),
    "function": Function(pairwise.laplacian_kernel),
}
SPARSE = ("linear", "polynomial", "gaussian", "gaussian_ard", "sigmoid")
every_kernel = pytest.mark.parametrize("name", ON_FEATURES)
sparse_kernels = pytest.mark.parametrize("name", SPARSE)


def slow_block(name, kernel, X, Y):
    """Entry by entry, from the definitions."""
    formulas = {
        "linear": lambda x, y: x @ y,
        "polynomial": lambda x, y: (0.4 * (x @ y) + 0.7) ** 3,
        "gaussian": lambda x, y: math.exp(-0.3 * np.sum((x - y) ** 2)),
        "gaussian_ard": lambda x, y: math.exp(-np.sum(np.array(kernel.gamma) * (x - y) ** 2)),
        "sigmoid": lambda x, y: math.tanh(0.2 * (x @ y) - 0.4),
        "pearson": lambda x, y: np.corrcoef(x, y)[0, 1],
        "function": lambda x, y: math.exp(-np.abs(x - y).sum() / len(x)),
    }
    return np.array([[formulas[name](x, y) for y in Y] for x in X])


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(13, 4))


@pytest.fixture
def Y():
    return np.random.default_rng(1).normal(size=(7, 4)) + 0.5


@pytest.fixture(params=["one chunk", "many chunks"])
def chunked(request, monkeypatch):
    if request.param == "many chunks":
        monkeypatch.setattr(rows_module, "_CHUNK", 20)


def test_every_kernel_of_the_registry_is_tested():
    tested = {type(kernel) for kernel in ON_FEATURES.values()}
    assert set(KERNELS.values()) - tested == {Precomputed}


@pytest.mark.usefixtures("chunked")
@every_kernel
def test_block_follows_its_definition(name, X, Y):
    kernel = ON_FEATURES[name]
    np.testing.assert_allclose(kernel.block(X, Y), slow_block(name, kernel, X, Y), rtol=1e-12)
    np.testing.assert_allclose(kernel.block(X), slow_block(name, kernel, X, X), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Linear(), lambda X, Y: pairwise.linear_kernel(X, Y)),
        (
            Polynomial(degree=5, gamma=0.3, coef0=1.0),
            lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=5, gamma=0.3, coef0=1.0),
        ),
        (Gaussian(0.7), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.7)),
        (Sigmoid(0.1, -1.0), lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.1, coef0=-1.0)),
        (Pearson(), lambda X, Y: 1.0 - pairwise.pairwise_distances(X, Y, metric="correlation")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_agrees_with_scikit_learn(kernel, peer, X, Y):
    np.testing.assert_allclose(kernel.block(X, Y), peer(X, Y), rtol=1e-10, atol=1e-13)


@every_kernel
def test_block_with_itself_is_exactly_symmetric(name):
    X = 50.0 * np.random.default_rng(2).normal(size=(60, 4))
    block = ON_FEATURES[name].block(X)
    np.testing.assert_array_equal(block, block.T)
    np.testing.assert_array_equal(ON_FEATURES[name].block(X, X), block)


@every_kernel
def test_diagonal_is_that_of_the_block(name, X):
    kernel = ON_FEATURES[name]
    many = np.tile(X, (11, 1))
    np.testing.assert_allclose(kernel.diagonal(many), np.diag(kernel.block(many)), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.just(4)),
        elements=st.floats(-100, 100, width=32),
    ),
    name=st.sampled_from([name for name in ON_FEATURES if name != "sigmoid"]),
)
def test_positive_semidefinite(X, name):
    block = ON_FEATURES[name].block(X)
    eigenvalues = np.linalg.eigvalsh(block)
    assert eigenvalues.min() >= -1e-9 * max(1.0, eigenvalues.max())


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.float64, (6, 3), elements=st.floats(-1e3, 1e3)),
    gamma=st.floats(0, 1e6),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_gaussian_stays_between_zero_and_one(X, gamma, offset):
    kernel = Gaussian(gamma)
    block = kernel.block(X + offset)
    assert (np.diag(block) == 1.0).all()
    assert (block >= 0).all() and (block <= 1).all()
    assert (kernel.block(X + offset, (X + offset).copy()) <= 1).all()


def test_gaussian_of_rows_far_from_the_origin_keeps_its_digits(X):
    far = X + 2.0**23
    np.testing.assert_allclose(
        Gaussian(0.5).block(far),
        pairwise.rbf_kernel(far - far.mean(axis=0), gamma=0.5),
        rtol=1e-10,
    )


def test_ard_is_a_gaussian_of_scaled_features(X, Y):
    rates = np.array([0.3, 0.0, 1.5, 0.02])
    expected = Gaussian(1.0).block(X * np.sqrt(rates), Y * np.sqrt(rates))
    np.testing.assert_allclose(Gaussian(rates).block(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(
        Gaussian([0.4] * 4).block(X, Y), Gaussian(0.4).block(X, Y), rtol=1e-12
    )
    moved = X.copy()
    moved[:, 1] += 100.0
    np.testing.assert_allclose(
        Gaussian(rates).block(moved, Y), Gaussian(rates).block(X, Y), rtol=1e-9
    )


def test_gamma_is_half_the_kappa_of_the_paper(X):
    kappa = 0.5
    expected = math.exp(-kappa / 2 * np.sum((X[0] - X[1]) ** 2))
    assert Gaussian(kappa / 2).block(X[:1], X[1:2])[0, 0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.usefixtures("chunked")
@sparse_kernels
def test_sparse_equals_dense(name, X, Y):
    kernel = ON_FEATURES[name]
    X[np.abs(X) < 0.6] = 0.0
    Y[np.abs(Y) < 0.6] = 0.0
    expected = kernel.block(X, Y)
    for left, right in [
        (sp.csr_array(X), sp.csr_array(Y)),
        (sp.csr_matrix(X), sp.csc_array(Y)),
        (sp.csr_array(X), Y),
        (X, sp.csr_array(Y)),
    ]:
        block = kernel.block(left, right)
        assert isinstance(block, np.ndarray) and type(block) is np.ndarray
        np.testing.assert_allclose(block, expected, rtol=1e-10, atol=1e-14)
    alone = kernel.block(sp.csr_array(X))
    np.testing.assert_allclose(alone, kernel.block(X), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(alone, alone.T)
    np.testing.assert_allclose(kernel.diagonal(sp.csr_array(X)), kernel.diagonal(X), rtol=1e-12)


def test_sparse_gaussian_has_an_exact_diagonal():
    X = sp.random_array((40, 30), density=0.2, rng=np.random.default_rng(3)).tocsr() * 1e4
    assert (np.diag(Gaussian(10.0).block(X)) == 1.0).all()


@every_kernel
@pytest.mark.parametrize("form", ["float32", "readonly", "fortran", "strided", "integer"])
def test_any_layout_and_type(name, form, X, Y):
    kernel = ON_FEATURES[name]
    forms = {
        "float32": lambda A: A.astype(np.float32),
        "readonly": lambda A: np.frombuffer(A.tobytes()).reshape(A.shape),
        "fortran": np.asfortranarray,
        "strided": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
        "integer": lambda A: np.round(5 * A).astype(np.int16),
    }
    left, right = forms[form](X), forms[form](Y)
    before = left.copy()
    block = kernel.block(left, right)
    expected = kernel.block(left.astype(np.float64), right.astype(np.float64))
    assert block.dtype == np.float64
    assert block.flags.c_contiguous and block.flags.writeable
    np.testing.assert_allclose(block, expected, rtol=1e-11)
    np.testing.assert_array_equal(left, before)
    np.testing.assert_allclose(
        kernel.diagonal(left), kernel.diagonal(left.astype(np.float64)), rtol=1e-11
    )


@pytest.mark.parametrize("name", [name for name in ON_FEATURES if name != "function"])
def test_no_rows_give_an_empty_block(name, X):
    kernel = ON_FEATURES[name]
    assert kernel.block(X[:0], X).shape == (0, 13)
    assert kernel.block(X, X[:0]).shape == (13, 0)
    assert kernel.diagonal(X[:0]).shape == (0,)


def test_block_of_a_large_pair_needs_no_large_temporaries():
    import tracemalloc

    X = np.random.default_rng(4).normal(size=(1500, 30))
    tracemalloc.start()
    block = Gaussian(0.1).block(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * block.nbytes


def test_pearson_of_a_constant_row_is_zero():
    X = np.array([[0.1, 0.1, 0.1], [1.0, 2.0, 4.0], [1e200, -1e200, 0.0], [1e-200, 2e-200, 0.0]])
    block = Pearson().block(X)
    np.testing.assert_array_equal(block[0], np.zeros(4))
    np.testing.assert_array_equal(np.diag(block), [0.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(Pearson().diagonal(X), np.diag(block))
    scaled = X[1:] / np.abs(X[1:]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(block[1:, 1:], np.corrcoef(scaled), atol=1e-12)


def test_pearson_of_missing_entries_is_that_of_z_scores_of_zero():
    X = np.array([[1.0, np.nan, 3.0, 5.0], [2.0, 1.0, 0.0, 1.0], [np.nan] * 3 + [4.0]])
    Z = np.array([np.array([-2.0, 0.0, 0.0, 2.0]) / np.sqrt(8 / 3), [2**0.5, 0.0, -(2**0.5), 0.0]])
    block = Pearson().block(X)
    np.testing.assert_allclose(block[:2, :2], Z @ Z.T / 4, atol=1e-15)
    np.testing.assert_array_equal(block[2], np.zeros(3))
    np.testing.assert_array_equal(Pearson().diagonal(X), [0.75, 1.0, 0.0])
    np.testing.assert_array_equal(np.diag(block), [0.75, 1.0, 0.0])
    np.testing.assert_allclose(Pearson().block(X, X.copy()), block, atol=1e-15)


def test_precomputed_gives_the_inputs_back(X, Y):
    gram, cross = Linear().block(X), Linear().block(Y, X)
    kernel = Precomputed()
    np.testing.assert_array_equal(kernel.block(gram), gram)
    np.testing.assert_array_equal(kernel.diagonal(gram), np.diag(gram))
    np.testing.assert_array_equal(kernel.block(cross, gram), cross)
    np.testing.assert_array_equal(kernel.block(cross[:, :3], gram[:3]), cross[:, :3])
    assert not kernel.block(gram).flags.writeable
    assert gram.flags.writeable


def test_kernels_are_values():
    assert Gaussian(np.array([1.0, 2.0])) == Gaussian([1, 2])
    assert hash(Gaussian(np.array([1.0, 2.0]))) == hash(Gaussian((1.0, 2.0)))
    assert Gaussian(1.0) != Gaussian(2.0)
    with pytest.raises(FrozenInstanceError):
        Gaussian(1.0).gamma = 2.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Polynomial(degree=0), "degree must be an integer of at least 1; found 0."),
        (lambda: Polynomial(degree=2.5), "degree must be an integer of at least 1; found 2.5."),
        (
            lambda: Polynomial(coef0=-1.0),
            "coef0 must be a finite number that is not negative; found -1.0.",
        ),
        (
            lambda: Polynomial(gamma="scale"),
            "gamma must be a finite number that is not negative; found 'scale'.",
        ),
        (
            lambda: Sigmoid(gamma=math.nan),
            "gamma must be a finite number that is not negative; found nan.",
        ),
        (lambda: Sigmoid(coef0=math.inf), "coef0 must be a finite number; found inf."),
        (lambda: Gaussian(-1.0), "gamma must be finite and not negative; found -1.0."),
        (lambda: Gaussian([1.0, -1.0]), "gamma must be finite and not negative"),
        (lambda: Gaussian([1.0, math.inf]), "gamma must be finite and not negative"),
        (lambda: Gaussian([]), "found an array of shape (0,)."),
        (lambda: Gaussian([[1.0]]), "found an array of shape (1, 1)."),
        (lambda: Gaussian("scale"), "which get_kernel resolves from data."),
        (lambda: get_kernel("cosine"), "kernel must be 'linear', 'polynomial', 'gaussian'"),
        (lambda: get_kernel(3), "a function of X and Y or a Kernel; found 3."),
        (
            lambda: get_kernel("linear", gamma=1.0),
            "gamma is not a parameter of this kernel; found kernel='linear', which takes none.",
        ),
        (lambda: get_kernel("sigmoid", degree=2), "which takes gamma, coef0."),
        (
            lambda: get_kernel(Linear(), gamma=1.0),
            "gamma is not a parameter of this kernel; found kernel=Linear()",
        ),
        (
            lambda: get_kernel("gaussian"),
            "gamma must be a number where there is no X; found 'scale'.",
        ),
        (
            lambda: get_kernel("gaussian", np.eye(2), gamma="wide"),
            "gamma must be 'scale', 'auto', a number or one per feature; found 'wide'.",
        ),
    ],
)
def test_bad_parameters(make, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is checked below
        make()
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda A: Linear().block(A[0]), "X must have two dimensions, a row per item; found"),
        (lambda A: Linear().diagonal(A[0]), "X must have two dimensions"),
        (lambda A: Linear().block(A, A[:, :2]), "Y must have as many columns as X, 4; found 2."),
        (
            lambda A: Gaussian([1.0, 2.0]).block(A),
            "gamma must be one number or one per feature, 4; found 2 of them.",
        ),
        (
            lambda A: Pearson().block(sp.csr_array(A)),
            "X must be dense for this kernel; found a sparse matrix.",
        ),
        (lambda A: Pearson().block(A[:, :1]), "X must have at least two columns"),
        (lambda A: Precomputed().block(A), "X must be a square matrix of kernel values; found"),
        (lambda A: Precomputed().diagonal(A), "X must be a square matrix of kernel values; found"),
        (lambda A: Precomputed().block(A[:4]), "X must be a symmetric matrix of kernel values"),
        (
            lambda A: Precomputed().block(A, A.copy()),
            "X must have a column of kernel values for each of the 13 rows of Y; found 4.",
        ),
        (
            lambda A: Function(lambda X, Y: X).block(A, A[:2]),
            "kernel must give an array of shape (13, 2)",
        ),
    ],
)
def test_bad_inputs(make, sentence, X):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is checked below
        make(X)
    assert sentence in str(caught.value)


def test_get_kernel_by_name_function_or_kernel(X):
    assert get_kernel("linear") == Linear()
    assert get_kernel("rbf", gamma=2.0) == Gaussian(2.0) == get_kernel("gaussian", gamma=2.0)
    assert get_kernel("poly", X, gamma="auto", degree=2) == Polynomial(degree=2, gamma=0.25)
    assert get_kernel("gaussian", gamma=[1.0, 2.0]) == Gaussian([1.0, 2.0])
    ready = Sigmoid(0.5)
    assert get_kernel(ready) is ready
    assert get_kernel(np.dot) == Function(np.dot)
    assert all(isinstance(get_kernel(name, X), Kernel) for name in KERNELS)


def test_parameter_names():
    assert parameter_names("poly") == ("degree", "gamma", "coef0")
    assert parameter_names("pearson") == parameter_names(Gaussian(1.0)) == ()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_from_data_is_scikit_learns(gamma, make, X):
    X[np.abs(X) < 0.5] = 0.0
    fitted = SVC(gamma=gamma).fit(make(X), np.arange(13) % 2)
    assert resolve_gamma(gamma, make(X)) == pytest.approx(fitted._gamma, rel=1e-12)


def test_gamma_of_constant_data_is_one():
    assert resolve_gamma("scale", np.full((4, 2), 3.0)) == 1.0
    assert resolve_gamma("scale", sp.csr_array((4, 2))) == 1.0


def test_gamma_of_a_sparse_matrix_in_parts():
    parts = sp.csr_array(([1.0, 2.0, 5.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    split = sp.csr_array(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert resolve_gamma("scale", split) == resolve_gamma("scale", parts.toarray())
    assert split.nnz == 3
