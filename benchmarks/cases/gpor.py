"""Gaussian processes for ordered labels: what an evaluation of the evidence costs.

An evaluation is the log evidence and its gradient in all hyperparameters. Its seconds are the mean
over a whole search for hyperparameters, where each starts from the solution of the last. The
yardstick is one Cholesky factor of a matrix of the same size, timed in alternation.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

FEATURES = 8
SPARSE_FEATURES = 10
CLASSES = 5
INDUCING = 200
TEST_ROWS = 2_000


class Data(NamedTuple):
    """Inputs and codes 0 … K−1 to learn from, and others to be judged by."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def build(n: int, d: int = FEATURES, n_classes: int = CLASSES) -> Data:
    """A smooth score of the first four inputs with noise, cut into classes of equal size."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(n + TEST_ROWS, d))
    score = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]
    score += 0.3 * rng.normal(size=len(X))
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return Data(X[:n], y[:n], X[n:], y[n:])


class Clocked:
    """An optimiser in scikit-learn's form that times every evaluation that it asks for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, objective: Any, initial_theta: Any, bounds: Any) -> tuple[Any, float]:
        from scipy.optimize import minimize

        def timed(theta: np.ndarray) -> Any:
            started = time.perf_counter()
            found = objective(theta)
            self.seconds.append(time.perf_counter() - started)
            return found

        found = minimize(timed, initial_theta, jac=True, method="L-BFGS-B", bounds=bounds)
        return found.x, found.fun


def evaluation(inference: str, data: Data) -> float:
    """Mean seconds of an evaluation over a search of ours."""
    from echelon import GPOR

    clock = Clocked()
    GPOR("rbf_ard", inference=inference, optimizer=clock).fit(data.X, data.y)
    return float(np.mean(clock.seconds))


def cholesky(data: Data) -> float:
    """Seconds of one Cholesky factor of I + Σ, the median of eleven."""
    from scipy.linalg import cholesky as factor

    squares = np.einsum("ij,ij->i", data.X, data.X)
    distances = squares[:, None] + squares - 2.0 * data.X @ data.X.T
    matrix = np.exp(-0.5 * np.maximum(distances, 0.0) / data.X.shape[1]) + np.eye(len(data.X))
    seconds = []
    for _ in range(11):
        started = time.perf_counter()
        factor(matrix, lower=True)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def scikit_learn(data: Data) -> float:
    """Mean seconds of an evaluation over a search of scikit-learn's, for two classes."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    clock = Clocked()
    kernel = RBF(np.full(data.X.shape[1], np.sqrt(data.X.shape[1])))
    GaussianProcessClassifier(kernel, optimizer=clock).fit(data.X, data.y)
    return float(np.mean(clock.seconds))


def fit(n_inducing: int | None, data: Data) -> Any:
    from echelon import GPOR

    model = GPOR("rbf_ard", inference="laplace", n_inducing=n_inducing, random_state=0)
    return model.fit(data.X, data.y)


def mean_absolute_errors(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Of the medians of both on rows that neither saw."""
    ours = float(np.abs(_medians(mine, data.X_test) - data.y_test).mean())
    peer = float(np.abs(_medians(theirs, data.X_test) - data.y_test).mean())
    return {"MAE ours": ours, "peer": peer, "difference": ours - peer}


def _medians(model: Any, X: np.ndarray) -> np.ndarray:
    return (model.predict_proba(X).cumsum(axis=1)[:, :-1] < 0.5).sum(axis=1)


def _evaluations(inference: str, target: float | None, *peers: Peer) -> Case:
    return Case(
        f"gpor/{inference}",
        sizes=(1_000,),
        quick_sizes=(200,),
        build=build,
        ours=partial(evaluation, inference),
        peers=(Peer("SciPy cholesky", "scipy.linalg", cholesky, target), *peers),
        rounds=2,
        self_timed=True,
    )


CASES = (
    _evaluations("laplace", 15.0),
    _evaluations(
        "ep", None, Peer("ours by Laplace", "echelon", partial(evaluation, "laplace"), 3.0)
    ),
    Case(
        "gpor/two_classes",
        sizes=(1_000,),
        quick_sizes=(200,),
        build=partial(build, n_classes=2),
        ours=partial(evaluation, "laplace"),
        peers=(Peer("scikit-learn GaussianProcessClassifier", "sklearn", scikit_learn),),
        rounds=2,
        self_timed=True,
    ),
    Case(
        "gpor/sparse_beside_exact",
        sizes=(2_000,),
        quick_sizes=(400,),
        build=build,
        ours=partial(fit, INDUCING),
        peers=(Peer("ours, exact", "echelon", partial(fit, None), agreement=mean_absolute_errors),),
        rounds=1,
    ),
    Case(
        "gpor/sparse",
        sizes=(100_000,),
        quick_sizes=(2_000,),
        build=partial(build, d=SPARSE_FEATURES),
        ours=partial(fit, INDUCING),
        rounds=1,
        memory=True,
    ),
)
