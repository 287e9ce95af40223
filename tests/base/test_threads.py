import threading

import numpy as np
import pytest
from support.data import ordinal_data
from threadpoolctl import threadpool_info, threadpool_limits

from echelon import SVOR, LinearRankSVM, ProportionalOdds
from echelon.base.threads import suitable_threads
from echelon.kernels import Linear


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.parametrize(("columns", "expected"), [(8, {1}), (200, {2})])
def test_few_columns_take_one_thread(columns, expected):
    with suitable_threads(np.zeros((3, columns))):
        assert blas_threads() == expected
    assert blas_threads() == {2}


def test_uses_that_overlap_restore_the_limit_together():
    def other():
        with suitable_threads(None):
            pass

    with suitable_threads(None):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with suitable_threads(None):
            pass
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_fits_take_one_thread_and_give_it_back():
    seen = []

    class Watched(Linear):
        def block(self, X, Y=None):
            seen.append(blas_threads())
            return super().block(X, Y)

    X, y = ordinal_data(n=30, K=3)
    SVOR(kernel=Watched()).fit(X, y)
    assert seen
    assert all(threads == {1} for threads in seen)
    for model in (ProportionalOdds(), LinearRankSVM()):
        model.fit(X, y)
    assert blas_threads() == {2}
