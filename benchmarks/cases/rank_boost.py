"""RankBoost on two labels, beside LightGBM with trees of one split; many labels and queries."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

FEATURES = 20
ROUNDS = 100
# Enough to tell the seconds of a round from those of the start, for data of every size.
FEW_ROUNDS = 20
LEVELS = 5
ROWS_OF_A_QUERY = 100
BINS = 255
THREADS = 2


class Data(NamedTuple):
    """Inputs, labels and queries of a training part, and inputs and labels of a test part."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None
    X_test: np.ndarray
    y_test: np.ndarray


def two_labels(n: int) -> Data:
    """A noisy score of some features, above or below its median."""
    return _data(n, 2)


def many_labels(n: int) -> Data:
    """The same score in five levels, and rows in queries of a hundred."""
    data = _data(n, LEVELS)
    return data._replace(qid=np.random.default_rng(2).permutation(n) // ROWS_OF_A_QUERY)


def _data(n: int, levels: int) -> Data:
    rng = np.random.default_rng(20)
    X = rng.normal(size=(n + 20_000, FEATURES))
    score = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + rng.normal(size=len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, levels) / levels))
    return Data(X[:n].copy(), y[:n].copy(), None, X[n:].copy(), y[n:].copy())


def ours(data: Data, rounds: int = ROUNDS) -> Any:
    from echelon import RankBoost

    model = RankBoost(rounds, max_bins=BINS, n_jobs=THREADS)
    return model.fit(data.X, data.y, qid=data.qid)


def lightgbm(data: Data) -> Any:
    import lightgbm

    params = {
        "objective": "binary",
        "num_leaves": 2,
        "max_bin": BINS,
        "num_threads": THREADS,
        "verbose": -1,
    }
    return lightgbm.train(params, lightgbm.Dataset(data.X, data.y), ROUNDS)


def areas(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Area under the ROC curve of the test part."""
    from sklearn.metrics import roc_auc_score

    models = {"AUC ours": mine, "peer": theirs}
    return {
        name: float(roc_auc_score(data.y_test, model.predict(data.X_test)))
        for name, model in models.items()
    }


class Fitted(NamedTuple):
    """A model of many base rankers and rows for it."""

    model: Any
    rows: np.ndarray


def fitted(n: int) -> Fitted:
    rows = np.random.default_rng(21).normal(size=(n, FEATURES))
    return Fitted(ours(two_labels(10_000), 1000), rows)


def predict(data: Fitted) -> Any:
    return data.model.predict(data.rows)


def memory_target(n: int) -> float:
    """Bytes: twice the binned inputs, and eight doubles for every row."""
    return 2.0 * n * FEATURES + 64.0 * n


CASES = (
    Case(
        "rank_boost/bipartite",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=two_labels,
        ours=ours,
        peers=(Peer("LightGBM", "lightgbm", lightgbm, target=3.0, agreement=areas),),
        rounds=3,
    ),
    Case(
        "rank_boost/scaling",
        sizes=(10_000, 100_000, 1_000_000),
        quick_sizes=(2_000, 20_000),
        build=two_labels,
        ours=partial(ours, rounds=FEW_ROUNDS),
        rounds=2,
        scaling=True,
        memory=True,
        exponent_target=1.1,
        memory_target=memory_target,
    ),
    Case(
        "rank_boost/queries",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=many_labels,
        ours=partial(ours, rounds=FEW_ROUNDS),
        rounds=2,
    ),
    Case(
        "rank_boost/predict",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=fitted,
        ours=predict,
        rounds=3,
        memory=True,
    ),
)
