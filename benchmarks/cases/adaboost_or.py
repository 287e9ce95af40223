"""AdaBoost.OR with stumps, beside scikit-learn's AdaBoost with trees of depth one."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer, Skip

FEATURES = 16
CLASSES = 10
ROUNDS = 1000
# Enough to tell the seconds of a round from those of the start, for data of every size.
FEW_ROUNDS = 50
THREADS = 2


class Data(NamedTuple):
    """Inputs and codes of a training and a test part."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def house(n: int) -> Data:
    """Rows of house_16H at random."""
    from echelon.datasets import fetch_benchmark

    try:
        X, y = fetch_benchmark("house_16H", bins=CLASSES, download=False, return_X_y=True)
    except FileNotFoundError as missing:
        raise Skip("house_16H is in no data folder") from missing
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:n], rows[n:]
    return Data(X[train], y[train] - 1, X[test], y[test] - 1)


def synthetic(n: int) -> Data:
    """A noisy score of some features, cut into classes of equal size."""
    rng = np.random.default_rng(16)
    X = rng.normal(size=(n, FEATURES))
    score = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + 0.5 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, CLASSES) / CLASSES))
    return Data(X, y, X[:1000], y[:1000])


def ours(data: Data, *, max_bins: int | None = None, n_jobs: int = 1, rounds: int = ROUNDS) -> Any:
    from echelon import AdaBoostOR, ORStump

    model = AdaBoostOR(ORStump(max_bins), rounds, n_jobs=n_jobs)
    return model.fit(data.X, data.y)


def scikit_learn(data: Data) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    stump = DecisionTreeClassifier(max_depth=1)
    return AdaBoostClassifier(stump, n_estimators=ROUNDS, random_state=0).fit(data.X, data.y)


def absolute_errors(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Mean absolute error of the ranks on the test part."""

    def error(model: Any) -> float:
        return float(np.abs(model.predict(data.X_test) - data.y_test).mean())

    return {"MAE ours": error(mine), "peer": error(theirs)}


class Votes(NamedTuple):
    """A model of many stumps and rows for it."""

    model: Any
    rows: np.ndarray


def votes(n: int) -> Votes:
    rng = np.random.default_rng(17)
    return Votes(ours(synthetic(10_000), max_bins=255), rng.normal(size=(n, FEATURES)))


def predict(data: Votes) -> Any:
    return data.model.predict(data.rows)


def memory_target(n: int) -> float:
    """Bytes: three times the binned data, and a double for every row and class."""
    return 3.0 * n * FEATURES + 8.0 * n * CLASSES


_PEER = Peer(
    "scikit-learn AdaBoost",
    "sklearn",
    scikit_learn,
    target=0.2,
    agreement=absolute_errors,
)

CASES = (
    Case(
        "adaboost_or/exact",
        sizes=(6_000,),
        quick_sizes=(500,),
        build=house,
        ours=ours,
        peers=(_PEER,),
        rounds=3,
    ),
    Case(
        "adaboost_or/binned",
        sizes=(6_000,),
        quick_sizes=(500,),
        build=house,
        ours=partial(ours, max_bins=255),
        peers=(_PEER,),
        rounds=3,
    ),
    Case(
        "adaboost_or/scaling",
        sizes=(10_000, 100_000, 1_000_000),
        quick_sizes=(2_000, 20_000),
        build=synthetic,
        ours=partial(ours, max_bins=255, n_jobs=THREADS, rounds=FEW_ROUNDS),
        rounds=2,
        scaling=True,
        memory=True,
        exponent_target=1.1,
        memory_target=memory_target,
    ),
    Case(
        "adaboost_or/predict",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=votes,
        ours=predict,
        rounds=3,
        memory=True,
    ),
)
