import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from echelon.kernels import Function, Gaussian, Linear, Pearson, Polynomial, Precomputed
from echelon.kernels import cache as cache_module
from echelon.kernels.cache import CachedRows, GramRows, apply_kernel, row_source

KERNELS = {
    "gaussian": Gaussian(0.4),
    "rates": Gaussian((0.4, 0.0, 1.0)),
    "linear": Linear(),
    "polynomial": Polynomial(2, coef0=1.0),
    "pearson": Pearson(),
    "function": Function(lambda X, Y: np.abs(X).sum(axis=1)[:, None] * np.abs(Y).sum(axis=1)),
}


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 3))


def megabytes(rows, n=30):
    """Room for so many single precision rows, with what is set aside for blocks."""
    return (rows + 0.5) * 4 * n / 1e6 / (1.0 - cache_module._BLOCK_SHARE)


class Counted:
    """A kernel that counts the rows it has computed against all examples."""

    def __init__(self):
        self.rows = []

    def block(self, X, Y=None):
        if Y is not None and len(Y) > len(X):
            self.rows.extend(X[:, 0].astype(int).tolist())
        return Linear().block(X, Y)

    def diagonal(self, X):
        return Linear().diagonal(X)


def read(source, index):
    rows, slots = source.rows(index)
    return rows[slots]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("make", ["gram", "cached", "cached sparse"])
def test_every_question_has_the_answer_of_the_full_matrix(name, make, X, rng):
    kernel = KERNELS[name]
    inputs = X
    if make == "cached sparse":
        if name in ("pearson", "function"):
            pytest.skip("this kernel reads dense rows only")
        inputs = sp.csr_array(X)
    gram = kernel.block(X)
    source = GramRows(gram) if make == "gram" else CachedRows(kernel, inputs, megabytes(7))
    assert source.capacity == (30 if make == "gram" else 7)
    np.testing.assert_allclose(source.diagonal, gram.diagonal())
    for _ in range(40):
        index = rng.permutation(30)[: rng.integers(1, 8)]
        np.testing.assert_allclose(read(source, index), gram[index], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(source.block(index), gram[np.ix_(index, index)], atol=1e-12)
    for used in (0, 1, 10, 30):
        coef = np.zeros(30)
        coef[rng.permutation(30)[:used]] = rng.normal(size=used)
        np.testing.assert_allclose(source.times(coef), gram @ coef, rtol=1e-11, atol=1e-11)


def test_blocks_belong_to_the_caller(X):
    for source in (GramRows(Linear().block(X)), CachedRows(Linear(), X, 1.0)):
        index = np.arange(5)
        before = source.block(index)
        source.block(index)[...] = 0.0
        np.testing.assert_array_equal(source.block(index), before)


def test_rows_in_the_cache_are_not_computed_again():
    X = np.column_stack([np.arange(30.0), np.ones(30)])
    kernel = Counted()
    source = CachedRows(kernel, X, megabytes(4))
    source.rows(np.array([1, 2, 3]))
    assert kernel.rows == [1, 2, 3]
    source.rows(np.array([3, 1]))
    assert kernel.rows == [1, 2, 3]
    source.rows(np.array([7, 8]))
    # Row 2 was used longest ago, so it made room; 1 and 3 are still there.
    source.rows(np.array([1, 3]))
    assert kernel.rows == [1, 2, 3, 7, 8]
    source.rows(np.array([2]))
    assert kernel.rows == [1, 2, 3, 7, 8, 2]


def test_a_full_cache_can_be_replaced_as_a_whole(X):
    gram = Linear().block(X)
    source = CachedRows(Linear(), X, megabytes(5))
    for first in range(0, 30, 5):
        index = np.arange(first, first + 5)
        np.testing.assert_allclose(read(source, index), gram[index], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1e-12, 1e-4])
def test_two_rows_always_fit(size, X):
    source = CachedRows(Linear(), X, size)
    assert source.capacity == 2
    for pair in ([0, 1], [2, 3], [3, 0]):
        np.testing.assert_allclose(
            read(source, np.array(pair)), Linear().block(X)[pair], rtol=1e-6, atol=1e-6
        )


def test_pieces_of_a_long_fill(X, monkeypatch):
    monkeypatch.setattr(cache_module, "_PIECE", 70)
    gram = Gaussian(0.4).block(X)
    source = CachedRows(Gaussian(0.4), X, 1.0)
    index = np.random.default_rng(1).permutation(30)
    np.testing.assert_allclose(read(source, index), gram[index], rtol=1e-5, atol=1e-6)
    coef = np.linspace(-1.0, 1.0, 30)
    np.testing.assert_allclose(source.times(coef), gram @ coef, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(apply_kernel(Gaussian(0.4), X[:11], X, coef), gram[:11] @ coef)


@given(st.data())
def test_restricting_again_and_again(data):
    X = np.random.default_rng(0).normal(size=(20, 3))
    gram = Linear().block(X)
    source = data.draw(st.sampled_from([GramRows(gram), CachedRows(Linear(), X, megabytes(6, 20))]))
    places = np.arange(20)
    while len(places) > 2:
        for _ in range(data.draw(st.integers(0, 3))):
            count = min(source.capacity, len(places), 3)
            order = data.draw(st.permutations(range(len(places))))
            index = np.array(order[:count])
            np.testing.assert_allclose(
                read(source, index), gram[np.ix_(places[index], places)], rtol=1e-5, atol=1e-5
            )
        keep = data.draw(
            st.lists(
                st.integers(0, len(places) - 1), min_size=2, max_size=len(places) - 1, unique=True
            )
        )
        keep = np.sort(np.array(keep))
        source, places = source.restrict(keep), places[keep]
        assert 2 <= source.capacity <= len(places)
        np.testing.assert_allclose(source.diagonal, gram.diagonal()[places])
        coef = np.ones(len(places))
        np.testing.assert_allclose(source.times(coef), gram[np.ix_(places, places)] @ coef)
        np.testing.assert_allclose(source.block(np.arange(2)), gram[np.ix_(places[:2], places[:2])])


def test_rows_that_stay_are_kept_and_the_whole_can_be_asked_again():
    X = np.column_stack([np.arange(30.0), np.ones(30)])
    kernel = Counted()
    whole = CachedRows(kernel, X, megabytes(6))
    whole.rows(np.array([4, 5, 6, 20]))
    part = whole.restrict(np.arange(3, 15))
    assert part.capacity > 6
    kernel.rows.clear()
    gram = Linear().block(X)
    np.testing.assert_allclose(read(part, np.array([1, 2, 3])), gram[4:7, 3:15])
    assert kernel.rows == []
    part.rows(np.array([0, 7, 8, 9]))
    # The part has written over the rows of the whole, which must not be taken for its own.
    np.testing.assert_allclose(read(whole, np.array([4, 20, 6])), gram[[4, 20, 6]])


def test_the_choice_of_a_source(X, monkeypatch):
    assert isinstance(row_source(Gaussian(0.4), X), GramRows)
    assert isinstance(row_source(Gaussian(0.4), X, cache_size=0.007), CachedRows)
    assert isinstance(row_source(Precomputed(), Linear().block(X), cache_size=1e-9), GramRows)
    monkeypatch.setattr(cache_module, "_SMALL", 100)
    assert isinstance(row_source(Gaussian(0.4), X), CachedRows)


@pytest.mark.parametrize("name", KERNELS)
def test_apply_kernel(name, X, rng):
    Y, coef = rng.normal(size=(9, 3)), rng.normal(size=9)
    expected = KERNELS[name].block(X, Y) @ coef
    np.testing.assert_allclose(apply_kernel(KERNELS[name], X, Y, coef), expected)
    np.testing.assert_array_equal(apply_kernel(KERNELS[name], X, Y[:0], coef[:0]), np.zeros(30))
